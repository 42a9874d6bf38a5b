"""Online boosting: rows misclassified by earlier trees are learned more often by later.

Oza & Russell, "Online bagging and boosting", 2001, as in MOA's OzaBoost. A row starts
with λ = 1. Member k learns it a Poisson(λ) number of times and then predicts it: for
the next member λ grows if the prediction is wrong and shrinks if it is right. A
member's weight in a vote follows from its error rate, weighted by λ; the first member
with an error rate of at least one half, or of zero, ends the vote.
"""

import numpy as np

from rpnb._core import trees
from rpnb._core.trees import MemberAccuracy
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.trees.bagging import Draws
from rpnb.core.trees.records import Forest, TreeParameters

__all__ = ["MemberAccuracy", "new_member_accuracy", "pass_boosting"]


def new_member_accuracy(K: int) -> MemberAccuracy:
    """Return the record of K members before the first row: zeros."""
    return MemberAccuracy(np.zeros(K), np.zeros(K), np.zeros(1))


def pass_boosting(
    forest: Forest,
    record: MemberAccuracy,
    rules: TreeParameters,
    draws: Draws,
    pure: bool,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: bool,
    votes: FloatArray,
) -> Forest:
    """Test each row of X (n, p) on the trees, then learn it; return the forest.

    If `learn`, the forest and the record are changed in place; arrays taken from the
    forest earlier are not its own any more once it has grown. Votes are added to
    `votes` (n, M); `y` (n,), the classes' numbers, and `weight`, (n,) or (1,) where all
    rows weigh the same, are read only if `learn`. A row whose weight is not above 0 is
    tested but not learned. If `pure`, a row is learned with weight λ instead of a
    Poisson draw.
    """
    trees.pass_boosting(forest, record, rules, draws, pure, X, y, weight, learn, votes)
    return forest
