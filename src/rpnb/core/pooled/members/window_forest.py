"""A window forest: decision trees grown from the last rows, the worst one replaced.

Trees of random splits are grown from the last 250, 1,000 and 4,000 rows in turn. After
a drift, trees of long windows lose their weight and are replaced first; on a stationary
stream they stay. Leaves go on counting while a tree is in use. There are two outputs:
`forest_slow`, from all rows counted since a tree was grown, and `forest_fast`, from the
last few rows at each leaf.

The kernels are in `cpp/pooled/forest`: `leaves.h` says what leaves count and how scores
follow, `trees.h` how trees grow. `forest.state` says what is kept.

Missing values go to the right at each split. Row weights count in slow counts and in
the class frequencies; in the choice of splits, in fast counts and in the weights of
trees every row counts the same. Where p > 8,192 a window of rows would be too large,
and the forest reads `low`, their random projection to 32 dimensions, instead of `raw`.
"""

from typing import Final

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray, WordArray
from rpnb.core.pooled.member import Shape, arrange, learn_rows, score_rows
from rpnb.core.pooled.members.forest.state import (
    DUE,
    GROWN,
    LEARNED,
    START,
    TREES,
    ForestState,
    listed_classes,
)

__all__ = ["begin", "grow_classes", "learn_rows", "merge", "score_rows"]

OUTPUTS: Final = ("window_forest", "window_forest_fast")
MERGEABLE: Final = False
USES_SCALE: Final = False


def begin(shape: Shape, active: BoolArray, seed: int) -> ForestState:
    """Return a forest that has learned nothing: trees of one empty leaf each."""
    return ForestState.begin(shape, active, seed)


def grow_classes(
    state: ForestState, source: IntArray, active: BoolArray
) -> ForestState:
    """Return the forest with its classes rearranged; class m was source[m]."""
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

    return state._replace(
        active=active,
        class_weight=arrange(state.class_weight, source, 0.0),
        window_class=number[state.window_class],
        slow_class=listed(state.slow_class),
        slow_count=counted(state.slow_count),
        fast_class=listed(state.fast_class),
        fast_count=counted(state.fast_count),
    )


def merge(states: list[ForestState]) -> ForestState:
    """Return a forest of the best trees of several.

    The states give one tree each in turn, the one with the most weight first. Each tree
    then learns the windows of the other states, so that its leaves have counted all of
    them. The new window has the last rows of all states, in turn.
    """
    trees = [state.log_weight.sum(axis=0) for state in states]
    # −weight ascending is weight descending; a stable sort keeps ties in order.
    ranked = [np.argsort(-weights, kind="stable") for weights in trees]
    merged = ForestState(*states[0])
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
            merged.learn_window(j, other)
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


def _merge_windows(merged: ForestState, states: list[ForestState]) -> None:
    """Fill the window with the last rows of all states, and set the clock to it."""
    R = merged.window.shape[0]
    lengths = [min(int(state.clock[LEARNED]), R) for state in states]
    # Rows by age: the last of each state, then the last but one of each, …
    ages = [
        (age, -side) for side, length in enumerate(lengths) for age in range(length)
    ]
    newest = sorted(ages)[:R]
    for i, (age, side) in enumerate(reversed(newest)):
        source = states[-side]
        at = (int(source.clock[LEARNED]) - 1 - age) % R
        merged.window[i] = source.window[at]
        merged.window_class[i] = source.window_class[at]
        merged.window_weight[i] = source.window_weight[at]
    merged.clock[LEARNED] = len(newest)
    merged.clock[DUE] = len(newest) + 1
