"""Which class leads in a row, which others may, from bounds of their scores.

The polynomials of a step of rows are evaluated together, with bounds of their errors.
A class leads where its lower bound is the largest; classes whose upper bounds are not
below it may have the largest score in double precision.
"""

from typing import NamedTuple

import numpy as np

from rpnb.core.bayes.state import KernelState
from rpnb.core.kernels.arrays import BoolArray, FloatArray
from rpnb.core.kernels.compiling.compiled import compiled, compiled_inline
from rpnb.core.kernels.vectors import (
    DOUBLES,
    doubles,
    load_doubles,
    store_doubles,
    where_greater,
)
from rpnb.core.passes.quadratic.record import ROWS
from rpnb.core.passes.quadratic.staleness import Staleness, is_stale


class RowsInStep(NamedTuple):
    """Working space for the rows of a step."""

    centred: FloatArray
    """(p, step) x', one column per row"""
    lengths: FloatArray
    """(step,) |x'|"""
    values: FloatArray
    """(M, step) the polynomials' values"""
    error_bounds: FloatArray
    """(M, step) bounds of the values' errors"""
    leader: FloatArray
    """(step,) the class with the largest lower bound, −1 if none is eligible"""
    lowest: FloatArray
    """(step,) lower bound of the leader's double-precision score"""
    rivals: FloatArray
    """(step,) how many classes may have the largest score, the leader included"""
    mean_norm: FloatArray
    """(M,) the polynomials' `mean_norm` when they were evaluated"""
    low: FloatArray
    """(M,) lower bound of what is added to the polynomials' values"""
    high: FloatArray
    """(M,) upper bound of the same"""


@compiled
def make_step(p: int, M: int, step: int) -> RowsInStep:
    """Return working space for `step` rows of p features and M classes."""
    padded = (step + ROWS - 1) // ROWS * ROWS
    # Padding is evaluated too, and must hold numbers.
    return RowsInStep(
        np.zeros((p, padded)),
        np.empty(padded),
        np.empty((M, padded)),
        np.empty((M, padded)),
        np.empty(padded),
        np.empty(padded),
        np.empty(padded),
        np.empty(M),
        np.empty(M),
        np.empty(M),
    )


@compiled_inline
def score_bounds(
    staleness: Staleness, work: RowsInStep, b: int, m: int
) -> tuple[float, float]:
    """Return a lower and an upper bound of the score of class m for row b."""
    value, error = work.values[m, b], work.error_bounds[m, b]
    lower = (value - error) * staleness.low[m] + work.low[m]
    upper = (value + error) * staleness.high[m] + work.high[m]
    return lower, upper


@compiled
def find_leaders(
    learner: KernelState, staleness: Staleness, work: RowsInStep, first: int, last: int
) -> None:
    """Find the leading class of rows first … last − 1, and how many classes may win.

    The leader is the class whose score has the largest lower bound. A NaN never leads
    where there is a number, and always counts as a rival. Rows are taken four at a
    time; others in the first and last group are written too.
    """
    eligible = learner.classes.eligible
    M, padded = work.values.shape
    values = work.values.reshape(M * padded)
    error_bounds = work.error_bounds.reshape(M * padded)
    at_first = -1
    for m in range(M - 1, -1, -1):
        at_first = m if eligible[m] else at_first
    for b in range(first - first % DOUBLES, last, DOUBLES):
        leader = doubles(float(at_first))
        lowest = doubles(-np.inf)
        for m in range(M):
            if eligible[m]:
                value = load_doubles(values, m * padded + b)
                error_bound = load_doubles(error_bounds, m * padded + b)
                lower = (value - error_bound) * staleness.low[m] + work.low[m]
                leader = where_greater(lower, lowest, doubles(float(m)), leader)
                lowest = where_greater(lower, lowest, lower, lowest)
        rivals = doubles(0.0)
        for m in range(M):
            if eligible[m]:
                value = load_doubles(values, m * padded + b)
                error_bound = load_doubles(error_bounds, m * padded + b)
                upper = (value + error_bound) * staleness.high[m] + work.high[m]
                one_more = where_greater(lowest, upper, doubles(0.0), doubles(1.0))
                rivals = rivals + one_more
        store_doubles(work.leader, b, leader)
        store_doubles(work.lowest, b, lowest)
        store_doubles(work.rivals, b, rivals)


@compiled
def find_rivals(
    learner: KernelState, staleness: Staleness, work: RowsInStep, b: int, out: BoolArray
) -> None:
    """Set `out` (M,) to the classes that may have the largest score in row b."""
    for m in range(out.shape[0]):
        upper = (work.values[m, b] + work.error_bounds[m, b]) * staleness.high[
            m
        ] + work.high[m]
        out[m] = learner.classes.eligible[m] and not upper < work.lowest[b]


@compiled
def find_stalest(
    staleness: Staleness, work: RowsInStep, b: int, rivals: BoolArray
) -> int:
    """Return the rival with the widest bounds due to staleness in row b, −1 if none."""
    stalest = -1
    widest = -np.inf
    for m in range(rivals.shape[0]):
        if rivals[m] and is_stale(staleness, m):
            # Values are negative, and `low` is the larger factor.
            width = (staleness.high[m] - staleness.low[m]) * work.values[
                m, b
            ] + staleness.margin[m]
            if stalest < 0 or width > widest:
                stalest = m
                widest = width
    return stalest
