"""Bounds from a form whose class has learnt since the form was built.

When a class learns a row, its means and precisions change. The form can be updated
exactly for the means: they move towards the row's projection, which is linear in the
row, so `shift_means` needs p² operations. It is not updated for the precisions: w is no
longer the form's w₀, but all w are between a·w₀ and b·w₀, and therefore

    a·Σ w₀ (z − μ)²  ≤  Σ w (z − μ)²  ≤  b·Σ w₀ (z − μ)².

These bounds still decide most rows. Ski-rental rule: a form is built again once the
rows left undecided because of its staleness have cost as much as building it, which
costs at most twice the optimum. The accumulated cost may reach `budget`, which shrinks
where forms had to be built again after one row, and grows where they lasted longer.
"""

from typing import NamedTuple

import numpy as np

from rpnb.core.bayes.densities import Gaussians
from rpnb.core.bayes.scoring import score_rounding
from rpnb.core.kernels.arrays import FloatArray, SingleArray
from rpnb.core.kernels.compiling.compiled import compiled, compiled_inline
from rpnb.core.kernels.vectors import (
    DOUBLES,
    doubles,
    greater,
    lesser,
    load_doubles,
    load_widened,
    store_doubles,
)

# If precisions have changed by more than this factor the bounds are infinite, which
# keeps finite ones far from where the terms of double-precision scores are limited.
_MOST = 1e3
# Relative rounding error of a and b: the variances are kept in single precision.
_SLACK = 1e-6
# With a smaller budget, a form is built again after each row that its class learns.
_LEAST = 0.5
# The smallest normal number of single precision.
_NORMAL = np.float32(2.0**-126)


class Staleness(NamedTuple):
    """How far classes have moved from their forms.

    With v the polynomial's value and e the bound of its error, a class's score without
    its constant is at least low·(v − e) − margin and at most high·(v + e) + margin.
    """

    variance: SingleArray
    """(M, F) unit/w₀"""
    unit: FloatArray
    """(M,) a power of two: `variance`·w/unit is w/w₀"""
    low: FloatArray
    """(M,) b, rounded up; 1 for a form just built"""
    high: FloatArray
    """(M,) a, rounded down; 1 for a form just built"""
    margin: FloatArray
    """(M,) rounding error of the double-precision score; 0 for a form just built"""
    rows: FloatArray
    """(M,) rows learnt since the form was built"""
    cost: FloatArray
    """(M,) accumulated cost of rows left undecided because of the form's staleness"""
    budget: FloatArray
    """(1,) the cost at which a form is built again"""


def empty_staleness(M: int, F: int) -> Staleness:
    """Return arrays for M classes, to be filled by `reset_staleness`."""
    return Staleness(
        np.empty((M, F), np.float32),
        np.empty(M),
        np.empty(M),
        np.empty(M),
        np.empty(M),
        np.empty(M),
        np.empty(M),
        np.full(1, np.inf),
    )


@compiled
def reset_staleness(
    staleness: Staleness, m: int, weights: SingleArray, unit: float
) -> None:
    """Record that class m's form has just been built; `weights` (F,) are w₀/unit."""
    _invert(weights, staleness.variance[m])
    staleness.unit[m] = unit
    staleness.low[m] = 1.0
    staleness.high[m] = 1.0
    staleness.margin[m] = 0.0
    staleness.rows[m] = 0.0
    staleness.cost[m] = 0.0


@compiled
def _invert(values: SingleArray, out: SingleArray) -> None:
    """Write the inverses of the values, ∞ for those that are not normal numbers."""
    # A weight that underflows single precision gives an infinite bound.
    one, nothing = np.float32(1.0), np.float32(np.inf)
    for f in range(values.shape[0]):
        out[f] = one / values[f] if values[f] > _NORMAL else nothing


@compiled_inline
def is_stale(staleness: Staleness, m: int) -> bool:
    """Whether class m has learnt since its form was built."""
    return staleness.rows[m] > 0.0


@compiled_inline
def should_rebuild(staleness: Staleness, price: float) -> bool:
    """Whether the form of a class that has learnt a row is to be built at once.

    `price` is the cost of building a form, in units of a row that is left undecided
    between two classes. The budget grows by a tenth at each call, up to `price`, so
    that keeping a form is tried again from time to time.
    """
    staleness.budget[0] = min(1.1 * staleness.budget[0], price)
    return staleness.budget[0] < _LEAST


@compiled_inline
def add_cost(staleness: Staleness, m: int, cost: float) -> bool:
    """Add the cost of an undecided row; return whether to rebuild class m's form."""
    staleness.cost[m] += cost
    if staleness.cost[m] < staleness.budget[0]:
        return False
    # A larger budget pays where one form serves for several learnt rows.
    staleness.budget[0] *= 0.5 if staleness.rows[m] <= 1.0 else 1.5
    return True


@compiled
def widen(staleness: Staleness, m: int, gaussians: Gaussians) -> None:
    """Widen class m's bounds after it has learnt a row: compare w with w₀."""
    F = gaussians.precision.shape[1]
    a, b = _compare(gaussians.precision[m], staleness.variance[m])
    a /= staleness.unit[m]
    b /= staleness.unit[m]
    lost = score_rounding(F)
    slack = _SLACK + 2.0 * lost
    staleness.rows[m] += 1.0
    staleness.low[m] = b * (1.0 + slack)
    staleness.high[m] = a * (1.0 - slack)
    staleness.margin[m] = lost * (abs(gaussians.constant[m]) + 1.0)
    if not (b < _MOST and a > 1.0 / _MOST):
        staleness.margin[m] = np.inf


@compiled
def _compare(precision: FloatArray, variance: SingleArray) -> tuple[float, float]:
    """Return the smallest and the largest of precision·variance, column by column."""
    F = precision.shape[0]
    whole = F - F % (2 * DOUBLES)
    low0 = doubles(np.inf)
    low1 = low0
    high0 = doubles(0.0)
    high1 = high0
    for f in range(0, whole, 2 * DOUBLES):
        ratio = load_doubles(precision, f) * load_widened(variance, f)
        low0 = lesser(low0, ratio)
        high0 = greater(high0, ratio)
        ratio = load_doubles(precision, f + 4) * load_widened(variance, f + 4)
        low1 = lesser(low1, ratio)
        high1 = greater(high1, ratio)
    lanes = np.empty(2 * DOUBLES)
    store_doubles(lanes, 0, lesser(low0, low1))
    store_doubles(lanes, DOUBLES, greater(high0, high1))
    a = min(lanes[0], lanes[1], lanes[2], lanes[3])
    b = max(lanes[4], lanes[5], lanes[6], lanes[7])
    # The columns that do not fill two vectors.
    for f in range(whole, F):
        ratio = precision[f] * np.float64(variance[f])
        a = min(a, ratio)
        b = max(b, ratio)
    return a, b
