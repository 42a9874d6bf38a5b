r"""Naive Bayes on binned features.

Each scaled feature falls into one of 16 bins, which a normal feature would fill
equally: bin v holds z_j with v of the 15 normal quantiles i/16 below it. With
C[j, v, c] the weight of the rows of class c in bin v of feature j, and p' the number of
features that are not missing,

.. math:: \mathrm{score}_c = \log(n_c + 1) - p' \log(n_c + 2)
          + Σ_j \log(C[j, v_j, c] + 2/16)

that is the class's frequency times the product of its bin frequencies, each with a
Dirichlet prior of 2 rows (Yang & Webb, "Discretization for naive-Bayes learning", 2009,
on why few bins of equal frequency do). A missing value is left out of the product.

The member is for up to 10⁶ pairs of feature and class; with more it gives the class
frequencies only.
"""

from math import log
from typing import Final, NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    SingleArray,
    WordArray,
)
from rpnb.core.kernels.compiling.compiled import (
    compiled,
    compiled_borrowing,
    compiled_borrowing_inline,
)
from rpnb.core.pooled.algebra.blocks import padded
from rpnb.core.pooled.member import (
    MemberRows,
    Shape,
    arrange,
    copy_state,
    without_sums,
)

OUTPUTS: Final = ("binned_bayes",)
MERGEABLE: Final = True
USES_SCALE: Final = True
SUMS: Final = ("active", "class_weight", "bins")

BINS: Final = 16
#: Weight of the prior, spread over the bins of a feature.
PRIOR: Final = 2.0
#: Pairs of feature and class up to which bins are counted.
MOST_PAIRS: Final = 1_000_000
#: The normal quantiles of 1/16 … 15/16, in single precision.
QUANTILES: Final = np.array(
    [
        -1.5341206, -1.1503494, -0.8871466, -0.6744898, -0.4887764, -0.3186394,
        -0.1573107, 0.0, 0.1573107, 0.3186394, 0.4887764, 0.6744898, 0.8871466,
        1.1503494, 1.5341206,
    ],
    np.float32,
)  # fmt: skip

# log(n + 2/16) of small whole numbers n.
_LOGS = np.array([log(n + PRIOR / BINS) for n in range(1024)])
_NO_LABELS = np.zeros(0, np.int64)
_NO_WEIGHT = np.zeros(0)


class BinnedBayes(NamedTuple):
    """Counts of rows by feature, bin and class."""

    active: BoolArray
    """(M,)"""
    class_weight: FloatArray
    """(M,) weight n_c"""
    bins: SingleArray
    """(p, 16, C) weight of rows; C is M rounded up to a multiple of 8"""
    logs: SingleArray
    """(p, 16, C) log(bins + 2/16)"""
    log_class: FloatArray
    """(M,) log(n_c + 1)"""
    log_bins: FloatArray
    """(M,) log(n_c + 2)"""


def begin(shape: Shape, active: BoolArray, seed: int) -> BinnedBayes:
    """Return the counts of no rows."""
    M = active.shape[0]
    p = shape.p if shape.p * int(active.sum()) <= MOST_PAIRS else 0
    C = padded(max(M, 1), 8)
    return BinnedBayes(
        active.copy(),
        np.zeros(M),
        np.zeros((p, BINS, C), np.float32),
        np.full((p, BINS, C), np.log(PRIOR / BINS), np.float32),
        np.zeros(M),
        np.full(M, np.log(2.0)),
    )


def grow_classes(
    state: BinnedBayes, source: IntArray, active: BoolArray
) -> BinnedBayes:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    M = source.shape[0]
    p = state.bins.shape[0]
    C = padded(max(M, 1), 8)
    bins = np.zeros((p, BINS, C), np.float32)
    logs = np.full((p, BINS, C), np.log(PRIOR / BINS), np.float32)
    known = np.flatnonzero(source >= 0)
    bins[:, :, known] = state.bins[:, :, source[known]]
    logs[:, :, known] = state.logs[:, :, source[known]]
    return BinnedBayes(
        active.copy(),
        arrange(state.class_weight, source, 0.0),
        bins,
        logs,
        arrange(state.log_class, source, 0.0),
        arrange(state.log_bins, source, np.log(2.0)),
    )


def score_rows(state: BinnedBayes, rows: MemberRows, scores: FloatArray) -> None:
    """Write the scores of each row; learn nothing."""
    _pass(state, rows.raw, rows.z, _NO_LABELS, _NO_WEIGHT, scores)


def learn_rows(
    state: BinnedBayes,
    rows: MemberRows,
    y: IntArray,
    weight: FloatArray,
    scores: FloatArray,
) -> None:
    """Score each row, then learn it, in order."""
    _pass(state, rows.raw, rows.z, y, weight, scores)


@compiled
def _pass(
    state: BinnedBayes,
    raw: FloatArray,
    z: SingleArray,
    y: IntArray,
    weight: FloatArray,
    scores: FloatArray,
) -> None:
    n, p = z.shape
    M = state.class_weight.shape[0]
    C = state.bins.shape[2]
    bins = np.empty(p, np.int64)
    above = np.empty(p, np.int32)
    sums = np.empty(C, np.float32)
    wanted = scores.shape[0] > 0
    usable = _usable(state, p)
    for i in range(n):
        present = _find_bins(raw[i], z[i], above, bins) if usable else 0
        if wanted:
            _add_logs(state.logs, bins, present, sums)
            for c in range(M):
                scores[i, 0, c] = (
                    state.log_class[c] - present * state.log_bins[c] + sums[c]
                )
        if y.shape[0] > 0 and y[i] >= 0:
            _observe(state, bins, present, y[i], weight[i])
            usable = _usable(state, p)


@compiled_borrowing
def _usable(state: BinnedBayes, p: int) -> bool:
    """Say whether there are few enough pairs of feature and active class."""
    active = 0
    for c in range(state.active.shape[0]):
        active += state.active[c]
    return state.bins.shape[0] == p and p * active <= MOST_PAIRS


@compiled_borrowing
def _find_bins(
    raw: FloatArray, z: SingleArray, above: WordArray, bins: IntArray
) -> int:
    """List 16·j + v of the features that are there; return how many.

    `above` (p,) is working space.
    """
    above[:] = 0
    for quantile in QUANTILES:
        for j in range(z.shape[0]):
            above[j] += z[j] > quantile
    present = 0
    for j in range(z.shape[0]):
        bins[present] = 16 * j + above[j]
        present += not np.isnan(raw[j])
    return present


@compiled_borrowing
def _add_logs(
    logs: SingleArray, bins: IntArray, present: int, sums: SingleArray
) -> None:
    C = sums.shape[0]
    flat = logs.reshape(logs.shape[0] * 16, C)
    sums[:] = np.float32(0.0)
    for k in range(present):
        line = flat[bins[k]]
        for c in range(C):
            sums[c] += line[c]


@compiled_borrowing_inline
def _log_of(count: float) -> float:
    """Return log(count + 2/16), from a table if it is there."""
    if count < _LOGS.shape[0]:
        whole = np.int64(count)
        if whole == count:
            return _LOGS[whole]
    # Uncompiled, a number of single precision would stay one.
    return log(np.float64(count) + PRIOR / BINS)


@compiled_borrowing
def _observe(
    state: BinnedBayes, bins: IntArray, present: int, c: int, weight: float
) -> None:
    C = state.bins.shape[2]
    counts = state.bins.reshape(state.bins.shape[0] * 16, C)
    logs = state.logs.reshape(state.bins.shape[0] * 16, C)
    for k in range(present):
        count = counts[bins[k], c] + np.float32(weight)
        counts[bins[k], c] = count
        logs[bins[k], c] = _log_of(count)
    state.class_weight[c] += weight
    state.active[c] = True
    state.log_class[c] = log(state.class_weight[c] + 1.0)
    state.log_bins[c] = log(state.class_weight[c] + 2.0)


def merge(states: list[BinnedBayes], base: BinnedBayes | None = None) -> BinnedBayes:
    """Return the sums of several states, less all but one times those of `base`."""
    merged = copy_state(states[0])
    parts = [(1.0, state) for state in states[1:]]
    if base is not None:
        parts += [(-1.0, base)] * (len(states) - 1)
    for sign, part in parts:
        merged.active[:] |= part.active
        merged.class_weight[:] += sign * part.class_weight
        merged.bins[:] += np.float32(sign) * part.bins
    _set_logs(merged)
    return merged


@compiled
def _set_logs(state: BinnedBayes) -> None:
    """Set the logarithms of all counts, to the bits that learning rows sets them to."""
    counts = state.bins.reshape(state.bins.size)
    logs = state.logs.reshape(state.bins.size)
    for k in range(counts.shape[0]):
        logs[k] = _log_of(counts[k])
    for c in range(state.class_weight.shape[0]):
        state.log_class[c] = log(state.class_weight[c] + 1.0)
        state.log_bins[c] = log(state.class_weight[c] + 2.0)


def sum_rows(
    state: BinnedBayes, rows: MemberRows, y: IntArray, weight: FloatArray
) -> BinnedBayes:
    """Return the counts of rows alone."""
    part = without_sums(state, SUMS)
    learn_rows(part, rows, y, weight, np.zeros((0, 1, state.active.shape[0])))
    return part
