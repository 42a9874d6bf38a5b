"""Online bagging: each tree learns each row a Poisson(1) number of times.

Oza & Russell, "Online bagging and boosting", 2001, as in MOA's OzaBag: the members'
votes, scaled to sum to 1, are added.
"""

from typing import NamedTuple

from rpnb._core import trees
from rpnb._core.trees import fill_labels
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.trees.records import Forest, TreeParameters

__all__ = ["Draws", "fill_labels", "pass_bagging"]


class Draws(NamedTuple):
    """Where the random numbers of a pass begin: seed, first tree and first row."""

    seed: int
    """64 bits"""
    member: int
    """Number of the forest's first tree, if the forest is a part of an ensemble"""
    row: int
    """Number of the pass's first row: rows learned before"""


def pass_bagging(
    forest: Forest,
    rules: TreeParameters,
    draws: Draws,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: bool,
    votes: FloatArray,
) -> Forest:
    """Test each row of X (n, p) on every tree, then learn it; return the forest.

    If `learn`, the forest is changed in place; arrays taken from it earlier are not its
    own any more once it has grown. Votes are added to `votes` (n, M); `y` (n,), the
    classes' numbers, and `weight`, (n,) or (1,) where all rows weigh the same, are read
    only if `learn`. A row whose weight is not above 0 is tested but not learned.
    """
    trees.pass_bagging(forest, rules, draws, X, y, weight, learn, votes)
    return forest
