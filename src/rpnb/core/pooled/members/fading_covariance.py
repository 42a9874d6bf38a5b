"""Linear discriminants with a shared covariance that forgets.

The same as `shared_covariance` beside it on fewer columns of φ: the features
themselves (up to 64) and 32 projections, 128 where there are more features. After row
256, every 64 rows, all sums are multiplied by (1 − 1/300)⁶⁴ and the discriminants made
anew; before, the discriminants are made anew when the rows have grown by an eighth.
"""

from typing import Final, NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray, SingleArray
from rpnb.core.kernels.compiling.compiled import compiled, compiled_borrowing
from rpnb.core.pooled.algebra.blocks import blank_matrix, padded
from rpnb.core.pooled.algebra.outer_products import pack_row
from rpnb.core.pooled.discriminant import (
    add_rows,
    discriminants,
    write_scores,
)
from rpnb.core.pooled.features import raw_columns
from rpnb.core.pooled.member import MemberRows, Shape, arrange, copy_state
from rpnb.core.pooled.members.shared_covariance import next_refresh

OUTPUTS: Final = ("fading_covariance",)
MERGEABLE: Final = False
USES_SCALE: Final = True

#: Rows that are remembered, in the sense of an exponential window.
MEMORY: Final = 300
#: Rows between two times of forgetting.
GROUP: Final = 64
#: The row after which forgetting begins.
FIRST: Final = 256
_KEEP: Final = (1.0 - 1.0 / MEMORY) ** GROUP

_NO_LABELS = np.zeros(0, np.int64)
_NO_WEIGHT = np.zeros(0)


class FadingCovariance(NamedTuple):
    """Fading sums over the rows learnt, and the discriminants made of them last."""

    active: BoolArray
    """(M,)"""
    class_weight: FloatArray
    """(M,) weight left of each class"""
    log_count: FloatArray
    """(M,) log(count + ½)"""
    B: FloatArray
    """(M, E) sum of φ of each class"""
    A: FloatArray
    """sum of φφᵀ of all rows but those kept, in blocks"""
    V: SingleArray
    """(E, C) the directions; C is M rounded up to a multiple of 8"""
    offset: SingleArray
    """(C,) the constants"""
    kept: SingleArray
    """rows not yet in A: [block of 16 columns][64 rows][16]"""
    weight: FloatArray
    """(64,) their weights"""
    pending: IntArray
    """(1,) rows kept"""
    seen: IntArray
    """(1,) rows learnt"""
    next: IntArray
    """(1,) after how many V is made anew"""
    columns: IntArray
    """(dimension,) of φ that are used; E is their number, rounded up"""


def chosen_columns(shape: Shape) -> IntArray:
    """Return the columns of φ that are used: features, some dense, some sparse ones."""
    raw, dense = raw_columns(shape.p), shape.dense
    some = np.arange(min(dense, shape.D - dense, 16 if raw > 0 else 64))
    return np.concatenate([np.arange(raw), raw + some, raw + dense + some])


def begin(shape: Shape, active: BoolArray, seed: int) -> FadingCovariance:
    """Return the sums of no rows."""
    M = active.shape[0]
    columns = chosen_columns(shape)
    E, C = padded(columns.shape[0]), padded(max(M, 1), 8)
    return FadingCovariance(
        active.copy(),
        np.zeros(M),
        np.full(M, np.log(0.5)),
        np.zeros((M, E)),
        blank_matrix(E),
        np.zeros((E, C), np.float32),
        np.zeros(C, np.float32),
        np.zeros(E * GROUP, np.float32),
        np.zeros(GROUP),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.ones(1, np.int64),
        columns,
    )


def grow_classes(
    state: FadingCovariance, source: IntArray, active: BoolArray
) -> FadingCovariance:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    M, E = source.shape[0], state.V.shape[0]
    C = padded(max(M, 1), 8)
    V, offset = np.zeros((E, C), np.float32), np.zeros(C, np.float32)
    V[:, :M] = arrange(state.V.T, source, 0.0).T
    offset[:M] = arrange(state.offset, source, 0.0)
    return copy_state(state)._replace(
        active=active.copy(),
        class_weight=arrange(state.class_weight, source, 0.0),
        log_count=arrange(state.log_count, source, np.log(0.5)),
        B=arrange(state.B, source, 0.0),
        V=V,
        offset=offset,
    )


def score_rows(state: FadingCovariance, rows: MemberRows, scores: FloatArray) -> None:
    """Write the scores of each row; learn nothing."""
    write_scores(
        _gather(state.columns, state.V.shape[0], rows.phi),
        state.V,
        state.offset,
        _NO_LABELS,
        _NO_WEIGHT,
        state.class_weight,
        state.log_count,
        scores,
    )


def learn_rows(
    state: FadingCovariance,
    rows: MemberRows,
    y: IntArray,
    weight: FloatArray,
    scores: FloatArray,
) -> None:
    """Score each row, then learn it, in order."""
    _learn(state, rows.phi, y, weight, scores)


@compiled
def _gather(columns: IntArray, E: int, phi: SingleArray) -> SingleArray:
    out = np.zeros((phi.shape[0], E), np.float32)
    for i in range(phi.shape[0]):
        for f in range(columns.shape[0]):
            out[i, f] = phi[i, columns[f]]
    return out


@compiled
def _learn(
    state: FadingCovariance,
    phi: SingleArray,
    y: IntArray,
    weight: FloatArray,
    scores: FloatArray,
) -> None:
    rows = _gather(state.columns, state.V.shape[0], phi)
    n = rows.shape[0]
    wanted = scores.shape[0] > 0
    i = 0
    while i < n:
        due = state.next[0] if wanted else state.seen[0] + n - i
        left = min(due - state.seen[0], GROUP - state.pending[0])
        stop = i
        while stop < n and left > 0:
            left -= y[stop] >= 0
            stop += 1
        part = scores[i:stop] if wanted else scores
        write_scores(
            rows[i:stop],
            state.V,
            state.offset,
            y[i:stop],
            weight[i:stop],
            state.class_weight,
            state.log_count,
            part,
        )
        for k in range(i, stop):
            if y[k] >= 0:
                _keep(state, rows[k], y[k], weight[k])
        if left == 0:
            _add_pending(state)
            if wanted and state.seen[0] >= state.next[0]:
                if state.seen[0] > FIRST:
                    _forget(state)
                _refresh(state)
        i = stop
    if not wanted:
        _refresh(state)


@compiled_borrowing
def _keep(state: FadingCovariance, row: SingleArray, y: int, weight: float) -> None:
    r = state.pending[0]
    pack_row(row, state.kept, r, GROUP)
    state.weight[r] = weight
    state.active[y] = True
    B = state.B[y]
    for f in range(row.shape[0]):
        B[f] += weight * row[f]
    state.pending[0] += 1
    state.seen[0] += 1


@compiled_borrowing
def _add_pending(state: FadingCovariance) -> None:
    add_rows(state.A, state.kept, state.weight, GROUP, state.pending[0])
    state.pending[0] = 0


@compiled
def _forget(state: FadingCovariance) -> None:
    A = state.A.reshape(state.A.size)
    for i in range(A.shape[0]):
        A[i] *= _KEEP
    for c in range(state.class_weight.shape[0]):
        B = state.B[c]
        for f in range(B.shape[0]):
            B[f] *= _KEEP
        state.class_weight[c] *= _KEEP
        state.log_count[c] = np.log(state.class_weight[c] + 0.5)


@compiled_borrowing
def _refresh(state: FadingCovariance) -> None:
    discriminants(
        state.class_weight,
        state.B,
        state.A,
        state.columns.shape[0],
        state.V,
        state.offset,
    )
    seen = state.seen[0]
    state.next[0] = min(next_refresh(seen), FIRST) if seen < FIRST else seen + GROUP


def merge(states: list[FadingCovariance]) -> FadingCovariance:
    """Return the sum of what each state has left of its past."""
    parts = [copy_state(state) for state in states]
    merged = parts[0]
    for part in parts:
        _add_pending(part)
    for part in parts[1:]:
        merged.active[:] |= part.active
        merged.class_weight[:] += part.class_weight
        merged.B[:] += part.B
        merged.A[:] += part.A
        merged.seen[:] += part.seen
    merged.log_count[:] = np.log(merged.class_weight + 0.5)
    _refresh(merged)
    return merged
