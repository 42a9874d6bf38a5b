"""Online probabilities and prediction sets, through the estimators."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rpnb import RPNBClassifier
from rpnb.baselines import make
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.datasets import streams
from rpnb.drift import DriftAware
from rpnb.estimators.protocol import initialise
from rpnb.preprocessing import RunningScaler, make_stream_pipeline


def rows(n: int, M: int = 3) -> tuple[FloatArray, IntArray]:
    parts = list(streams.mixture(n, M=M))
    X = np.concatenate([X for X, _ in parts])
    y = np.concatenate([y for _, y in parts])
    return X[:, :6], y


def model(**parameters: Any) -> RPNBClassifier:
    return RPNBClassifier(30, random_state=0, **parameters)


X, Y = rows(1500)


def learned(*cuts: int, **parameters: Any) -> RPNBClassifier:
    made = model(**parameters)
    edges = [0, *cuts, len(Y)]
    for begin, end in pairwise(edges):
        made.predict_then_learn(X[begin:end], Y[begin:end], classes=[0, 1, 2])
    return made


@pytest.mark.parametrize("update", ["mistakes", "all"])
def test_probabilities_do_not_depend_on_chunks_threads_or_the_way_of_learning(
    update: Any,
) -> None:
    expected = learned(update=update).predict_proba(X)
    for made in (
        learned(1, 2, 700, update=update),
        learned(update=update, n_jobs=2),
        model(update=update).partial_fit(X, Y, classes=[0, 1, 2]),
    ):
        assert_array_equal(made.predict_proba(X), expected)
    assert_allclose(expected.sum(axis=1), 1.0, rtol=1e-12)


def test_one_row_at_a_time_is_the_same() -> None:
    made = model().partial_fit(X[:1], Y[:1], classes=[0, 1, 2])
    for x, y in zip(X[1:300], Y[1:300], strict=True):
        made.predict_one(x)
        made.learn_one(x, y)
    whole = model().partial_fit(X[:300], Y[:300], classes=[0, 1, 2])
    assert_array_equal(made.predict_proba(X), whole.predict_proba(X))


@pytest.mark.parametrize("temperature", ["auto", None, 3.0])
@pytest.mark.parametrize("combiner", ["log_sum", "product", "vote", "sum"])
def test_probabilities_before_each_row_are_those_of_a_loop(
    temperature: Any, combiner: Any
) -> None:
    made = model(temperature=temperature, combiner=combiner)
    labels, P = made.predict_then_learn(X[:120], Y[:120], [0, 1, 2], return_proba=True)
    twin = model(temperature=temperature, combiner=combiner)
    initialise(twin, 6, np.arange(3))
    for i in range(120):
        one = slice(i, i + 1)
        assert_allclose(P[i], twin.predict_proba(X[one])[0], rtol=1e-9, atol=1e-12)
        assert labels[i] == twin.predict_then_learn(X[one], Y[one])[0]
    assert_array_equal(made.predict_proba(X), twin.predict_proba(X))


def test_a_class_has_no_probability_before_its_first_row() -> None:
    labels, P = model().predict_then_learn(X[:60], Y[:60], return_proba=True)
    assert labels[0] is None
    assert_array_equal(P[0], 0.0)
    first = [int(np.flatnonzero(m == Y)[0]) for m in range(3)]
    for m, row in enumerate(first):
        assert (P[: row + 1, m] == 0.0).all()
        assert (P[row + 1 :, m] > 0.0).all()
    assert_allclose(P[1:].sum(axis=1), 1.0)


@pytest.mark.parametrize("size", [7, None])
def test_mini_batches_have_probabilities_too(size: Any) -> None:
    made = model(batch_size=size)
    labels, P = made.predict_then_learn(X[:50], Y[:50], [0, 1, 2], return_proba=True)
    assert_array_equal(P.argmax(axis=1), labels)
    same = model(batch_size=size)
    assert_array_equal(same.predict_then_learn(X[:50], Y[:50], [0, 1, 2]), labels)
    assert_array_equal(same.predict_proba(X), made.predict_proba(X))


def test_other_learners_give_probabilities_row_by_row() -> None:
    made = make("GaussianNB")
    labels, P = made.predict_then_learn(X[:40], Y[:40], return_proba=True)
    twin = make("GaussianNB")
    assert_array_equal(labels, twin.predict_then_learn(X[:40], Y[:40]))
    assert P.shape == (40, 3)
    assert_allclose(P[20:].sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="return_proba must be False for PA"):
        make("PA").predict_then_learn(X, Y, return_proba=True)


def test_labels_and_statistics_are_those_of_a_fixed_temperature() -> None:
    auto, fixed = learned(), learned(temperature=None)
    assert_array_equal(auto._state.moments.mean, fixed._state.moments.mean)
    assert_array_equal(auto._state.moments.scatter, fixed._state.moments.scatter)
    assert_array_equal(auto.predict(X), fixed.predict(X))
    y = Y[1000:]
    loss = [
        -np.log(m.predict_proba(X[1000:])[np.arange(500), y]).mean()
        for m in (auto, fixed)
    ]
    assert loss[0] < loss[1]


def test_a_file_keeps_what_was_learned_about_probabilities(tmp_path: Path) -> None:
    made = learned()
    made.save(tmp_path / "model.rpnb")
    loaded = RPNBClassifier.load(tmp_path / "model.rpnb")
    assert_array_equal(loaded.predict_proba(X), made.predict_proba(X))
    assert_array_equal(loaded.predict_set(X), made.predict_set(X))
    for each in (made, loaded):
        each.partial_fit(X[:200], Y[:200])
    assert_array_equal(loaded.predict_proba(X), made.predict_proba(X))


def test_a_drift_aware_learner_keeps_its_calibration() -> None:
    pytest.importorskip("river")
    both = np.concatenate([X, -X]), np.concatenate([Y, Y])
    made = DriftAware(model()).fit(*both)
    assert made.drifts_
    learner = made.learner_
    assert isinstance(learner, RPNBClassifier)
    assert learner._state.calibration is not None
    assert learner._state.calibration.rows[0] > 1024


def test_sets_have_the_target_coverage() -> None:
    long, labels = rows(6000)
    for coverage in (0.8, 0.9, 0.95):
        made = model()
        predicted, sets = made.predict_set_then_learn(long, labels, coverage, [0, 1, 2])
        covered = sets[np.arange(6000), labels].mean()
        assert abs(covered - coverage) < 0.01
        assert predicted.shape == (6000,)
    sizes = [made.predict_set(long, c).sum(axis=1).mean() for c in (0.5, 0.77, 0.99)]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize("coverage", [0.2, 1.0, "most", None])
def test_a_coverage_without_sets_is_refused(coverage: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="coverage must be"):
        learned().predict_set(X, coverage)


@pytest.mark.parametrize(
    "parameters", [{"temperature": None}, {"temperature": 2.0}, {"combiner": "vote"}]
)
def test_sets_need_probabilities_that_are_learned(parameters: Any) -> None:
    for wrapped in (
        lambda learner: learner,
        DriftAware,
        lambda learner: make_stream_pipeline(RunningScaler(), learner),
    ):
        made = wrapped(model(**parameters)).fit(X, Y)
        for method in ("predict_set", "predict_set_then_learn"):
            assert not hasattr(made, method)
            with pytest.raises(AttributeError, match="no attribute") as refused:
                getattr(made, method)
            assert "needs temperature='auto'" in str(refused.value.__cause__)


def test_changing_the_temperature_ends_and_begins_calibration() -> None:
    made = learned()
    made.set_params(temperature=None).partial_fit(X[:9], Y[:9])
    assert made._state.calibration is None
    made.set_params(temperature="auto")
    before = made.predict_proba(X)
    made.partial_fit(X[:9], Y[:9])
    assert made._state.calibration is not None
    assert abs(made.predict_proba(X) - before).max() > 0.0
