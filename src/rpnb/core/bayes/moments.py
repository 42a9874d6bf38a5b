"""Observed moments of each class: weight, mean and scatter of every column.

The formulas are in ``cpp/rpnb/moments.h``.
"""

from rpnb._core.bayes import Moments, add_observation, clear, fade, merge, unmerge

__all__ = [
    "Moments",
    "add_observation",
    "clear",
    "empty_moments",
    "fade",
    "merge",
    "unmerge",
]


def empty_moments(M: int, F: int) -> Moments:
    """Return the moments of M classes without observations: zeros."""
    return Moments.empty(M, F)
