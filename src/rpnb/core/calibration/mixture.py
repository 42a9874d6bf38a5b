"""Probabilities from scores: a Bayesian mixture over temperatures.

Formulas and their sources are above the kernels, in ``cpp/calibration/mixture.h``.
"""

from typing import Final

import numpy as np

from rpnb._core.streams import (
    N_TEMPERATURES,
    Calibration,
    learn_all_codes,
    mix_rows,
)
from rpnb._core.streams import ODDS as _ODDS
from rpnb.core.conformal import new_thresholds
from rpnb.core.kernels.arrays import FloatArray

__all__ = [
    "N_ODDS",
    "ODDS",
    "Calibration",
    "copy_calibration",
    "learn_all_codes",
    "merge_calibrations",
    "mix_rows",
    "new_calibration",
]

#: o_b, the odds of the class with the largest score.
ODDS: Final[FloatArray] = np.array(_ODDS)
N_ODDS: Final = len(_ODDS)


def new_calibration() -> Calibration:
    """Return the state before the first row: all experts weigh the same."""
    weights = np.full((N_ODDS, N_TEMPERATURES), 1.0 / (N_TEMPERATURES * N_ODDS))
    return Calibration(weights, new_thresholds(), np.zeros(1, np.int64))


def copy_calibration(calibration: Calibration) -> Calibration:
    """Return an independent copy."""
    return Calibration(*calibration)


def merge_calibrations(
    mine: Calibration, other: Calibration, base: Calibration | None
) -> Calibration:
    """Return the average of two, by the rows that each has learned from since the base.

    It is not what one would have learned from all rows: that depends on their order.
    """
    shared = 0 if base is None else int(base.rows[0])
    first, second = int(mine.rows[0]) - shared, int(other.rows[0]) - shared
    if second <= 0:
        return copy_calibration(mine)
    share = second / (first + second)
    return Calibration(
        (1.0 - share) * mine.weights + share * other.weights,
        (1.0 - share) * mine.thresholds + share * other.thresholds,
        np.array([first + second + shared]),
    )
