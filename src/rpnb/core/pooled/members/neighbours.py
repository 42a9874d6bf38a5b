"""Nearest neighbours among the last 500 rows; formula: nearest.h."""

from typing import Final

from rpnb._core.densities import Neighbours
from rpnb.core.kernels.arrays import BoolArray, IntArray
from rpnb.core.pooled.member import (
    Shape,
    arrange,
    copy_state,
    learn_rows,
    new_numbers,
    score_rows,
)

__all__ = ["Neighbours", "begin", "grow_classes", "learn_rows", "merge", "score_rows"]

OUTPUTS: Final = ("neighbours",)
MERGEABLE: Final = False
USES_SCALE: Final = True

#: Rows kept.
ROWS: Final = Neighbours.ROWS


def begin(shape: Shape, active: BoolArray, seed: int) -> Neighbours:
    """Return the initial state: an empty ring of rows."""
    return Neighbours.begin(shape, active)


def grow_classes(state: Neighbours, source: IntArray, active: BoolArray) -> Neighbours:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    numbers = new_numbers(source, max(state.class_weight.shape[0], 1), 0)
    return state._replace(
        active=active,
        class_weight=arrange(state.class_weight, source, 0.0),
        labels=numbers[state.labels],
    )


def merge(states: list[Neighbours]) -> Neighbours:
    """Return a ring with the latest rows of all states, taken in turn.

    The states are assumed to have learned in parallel: the ring keeps equally many of
    the latest rows of each, in order of age.
    """
    merged = copy_state(states[0])
    latest: list[tuple[Neighbours, int]] = []
    orders = [_slots_by_age(state) for state in states]
    depth = max(len(order) for order in orders)
    for age in range(depth, 0, -1):
        latest += [
            (state, order[-age])
            for state, order in zip(states, orders, strict=True)
            if age <= len(order)
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
    """Return the slots in use, that of the oldest row first."""
    seen = int(state.seen[0])
    return [t % ROWS for t in range(max(seen - ROWS, 0), seen)]
