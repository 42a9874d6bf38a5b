"""Decision trees grown from a sliding window; the worst one is replaced.

Trees and their state are described in `cpp/pooled/forest/window_forest.h`. There are
two outputs: `window_forest`, from all rows counted since a tree was grown, and
`window_forest_fast`, from the last few rows at each leaf.
"""

from typing import Final

import numpy as np

from rpnb._core.forest import (
    DUE,
    GROWN,
    LEARNED,
    START,
    TREES,
    WindowForest,
    listed_classes,
)
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray, WordArray
from rpnb.core.pooled.member import (
    Shape,
    arrange,
    learn_rows,
    new_numbers,
    score_rows,
)

__all__ = [
    "WindowForest",
    "begin",
    "grow_classes",
    "learn_rows",
    "merge",
    "score_rows",
]

OUTPUTS: Final = ("window_forest", "window_forest_fast")
MERGEABLE: Final = False
USES_SCALE: Final = False


def begin(shape: Shape, active: BoolArray, seed: int) -> WindowForest:
    """Return the initial state: trees of one empty leaf each."""
    return WindowForest.begin(shape, active, seed)


def grow_classes(
    state: WindowForest, source: IntArray, active: BoolArray
) -> WindowForest:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    M = source.shape[0]
    numbers = new_numbers(source, state.active.shape[0] + 1, -1)
    S = listed_classes(M)

    def listed(classes: WordArray) -> WordArray:
        trees, leaves, before = classes.shape
        arranged = np.full((trees, leaves, S), -1, np.int32)
        arranged[:, :, :before] = numbers[classes]
        return arranged

    def counted(counts: FloatArray) -> FloatArray:
        trees, leaves, before = counts.shape
        arranged = np.zeros((trees, leaves, S))
        arranged[:, :, :before] = counts
        return arranged

    return state._replace(
        active=active,
        class_weight=arrange(state.class_weight, source, 0.0),
        window_class=numbers[state.window_class],
        slow_class=listed(state.slow_class),
        slow_count=counted(state.slow_count),
        fast_class=listed(state.fast_class),
        fast_count=counted(state.fast_count),
    )


def merge(states: list[WindowForest]) -> WindowForest:
    """Return a forest of the best trees of several.

    Each state contributes one tree in turn, in order of weight. Each tree then learns
    the windows of the other states, so that its leaves have counted all of them. The
    new window holds the last rows of all states, taken in turn.
    """
    trees = [state.log_weight.sum(axis=0) for state in states]
    # Descending by weight; a stable sort keeps ties in order.
    ranked = [np.argsort(-weights, kind="stable") for weights in trees]
    merged = WindowForest(*states[0])
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


def _merge_windows(merged: WindowForest, states: list[WindowForest]) -> None:
    """Fill the window with the last rows of all states, and set the clock to it."""
    R = merged.window.shape[0]
    lengths = [min(int(state.clock[LEARNED]), R) for state in states]
    # By age: the last row of each state, then the last but one of each, and so on.
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
