"""How far each class's score is below the largest, rounded to a grid of cells.

What the cells are, and why, is in ``cpp/calibration/cells.h``.
"""

from functools import cache
from math import frexp
from typing import Final, NamedTuple

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
from rpnb.core.kernels.arrays import BoolArray, CodeArray, FloatArray, IntArray
from rpnb.core.kernels.compiling.compiled import compiled, compiled_inline

__all__ = [
    "LOWEST",
    "N_TEMPERATURES",
    "UNCERTAIN",
    "ScoreCells",
    "calibration_rows",
    "certain_code",
    "is_calibration_row",
    "middles",
    "new_cells",
    "next_row_of_codes",
    "no_cells",
    "smallest_temperature",
    "write_codes",
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


# All that follows is for the Numba passes, and goes with them: C++ passes use cells.h.
BEST: Final = 0
INACTIVE: Final = -1
_PER_OCTAVE = 2
_LINEAR = 2 * _PER_OCTAVE
# _LINEAR is this power of two.
_LINEAR_POWER = 2
# At this difference the largest temperature gives a factor of exp(−512), not yet zero.
_LIMIT = 512.0 * 2.0 ** (N_TEMPERATURES - 1) / CELL_WIDTH
_LAST = 45


@compiled_inline
def is_calibration_row(number: int) -> bool:
    """Whether calibration learns from the row of this number, counted from 0."""
    return number < FIRST_ROWS or number % EVERY == 0


class ScoreCells(NamedTuple):
    """Where a pass writes the cells of the rows that calibration learns from."""

    codes: CodeArray
    """(r, M) codes of the rows' classes; (0, M) to write none"""
    place: IntArray
    """(2,) how many rows were seen, and how many rows of codes written, so far"""
    scale: float
    """one over the width of the first cells"""


@cache
def no_cells(M: int) -> ScoreCells:
    """Return a record that makes a pass write nothing."""
    return ScoreCells(np.zeros((0, M), np.int16), np.zeros(2, np.int64), 1.0)


def new_cells(M: int, seen: int, n: int, base: float) -> ScoreCells:
    """Return a record for a pass over n rows with labels, after `seen` others.

    `base` is the temperature in the middle of the grid, of which the others are
    multiples by powers of two.
    """
    rows = int(np.count_nonzero(calibration_rows(seen, n)))
    codes = np.empty((rows, M), np.int16)
    scale = 1.0 / (CELL_WIDTH * smallest_temperature(base))
    return ScoreCells(codes, np.array([seen, 0]), scale)


@compiled_inline
def next_row_of_codes(cells: ScoreCells) -> int:
    """Count a row that has a label; return where its codes belong, −1 for nowhere."""
    if cells.codes.shape[0] == 0:
        return -1
    number = cells.place[0]
    cells.place[0] += 1
    if not is_calibration_row(number):
        return -1
    cells.place[1] += 1
    return cells.place[1] - 1


@compiled_inline
def cell_of(u: float) -> int:
    """Return the number of the cell of u ≥ 0; values beyond the last belong to it."""
    # Written so that NaN is beyond.
    if not u < _LIMIT:
        return _LAST
    if u < _LINEAR:
        return int(u)
    # u = mantissa · 2^exponent with a mantissa from ½ to 1.
    mantissa, exponent = frexp(u)
    return _PER_OCTAVE * (exponent - _LINEAR_POWER) + int(mantissa * _LINEAR)


@compiled_inline
def certain_code(difference: float, error: float, scale: float) -> int:
    """Return the code of a difference known up to ±`error`, or UNCERTAIN."""
    # The last factor covers the rounding of the difference and of u.
    u = difference * scale
    width = 1.001 * error * scale + 1e-14 * u
    # A difference of scores is at least zero.
    cell = cell_of(max(u, 0.0))
    upper = _EDGES[cell + 1] if cell < _LAST else np.inf
    if u + width < upper and (u - width >= _EDGES[cell] or cell == 0):
        return cell + 1
    return UNCERTAIN


@compiled
def write_codes(
    scores: FloatArray, active: BoolArray, best: int, scale: float, codes: CodeArray
) -> None:
    """Write the codes (M,) of double-precision scores (M,), of which `best` leads."""
    for m in range(scores.shape[0]):
        if not active[m]:
            codes[m] = INACTIVE
        elif m == best:
            codes[m] = BEST
        else:
            codes[m] = cell_of((scores[best] - scores[m]) * scale) + 1
