"""Neighbours by selected features; formulas: selected_neighbours.h."""

from typing import Final

import numpy as np

from rpnb._core.densities import SelectedNeighbours
from rpnb.core.kernels.arrays import BoolArray, IntArray
from rpnb.core.pooled.member import (
    Shape,
    arrange,
    copy_state,
    learn_rows,
    new_numbers,
    score_rows,
)

__all__ = [
    "SelectedNeighbours",
    "begin",
    "grow_classes",
    "learn_rows",
    "merge",
    "rows_kept",
    "score_rows",
]

OUTPUTS: Final = ("selected_neighbours",)
MERGEABLE: Final = False
USES_SCALE: Final = True

#: The member is used for rows with more features than this.
MANY_FEATURES: Final = 32
#: Most rows that are kept.
ROWS: Final = SelectedNeighbours.ROWS
#: Most features that are selected.
MOST: Final = SelectedNeighbours.MOST
#: Bins of a feature.
BINS: Final = SelectedNeighbours.BINS
#: Most pairs of a feature and a class.
MOST_PAIRS: Final = SelectedNeighbours.MOST_PAIRS


def rows_kept(p: int) -> int:
    """Return the number R of rows kept, for p features."""
    return SelectedNeighbours.rows_kept(p)


def begin(shape: Shape, active: BoolArray, seed: int) -> SelectedNeighbours:
    """Return the initial state."""
    return SelectedNeighbours.begin(shape, active)


def grow_classes(
    state: SelectedNeighbours, source: IntArray, active: BoolArray
) -> SelectedNeighbours:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    numbers = new_numbers(source, max(state.class_weight.shape[0], 1), 0)
    p = state.counts.shape[0]
    counts = np.ascontiguousarray(
        arrange(state.counts.transpose(2, 0, 1), source, 0.0).transpose(1, 2, 0)
    )
    grown = state._replace(
        active=active,
        class_weight=arrange(state.class_weight, source, 0.0),
        counts=counts,
        labels=numbers[state.labels],
    )
    if p * source.shape[0] > MOST_PAIRS:
        grown.chosen[:] = -1
        return grown._replace(
            counts=np.zeros((0, BINS, source.shape[0])),
            rows=np.zeros((state.rows.shape[0], 0), np.float32),
        )
    return grown


def merge(states: list[SelectedNeighbours]) -> SelectedNeighbours:
    """Return summed counts, and the latest rows of all states, taken in turn."""
    merged = copy_state(states[0])
    R = merged.rows.shape[0]
    for state in states[1:]:
        merged.active[:] |= state.active
        merged.class_weight[:] += state.class_weight
        merged.counts[:] += state.counts
    lengths = [min(int(state.clock[0]), R) for state in states]
    # By age: the last row of each state, then the second to last of each, and so on.
    ages = [(age, side) for side, n in enumerate(lengths) for age in range(n)]
    latest = sorted(ages)[:R]
    for to, (age, side) in enumerate(reversed(latest)):
        source = states[side]
        slot = (int(source.clock[0]) - 1 - age) % R
        merged.rows[to] = source.rows[slot]
        merged.labels[to] = source.labels[slot]
        merged.weight[to] = source.weight[slot]
    merged.clock[0] = len(latest)
    merged.select()
    return merged
