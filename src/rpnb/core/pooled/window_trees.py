"""How the trees of a window forest grow: a few nodes with each row.

A tree grows breadth first from the last n rows, as they are when it starts. A node that
has two rows or more, of more than one class, is split, unless it is as deep as nodes
may be or the tree has as many nodes as it may have. It draws max(16, √p) features
without replacement, or all if there are fewer, and for each a few thresholds, each
uniform between the values of two of the node's rows. The split is the one whose parts
have the least Gini impurity on a sample of at most 64 rows of the node: random cut
points as in Geurts, Ernst & Wehenkel, "Extremely randomized trees" (2006), drawn within
the node's own values. Rows count alike here, whatever their weight.

Of 64 sampled rows a word of 64 bits holds which go left and another which are of a
class: counting bits gives the class counts of a split.

Each row that is learnt pays for a fixed number of units of this work. A tree therefore
takes W/32 + 1 rows at most to grow; it then learns the rows that came meanwhile, takes
the place of the tree with the least weight, and starts with the mean weight of all.
Draws are functions of (seed, tree, node, draw), by Philox.
"""

from typing import Any

import numpy as np
from numba.core import types
from numba.extending import intrinsic, overload

from rpnb.core.kernels.arrays import IntArray, UIntArray
from rpnb.core.kernels.compiled import compiled
from rpnb.core.kernels.random_bits import philox
from rpnb.core.pooled.window_forest_state import (
    DUE,
    GROWN,
    LEARNT,
    LEAVES,
    MOST_DEPTH,
    NEXT,
    NODES,
    RENEWAL,
    ROWS,
    SAMPLED_ROWS,
    SPANS,
    START,
    THRESHOLDS,
    ForestState,
)
from rpnb.core.pooled.window_leaves import add_to_leaf, find_leaf

_ONE = np.uint64(1)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_SPANS = np.array(SPANS)


def count_bits(word: np.uint64) -> int:
    """Return the number of bits that are set."""
    return int(word).bit_count()


# What follows runs inside the compiler, where no coverage tool can follow.
def _type_count_bits(_context: Any, word: Any) -> Any:  # pragma: no cover
    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), emit


_count_bits: Any = intrinsic(_type_count_bits)


@overload(count_bits)
def _overload_count_bits(word: Any) -> Any:  # pragma: no cover
    def implementation(word: Any) -> Any:
        return _count_bits(word)

    return implementation


@compiled
def draw_words(
    seed: np.uint64, tree: int, node: int, n_words: int, counters: UIntArray
) -> None:
    """Draw words of 32 bits; word i is counters[i mod 4, i div 4] of (4, any)."""
    n = (n_words + 3) // 4
    number = np.uint64(tree)
    for i in range(n):
        counters[0, i] = i
        counters[1, i] = node
        counters[2, i] = number & _LOW
        counters[3, i] = number >> _HALF
    philox(counters[:, :n], seed)


@compiled
def choose_split(
    state: ForestState,
    node: int,
    features: IntArray,
    n_features: int,
    counters: UIntArray,
    local: IntArray,
) -> tuple[int, float]:
    """Return feature and threshold of a node's best split; −1 and 0 if there is none.

    Working space: `features` (p,) holds 0 … p − 1 before and after, `local` (M,) −1.
    """
    first = state.node_first[node]
    m = state.node_end[node] - first
    k = min(m, SAMPLED_ROWS)
    p = features.shape[0]
    n_thresholds = min(k - 1, (THRESHOLDS + n_features - 1) // n_features)
    n_words = (SAMPLED_ROWS if m > k else 0) + n_features * (1 + n_thresholds)
    draw_words(state.seed[0], state.clock[GROWN], node, n_words, counters)
    word = 0

    sample = np.empty(SAMPLED_ROWS, np.int64)
    members = np.empty(SAMPLED_ROWS, np.uint64)
    sizes = np.empty(SAMPLED_ROWS, np.int64)
    n_classes = 0
    for r in range(k):
        at = r
        if m > k:
            at = (np.int64(counters[word % 4, word // 4]) * m) >> 32
            word += 1
        row = state.order[first + at]
        sample[r] = row
        y = state.window_class[row]
        if local[y] < 0:
            local[y] = n_classes
            members[n_classes] = 0
            sizes[n_classes] = 0
            n_classes += 1
        members[local[y]] |= _ONE << np.uint64(r)
        sizes[local[y]] += 1
    for r in range(k):
        local[state.window_class[sample[r]]] = -1
    squares = 0
    for c in range(n_classes):
        squares += sizes[c] * sizes[c]

    best = -1.0
    best_feature = -1
    best_threshold = 0.0
    values = np.empty(SAMPLED_ROWS)
    chosen = np.empty(n_features, np.int64)
    for f in range(n_features):
        at = f + ((np.int64(counters[word % 4, word // 4]) * (p - f)) >> 32)
        word += 1
        chosen[f] = at
        feature = features[at]
        features[at] = features[f]
        features[f] = feature
        for r in range(k):
            values[r] = state.window[sample[r], feature]
        for _ in range(n_thresholds):
            bits = np.int64(counters[word % 4, word // 4])
            word += 1
            one = values[((bits & 255) * k) >> 8]
            other = values[(((bits >> 8) & 255) * k) >> 8]
            if not (one < other or other < one):
                continue
            threshold = one + (other - one) * ((bits >> 16) * 2.0**-16)
            left = np.uint64(0)
            for r in range(k):
                left |= np.uint64(values[r] <= threshold) << np.uint64(r)
            n_left = count_bits(left)
            if n_left == 0 or n_left == k:
                continue
            left_squares = 0
            products = 0
            for c in range(n_classes):
                count = count_bits(left & members[c])
                left_squares += count * count
                products += count * sizes[c]
            right_squares = squares - 2 * products + left_squares
            purity = left_squares / n_left + right_squares / (k - n_left)
            if purity > best:
                best = purity
                best_feature = feature
                best_threshold = threshold
    for f in range(n_features - 1, -1, -1):
        at = chosen[f]
        feature = features[at]
        features[at] = features[f]
        features[f] = feature
    return best_feature, best_threshold


@compiled
def split_rows(
    state: ForestState, node: int, feature: int, threshold: float, moved: IntArray
) -> int:
    """Bring a node's rows that go left before the others; return where those begin.

    Either part stays in the order of time. `moved` (W,) is working space.
    """
    order = state.order
    window = state.window
    first = state.node_first[node]
    middle = first
    right = 0
    for i in range(first, state.node_end[node]):
        row = order[i]
        goes_left = window[row, feature] <= threshold
        order[middle] = row
        moved[right] = row
        middle += goes_left
        right += not goes_left
    order[middle : middle + right] = moved[:right]
    return middle


@compiled
def is_pure(state: ForestState, node: int) -> bool:
    """Say whether all rows of a node are of one class."""
    first = state.node_first[node]
    y = state.window_class[state.order[first]]
    for i in range(first + 1, state.node_end[node]):
        if state.window_class[state.order[i]] != y:
            return False
    return True


@compiled
def grow_node(
    state: ForestState,
    node: int,
    features: IntArray,
    n_features: int,
    counters: UIntArray,
    local: IntArray,
    moved: IntArray,
) -> int:
    """Split a node of the growing tree or make it a leaf; return the units of work."""
    clock = state.clock
    k = state.place[-1]
    nodes = clock[NODES]
    m = state.node_end[node] - state.node_first[node]
    units = 2 * m
    if (
        state.node_depth[node] < MOST_DEPTH
        and nodes + 2 <= state.child.shape[1]
        and not is_pure(state, node)
    ):
        feature, threshold = choose_split(
            state, node, features, n_features, counters, local
        )
        units += min(m, SAMPLED_ROWS) * n_features + 16 * THRESHOLDS + 256
        if feature >= 0:
            middle = split_rows(state, node, feature, threshold, moved)
            state.feature[k, node] = feature
            state.threshold[k, node] = threshold
            state.child[k, node] = nodes
            for side in range(2):
                state.node_depth[nodes + side] = state.node_depth[node] + 1
            state.node_first[nodes] = state.node_first[node]
            state.node_end[nodes] = middle
            state.node_first[nodes + 1] = middle
            state.node_end[nodes + 1] = state.node_end[node]
            clock[NODES] += 2
            return units
    leaf = clock[LEAVES]
    clock[LEAVES] += 1
    state.child[k, node] = -1 - leaf
    state.leaf_class[k, leaf] = -1
    state.leaf_total[k, leaf] = 0.0
    for i in range(state.node_first[node], state.node_end[node]):
        row = state.order[i]
        add_to_leaf(
            state.leaf_class,
            state.leaf_count,
            state.leaf_total,
            k,
            leaf,
            state.window_class[row],
            state.window_weight[row],
        )
    return units


@compiled
def start_tree(state: ForestState) -> None:
    """Start a tree from the last rows: how many is the next of the spans."""
    clock = state.clock
    R = state.window.shape[0]
    learnt = clock[LEARNT]
    span = _SPANS[clock[GROWN] % _SPANS.shape[0]]
    n = min(min(learnt, span), state.order.shape[0])
    for i in range(n):
        state.order[i] = (learnt - n + i) % R
    state.node_first[0] = 0
    state.node_end[0] = n
    state.node_depth[0] = 0
    clock[GROWN] += 1
    clock[START] = learnt
    clock[DUE] = learnt + max(1, n // RENEWAL)
    clock[ROWS] = n
    clock[NEXT] = 0
    clock[NODES] = 1
    clock[LEAVES] = 0


@compiled
def finish_tree(state: ForestState) -> None:
    """Let the grown tree learn the rows since its start, and replace the weakest."""
    clock = state.clock
    R = state.window.shape[0]
    k = state.place[-1]
    for i in range(clock[START], clock[LEARNT]):
        row = i % R
        leaf = find_leaf(
            state.feature, state.threshold, state.child, k, state.window[row]
        )
        add_to_leaf(
            state.leaf_class,
            state.leaf_count,
            state.leaf_total,
            k,
            leaf,
            state.window_class[row],
            state.window_weight[row],
        )
    clock[START] = -1
    logs = state.log_weight
    T = logs.shape[1]
    weakest = 0
    slow = 0.0
    fast = 0.0
    for j in range(T):
        if logs[0, j] + logs[1, j] < logs[0, weakest] + logs[1, weakest]:
            weakest = j
        slow += logs[0, j]
        fast += logs[1, j]
    logs[0, weakest] = slow / T
    logs[1, weakest] = fast / T
    state.place[-1] = state.place[weakest]
    state.place[weakest] = k


@compiled
def grow(
    state: ForestState,
    units: int,
    features: IntArray,
    n_features: int,
    counters: UIntArray,
    local: IntArray,
    moved: IntArray,
) -> None:
    """Do what one row pays for: `units` of work, and the rest of a node."""
    clock = state.clock
    if clock[START] < 0:
        if clock[LEARNT] < clock[DUE]:
            return
        start_tree(state)
    while units > 0 and clock[NEXT] < clock[NODES]:
        node = clock[NEXT]
        clock[NEXT] += 1
        units -= grow_node(
            state, node, features, n_features, counters, local, moved
        )
    if clock[NEXT] == clock[NODES]:
        finish_tree(state)
