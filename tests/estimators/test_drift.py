"""Learners with a drift detector, against the plain loop over single rows."""

import copy
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from river.drift import ADWIN, PageHinkley
from river.drift.binary import DDM, EDDM
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone

import rpnb
from estimators.snapshots import frozen, state_of
from estimators.streams import Stream, blobs, cuts, seeds, small
from rpnb import RPNBClassifier, baselines
from rpnb.core.bayes.model import fade_all
from rpnb.drift import DriftAware
from rpnb.estimators.drift import state as drift_state
from rpnb.estimators.drift.detectors import (
    detector_from_arrays,
    detector_to_arrays,
    make_detector,
)
from rpnb.estimators.protocol import saved_model
from rpnb.estimators.registry import learners
from rpnb.estimators.saving.estimator import write_estimator
from rpnb.estimators.saving.files import ModelFileError
from rpnb.preprocessing import RunningScaler, make_stream_pipeline

# Sensitive, so that short streams have many alarms.
DETECTORS: dict[str, Callable[[], Any]] = {
    "adwin": lambda: ADWIN(delta=0.9, clock=1, min_window_length=2, grace_period=4),
    "ddm": lambda: DDM(warm_start=5, drift_threshold=1.0),
    "page_hinkley": lambda: PageHinkley(min_instances=5, threshold=1.0, mode="up"),
}
detectors = st.sampled_from(sorted(DETECTORS))


class EveryError:
    """A detector that gives an alarm at every error, and records its inputs."""

    def __init__(self) -> None:
        self.told: list[bool] = []

    @property
    def drift_detected(self) -> bool:
        return self.told[-1:] == [True]

    def update(self, x: bool) -> None:
        self.told.append(x)

    def clone(self) -> "EveryError":
        return EveryError()


def shifting(seed: int, n: int = 150, M: int = 3) -> Stream:
    """Classes that exchange their names every thirty rows."""
    X, y = blobs(seed, n, M=M, apart=2.0)
    return Stream(X, (y + np.arange(n) // 30) % M)


def watch(detector: Any, error: bool) -> bool:
    before = getattr(detector, "estimation", None)
    detector.update(error)
    return detector.drift_detected and (before is None or detector.estimation > before)


def plain_loop(
    model: RPNBClassifier,
    make: Callable[[], Any],
    X: Any,
    y: Any,
    *,
    factor: float | None = None,
    warm: int = 0,
    classes: Any = None,
) -> tuple[list[Any], list[int], RPNBClassifier]:
    """Predict, learn and update the detector row by row; return the results."""
    detector, predictions, drifts = make(), [], []
    for i in range(len(y)):
        row = X[i : i + 1], y[i : i + 1]
        predictions += model.predict_then_learn(*row, classes=classes).tolist()
        if watch(detector, predictions[-1] != y[i]):
            drifts.append(i)
            detector = make()
            if factor is not None:
                fade_all(model._state, factor)
                continue
            known = model.classes_
            model = clone(model)
            first = max(i + 1 - warm, 0)
            if warm > 0:
                model.partial_fit(X[first : i + 1], y[first : i + 1], classes=known)
            else:
                classes = known if classes is None else np.union1d(known, classes)
    return predictions, drifts, model


@settings(max_examples=25)
@given(st.data(), seeds, detectors, st.sampled_from(["mistakes", "all"]))
def test_a_reset_is_that_of_the_plain_loop_however_rows_are_cut(
    data: st.DataObject, seed: int, detector: str, update: str
) -> None:
    X, y = shifting(seed)
    make, warm = DETECTORS[detector], data.draw(st.sampled_from([0, 1, 7, 40]))
    base = small(update=update, forgetting=data.draw(st.sampled_from([None, 9.0])))
    expected, drifts, twin = plain_loop(
        clone(base), make, X, y, warm=warm, classes=[0, 1, 2]
    )
    model = DriftAware(base, detector=make(), warm=warm)
    predictions = []
    for rows in data.draw(cuts(len(y))):
        if data.draw(st.booleans()):
            model.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
            predictions += expected[rows]
        else:
            got = model.predict_then_learn(X[rows], y[rows], classes=[0, 1, 2])
            predictions += got.tolist()
    assert predictions == expected
    assert model.drifts_ == drifts
    assert frozen(model._state.inner.moments) == frozen(twin._state.moments)
    assert_array_equal(model.predict(X), twin.predict(X))
    assert model.learner_.n_samples_seen_ == twin.n_samples_seen_
    assert model.n_samples_seen_ == len(y)
    if update == "mistakes":
        wrong = sum(a != b for a, b in zip(expected, y.tolist(), strict=True))
        assert model.n_updates_ == wrong


def test_the_streams_above_have_alarms_of_every_detector() -> None:
    for make in DETECTORS.values():
        X, y = shifting(0)
        model = DriftAware(small(), detector=make()).fit(X, y)
        assert len(model.drifts_) > 1


@settings(max_examples=25)
@given(st.data(), seeds, detectors, st.sampled_from([0.0, 0.05, 0.5]))
def test_a_past_made_lighter_is_that_of_the_plain_loop(
    data: st.DataObject, seed: int, detector: str, factor: float
) -> None:
    X, y = shifting(seed)
    make = DETECTORS[detector]
    expected, drifts, twin = plain_loop(
        small(), make, X, y, factor=factor, classes=[0, 1, 2]
    )
    model = DriftAware(small(), detector=make(), on_drift="downweight", factor=factor)
    predictions = []
    for rows in data.draw(cuts(len(y))):
        got = model.predict_then_learn(X[rows], y[rows], classes=[0, 1, 2])
        predictions += got.tolist()
    assert predictions == expected
    assert model.drifts_ == drifts
    assert state_of(model.learner_) == state_of(twin)
    assert (model.n_samples_seen_, model.n_updates_) == (
        twin.n_samples_seen_,
        twin.n_updates_,
    )


@pytest.mark.parametrize("make", [DETECTORS["adwin"], EveryError])
@pytest.mark.parametrize("shortest", [1, 2, 3, 500])
def test_the_length_of_pieces_leaves_no_trace(
    shortest: int, make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = shifting(4, 400)
    expected, drifts, twin = plain_loop(small(), make, X, y, classes=[0, 1, 2])
    monkeypatch.setattr(drift_state, "_SHORTEST", shortest)
    monkeypatch.setattr(drift_state, "_LONGEST", 4 * shortest)
    model = DriftAware(small(), detector=make())
    assert model.predict_then_learn(X, y, classes=[0, 1, 2]).tolist() == expected
    assert model.drifts_ == drifts
    assert frozen(model._state.inner.moments) == frozen(twin._state.moments)


LEARNERS = {
    "RPNB": small,
    "OnlineBagging": lambda: baselines.OnlineBagging(3, random_state=1),
    "AROW": baselines.AROW,
    "OnlineBayes": baselines.OnlineBayes,
    "GaussianNB": baselines.GaussianNB,
}


@pytest.mark.parametrize("name", LEARNERS)
def test_new_classes_may_appear_at_any_row_of_any_learner(name: str) -> None:
    X, y = blobs(3, 300, M=4, apart=2.0)
    # Class 3 comes late and is always mistaken before that; names move at row 200.
    late = np.where((np.arange(300) < 120) & (y == 3), 0, y)
    late = (late + (np.arange(300) >= 200)) % 4
    labels = np.array(["bee", "dog", "cat", "ant"])[late]
    whole, single = (
        DriftAware(LEARNERS[name](), detector=DETECTORS["adwin"](), warm=20)
        for _ in range(2)
    )
    expected = whole.predict_then_learn(X, labels).tolist()
    predictions = []
    for i in range(300):
        predictions += single.predict_then_learn(
            X[i : i + 1], labels[i : i + 1]
        ).tolist()
    assert predictions == expected
    assert single.drifts_ == whole.drifts_
    assert len(whole.drifts_) > 0
    assert whole.classes_.tolist() == ["ant", "bee", "cat", "dog"]
    assert_array_equal(single.predict(X), whole.predict(X))
    assert whole._state.known.all()
    recent = whole._state.recent
    assert recent is not None
    assert whole.classes_[recent.y].tolist() == labels[280:].tolist()


def test_classes_stay_declared_through_a_reset() -> None:
    X, y = shifting(1)
    model = DriftAware(small(), detector=DETECTORS["ddm"]())
    model.partial_fit(X, y, classes=[0, 1, 2, 9])
    assert len(model.drifts_) > 0
    assert model._state.inner.classes.eligible.tolist() == [True] * 4


def test_a_learner_that_has_just_begun_is_left_alone() -> None:
    # Errors fall from often to never: ADWIN notices, and nothing happens.
    X, y = blobs(2, 1500, M=4, apart=3.0)
    detector = DETECTORS["adwin"]()
    model = small(update="all")
    wrong = model.predict_then_learn(X, y, classes=[0, 1, 2, 3]) != y
    falls = 0
    for error in wrong:
        before = detector.estimation
        detector.update(bool(error))
        falls += detector.drift_detected and detector.estimation <= before
    assert falls > 0
    aware = DriftAware(small(update="all"))
    aware.partial_fit(X, y, classes=[0, 1, 2, 3])
    assert aware.drifts_ == []
    assert state_of(aware.learner_) == state_of(model)


def test_after_a_drift_the_errors_fall() -> None:
    X, y = blobs(4, 4000, M=2, apart=2.0)
    y = np.where(np.arange(4000) < 2000, y, 1 - y)
    rates = {}
    models: dict[str, Any] = {
        "none": small(update="all"),
        "reset": DriftAware(small(update="all")),
        "downweight": DriftAware(
            small(update="all"), on_drift="downweight", factor=0.01
        ),
    }
    for name, model in models.items():
        wrong = model.predict_then_learn(X, y, classes=[0, 1]) != y
        rates[name] = wrong[2500:].mean()
        if name != "none":
            assert all(2000 <= row < 2200 for row in model.drifts_)
    assert max(rates["reset"], rates["downweight"]) < 0.1 < 0.4 < rates["none"]


RIVER: dict[str, Callable[[], Any]] = {
    "adwin": ADWIN,
    "ddm": DDM,
    "eddm": EDDM,
    "page_hinkley": partial(PageHinkley, mode="up"),
}


@pytest.mark.parametrize("name", RIVER)
def test_alarms_are_those_of_river(name: str) -> None:
    """Also of detectors that were saved and loaded on the way."""
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(20):
        rates = rng.random(rng.integers(1, 6)) * rng.random()
        errors = rng.random(3000) < np.repeat(rates, -(-3000 // rates.size))[:3000]
        theirs, ours = RIVER[name](), make_detector(name)
        for i, error in enumerate(errors.tolist()):
            theirs.update(error)
            ours.update(error)
            assert bool(ours.drift_detected) == theirs.drift_detected
            alarms += theirs.drift_detected
            if i % 487 == 0 or theirs.drift_detected:
                ours = detector_from_arrays(name, detector_to_arrays(ours))
    assert alarms > 5


def test_the_prototypes_are_not_touched() -> None:
    X, y = shifting(0)
    base, detector = small(), DETECTORS["ddm"]()
    model = DriftAware(base, detector=detector).fit(X, y)
    assert model.model is base
    assert not base.__sklearn_is_fitted__()
    assert detector._p.n == 0
    again = clone(model).fit(X, y)
    assert again.drifts_ == model.drifts_
    assert model.fit(X, y).drifts_ == again.drifts_


def test_copies_and_pickles_learn_alike() -> None:
    X, y = shifting(6, 300)
    make = DETECTORS["adwin"]
    model = DriftAware(small(), detector=make(), warm=5).fit(X[:130], y[:130])
    copies = [
        model,
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),  # noqa: S301 - our own bytes
    ]
    predictions = [m.predict_then_learn(X[130:], y[130:]).tolist() for m in copies]
    assert predictions[0] == predictions[1] == predictions[2]
    assert copies[0].drifts_ == copies[1].drifts_ == copies[2].drifts_
    assert len(model.drifts_) > 2


def test_the_learner_is_a_copy_that_can_be_saved(tmp_path: Path) -> None:
    X, y = shifting(0)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = DriftAware(small()).fit(frame, y)
    learner = model.learner_
    learner.save(tmp_path / "learner")
    loaded = RPNBClassifier.load(tmp_path / "learner")
    assert_array_equal(loaded.predict(frame), model.predict(frame))
    before = frozen(model._state.inner.moments)
    learner.partial_fit(frame, y)
    assert frozen(model._state.inner.moments) == before
    own = DriftAware(small(), detector=ADWIN()).fit(X, y)
    with pytest.raises(NotImplementedError, match=r"learner_\.save"):
        own.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("detector", ["adwin", "ddm", "eddm", "page_hinkley"])
def test_a_loaded_model_goes_on_as_the_saved_one(
    tmp_path: Path, detector: str, sparse: bool
) -> None:
    X, y = shifting(0, n=600)
    rows: Any = csr_array(X) if sparse else X
    model = DriftAware(small(), detector=detector, warm=20)
    for start in range(0, 600, 120):
        part = slice(start, start + 120)
        if start:
            model.save(tmp_path / "model")
            loaded = rpnb.load(tmp_path / "model")
            loaded.save(tmp_path / "again")
            again = (tmp_path / "again").read_bytes()
            assert again == (tmp_path / "model").read_bytes()
            found = loaded.predict_then_learn(rows[part], y[part])
            expected = model.predict_then_learn(rows[part], y[part])
            assert_array_equal(found, expected)
            assert loaded.drifts_ == model.drifts_
            assert loaded.n_updates_ == model.n_updates_
            assert state_of(loaded.learner_) == state_of(model.learner_)
            model = loaded
        else:
            model.partial_fit(rows[part], y[part], classes=[0, 1, 2])


def test_a_watched_pipeline_and_every_learner_can_be_saved(tmp_path: Path) -> None:
    X, y = shifting(0, n=200, M=2)
    models = [each.estimator() for each in learners().values()]
    models.append(make_stream_pipeline(RunningScaler(), baselines.PA()))
    for each in models:
        model = DriftAware(each, warm=5)
        model.partial_fit(X[:150], y[:150], classes=[0, 1])
        model.save(tmp_path / "model")
        loaded = DriftAware.load(tmp_path / "model")
        found = loaded.predict_then_learn(X[150:], y[150:])
        assert_array_equal(found, model.predict_then_learn(X[150:], y[150:]))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("detector.counts", lambda array: array + 1),
        ("detector.buckets", lambda array: array * 1e6),
        ("detector.sums", lambda array: -array - 1.0),
        ("detector.ticks", lambda array: array * 0),
        ("drifts", lambda array: np.array([10**9])),
        ("recent.y", lambda array: array + 9),
    ],
)
def test_a_crafted_file_is_refused(
    tmp_path: Path, name: str, change: Callable[[Any], Any]
) -> None:
    X, y = shifting(0)
    model = DriftAware(small(), warm=5).fit(X, y)
    saved = saved_model(model)
    arrays = {**saved.arrays, name: change(saved.arrays[name])}
    write_estimator(tmp_path / "model", saved._replace(arrays=arrays))
    with pytest.raises(ModelFileError, match="damaged"):
        DriftAware.load(tmp_path / "model")


def test_a_copy_of_a_balanced_learner_knows_how_many_rows_each_class_had() -> None:
    X, y = blobs(3, 150, M=3)
    rare = np.flatnonzero((y != 2) | (np.arange(150) % 5 == 0))
    X, y = X[rare], y[rare]
    alone = baselines.GaussianNB(class_weight="balanced")
    alone.partial_fit(X[:60], y[:60])
    model = DriftAware(baselines.GaussianNB(class_weight="balanced"))
    learner = model.partial_fit(X[:60], y[:60]).learner_
    assert model.drifts_ == []
    for each in (alone, learner):
        each.partial_fit(X[60:], y[60:])
    assert state_of(learner) == state_of(alone)


def test_probabilities_and_scores_are_the_learners() -> None:
    X, y = shifting(0)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = DriftAware(small()).fit(frame, y)
    for name in ("predict_proba", "predict_log_proba", "decision_function"):
        expected = getattr(model.learner_, name)(frame)
        assert_array_equal(getattr(model, name)(frame), expected)
    assert not hasattr(DriftAware(baselines.PA()), "predict_proba")


def test_rows_of_a_sparse_learner_may_be_sparse() -> None:
    X, y = shifting(2)
    predictions = []
    for rows in (X, csr_matrix(X)):
        model = DriftAware(baselines.PA(), detector=DETECTORS["ddm"](), warm=10)
        predictions.append(model.predict_then_learn(rows[:80], y[:80]).tolist())
        predictions[-1] += model.predict_then_learn(rows[80:], y[80:]).tolist()
        assert len(model.drifts_) > 0
    assert predictions[0] == predictions[1]


def test_sparse_and_dense_rows_may_alternate() -> None:
    X, y = shifting(2)
    one, two = (
        DriftAware(small(), detector=DETECTORS["ddm"](), warm=30) for _ in range(2)
    )
    one.fit(X, y)
    for start in range(0, 150, 25):
        rows = slice(start, start + 25)
        part = csr_matrix(X[rows]) if start % 50 == 0 else X[rows]
        two.partial_fit(part, y[rows], classes=[0, 1, 2])
    assert len(one.drifts_) > 0
    assert two.drifts_ == one.drifts_
    assert frozen(two._state.inner.moments) == frozen(one._state.inner.moments)


def test_weights_reach_the_learner() -> None:
    X, y = shifting(3)
    weight = np.where(np.arange(150) % 5 == 0, 0.0, 2.0)
    kept = weight > 0
    make = DETECTORS["ddm"]
    one, two = (DriftAware(small(), detector=make(), warm=9) for _ in range(2))
    one.partial_fit(X, y, sample_weight=weight)
    two.partial_fit(X[kept], y[kept], sample_weight=2.0)
    assert one.drifts_ == two.drifts_
    assert len(one.drifts_) > 0
    assert state_of(one.learner_) == state_of(two.learner_)
    with pytest.raises(TypeError, match="PA does not accept sample_weight"):
        DriftAware(baselines.PA()).fit(X, y, sample_weight=weight)


# Refusals

BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"model": "RPNB"}, TypeError, "model must be a classifier of rpnb, got 'RPNB'"),
    ({"model": small(batch_size=10)}, ValueError, "batch_size must be 1, got 10"),
    ({"model": small(batch_size=None)}, ValueError, "batch_size must be 1, got None"),
    ({"model": small(forgetting=1)}, ValueError, "forgetting must be a finite number"),
    ({"detector": "cusum"}, ValueError, "detector must be one of 'adwin', 'ddm',"),
    ({"detector": ADWIN}, TypeError, r"\(update, drift_detected, clone\)"),
    ({"detector": 3}, TypeError, "or a detector of River's kind .* got 3"),
    ({"on_drift": "forget"}, ValueError, "on_drift must be one of 'reset', 'downwei"),
    ({"factor": 1.5}, ValueError, "factor must be a finite number of at least 0 and"),
    ({"warm": -1}, ValueError, "warm must be an integer of at least 0, got -1"),
    ({"warm": 1.0}, TypeError, "warm must be an integer"),
    (
        {"model": baselines.PA(), "on_drift": "downweight"},
        ValueError,
        "on_drift must be 'reset' for a model other than RPNBClassifier",
    ),
]


@pytest.mark.parametrize(("changes", "error", "message"), BAD, ids=str)
def test_bad_parameters_are_refused(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    X, y = shifting(0)
    model = DriftAware(**{"model": small(), **changes})
    with pytest.raises(error, match=message):
        model.fit(X, y)
    assert not model.__sklearn_is_fitted__()
    assert not hasattr(model, "classes_")


def test_bad_rows_change_nothing() -> None:
    X, y = shifting(0)
    model = DriftAware(small(), detector=DETECTORS["adwin"]()).fit(X[:90], y[:90])
    detector: Any = model._state.detector
    before = state_of(model.learner_), model.drifts_, detector.width
    bad = X.copy()
    bad[110, 2] = np.nan
    with pytest.raises(ValueError, match="row 110, column 2"):
        model.partial_fit(bad, y)
    assert (state_of(model.learner_), model.drifts_, detector.width) == before


def test_recent_rows_keep_their_classes_when_others_are_added() -> None:
    X, y = blobs(0, 40, M=2)
    model = DriftAware(small(), warm=10)
    model.partial_fit(X, np.array(["dog", "fox"])[y])
    model.partial_fit(X[:1], ["ant"])
    recent = model._state.recent
    assert recent is not None
    labels = model.classes_[recent.y].tolist()
    assert labels == [*np.array(["dog", "fox"])[y[31:]].tolist(), "ant"]
    assert_array_equal(recent.X, np.vstack((X[31:], X[:1])))


class Eleventh(EveryError):
    """A detector that gives an alarm at the eleventh row."""

    @property
    def drift_detected(self) -> bool:
        return len(self.told) == 11

    def clone(self) -> "Eleventh":
        return Eleventh()


def test_remembered_rows_stay_as_they_were_where_a_caller_reuses_its_arrays() -> None:
    X, y = shifting(2)
    fresh, reused = (DriftAware(small(), detector=Eleventh(), warm=8) for _ in "ab")
    rows, labels = np.empty((10, X.shape[1])), np.empty(10, y.dtype)
    for start in range(0, len(y), 10):
        part = slice(start, start + 10)
        fresh.partial_fit(X[part], y[part], classes=[0, 1, 2])
        rows[:], labels[:] = X[part], y[part]
        reused.partial_fit(rows, labels, classes=[0, 1, 2])
        rows[:], labels[:] = np.nan, -1
        assert state_of(reused.learner_) == state_of(fresh.learner_)
    assert fresh.drifts_[:2] == [10, 21]


def test_a_copy_of_the_state_goes_its_own_way() -> None:
    X, y = shifting(0)
    model = DriftAware(small(), detector=EveryError())
    model.partial_fit(X[:1], y[:1], classes=[0])
    state = model._learner().grow(
        model._state, np.array([0, -1, -1]), np.arange(3), np.zeros(0, np.int64)
    )
    model._set_classes(np.arange(3))

    def held() -> Any:
        detector: Any = state.detector
        learned = frozen(state.inner.moments)
        return learned, list(detector.told), state.known.tolist(), list(state.drifts)

    before = held()
    copied = model._learner().copy(state)
    model._learner().learn(copied, X, y, np.ones(1), None)
    assert len(copied.drifts) > 5
    assert copied.known.all()
    assert held() == before


def test_a_declared_class_is_no_error_where_it_is_predicted() -> None:
    far = np.full((20, 3), 50.0)
    model = DriftAware(small(update="all"), detector=EveryError())
    model.fit(far + np.arange(20)[:, None] % 2, np.zeros(20, int))
    # Class 1 has no rows yet: its density is the prior, around zero.
    model.partial_fit(np.zeros((1, 3)), [1], classes=[1])
    model.partial_fit(np.zeros((1, 3)), [2])
    assert model.drifts_ == [21]


def test_a_row_of_an_unknown_class_is_an_error_whatever_its_label_says() -> None:
    known = np.array([True, False])
    y = np.array([1, 1, 0, 0])
    errors = list(drift_state.prediction_errors(known, y, np.array([1, 1, 0, 1])))
    assert errors == [True, False, False, True]
    assert known.all()


@pytest.mark.parametrize("scaled", [False, True])
def test_missing_values_pass_where_the_learner_takes_them(
    scaled: bool, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] > 0).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    learner: Any = rpnb.PooledClassifier(random_state=0)
    if scaled:
        learner = make_stream_pipeline(RunningScaler(), learner)
    model = DriftAware(learner, detector="eddm", warm=20)
    whole = model.predict_then_learn(X, y, classes=[0, 1])
    parts = clone(model)
    again = [
        parts.predict_then_learn(X[i : i + 37], y[i : i + 37], classes=[0, 1])
        for i in range(0, 300, 37)
    ]
    assert_array_equal(np.concatenate(again), whole)
    model.save(tmp_path / "m.rpnb")
    assert_array_equal(rpnb.load(tmp_path / "m.rpnb").predict(X), model.predict(X))
    with pytest.raises(ValueError, match="contains NaN"):
        DriftAware(baselines.AROW()).fit(X, y)


@pytest.mark.parametrize("scaled", [False, True])
def test_columns_without_numbers_are_refused_with_a_remedy_that_works(
    scaled: bool,
) -> None:
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": list("uvuv")})
    learner: Any = rpnb.PooledClassifier(random_state=0)
    alone = "PooledClassifier"
    if scaled:
        learner = make_stream_pipeline(RunningScaler(), learner)
        alone = "StreamPipeline"
    message = f"'b' holds text.*{alone} without DriftAware learns such columns"
    with pytest.raises(ValueError, match=message):
        DriftAware(learner).fit(X, [0, 1, 0, 1])
    assert learner.fit(X, [0, 1, 0, 1]).predict(X).shape == (4,)
    with pytest.raises(ValueError, match=r"make_stream_pipeline.* without DriftAware"):
        DriftAware(baselines.AROW()).fit(X, [0, 1, 0, 1])
