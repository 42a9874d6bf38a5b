"""Neighbours by selected features. The formulas are in selected_neighbours.h."""

from typing import Final

import numpy as np

from rpnb._core.densities import SelectedNeighbours
from rpnb.core.kernels.arrays import BoolArray, IntArray
from rpnb.core.pooled.member import (
    Shape,
    arrange,
    copy_state,
    learn_rows,
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

#: It is a member where rows have more features than these.
MANY_FEATURES: Final = 32
#: Rows kept, at most.
ROWS: Final = SelectedNeighbours.ROWS
#: Features selected, at most.
MOST: Final = SelectedNeighbours.MOST
#: Bins of a feature.
BINS: Final = SelectedNeighbours.BINS
#: Pairs of a feature and a class, at most.
MOST_PAIRS: Final = SelectedNeighbours.MOST_PAIRS


def rows_kept(p: int) -> int:
    """Return R, the number of rows kept, for rows of p features."""
    return SelectedNeighbours.rows_kept(p)


def begin(shape: Shape, active: BoolArray, seed: int) -> SelectedNeighbours:
    """Return a state that has learned nothing."""
    return SelectedNeighbours.begin(shape, active)


def grow_classes(
    state: SelectedNeighbours, source: IntArray, active: BoolArray
) -> SelectedNeighbours:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    known = np.flatnonzero(source >= 0)
    target = np.zeros(max(state.class_weight.shape[0], 1), np.int64)
    target[source[known]] = known
    p = state.counts.shape[0]
    counts = np.ascontiguousarray(
        arrange(state.counts.transpose(2, 0, 1), source, 0.0).transpose(1, 2, 0)
    )
    grown = state._replace(
        active=active,
        class_weight=arrange(state.class_weight, source, 0.0),
        counts=counts,
        labels=target[state.labels],
    )
    if p * source.shape[0] > MOST_PAIRS:
        grown.chosen[:] = -1
        return grown._replace(
            counts=np.zeros((0, BINS, source.shape[0])),
            rows=np.zeros((state.rows.shape[0], 0), np.float32),
        )
    return grown


def merge(states: list[SelectedNeighbours]) -> SelectedNeighbours:
    """Return sums of the counts, and the latest rows of all states, taken in turns."""
    merged = copy_state(states[0])
    R = merged.rows.shape[0]
    for state in states[1:]:
        merged.active[:] |= state.active
        merged.class_weight[:] += state.class_weight
        merged.counts[:] += state.counts
    lengths = [min(int(state.clock[0]), R) for state in states]
    # By age: the last row of each state, then the last but one of each, …
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
