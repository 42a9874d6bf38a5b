"""Scores as quadratic forms of the observation, which know how wrong they may be.

Under equation (6) a class's score is a sum of squares of numbers that are linear in the
observation. Multiplied out it is a polynomial of degree two in p variables, whatever
the number of columns. With x' = x − x₀, an origin amid the data, μ' = μ − z₀ and
w = 1/σ², the sum −½ Σ w (z − μ)² is

    −½ Σ w μ'²  +  Σ_i b_i x'_i  −  ½ Σ_ij A_ij x'_i x'_j,

    A_ij = scale² Σ w r_i r_j,    b_i = scale Σ w μ' r_i,

the sums without index over the F columns. A row costs about ½p² operations a class
instead of F·p and 2·F a class; a class that has learnt costs ½p²·F once more. The
bound of the error is derived in docs/algorithm.md, "The quadratic path".
"""

from math import frexp, ldexp, sqrt
from typing import NamedTuple

import numpy as np

from rpnb.core.arrays import FloatArray, SingleArray
from rpnb.core.compiled import compiled, compiled_approximate
from rpnb.core.laws import Gaussians

# Columns whose products are summed in single precision before the sum goes to double.
PANEL = 256
# Unit roundoffs of double and single precision.
DOUBLE = 2.0**-53
SINGLE = 2.0**-24
# Beyond this a definitive score may be cut off (`rpnb.core.scoring`).
_LARGEST = 1e299


class Quadratic(NamedTuple):
    """The classes' scores as polynomials in the moved observation."""

    columns: SingleArray
    """(⌈p⌉, F) the projection, with a row of zeros if p is odd"""
    norms: FloatArray
    """(F,) the squared lengths of the projection's columns"""
    longest: float
    """the largest of them"""
    scale: float
    """1/√q"""
    origin: FloatArray
    """(p,) x₀"""
    centre: FloatArray
    """(F,) z₀, the projected origin"""
    factors: FloatArray
    """(M, ⌈L⌉) of x'_i x'_j, i ≤ j, then of x'_i; zeros make the number even by four"""
    start: FloatArray
    """(M,) −½ Σ w μ'²"""
    pull: FloatArray
    """(M,) √(Σ w μ'²)"""
    spread: FloatArray
    """(M,) √(trace of A)"""
    gamma: float
    """bound of the relative error of the polynomial's terms, with their summation"""


@compiled
def n_terms(p: int) -> int:
    """Return L, the number of products of two features and of features."""
    return p * (p + 3) // 2


def unset_quadratic(
    R: SingleArray, scale: float, M: int, origin: FloatArray, centre: FloatArray
) -> Quadratic:
    """Room for the polynomials of M classes, to be filled by `refresh_quadratic`.

    R (p, F) is the projection, `scale` its factor, `origin` (p,) an observation amid
    the data and `centre` (F,) its definitive projection.
    """
    p, F = R.shape
    columns = R
    if p % 2 == 1:
        columns = np.concatenate([R, np.zeros((1, F), np.float32)])
    norms = np.einsum("pf,pf->f", R, R, dtype=np.float64)
    gamma = (min(F, PANEL) + 3) * SINGLE + (F + n_terms(p) + 8) * DOUBLE
    return Quadratic(
        columns,
        norms,
        float(norms.max()),
        scale,
        origin,
        centre,
        np.zeros((M, -(-n_terms(p) // 4) * 4)),
        np.empty(M),
        np.empty(M),
        np.empty(M),
        1.01 * gamma,
    )


@compiled_approximate
def refresh_quadratic(quadratic: Quadratic, m: int, gaussians: Gaussians) -> None:
    """Bring class m's polynomial up to date with its laws.

    Precisions are divided by a power of two above all of them, and so is w·μ', so that
    single precision can neither overflow nor lose what matters; what underflows is
    smaller than the last term of the trace, which stands for it in the bound.
    """
    rows, F = quadratic.columns.shape
    p = quadratic.origin.shape[0]
    precision = gaussians.precision[m]
    along = np.empty(F)
    stiffness, pull, trace = _survey(
        gaussians.mean[m], precision, quadratic.centre, quadratic.norms, along
    )
    # No |w·μ'| is above √(Σ w)·√(Σ w μ'²).
    stiff = _power_above(stiffness)
    steep = _power_above(sqrt(stiffness) * sqrt(pull))
    # The left factors of a panel: of A, row by row, then of b, then zeros.
    left = np.zeros((rows + 2, PANEL), np.float32)
    sums = np.zeros((rows + 2, rows))
    for first in range(0, F, PANEL):
        last = min(first + PANEL, F)
        width = last - first
        _scale(precision[first:last], 1.0 / stiff, left[rows, :width])
        for i in range(p):
            column = quadratic.columns[i, first:last]
            _weigh(left[rows, :width], column, left[i, :width])
        _scale(along[first:last], 1.0 / steep, left[rows, :width])
        for i in range(0, rows + 2, 2):
            for j in range(i if i < rows else 0, rows, 2):
                s00, s01, s10, s11 = _two_by_two(
                    left[i, :width],
                    left[i + 1, :width],
                    quadratic.columns[j, first:last],
                    quadratic.columns[j + 1, first:last],
                )
                sums[i, j] += s00
                sums[i, j + 1] += s01
                sums[i + 1, j] += s10
                sums[i + 1, j + 1] += s11
    factors = quadratic.factors[m]
    square = stiff * (quadratic.scale * quadratic.scale)
    place = 0
    for i in range(p):
        factors[place] = -0.5 * square * sums[i, i]
        place += 1
        for j in range(i + 1, p):
            factors[place] = -square * sums[i, j]
            place += 1
    for i in range(p):
        factors[place] = steep * quadratic.scale * sums[rows, i]
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
def _weigh(weights: SingleArray, column: SingleArray, out: SingleArray) -> None:
    for f in range(weights.shape[0]):
        out[f] = weights[f] * column[f]


@compiled_approximate
def _two_by_two(
    a: SingleArray, b: SingleArray, c: SingleArray, d: SingleArray
) -> tuple[np.float32, np.float32, np.float32, np.float32]:
    """Return the inner products a·c, a·d, b·c and b·d: two loads for two products."""
    ac = np.float32(0.0)
    ad = np.float32(0.0)
    bc = np.float32(0.0)
    bd = np.float32(0.0)
    for f in range(a.shape[0]):
        ac += a[f] * c[f]
        ad += a[f] * d[f]
        bc += b[f] * c[f]
        bd += b[f] * d[f]
    return ac, ad, bc, bd


@compiled
def expand(
    X: FloatArray,
    origin: FloatArray,
    terms: FloatArray,
    lengths: FloatArray,
    distances: FloatArray,
) -> None:
    """Write the polynomials' terms for rows of X (n, p), one column a row.

    `terms` (⌈L⌉, ≥ n) gets the products and features in the order of `factors`, and
    zeros; `lengths` (≥ n,) |x'|, `distances` (≥ n,) |x| + |x₀|.
    """
    n, p = X.shape
    L = n_terms(p)
    away = 0.0
    for i in range(p):
        away += origin[i] * origin[i]
    away = sqrt(away)
    square = np.zeros(n)
    far = np.zeros(n)
    for i in range(p):
        _move(X[:, i], origin[i], terms[L - p + i, :n], square, far)
    for b in range(n):
        lengths[b] = sqrt(square[b])
        distances[b] = sqrt(far[b]) + away
    place = 0
    for i in range(p):
        for j in range(i, p):
            _multiply(terms[L - p + i, :n], terms[L - p + j, :n], terms[place, :n])
            place += 1
    terms[L:] = 0.0


@compiled
def _move(
    x: FloatArray, origin: float, out: FloatArray, square: FloatArray, far: FloatArray
) -> None:
    for b in range(x.shape[0]):
        moved = x[b] - origin
        out[b] = moved
        square[b] += moved * moved
        far[b] += x[b] * x[b]


@compiled
def _multiply(a: FloatArray, b: FloatArray, out: FloatArray) -> None:
    for k in range(a.shape[0]):
        out[k] = a[k] * b[k]


@compiled
def evaluate(
    quadratic: Quadratic, terms: FloatArray, n: int, values: FloatArray
) -> None:
    """Write the polynomials' values (M, ≥ n) for the first n columns of `terms`."""
    M = quadratic.start.shape[0]
    for m in range(M):
        values[m, :n] = quadratic.start[m]
    for place in range(0, terms.shape[0], 4):
        a = terms[place, :n]
        b = terms[place + 1, :n]
        c = terms[place + 2, :n]
        d = terms[place + 3, :n]
        for m in range(M):
            factors = quadratic.factors[m, place : place + 4]
            _add_four(factors, a, b, c, d, values[m, :n])


@compiled
def evaluate_one(
    quadratic: Quadratic,
    m: int,
    terms: FloatArray,
    first: int,
    last: int,
    values: FloatArray,
) -> None:
    """Write class m's values (n,) for the columns first … last − 1 of `terms`."""
    values[first:last] = quadratic.start[m]
    for place in range(0, terms.shape[0], 4):
        _add_four(
            quadratic.factors[m, place : place + 4],
            terms[place, first:last],
            terms[place + 1, first:last],
            terms[place + 2, first:last],
            terms[place + 3, first:last],
            values[first:last],
        )


@compiled_approximate
def _add_four(
    factors: FloatArray,
    a: FloatArray,
    b: FloatArray,
    c: FloatArray,
    d: FloatArray,
    values: FloatArray,
) -> None:
    f0, f1, f2, f3 = factors[0], factors[1], factors[2], factors[3]
    for k in range(values.shape[0]):
        values[k] += (f0 * a[k] + f1 * b[k]) + (f2 * c[k] + f3 * d[k])


@compiled
def bound_errors(
    quadratic: Quadratic,
    m: int,
    constant: float,
    lengths: FloatArray,
    distances: FloatArray,
    values: FloatArray,
    doubts: FloatArray,
) -> None:
    """Bound |value + constant − definitive score| of class m for rows (n,).

    `constant` is the class's log density at the mean. What a class prior adds to the
    bound is `last_bits` times its absolute value.
    """
    _doubt(
        quadratic.gamma,
        1.01 * (quadratic.origin.shape[0] + 2) * DOUBLE * quadratic.spread[m],
        last_bits(quadratic.centre.shape[0]),
        quadratic.spread[m],
        quadratic.pull[m],
        abs(constant),
        lengths,
        distances,
        values,
        doubts,
    )


@compiled
def last_bits(F: int) -> float:
    """Relative rounding of a definitive score of F columns, and of what is added."""
    return 1.01 * (F / 32 + 24) * DOUBLE


@compiled
def _doubt(
    gamma: float,
    reach: float,
    lost: float,
    spread: float,
    pull: float,
    constant: float,
    lengths: FloatArray,
    distances: FloatArray,
    values: FloatArray,
    doubts: FloatArray,
) -> None:
    for b in range(values.shape[0]):
        size = lengths[b] * spread + pull
        rounding = 0.5 * gamma * size * size
        # Q = Σ w (z − μ)² is what the value reveals, up to its own rounding.
        seen = -2.0 * values[b]
        Q = (seen if seen > 0.0 else 0.0) + 2.0 * rounding
        noise = reach * distances[b]
        root = sqrt(Q) + noise
        bound = rounding + noise * root
        bound += lost * (0.5 * root * root + constant + 1.0)
        doubts[b] = bound if abs(seen) + Q < _LARGEST else np.inf
