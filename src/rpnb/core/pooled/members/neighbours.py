r"""Nearest neighbours among the last 500 rows.

.. math:: \mathrm{score}_c = \log\Bigl(½ π_c + Σ_{r=1}^{10} [c_r = c]\, w_r/r\Bigr)

with c_r the class of the r-th nearest of the last 500 rows, w_r its weight, and π_c the
frequency of class c among all rows. Distances are squared Euclidean ones between the
scaled rows, or their projections to 32 dimensions; of equally distant rows the one in
the earlier slot of the ring is nearer. A vote by 1/r is that of Dudani, "The
distance-weighted k-nearest-neighbor rule" (1976).
"""

from typing import Final, NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    SingleArray,
    WordArray,
)
from rpnb.core.kernels.bits import eight_below, lowest_bit
from rpnb.core.kernels.compiling.compiled import compiled, compiled_inline
from rpnb.core.kernels.random_bits import fill_logs
from rpnb.core.kernels.vectors import (
    load_singles,
    multiply_add,
    singles,
    store_singles,
)
from rpnb.core.pooled.member import MemberRows, Shape, arrange, copy_state

OUTPUTS: Final = ("neighbours",)
MERGEABLE: Final = False
USES_SCALE: Final = True

#: Rows kept.
ROWS: Final = 500
#: Neighbours that vote.
NEAREST: Final = 10
# Slots, a multiple of 16, of which the last stay at an infinite distance.
_SLOTS: Final = 512

_GROUPS: Final = 32
_LARGEST: Final = np.finfo(np.float32).max

_NO_LABELS = np.zeros(0, np.int64)
_NO_WEIGHT = np.zeros(0)


class Neighbours(NamedTuple):
    """A ring of the last rows."""

    active: BoolArray
    """(M,)"""
    class_weight: FloatArray
    """(M,) weight learnt of each class"""
    rows: SingleArray
    """(d, 512) the rows kept, feature by feature"""
    labels: IntArray
    """(512,) their classes"""
    weight: FloatArray
    """(512,)"""
    seen: IntArray
    """(1,) rows learnt; row t is in slot t mod 500"""


def begin(shape: Shape, active: BoolArray, seed: int) -> Neighbours:
    """Return an empty ring."""
    M = active.shape[0]
    return Neighbours(
        active.copy(),
        np.zeros(M),
        np.zeros((shape.d, _SLOTS), np.float32),
        np.zeros(_SLOTS, np.int64),
        np.zeros(_SLOTS),
        np.zeros(1, np.int64),
    )


def grow_classes(state: Neighbours, source: IntArray, active: BoolArray) -> Neighbours:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    known = np.flatnonzero(source >= 0)
    target = np.zeros(max(state.class_weight.shape[0], 1), np.int64)
    target[source[known]] = known
    return Neighbours(
        active.copy(),
        arrange(state.class_weight, source, 0.0),
        state.rows.copy(),
        target[state.labels],
        state.weight.copy(),
        state.seen.copy(),
    )


def score_rows(state: Neighbours, rows: MemberRows, scores: FloatArray) -> None:
    """Write the scores of each row; learn nothing."""
    _pass(state, rows.low, _NO_LABELS, _NO_WEIGHT, scores)


def learn_rows(
    state: Neighbours,
    rows: MemberRows,
    y: IntArray,
    weight: FloatArray,
    scores: FloatArray,
) -> None:
    """Score each row, then learn it, in order."""
    _pass(state, rows.low, y, weight, scores)


@compiled
def _pass(
    state: Neighbours,
    low: SingleArray,
    y: IntArray,
    weight: FloatArray,
    scores: FloatArray,
) -> None:
    distance = np.empty(_SLOTS, np.float32)
    near = np.empty(NEAREST + 1, np.float32)
    slots = np.empty(NEAREST + 1, np.int64)
    bits = np.empty(state.class_weight.shape[0], np.int32)
    for i in range(low.shape[0]):
        if scores.shape[0] > 0:
            _fill_distances(state.rows, low[i], distance)
            filled = min(state.seen[0], ROWS)
            found = nearest(distance, filled, near, slots)
            vote(
                state.active,
                state.class_weight,
                state.labels,
                state.weight,
                slots,
                found,
                bits,
                scores[i, 0],
            )
        if y.shape[0] > 0 and y[i] >= 0:
            slot = state.seen[0] % ROWS
            for j in range(low.shape[1]):
                state.rows[j, slot] = low[i, j]
            state.labels[slot] = y[i]
            state.weight[slot] = weight[i]
            state.class_weight[y[i]] += weight[i]
            state.active[y[i]] = True
            state.seen[0] += 1


@compiled
def _fill_distances(rows: SingleArray, x: SingleArray, distance: SingleArray) -> None:
    """Set the squared distance of x (d,) from each slot, feature after feature."""
    entries = rows.reshape(rows.size)
    for s in range(0, _SLOTS, 32):
        a = singles(0.0)
        b = singles(0.0)
        c = singles(0.0)
        d = singles(0.0)
        for j in range(x.shape[0]):
            at = j * _SLOTS + s
            value = singles(x[j])
            e = load_singles(entries, at) - value
            a = multiply_add(e, e, a)
            e = load_singles(entries, at + 8) - value
            b = multiply_add(e, e, b)
            e = load_singles(entries, at + 16) - value
            c = multiply_add(e, e, c)
            e = load_singles(entries, at + 24) - value
            d = multiply_add(e, e, d)
        store_singles(distance, s, a)
        store_singles(distance, s + 8, b)
        store_singles(distance, s + 16, c)
        store_singles(distance, s + 24, d)


@compiled
def nearest(
    distance: SingleArray, filled: int, near: SingleArray, slots: IntArray
) -> int:
    """List the slots of the nearest rows, nearest first; return how many.

    The least distances of 32 groups of slots give a bound for the tenth least of all:
    ten groups have a distance at most that large. Few others have, and only these
    are sorted. `distance` has a multiple of 64 entries; those not filled are set.
    """
    distance[filled:] = np.inf
    least = distance[:_GROUPS].copy()
    for s in range(_GROUPS, distance.shape[0], _GROUPS):
        for g in range(_GROUPS):
            d = distance[s + g]
            least[g] = d if d < least[g] else least[g]
    found = 0
    for g in range(_GROUPS):
        found = _insert(least[g], g, near, slots, found)
    bound = min(near[NEAREST - 1], _LARGEST)
    found = 0
    for s in range(0, distance.shape[0], 64):
        close = np.uint64(0)
        for r in range(0, 64, 8):
            close |= eight_below(distance, s + r, bound) << np.uint64(r)
        while close != 0:
            slot = s + lowest_bit(close)
            found = _insert(distance[slot], slot, near, slots, found)
            close &= close - np.uint64(1)
    return found


@compiled_inline
def _insert(
    distance: float, slot: int, near: SingleArray, slots: IntArray, found: int
) -> int:
    """Insert a slot behind all that are not farther; return how many are listed."""
    at = found
    while at > 0 and distance < near[at - 1]:
        near[at] = near[at - 1]
        slots[at] = slots[at - 1]
        at -= 1
    near[at] = distance
    slots[at] = slot
    return min(found + 1, NEAREST)


@compiled
def vote(
    active: BoolArray,
    class_weight: FloatArray,
    labels: IntArray,
    weight: FloatArray,
    slots: IntArray,
    found: int,
    bits: WordArray,
    scores: FloatArray,
) -> None:
    """Set the score of each class: its frequency, and votes of the nearest.

    `bits` (M,) is working space.
    """
    M = class_weight.shape[0]
    n_active = 0
    total = 0.0
    for c in range(M):
        n_active += active[c]
        total += class_weight[c]
    below = max(total + 0.5 * n_active, 0.5)
    for c in range(M):
        scores[c] = 0.5 * (class_weight[c] + 0.5) / below
    for r in range(found):
        scores[labels[slots[r]]] += weight[slots[r]] / (r + 1.0)
    fill_logs(scores, bits)


def merge(states: list[Neighbours]) -> Neighbours:
    """Return a ring of the latest rows of all states, taken in turns.

    The states are taken to have learnt side by side: of each as many of its latest rows
    are kept, older ones first.
    """
    merged = copy_state(states[0])
    latest: list[tuple[Neighbours, int]] = []
    orders = [_slots_by_age(state) for state in states]
    depth = max(len(order) for order in orders)
    for back in range(depth, 0, -1):
        latest += [
            (state, order[-back])
            for state, order in zip(states, orders, strict=True)
            if back <= len(order)
        ]
    for state in states[1:]:
        merged.active[:] |= state.active
        merged.class_weight[:] += state.class_weight
    merged.seen[0] = 0
    for state, slot in latest[-ROWS:]:
        to = int(merged.seen[0])
        merged.rows[:, to] = state.rows[:, slot]
        merged.labels[to] = state.labels[slot]
        merged.weight[to] = state.weight[slot]
        merged.seen[0] += 1
    return merged


def _slots_by_age(state: Neighbours) -> list[int]:
    seen = int(state.seen[0])
    return [t % ROWS for t in range(max(seen - ROWS, 0), seen)]
