"""The normal densities of the classes: their moments combined with the prior's.

The formulas are in ``cpp/rpnb/densities.h``.
"""

from typing import NamedTuple

from rpnb._core.bayes import Gaussians, learn_density, refresh

__all__ = ["Gaussians", "Prior", "empty_gaussians", "learn_density", "refresh"]


class Prior(NamedTuple):
    """Initial mean and variance of every column, which count as `weight` rows."""

    mean: float
    variance: float
    weight: float
    floor: float
    """Smallest variance that is ever read."""


def empty_gaussians(M: int, F: int) -> Gaussians:
    """Return the densities of M classes, to be filled by `refresh`."""
    return Gaussians.empty(M, F)
