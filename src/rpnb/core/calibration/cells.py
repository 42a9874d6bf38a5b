"""How far each class's score is below the largest, rounded to a grid of cells.

A mixture of temperatures needs the scores of all classes, which a fast pass knows only
up to an error bound. It does not need them precisely: temperatures differ by a factor
of two. So differences of scores are rounded to cells, and a pass only has to know which
cell a difference is in. Where its bounds leave two cells possible, it computes the
scores in double precision, which define the cell. Every pass therefore gives the same
cells, and calibration does not depend on how rows are cut into calls.

With u the difference in units of 32 times the smallest temperature, the cells are
[i, i + 1) for u below 4, and two of equal width in each [2ᵏ, 2ᵏ⁺¹) above: a relative
width of at most a half.
"""

from functools import cache
from math import frexp
from typing import Final, NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, CodeArray, FloatArray, IntArray
from rpnb.core.kernels.compiling.compiled import compiled, compiled_inline

# Temperatures are base·2^g for g from LOWEST on.
LOWEST: Final = -9
N_TEMPERATURES: Final = 20

# Rows that calibration learns from: the first ones, then one in `EVERY`, a prime number
# so that a stream's own period, of hours or days, is not met at the same phase always.
FIRST_ROWS: Final = 512
EVERY: Final = 23

# Code of the class with the largest score; a cell's code is its number plus one.
BEST: Final = 0
#: Code of a class that is not active.
INACTIVE: Final = -1
#: Code of a class whose cell a pass is not certain of.
UNCERTAIN: Final = -2

# Width of the first cells in units of the smallest temperature.
_WIDTH = 32.0
_PER_OCTAVE = 2
_LINEAR = 2 * _PER_OCTAVE
# _LINEAR is this power of two.
_LINEAR_POWER = 2
# At this difference the largest temperature gives a factor of exp(−512), not yet zero.
_LIMIT = 512.0 * 2.0 ** (N_TEMPERATURES - 1) / _WIDTH
_LAST = 45


@compiled_inline
def is_calibration_row(number: int) -> bool:
    """Whether calibration learns from the row of this number, counted from 0."""
    return number < FIRST_ROWS or number % EVERY == 0


def calibration_rows(seen: int, n: int) -> BoolArray:
    """Return for n rows, of which the first is number `seen`, whether each is used."""
    number = np.arange(seen, seen + n)
    return (number < FIRST_ROWS) | (number % EVERY == 0)


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
    scale = 1.0 / (_WIDTH * smallest_temperature(base))
    return ScoreCells(codes, np.array([seen, 0]), scale)


def smallest_temperature(base: float) -> float:
    """Return the smallest temperature of the grid around `base`."""
    return base * 2.0**LOWEST


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


def _edges() -> FloatArray:
    """Return the lower edges of all cells, and the upper edge of the last."""
    number = np.arange(_LAST + 2)
    octave = np.maximum(number // _PER_OCTAVE - 1, 0)
    return (number - _PER_OCTAVE * octave) * 2.0**octave


_EDGES = _edges()


def middles() -> FloatArray:
    """Return the difference that each code stands for: 0, then the cells' middles.

    In units of the smallest temperature.
    """
    return np.concatenate([[0.0], 0.5 * _WIDTH * (_EDGES[1:] + _EDGES[:-1])])


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
