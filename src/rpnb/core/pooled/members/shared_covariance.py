"""Linear discriminants with a shared covariance on rectified random projections.

The sums and what is made of them are in `rpnb.core.pooled.discriminant`. V is made anew
when the rows learnt have grown by an eighth; after row 256 by a fifth, at most by
4,096, at the end of a group of 128 rows, 64 up to row 1,024. Up to 256 rows are
collected, and added to A = Σφφᵀ at once.

Of the first 256 rows, fewer than φ has columns, V is made from inner products of rows.
With Φ the rows φ_r minus their class's mean, times √w_r, G = Φ·Φᵀ and Woodbury's
identity,

    (λI + ΦᵀΦ)⁻¹ U = (U − Φᵀ (λI + G)⁻¹ Φ U)/λ,

and as all columns of U are combinations of the rows φ_r, so are those of V.
"""

from typing import Final, NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray, SingleArray
from rpnb.core.kernels.compiling.compiled import compiled, compiled_borrowing
from rpnb.core.pooled.algebra.blocks import (
    blank_matrix,
    cholesky,
    padded,
    place,
    solve,
)
from rpnb.core.pooled.algebra.outer_products import pack_row
from rpnb.core.pooled.algebra.row_products import combine_rows, inner_products
from rpnb.core.pooled.discriminant import (
    MEAN_WEIGHT,
    add_rows,
    class_offsets,
    common_mean,
    degrees,
    discriminants,
    shrinkage,
    store_directions,
    write_scores,
)
from rpnb.core.pooled.member import (
    MemberRows,
    Shape,
    arrange,
    copy_state,
    without_sums,
)

OUTPUTS: Final = ("shared_covariance",)
MERGEABLE: Final = True
USES_SCALE: Final = True
SUMS: Final = ("active", "class_weight", "B", "A", "pending", "seen")

#: Rows kept at most. V of the first ones is made from their inner products.
FIRST: Final = 256
#: After multiples of these, before and after row `EARLY`, V may be made anew.
EARLY_GROUP: Final = 64
GROUP: Final = 128
EARLY: Final = 1024
#: Rows after which V is made anew, at most.
LONGEST: Final = 4096

_NO_LABELS = np.zeros(0, np.int64)
_NO_WEIGHT = np.zeros(0)


class SharedCovariance(NamedTuple):
    """Sums over all rows learnt, and the discriminants made of them last."""

    active: BoolArray
    """(M,)"""
    class_weight: FloatArray
    """(M,) weight learnt of each class"""
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
    """rows of φ not yet in A: [block of 16 columns][256 rows][16]"""
    labels: IntArray
    """(256,) their classes"""
    weight: FloatArray
    """(256,)"""
    gram: SingleArray
    """(256, 256) inner products of the first rows, lower triangle"""
    done: IntArray
    """(1,) rows whose inner products are there"""
    pending: IntArray
    """(1,) rows kept"""
    seen: IntArray
    """(1,) rows learnt"""
    next: IntArray
    """(1,) after how many V is made anew"""
    dimension: IntArray
    """(1,) columns of φ that are not just padding"""


def begin(shape: Shape, active: BoolArray, seed: int) -> SharedCovariance:
    """Return the sums of no rows."""
    M, E = active.shape[0], shape.E
    C = padded(max(M, 1), 8)
    return SharedCovariance(
        active.copy(),
        np.zeros(M),
        np.full(M, np.log(0.5)),
        np.zeros((M, E)),
        blank_matrix(E),
        np.zeros((E, C), np.float32),
        np.zeros(C, np.float32),
        np.zeros(E * FIRST, np.float32),
        np.zeros(FIRST, np.int64),
        np.zeros(FIRST),
        np.zeros((FIRST, FIRST), np.float32),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.ones(1, np.int64),
        np.full(1, shape.dimension),
    )


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
    return copy_state(state)._replace(
        active=active.copy(),
        class_weight=arrange(state.class_weight, source, 0.0),
        log_count=arrange(state.log_count, source, np.log(0.5)),
        B=arrange(state.B, source, 0.0),
        V=V,
        offset=offset,
        labels=target[state.labels] if target.shape[0] > 0 else state.labels.copy(),
    )


def score_rows(state: SharedCovariance, rows: MemberRows, scores: FloatArray) -> None:
    """Write the scores of each row; learn nothing."""
    write_scores(
        rows.phi,
        state.V,
        state.offset,
        _NO_LABELS,
        _NO_WEIGHT,
        state.class_weight,
        state.log_count,
        scores,
    )


def learn_rows(
    state: SharedCovariance,
    rows: MemberRows,
    y: IntArray,
    weight: FloatArray,
    scores: FloatArray,
) -> None:
    """Score each row, then learn it, in order."""
    _learn(state, rows.phi, y, weight, scores)


@compiled_borrowing
def _learn(
    state: SharedCovariance,
    phi: SingleArray,
    y: IntArray,
    weight: FloatArray,
    scores: FloatArray,
) -> None:
    n = phi.shape[0]
    wanted = scores.shape[0] > 0
    i = 0
    while i < n:
        # Up to the row after which something is due.
        seen = state.seen[0]
        if seen < FIRST:
            left = min(state.next[0] - seen if wanted else n, FIRST - seen)
        else:
            # Rows summed elsewhere count in `seen` and are not among those kept.
            left = _group(seen) - seen % _group(seen)
            left = min(left, FIRST - state.pending[0])
        stop = i
        while stop < n and left > 0:
            left -= y[stop] >= 0
            stop += 1
        part = scores[i:stop] if wanted else scores
        write_scores(
            phi[i:stop],
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
                _keep(state, phi[k], y[k], weight[k])
        if left == 0:
            # With the last row of a batch, or when it is due.
            seen = state.seen[0]
            if seen < FIRST:
                _refresh(state)
            elif seen >= state.next[0]:
                _add_pending(state)
                if seen >= state.next[0]:
                    _refresh(state)
            elif state.pending[0] + _group(seen) > FIRST:
                _add_pending(state)
        i = stop


@compiled_borrowing
def _group(seen: int) -> int:
    return EARLY_GROUP if seen < EARLY else GROUP


@compiled_borrowing
def next_refresh(seen: int) -> int:
    """Return after how many rows V is made anew, if it was after `seen`."""
    if seen < FIRST:
        return seen + max(1, seen // 8)
    return seen + min(seen // 5, LONGEST)


@compiled_borrowing
def _keep(state: SharedCovariance, phi: SingleArray, y: int, weight: float) -> None:
    r = state.pending[0]
    pack_row(phi, state.kept, r, FIRST)
    state.labels[r] = y
    state.weight[r] = weight
    state.active[y] = True
    B = state.B[y]
    for f in range(phi.shape[0]):
        B[f] += weight * phi[f]
    state.pending[0] += 1
    state.seen[0] += 1


@compiled_borrowing
def _add_pending(state: SharedCovariance) -> None:
    """Add the rows kept to A."""
    if state.seen[0] <= FIRST:
        # V of the first rows is made of their inner products once more.
        _refresh_from_rows(state)
        state.next[0] = next_refresh(state.seen[0])
    add_rows(state.A, state.kept, state.weight, FIRST, state.pending[0])
    state.pending[0] = 0


@compiled_borrowing
def _refresh(state: SharedCovariance) -> None:
    if state.seen[0] < FIRST:
        _refresh_from_rows(state)
    else:
        discriminants(
            state.class_weight,
            state.B,
            state.A,
            state.dimension[0],
            state.V,
            state.offset,
        )
    state.next[0] = next_refresh(state.seen[0])


@compiled
def _refresh_from_rows(state: SharedCovariance) -> None:
    """Make V from the inner products of the rows kept, which are all rows so far."""
    t = state.pending[0]
    if t == 0:
        return
    inner_products(state.kept, FIRST, state.done[0], t, state.gram)
    state.done[0] = t
    count = state.class_weight
    M = count.shape[0]
    E, C = state.V.shape
    labels, weight, gram = state.labels, state.weight, state.gram
    m = np.empty(E)
    total = common_mean(count, state.B, m)
    # P[r, c] = ⟨φ_r, B_c⟩ and R[a, c] = ⟨B_a, B_c⟩/n_a.
    P = np.zeros((t, M))
    for r in range(t):
        for s in range(t):
            product = gram[r, s] if s <= r else gram[s, r]
            P[r, labels[s]] += weight[s] * product
    R = np.zeros((M, M))
    for r in range(t):
        for c in range(M):
            R[labels[r], c] += weight[r] * P[r, c] / count[labels[r]]
    # ⟨φ_r, mean of class c⟩ and ⟨mean of class a, mean of class c⟩.
    to_mean_of = np.zeros((t, M))
    between = np.zeros((M, M))
    for c in range(M):
        if count[c] > 0.0:
            for r in range(t):
                to_mean_of[r, c] = P[r, c] / count[c]
            for a in range(M):
                between[a, c] = R[a, c] / count[c]
    root = np.sqrt(weight[:t])
    side = padded_rows(t)
    G = np.zeros(256 * ((side // 16) * (side // 16 + 1) // 2))
    trace = 0.0
    whole = 0.0
    square = 0.0
    for r in range(t):
        a = labels[r]
        for s in range(r + 1):
            c = labels[s]
            g = gram[r, s] - to_mean_of[r, c] - to_mean_of[s, a] + between[a, c]
            g *= root[r] * root[s]
            G[place(r, s)] = g
            square += g * g if r == s else 2.0 * g * g
        trace += G[place(r, r)]
        whole += weight[r] * gram[r, r]
    df = degrees(count, total)
    ridge, effective = shrinkage(
        trace / df, square / (df * df), df, state.dimension[0], whole / df
    )
    for r in range(side):
        G[place(r, r)] += ridge
    cholesky(G, side)
    X = np.zeros((side, C))
    for r in range(t):
        a = labels[r]
        to_mean = 0.0
        for c in range(M):
            to_mean += (P[r, c] - R[a, c]) / total
        for c in range(M):
            if count[c] > 0.0:
                to_class = P[r, c] - R[a, c] + MEAN_WEIGHT * to_mean
                u = to_class / (count[c] + MEAN_WEIGHT) - to_mean
                X[r, c] = root[r] * u
    solve(G, side, X)
    # Coefficients of the rows φ_r in ΦᵀX, then in V.
    drawn = np.zeros((M, C))
    for r in range(t):
        for c in range(C):
            drawn[labels[r], c] += root[r] * X[r, c]
    for r in range(t):
        a = labels[r]
        for c in range(C):
            X[r, c] = root[r] * X[r, c] - weight[r] / count[a] * drawn[a, c]
    U = np.empty((E, C))
    class_offsets(count, state.B, m, U)
    combined = np.empty((C, E))
    combine_rows(state.kept, FIRST, t, X, combined)
    D = np.empty((E, C))
    for f in range(E):
        for c in range(C):
            D[f, c] = (U[f, c] - combined[c, f]) / ridge
    store_directions(count, m, U, D, effective, state.V, state.offset)


@compiled_borrowing
def padded_rows(t: int) -> int:
    """Return the next multiple of 16."""
    return (t + 15) // 16 * 16


def merge(
    states: list[SharedCovariance], base: SharedCovariance | None = None
) -> SharedCovariance:
    """Return the sums of several states, less (all but one) times those of `base`."""
    merged = copy_state(states[0])
    _settle(merged)
    parts = [(1.0, state) for state in states[1:]]
    if base is not None:
        parts += [(-1.0, base)] * (len(states) - 1)
    for sign, state in parts:
        part = copy_state(state)
        _settle(part)
        merged.active[:] |= part.active
        merged.class_weight[:] += sign * part.class_weight
        merged.B[:] += sign * part.B
        merged.A[:] += sign * part.A
        merged.seen[:] += int(sign) * part.seen
    _set_logs(merged)
    _refresh(merged)
    return merged


def _settle(state: SharedCovariance) -> None:
    """Add all rows kept to A."""
    add_rows(state.A, state.kept, state.weight, FIRST, int(state.pending[0]))
    state.pending[0] = 0


@compiled
def _set_logs(state: SharedCovariance) -> None:
    for c in range(state.class_weight.shape[0]):
        state.log_count[c] = np.log(state.class_weight[c] + 0.5)


def sum_rows(
    state: SharedCovariance, rows: MemberRows, y: IntArray, weight: FloatArray
) -> SharedCovariance:
    """Return the sums over rows alone, which are added to A in groups of 128."""
    part = without_sums(state, SUMS)
    _sum(part, rows.phi, y, weight)
    return part


@compiled
def _sum(
    part: SharedCovariance, phi: SingleArray, y: IntArray, weight: FloatArray
) -> None:
    n = phi.shape[0]
    for i in range(n):
        part.class_weight[y[i]] += weight[i]
        _keep(part, phi[i], y[i], weight[i])
        if part.pending[0] == GROUP or i == n - 1:
            add_rows(part.A, part.kept, part.weight, FIRST, part.pending[0])
            part.pending[0] = 0
