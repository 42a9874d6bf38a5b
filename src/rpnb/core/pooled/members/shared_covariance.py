"""Linear discriminants with a shared covariance on rectified random projections.

Formulas: shared_covariance.h.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rpnb._core.covariances import FadingCovariance, SharedCovariance
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.kernels.elementary import log
from rpnb.core.pooled.member import (
    MemberRows,
    Shape,
    arrange,
    copy_state,
    learn_rows,
    new_numbers,
    padded,
    score_rows,
    signed_parts,
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

#: Most rows that are kept.
FIRST: Final = 256


def begin(shape: Shape, active: BoolArray, seed: int) -> SharedCovariance:
    """Return the initial state: empty sums."""
    return SharedCovariance.begin(shape, active)


def grow_classes(
    state: SharedCovariance, source: IntArray, active: BoolArray
) -> SharedCovariance:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    M = state.class_weight.shape[0]
    numbers = new_numbers(source, M, -1)
    return state._replace(
        active=active,
        labels=numbers[state.labels] if M > 0 else state.labels,
        **arrange_discriminants(state, source),
    )


def arrange_discriminants(
    state: SharedCovariance | FadingCovariance, source: IntArray
) -> dict[str, NDArray[Any]]:
    """Return the sums and discriminants of classes `source`; 0 for new ones."""
    M, E = source.shape[0], state.V.shape[0]
    C = padded(max(M, 1), 8)
    V, offset = np.zeros((E, C), np.float32), np.zeros(C, np.float32)
    V[:, :M] = arrange(state.V.T, source, 0.0).T
    offset[:M] = arrange(state.offset, source, 0.0)
    return {
        "class_weight": arrange(state.class_weight, source, 0.0),
        "log_count": arrange(state.log_count, source, log(0.5)),
        "B": arrange(state.B, source, 0.0),
        "V": V,
        "offset": offset,
    }


def merge(
    states: list[SharedCovariance], base: SharedCovariance | None = None
) -> SharedCovariance:
    """Return the sums of several states, with those of `base` counted once."""
    merged = copy_state(states[0])
    merged.settle()
    for sign, state in signed_parts(states, base):
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
    """Return a state with the sums of these rows only."""
    part = without_sums(state, SUMS)
    part.sum_rows(rows.phi, y, weight)
    return part
