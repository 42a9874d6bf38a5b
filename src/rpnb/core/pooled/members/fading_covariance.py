"""Linear discriminants with a shared covariance that forgets.

The formulas are in fading_covariance.h; here states begin, grow and merge.
"""

from typing import Final

import numpy as np

from rpnb._core.covariances import FadingCovariance
from rpnb.core.kernels.arrays import BoolArray, IntArray
from rpnb.core.kernels.elementary import log
from rpnb.core.pooled.algebra.blocks import padded
from rpnb.core.pooled.member import (
    Shape,
    arrange,
    copy_state,
    learn_rows,
    score_rows,
)

__all__ = [
    "FadingCovariance",
    "begin",
    "chosen_columns",
    "grow_classes",
    "learn_rows",
    "merge",
    "score_rows",
]

OUTPUTS: Final = ("fading_covariance",)
MERGEABLE: Final = False
USES_SCALE: Final = True

#: Rows between two times of forgetting, which are kept.
GROUP: Final = 64


def chosen_columns(shape: Shape) -> IntArray:
    """Return the columns of φ that are used: features, some dense, some sparse ones."""
    return begin(shape, np.zeros(0, np.bool_), 0).columns


def begin(shape: Shape, active: BoolArray, seed: int) -> FadingCovariance:
    """Return the sums of no rows."""
    return FadingCovariance.begin(shape, active)


def grow_classes(
    state: FadingCovariance, source: IntArray, active: BoolArray
) -> FadingCovariance:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    M, E = source.shape[0], state.V.shape[0]
    C = padded(max(M, 1), 8)
    V, offset = np.zeros((E, C), np.float32), np.zeros(C, np.float32)
    V[:, :M] = arrange(state.V.T, source, 0.0).T
    offset[:M] = arrange(state.offset, source, 0.0)
    return state._replace(
        active=active,
        class_weight=arrange(state.class_weight, source, 0.0),
        log_count=arrange(state.log_count, source, log(0.5)),
        B=arrange(state.B, source, 0.0),
        V=V,
        offset=offset,
    )


def merge(states: list[FadingCovariance]) -> FadingCovariance:
    """Return the sum of what each state has left of its past."""
    parts = [copy_state(state) for state in states]
    merged = parts[0]
    for part in parts:
        part.settle()
    for part in parts[1:]:
        merged.active[:] |= part.active
        merged.class_weight[:] += part.class_weight
        merged.B[:] += part.B
        merged.A[:] += part.A
        merged.seen[:] += part.seen
    merged.log_count[:] = log(merged.class_weight + 0.5)
    merged.refresh()
    return merged
