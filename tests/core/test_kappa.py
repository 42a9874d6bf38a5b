"""Kappa: the gain of predictions over chance, or over another baseline."""

from math import isnan

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from rpnb.core.kappa import beyond, cohen


def test_kappa_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 300)
    found = np.where(rng.random(300) < 0.6, y, rng.integers(0, 4, 300))
    counts = np.bincount(y, minlength=4), np.bincount(found, minlength=4)
    assert cohen(float((y == found).mean()), *counts) == pytest.approx(
        cohen_kappa_score(y, found), rel=1e-12
    )


def test_skill_is_measured_from_what_comes_without_it() -> None:
    assert beyond(0.9, 0.8) == pytest.approx(0.5)
    assert beyond(0.7, 0.8) == pytest.approx(-0.5)
    assert isnan(beyond(1.0, 1.0))
