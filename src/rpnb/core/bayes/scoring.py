"""The score of a class for a projected observation: equations (5) and (6).

Under (6) the sums of the K members add up to one sum over all F columns. The scores
here, in double precision and summed in a fixed order, define the label: the faster
passes bound the difference of their scores from these, and fall back on these where
the bounds leave several classes possible.
"""

import numpy as np

from rpnb.core.bayes.densities import Gaussians
from rpnb.core.kernels.arrays import BoolArray, FloatArray
from rpnb.core.kernels.compiling.compiled import compiled, compiled_inline
from rpnb.core.kernels.vectors import (
    Doubles,
    doubles,
    lesser,
    load_doubles,
    store_doubles,
)

# Sums kept side by side, column f in sum f % LANES, so that the order of additions is
# fixed and the loop is nevertheless a vector operation.
LANES = 32
# Columns between two checks of whether a class can still win.
_STRIDE = 8 * LANES
# Largest contribution of one column: keeps every score finite.
LARGEST = 1e300
# The unit roundoff of double precision.
_DOUBLE = 2.0**-53


@compiled
def score_rounding(F: int) -> float:
    """Return a bound of the relative rounding error of a score of F columns."""
    return 1.01 * (F / LANES + 24) * _DOUBLE


@compiled
def score(
    z: FloatArray,
    gaussians: Gaussians,
    m: int,
    bias: float,
    rival: float,
    lanes: FloatArray,
) -> float:
    """Return class m's score for z (F,), or a number below `rival` if it must lose.

    The score is K·log P(y_m), which comes as `bias`, minus Σ log(√(2π)·σ) and half of
    Σ ((z − μ)/σ)², the sums over all columns. The terms of the last sum are ≥ 0 and
    rounding is monotone, so the score only falls as columns are added: once it is below
    `rival`, the score of another class, the sum is not completed. `lanes` (LANES,) is
    working space.
    """
    top = gaussians.constant[m] + bias
    mean = gaussians.mean[m]
    precision = gaussians.precision[m]
    lanes[:] = 0.0
    value = top
    for start in range(0, z.shape[0], _STRIDE):
        stop = min(start + _STRIDE, z.shape[0])
        _add_terms(z[start:stop], mean[start:stop], precision[start:stop], lanes)
        value = top - 0.5 * _sum_lanes(lanes)
        if value < rival:
            break
    return value


@compiled
def _add_terms(
    z: FloatArray, mean: FloatArray, precision: FloatArray, lanes: FloatArray
) -> None:
    """Add ((z − μ)/σ)² of all columns to the lanes."""
    F = z.shape[0]
    whole = F - F % LANES
    s0 = load_doubles(lanes, 0)
    s1 = load_doubles(lanes, 4)
    s2 = load_doubles(lanes, 8)
    s3 = load_doubles(lanes, 12)
    s4 = load_doubles(lanes, 16)
    s5 = load_doubles(lanes, 20)
    s6 = load_doubles(lanes, 24)
    s7 = load_doubles(lanes, 28)
    for f in range(0, whole, LANES):
        s0 = s0 + _terms(z, mean, precision, f)
        s1 = s1 + _terms(z, mean, precision, f + 4)
        s2 = s2 + _terms(z, mean, precision, f + 8)
        s3 = s3 + _terms(z, mean, precision, f + 12)
        s4 = s4 + _terms(z, mean, precision, f + 16)
        s5 = s5 + _terms(z, mean, precision, f + 20)
        s6 = s6 + _terms(z, mean, precision, f + 24)
        s7 = s7 + _terms(z, mean, precision, f + 28)
    store_doubles(lanes, 0, s0)
    store_doubles(lanes, 4, s1)
    store_doubles(lanes, 8, s2)
    store_doubles(lanes, 12, s3)
    store_doubles(lanes, 16, s4)
    store_doubles(lanes, 20, s5)
    store_doubles(lanes, 24, s6)
    store_doubles(lanes, 28, s7)
    for f in range(whole, F):
        delta = z[f] - mean[f]
        lanes[f - whole] += min(delta * delta * precision[f], LARGEST)


@compiled_inline
def _terms(z: FloatArray, mean: FloatArray, precision: FloatArray, f: int) -> Doubles:
    """Return ((z − μ)/σ)² of four columns."""
    delta = load_doubles(z, f) - load_doubles(mean, f)
    return lesser(delta * delta * load_doubles(precision, f), doubles(LARGEST))


@compiled
def _sum_lanes(lanes: FloatArray) -> float:
    """Return the sum of the lanes, added in pairs; `lanes` is not changed."""
    total = 0.0
    for lane in range(LANES // 4):
        total += (lanes[4 * lane] + lanes[4 * lane + 1]) + (
            lanes[4 * lane + 2] + lanes[4 * lane + 3]
        )
    return total


@compiled
def best_class(
    z: FloatArray,
    gaussians: Gaussians,
    bias: FloatArray,
    eligible: BoolArray,
    lanes: FloatArray,
) -> int:
    """Return the eligible class with the largest score, the first of equals, or −1.

    The class that leads after the first columns is scored first: it usually wins, and
    the sums of the other classes can then be stopped early.
    """
    M = bias.shape[0]
    guess = -1
    highest = -np.inf
    first = min(z.shape[0], _STRIDE)
    for m in range(M):
        if eligible[m]:
            lanes[:] = 0.0
            _add_terms(
                z[:first],
                gaussians.mean[m, :first],
                gaussians.precision[m, :first],
                lanes,
            )
            # Columns are identically distributed: extrapolate from these to all.
            distance = _sum_lanes(lanes) * (z.shape[0] / first)
            estimate = gaussians.constant[m] + bias[m] - 0.5 * distance
            if guess < 0 or estimate > highest:
                guess = m
                highest = estimate
    if guess < 0:
        return -1
    best = guess
    highest = score(z, gaussians, guess, bias[guess], -np.inf, lanes)
    for m in range(M):
        if eligible[m] and m != guess:
            value = score(z, gaussians, m, bias[m], highest, lanes)
            if value > highest or (value == highest and m < best):
                best = m
                highest = value
    return best
