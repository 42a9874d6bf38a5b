"""Passing rows through a tree: find the leaf, predict there, learn there."""

from typing import NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.trees.leaves import (
    count_class,
    finish_scores,
    observe_row,
    refresh_leaf_densities,
    score_by_distance,
    total_weight,
)
from rpnb.core.trees.records import (
    LEAF_ADAPTIVE,
    Forest,
    LeafCounts,
    LeafDensities,
    LeafMoments,
    Nodes,
    TreeParameters,
    places,
    with_more_places,
)
from rpnb.core.trees.splits import NO_SPLIT, Split, attempt_split, split_leaf
from rpnb.core.trees.votes import add_votes, largest, votes_by_majority


class LeafPosition(NamedTuple):
    """The leaf that a row reaches in a tree, and the leaf's parent."""

    leaf: int
    """Number of the leaf in its tree"""
    node: int
    """Number of its parent, −1 if the leaf is the whole tree"""
    is_left: bool
    """Whether the leaf is the left one of its parent's children"""


NO_POSITION = LeafPosition(-1, -1, False)


@compiled
def descend(nodes: Nodes, first: int, splits: int, x: FloatArray) -> LeafPosition:
    """Return the leaf that x (p,) reaches in the tree whose places begin at `first`."""
    child = 0 if splits > 0 else -1
    node = -1
    is_left = False
    while child >= 0:
        node = child
        is_left = bool(
            x[nodes.attribute[first + node]] <= nodes.threshold[first + node]
        )
        child = nodes.left[first + node] if is_left else nodes.right[first + node]
    return LeafPosition(-1 - child, node, is_left)


@compiled
def learn_at_leaf(
    counts: LeafCounts,
    observed: LeafMoments,
    densities: LeafDensities,
    leaf: int,
    x: FloatArray,
    y: int,
    weight: float,
    rules: TreeParameters,
    scores: FloatArray,
) -> bool:
    """Learn x (p,) of class y < M at its leaf; return whether to attempt a split.

    `scores` (M,) holds naive Bayes' scores of x, unless the leaf is frozen.
    """
    if counts.frozen[leaf]:
        count_class(counts, leaf, y, weight)
        return False
    if rules.leaf == LEAF_ADAPTIVE:
        _count_correct(counts, leaf, y, weight, scores)
    count_class(counts, leaf, y, weight)
    observe_row(observed, leaf, y, x, weight)
    refresh_leaf_densities(
        densities, observed, leaf, y, counts.class_weight[leaf, y], rules.density
    )
    total = total_weight(counts, leaf)
    due = rules.grows and total - counts.checked[leaf] >= rules.grace
    if due:
        counts.checked[leaf] = total
    return due


@compiled
def _count_correct(
    counts: LeafCounts, leaf: int, y: int, weight: float, scores: FloatArray
) -> None:
    """Count whether the majority class, and whether naive Bayes, predicts class y.

    At an empty leaf there is no majority class, but naive Bayes predicts class 0.
    """
    slots = counts.slots[leaf]
    if largest(counts.class_weight[leaf], slots, -1) == y:
        counts.majority_right[leaf] += weight
    if largest(scores, slots, 0) == y:
        counts.bayes_right[leaf] += weight


def split_and_link(forest: Forest, k: int, place: LeafPosition, split: Split) -> Forest:
    """Split a leaf of tree k and link the new node to its parent; return the forest.

    The forest that is returned is a new one if it had to grow.
    """
    if forest.splits[k] + 2 > places(forest):
        forest = with_more_places(forest)
    node = split_leaf(forest, k, place.leaf, split)
    if place.node >= 0:
        children = forest.nodes.left if place.is_left else forest.nodes.right
        children[k * places(forest) + place.node] = node
    return forest


@compiled
def pass_to_split(
    forest: Forest,
    k: int,
    rules: TreeParameters,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    row: int,
    votes: FloatArray,
) -> tuple[int, LeafPosition, Split]:
    """Pass rows through tree k from `row` on until one of them makes a leaf split.

    Returns the row to resume with, the leaf and the split. The loop reads the forest
    through variables bound before it, and calls functions with few of its arrays:
    passing a whole forest to a function costs as much as a vote.
    """
    nodes = forest.nodes
    leaves = forest.leaves
    counts = leaves.counts
    observed = leaves.observed
    densities = leaves.densities
    scores = np.empty(votes.shape[1])
    shares = np.empty(votes.shape[1])
    first = k * places(forest)
    splits = forest.splits[k]
    for i in range(row, X.shape[0]):
        w = weight[i]
        x = X[i]
        place = descend(nodes, first, splits, x)
        leaf = first + place.leaf
        by_majority = votes_by_majority(counts, leaf, rules.leaf)
        if not by_majority or (w > 0.0 and rules.leaf == LEAF_ADAPTIVE):
            slots = counts.slots[leaf]
            if not score_by_distance(densities, leaf, slots, x, scores):
                finish_scores(leaves, leaf, x, rules.density, scores)
        add_votes(
            counts, leaf, by_majority, scores, rules.density, 1.0, shares, votes[i]
        )
        if w > 0.0 and learn_at_leaf(
            counts, observed, densities, leaf, x, y[i], w, rules, scores
        ):
            split = attempt_split(leaves, leaf, rules)
            counts.frozen[leaf] = split.freeze
            if split.attribute >= 0:
                return i + 1, place, split
    return X.shape[0], NO_POSITION, NO_SPLIT
