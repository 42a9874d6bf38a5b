"""Pooled models in tests: light members, a pass over rows, and equality."""

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled.engine import run
from rpnb.core.pooled.member import same_state
from rpnb.core.pooled.model import PooledModel, new_model

#: Members whose state is small.
LIGHT = ["binned_bayes", "neighbours", "transitions"]
#: In place of log probabilities that are not wanted.
NOTHING = np.zeros((0, 0))


def learn(model: PooledModel, X: object, y: IntArray, jobs: int = 1) -> IntArray:
    """Predict rows, then learn them; return the predicted classes."""
    labels = np.empty(len(y), np.int64)
    run(model, X, y, np.ones(len(y)), labels, NOTHING, jobs)
    return labels


def assert_same_model(a: PooledModel, b: PooledModel) -> None:
    """Compare all states, also those of delayed members, to the bit."""
    assert same_state(a.scale, b.scale)
    assert same_state(a.pool, b.pool)
    for one, two in zip(a.states, b.states, strict=True):
        assert same_state(one, two)
    assert (a.late is None) is (b.late is None)
    if a.late is not None and b.late is not None:
        assert same_state(a.late.pending, b.late.pending)
        assert_same_model(a.late.behind, b.late.behind)


def runs_of_labels(n: int) -> tuple[FloatArray, IntArray]:
    """Return rows whose labels come in runs, which the features hardly show."""
    rng = np.random.default_rng(n)
    y = (np.arange(n) // 5) % 3
    return rng.normal(size=(n, 3)) + 0.5 * y[:, None], y


def light_model(delay: int, active: int = 3, p: int = 3) -> PooledModel:
    """Return a model of light members and three classes, the first `active` active."""
    return new_model(LIGHT, p, 16, 0, np.arange(3) < active, 1, delay)
