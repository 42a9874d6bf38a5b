"""One covariance per class; formulas: class_covariance.h."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rpnb._core.densities import ClassCovariance
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.pooled.member import (
    MemberRows,
    Shape,
    arrange,
    copy_state,
    learn_rows,
    score_rows,
    signed_parts,
    without_sums,
)

__all__ = [
    "ClassCovariance",
    "begin",
    "grow_classes",
    "learn_rows",
    "merge",
    "score_rows",
    "sum_rows",
]

OUTPUTS: Final = ("class_covariance",)
MERGEABLE: Final = True
USES_SCALE: Final = True
SUMS: Final = ("active", "class_weight", "mean", "scatter", "total", "weight", "seen")

#: Most classes that are scored for a row.
SCORED: Final = ClassCovariance.SCORED
# Classes handled at once.
_LANES: Final = 4


def begin(shape: Shape, active: BoolArray, seed: int) -> ClassCovariance:
    """Return the initial state."""
    return ClassCovariance.begin(shape, active)


def by_class(lanes: NDArray[Any], M: int) -> NDArray[Any]:
    """Return (M, size) from groups of four classes (G, size, 4)."""
    G, size, _ = lanes.shape
    return lanes.transpose(0, 2, 1).reshape(G * _LANES, size)[:M]


def _by_lane(classes: NDArray[Any]) -> NDArray[Any]:
    """Return (G, size, 4) from (M, size); lanes without a class are zero."""
    M, size = classes.shape
    G = -(-M // _LANES)
    filled = np.zeros((G * _LANES, size))
    filled[:M] = classes
    lanes = filled.reshape(G, _LANES, size).transpose(0, 2, 1)
    return np.ascontiguousarray(lanes)


def grow_classes(
    state: ClassCovariance, source: IntArray, active: BoolArray
) -> ClassCovariance:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    M = state.class_weight.shape[0]
    grown = state._replace(
        active=active,
        class_weight=arrange(state.class_weight, source, 0.0),
        mean=_by_lane(arrange(by_class(state.mean, M), source, 0.0)),
        scatter=arrange(state.scatter, source, 0.0),
        inverse=_by_lane(arrange(by_class(state.inverse, M), source, 0.0)),
        log_volume=arrange(state.log_volume, source, 0.0),
        constant=arrange(state.constant, source, 0.0),
        spread=np.zeros(source.shape[0]),
    )
    grown.begin_classes(np.flatnonzero(source < 0))
    return grown


def merge(
    states: list[ClassCovariance], base: ClassCovariance | None = None
) -> ClassCovariance:
    """Return the moments of several states, with those of `base` counted once."""
    merged = copy_state(states[0])
    M, d = merged.class_weight.shape[0], merged.mean.shape[1]
    mean = by_class(merged.mean, M).copy()
    rows, columns = np.tril_indices(d)
    for sign, part in signed_parts(states, base):
        count = merged.class_weight + sign * part.class_weight
        share = part.class_weight / np.where(count > 0.0, count, 1.0)
        delta = by_class(part.mean, M) - mean
        outer = delta[:, rows] * delta[:, columns]
        between = (sign * merged.class_weight * share)[:, None] * outer
        merged.scatter[:] += sign * part.scatter + between
        mean += (sign * share)[:, None] * delta
        merged.class_weight[:] = count
        merged.total[:] += sign * part.total
        merged.weight[:] += sign * part.weight
        merged.seen[:] += int(sign) * part.seen
        merged.active[:] |= part.active
    merged.mean[:] = _by_lane(mean)
    merged.refresh()
    return merged


def sum_rows(
    state: ClassCovariance, rows: MemberRows, y: IntArray, weight: FloatArray
) -> ClassCovariance:
    """Return a state with the moments of these rows only."""
    part = without_sums(state, SUMS)
    part.refresh()
    learn_rows(part, rows, y, weight, np.zeros((0, 1, state.active.shape[0])))
    return part
