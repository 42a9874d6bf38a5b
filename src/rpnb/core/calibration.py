"""Probabilities from scores: a Bayesian mixture over temperatures.

Formulas and their sources are above the kernels: the mixture in
``cpp/calibration/mixture.h``, the cells to which scores are rounded in
``cpp/calibration/cells.h``.
"""

from typing import Final

import numpy as np

from rpnb._core.streams import (
    EVERY,
    FIRST_ROWS,
    LOWEST,
    N_TEMPERATURES,
    UNCERTAIN,
    Calibration,
    learn_all_codes,
    mix_rows,
)
from rpnb._core.streams import ODDS as _ODDS
from rpnb.core.conformal import new_thresholds
from rpnb.core.kernels.arrays import BoolArray, FloatArray

__all__ = [
    "LOWEST",
    "N_ODDS",
    "N_TEMPERATURES",
    "ODDS",
    "UNCERTAIN",
    "Calibration",
    "calibration_rows",
    "copy_calibration",
    "learn_all_codes",
    "merge_calibrations",
    "mix_rows",
    "new_calibration",
    "smallest_temperature",
]

#: o_b, the odds of the class with the largest score.
ODDS: Final[FloatArray] = np.array(_ODDS)
N_ODDS: Final = len(_ODDS)


def new_calibration() -> Calibration:
    """Return the state before the first row: equal weights."""
    weights = np.full((N_ODDS, N_TEMPERATURES), 1.0 / (N_TEMPERATURES * N_ODDS))
    return Calibration(weights, new_thresholds(), np.zeros(1, np.int64))


def copy_calibration(calibration: Calibration) -> Calibration:
    """Return an independent copy."""
    return Calibration(*calibration)


def merge_calibrations(
    mine: Calibration, other: Calibration, base: Calibration | None
) -> Calibration:
    """Return the mean of two states, weighted by the rows learned since `base`.

    This is not what one state would have learned from all rows, which depends on their
    order.
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


def calibration_rows(seen: int, n: int) -> BoolArray:
    """Return whether calibration learns from each of n rows from number `seen` on."""
    number = np.arange(seen, seen + n)
    return (number < FIRST_ROWS) | (number % EVERY == 0)


def smallest_temperature(base: float) -> float:
    """Return the smallest temperature of the grid around `base`."""
    return base * 2.0**LOWEST
