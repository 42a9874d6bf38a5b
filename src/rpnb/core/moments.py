"""What a class has been seen to look like: weight, mean and scatter of each column.

Theorem 1 of the paper, and with it equations (7) to (10), says how the mean and the
variance of all observations follow from those of two parts. Kept here are the weight of
the observations, their mean and their *scatter* (the sum of squared deviations from the
mean): in this form the theorem adds, subtracts and never cancels. The initial mean and
variance are not observations, so they are kept apart and joined on reading.
"""

from typing import NamedTuple

import numpy as np

from rpnb.core.arrays import FloatArray
from rpnb.core.compiled import compiled

_LOG_TWO = np.log(2.0)
_LOG_TWO_PI = np.log(2.0 * np.pi)
# A variance above this would overflow when it is multiplied by the number of columns.
_CEILING = 1e300


class Moments(NamedTuple):
    """Observed moments of M classes: what a model has learnt, and all it must keep."""

    weight: FloatArray
    """(M,) total weight of the observations learnt."""
    mean: FloatArray
    """(M, F) their mean."""
    scatter: FloatArray
    """(M, F) their summed squared deviations from the mean."""


class Prior(NamedTuple):
    """What a class looks like before its first observation; counts as `weight` rows."""

    mean: float
    variance: float
    weight: float
    floor: float
    """Smallest variance that is ever read."""


class Gaussians(NamedTuple):
    """The normal laws of M classes, derived from moments and prior: equation (4)."""

    mean: FloatArray
    """(M, F) μ"""
    precision: FloatArray
    """(M, F) 1/σ²"""
    constant: FloatArray
    """(M,) −Σ log(√(2π)·σ): a class's log density at its mean."""


def no_moments(M: int, F: int) -> Moments:
    """Moments of M classes of which nothing has been seen."""
    return Moments(np.zeros(M), np.zeros((M, F)), np.zeros((M, F)))


def unset_gaussians(M: int, F: int) -> Gaussians:
    """Room for the laws of M classes, to be filled by `refresh`."""
    return Gaussians(np.empty((M, F)), np.empty((M, F)), np.empty(M))


@compiled
def observe(moments: Moments, m: int, z: FloatArray, weight: float) -> None:
    """Add one projected observation z (F,) to class m: equations (9) and (10).

    A weight w > 0 counts as w equal observations in one step, equations (7) and (8).
    """
    before = moments.weight[m]
    share = weight / (before + weight)
    moments.weight[m] = before + weight
    _join(moments.mean[m], moments.scatter[m], z, before, share)


@compiled
def _join(
    mean: FloatArray, scatter: FloatArray, z: FloatArray, before: float, share: float
) -> None:
    for f in range(z.shape[0]):
        delta = z[f] - mean[f]
        mean[f] += delta * share
        scatter[f] += delta * delta * (before * share)


@compiled
def fade(moments: Moments, m: int, keep: float, weight: float) -> None:
    """Let what class m has learnt count `keep`ʷ times as much, w being `weight`.

    As if each observation had weighed that much less: the mean stays, the weight and
    the scatter shrink, and Theorem 1 goes on holding for them.
    """
    if keep < 1.0:
        left = keep**weight
        moments.weight[m] *= left
        scatter = moments.scatter[m]
        for f in range(scatter.shape[0]):
            scatter[f] *= left


@compiled
def merge(into: Moments, m: int, other: Moments, o: int) -> None:
    """Add to class m of `into` all that class o of `other` holds: Theorem 1.

    In the theorem's letters, with n the old weight and n' the other's, the new mean is
    μ + δ·n'/(n + n') and the scatters add, with (n·n'/(n + n'))·δ² on top, where δ is
    the difference of the means.
    """
    added = other.weight[o]
    if added == 0.0:
        return
    before = into.weight[m]
    share = added / (before + added)
    into.weight[m] = before + added
    for f in range(into.mean.shape[1]):
        delta = other.mean[o, f] - into.mean[m, f]
        into.mean[m, f] += delta * share
        into.scatter[m, f] += other.scatter[o, f] + delta * delta * (before * share)


@compiled
def unmerge(out: Moments, m: int, part: Moments, o: int) -> None:
    """Take from class m what class o of `part` holds: `merge` solved for its operand.

    Exact up to rounding where `part` was merged into `out` before. A scatter is never
    left below zero.
    """
    removed = part.weight[o]
    if removed == 0.0:
        return
    rest = out.weight[m] - removed
    if rest <= 0.0:
        out.weight[m] = 0.0
        out.mean[m] = 0.0
        out.scatter[m] = 0.0
        return
    out.weight[m] = rest
    for f in range(out.mean.shape[1]):
        delta = (out.mean[m, f] - part.mean[o, f]) * ((rest + removed) / rest)
        out.mean[m, f] = part.mean[o, f] + delta
        between = delta * delta * (rest * (removed / (rest + removed)))
        left = out.scatter[m, f] - part.scatter[o, f] - between
        out.scatter[m, f] = max(left, 0.0)


@compiled
def refresh(gaussians: Gaussians, m: int, moments: Moments, prior: Prior) -> None:
    """Derive class m's normal laws: its moments joined with the prior by Theorem 1."""
    seen = moments.weight[m]
    total = prior.weight + seen
    # With neither prior nor observations, the prior still says what to expect.
    pull = prior.weight / total if total > 0.0 else 1.0
    held = prior.weight * prior.variance if total > 0.0 else prior.variance
    # `precision` holds the variances until their logarithms have been summed.
    variance = gaussians.precision[m]
    _derive(
        moments.mean[m],
        moments.scatter[m],
        gaussians.mean[m],
        variance,
        prior,
        held,
        pull,
        pull * seen,
        1.0 / total if total > 0.0 else 1.0,
    )
    gaussians.constant[m] = -0.5 * (
        variance.shape[0] * _LOG_TWO_PI + sum_of_logarithms(variance)
    )
    for f in range(variance.shape[0]):
        variance[f] = 1.0 / variance[f]


@compiled
def _derive(
    seen_mean: FloatArray,
    scatter: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
    prior: Prior,
    held: float,
    pull: float,
    between: float,
    inverse: float,
) -> None:
    for f in range(mean.shape[0]):
        delta = prior.mean - seen_mean[f]
        mean[f] = seen_mean[f] + delta * pull
        value = (held + scatter[f] + delta * delta * between) * inverse
        variance[f] = min(max(value, prior.floor), _CEILING)


@compiled
def sum_of_logarithms(values: FloatArray) -> float:
    """Sum the logarithms of positive, normal numbers with few calls of `log`.

    A number is m·2ᵉ with 1 ≤ m < 2. The exponents are summed as integers; the mantissas
    are multiplied, the second half of them into the first and so on, as often as the
    products, each below 2⁵¹², cannot overflow. Only these need a logarithm.
    """
    bits = values.view(np.int64)
    left = values.shape[0]
    mantissa = np.empty(left)
    mantissa_bits = mantissa.view(np.int64)
    exponents = 0
    for f in range(left):
        exponents += bits[f] >> 52
        mantissa_bits[f] = (bits[f] & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000
    exponents -= 1023 * left
    for _ in range(9):
        half = left // 2
        _multiply(mantissa[:half], mantissa[left - half : left])
        left -= half
    total = 0.0
    for f in range(left):
        total += np.log(mantissa[f])
    return total + exponents * _LOG_TWO


@compiled
def _multiply(into: FloatArray, factor: FloatArray) -> None:
    for f in range(into.shape[0]):
        into[f] *= factor[f]
