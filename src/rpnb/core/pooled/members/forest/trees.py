"""How the trees of a window forest grow: a few nodes with each row.

A tree grows breadth first from the last n rows, as they are when it starts. A node of
more than one class is split, unless it is as deep as nodes may be or the tree has as
many nodes as it may have; `forest.splits` says how.

Each row that is learnt pays for a fixed number of units of this work. A tree therefore
takes W/32 + 2 rows at most to grow; it then learns the rows that came meanwhile, takes
the place of the tree with the least weight, and starts with the mean weight of all. If
that tree was one of the two newest, older trees are the better ones, as on a stream
that does not drift, and the next tree waits twice as long.

A leaf remembers its last eight rows. When a row arrives whose class is not the leaf's
most frequent one, the leaf is split by the same rule on those of them that the window
still has, if these are four or more, with fewer features tried. Slow counts begin anew
in the two parts; fast counts stay those of the leaf as it was grown.
"""

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.compiling.compiled import compiled, compiled_inline
from rpnb.core.pooled.members.forest.leaves import (
    add_fast,
    add_slow,
    learn_in_tree,
    remember,
)
from rpnb.core.pooled.members.forest.splits import choose_split
from rpnb.core.pooled.members.forest.state import (
    DEEPEST,
    DUE,
    GROWN,
    LEARNT,
    LEAST_REFINED,
    MOST_DEPTH,
    NEWEST,
    NEXT,
    RECENT_ROWS,
    REFINING_FEATURES,
    RENEWAL,
    SAMPLED_ROWS,
    SPANS,
    START,
    THRESHOLDS,
    ForestState,
    SplitSpace,
    Workspace,
)

_SPANS = np.array(SPANS)


@compiled_inline
def number_of(at: int, last: int, R: int) -> int:
    """Return the number of the row at a place of the window; the last one is `last`."""
    turn = last % R
    return last - turn + at - (R if at > turn else 0)


@compiled_inline
def place_of(number: int, last: int, R: int) -> int:
    """Return the place in the window of one of the last R rows."""
    at = last % R - (last - number)
    return at if at >= 0 else at + R


@compiled_inline
def is_pure(window_class: IntArray, rows: IntArray) -> bool:
    """Say whether all rows, given by their places in the window, are of one class."""
    y = window_class[rows[0]]
    i = 1
    while i < rows.shape[0] and window_class[rows[i]] == y:
        i += 1
    return i == rows.shape[0]


@compiled_inline
def split_rows(
    window: FloatArray, rows: IntArray, feature: int, threshold: float, moved: IntArray
) -> int:
    """Bring the rows that go left before the others; return how many these are.

    Either part stays in the order of time. `moved` is working space.
    """
    left = 0
    right = 0
    for i in range(rows.shape[0]):
        row = rows[i]
        goes_left = window[row, feature] <= threshold
        rows[left] = row
        moved[right] = row
        left += goes_left
        right += not goes_left
    for i in range(right):
        rows[left + i] = moved[i]
    return left


@compiled
def grow_nodes(
    state: ForestState, units: int, n_features: int, moved: IntArray, space: SplitSpace
) -> None:
    """Split nodes of the growing tree or make them leaves, until units are used up.

    `moved` (W,) is working space.
    """
    k = state.place[-1]
    seed = state.seed[0]
    tree = state.tree_number[k]
    clock = state.clock
    n_nodes = state.n_nodes
    window = state.window
    window_class = state.window_class
    window_weight = state.window_weight
    order = state.order
    node_first = state.node_first
    node_end = state.node_end
    node_depth = state.node_depth
    feature_of = state.feature
    threshold_of = state.threshold
    child = state.child
    n_leaves = state.n_leaves
    origin = state.origin
    slow_class = state.slow_class
    slow_count = state.slow_count
    slow_total = state.slow_total
    recent = state.recent
    fast_class = state.fast_class
    fast_count = state.fast_count
    fast_total = state.fast_total
    N = child.shape[1]
    R = window.shape[0]
    last = clock[START] - 1
    while units > 0 and clock[NEXT] < n_nodes[k]:
        node = clock[NEXT]
        clock[NEXT] += 1
        first = node_first[node]
        end = node_end[node]
        rows = order[first:end]
        m = end - first
        units -= 2 * m
        feature = -1
        if (
            node_depth[node] < MOST_DEPTH
            and n_nodes[k] + 2 <= N
            and not is_pure(window_class, rows)
        ):
            feature, threshold = choose_split(
                seed,
                tree,
                node,
                window,
                window_class,
                rows,
                n_features,
                THRESHOLDS,
                space,
            )
            units -= min(m, SAMPLED_ROWS) * n_features + 16 * THRESHOLDS + 256
            if feature >= 0:
                left = n_nodes[k]
                n_nodes[k] += 2
                feature_of[k, node] = feature
                threshold_of[k, node] = threshold
                child[k, node] = left
                middle = first + split_rows(window, rows, feature, threshold, moved)
                node_depth[left] = node_depth[node] + 1
                node_depth[left + 1] = node_depth[node] + 1
                node_first[left] = first
                node_end[left] = middle
                node_first[left + 1] = middle
                node_end[left + 1] = end
        if feature < 0:
            leaf = n_leaves[k]
            n_leaves[k] += 1
            child[k, node] = -1 - leaf
            slow_class[k, leaf] = -1
            slow_total[k, leaf] = 0.0
            recent[k, leaf] = -1
            origin[k, leaf] = leaf
            fast_class[k, leaf] = -1
            fast_total[k, leaf] = 0.0
            for i in range(m):
                at = rows[i]
                y = window_class[at]
                add_slow(
                    slow_class, slow_count, slow_total, k, leaf, y, window_weight[at]
                )
                add_fast(fast_class, fast_count, fast_total, k, leaf, y)
            for i in range(max(0, m - RECENT_ROWS), m):
                remember(recent, k, leaf, number_of(rows[i], last, R))


@compiled
def refine_leaves(
    state: ForestState, row: Workspace, moved: IntArray, space: SplitSpace
) -> None:
    """Split the leaves that a row surprised by their recent rows, where that can be.

    `moved` (8,) is working space.
    """
    seed = state.seed[0]
    window = state.window
    window_class = state.window_class
    window_weight = state.window_weight
    place = state.place
    tree_number = state.tree_number
    n_nodes = state.n_nodes
    n_leaves = state.n_leaves
    feature_of = state.feature
    threshold_of = state.threshold
    child = state.child
    origin = state.origin
    slow_class = state.slow_class
    slow_count = state.slow_count
    slow_total = state.slow_total
    recent = state.recent
    nodes = row.nodes
    leaves = row.leaves
    surprised = row.surprised
    depths = row.depths
    N = child.shape[1]
    R = window.shape[0]
    p = window.shape[1]
    last = state.clock[LEARNT] - 1
    oldest = max(0, last + 1 - R)
    n_features = min(REFINING_FEATURES, p)
    recent_rows = np.empty(RECENT_ROWS, np.int64)
    for j in range(surprised.shape[0]):
        k = place[j]
        if not surprised[j] or depths[j] >= DEEPEST or n_nodes[k] + 2 > N:
            continue
        node = nodes[j]
        leaf = leaves[j]
        n = 0
        for i in range(RECENT_ROWS - 1, -1, -1):
            if recent[k, leaf, i] >= oldest:
                recent_rows[n] = place_of(recent[k, leaf, i], last, R)
                n += 1
        rows = recent_rows[:n]
        if n < LEAST_REFINED or is_pure(window_class, rows):
            continue
        feature, threshold = choose_split(
            seed,
            tree_number[k],
            node,
            window,
            window_class,
            rows,
            n_features,
            REFINING_FEATURES,
            space,
        )
        if feature < 0:
            continue
        n_left = split_rows(window, rows, feature, threshold, moved)
        left = n_nodes[k]
        n_nodes[k] += 2
        other = n_leaves[k]
        n_leaves[k] += 1
        feature_of[k, node] = feature
        threshold_of[k, node] = threshold
        child[k, node] = left
        child[k, left] = -1 - leaf
        child[k, left + 1] = -1 - other
        origin[k, other] = origin[k, leaf]
        for part in (leaf, other):
            slow_class[k, part] = -1
            slow_total[k, part] = 0.0
            recent[k, part] = -1
        for i in range(n):
            at = rows[i]
            part = leaf if i < n_left else other
            y = window_class[at]
            add_slow(slow_class, slow_count, slow_total, k, part, y, window_weight[at])
            remember(recent, k, part, number_of(at, last, R))


@compiled
def start_tree(state: ForestState) -> None:
    """Start a tree from the last rows: how many is the next of the spans."""
    clock = state.clock
    R = state.window.shape[0]
    k = state.place[-1]
    learnt = clock[LEARNT]
    span = _SPANS[clock[GROWN] % _SPANS.shape[0]]
    n = min(min(learnt, span), state.order.shape[0])
    order = state.order
    at = (learnt - n) % R
    for i in range(n):
        order[i] = at
        at = at + 1 if at + 1 < R else 0
    state.node_first[0] = 0
    state.node_end[0] = n
    state.node_depth[0] = 0
    state.tree_number[k] = clock[GROWN]
    state.n_nodes[k] = 1
    state.n_leaves[k] = 0
    clock[GROWN] += 1
    clock[START] = learnt
    clock[DUE] = learnt + max(1, n // RENEWAL)
    clock[NEXT] = 0


@compiled
def finish_tree(state: ForestState) -> None:
    """Let the grown tree learn the rows since its start, and replace the weakest."""
    clock = state.clock
    place = state.place
    k = place[-1]
    learn_in_tree(state, k, state, clock[START], clock[LEARNT], False)
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
    older = 0
    for j in range(T):
        older += state.tree_number[place[j]] < state.tree_number[place[weakest]]
    if older >= T - NEWEST:
        clock[DUE] += clock[DUE] - clock[START]
    clock[START] = -1
    logs[0, weakest] = slow / T
    logs[1, weakest] = fast / T
    place[-1] = place[weakest]
    place[weakest] = k


@compiled
def grow(
    state: ForestState, units: int, n_features: int, moved: IntArray, space: SplitSpace
) -> None:
    """Do what one row pays for: `units` of work, and the rest of a node.

    To be called if a tree is growing or one is due.
    """
    clock = state.clock
    if clock[START] < 0:
        start_tree(state)
    grow_nodes(state, units, n_features, moved, space)
    if clock[NEXT] == state.n_nodes[state.place[-1]]:
        finish_tree(state)
