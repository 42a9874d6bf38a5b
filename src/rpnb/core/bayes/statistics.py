"""Moments, densities, counts and scores of classes; rules that combine members.

The formulas are in ``cpp/rpnb``: ``moments.h`` (Theorem 1), ``densities.h`` (equation
4), ``scoring.h`` (equations 5 and 6) and ``combining.h`` (Kittler et al. 1998).
"""

from typing import Final, Literal, NamedTuple, TypeAlias, get_args

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
]

Combiner: TypeAlias = Literal[
    "log_sum", "sum", "product", "vote", "max", "min", "median"
]
COMBINERS: Final[tuple[Combiner, ...]] = get_args(Combiner)

# What is learned from a row after its prediction.
LEARN_NOTHING = 0
LEARN_MISTAKES = 1
LEARN_ALL = 2


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
