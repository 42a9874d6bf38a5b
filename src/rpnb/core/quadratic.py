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

from math import sqrt
from typing import NamedTuple

import numpy as np

from rpnb.core.arrays import FloatArray, SingleArray
from rpnb.core.compiled import compiled, compiled_inline
from rpnb.core.vectors import (
    SINGLES,
    Doubles,
    doubles,
    fused,
    load_doubles,
    store_doubles,
)

# Columns whose products are summed in single precision, in eight lanes, before the sums
# go to double; observations whose polynomials are evaluated together.
PANEL = 2048
ROWS = 16
# Unit roundoffs of double and single precision.
DOUBLE = 2.0**-53
SINGLE = 2.0**-24
# Beyond this a definitive score may be cut off (`rpnb.core.scoring`).
_LARGEST = 1e299


class Quadratic(NamedTuple):
    """The classes' scores as polynomials in the moved observation."""

    columns: SingleArray
    """(⌈p⌉, ⌈F⌉) the projection; zeros fill the last four rows and eight columns"""
    norms: FloatArray
    """(F,) the squared lengths of the projection's columns"""
    longest: float
    """the largest of them"""
    scale: float
    """1/√q"""
    origin: FloatArray
    """(p,) x₀"""
    away: float
    """|x₀|"""
    centre: FloatArray
    """(F,) z₀, the projected origin"""
    factors: FloatArray
    """(M, L) of x'_i x'_j, i ≤ j, then of x'_i"""
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
    columns = np.zeros((-(-p // 4) * 4, -(-F // SINGLES) * SINGLES), np.float32)
    columns[:p, :F] = R
    norms = np.einsum("pf,pf->f", R, R, dtype=np.float64)
    lane = -(-min(F, PANEL) // SINGLES)
    gamma = (lane + 3) * SINGLE + (F + n_terms(p) + 8) * DOUBLE
    return Quadratic(
        columns,
        norms,
        float(norms.max()),
        scale,
        origin,
        float(np.linalg.norm(origin)),
        centre,
        np.zeros((M, n_terms(p))),
        np.empty(M),
        np.empty(M),
        np.empty(M),
        1.01 * gamma,
    )


@compiled
def expand(
    X: FloatArray,
    origin: FloatArray,
    terms: FloatArray,
    lengths: FloatArray,
) -> None:
    """Write the polynomials' terms for rows of X (n, p), one column a row.

    `terms` (L, ≥ n) gets the products and features in the order of `factors`, `lengths`
    (≥ n,) |x'|.
    """
    n, p = X.shape
    L = n_terms(p)
    square = np.zeros(n)
    for i in range(p):
        _move(X[:, i], origin[i], terms[L - p + i, :n], square)
    for b in range(n):
        lengths[b] = sqrt(square[b])
    place = 0
    for i in range(p):
        for j in range(i, p):
            _multiply(terms[L - p + i, :n], terms[L - p + j, :n], terms[place, :n])
            place += 1


@compiled
def _move(x: FloatArray, origin: float, out: FloatArray, square: FloatArray) -> None:
    for b in range(x.shape[0]):
        moved = x[b] - origin
        out[b] = moved
        square[b] += moved * moved


@compiled
def _multiply(a: FloatArray, b: FloatArray, out: FloatArray) -> None:
    for k in range(a.shape[0]):
        out[k] = a[k] * b[k]


@compiled
def evaluate(
    quadratic: Quadratic, terms: FloatArray, n: int, values: FloatArray
) -> None:
    """Write the polynomials' values (M, ≥ n) for the first n columns of `terms`.

    Columns are taken sixteen at a time: both arrays have columns to fill the last.
    """
    M, L = quadratic.factors.shape
    step = terms.shape[1]
    factors = quadratic.factors.reshape(M * L)
    numbers = terms.reshape(L * step)
    out = values.reshape(M * step)
    for first in range(0, n, ROWS):
        for m in range(0, M - 1, 2):
            start = quadratic.start[m], quadratic.start[m + 1]
            _two_classes(factors, m * L, L, start, numbers, step, first, out, m * step)
        if M % 2 == 1:
            m = M - 1
            start_m = quadratic.start[m]
            _one_class(factors, m * L, L, start_m, numbers, step, first, out, m * step)


@compiled
def evaluate_one(
    quadratic: Quadratic,
    m: int,
    terms: FloatArray,
    first: int,
    last: int,
    values: FloatArray,
) -> None:
    """Write class m's values for the columns first … last − 1 of `terms`.

    The columns beside them that fill the sixteens are written too.
    """
    M, L = quadratic.factors.shape
    step = terms.shape[1]
    factors = quadratic.factors.reshape(M * L)
    numbers = terms.reshape(L * step)
    out = values.reshape(M * step)
    start = quadratic.start[m]
    for k in range(first - first % ROWS, last, ROWS):
        _one_class(factors, m * L, L, start, numbers, step, k, out, m * step)


@compiled_inline
def _two_classes(
    factors: FloatArray,
    at: int,
    L: int,
    start: tuple[float, float],
    terms: FloatArray,
    step: int,
    first: int,
    values: FloatArray,
    to: int,
) -> None:
    """Evaluate the polynomials with factors from `at` on for sixteen columns.

    Two classes share the loads of the terms. Values go to rows from `to` on.
    """
    a0 = doubles(start[0])
    a1, a2, a3 = a0, a0, a0
    b0 = doubles(start[1])
    b1, b2, b3 = b0, b0, b0
    for t in range(L):
        a = doubles(factors[at + t])
        b = doubles(factors[at + L + t])
        place = t * step + first
        x = load_doubles(terms, place)
        a0 = fused(a, x, a0)
        b0 = fused(b, x, b0)
        x = load_doubles(terms, place + 4)
        a1 = fused(a, x, a1)
        b1 = fused(b, x, b1)
        x = load_doubles(terms, place + 8)
        a2 = fused(a, x, a2)
        b2 = fused(b, x, b2)
        x = load_doubles(terms, place + 12)
        a3 = fused(a, x, a3)
        b3 = fused(b, x, b3)
    _store(values, to + first, a0, a1, a2, a3)
    _store(values, to + step + first, b0, b1, b2, b3)


@compiled_inline
def _one_class(
    factors: FloatArray,
    at: int,
    L: int,
    start: float,
    terms: FloatArray,
    step: int,
    first: int,
    values: FloatArray,
    to: int,
) -> None:
    """Do what `_two_classes` does, for one."""
    a0 = doubles(start)
    a1, a2, a3 = a0, a0, a0
    for t in range(L):
        a = doubles(factors[at + t])
        place = t * step + first
        a0 = fused(a, load_doubles(terms, place), a0)
        a1 = fused(a, load_doubles(terms, place + 4), a1)
        a2 = fused(a, load_doubles(terms, place + 8), a2)
        a3 = fused(a, load_doubles(terms, place + 12), a3)
    _store(values, to + first, a0, a1, a2, a3)


@compiled_inline
def _store(
    values: FloatArray, first: int, a: Doubles, b: Doubles, c: Doubles, d: Doubles
) -> None:
    store_doubles(values, first, a)
    store_doubles(values, first + 4, b)
    store_doubles(values, first + 8, c)
    store_doubles(values, first + 12, d)


@compiled
def bound_errors(
    quadratic: Quadratic,
    m: int,
    constant: float,
    lengths: FloatArray,
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
        2.0 * quadratic.away,
        lengths,
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
    away: float,
    lengths: FloatArray,
    values: FloatArray,
    doubts: FloatArray,
) -> None:
    for b in range(values.shape[0]):
        size = lengths[b] * spread + pull
        rounding = 0.5 * gamma * size * size
        # Q = Σ w (z − μ)² is what the value reveals, up to its own rounding.
        seen = -2.0 * values[b]
        Q = (seen if seen > 0.0 else 0.0) + 2.0 * rounding
        # |x| + |x₀| is at most |x'| + 2|x₀|.
        noise = reach * (lengths[b] + away)
        root = sqrt(Q) + noise
        bound = rounding + noise * root
        bound += lost * (0.5 * root * root + constant + 1.0)
        doubts[b] = bound if abs(seen) + Q < _LARGEST else np.inf
