"""Linear discriminants with a shared covariance on rectified random projections.

The formulas are in shared_covariance.h; here states begin, grow and merge.
"""

from typing import Final

import numpy as np

from rpnb._core.covariances import SharedCovariance
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.kernels.elementary import log
from rpnb.core.pooled.algebra.blocks import padded
from rpnb.core.pooled.member import (
    MemberRows,
    Shape,
    arrange,
    copy_state,
    learn_rows,
    score_rows,
    without_sums,
)

__all__ = [
    "SharedCovariance",
    "begin",
    "grow_classes",
    "learn_rows",
    "merge",
    "score_rows",
    "sum_rows",
]

OUTPUTS: Final = ("shared_covariance",)
MERGEABLE: Final = True
USES_SCALE: Final = True
SUMS: Final = ("active", "class_weight", "B", "A", "pending", "seen")

#: Rows kept at most.
FIRST: Final = 256


def begin(shape: Shape, active: BoolArray, seed: int) -> SharedCovariance:
    """Return the sums of no rows."""
    return SharedCovariance.begin(shape, active)


def grow_classes(
    state: SharedCovariance, source: IntArray, active: BoolArray
) -> SharedCovariance:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    M, E = source.shape[0], state.V.shape[0]
    C = padded(max(M, 1), 8)
    V, offset = np.zeros((E, C), np.float32), np.zeros(C, np.float32)
    V[:, :M] = arrange(state.V.T, source, 0.0).T
    offset[:M] = arrange(state.offset, source, 0.0)
    known = np.flatnonzero(source >= 0)
    target = np.full(state.class_weight.shape[0], -1)
    target[source[known]] = known
    return state._replace(
        active=active,
        class_weight=arrange(state.class_weight, source, 0.0),
        log_count=arrange(state.log_count, source, log(0.5)),
        B=arrange(state.B, source, 0.0),
        V=V,
        offset=offset,
        labels=target[state.labels] if target.shape[0] > 0 else state.labels,
    )


def merge(
    states: list[SharedCovariance], base: SharedCovariance | None = None
) -> SharedCovariance:
    """Return the sums of several states, less (all but one) times those of `base`."""
    merged = copy_state(states[0])
    merged.settle()
    parts = [(1.0, state) for state in states[1:]]
    if base is not None:
        parts += [(-1.0, base)] * (len(states) - 1)
    for sign, state in parts:
        part = copy_state(state)
        part.settle()
        merged.active[:] |= part.active
        merged.class_weight[:] += sign * part.class_weight
        merged.B[:] += sign * part.B
        merged.A[:] += sign * part.A
        merged.seen[:] += int(sign) * part.seen
    merged.refresh_all()
    return merged


def sum_rows(
    state: SharedCovariance, rows: MemberRows, y: IntArray, weight: FloatArray
) -> SharedCovariance:
    """Return the sums over rows alone, which are added to A in groups of 128."""
    part = without_sums(state, SUMS)
    part.sum_rows(rows.phi, y, weight)
    return part
