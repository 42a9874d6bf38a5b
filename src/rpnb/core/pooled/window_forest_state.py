"""What a window forest keeps: the last rows, its trees, and a tree that is growing.

The forest has T trees and a spare place in which the next tree grows. All T + 1 lie in
the same arrays; `place` says where tree j is, and its last entry where the spare one
is. Node 0 of a tree is its root. `child` of a node is the number of its left child, the
right one being the next, or −1 − l if the node is leaf l. A row goes left where its
feature is ≤ the threshold, so a missing value goes right.

A leaf lists the classes that it has seen, S = min(M, 16) of them at most: memory does
not grow with the number of classes beyond that. A class that finds the list full takes
the entry of the class with the least slow count.
"""

from typing import NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    UIntArray,
    WordArray,
)
from rpnb.core.pooled.member import Shape

TREES = 16
SPANS = (250, 1000, 4000)
"""Rows that trees grow from, in turn"""
LEAST_WINDOW = 256
WINDOW_VALUES = 1 << 19
"""The window has at most this many values, if that leaves it 256 rows"""
MOST_LEAVES = 1024
MOST_DEPTH = 16
LISTED_CLASSES = 16
"""S: classes that a leaf lists at most"""
SAMPLED_ROWS = 64
"""Rows of a node on which splits are judged, at most: as many as a word has bits"""
LEAST_FEATURES = 16
"""Features that a node tries, if there are as many; √p if that is more"""
THRESHOLDS = 48
"""Thresholds that a node tries, over all of its features"""
RENEWAL = 16
"""A tree grown from n rows is followed by the next after n/16 rows"""

# Entries of `clock`.
LEARNT = 0
"""rows learnt, which is also the number of the next row in the window"""
DUE = 1
"""value of `LEARNT` at which the next tree starts to grow"""
GROWN = 2
"""trees that have started to grow"""
START = 3
"""value of `LEARNT` when the growing tree started, −1 if none is growing"""
ROWS = 4
"""rows that the growing tree grows from"""
NEXT = 5
"""the growing tree's first node that is neither split nor a leaf yet"""
NODES = 6
"""nodes of the growing tree"""
LEAVES = 7
"""leaves of the growing tree"""
CLOCKS = 8


class ForestState(NamedTuple):
    """All that a window forest remembers."""

    seed: UIntArray
    """(1,)"""
    clock: IntArray
    """(8,) counters, see above"""
    active: BoolArray
    """(M,) classes declared or learnt"""
    class_weight: FloatArray
    """(M,) n_c"""
    total_weight: FloatArray
    """(1,) Σ n_c"""
    window: FloatArray
    """(R, p) the last rows; row number i is at i mod R"""
    window_class: IntArray
    """(R,)"""
    window_weight: FloatArray
    """(R,)"""
    place: IntArray
    """(T + 1,) where each tree is, and the growing one"""
    log_weight: FloatArray
    """(2, T) weights of the trees, for slow counts and for fast ones"""
    feature: WordArray
    """(T + 1, N)"""
    threshold: FloatArray
    """(T + 1, N)"""
    child: WordArray
    """(T + 1, N)"""
    leaf_class: WordArray
    """(T + 1, L, S) listed classes, −1 where the list has ended"""
    leaf_count: FloatArray
    """(T + 1, L, 2, S) slow and fast counts of the listed classes"""
    leaf_total: FloatArray
    """(T + 1, L, 2) slow and fast counts of all classes"""
    order: IntArray
    """(W,) places in the window of the growing tree's rows, node by node"""
    node_first: IntArray
    """(N,) where in `order` the rows of a node begin"""
    node_end: IntArray
    """(N,) where they end"""
    node_depth: IntArray
    """(N,)"""


def window_rows(p: int, window: int) -> int:
    """Return W, the most rows that a tree grows from; `window` is 0 for the default."""
    wanted = window if window > 0 else max(SPANS)
    return max(1, min(wanted, max(LEAST_WINDOW, WINDOW_VALUES // max(p, 1))))


def tried_features(p: int) -> int:
    """Return the number of features that a node tries."""
    root = int(np.ceil(np.sqrt(p)))
    return min(p, max(LEAST_FEATURES, root))


def words_per_node(p: int) -> int:
    """Return the most random words that a node draws."""
    features = tried_features(p)
    return SAMPLED_ROWS + features + THRESHOLDS + features


def units_per_row(p: int, W: int) -> int:
    """Return how much a tree grows with each row: so much that W/32 + 1 rows suffice.

    A unit is what a nanosecond does, roughly; `window_trees.grow_node` counts them.
    """
    features = tried_features(p)
    thresholds = THRESHOLDS + features
    per_level = W * (2 + features)
    per_node = 256 + 16 * thresholds
    most = (MOST_DEPTH + 1) * per_level + 2 * min(MOST_LEAVES, W) * per_node
    return most // (W // 32 + 1) + 1


def kept_rows(W: int) -> int:
    """Return R: W rows, and those that arrive while a tree grows from them."""
    return W + W // 32 + 3


def new_state(shape: Shape, active: BoolArray, seed: int) -> ForestState:
    """Return a forest that has learnt nothing: trees of one empty leaf each."""
    M = active.shape[0]
    W = window_rows(shape.p, shape.window)
    R = kept_rows(W)
    L = min(MOST_LEAVES, W)
    N = 2 * L - 1
    S = listed_classes(M)
    T = TREES
    clock = np.zeros(CLOCKS, np.int64)
    clock[DUE] = 1
    clock[START] = -1
    return ForestState(
        seed=np.array([seed], np.uint64),
        clock=clock,
        active=active.copy(),
        class_weight=np.zeros(M),
        total_weight=np.zeros(1),
        window=np.zeros((R, shape.p)),
        window_class=np.zeros(R, np.int64),
        window_weight=np.zeros(R),
        place=np.arange(T + 1),
        log_weight=np.zeros((2, T)),
        feature=np.zeros((T + 1, N), np.int32),
        threshold=np.zeros((T + 1, N)),
        child=np.full((T + 1, N), -1, np.int32),
        leaf_class=np.full((T + 1, L, S), -1, np.int32),
        leaf_count=np.zeros((T + 1, L, 2, S)),
        leaf_total=np.zeros((T + 1, L, 2)),
        order=np.zeros(W, np.int64),
        node_first=np.zeros(N, np.int64),
        node_end=np.zeros(N, np.int64),
        node_depth=np.zeros(N, np.int64),
    )


def listed_classes(M: int) -> int:
    """Return S, the number of classes that a leaf can list."""
    return max(1, min(M, LISTED_CLASSES))
