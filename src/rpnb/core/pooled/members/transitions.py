"""Transitions: which class follows which. The formulas are in transitions.h."""

from typing import Final

import numpy as np

from rpnb._core.pooled import Transitions
from rpnb.core.kernels.arrays import BoolArray, IntArray
from rpnb.core.pooled.member import (
    Shape,
    arrange,
    copy_state,
    learn_rows,
    score_rows,
)

__all__ = ["Transitions", "begin", "grow_classes", "learn_rows", "merge", "score_rows"]

OUTPUTS: Final = ("transitions",)
MERGEABLE: Final = True
USES_SCALE: Final = False
SUMS: Final = ()


def begin(shape: Shape, active: BoolArray, seed: int) -> Transitions:
    """Return the counts of no rows."""
    return Transitions.begin(shape, active)


def grow_classes(
    state: Transitions, source: IntArray, active: BoolArray
) -> Transitions:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    rows = arrange(state.pairs, source, 0.0)
    number = np.full(state.class_weight.shape[0] + 1, -1)
    known = np.flatnonzero(source >= 0)
    number[source[known]] = known  # the last entry is for −1, no row
    last = number[state.last]
    return Transitions(
        active.copy(),
        arrange(state.class_weight, source, 0.0),
        np.ascontiguousarray(arrange(rows.T, source, 0.0).T),
        last,
    )


def merge(states: list[Transitions], base: Transitions | None = None) -> Transitions:
    """Return the sums of several states, less all but one times those of `base`."""
    merged = copy_state(states[0])
    parts = [(1.0, state) for state in states[1:]]
    if base is not None:
        parts += [(-1.0, base)] * (len(states) - 1)
    for sign, part in parts:
        merged.active[:] |= part.active
        merged.class_weight[:] += sign * part.class_weight
        merged.pairs[:] += sign * part.pairs
    return merged
