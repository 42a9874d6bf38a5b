"""Building a class's quadratic form from its density, and updating its means.

Building is the most expensive part of an update in the quadratic pass: p(p + 3)/2 inner
products of F numbers. They are taken in single precision, with eight sums at a time in
registers.
"""

from math import frexp, ldexp, sqrt

from rpnb.core.bayes.densities import Gaussians
from rpnb.core.kernels.arrays import BoolArray, FloatArray, SingleArray
from rpnb.core.kernels.compiling.compiled import compiled, compiled_approximate
from rpnb.core.kernels.vectors import (
    SINGLES,
    load_singles,
    multiply_add,
    singles,
    store_singles,
    sum_singles,
)
from rpnb.core.passes.quadratic.record import PANEL, QuadraticForms
from rpnb.core.passes.quadratic.staleness import reset_staleness

# Columns of a tile's rows that fit into the first-level cache together.
_COLUMNS = 512


@compiled
def rebuild_stale(
    quadratic: QuadraticForms, stale: BoolArray, gaussians: Gaussians
) -> None:
    """Build the polynomials of the classes marked in `stale` (M,), and unmark them."""
    for m in range(stale.shape[0]):
        if stale[m]:
            rebuild_form(quadratic, m, gaussians)
            stale[m] = False


@compiled
def rebuild_form(quadratic: QuadraticForms, m: int, gaussians: Gaussians) -> None:
    """Build class m's polynomial from its density.

    The precisions w, and the products w·μ', are divided by a power of two above all of
    them, so that single precision does not overflow. What underflows is smaller than
    the last term of `trace_root`, which accounts for it in the bound.
    """
    rows, wide = quadratic.columns.shape
    p = quadratic.origin.shape[0]
    F = quadratic.centre.shape[0]
    precision = gaussians.precision[m]
    workspace = quadratic.workspace
    precision_sum, mean_square = _sums(gaussians.mean[m], precision, quadratic.centre)
    # No |w·μ'| is above √(Σ w)·√(Σ w μ'²).
    unit = _power_above(precision_sum)
    slope_unit = _power_above(sqrt(precision_sum) * sqrt(mean_square))
    columns = quadratic.columns.reshape(rows * wide)
    weights, slopes, sums, A, b = (
        workspace.weights,
        workspace.slopes,
        workspace.sums,
        workspace.A,
        workspace.b,
    )
    _scale(
        gaussians.mean[m],
        precision,
        quadratic.centre,
        1.0 / unit,
        1.0 / slope_unit,
        weights[:F],
        slopes[:F],
    )
    A[:] = 0.0
    b[:] = 0.0
    # For each four rows: the ten inner products among them, then tiles of four rows by
    # two later ones with eight inner products; each sum has eight lanes.
    for first in range(0, wide, PANEL):
        last = min(first + PANEL, wide)
        sums[:] = 0.0
        for start in range(first, last, _COLUMNS):
            stop = min(start + _COLUMNS, last)
            at = 0
            for i in range(0, p, 4):
                _four_by_themselves(columns, weights, wide, i, start, stop, sums, at)
                at += 10 * SINGLES
                for j in range(i + 4, p, 2):
                    _four_by_two(columns, weights, wide, i, j, start, stop, sums, at)
                    at += 8 * SINGLES
        at = 0
        for i in range(0, p, 4):
            for k in range(4):
                for j in range(k + 1):
                    A[i + j, i + k] += sum_singles(load_singles(sums, at))
                    at += SINGLES
            for j in range(i + 4, p, 2):
                for k in range(8):
                    lanes = load_singles(sums, at)
                    A[i + k // 2, j + k % 2] += sum_singles(lanes)
                    at += SINGLES
        for j in range(0, p, 4):
            _one_by_four(slopes, columns, wide, j, first, last, b)
    factors = quadratic.factors[m]
    square = unit * (quadratic.scale * quadratic.scale)
    place = 0
    trace = 0.0
    for i in range(p):
        trace += A[i, i]
        factors[place] = -0.5 * square * A[i, i]
        place += 1
        for j in range(i + 1, p):
            factors[place] = -square * A[i, j]
            place += 1
    for i in range(p):
        factors[place] = slope_unit * quadratic.scale * b[i]
        place += 1
    quadratic.start[m] = -0.5 * mean_square
    quadratic.mean_norm[m] = sqrt(mean_square)
    lost = F * (1.0 + quadratic.max_column_norm * quadratic.max_column_norm) * 2.0**-100
    quadratic.trace_root[m] = sqrt(square * (trace * (1.0 + quadratic.gamma) + lost))
    quadratic.norm_bound[m] = 0.0
    reset_staleness(quadratic.staleness, m, weights[:F], unit)


@compiled
def shift_means(
    quadratic: QuadraticForms, m: int, share: float, x: FloatArray, length: float
) -> None:
    """Update class m's polynomial after its means moved towards a row by `share`.

    x (p,) is the centred row and `length` |x|. With h the share, μ' becomes
    (1 − h)·μ' + h·z', and so b becomes (1 − h)·b + h·A x: p² operations.
    """
    p = quadratic.origin.shape[0]
    factors = quadratic.factors[m]
    linear = factors[factors.shape[0] - p :]
    Ax = quadratic.workspace.b
    for i in range(p):
        Ax[i] = 0.0
    place = 0
    for i in range(p):
        own = 2.0 * factors[place] * x[i]
        place += 1
        for k in range(p - i - 1):
            a = factors[place + k]
            own += a * x[i + 1 + k]
            Ax[i + 1 + k] += a * x[i]
        place += p - i - 1
        Ax[i] += own
    rest = 1.0 - share
    bx = 0.0
    xAx = 0.0
    for i in range(p):
        # The factors are −A.
        bx += linear[i] * x[i]
        xAx -= Ax[i] * x[i]
        linear[i] = rest * linear[i] - share * Ax[i]
    start = rest * rest * quadratic.start[m]
    quadratic.start[m] = start - share * (rest * bx + 0.5 * share * xAx)
    distance = quadratic.trace_root[m] * length
    distance_bound = (
        distance
        + quadratic.mean_norm[m]
        + 2.0 * quadratic.trace_root[m] * quadratic.origin_norm
    )
    quadratic.norm_bound[m] = max(quadratic.norm_bound[m], distance_bound)
    quadratic.mean_norm[m] = rest * quadratic.mean_norm[m] + share * distance


@compiled_approximate
def _sums(
    mean: FloatArray, precision: FloatArray, centre: FloatArray
) -> tuple[float, float]:
    """Return Σ w and Σ w μ'²."""
    precision_sum = 0.0
    mean_square = 0.0
    for f in range(mean.shape[0]):
        centred = mean[f] - centre[f]
        precision_sum += precision[f]
        mean_square += precision[f] * centred * centred
    return precision_sum, mean_square


@compiled
def _power_above(value: float) -> float:
    """Return a power of two above `value`, within what can be inverted."""
    return ldexp(1.0, min(max(frexp(value)[1], -1000), 1000))


@compiled
def _scale(
    mean: FloatArray,
    precision: FloatArray,
    centre: FloatArray,
    unit: float,
    slope_unit: float,
    weights: SingleArray,
    slopes: SingleArray,
) -> None:
    """Write w and w·μ', times a factor each, in single precision."""
    for f in range(mean.shape[0]):
        weights[f] = precision[f] * unit
        slopes[f] = precision[f] * (mean[f] - centre[f]) * slope_unit


@compiled
def _four_by_themselves(
    columns: SingleArray,
    weights: SingleArray,
    wide: int,
    i: int,
    first: int,
    last: int,
    sums: SingleArray,
    at: int,
) -> None:
    """Add weighted inner products of rows i … i + 3 with each other to sums from `at`.

    Ten sums: each row with itself and with those before it. See `_four_by_two`.
    """
    l0 = i * wide
    l1 = l0 + wide
    l2 = l1 + wide
    l3 = l2 + wide
    s00 = load_singles(sums, at)
    s01 = load_singles(sums, at + 8)
    s11 = load_singles(sums, at + 16)
    s02 = load_singles(sums, at + 24)
    s12 = load_singles(sums, at + 32)
    s22 = load_singles(sums, at + 40)
    s03 = load_singles(sums, at + 48)
    s13 = load_singles(sums, at + 56)
    s23 = load_singles(sums, at + 64)
    s33 = load_singles(sums, at + 72)
    for f in range(first, last, SINGLES):
        w = load_singles(weights, f)
        x0 = load_singles(columns, l0 + f)
        s00 = multiply_add(x0, w * x0, s00)
        x1 = load_singles(columns, l1 + f)
        a = w * x1
        s01 = multiply_add(x0, a, s01)
        s11 = multiply_add(x1, a, s11)
        x2 = load_singles(columns, l2 + f)
        a = w * x2
        s02 = multiply_add(x0, a, s02)
        s12 = multiply_add(x1, a, s12)
        s22 = multiply_add(x2, a, s22)
        x3 = load_singles(columns, l3 + f)
        a = w * x3
        s03 = multiply_add(x0, a, s03)
        s13 = multiply_add(x1, a, s13)
        s23 = multiply_add(x2, a, s23)
        s33 = multiply_add(x3, a, s33)
    store_singles(sums, at, s00)
    store_singles(sums, at + 8, s01)
    store_singles(sums, at + 16, s11)
    store_singles(sums, at + 24, s02)
    store_singles(sums, at + 32, s12)
    store_singles(sums, at + 40, s22)
    store_singles(sums, at + 48, s03)
    store_singles(sums, at + 56, s13)
    store_singles(sums, at + 64, s23)
    store_singles(sums, at + 72, s33)


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
    s1, s2, s3, t0, t1, t2, t3 = s0, s0, s0, s0, s0, s0, s0
    middle = first + (last - first) // (2 * SINGLES) * SINGLES
    ahead = middle - first
    for f in range(first, middle, SINGLES):
        x = load_singles(left, f)
        s0 = multiply_add(x, load_singles(right, r0 + f), s0)
        s1 = multiply_add(x, load_singles(right, r1 + f), s1)
        s2 = multiply_add(x, load_singles(right, r2 + f), s2)
        s3 = multiply_add(x, load_singles(right, r3 + f), s3)
        x = load_singles(left, f + ahead)
        t0 = multiply_add(x, load_singles(right, r0 + f + ahead), t0)
        t1 = multiply_add(x, load_singles(right, r1 + f + ahead), t1)
        t2 = multiply_add(x, load_singles(right, r2 + f + ahead), t2)
        t3 = multiply_add(x, load_singles(right, r3 + f + ahead), t3)
    for f in range(first + 2 * ahead, last, SINGLES):
        x = load_singles(left, f)
        s0 = multiply_add(x, load_singles(right, r0 + f), s0)
        s1 = multiply_add(x, load_singles(right, r1 + f), s1)
        s2 = multiply_add(x, load_singles(right, r2 + f), s2)
        s3 = multiply_add(x, load_singles(right, r3 + f), s3)
    sums[j] += sum_singles(s0) + sum_singles(t0)
    sums[j + 1] += sum_singles(s1) + sum_singles(t1)
    sums[j + 2] += sum_singles(s2) + sum_singles(t2)
    sums[j + 3] += sum_singles(s3) + sum_singles(t3)
