"""A member of the pool: decision trees grown from the last rows, soon replaced.

Trees of random splits are grown from the last 250, 1,000 and 4,000 rows in turn. After
a drift those of long windows lose their weight and go first; on a stationary stream
they stay. Leaves go on counting while a tree is in use. There are two outputs:
`forest_slow`, from all that was counted since a tree was grown, and `forest_fast`, from
the last few rows at each leaf.

`window_forest_state` says what is kept, `window_trees` how trees grow,
`window_leaves` what leaves count and how scores follow.

Missing values go to the right at each split. Row weights count in the leaves and in the
class frequencies; in the choice of splits, in fast counts and in the weights of trees a
row is a row. Where rows are too wide to be kept (`raw` has no columns), there is no
forest, and both outputs are log π_c up to their floor.
"""

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.kernels.compiled import compiled
from rpnb.core.pooled.member import MemberRows, Shape, arrange
from rpnb.core.pooled.window_forest_state import (
    DUE,
    GROWN,
    LEARNT,
    START,
    TREES,
    ForestState,
    listed_classes,
    new_state,
    tried_features,
    units_per_row,
    words_per_node,
)
from rpnb.core.pooled.window_leaves import (
    add_to_leaf,
    find_leaf,
    find_leaves,
    learn_at_leaves,
    score_leaves,
)
from rpnb.core.pooled.window_trees import grow

OUTPUTS = ("forest_slow", "forest_fast")
MERGEABLE = False
USES_SCALE = False


def begin(shape: Shape, active: BoolArray, seed: int) -> ForestState:
    """Return the forest that has learnt nothing."""
    return new_state(shape, active, seed)


def grow_classes(
    state: ForestState, source: IntArray, active: BoolArray
) -> ForestState:
    """Return the forest with its classes arranged anew; class m was source[m]."""
    M = source.shape[0]
    number = np.full(state.active.shape[0] + 1, -1, np.int64)
    known = np.flatnonzero(source >= 0)
    number[source[known]] = known  # the last entry is for −1, no class
    trees, leaves, listed = state.leaf_class.shape
    S = listed_classes(M)
    leaf_class = np.full((trees, leaves, S), -1, np.int32)
    leaf_class[:, :, :listed] = number[state.leaf_class]
    leaf_count = np.zeros((trees, leaves, 2, S))
    leaf_count[..., :listed] = state.leaf_count
    copies = {name: array.copy() for name, array in state._asdict().items()}
    return ForestState(**copies)._replace(
        active=active.copy(),
        class_weight=arrange(state.class_weight, source, 0.0),
        window_class=number[state.window_class],
        leaf_class=leaf_class,
        leaf_count=leaf_count,
    )


def score_rows(state: ForestState, rows: MemberRows, scores: FloatArray) -> None:
    """Write the scores of each row into `scores` (n, 2, M)."""
    _score_rows(state, _kept_columns(state, rows), scores)


def learn_rows(
    state: ForestState,
    rows: MemberRows,
    y: IntArray,
    weight: FloatArray,
    scores: FloatArray,
) -> None:
    """Score each row, then learn it unless its class is −1, in order."""
    X = _kept_columns(state, rows)
    p = X.shape[1]
    units = units_per_row(p, state.order.shape[0]) if p > 0 else 0
    _learn_rows(
        state, X, y, weight, scores, units, tried_features(p), words_per_node(p)
    )


def merge(states: list[ForestState]) -> ForestState:
    """Return a forest of the best trees of several.

    The states give a tree each in turn, the one with most weight first. Each tree then
    learns the windows of the other states, so that its leaves have counted all of them.
    The new window has the last rows of all, in turn.
    """
    first = states[0]
    trees = [state.log_weight.sum(axis=0) for state in states]
    # −weight ascending is weight descending; a stable sort keeps ties in order.
    ranked = [np.argsort(-weights, kind="stable") for weights in trees]
    merged = ForestState(*(array.copy() for array in first))
    for j in range(TREES):
        side = j % len(states)
        tree = ranked[side][j // len(states)]
        source = states[side]
        k = source.place[tree]
        for name in _TREE_ARRAYS:
            getattr(merged, name)[j] = getattr(source, name)[k]
        centre = source.log_weight.mean(axis=1)
        merged.log_weight[:, j] = source.log_weight[:, tree] - centre
        for other in (*states[:side], *states[side + 1 :]):
            _learn_window(merged, j, other)
    merged.place[:] = np.arange(TREES + 1)
    merged.active[:] = np.any([state.active for state in states], axis=0)
    merged.class_weight[:] = sum(state.class_weight for state in states)
    merged.total_weight[:] = sum(state.total_weight for state in states)
    _merge_windows(merged, states)
    merged.clock[GROWN] = sum(state.clock[GROWN] for state in states)
    merged.clock[START] = -1
    return merged


_TREE_ARRAYS = (
    "feature",
    "threshold",
    "child",
    "leaf_class",
    "leaf_count",
    "leaf_total",
)


def _kept_columns(state: ForestState, rows: MemberRows) -> FloatArray:
    """Return the rows as the forest reads them; without columns if they are not kept."""
    n = rows.raw.shape[0]
    return rows.raw if rows.raw.shape[1] == state.window.shape[1] else np.empty((n, 0))


def _merge_windows(merged: ForestState, states: list[ForestState]) -> None:
    """Fill the window with the last rows of all states, and set the clock to it."""
    R = merged.window.shape[0]
    lengths = [min(int(state.clock[LEARNT]), R) for state in states]
    # Rows by age: the last of each state, then the last but one of each, …
    ages = [
        (age, -side)
        for side, length in enumerate(lengths)
        for age in range(length)
    ]
    newest = sorted(ages)[:R]
    for i, (age, side) in enumerate(reversed(newest)):
        source = states[-side]
        at = (int(source.clock[LEARNT]) - 1 - age) % R
        merged.window[i] = source.window[at]
        merged.window_class[i] = source.window_class[at]
        merged.window_weight[i] = source.window_weight[at]
    merged.clock[LEARNT] = len(newest)
    merged.clock[DUE] = len(newest) + 1


@compiled
def _learn_window(state: ForestState, k: int, other: ForestState) -> None:
    """Let the tree at place k learn the rows in the window of another forest."""
    R = other.window.shape[0]
    learnt = other.clock[LEARNT]
    for i in range(max(0, learnt - R), learnt):
        at = i % R
        leaf = find_leaf(
            state.feature, state.threshold, state.child, k, other.window[at]
        )
        add_to_leaf(
            state.leaf_class,
            state.leaf_count,
            state.leaf_total,
            k,
            leaf,
            other.window_class[at],
            other.window_weight[at],
        )


@compiled
def _score_rows(state: ForestState, X: FloatArray, scores: FloatArray) -> None:
    T = TREES
    leaves = np.empty(T, np.int64)
    weights = np.empty(T)
    powers = np.empty(T, np.int64)
    power = np.empty(scores.shape[2], np.int32)
    n_active = np.sum(state.active)
    for i in range(X.shape[0]):
        find_leaves(state, X[i], leaves)
        score_leaves(state, leaves, n_active, weights, power, powers, scores[i])


@compiled
def _learn_rows(
    state: ForestState,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    scores: FloatArray,
    units: int,
    n_features: int,
    n_words: int,
) -> None:
    T = TREES
    leaves = np.empty(T, np.int64)
    weights = np.empty(T)
    powers = np.empty(T, np.int64)
    power = np.empty(scores.shape[2], np.int32)
    logs = np.empty(2 * T)
    log_power = np.empty(2 * T, np.int32)
    features = np.arange(X.shape[1])
    counters = np.empty((4, (n_words + 3) // 4), np.uint64)
    local = np.full(scores.shape[2], -1, np.int64)
    moved = np.empty(state.order.shape[0], np.int64)
    wanted = scores.shape[0] > 0
    R = state.window.shape[0]
    clock = state.clock
    n_active = np.sum(state.active)
    for i in range(X.shape[0]):
        c = y[i]
        if not wanted and c < 0:
            continue
        find_leaves(state, X[i], leaves)
        if wanted:
            score_leaves(state, leaves, n_active, weights, power, powers, scores[i])
        if c < 0:
            continue
        w = weight[i]
        n_active += not state.active[c]
        state.active[c] = True
        learn_at_leaves(state, leaves, n_active, c, w, logs, log_power)
        state.class_weight[c] += w
        state.total_weight[0] += w
        at = clock[LEARNT] % R
        state.window[at] = X[i]
        state.window_class[at] = c
        state.window_weight[at] = w
        clock[LEARNT] += 1
        if units > 0:
            grow(state, units, features, n_features, counters, local, moved)
