"""What a form that was built some mistakes ago still says of its class.

A class that learns a row gets other laws than its form was built by. That its means
move can be told to the form exactly: they move towards the row's projection, which is
linear in the row, so `shift_means` needs p² operations and no columns. That its precisions w
are no longer those of the form, w₀, cannot; but all of them are between a·w₀ and b·w₀,
and therefore

    a·Σ w₀ (z − μ)²  ≤  Σ w (z − μ)²  ≤  b·Σ w₀ (z − μ)².

Most rows are decided by more than that leaves open. A form is built anew once the rows
that its age has left undecided have cost about as much as building it: whoever rents
until the rent has reached the price pays at most twice what a seer would. Who has found
that waiting was in vain waits less the next time.
"""

from typing import NamedTuple

import numpy as np

from rpnb.core.bayes.densities import Gaussians
from rpnb.core.bayes.scoring import score_rounding
from rpnb.core.kernels.arrays import FloatArray, SingleArray
from rpnb.core.kernels.compiled import compiled, compiled_inline
from rpnb.core.kernels.vectors import (
    DOUBLES,
    doubles,
    greater,
    lesser,
    load_doubles,
    load_widened,
    store_doubles,
)

# A form whose precisions have changed by more than this factor says nothing, which
# keeps what it says far from where definitive scores are cut off.
_MOST = 1e3
# Room for the roundings of a and b: the variances are kept in single precision.
_SLACK = 1e-6
# Patience for less than this is none.
_LEAST = 0.5
# Single precision is whole above this.
_NORMAL = np.float32(2.0**-126)


class Staleness(NamedTuple):
    """How far classes are from their forms.

    With v the polynomial's value and e the bound of its error, a class's score is at
    least low·(v − e) − margin and at most high·(v + e) + margin, apart from the
    constants that are known.
    """

    variance: SingleArray
    """(M, F) 1/w₀, in the unit that follows"""
    unit: FloatArray
    """(M,) what `variance` times w is to be divided by, to be w/w₀"""
    low: FloatArray
    """(M,) b, and a little more; 1 for a form that is new"""
    high: FloatArray
    """(M,) a, and a little less; 1 for a form that is new"""
    margin: FloatArray
    """(M,) what the definitive score rounds; 0 for a form that is new"""
    rows: FloatArray
    """(M,) rows learnt since the form was built"""
    cost: FloatArray
    """(M,) what rows left undecided by the form's age have cost since then"""
    budget: FloatArray
    """(1,) how much of that there may be before a form is built anew"""


def empty_staleness(M: int, F: int) -> Staleness:
    """Room for the ages of M classes, to be filled by `reset_staleness`."""
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
    """Take note that class m's form has been built; w₀/unit are its weights (F,)."""
    _invert(weights, staleness.variance[m])
    staleness.unit[m] = unit
    staleness.low[m] = 1.0
    staleness.high[m] = 1.0
    staleness.margin[m] = 0.0
    staleness.rows[m] = 0.0
    staleness.cost[m] = 0.0


@compiled
def _invert(values: SingleArray, out: SingleArray) -> None:
    # What single precision does not hold to the last bit is left open.
    one, nothing = np.float32(1.0), np.float32(np.inf)
    for f in range(values.shape[0]):
        out[f] = one / values[f] if values[f] > _NORMAL else nothing


@compiled_inline
def is_stale(staleness: Staleness, m: int) -> bool:
    """Whether class m has learnt since its form was built."""
    return staleness.rows[m] > 0.0


@compiled_inline
def should_rebuild(staleness: Staleness, price: float) -> bool:
    """Whether a class that has learnt a row keeps its form for now.

    `price` is what building a form costs, in units of what a row costs that is left
    undecided between two classes. Who has no patience gets some back, to find out now
    and then whether things have changed.
    """
    staleness.budget[0] = min(1.1 * staleness.budget[0], price)
    return staleness.budget[0] < _LEAST


@compiled_inline
def add_cost(staleness: Staleness, m: int, cost: float) -> bool:
    """Take note of an undecided row; return whether class m's form is built anew."""
    staleness.cost[m] += cost
    if staleness.cost[m] < staleness.budget[0]:
        return False
    # Patience pays where one form is built for several rows learnt.
    staleness.budget[0] *= 0.5 if staleness.rows[m] <= 1.0 else 1.5
    return True


@compiled
def widen(staleness: Staleness, m: int, gaussians: Gaussians) -> None:
    """Take note that class m has learnt a row."""
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
    """Return the least and the largest product."""
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
