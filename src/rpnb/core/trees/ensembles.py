"""Online bagging and boosting of trees.

The methods and their sources are in ``cpp/trees/bagging.h`` and ``boosting.h``.
"""

from typing import NamedTuple

import numpy as np

from rpnb._core.trees import MemberAccuracy, fill_labels, pass_bagging, pass_boosting

__all__ = [
    "Draws",
    "MemberAccuracy",
    "fill_labels",
    "new_member_accuracy",
    "pass_bagging",
    "pass_boosting",
]


class Draws(NamedTuple):
    """Where the random numbers of a pass begin: seed, first tree and first row."""

    seed: int
    """64 bits"""
    member: int
    """Number of the forest's first tree, if the forest is a part of an ensemble"""
    row: int
    """Number of the pass's first row: rows learned before"""


def new_member_accuracy(K: int) -> MemberAccuracy:
    """Return the record of K members before the first row: zeros."""
    return MemberAccuracy(np.zeros(K), np.zeros(K), np.zeros(1))
