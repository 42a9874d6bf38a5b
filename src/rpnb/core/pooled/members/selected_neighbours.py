r"""Nearest neighbours by the few features that say most about the class.

Where most of many features are noise, distances in all of them, or in random
projections, are noise as well. Each feature is cut into 8 bins at the normal quantiles
i/8, and with C[v, c] the weight of class c in bin v among N of all rows, its mutual
information with the class is

.. math:: I = Σ_{v,c} \frac{C_{vc}}{N} \log\frac{C_{vc}\,N}{C_v C_c}

2NI is about χ² with f = 7 (M' − 1) degrees of freedom where a feature says nothing
(Wilks 1938), M' the classes seen. Features with 2NI > f + 5 √(2f), the 4 to 32 best,
are selected, and their squared differences weighted by the excess of I over f/2N,
relative to the best. They are selected anew when the rows have grown by a quarter.

.. math:: \mathrm{score}_c = \log\Bigl(½ π_c + Σ_{r=1}^{10} [c_r = c]\, w_r/r\Bigr)

as in `rpnb.core.pooled.members.neighbours`, among the last 1,000 rows, fewer where p >
1,048. Selection by mutual information is that of Lewis, "Feature selection and feature
extraction for text categorization" (1992); threshold and weights are our own. It is a
member where p > 32; with more than 200,000 pairs of a feature and a class it gives
class frequencies only.
"""

from math import log, sqrt
from typing import Final, NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray, SingleArray
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.kernels.vectors import (
    load_singles,
    multiply_add,
    singles,
    store_singles,
)
from rpnb.core.pooled.member import MemberRows, Shape, arrange, copy_state
from rpnb.core.pooled.members.neighbours import NEAREST, nearest, vote

OUTPUTS: Final = ("selected_neighbours",)
MERGEABLE: Final = False
USES_SCALE: Final = True

#: Features that rows must have more of.
MANY_FEATURES: Final = 32
#: Rows kept, at most.
ROWS: Final = 1000
# Slots, a multiple of 32.
_SLOTS: Final = 1024
#: Features selected, at least and at most.
LEAST, MOST = 4, 32
#: Standard deviations that 2NI must exceed its expectation by.
SIGNIFICANT: Final = 5.0
BINS: Final = 8
#: Pairs of a feature and a class, at most.
MOST_PAIRS: Final = 200_000
#: Values of rows kept, at most, if that leaves 250 rows.
MOST_VALUES: Final = 1 << 20
_LEAST_ROWS: Final = 250
#: Rows before the first selection.
FIRST: Final = 32
# The normal quantiles i/8, rounded to single precision.
EDGES: Final = (
    -1.1503493785858154,
    -0.6744897365570068,
    -0.3186393678188324,
    0.0,
    0.3186393678188324,
    0.6744897365570068,
    1.1503493785858154,
)

_NO_LABELS = np.zeros(0, np.int64)
_NO_WEIGHT = np.zeros(0)


class SelectedNeighbours(NamedTuple):
    """Counts of the bins of all features, the last rows, and what was selected."""

    active: BoolArray
    """(M,)"""
    class_weight: FloatArray
    """(M,) weight learnt of each class"""
    counts: FloatArray
    """(p, 8, M) weight of each class in each bin; (0, 8, M) where p·M is too large"""
    rows: SingleArray
    """(R, p) the last rows; row t is in slot t mod R"""
    labels: IntArray
    """(R,) their classes"""
    weight: FloatArray
    """(R,)"""
    chosen: IntArray
    """(32,) the features selected, −1 where there are fewer"""
    relevance: SingleArray
    """(32,) square roots of the weights of their differences"""
    near: SingleArray
    """(32, 1024) the rows kept in these features, times `relevance`"""
    clock: IntArray
    """(2,) rows learnt, and the number of them at which features are selected next"""


def rows_kept(p: int) -> int:
    """Return R, the number of rows kept, for rows of p features."""
    return max(_LEAST_ROWS, min(ROWS, MOST_VALUES // max(p, 1)))


def begin(shape: Shape, active: BoolArray, seed: int) -> SelectedNeighbours:
    """Return a state that has learnt nothing."""
    M = active.shape[0]
    usable = shape.p * M <= MOST_PAIRS
    R = rows_kept(shape.p)
    return SelectedNeighbours(
        active.copy(),
        np.zeros(M),
        np.zeros((shape.p if usable else 0, BINS, M)),
        np.zeros((R, shape.p if usable else 0), np.float32),
        np.zeros(R, np.int64),
        np.zeros(R),
        np.full(MOST, -1),
        np.zeros(MOST, np.float32),
        np.zeros((MOST, _SLOTS), np.float32),
        np.array([0, FIRST]),
    )


def grow_classes(
    state: SelectedNeighbours, source: IntArray, active: BoolArray
) -> SelectedNeighbours:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    known = np.flatnonzero(source >= 0)
    target = np.zeros(max(state.class_weight.shape[0], 1), np.int64)
    target[source[known]] = known
    grown = copy_state(state)
    p = state.counts.shape[0]
    counts = np.ascontiguousarray(
        arrange(state.counts.transpose(2, 0, 1), source, 0.0).transpose(1, 2, 0)
    )
    grown = grown._replace(
        active=active.copy(),
        class_weight=arrange(state.class_weight, source, 0.0),
        counts=counts,
        labels=target[state.labels],
    )
    if p * source.shape[0] > MOST_PAIRS:
        grown.chosen[:] = -1
        return grown._replace(
            counts=np.zeros((0, BINS, source.shape[0])),
            rows=np.zeros((state.rows.shape[0], 0), np.float32),
        )
    return grown


def score_rows(state: SelectedNeighbours, rows: MemberRows, scores: FloatArray) -> None:
    """Write the scores of each row; learn nothing."""
    _pass(state, rows.z, _NO_LABELS, _NO_WEIGHT, scores)


def learn_rows(
    state: SelectedNeighbours,
    rows: MemberRows,
    y: IntArray,
    weight: FloatArray,
    scores: FloatArray,
) -> None:
    """Score each row, then learn it, in order."""
    _pass(state, rows.z, y, weight, scores)


@compiled
def _pass(
    state: SelectedNeighbours,
    z: SingleArray,
    y: IntArray,
    weight: FloatArray,
    scores: FloatArray,
) -> None:
    distance = np.empty(_SLOTS, np.float32)
    nearby = np.empty(NEAREST + 1, np.float32)
    slots = np.empty(NEAREST + 1, np.int64)
    bits = np.empty(state.class_weight.shape[0], np.int32)
    R = state.rows.shape[0]
    for i in range(z.shape[0]):
        if scores.shape[0] > 0:
            found = 0
            if state.chosen[0] >= 0:
                filled = min(state.clock[0], R)
                _fill_distances(state, z[i], filled, distance)
                found = nearest(distance, filled, nearby, slots)
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
            _observe(state, z[i], y[i], weight[i])
            if state.clock[0] >= state.clock[1]:
                select(state)


@compiled
def _fill_distances(
    state: SelectedNeighbours, z: SingleArray, filled: int, distance: SingleArray
) -> None:
    """Set the weighted squared distance of z (p,) from each slot that is filled."""
    entries = state.near.reshape(state.near.size)
    x = np.zeros(MOST, np.float32)
    k = 0
    while k < MOST and state.chosen[k] >= 0:
        x[k] = z[state.chosen[k]] * state.relevance[k]
        k += 1
    for s in range(0, filled, 32):
        a = singles(0.0)
        b = singles(0.0)
        c = singles(0.0)
        d = singles(0.0)
        for j in range(k):
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
def _observe(state: SelectedNeighbours, z: SingleArray, y: int, weight: float) -> None:
    """Count a row, and keep it in place of the oldest."""
    slot = state.clock[0] % state.rows.shape[0]
    for j in range(state.rows.shape[1]):
        value = z[j]
        state.counts[j, find_bin(value), y] += weight
        state.rows[slot, j] = value
    k = 0
    while k < MOST and state.chosen[k] >= 0:
        state.near[k, slot] = z[state.chosen[k]] * state.relevance[k]
        k += 1
    state.labels[slot] = y
    state.weight[slot] = weight
    state.class_weight[y] += weight
    state.active[y] = True
    state.clock[0] += 1


@compiled
def find_bin(value: float) -> int:
    """Return the bin of a scaled value, 0 to 7."""
    found = 0
    for edge in EDGES:
        found += value > edge
    return found


@compiled
def select(state: SelectedNeighbours) -> None:
    """Select features by their mutual information, and the time of the next choice."""
    seen = state.clock[0]
    state.clock[1] = seen + max(seen // 4, 1)
    p = state.rows.shape[1]
    total = 0.0
    classes = 0
    by_class = 0.0
    for weight in state.class_weight:
        if weight > 0.0:
            classes += 1
            total += weight
            by_class += weight * log(weight)
    if p == 0 or classes < 2:
        return
    f = (BINS - 1.0) * (classes - 1.0)
    excess = np.full(MOST, -np.inf)
    best = np.full(MOST, -1)
    significant = 0
    for j in range(p):
        information = (_pair_sum(state.counts[j]) - by_class) / total + log(total)
        significant += 2.0 * total * information > f + SIGNIFICANT * sqrt(2.0 * f)
        value = information - f / (2.0 * total)
        at = MOST - 1
        if value > excess[at]:
            while at > 0 and value > excess[at - 1]:
                excess[at] = excess[at - 1]
                best[at] = best[at - 1]
                at -= 1
            excess[at] = value
            best[at] = j
    count = min(max(significant, LEAST), MOST, p)
    top = max(excess[0], 1e-12)
    state.chosen[:] = -1
    for k in range(count):
        state.chosen[k] = best[k]
        state.relevance[k] = sqrt(max(excess[k], 0.0) / top)
        for slot in range(min(seen, state.rows.shape[0])):
            value = state.rows[slot, best[k]] * state.relevance[k]
            state.near[k, slot] = value


@compiled
def _pair_sum(counts: FloatArray) -> float:
    """Return Σ C log C over bins and classes, less that over bins."""
    result = 0.0
    for v in range(counts.shape[0]):
        total = 0.0
        for c in range(counts.shape[1]):
            count = counts[v, c]
            if count > 0.0:
                total += count
                result += count * log(count)
        if total > 0.0:
            result -= total * log(total)
    return result


def merge(states: list[SelectedNeighbours]) -> SelectedNeighbours:
    """Return sums of the counts, and the latest rows of all states, taken in turns."""
    merged = copy_state(states[0])
    R = merged.rows.shape[0]
    for state in states[1:]:
        merged.active[:] |= state.active
        merged.class_weight[:] += state.class_weight
        merged.counts[:] += state.counts
    lengths = [min(int(state.clock[0]), R) for state in states]
    # By age: the last row of each state, then the last but one of each, …
    ages = [(age, side) for side, n in enumerate(lengths) for age in range(n)]
    latest = sorted(ages)[:R]
    for to, (age, side) in enumerate(reversed(latest)):
        source = states[side]
        slot = (int(source.clock[0]) - 1 - age) % R
        merged.rows[to] = source.rows[slot]
        merged.labels[to] = source.labels[slot]
        merged.weight[to] = source.weight[slot]
    merged.clock[0] = len(latest)
    select(merged)
    return merged
