"""Prediction sets whose coverage holds on any stream, by quantile tracking.

Formulas and their sources are above the kernels, in ``cpp/calibration/conformal.h``.
"""

from typing import Final

import numpy as np

from rpnb._core.streams import COVERAGES as _COVERAGES
from rpnb._core.streams import (
    in_set,
    learn_threshold,
    strangeness,
    track_thresholds,
)
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.elementary import log

__all__ = [
    "COVERAGES",
    "in_set",
    "learn_threshold",
    "new_thresholds",
    "strangeness",
    "thresholds_of",
    "track_thresholds",
]

#: The coverages whose thresholds are tracked; others are interpolated.
COVERAGES: Final[FloatArray] = np.array(_COVERAGES)


def new_thresholds() -> FloatArray:
    """Return the initial thresholds: sets hold classes of probability ½ or more."""
    return np.zeros(COVERAGES.shape[0])


def thresholds_of(thresholds: FloatArray, coverage: float) -> FloatArray:
    """Return the thresholds (n,) of any coverage, given the tracked (n, coverages).

    Between two tracked coverages the threshold is linear in log(coverage odds).
    """
    right = int(np.searchsorted(COVERAGES, coverage))
    if COVERAGES[right] == coverage:
        return np.ascontiguousarray(thresholds[:, right])
    # Tracked thresholds may cross temporarily.
    ordered = np.maximum.accumulate(thresholds, axis=1)
    odds = log(COVERAGES / (1.0 - COVERAGES))
    share = (log(coverage / (1.0 - coverage)) - odds[right - 1]) / (
        odds[right] - odds[right - 1]
    )
    return (1.0 - share) * ordered[:, right - 1] + share * ordered[:, right]
