"""Brier score, calibration error and coverage along a stream."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rpnb import RPNBClassifier
from rpnb.baselines import GaussianNB, make
from rpnb.core.kernels.arrays import FloatArray
from rpnb.evaluate import prequential

_RNG = np.random.default_rng(3)
Y = _RNG.integers(0, 3, 250)
X = _RNG.normal(size=(250, 4)) + np.eye(3, 4)[Y]
METRICS: Any = ["log_loss", "brier", "calibration_error", "coverage"]


def expected(P: FloatArray, rows: slice) -> dict[str, float]:
    """Return the figures of probabilities, from their definitions."""
    p, y = P[rows], Y[rows]
    right = p.argmax(axis=1) == y
    error = 0.0
    for low in np.arange(0.0, 1.0, 0.1):
        there = (p.max(axis=1) >= low) & (p.max(axis=1) < low + 0.1)
        if there.any():
            gap = p.max(axis=1)[there].mean() - right[there].mean()
            error += abs(gap) * there.mean()
    return {
        "log_loss": -np.log(p[np.arange(len(y)), y]).mean(),
        "brier": ((p - np.eye(3)[y]) ** 2).sum(axis=1).mean(),
        "calibration_error": error,
    }


@pytest.mark.parametrize("learner", ["RPNB", "GaussianNB"])
def test_metrics_are_those_of_the_probabilities_before_each_row(learner: str) -> None:
    def model() -> Any:
        fresh: Any = RPNBClassifier(10, random_state=0)
        if learner == "GaussianNB":
            fresh = GaussianNB()
        return fresh.partial_fit(X[:50], Y[:50])

    _, P = model().predict_then_learn(X[50:], Y[50:], return_proba=True)
    P = np.concatenate([np.zeros((50, 3)), P])
    result = prequential(model(), X[50:], Y[50:], metrics=METRICS, window=80, every=200)
    course: Any = result[type(model()).__name__]
    for name, value in expected(P, slice(50, None)).items():
        assert_allclose(course.last(name), value, rtol=1e-9)
    for name, value in expected(P, slice(170, None)).items():
        assert_allclose(course.last(name, "window"), value, rtol=1e-9)
    covered = course.last("coverage")
    assert np.isnan(covered) if learner == "GaussianNB" else 0.7 < covered <= 1.0


def test_metrics_of_probabilities_need_some() -> None:
    with pytest.raises(ValueError, match="'brier' where no learner gives"):
        prequential(make("PA"), X, Y, metrics=["brier"])
