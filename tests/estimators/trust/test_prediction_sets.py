"""Prediction sets of every learner with probabilities, and unlearning by the others."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from river import datasets as river_datasets
from sklearn.base import clone

from estimators.snapshots import snapshot
from rpnb import PooledClassifier, RPNBClassifier
from rpnb import river as adapters
from rpnb.baselines import PA, GaussianNB, OnlineBagging, OnlineBayes
from rpnb.core.conformal import new_thresholds
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.drift import DriftAware
from rpnb.estimators.saving.files import ModelFileError, read_model, write_model
from rpnb.estimators.stream.prediction_sets import current_thresholds
from rpnb.preprocessing import RunningScaler, make_stream_pipeline


def drifting(n: int) -> tuple[FloatArray, IntArray]:
    """Return a stream whose classes move around a circle, and jump half-way."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, n)
    turn = 2.0 * np.pi * (y / 3.0 + np.arange(n) / 4000.0) + (np.arange(n) > n // 2)
    centre = 1.5 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return rng.normal(size=(n, 2)) + centre, y


X, Y = drifting(5000)

LEARNERS: dict[str, Any] = {
    "naive Bayes": GaussianNB(),
    "full covariance": OnlineBayes(),
    "trees": OnlineBagging(3, random_state=0),
    "pool": PooledClassifier(["shared_covariance", "binned_bayes"], random_state=0),
    "scaled": make_stream_pipeline(RunningScaler(), GaussianNB()),
    "drift": DriftAware(GaussianNB()),
    "RPNB with a detector": DriftAware(RPNBClassifier(10, random_state=0)),
}


def fresh(name: str) -> Any:
    return clone(LEARNERS[name])


def covered(sets: BoolArray, y: IntArray) -> float:
    return float(sets[np.arange(len(y)), y].mean())


@pytest.mark.parametrize("name", ["naive Bayes", "pool", "drift", "full covariance"])
@pytest.mark.parametrize("coverage", [0.8, 0.95])
def test_coverage_holds_on_a_stream_that_drifts(name: str, coverage: float) -> None:
    _, sets = fresh(name).predict_set_then_learn(X, Y, coverage)
    assert abs(covered(sets, Y) - coverage) < 0.01
    for part in (slice(0, 2500), slice(2500, 5000)):
        assert abs(covered(sets[part], Y[part]) - coverage) < 0.02
    assert 1.0 < sets.sum(axis=1).mean() < 3.0


def test_without_thresholds_that_move_coverage_is_lost() -> None:
    model = GaussianNB()
    _, first = model.predict_set_then_learn(X[:500], Y[:500], 0.9)
    assert abs(covered(first, Y[:500]) - 0.9) < 0.03
    later = np.arange(1500, 2500)
    assert covered(model.predict_set(X[later], 0.9), Y[later]) < 0.6


@pytest.mark.parametrize("name", LEARNERS)
def test_sets_labels_and_thresholds_do_not_depend_on_calls(name: str) -> None:
    rows, labels = X[:300], np.array(["a", "b", "c"])[Y[:300]]
    # The last class comes late, and is in no set before.
    labels[:150] = np.where(labels[:150] == "c", "a", labels[:150])
    whole, cut, plain = fresh(name), fresh(name), fresh(name)
    predicted, sets = whole.predict_set_then_learn(rows, labels)
    for part in (slice(0, 1), slice(1, 170), slice(170, 300)):
        some, of_part = cut.predict_set_then_learn(rows[part], labels[part])
        assert_array_equal(some, predicted[part])
        assert_array_equal(of_part, sets[part, : of_part.shape[1]])
    assert not sets[0].any()
    first = int(np.flatnonzero(labels == "c")[0])
    assert not sets[: first + 1, 2].any()
    assert_array_equal(whole._set_thresholds, cut._set_thresholds)
    assert_array_equal(plain.predict_then_learn(rows, labels), predicted)
    assert_array_equal(plain.predict_proba(rows), whole.predict_proba(rows))
    assert_array_equal(whole.predict_set(rows), cut.predict_set(rows))
    whole.fit(rows, labels)
    assert whole._set_thresholds is None


def test_a_class_of_probability_zero_is_in_the_set_if_all_are() -> None:
    rows, labels = [[0.0], [1e-3], [1.0], [1.001]], [0, 0, 1, 1]
    model = GaussianNB().partial_fit(rows, labels)
    assert model.predict_proba([[0.0]])[0, 1] == 0.0
    assert not model.predict_set([[0.0]])[0, 1]
    # The thresholds after many rows that were not covered.
    model._set_thresholds = np.full(12, 12.0)
    assert model.predict_set([[0.0]]).all()
    _, sets = model.predict_set_then_learn([[0.0], [0.0]], [0, 0])
    assert sets[0].all()


@pytest.mark.parametrize("batch_size", [1, 10, None])
def test_wrapped_rpnb_has_the_sets_of_rpnb(batch_size: int | None) -> None:
    """The thresholds follow the rows that it learns, also before sets are used."""
    plain = RPNBClassifier(10, batch_size=batch_size, random_state=0)
    scaling = clone(plain).set_params(scale="running")
    models: list[Any] = [scaling, make_stream_pipeline(RunningScaler(), plain)]
    if batch_size == 1:
        models.append(DriftAware(scaling))
    for model in models:
        for part in (slice(0, 150), slice(150, 300)):
            model.partial_fit(X[part], Y[part])
        assert not getattr(model, "drifts_", [])
    assert current_thresholds(models[0]).tolist() != new_thresholds().tolist()
    later = slice(300, 500)
    expected = models[0].predict_set(X[later])
    _, followed = models[0].predict_set_then_learn(X[later], Y[later])
    for model in models[1:]:
        assert_array_equal(model.predict_set(X[later]), expected)
        _, sets = model.predict_set_then_learn(X[later], Y[later])
        assert_array_equal(sets, followed)


def test_learners_without_probabilities_have_no_sets() -> None:
    assert not hasattr(PA(), "predict_set")
    assert not hasattr(DriftAware(PA()), "predict_set_then_learn")
    assert hasattr(DriftAware(GaussianNB()), "predict_set")
    with pytest.raises(ValueError, match="coverage must be"):
        GaussianNB().predict_set_then_learn(X, Y, 0.3)


@pytest.mark.parametrize("name", ["naive Bayes", "trees", "pool", "scaled"])
def test_thresholds_are_saved_with_the_model(name: str, tmp_path: Path) -> None:
    model, path = fresh(name), tmp_path / "model.rpnb"
    model.predict_set_then_learn(X[:200], Y[:200])
    model.save(path)
    loaded = type(model).load(path)
    for part in (slice(200, 240), slice(240, 300)):
        found = [m.predict_set_then_learn(X[part], Y[part])[1] for m in (model, loaded)]
        assert_array_equal(*found)
    assert_array_equal(model._set_thresholds, loaded._set_thresholds)


@pytest.mark.parametrize(
    ("thresholds", "flag", "message"),
    [
        (np.zeros(3), True, "prediction_sets"),
        (np.full(12, np.nan), True, "prediction_sets"),
        (None, True, "no array 'prediction_sets'"),
        (np.zeros(12), False, "prediction_sets"),
        (np.zeros(12), None, "prediction_sets"),
    ],
)
def test_damaged_thresholds_are_refused(
    thresholds: Any, flag: Any, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.rpnb"
    model = GaussianNB()
    model.predict_set_then_learn(X[:20], Y[:20])
    model.save(path)
    metadata, arrays = read_model(path)
    arrays = dict(arrays)
    del arrays["prediction_sets"]
    if thresholds is not None:
        arrays["prediction_sets"] = thresholds
    state = dict(metadata["state"])
    state["prediction_sets"] = flag
    if flag is None:
        del state["prediction_sets"]
    own = ("format", "format_version")
    kept = {name: value for name, value in metadata.items() if name not in own}
    write_model(path, {**kept, "state": state}, arrays)
    with pytest.raises(ModelFileError, match=message):
        GaussianNB.load(path)


def test_the_pool_gives_probabilities_in_one_pass() -> None:
    labels, P = fresh("pool").predict_then_learn(X[:400], Y[:400], return_proba=True)
    model = fresh("pool")
    for i in range(400):
        if i > 0:
            expected = model.predict_proba(X[i : i + 1])[0]
            assert_array_equal(P[i, model.classes_], expected)
        assert P[i].sum() == pytest.approx(float(i > 0))
        model.partial_fit(X[i : i + 1], Y[i : i + 1])
    assert_array_equal(labels, fresh("pool").predict_then_learn(X[:400], Y[:400]))


@pytest.mark.parametrize("adapter", ["RPNBClassifier", "PooledClassifier"])
def test_the_river_adapters_have_sets(adapter: str) -> None:
    if adapter == "RPNBClassifier":
        model: Any = adapters.RPNBClassifier(20, seed=0)
    else:
        model = adapters.PooledClassifier(["shared_covariance"], seed=0)
    assert model.predict_set_one({"f": 1.0}) == set()
    hits, sizes = [], []
    stream = list(river_datasets.Phishing())
    for x, y in stream:
        predicted = model.predict_set_then_learn_one(x, y, 0.9)
        hits.append(y in predicted)
        sizes.append(len(predicted))
    assert abs(np.mean(hits) - 0.9) < 0.02
    assert 0.8 < np.mean(sizes) < 1.9
    x = stream[0][0]
    assert model.predict_set_one(x, 0.5) <= model.predict_set_one(x, 0.99)
    with pytest.raises(ValueError, match="coverage must be"):
        model.predict_set_one(x, 1.5)
    again = model.clone()
    assert again.predict_set_one(x) == set()
    assert again._thresholds is None


# Unlearning


@pytest.mark.parametrize("weighted", [True, False])
def test_online_bayes_unlearns(weighted: bool) -> None:
    rows = X[:400] @ np.array([[1.0, 0.3], [0.0, 20.0]]) + 5.0
    w = 0.5 + np.arange(400) % 3 if weighted else None
    gone = np.arange(400) % 5 == 0
    model = OnlineBayes().partial_fit(rows, Y[:400], sample_weight=w)
    kept, taken = (None, None) if w is None else (w[~gone], w[gone])
    twin = OnlineBayes().partial_fit(rows[~gone], Y[:400][~gone], sample_weight=kept)
    assert model.unlearn(rows[gone], Y[:400][gone], sample_weight=taken) is model
    for mine, theirs in zip(model._state.classes, twin._state.classes, strict=True):
        assert_allclose(mine, theirs, rtol=1e-8, atol=1e-9)
    more = drifting(10_000)[0] @ np.array([[1.0, 0.3], [0.0, 20.0]]) + 5.0
    assert_array_equal(model.predict(more), twin.predict(more))
    assert (model.n_samples_seen_, model.n_updates_) == (
        twin.n_samples_seen_,
        twin.n_updates_,
    )


def test_online_bayes_may_unlearn_all_of_a_class() -> None:
    model = OnlineBayes().partial_fit(X[:90], Y[:90])
    its = Y[:90] == 1
    model.unlearn(X[:90][its], Y[:90][its])
    state = model._state.classes
    assert state.weight[1] == 1.0
    assert_array_equal(state.root[1], np.eye(2))
    assert_array_equal(state.mean[1], 0.0)


def test_online_bayes_refuses_rows_it_has_not_learned() -> None:
    model = OnlineBayes().partial_fit(X[:90], Y[:90])
    before = snapshot(model)
    for rows, labels, message in (
        (X[:1], [9], "label .* was never learned"),
        (X[:20] + 50.0, Y[:20], "cannot be unlearned"),
        (X[:90] + 0.1, Y[:90], "cannot be unlearned"),
        (np.tile(X[:90], (2, 1)), np.tile(Y[:90], 2), "weigh more than"),
        (X[:3, :1], Y[:3], "features"),
    ):
        with pytest.raises(ValueError, match=message):
            model.unlearn(rows, labels)
        assert snapshot(model) == before


def test_the_pool_has_no_method_for_what_it_cannot_do() -> None:
    assert not hasattr(fresh("pool").partial_fit(X[:50], Y[:50]), "unlearn")
