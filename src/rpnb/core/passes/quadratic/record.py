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

from typing import NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, SingleArray
from rpnb.core.kernels.compiled import compiled
from rpnb.core.kernels.vectors import SINGLES
from rpnb.core.passes.quadratic.staleness import Staleness, empty_staleness

# Columns whose products are summed in single precision, in eight lanes, before the sums
# go to double; observations whose polynomials are evaluated together.
PANEL = 2048
ROWS = 16
# The most observations that may be gone through between two evaluations.
MOST_STEP = 256
# How much smaller √(Σ w μ'²) may become before values are evaluated anew.
SHRINKAGE = 64.0
# Unit roundoffs of double and single precision.
DOUBLE = 2.0**-53
SINGLE = 2.0**-24


class FormWorkspace(NamedTuple):
    """Working space for building a polynomial, which would cost time to get anew."""

    weights: SingleArray
    """(⌈F⌉,) w, in a unit that suits single precision"""
    slopes: SingleArray
    """(⌈F⌉,) w·μ', likewise"""
    sums: SingleArray
    """eight lanes for each two rows of the projection"""
    A: FloatArray
    """(⌈p⌉, ⌈p⌉), of which the upper triangle counts"""
    b: FloatArray
    """(⌈p⌉,)"""


class QuadraticForms(NamedTuple):
    """The classes' scores as polynomials in the moved observation."""

    columns: SingleArray
    """(⌈p⌉, ⌈F⌉) the projection; zeros fill the last four rows and eight columns"""
    max_column_norm: float
    """the largest length of the projection's columns"""
    scale: float
    """1/√q"""
    origin: FloatArray
    """(p,) x₀"""
    origin_norm: float
    """|x₀|"""
    centre: FloatArray
    """(F,) z₀, the projected origin"""
    factors: FloatArray
    """(M, L) of x'_i x'_j, i ≤ j, then of x'_i"""
    start: FloatArray
    """(M,) −½ Σ w μ'²"""
    mean_norm: FloatArray
    """(M,) √(Σ w μ'²)"""
    trace_root: FloatArray
    """(M,) √(trace of A)"""
    norm_bound: FloatArray
    """(M,) bound of √(Σ w z²) and √(Σ w μ²) of rows learnt since and of the means"""
    gamma: float
    """bound of the relative error of the polynomial's terms, with their summation"""
    staleness: Staleness
    """how far the classes' laws are from those of their polynomials"""
    workspace: FormWorkspace
    """for what building a polynomial computes on its way"""


@compiled
def n_terms(p: int) -> int:
    """Return L, the number of products of two features and of features."""
    return p * (p + 3) // 2


def _make_workspace(rows: int, wide: int) -> FormWorkspace:
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
    """Room for the polynomials of M classes, to be filled by `rebuild_form`.

    R (p, F) is the projection, `max_column_norm` the length of its longest column, `scale` its
    factor, `origin` (p,) an observation amid the data and `centre` (F,) its definitive
    projection.
    """
    p, F = R.shape
    columns = np.zeros((-(-p // 4) * 4, -(-F // SINGLES) * SINGLES), np.float32)
    columns[:p, :F] = R
    lane = -(-min(F, PANEL) // SINGLES)
    # A class may learn from every row of a step, and values follow each time.
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
