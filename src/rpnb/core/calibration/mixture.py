r"""Probabilities from scores: a Bayesian mixture over temperatures.

Expert (g, b) gives class m, whose score is d below the largest, the probability

$$P_{gb}(m) \propto o_b^{[d_m = 0]} \exp(-d_m / T_g), \qquad
  T_g = T \cdot 2^g.$$

T is K for the sum of K members' log posteriors. The odds $o_b \ge 1$ of the class with
the largest score are a second parameter: a model that learns from its mistakes is right
more often than its scores say, whatever the temperature. They move no other class past
it, so no label depends on them. Where several classes have the largest score, as before
the first row, they are equally probable; weights are learnt as if the predicted one of
them had it alone.

The probability that is predicted is the experts' average, weighted by how well each has
predicted the rows so far: before a row is learnt, its experts' weights are multiplied
by the probabilities that they gave its class, and a small share of the total is given
to all of them alike, which lets the best expert change (fixed share: Herbster &
Warmuth, "Tracking the best expert", Machine Learning 32, 1998). The logarithmic loss
over n rows is at most that of the best expert plus log(number of experts) and
n·log(1/(1 − share)). Weights are learnt from scores rounded to cells: see
`core.calibration.cells`.
"""

from math import exp
from typing import Final, NamedTuple

import numpy as np

from rpnb.core.calibration.cells import (
    BEST,
    N_TEMPERATURES,
    is_calibration_row,
    middles,
)
from rpnb.core.conformal import learn_threshold, new_thresholds
from rpnb.core.kernels.arrays import CodeArray, FloatArray, IntArray
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.kernels.vectors import (
    DOUBLES,
    doubles,
    load_doubles,
    store_doubles,
    sum_doubles,
)

#: o_b, the odds of the class with the largest score.
ODDS: Final = np.array([1.0, 2.0, 4.0, 8.0])
N_ODDS: Final = 4
#: Share of the total weight that is given to all experts alike after each row.
SHARE: Final = 0.002

_TOP = 2.0 ** (N_TEMPERATURES - 1)
# Beyond it, a class's probability would be zero at every temperature.
_LIMIT = 512.0


class Calibration(NamedTuple):
    """What has been learnt about probabilities, apart from the model itself."""

    weights: FloatArray
    """(odds, temperatures) weights of the experts, adding up to 1"""
    thresholds: FloatArray
    """(coverages,) see `rpnb.core.conformal`"""
    rows: IntArray
    """(1,) number of rows learnt from"""


def new_calibration() -> Calibration:
    """Return the state before the first row: all experts weigh the same."""
    weights = np.full((N_ODDS, N_TEMPERATURES), 1.0 / (N_TEMPERATURES * N_ODDS))
    return Calibration(weights, new_thresholds(), np.zeros(1, np.int64))


def copy_calibration(calibration: Calibration) -> Calibration:
    """Return an independent copy."""
    weights, thresholds, rows = calibration
    return Calibration(weights.copy(), thresholds.copy(), rows.copy())


def merge_calibrations(
    mine: Calibration, other: Calibration, base: Calibration | None
) -> Calibration:
    """Return the average of two, by the rows that each has learnt from since the base.

    It is not what one would have learnt from all rows: that depends on their order.
    """
    shared = 0 if base is None else int(base.rows[0])
    first, second = int(mine.rows[0]) - shared, int(other.rows[0]) - shared
    if second <= 0:
        return copy_calibration(mine)
    share = second / (first + second)
    return Calibration(
        (1.0 - share) * mine.weights + share * other.weights,
        (1.0 - share) * mine.thresholds + share * other.thresholds,
        np.array([first + second + shared]),
    )


def _factors() -> FloatArray:
    """Return exp(−d/T) of each code and temperature: (codes · temperatures,)."""
    # By the scalar function: that of arrays may differ in the last bit by processor.
    temperatures = 2.0 ** np.arange(N_TEMPERATURES)
    return np.array([exp(-d / T) for d in middles().tolist() for T in temperatures])


_FACTORS = _factors()


@compiled
def learn_codes(calibration: Calibration, codes: CodeArray, y: int, sets: bool) -> None:
    """Learn from a row of class y, whose classes have these codes (M,).

    A class that is not active yet has no probability: nothing is learnt. With `sets`,
    thresholds of prediction sets are learnt from it too. Four temperatures are handled
    at a time.
    """
    if codes[y] < 0:
        return
    weights = calibration.weights.reshape(N_ODDS * N_TEMPERATURES)
    hit = codes[y] == BEST
    given = codes[y] * N_TEMPERATURES
    sums = doubles(0.0)
    for g in range(0, N_TEMPERATURES, DOUBLES):
        others = doubles(0.0)
        for m in range(codes.shape[0]):
            if codes[m] > BEST:
                others = others + load_doubles(_FACTORS, codes[m] * N_TEMPERATURES + g)
        # The factor of the predicted class is 1 at every temperature.
        factor = load_doubles(_FACTORS, given + g)
        for b in range(N_ODDS):
            odds = ODDS[b]
            likelihood = factor * (odds if hit else 1.0) / (others + odds)
            at = b * N_TEMPERATURES + g
            value = load_doubles(weights, at) * likelihood
            store_doubles(weights, at, value)
            sums = sums + value
    total = sum_doubles(sums)
    if sets:
        learn_threshold(calibration.thresholds, total)
    calibration.rows[0] += 1
    kept = (1.0 - SHARE) / total
    given_to_all = doubles(SHARE / (N_TEMPERATURES * N_ODDS))
    for at in range(0, N_ODDS * N_TEMPERATURES, DOUBLES):
        store_doubles(weights, at, load_doubles(weights, at) * kept + given_to_all)


@compiled
def learn_all_codes(calibration: Calibration, codes: CodeArray, y: IntArray) -> None:
    """Learn from rows of classes y (r,) with these codes (r, M), in their order."""
    for j in range(y.shape[0]):
        learn_codes(calibration, codes[j], y[j], True)


@compiled
def mix(
    weights: FloatArray, scores: FloatArray, smallest: float, out: FloatArray
) -> None:
    """Write the probabilities (M,) of classes with these scores (M,).

    A class that is not active has the score −∞ and gets 0, as do all if none is active.
    `smallest` is the smallest temperature. Each temperature is half of the next,
    so one exponential per class suffices, which is squared again and again.
    """
    M = scores.shape[0]
    factor = np.zeros(M)
    out[:] = 0.0
    best = -1
    for m in range(M):
        if scores[m] > -np.inf and (best < 0 or scores[m] > scores[best]):
            best = m
    if best < 0:
        return
    highest = scores[best]
    # How many classes have the largest score; factors are those of the others.
    leaders = 0
    for m in range(M):
        if scores[m] == highest:
            leaders += 1
        elif scores[m] > -np.inf:
            below = (highest - scores[m]) / (_TOP * smallest)
            factor[m] = exp(-min(below, _LIMIT))
    leading = 0.0
    for g in range(N_TEMPERATURES - 1, -1, -1):
        others = 0.0
        for m in range(M):
            others += factor[m]
        share = 0.0
        for b in range(N_ODDS):
            part = weights[b, g] / (leaders * ODDS[b] + others)
            share += part
            leading += part * ODDS[b]
        for m in range(M):
            out[m] += share * factor[m]
            factor[m] *= factor[m]
    total = 0.0
    for m in range(M):
        if scores[m] == highest:
            out[m] = leading
        total += out[m]
    # The weights add up to 1 up to rounding only.
    for m in range(M):
        out[m] /= total


@compiled
def mix_rows(
    weights: FloatArray, scores: FloatArray, smallest: float, out: FloatArray
) -> None:
    """Write the probabilities (n, M) of rows with these scores (n, M)."""
    for i in range(scores.shape[0]):
        mix(weights, scores[i], smallest, out[i])


@compiled
def mix_then_learn(
    calibration: Calibration,
    scores: FloatArray,
    smallest: float,
    codes: CodeArray,
    seen: int,
    y: IntArray,
    P: FloatArray,
    thresholds: FloatArray,
) -> None:
    """Write each row's probabilities and thresholds before it is learnt from.

    Thresholds are learnt from all rows, by these probabilities.

    Parameters
    ----------
    calibration
        What is learnt into.
    scores : (n, M)
        Scores of the rows before each was learnt, −∞ where a class is not active.
    smallest
        The smallest temperature.
    codes : (r, M)
        Cells of the rows that calibration learns from.
    seen
        Number of rows seen before.
    y : (n,)
        Classes, −1 of a row that is only predicted.
    P : (n, M)
        Where probabilities are written.
    thresholds : (n, coverages)
        Where the thresholds of prediction sets are written.
    """
    j = 0
    number = seen
    for i in range(y.shape[0]):
        mix(calibration.weights, scores[i], smallest, P[i])
        thresholds[i] = calibration.thresholds
        if y[i] >= 0:
            # These are the probabilities that sets are made of, of every row.
            if scores[i, y[i]] > -np.inf:
                learn_threshold(calibration.thresholds, P[i, y[i]])
            if is_calibration_row(number):
                learn_codes(calibration, codes[j], y[i], False)
                j += 1
            number += 1
