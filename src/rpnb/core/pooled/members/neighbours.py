"""Nearest neighbours among the last 500 rows. The formula is in nearest.h."""

from typing import Final

import numpy as np

from rpnb._core.densities import Neighbours
from rpnb.core.kernels.arrays import BoolArray, IntArray
from rpnb.core.pooled.member import (
    Shape,
    arrange,
    copy_state,
    learn_rows,
    score_rows,
)

__all__ = ["Neighbours", "begin", "grow_classes", "learn_rows", "merge", "score_rows"]

OUTPUTS: Final = ("neighbours",)
MERGEABLE: Final = False
USES_SCALE: Final = True

#: Rows kept.
ROWS: Final = Neighbours.ROWS


def begin(shape: Shape, active: BoolArray, seed: int) -> Neighbours:
    """Return an empty ring."""
    return Neighbours.begin(shape, active)


def grow_classes(state: Neighbours, source: IntArray, active: BoolArray) -> Neighbours:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    known = np.flatnonzero(source >= 0)
    target = np.zeros(max(state.class_weight.shape[0], 1), np.int64)
    target[source[known]] = known
    return state._replace(
        active=active,
        class_weight=arrange(state.class_weight, source, 0.0),
        labels=target[state.labels],
    )


def merge(states: list[Neighbours]) -> Neighbours:
    """Return a ring of the latest rows of all states, taken in turns.

    The states are assumed to have learned in parallel: the merged ring keeps as many of
    the latest rows of each, older ones first.
    """
    merged = copy_state(states[0])
    latest: list[tuple[Neighbours, int]] = []
    orders = [_slots_by_age(state) for state in states]
    depth = max(len(order) for order in orders)
    for back in range(depth, 0, -1):
        latest += [
            (state, order[-back])
            for state, order in zip(states, orders, strict=True)
            if back <= len(order)
        ]
    for state in states[1:]:
        merged.active[:] |= state.active
        merged.class_weight[:] += state.class_weight
    merged.seen[0] = 0
    for state, slot in latest[-ROWS:]:
        to = int(merged.seen[0])
        merged.rows[:, to] = state.rows[:, slot]
        merged.labels[to] = state.labels[slot]
        merged.weight[to] = state.weight[slot]
        merged.seen[0] += 1
    return merged


def _slots_by_age(state: Neighbours) -> list[int]:
    seen = int(state.seen[0])
    return [t % ROWS for t in range(max(seen - ROWS, 0), seen)]
