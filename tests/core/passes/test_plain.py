"""The pass of short streams equals the exact pass, to the bit."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from rpnb.core.bayes.model import Model, copy_model
from rpnb.core.bayes.state import (
    LEARN_ALL,
    LEARN_MISTAKES,
    LEARN_NOTHING,
    KernelState,
)
from rpnb.core.calibration.mixture import new_calibration
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.passes import engine
from rpnb.core.passes.engine import run, scores
from rpnb.core.passes.plain import pass_plain
from strategies import Stream, assert_same_state, make_model, streams, well_behaved

WEIGHT = np.ones(1)


def compare(
    model: Model, stream: Stream, learn: int, weight: FloatArray = WEIGHT
) -> None:
    """Run the exact and the plain pass; compare labels and state."""
    other = copy_model(model)
    n = stream.y.shape[0]
    expected, labels = np.empty(n, np.int64), np.empty(n, np.int64)
    run(model, stream.X, stream.y, weight, learn, expected, path="exact")
    run(other, stream.X, stream.y, weight, learn, labels, path="plain")
    assert_array_equal(labels, expected)
    assert_same_state(model, other)
    if model.calibration is not None:
        assert other.calibration is not None
        for x, y in zip(model.calibration, other.calibration, strict=True):
            assert_array_equal(x, y)


@given(
    streams(),
    st.sampled_from([LEARN_MISTAKES, LEARN_ALL, LEARN_NOTHING]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_labels_and_state_are_those_of_the_exact_pass(
    stream: Stream, learn: int, declared: bool, frequency: bool, calibrated: bool
) -> None:
    model = make_model(stream.X.shape[1], stream.M, K=13)
    model.classes.eligible[:] = declared
    if frequency:
        model.classes = model.classes._replace(count_factor=13.0)
    if calibrated:
        model.calibration = new_calibration()
    compare(model, stream, learn)


@pytest.mark.parametrize("distribution", ["gaussian", "very_sparse", "hadamard"])
@pytest.mark.parametrize("keep", [1.0, 0.9])
def test_weights_forgetting_unlabelled_rows_and_every_projection(
    distribution: str, keep: float
) -> None:
    stream = well_behaved(3, 40)
    stream.y[::5] = -1
    model = make_model(6, 3, K=9, distribution=distribution, keep=keep)  # type: ignore[arg-type]
    model.calibration = new_calibration()
    weight = np.random.default_rng(1).uniform(0.1, 3.0, 40)
    compare(model, stream, LEARN_MISTAKES, weight)


@pytest.mark.parametrize("n", [1, 5, 40])
def test_rows_take_the_plain_pass_until_the_others_pay(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Never:
        def pays(self, cost: float) -> bool:
            return cost < 0.0

    stream = well_behaved(5, 80)
    one = make_model(6, 3)
    two = copy_model(one)
    expected, labels = np.empty(80, np.int64), np.empty(80, np.int64)
    X, y = stream.X, stream.y
    run(one, X, y, WEIGHT, LEARN_MISTAKES, expected, path="exact")
    right = scores(one, X)
    for budget in ("_fast", "_exact", "_one", "_scores"):
        monkeypatch.setattr(engine, budget, Never())
    taken: list[int] = []

    def counted(learner: KernelState, X: FloatArray, *rest: Any) -> int:
        taken.append(X.shape[0])
        return pass_plain(learner, X, *rest)

    monkeypatch.setattr(engine, "pass_plain", counted)
    for start in range(0, 80, n):
        rows = slice(start, start + n)
        run(two, X[rows], y[rows], WEIGHT, LEARN_MISTAKES, labels[rows])
    assert sum(taken) == 80
    assert_array_equal(labels, expected)
    assert_same_state(one, two)
    assert_array_equal(scores(two, X), right)
