"""Observed moments of each class: weight, mean and scatter of every column.

Theorem 1 of the paper, and with it equations (7) to (10), gives the mean and the
variance of all observations from those of two parts. Kept here are the weight of the
observations, their mean and their *scatter* (the sum of squared deviations from the
mean): in this form the theorem has no cancellation. The prior's mean and variance are
not observations: they are kept apart, and combined in `bayes.densities`.
"""

from typing import NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.kernels.vectors import Doubles


class Moments(NamedTuple):
    """Observed moments of M classes: what a model has learnt, and all it must keep."""

    weight: FloatArray
    """(M,) total weight of the observations learnt."""
    mean: FloatArray
    """(M, F) their mean."""
    scatter: FloatArray
    """(M, F) their summed squared deviations from the mean."""


def empty_moments(M: int, F: int) -> Moments:
    """Return the moments of M classes without observations: zeros."""
    return Moments(np.zeros(M), np.zeros((M, F)), np.zeros((M, F)))


@compiled
def add_observation(moments: Moments, m: int, z: FloatArray, weight: float) -> None:
    """Add one projected observation z (F,) to class m: equations (9) and (10).

    A weight w > 0 counts as w equal observations in one step, equations (7) and (8).
    """
    before = moments.weight[m]
    share = weight / (before + weight)
    moments.weight[m] = before + weight
    _add_to_columns(moments.mean[m], moments.scatter[m], z, before, share)


@compiled
def _add_to_columns(
    mean: FloatArray, scatter: FloatArray, z: FloatArray, before: float, share: float
) -> None:
    """Add z (F,) to mean and scatter, column by column."""
    for f in range(z.shape[0]):
        mean[f], scatter[f] = with_observation(
            z[f], mean[f], scatter[f], share, before * share
        )


@compiled
def with_observation(
    z: Doubles, mean: Doubles, scatter: Doubles, share: float, between: float
) -> tuple[Doubles, Doubles]:
    """Return mean and scatter after adding z, of one column or of a vector of them."""
    delta = z - mean
    return mean + delta * share, scatter + delta * delta * between


@compiled
def fade(moments: Moments, m: int, keep: float, weight: float) -> None:
    """Multiply the weight of all that class m has learnt by `keep`ʷ, w being `weight`.

    The result is that of observations of smaller weight: the mean stays, weight and
    scatter shrink, and Theorem 1 still holds.
    """
    if keep < 1.0:
        left = keep**weight
        moments.weight[m] *= left
        scatter = moments.scatter[m]
        for f in range(scatter.shape[0]):
            scatter[f] *= left


@compiled
def merge(into: Moments, m: int, other: Moments, o: int) -> None:
    """Add the moments of class o of `other` to class m of `into`: Theorem 1.

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
    """Subtract the moments of class o of `part` from class m of `out`.

    The inverse of `merge`. Exact up to rounding if `part` was merged into `out` before.
    A scatter that rounding makes negative is set to zero.
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
