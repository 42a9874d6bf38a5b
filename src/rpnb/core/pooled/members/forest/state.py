"""What a window forest keeps: the last rows, its trees, and a tree that is growing.

The forest has T trees and a spare place in which the next tree grows. All T + 1 lie in
the same arrays; `place` says where tree j is, and its last entry where the growing one
is. Node 0 of a tree is its root. `child` of a node is the number of its left child, the
right one being the next, or −1 − l if the node is leaf l. A row goes left where its
feature is ≤ the threshold, so a missing value goes right.

A leaf lists the classes that it has seen, S = min(M, 8) of them at most: memory does
not grow with the number of classes beyond that. A class that finds the list full takes
the entry of the class with the least count.

Rows are numbered in the order in which they are learnt, and the window has the last R.
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
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.pooled.member import Shape

TREES = 16
SPANS = (250, 1000, 4000)
"""Rows that trees grow from, in turn"""
LEAST_WINDOW = 256
WINDOW_VALUES = 1 << 19
"""The window has at most this many values, if that leaves it 256 rows"""
MOST_LEAVES = 1024
MOST_DEPTH = 16
"""of a tree when it has grown"""
DEEPEST = 32
"""of a tree whose leaves were split later"""
LISTED_CLASSES = 8
"""S: classes that a leaf lists at most"""
SAMPLED_ROWS = 64
"""Rows of a node on which splits are judged, at most: as many as a word has bits"""
LEAST_FEATURES = 16
"""Features that a node tries, if there are as many; √p if that is more"""
THRESHOLDS = 32
"""Thresholds that a node tries, over all of its features"""
RECENT_ROWS = 8
"""Rows that a leaf remembers, to be split later"""
LEAST_REFINED = 4
"""Rows that a leaf needs to be split later"""
REFINING_FEATURES = 8
"""Features that a leaf tries when it is split later, with as many thresholds"""
WIDEST = 8192
"""Rows with more features than this are not kept: the forest reads their projection"""
RENEWAL = 16
"""A tree grown from n rows is followed by the next after n/16 rows"""
NEWEST = 2
"""If one of so many newest trees is the weakest, the next one waits twice as long"""

# Entries of `clock`.
LEARNT = 0
"""rows learnt, which is also the number of the next row in the window"""
DUE = 1
"""value of `LEARNT` at which the next tree starts to grow"""
GROWN = 2
"""trees that have started to grow"""
START = 3
"""value of `LEARNT` when the growing tree started, −1 if none is growing"""
NEXT = 4
"""the growing tree's first node that is neither split nor a leaf yet"""
CLOCKS = 5


class ForestState(NamedTuple):
    """All that a window forest remembers."""

    seed: UIntArray
    """(1,)"""
    clock: IntArray
    """(5,) counters, see above"""
    active: BoolArray
    """(M,) classes declared or learnt"""
    class_weight: FloatArray
    """(M,) n_c"""
    total_weight: FloatArray
    """(1,) Σ n_c"""
    window: FloatArray
    """(R, p) the last rows; row i is at i mod R"""
    window_class: IntArray
    """(R,) −1 where no row is yet"""
    window_weight: FloatArray
    """(R,)"""
    place: IntArray
    """(T + 1,) where each tree is, and the growing one"""
    log_weight: FloatArray
    """(2, T) weights of the trees, for slow counts and for fast ones"""
    tree_number: IntArray
    """(T + 1,) value of `GROWN` when the tree started to grow: it addresses draws"""
    n_nodes: IntArray
    """(T + 1,) nodes of each tree"""
    n_leaves: IntArray
    """(T + 1,) leaves of each tree"""
    feature: WordArray
    """(T + 1, N)"""
    threshold: FloatArray
    """(T + 1, N)"""
    child: WordArray
    """(T + 1, N)"""
    slow_class: WordArray
    """(T + 1, L, S) classes listed at a leaf, −1 where the list has ended"""
    slow_count: FloatArray
    """(T + 1, L, S) their weights since the leaf began"""
    slow_total: FloatArray
    """(T + 1, L) weight of all classes since the leaf began"""
    recent: IntArray
    """(T + 1, L, 8) the last rows at a leaf, the last one first, −1 for none"""
    origin: WordArray
    """(T + 1, L) the grown leaf that became this leaf, or of which this one is part"""
    fast_class: WordArray
    """(T + 1, L, S) classes listed at a grown leaf, −1 where the list has ended"""
    fast_count: FloatArray
    """(T + 1, L, S) their fading counts"""
    fast_total: FloatArray
    """(T + 1, L) fading count of all classes"""
    order: IntArray
    """(W,) places in the window of the growing tree's rows, node by node"""
    node_first: IntArray
    """(N,) where in `order` the rows of a node of the growing tree begin"""
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


def units_per_row(p: int, W: int) -> int:
    """Return how much a tree grows with each row: so much that W/32 + 1 rows suffice.

    A unit is what a nanosecond does, roughly; `forest.trees.grow_node` counts them.
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


def read_columns(shape: Shape) -> int:
    """Return how many columns the forest reads: those of `raw`, or of `low`."""
    return shape.p if shape.p <= WIDEST else shape.d


def new_state(shape: Shape, active: BoolArray, seed: int) -> ForestState:
    """Return a forest that has learnt nothing: trees of one empty leaf each."""
    M = active.shape[0]
    p = read_columns(shape)
    W = window_rows(p, shape.window)
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
        window=np.zeros((R, p)),
        window_class=np.full(R, -1, np.int64),
        window_weight=np.zeros(R),
        place=np.arange(T + 1),
        log_weight=np.zeros((2, T)),
        tree_number=np.zeros(T + 1, np.int64),
        n_nodes=np.ones(T + 1, np.int64),
        n_leaves=np.ones(T + 1, np.int64),
        feature=np.zeros((T + 1, N), np.int32),
        threshold=np.zeros((T + 1, N)),
        child=np.full((T + 1, N), -1, np.int32),
        slow_class=np.full((T + 1, L, S), -1, np.int32),
        slow_count=np.zeros((T + 1, L, S)),
        slow_total=np.zeros((T + 1, L)),
        recent=np.full((T + 1, L, RECENT_ROWS), -1, np.int64),
        origin=np.zeros((T + 1, L), np.int32),
        fast_class=np.full((T + 1, L, S), -1, np.int32),
        fast_count=np.zeros((T + 1, L, S)),
        fast_total=np.zeros((T + 1, L)),
        order=np.zeros(W, np.int64),
        node_first=np.zeros(N, np.int64),
        node_end=np.zeros(N, np.int64),
        node_depth=np.zeros(N, np.int64),
    )


def listed_classes(M: int) -> int:
    """Return S, the number of classes that a leaf can list."""
    return max(1, min(M, LISTED_CLASSES))


class SplitSpace(NamedTuple):
    """Working space for the choice of a split."""

    features: IntArray
    """(p,) 0 … p − 1 whenever no split is being chosen"""
    chosen: IntArray
    """(tried features,)"""
    key: UIntArray
    """(4, 1) what the draws of a node begin with"""
    local: IntArray
    """(M,) −1 whenever no split is being chosen"""
    sample: IntArray
    """(64,) places in the window"""
    values: FloatArray
    """(64,) of one feature"""
    members: UIntArray
    """(64,) which of the sampled rows are of a class, as bits"""
    sizes: IntArray
    """(64,) how many are"""


@compiled
def new_split_space(M: int, p: int, n_features: int) -> SplitSpace:
    """Return working space for splits of nodes."""
    return SplitSpace(
        np.arange(p),
        np.empty(n_features, np.int64),
        np.empty((4, 1), np.uint64),
        np.full(M, -1, np.int64),
        np.empty(SAMPLED_ROWS, np.int64),
        np.empty(SAMPLED_ROWS),
        np.empty(SAMPLED_ROWS, np.uint64),
        np.empty(SAMPLED_ROWS, np.int64),
    )


class Workspace(NamedTuple):
    """Working space for one row: what it holds means nothing between rows."""

    nodes: IntArray
    """(T,) the leaf of the row in each tree, as a node"""
    depths: IntArray
    """(T,) depths of these nodes"""
    leaves: IntArray
    """(T,) numbers of the leaves"""
    surprised: BoolArray
    """(T,) whether the class was not the most frequent one at the leaf"""
    weights: FloatArray
    """(2, T) of the trees, for slow counts and for fast ones"""
    weight_bits: IntArray
    """(T,)"""
    score_bits: WordArray
    """(M,)"""
    logs: FloatArray
    """(2T,)"""
    log_bits: WordArray
    """(2T,)"""


@compiled
def new_workspace(T: int, M: int) -> Workspace:
    """Return working space for rows."""
    return Workspace(
        np.empty(T, np.int64),
        np.empty(T, np.int64),
        np.empty(T, np.int64),
        np.empty(T, np.bool_),
        np.empty((2, T)),
        np.empty(T, np.int64),
        np.empty(M, np.int32),
        np.empty(2 * T),
        np.empty(2 * T, np.int32),
    )
