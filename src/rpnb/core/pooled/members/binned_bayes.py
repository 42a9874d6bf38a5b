"""Naive Bayes on binned features; formulas: binned_bayes.h."""

from typing import Final

import numpy as np

from rpnb._core.pooled import BinnedBayes
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.kernels.elementary import log
from rpnb.core.pooled.member import (
    MemberRows,
    Shape,
    arrange,
    copy_state,
    learn_rows,
    padded,
    score_rows,
    signed_parts,
    without_sums,
)

__all__ = [
    "BinnedBayes",
    "begin",
    "grow_classes",
    "learn_rows",
    "merge",
    "score_rows",
    "sum_rows",
]

OUTPUTS: Final = ("binned_bayes",)
MERGEABLE: Final = True
USES_SCALE: Final = True
SUMS: Final = ("active", "class_weight", "bins")

BINS: Final = 16
#: Weight of the prior of a feature, spread over its bins.
PRIOR: Final = 2.0


def begin(shape: Shape, active: BoolArray, seed: int) -> BinnedBayes:
    """Return the initial state: empty bins."""
    return BinnedBayes.begin(shape, active)


def grow_classes(
    state: BinnedBayes, source: IntArray, active: BoolArray
) -> BinnedBayes:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    M = source.shape[0]
    p = state.bins.shape[0]
    C = padded(max(M, 1), 8)
    bins = np.zeros((p, BINS, C), np.float32)
    logs = np.full((p, BINS, C), log(PRIOR / BINS), np.float32)
    known = np.flatnonzero(source >= 0)
    bins[:, :, known] = state.bins[:, :, source[known]]
    logs[:, :, known] = state.logs[:, :, source[known]]
    return BinnedBayes(
        active.copy(),
        arrange(state.class_weight, source, 0.0),
        bins,
        logs,
        arrange(state.log_class, source, 0.0),
        arrange(state.log_bins, source, log(2.0)),
    )


def merge(states: list[BinnedBayes], base: BinnedBayes | None = None) -> BinnedBayes:
    """Return the sums of several states, with those of `base` counted once."""
    merged = copy_state(states[0])
    for sign, part in signed_parts(states, base):
        merged.active[:] |= part.active
        merged.class_weight[:] += sign * part.class_weight
        merged.bins[:] += np.float32(sign) * part.bins
    merged.derive()
    return merged


def sum_rows(
    state: BinnedBayes, rows: MemberRows, y: IntArray, weight: FloatArray
) -> BinnedBayes:
    """Return a state with the counts of these rows only."""
    part = without_sums(state, SUMS)
    learn_rows(part, rows, y, weight, np.zeros((0, 1, state.active.shape[0])))
    return part
