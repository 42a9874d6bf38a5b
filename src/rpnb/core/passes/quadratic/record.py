"""Scores as quadratic forms of the observation, with error bounds.

Under equation (6) a class's score is a sum of squares of numbers that are linear in the
observation. Multiplied out it is a polynomial of degree two in p variables, whatever
the number of columns. With x₀ the mean of some rows, z₀ its projection, x' = x − x₀,
μ' = μ − z₀ and w = 1/σ², the sum −½ Σ w (z − μ)² is

    −½ Σ w μ'²  +  Σ_i b_i x'_i  −  ½ Σ_ij A_ij x'_i x'_j,

    A_ij = scale² Σ w r_i r_j,    b_i = scale Σ w μ' r_i,

the sums without index over the F columns. A row costs about ½p² operations per class
instead of F·p and 2·F per class; building a class's form again costs ½p²·F. The error
bound is derived in docs/algorithm.md, "The quadratic path".
"""

from typing import NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, SingleArray
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.kernels.vectors import SINGLES
from rpnb.core.passes.quadratic.staleness import Staleness, empty_staleness

# Columns whose products are summed in single precision, in eight lanes, before the sums
# are added in double; observations whose polynomials are evaluated together.
PANEL = 2048
ROWS = 16
# The most rows of a step, that is rows whose forms are evaluated together.
MOST_STEP = 256
# Factor by which √(Σ w μ'²) may shrink before a class's values are evaluated again.
SHRINKAGE = 64.0
# Unit roundoffs of double and single precision.
DOUBLE = 2.0**-53
SINGLE = 2.0**-24


class FormWorkspace(NamedTuple):
    """Working space for building a polynomial, allocated once."""

    weights: SingleArray
    """(⌈F⌉,) w divided by a power of two, so that single precision can hold it"""
    slopes: SingleArray
    """(⌈F⌉,) w·μ', likewise"""
    sums: SingleArray
    """eight lanes for each two rows of the projection"""
    A: FloatArray
    """(⌈p⌉, ⌈p⌉), of which the upper triangle counts"""
    b: FloatArray
    """(⌈p⌉,)"""


class QuadraticForms(NamedTuple):
    """The classes' scores as polynomials in the centred observation."""

    columns: SingleArray
    """(⌈p⌉, ⌈F⌉) the projection; zeros fill the last four rows and eight columns"""
    max_column_norm: float
    """the largest Euclidean norm of the projection's columns"""
    scale: float
    """1/√q"""
    origin: FloatArray
    """(p,) x₀"""
    origin_norm: float
    """|x₀|"""
    centre: FloatArray
    """(F,) z₀, the projected origin"""
    factors: FloatArray
    """(M, L) coefficients of x'_i x'_j, i ≤ j, then of x'_i"""
    start: FloatArray
    """(M,) −½ Σ w μ'²"""
    mean_norm: FloatArray
    """(M,) √(Σ w μ'²)"""
    trace_root: FloatArray
    """(M,) √(trace of A)"""
    norm_bound: FloatArray
    """(M,) bound of √(Σ w z²) of the rows learnt since then, and of √(Σ w μ²)"""
    gamma: float
    """bound of the relative error of the polynomial's terms, with their summation"""
    staleness: Staleness
    """how far the classes' densities have moved since their polynomials were built"""
    workspace: FormWorkspace
    """for intermediate results of building a polynomial"""


@compiled
def n_terms(p: int) -> int:
    """Return L, the number of coefficients: products of two features, and features."""
    return p * (p + 3) // 2


def _make_workspace(rows: int, wide: int) -> FormWorkspace:
    """Return working space for a projection of the padded shape (rows, wide)."""
    return FormWorkspace(
        np.zeros(wide, np.float32),
        np.zeros(wide, np.float32),
        np.empty(rows * (rows + 1) * SINGLES, np.float32),
        np.empty((rows, rows)),
        np.empty(rows),
    )


def empty_forms(
    R: SingleArray,
    max_column_norm: float,
    scale: float,
    M: int,
    origin: FloatArray,
    centre: FloatArray,
) -> QuadraticForms:
    """Return arrays for the polynomials of M classes, to be filled by `rebuild_form`.

    R (p, F) is the projection matrix, `max_column_norm` the largest norm of its
    columns, `scale` its factor, `origin` (p,) the mean of some observations and
    `centre` (F,) its projection in double precision.
    """
    p, F = R.shape
    columns = np.zeros((-(-p // 4) * 4, -(-F // SINGLES) * SINGLES), np.float32)
    columns[:p, :F] = R
    lane = -(-min(F, PANEL) // SINGLES)
    # A class may learn every row of a step, and its values are updated each time.
    updates = MOST_STEP * (p + 4) * SHRINKAGE * SHRINKAGE
    gamma = (lane + 3) * SINGLE + (F + n_terms(p) + updates + 8) * DOUBLE
    return QuadraticForms(
        columns,
        max_column_norm,
        scale,
        origin,
        float(np.linalg.norm(origin)),
        centre,
        np.zeros((M, n_terms(p))),
        np.empty(M),
        np.empty(M),
        np.empty(M),
        np.zeros(M),
        1.01 * gamma,
        empty_staleness(M, F),
        _make_workspace(*columns.shape),
    )
