"""Bringing a class's quadratic form up to date with its laws.

Of all that a mistake costs by forms this is the most: p(p + 3)/2 inner products of F
numbers. They are taken in single precision, eight at a time in registers.
"""

from math import frexp, ldexp, sqrt

import numpy as np

from rpnb.core.arrays import FloatArray, SingleArray
from rpnb.core.compiled import compiled, compiled_approximate
from rpnb.core.laws import Gaussians
from rpnb.core.quadratic import PANEL, Quadratic
from rpnb.core.vectors import (
    SINGLES,
    load_singles,
    multiply_add,
    singles,
    store_singles,
    sum_singles,
)

# Columns of a tile's rows that stay in the first-level cache together.
_STRETCH = 512


@compiled
def refresh_quadratic(quadratic: Quadratic, m: int, gaussians: Gaussians) -> None:
    """Bring class m's polynomial up to date with its laws.

    Precisions are divided by a power of two above all of them, and so is w·μ', so that
    single precision can neither overflow nor lose what matters; what underflows is
    smaller than the last term of the trace, which stands for it in the bound.
    """
    rows, wide = quadratic.columns.shape
    p = quadratic.origin.shape[0]
    F = quadratic.centre.shape[0]
    precision = gaussians.precision[m]
    along = np.empty(F)
    stiffness, pull, trace = _survey(
        gaussians.mean[m], precision, quadratic.centre, quadratic.norms, along
    )
    # No |w·μ'| is above √(Σ w)·√(Σ w μ'²).
    stiff = _power_above(stiffness)
    steep = _power_above(sqrt(stiffness) * sqrt(pull))
    columns = quadratic.columns.reshape(rows * wide)
    weights = np.zeros(wide, np.float32)
    slopes = np.zeros(wide, np.float32)
    _scale(precision, 1.0 / stiff, weights[:F])
    _scale(along, 1.0 / steep, slopes[:F])
    A = np.zeros((rows, rows))
    b = np.zeros(rows)
    # Of each tile of four rows by two, eight sums of eight lanes.
    sums = np.empty((rows // 4 + 1) * (rows // 2) * 8 * SINGLES, np.float32)
    for first in range(0, wide, PANEL):
        last = min(first + PANEL, wide)
        sums[:] = 0.0
        for start in range(first, last, _STRETCH):
            stop = min(start + _STRETCH, last)
            tile = 0
            for i in range(0, p, 4):
                for j in range(i, p, 2):
                    _four_by_two(columns, weights, wide, i, j, start, stop, sums, tile)
                    tile += 8 * SINGLES
        tile = 0
        for i in range(0, p, 4):
            for j in range(i, p, 2):
                for k in range(8):
                    lanes = load_singles(sums, tile + k * SINGLES)
                    A[i + k // 2, j + k % 2] += sum_singles(lanes)
                tile += 8 * SINGLES
        for j in range(0, p, 4):
            _one_by_four(slopes, columns, wide, j, first, last, b)
    factors = quadratic.factors[m]
    square = stiff * (quadratic.scale * quadratic.scale)
    place = 0
    for i in range(p):
        factors[place] = -0.5 * square * A[i, i]
        place += 1
        for j in range(i + 1, p):
            factors[place] = -square * A[i, j]
            place += 1
    for i in range(p):
        factors[place] = steep * quadratic.scale * b[i]
        place += 1
    quadratic.start[m] = -0.5 * pull
    quadratic.pull[m] = sqrt(pull)
    trace = trace * (quadratic.scale * quadratic.scale)
    lost = square * F * (1.0 + quadratic.longest) * 2.0**-100
    quadratic.spread[m] = sqrt(trace + lost)


@compiled_approximate
def _survey(
    mean: FloatArray,
    precision: FloatArray,
    centre: FloatArray,
    norms: FloatArray,
    along: FloatArray,
) -> tuple[float, float, float]:
    """Write w·μ' to `along`; return Σ w, Σ w μ'² and Σ w‖r‖²."""
    stiffness = 0.0
    pull = 0.0
    trace = 0.0
    for f in range(mean.shape[0]):
        w = precision[f]
        moved = mean[f] - centre[f]
        along[f] = w * moved
        stiffness += w
        pull += w * moved * moved
        trace += w * norms[f]
    return stiffness, pull, trace


@compiled
def _power_above(value: float) -> float:
    """Return a power of two above `value`, within what can be inverted."""
    return ldexp(1.0, min(max(frexp(value)[1], -1000), 1000))


@compiled
def _scale(values: FloatArray, factor: float, out: SingleArray) -> None:
    for f in range(values.shape[0]):
        out[f] = values[f] * factor


@compiled
def _four_by_two(
    columns: SingleArray,
    weights: SingleArray,
    wide: int,
    i: int,
    j: int,
    first: int,
    last: int,
    sums: SingleArray,
    at: int,
) -> None:
    """Add weighted inner products of rows i … i + 3 with j and j + 1 to sums from `at`.

    Rows have `wide` numbers, of which those from `first` to `last` − 1 count.
    """
    l0 = i * wide
    l1 = l0 + wide
    l2 = l1 + wide
    l3 = l2 + wide
    r0 = j * wide
    r1 = r0 + wide
    s00 = load_singles(sums, at)
    s01 = load_singles(sums, at + 8)
    s10 = load_singles(sums, at + 16)
    s11 = load_singles(sums, at + 24)
    s20 = load_singles(sums, at + 32)
    s21 = load_singles(sums, at + 40)
    s30 = load_singles(sums, at + 48)
    s31 = load_singles(sums, at + 56)
    for f in range(first, last, SINGLES):
        w = load_singles(weights, f)
        a = w * load_singles(columns, r0 + f)
        b = w * load_singles(columns, r1 + f)
        x = load_singles(columns, l0 + f)
        s00 = multiply_add(x, a, s00)
        s01 = multiply_add(x, b, s01)
        x = load_singles(columns, l1 + f)
        s10 = multiply_add(x, a, s10)
        s11 = multiply_add(x, b, s11)
        x = load_singles(columns, l2 + f)
        s20 = multiply_add(x, a, s20)
        s21 = multiply_add(x, b, s21)
        x = load_singles(columns, l3 + f)
        s30 = multiply_add(x, a, s30)
        s31 = multiply_add(x, b, s31)
    store_singles(sums, at, s00)
    store_singles(sums, at + 8, s01)
    store_singles(sums, at + 16, s10)
    store_singles(sums, at + 24, s11)
    store_singles(sums, at + 32, s20)
    store_singles(sums, at + 40, s21)
    store_singles(sums, at + 48, s30)
    store_singles(sums, at + 56, s31)


@compiled
def _one_by_four(
    left: SingleArray,
    right: SingleArray,
    wide: int,
    j: int,
    first: int,
    last: int,
    sums: FloatArray,
) -> None:
    """Add the inner products of `left` with rows j … j + 3 to `sums`."""
    r0 = j * wide
    r1 = r0 + wide
    r2 = r1 + wide
    r3 = r2 + wide
    s0 = singles(0.0)
    s1 = singles(0.0)
    s2 = singles(0.0)
    s3 = singles(0.0)
    for f in range(first, last, SINGLES):
        x = load_singles(left, f)
        s0 = multiply_add(x, load_singles(right, r0 + f), s0)
        s1 = multiply_add(x, load_singles(right, r1 + f), s1)
        s2 = multiply_add(x, load_singles(right, r2 + f), s2)
        s3 = multiply_add(x, load_singles(right, r3 + f), s3)
    sums[j] += sum_singles(s0)
    sums[j + 1] += sum_singles(s1)
    sums[j + 2] += sum_singles(s2)
    sums[j + 3] += sum_singles(s3)
