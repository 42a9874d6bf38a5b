"""Learners whose rows are scaled online."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier

from estimators.snapshots import state_of
from estimators.streams import blobs, cuts, small
from rpnb import FrozenRPNB, PooledClassifier, RPNBClassifier
from rpnb.baselines import AROW, PA, GaussianNB, OnlineBagging
from rpnb.preprocessing import (
    RunningScaler,
    SpreadWarning,
    StreamPipeline,
    make_stream_pipeline,
)

X, y = blobs(4, 90, apart=2.0)
X = X * np.array([1.0, 1e4, 1e-3, 1.0])
LABELS = np.array(["ant", "bee", "cat"])[y]
CLASSES = ["ant", "bee", "cat"]


def scaled(learner: Any, **parameters: Any) -> StreamPipeline:
    return make_stream_pipeline(RunningScaler(**parameters), learner)


LEARNERS: dict[str, Any] = {
    "RPNB": small(),
    "RPNB, all rows": small(update="all"),
    "RPNB, batches": small(batch_size=4),
    "RPNB, votes": small(combiner="vote"),
    "AROW": AROW(),
    "GaussianNB": GaussianNB(),
    "OnlineBagging": OnlineBagging(3, random_state=1),
    "Pooled": PooledClassifier(n_projections=16, random_state=2),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_it_is_the_scaler_and_then_the_learner(name: str) -> None:
    from sklearn.base import clone

    pipeline = scaled(LEARNERS[name])
    predicted = pipeline.predict_then_learn(X, LABELS, classes=CLASSES)
    scaler, learner = RunningScaler(), clone(LEARNERS[name])
    size = pipeline.batch_size or 1
    if size == 1:
        Z = scaler.transform_then_learn(X)
    else:
        Z = np.zeros_like(X)
        for start in range(0, 90, size):
            rows = slice(start, start + size)
            if start > 0:
                Z[rows] = scaler.transform(X[rows])
            scaler.partial_fit(X[rows])
    expected = learner.predict_then_learn(Z, LABELS, classes=CLASSES)
    assert_array_equal(predicted, expected)
    assert_array_equal(pipeline.predict(X), learner.predict(scaler.transform(X)))
    for method in ("predict_proba", "decision_function", "predict_log_proba"):
        if hasattr(learner, method):
            assert_array_equal(
                getattr(pipeline, method)(X),
                getattr(learner, method)(scaler.transform(X)),
            )
        else:
            assert not hasattr(pipeline, method)
    assert_array_equal(pipeline.scaler_.mean_, scaler.mean_)
    assert pipeline.n_samples_seen_ == 90
    assert pipeline.n_updates_ == learner.n_updates_ == pipeline.learner_.n_updates_


@settings(max_examples=15)
@given(st.data(), st.sampled_from(["RPNB", "AROW", "RPNB, votes"]))
def test_nothing_depends_on_how_rows_are_cut(data: st.DataObject, name: str) -> None:
    whole, parts = scaled(LEARNERS[name]), scaled(LEARNERS[name])
    expected = whole.predict_then_learn(X, LABELS)
    found = [
        label
        for cut in data.draw(cuts(90))
        for label in parts.predict_then_learn(X[cut], LABELS[cut])
    ]
    assert found == expected.tolist()
    assert_array_equal(parts.predict(X), whole.predict(X))


def test_rpnb_scales_as_its_pipeline_does() -> None:
    model, pipeline = small(scale="running"), scaled(small())
    labels = model.predict_then_learn(X, LABELS, classes=CLASSES)
    assert_array_equal(labels, pipeline.predict_then_learn(X, LABELS, classes=CLASSES))
    assert_array_equal(model.predict_proba(X), pipeline.predict_proba(X))
    loop = small(scale="running").partial_fit(X[:1], LABELS[:1], classes=CLASSES)
    one = [labels[0]]
    for x, label in zip(X[1:], LABELS[1:], strict=True):
        one.append(loop.predict_one(x))
        loop.learn_one(x, label)
    assert_array_equal(one, labels)
    assert state_of(loop) == state_of(model)
    assert pipeline.predict_one(X[3]) == model.predict_one(X[3])
    pipeline.learn_one(X[3], LABELS[3])
    model.learn_one(X[3], LABELS[3])
    assert_array_equal(model.predict_proba(X), pipeline.predict_proba(X))


@pytest.mark.parametrize("batch_size", [1, 4, None])
@pytest.mark.parametrize("update", ["mistakes", "all"])
def test_rpnb_learns_the_same_whether_predictions_are_asked_for(
    batch_size: int | None, update: Any
) -> None:
    options: dict[str, Any] = {"batch_size": batch_size, "update": update}
    asked, silent = (small(scale="running", **options) for _ in range(2))
    asked.predict_then_learn(X, LABELS, classes=CLASSES)
    silent.partial_fit(X, LABELS, classes=CLASSES)
    assert_array_equal(asked.predict(X), silent.predict(X))
    assert_allclose(asked.predict_proba(X), silent.predict_proba(X), rtol=1e-9)


def test_wine_needs_it() -> None:
    X, y = load_wine(return_X_y=True)
    errors: dict[Any, list[float]] = {None: [], "running": []}
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(y.shape[0])
        for scale, found in errors.items():
            model = RPNBClassifier(100, scale=scale, random_state=seed)
            labels = model.predict_then_learn(X[order], y[order], classes=[0, 1, 2])
            found.append(float(np.mean(labels != y[order])))
    assert np.mean(errors[None]) > 0.25
    assert np.mean(errors["running"]) < 0.13


@pytest.mark.parametrize(
    "make",
    [
        lambda: small(scale="running"),
        lambda: scaled(small(class_prior={"ant": 0.5, "bee": 0.3, "cat": 0.2})),
        lambda: scaled(AROW(), clip=None),
        lambda: scaled(LEARNERS["OnlineBagging"], center=False),
        lambda: scaled(LEARNERS["Pooled"]),
    ],
    ids=["RPNB", "RPNB in a pipeline", "AROW", "trees", "pooled"],
)
def test_it_comes_back_from_a_file_to_the_bit(make: Any, tmp_path: Path) -> None:
    model = make().partial_fit(X[:60], LABELS[:60], classes=CLASSES)
    model.save(tmp_path / "model.rpnb")
    again = type(model).load(tmp_path / "model.rpnb")
    assert_array_equal(
        again.predict_then_learn(X[60:], LABELS[60:]),
        model.predict_then_learn(X[60:], LABELS[60:]),
    )
    for each, name in ((again, "again"), (model, "same")):
        each.save(tmp_path / name)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "same").read_bytes()


def test_the_file_of_a_model_without_a_scale_has_no_arrays_of_one(
    tmp_path: Path,
) -> None:
    small().fit(X, y).save(tmp_path / "model.rpnb")
    assert b"scale." not in (tmp_path / "model.rpnb").read_bytes()


@pytest.mark.parametrize("based", [True, False])
@pytest.mark.parametrize("kind", ["parameter", "pipeline"])
def test_models_of_shards_merge(kind: str, based: bool) -> None:
    from copy import deepcopy

    fresh: Any = small(scale="running") if kind == "parameter" else scaled(small())
    base = fresh.partial_fit(X[:30], LABELS[:30], classes=CLASSES)
    left, right = deepcopy(base), deepcopy(base)
    left.partial_fit(X[30:60], LABELS[30:60])
    right.partial_fit(X[60:], LABELS[60:])
    if based:
        left.merge(right, base=base)
        assert left.n_samples_seen_ == 90
    else:
        left.merge(right)
        assert left.n_samples_seen_ == 120
    scale = left._state.scale
    if based:
        assert_allclose(scale.mean, X.mean(axis=0))
        assert_allclose(scale.scatter / 90.0, X.var(axis=0))
    assert left.score(X, LABELS) > 0.6


def test_copies_of_the_parts_know_names_of_features_and_counts_of_classes() -> None:
    """Counts of a merged pipeline are those of both: weights of classes follow them."""
    import pandas

    names = [f"f{j}" for j in range(X.shape[1])]
    frame = pandas.DataFrame(X, columns=names)
    left: Any
    left, right = (scaled(small(class_weight="balanced")) for _ in range(2))
    left.partial_fit(frame[:50], LABELS[:50], classes=CLASSES)
    right.partial_fit(frame[50:], LABELS[50:], classes=CLASSES)
    assert left.scaler_.feature_names_in_.tolist() == names
    counts = [[(part == c).sum() for c in CLASSES] for part in (LABELS[:50], LABELS)]
    assert left.learner_._class_counts.tolist() == counts[0]
    left.merge(right)
    assert left.learner_._class_counts.tolist() == counts[1]
    assert left._class_counts.tolist() == counts[1]
    left.fit(frame[:50], LABELS[:50])
    assert left.n_samples_seen_ == 50
    assert left.learner_._class_counts.tolist() == counts[0]


def test_what_cannot_be_merged_changes_nothing() -> None:
    model = small(scale="running").fit(X, y)
    sparse = small(scale="running").fit(csr_array(X), y)
    before = state_of(model)
    with pytest.raises(ValueError, match="both have scale='running', or neither"):
        model.merge(small().fit(X, y))
    with pytest.raises(ValueError, match="sparse rows first"):
        model.merge(sparse)
    assert state_of(model) == before
    pipeline = scaled(small()).fit(X, y)
    with pytest.raises(TypeError, match="other must be a StreamPipeline, got 3"):
        pipeline.merge(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="other has not seen any data yet"):
        pipeline.merge(scaled(small()))
    with pytest.raises(ValueError, match="one that does not"):
        pipeline.merge(scaled(small(), center=False).fit(X, y))
    assert not hasattr(scaled(AROW()), "merge")


def test_a_scaled_model_can_be_compiled_and_exported(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    rows = np.column_stack([X, np.full(90, 3.0)])  # a feature that never varies
    model = small(scale="running").fit(rows, LABELS)
    frozen = model.compile()
    assert_array_equal(frozen.predict(rows), model.predict(rows))
    assert_allclose(frozen.predict_proba(rows), model.predict_proba(rows), atol=1e-9)
    frozen.save(tmp_path / "frozen.rpnb")
    again = FrozenRPNB.load(tmp_path / "frozen.rpnb")
    assert_array_equal(again.predict_proba(rows), frozen.predict_proba(rows))
    frozen.to_onnx(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    label, probabilities = session.run(None, {"X": rows})
    assert_array_equal(label, model.predict(rows))
    assert_allclose(probabilities, model.predict_proba(rows), atol=1e-9)
    uncentred = small(scale="running").fit(csr_array(rows), LABELS).compile()
    with pytest.raises(ValueError, match="cannot be written as an ONNX graph"):
        uncentred.to_onnx(tmp_path / "other.onnx")


def test_sparse_rows_are_scaled_and_stay_sparse() -> None:
    rows = np.where(np.abs(X) > np.abs(X).mean(axis=0) / 2, X, 0.0)
    sparse, dense = small(scale="running"), scaled(small(), center=False)
    labels = sparse.predict_then_learn(csr_array(rows), LABELS, classes=CLASSES)
    assert_array_equal(labels, dense.predict_then_learn(rows, LABELS, classes=CLASSES))
    assert_array_equal(sparse.predict(rows), dense.predict(rows))


def test_unlabelled_rows_do_not_change_the_scale() -> None:
    model = scaled(AROW()).partial_fit(X[:30], LABELS[:30])
    before = model.scaler_.mean_
    model.predict(X[30:] * 100.0)
    model.predict_one(X[40])
    assert_array_equal(model.scaler_.mean_, before)


def test_errors_change_nothing() -> None:
    model = scaled(small()).fit(X, y)
    before = model.scaler_.mean_, model.n_samples_seen_
    bad = X.copy()
    bad[7, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.predict_then_learn(bad, y)
    assert_array_equal(model.scaler_.mean_, before[0])
    assert model.n_samples_seen_ == before[1]
    with pytest.raises(ValueError, match="scale must be None or 'running', got 'yes'"):
        small(scale="yes").fit(X, y)
    with pytest.raises(TypeError, match="scaler must be a RunningScaler, got 3"):
        make_stream_pipeline(3, small())
    with pytest.raises(TypeError, match="use its make_pipeline"):
        make_stream_pipeline(RunningScaler(), SGDClassifier())
    # The class itself checks nothing until it sees rows, as scikit-learn has it.
    parts: list[Any] = [3, small(), RunningScaler(), SGDClassifier()]
    for scaler, learner in (parts[:2], parts[2:], (parts[2], scaled(small()))):
        with pytest.raises(TypeError, match=r"must be a (Run|cla)"):
            StreamPipeline(scaler, learner).fit(X, y)
    with pytest.raises(TypeError, match="AROW does not accept sample_weight"):
        scaled(AROW()).fit(X, y, sample_weight=np.ones(90))


def test_parameters_of_the_parts_can_be_set_by_name() -> None:
    model = scaled(small()).set_params(learner__n_estimators=3, scaler__clip=None)
    model.fit(X, y)
    assert model.learner_.n_estimators == 3
    assert model.scaler_.clip is None


@pytest.mark.filterwarnings("error")
def test_features_that_differ_in_spread_are_warned_of_once() -> None:
    model = small()
    with pytest.warns(SpreadWarning, match=r"1,000 .* of X\[:, 1\], .* of X\[:, 2\]"):
        model.partial_fit(X, y)
    model.partial_fit(X, y)
    with pytest.warns(SpreadWarning, match="make_stream_pipeline"):
        PA().fit(X, y)
    named = pandas.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    with pytest.warns(SpreadWarning, match="of column f1, .* of column f2"):
        PA().fit(named, y)
    for quiet in (small(scale="running"), scaled(PA()), GaussianNB()):
        quiet.fit(X, y)
    small().fit(X[:9], y[:9])  # too few to estimate the spread
    small().fit(X[:, [0, 3]], y)
    small().fit(csr_array(X), y)
    small().fit(np.ones((40, 2)), y[:40])


def test_one_row_is_not_predicted_before_anything_is_learned() -> None:
    with pytest.raises(NotFittedError, match="StreamPipeline instance is not"):
        scaled(small()).predict_one(X[0])


@pytest.mark.parametrize(
    "learner", [RPNBClassifier(), PooledClassifier(), GaussianNB()]
)
def test_what_has_seen_nothing_is_not_fitted(learner: Any, tmp_path: Path) -> None:
    pipeline = make_stream_pipeline(RunningScaler(), learner)
    X = np.zeros((2, 3))
    for name in (
        *("predict", "predict_proba", "predict_log_proba", "predict_next_proba"),
        *("decision_function", "predict_set"),
    ):
        if hasattr(pipeline, name):
            with pytest.raises(NotFittedError):
                getattr(pipeline, name)(X)
    with pytest.raises(NotFittedError):
        pipeline.save(tmp_path / "model.rpnb")
    if hasattr(pipeline, "merge"):
        with pytest.raises(NotFittedError):
            pipeline.merge(pipeline)
