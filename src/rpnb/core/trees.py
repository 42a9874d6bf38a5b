"""Hoeffding trees in arrays, alone, bagged or boosted: creating them, adding classes.

The layout of the arrays and the sources of the rules are in ``cpp/trees/records.h``,
those of the ensembles in ``bagging.h`` and ``boosting.h``.
"""

from typing import NamedTuple

import numpy as np

from rpnb._core.trees import (
    Forest,
    LeafCounts,
    LeafDensities,
    LeafMoments,
    Leaves,
    MemberAccuracy,
    Nodes,
    fill_labels,
    pass_bagging,
    pass_boosting,
)

__all__ = [
    "DENSITY_LOG",
    "DENSITY_PRODUCT",
    "LEAF_ADAPTIVE",
    "LEAF_BAYES",
    "LEAF_MAJORITY",
    "Draws",
    "Forest",
    "LeafCounts",
    "LeafDensities",
    "LeafMoments",
    "Leaves",
    "MemberAccuracy",
    "Nodes",
    "TreeParameters",
    "fill_labels",
    "insert_forest_class",
    "new_forest",
    "new_member_accuracy",
    "pass_bagging",
    "pass_boosting",
]

# How naive Bayes multiplies its densities.
DENSITY_LOG = 0
DENSITY_PRODUCT = 1

# What a leaf predicts.
LEAF_MAJORITY = 0
LEAF_BAYES = 1
LEAF_ADAPTIVE = 2


class TreeParameters(NamedTuple):
    """How trees learn and predict; the defaults are MOA's, except for the density."""

    density: int = DENSITY_LOG
    """`DENSITY_LOG` adds logarithms and never underflows; `DENSITY_PRODUCT` gives the
    product of doubles, which stays 0 once it underflows"""
    leaf: int = LEAF_ADAPTIVE
    """`LEAF_MAJORITY` votes with the class weights, `LEAF_BAYES` with naive Bayes,
    `LEAF_ADAPTIVE` with the one of the two that was right more often at the leaf"""
    grows: bool = True
    """Whether leaves are ever split"""
    grace: float = 200.0
    """Weight that a leaf must gain between two attempts to split it"""
    confidence: float = 1e-7
    """δ, the accepted probability of a wrong choice in one attempt"""
    tie: float = 0.05
    """τ: below this Hoeffding bound the best attribute is always taken"""
    bins: int = 10
    """Thresholds tried on each attribute"""


def new_forest(K: int, M: int, p: int) -> Forest:
    """Return K initial trees: one empty leaf each."""
    L = K
    nodes = Nodes(
        attribute=np.zeros(L, np.int64),
        threshold=np.zeros(L),
        left=np.zeros(L, np.int64),
        right=np.zeros(L, np.int64),
    )
    counts = LeafCounts(
        slots=np.zeros(L, np.int64),
        class_weight=np.zeros((L, M)),
        majority_right=np.zeros(L),
        bayes_right=np.zeros(L),
        checked=np.zeros(L),
        frozen=np.zeros(L, np.bool_),
    )
    observed = LeafMoments(
        weight=np.zeros((L, M)),
        mean=np.zeros((L, M, p)),
        scatter=np.zeros((L, M, p)),
        low=np.zeros((L, M, p)),
        high=np.zeros((L, M, p)),
    )
    densities = LeafDensities(
        centre=np.zeros((L, p, M)),
        precision=np.zeros((L, p, M)),
        normaliser=np.zeros((L, M, p)),
        peak=np.full((L, M), -np.inf),
        flat=np.zeros((L, M), np.int64),
        limit=np.full((L, M), -np.inf),
    )
    return Forest(np.zeros(K, np.int64), nodes, Leaves(counts, observed, densities))


def insert_forest_class(forest: Forest, m: int) -> Forest:
    """Return the forest with a class inserted before class m, or at the end if m = M.

    The numbers of the classes from m on increase by one. The result equals a forest
    that knew the class from the start: a leaf that has seen a later class has one more
    slot.
    """
    counts, observed, densities = forest.leaves
    counts = counts._replace(
        slots=counts.slots + (counts.slots > m),
        class_weight=np.insert(counts.class_weight, m, 0.0, axis=1),
    )
    observed = LeafMoments(*[np.insert(field, m, 0.0, axis=1) for field in observed])
    densities = LeafDensities(
        centre=np.insert(densities.centre, m, 0.0, axis=2),
        precision=np.insert(densities.precision, m, 0.0, axis=2),
        normaliser=np.insert(densities.normaliser, m, 0.0, axis=1),
        peak=np.insert(densities.peak, m, -np.inf, axis=1),
        flat=np.insert(densities.flat, m, 0, axis=1),
        limit=np.insert(densities.limit, m, -np.inf, axis=1),
    )
    leaves = Leaves(counts, observed, densities)
    return Forest(forest.splits, forest.nodes, leaves)


# Ensembles


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
