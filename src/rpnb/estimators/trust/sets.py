"""Prediction sets: which classes are probable enough, and the sets of RPNB models."""

from typing import Any

import numpy as np

from rpnb.core.conformal import COVERAGES, in_set, thresholds_of, track_thresholds
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.estimators.checks.parameters import check_real

NO_SETS = (
    "predict_set needs temperature='auto' and combiner 'log_sum' or 'product', set "
    "before rows are learned"
)


#: Lowest probability of a known class: its nonconformity score is the largest, so it is
#: in a set only if every known class is.
LEAST_PROBABILITY = float(np.finfo(np.float64).tiny)


def check_coverage(coverage: Any) -> float:
    """Check and return the coverage of prediction sets."""
    low, high = float(COVERAGES[0]), float(COVERAGES[-1])
    return check_real("coverage", coverage, low, high=high)


def past_sets(P: FloatArray, thresholds: FloatArray, coverage: float) -> BoolArray:
    """Return the sets of rows with these thresholds: (n, coverages), or one for all."""
    out = np.empty(P.shape, np.bool_)
    if P.shape[0] > 0:
        in_set(P, thresholds_of(thresholds, coverage), out)
    return out


def following_sets(
    P: FloatArray,
    y: IntArray,
    thresholds: FloatArray,
    coverage: float,
    together: int | None = 1,
) -> BoolArray:
    """Return the sets of rows in their order; each row moves the thresholds.

    `together` is the number of rows that are predicted before any is learned, None for
    all: these have the thresholds before the first of them.
    """
    n = P.shape[0]
    before = np.empty((n, COVERAGES.shape[0]))
    track_thresholds(thresholds, P, y, before)
    if together != 1:
        before = before[np.arange(n) // (together or n) * (together or n)]
    return past_sets(P, before, coverage)
