"""The way of a row through a tree: down to its leaf, tested there, learnt there."""

from typing import NamedTuple

from rpnb.core.arrays import FloatArray
from rpnb.core.compiled import compiled
from rpnb.core.trees import LEAF_ADAPTIVE, Counts, Forest, Laws, Nodes, Observed, Rules
from rpnb.core.trees_leaves import (
    count_class,
    observe_row,
    refresh_laws,
    total_weight,
)
from rpnb.core.trees_split import attempt_split, split_leaf
from rpnb.core.trees_votes import largest


class Place(NamedTuple):
    """Where a row ends up in a tree."""

    leaf: int
    node: int
    """The leaf's parent, −1 if the leaf is the root"""
    is_left: bool
    """Whether the leaf is the left one of its parent's children"""


@compiled
def descend(nodes: Nodes, root: int, x: FloatArray) -> Place:
    """Return the leaf to which x (p,) belongs in the tree with this root."""
    reference = root
    node = -1
    is_left = False
    while reference >= 0:
        node = reference
        is_left = bool(x[nodes.attribute[node]] <= nodes.threshold[node])
        reference = nodes.left[node] if is_left else nodes.right[node]
    return Place(-1 - reference, node, is_left)


@compiled
def learn_row(
    counts: Counts,
    observed: Observed,
    laws: Laws,
    leaf: int,
    x: FloatArray,
    y: int,
    weight: float,
    rules: Rules,
    scores: FloatArray,
) -> bool:
    """Learn x (p,) of class y < M at its leaf; return whether to attempt a split.

    `scores` (M,) holds naive Bayes' scores of x, unless the leaf is frozen.
    """
    if counts.frozen[leaf]:
        count_class(counts, leaf, y, weight)
        return False
    if rules.leaf == LEAF_ADAPTIVE:
        _tally(counts, leaf, y, weight, scores)
    count_class(counts, leaf, y, weight)
    observe_row(observed, leaf, y, x, weight)
    refresh_laws(laws, observed, leaf, y, counts.class_weight[leaf, y], rules.density)
    total = total_weight(counts, leaf)
    due = rules.grows and total - counts.checked[leaf] >= rules.grace
    if due:
        counts.checked[leaf] = total
    return due


@compiled
def _tally(
    counts: Counts, leaf: int, y: int, weight: float, scores: FloatArray
) -> None:
    """Note which of the largest class and naive Bayes would have been right.

    While nothing has been seen no class is the largest, but naive Bayes, asked for its
    best vote, names the first class.
    """
    slots = counts.slots[leaf]
    if largest(counts.class_weight[leaf], slots, -1) == y:
        counts.majority_right[leaf] += weight
    if largest(scores, slots, 0) == y:
        counts.bayes_right[leaf] += weight


@compiled
def split_place(forest: Forest, k: int, place: Place, rules: Rules) -> None:
    """Attempt to split a leaf of tree k, and link the new node if it comes to one."""
    split = attempt_split(forest.leaves, place.leaf, rules)
    forest.leaves.counts.frozen[place.leaf] = split.freeze
    if split.attribute < 0:
        return
    node = split_leaf(forest, place.leaf, split)
    if place.node < 0:
        forest.root[k] = node
    elif place.is_left:
        forest.nodes.left[place.node] = node
    else:
        forest.nodes.right[place.node] = node
