"""Which class follows which: a Markov chain of labels; formulas: transitions.h."""

from typing import Final

import numpy as np

from rpnb._core.pooled import Transitions
from rpnb.core.kernels.arrays import BoolArray, IntArray
from rpnb.core.pooled.member import (
    Shape,
    arrange,
    copy_state,
    learn_rows,
    new_numbers,
    score_rows,
    signed_parts,
)

__all__ = ["Transitions", "begin", "grow_classes", "learn_rows", "merge", "score_rows"]

OUTPUTS: Final = ("transitions",)
MERGEABLE: Final = True
USES_SCALE: Final = False
SUMS: Final = ()


def begin(shape: Shape, active: BoolArray, seed: int) -> Transitions:
    """Return the initial state: no transitions."""
    return Transitions.begin(shape, active)


def grow_classes(
    state: Transitions, source: IntArray, active: BoolArray
) -> Transitions:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    rows = arrange(state.pairs, source, 0.0)
    numbers = new_numbers(source, state.class_weight.shape[0] + 1, -1)
    return Transitions(
        active.copy(),
        arrange(state.class_weight, source, 0.0),
        np.ascontiguousarray(arrange(rows.T, source, 0.0).T),
        numbers[state.last],
    )


def merge(states: list[Transitions], base: Transitions | None = None) -> Transitions:
    """Return the sums of several states, with those of `base` counted once."""
    merged = copy_state(states[0])
    for sign, part in signed_parts(states, base):
        merged.active[:] |= part.active
        merged.class_weight[:] += sign * part.class_weight
        merged.pairs[:] += sign * part.pairs
    return merged
