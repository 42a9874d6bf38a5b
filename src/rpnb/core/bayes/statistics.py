"""Moments, densities, counts and scores of classes; rules that combine members.

The formulas are in ``cpp/rpnb``: ``moments.h`` (Theorem 1), ``densities.h`` (equation
4), ``scoring.h`` (equations 5 and 6) and ``combining.h`` (Kittler et al. 1998).
"""

from typing import Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from rpnb._core.bayes import (
    ClassState,
    Gaussians,
    Moments,
    add_observation,
    best_class,
    best_combined,
    clear,
    combine,
    fade,
    learn_density,
    member_log_posteriors,
    merge,
    refresh,
    score,
    set_bias_from_counts,
    unmerge,
)
from rpnb.core.kernels.arrays import FloatArray, IntArray

__all__ = [
    "COMBINERS",
    "LEARN_ALL",
    "LEARN_MISTAKES",
    "LEARN_NOTHING",
    "ClassState",
    "Combiner",
    "Gaussians",
    "Moments",
    "Prior",
    "add_observation",
    "best_class",
    "best_combined",
    "clear",
    "combine",
    "copy_moments",
    "empty_gaussians",
    "empty_moments",
    "fade",
    "learn_density",
    "member_log_posteriors",
    "merge",
    "refresh",
    "score",
    "set_bias_from_counts",
    "unmerge",
    "without",
]

Combiner: TypeAlias = Literal[
    "log_sum", "sum", "product", "vote", "max", "min", "median"
]
COMBINERS: Final[tuple[Combiner, ...]] = get_args(Combiner)

# What is learned from a row after its prediction.
LEARN_NOTHING = 0
LEARN_MISTAKES = 1
LEARN_ALL = 2

# Rounding error of a scatter that should be 0, relative to what was subtracted.
_ROUNDING = 1e-6


class Prior(NamedTuple):
    """Initial mean and variance of every column; they count as `weight` rows."""

    mean: float
    variance: float
    weight: float
    floor: float
    """smallest variance that is used"""


def empty_moments(M: int, F: int) -> Moments:
    """Return the moments of M classes without observations: zeros."""
    return Moments.empty(M, F)


def empty_gaussians(M: int, F: int) -> Gaussians:
    """Return the densities of M classes, to be filled by `refresh`."""
    return Gaussians.empty(M, F)


# Unlearning: the inverse of Theorem 1


def copy_moments(moments: Moments) -> Moments:
    """Return an independent copy."""
    return Moments(*(part.copy() for part in moments))


def without(moments: Moments, part: Moments) -> tuple[Moments, IntArray, IntArray]:
    """Return the moments without those of `part`, and the classes for which that fails.

    It fails, since the rows of `part` were not learned, for the classes in the second
    result, whose weight would become negative, and for those in the third, which have a
    column whose scatter would. `moments` are not changed.
    """
    rest = moments.weight - part.weight
    # Weights summed in another order may differ in the last bits.
    slack = 1e-9 * moments.weight
    too_heavy = np.flatnonzero(rest < -slack)
    out = copy_moments(moments)
    near = np.abs(rest) <= slack
    strange = []
    for m in np.flatnonzero(part.weight > 0.0).tolist():
        if near[m]:
            # Nothing of the class is left: any remainder must be rounding error.
            distance = part.mean[m] - moments.mean[m]
            spread = moments.scatter[m] - part.scatter[m]
            wrong = part.weight[m] * distance * distance + np.abs(spread)
            if (wrong > _ROUNDING * (part.scatter[m] + _square(part, m))).any():
                strange.append(m)
            out.weight[m] = out.mean[m] = out.scatter[m] = 0.0
        elif rest[m] > 0.0:
            if (_scatter_left(moments, part, m, rest[m]) < 0.0).any():
                strange.append(m)
            unmerge(out, m, part, m)
    return out, too_heavy, np.array(strange, dtype=np.int64)


def _square(part: Moments, m: int) -> FloatArray:
    """Return the sums of squares (F,) of class m, to which rounding errors relate."""
    return part.weight[m] * part.mean[m] * part.mean[m]


def _scatter_left(moments: Moments, part: Moments, m: int, rest: float) -> FloatArray:
    """Return an upper bound (F,) of class m's scatter without `part`."""
    removed = part.weight[m]
    delta = (moments.mean[m] - part.mean[m]) * ((rest + removed) / rest)
    between = delta * delta * (rest * (removed / (rest + removed)))
    left = moments.scatter[m] - part.scatter[m] - between
    size = moments.scatter[m] + part.scatter[m] + between
    return left + _ROUNDING * size
