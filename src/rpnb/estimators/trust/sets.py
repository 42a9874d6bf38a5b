"""Prediction sets: which classes are probable enough, and the sets of RPNB models."""

from typing import Any

import numpy as np

from rpnb.core.bayes.model import Model
from rpnb.core.conformal import COVERAGES, in_set, thresholds_of
from rpnb.core.kernels.arrays import BoolArray, FloatArray
from rpnb.estimators.checks.parameters import check_real

NO_SETS = (
    "prediction sets need probabilities that are learned online: temperature "
    "must be 'auto' and the combiner 'log_sum' or 'product', and rows must have been "
    "learned since"
)


#: The least probability of a class that is known: its strangeness is the largest, so it
#: is in a set only if every known class is.
LEAST_PROBABILITY = float(np.finfo(np.float64).tiny)


def check_coverage(coverage: Any) -> float:
    """Return a coverage for which there are prediction sets."""
    low, high = float(COVERAGES[0]), float(COVERAGES[-1])
    return check_real("coverage", coverage, low, high=high)


def check_has_sets(state: Model) -> None:
    """Refuse a model that does not learn thresholds of prediction sets."""
    if state.calibration is None:
        raise ValueError(NO_SETS)


def prediction_sets(state: Model, P: FloatArray, coverage: float) -> BoolArray:
    """Return which classes are in the set of each row with probabilities P (n, M)."""
    check_has_sets(state)
    assert state.calibration is not None  # noqa: S101 - just checked
    return past_sets(P, state.calibration.thresholds[None, :], coverage)


def past_sets(P: FloatArray, thresholds: FloatArray, coverage: float) -> BoolArray:
    """Return the sets of rows with these thresholds: (n, coverages), or one for all."""
    out = np.empty(P.shape, np.bool_)
    if P.shape[0] > 0:
        in_set(P, thresholds_of(thresholds, coverage), out)
    return out
