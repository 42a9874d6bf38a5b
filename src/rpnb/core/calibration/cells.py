"""How far each class's score is below the largest, rounded to a grid of cells.

What the cells are, and why, is in ``cpp/calibration/cells.h``.
"""

from typing import Final

import numpy as np

from rpnb._core.streams import (
    CELL_EDGES,
    CELL_WIDTH,
    EVERY,
    FIRST_ROWS,
    LOWEST,
    N_TEMPERATURES,
    UNCERTAIN,
)
from rpnb.core.kernels.arrays import BoolArray, FloatArray

__all__ = [
    "LOWEST",
    "N_TEMPERATURES",
    "UNCERTAIN",
    "calibration_rows",
    "middles",
    "smallest_temperature",
]

_EDGES: Final[FloatArray] = np.array(CELL_EDGES)


def calibration_rows(seen: int, n: int) -> BoolArray:
    """Return for n rows, of which the first is number `seen`, whether each is used."""
    number = np.arange(seen, seen + n)
    return (number < FIRST_ROWS) | (number % EVERY == 0)


def smallest_temperature(base: float) -> float:
    """Return the smallest temperature of the grid around `base`."""
    return base * 2.0**LOWEST


def middles() -> FloatArray:
    """Return the difference that each code stands for: 0, then the cells' middles.

    In units of the smallest temperature.
    """
    return np.concatenate([[0.0], 0.5 * CELL_WIDTH * (_EDGES[1:] + _EDGES[:-1])])
