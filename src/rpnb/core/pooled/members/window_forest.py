"""A member of the pool: decision trees grown from the last rows, soon replaced.

Trees of random splits are grown from the last 250, 1,000 and 4,000 rows in turn. After
a drift those of long windows lose their weight and go first; on a stationary stream
they stay. Leaves go on counting while a tree is in use. There are two outputs:
`forest_slow`, from all that was counted since a tree was grown, and `forest_fast`, from
the last few rows at each leaf.

`forest.state` says what is kept, `forest.trees` how trees grow,
`forest.leaves` what leaves count and how scores follow.

Missing values go to the right at each split. Row weights count in slow counts and in
the class frequencies; in the choice of splits, in fast counts and in the weights of
trees a row is a row. Where p > 8,192 a window of rows would be too large, and the
forest reads `low`, their random projection to 32 dimensions, in place of `raw`.
"""

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray, WordArray
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.pooled.member import MemberRows, Shape, arrange, copy_state
from rpnb.core.pooled.members.forest.leaves import (
    find_leaves,
    learn_in_tree,
    visit_leaves,
)
from rpnb.core.pooled.members.forest.state import (
    DUE,
    GROWN,
    LEARNT,
    RECENT_ROWS,
    START,
    TREES,
    ForestState,
    listed_classes,
    new_split_space,
    new_state,
    new_workspace,
    tried_features,
    units_per_row,
)
from rpnb.core.pooled.members.forest.trees import grow, refine_leaves

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
    S = listed_classes(M)

    def listed(classes: WordArray) -> WordArray:
        trees, leaves, before = classes.shape
        arranged = np.full((trees, leaves, S), -1, np.int32)
        arranged[:, :, :before] = number[classes]
        return arranged

    def counted(counts: FloatArray) -> FloatArray:
        trees, leaves, before = counts.shape
        arranged = np.zeros((trees, leaves, S))
        arranged[:, :, :before] = counts
        return arranged

    return copy_state(state)._replace(
        active=active.copy(),
        class_weight=arrange(state.class_weight, source, 0.0),
        window_class=number[state.window_class],
        slow_class=listed(state.slow_class),
        slow_count=counted(state.slow_count),
        fast_class=listed(state.fast_class),
        fast_count=counted(state.fast_count),
    )


def score_rows(state: ForestState, rows: MemberRows, scores: FloatArray) -> None:
    """Write the scores of each row into `scores` (n, 2, M)."""
    _score_rows(state, _read(state, rows), scores)


def learn_rows(
    state: ForestState,
    rows: MemberRows,
    y: IntArray,
    weight: FloatArray,
    scores: FloatArray,
) -> None:
    """Score each row, then learn it unless its class is −1, in order."""
    X = _read(state, rows)
    p = X.shape[1]
    units = units_per_row(p, state.order.shape[0])
    _learn_rows(state, X, y, weight, scores, units, tried_features(p))


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
    merged = copy_state(first)
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
            learnt = int(other.clock[LEARNT])
            first_kept = max(0, learnt - other.window.shape[0])
            learn_in_tree(merged, j, other, first_kept, learnt, True)
    merged.place[:] = np.arange(TREES + 1)
    merged.active[:] = np.any([state.active for state in states], axis=0)
    merged.class_weight[:] = sum(state.class_weight for state in states)
    merged.total_weight[:] = sum(state.total_weight for state in states)
    _merge_windows(merged, states)
    merged.recent[:] = -1
    merged.clock[GROWN] = sum(state.clock[GROWN] for state in states)
    merged.clock[START] = -1
    return merged


_TREE_ARRAYS = (
    "tree_number",
    "n_nodes",
    "n_leaves",
    "feature",
    "threshold",
    "child",
    "slow_class",
    "slow_count",
    "slow_total",
    "origin",
    "fast_class",
    "fast_count",
    "fast_total",
)


def _read(state: ForestState, rows: MemberRows) -> FloatArray:
    """Return the columns that the forest reads."""
    if state.window.shape[1] == rows.raw.shape[1]:
        return rows.raw
    return rows.low.astype(np.float64)


def _merge_windows(merged: ForestState, states: list[ForestState]) -> None:
    """Fill the window with the last rows of all states, and set the clock to it."""
    R = merged.window.shape[0]
    lengths = [min(int(state.clock[LEARNT]), R) for state in states]
    # Rows by age: the last of each state, then the last but one of each, …
    ages = [
        (age, -side) for side, length in enumerate(lengths) for age in range(length)
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
def _score_rows(state: ForestState, X: FloatArray, scores: FloatArray) -> None:
    space = new_workspace(TREES, scores.shape[2])
    n_active = int(np.count_nonzero(state.active))
    for i in range(X.shape[0]):
        find_leaves(state, X[i], space)
        visit_leaves(state, n_active, -1, 1.0, -1, space, scores[i])


@compiled
def _learn_rows(
    state: ForestState,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    scores: FloatArray,
    units: int,
    n_features: int,
) -> None:
    space = new_workspace(TREES, scores.shape[2])
    split_space = new_split_space(scores.shape[2], X.shape[1], n_features)
    moved = np.empty(state.order.shape[0] + RECENT_ROWS, np.int64)
    wanted = scores.shape[0] > 0
    unwanted = np.empty((2, scores.shape[2]))
    window = state.window
    window_class = state.window_class
    window_weight = state.window_weight
    class_weight = state.class_weight
    total_weight = state.total_weight
    R = window.shape[0]
    active = state.active
    clock = state.clock
    n_active = int(np.count_nonzero(active))
    for i in range(X.shape[0]):
        c = y[i]
        if not wanted and c < 0:
            continue
        number = clock[LEARNT]
        out = scores[i] if wanted else unwanted
        find_leaves(state, X[i], space)
        visit_leaves(state, n_active, c, weight[i], number, space, out)
        if c < 0:
            continue
        clock[LEARNT] += 1
        window[number % R] = X[i]
        window_class[number % R] = c
        window_weight[number % R] = weight[i]
        n_active += not active[c]
        active[c] = True
        class_weight[c] += weight[i]
        total_weight[0] += weight[i]
        if np.any(space.surprised):
            refine_leaves(state, space, moved, split_space)
        if clock[START] >= 0 or clock[LEARNT] >= clock[DUE]:
            grow(state, units, n_features, moved, split_space)
