r"""Transitions: which class follows which.

.. math::
    \mathrm{score}_c = \log\frac{T[a, c] + 2((1 - κ)π_c + κ[c = a])}{Σ_c T[a, c] + 2},
    \qquad κ = \max\Bigl(0, \frac{Σ_c T[c, c] - Σ_c n_c π_c}
                             {Σ_c n_c (1 - π_c) + 2}\Bigr)

with T[a, c] the weight of rows of class c learnt next after a row of class a, and a the
class of the last row learnt: a Markov chain on the labels (Markov 1913), smoothed by
two rows. It helps where labels come in runs. κ is how much more often a label is
followed by itself than by chance, over all classes (as Cohen's kappa is for two
raters, "A coefficient of agreement for nominal scales", 1960): a class that has just
come for the first time stays as long as others did.

Where labels come d rows late, the last label known is that of d + 1 rows before the row
that is predicted, and T counts pairs that are d + 1 rows apart.
"""

from math import log
from typing import Final, NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.kernels.compiling.compiled import compiled_borrowing
from rpnb.core.pooled.member import MemberRows, Shape, arrange, copy_state

OUTPUTS: Final = ("transitions",)
MERGEABLE: Final = True
USES_SCALE: Final = False
SUMS: Final = ()

#: Weight of the class frequencies, and of rows by chance.
PRIOR: Final = 2.0
#: Below 1, so that no class is impossible.
MOST_KAPPA: Final = 1.0 - 1e-9
_NO_LABELS = np.zeros(0, np.int64)
_NO_WEIGHT = np.zeros(0)


class Transitions(NamedTuple):
    """Counts of pairs of labels."""

    active: BoolArray
    """(M,)"""
    class_weight: FloatArray
    """(M,) weight learnt of each class"""
    pairs: FloatArray
    """(M, M) weight of rows of the second class after one of the first"""
    last: IntArray
    """(d + 1,) classes of the last rows learnt, the last one first, −1 for none"""


def begin(shape: Shape, active: BoolArray, seed: int) -> Transitions:
    """Return the counts of no rows."""
    M = active.shape[0]
    last = np.full(shape.delay + 1, -1)
    return Transitions(active.copy(), np.zeros(M), np.zeros((M, M)), last)


def grow_classes(
    state: Transitions, source: IntArray, active: BoolArray
) -> Transitions:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    rows = arrange(state.pairs, source, 0.0)
    number = np.full(state.class_weight.shape[0] + 1, -1)
    known = np.flatnonzero(source >= 0)
    number[source[known]] = known  # the last entry is for −1, no row
    last = number[state.last]
    return Transitions(
        active.copy(),
        arrange(state.class_weight, source, 0.0),
        np.ascontiguousarray(arrange(rows.T, source, 0.0).T),
        last,
    )


def score_rows(state: Transitions, rows: MemberRows, scores: FloatArray) -> None:
    """Write the scores of each row; learn nothing."""
    _pass(state, _NO_LABELS, _NO_WEIGHT, scores)


def learn_rows(
    state: Transitions,
    rows: MemberRows,
    y: IntArray,
    weight: FloatArray,
    scores: FloatArray,
) -> None:
    """Score each row, then learn it, in order."""
    _pass(state, y, weight, scores)


@compiled_borrowing
def _pass(
    state: Transitions, y: IntArray, weight: FloatArray, scores: FloatArray
) -> None:
    wanted = scores.shape[0] > 0
    delay = state.last.shape[0] - 1
    for i in range(scores.shape[0] if wanted else y.shape[0]):
        if wanted:
            _score(state, scores[i, 0])
        if y.shape[0] > 0 and y[i] >= 0:
            before = state.last[delay]
            if before >= 0:
                state.pairs[before, y[i]] += weight[i]
            state.class_weight[y[i]] += weight[i]
            state.active[y[i]] = True
            for j in range(delay, 0, -1):
                state.last[j] = state.last[j - 1]
            state.last[0] = y[i]


@compiled_borrowing
def _score(state: Transitions, scores: FloatArray) -> None:
    M = state.class_weight.shape[0]
    active = 0
    total = 0.0
    for c in range(M):
        active += state.active[c]
        total += state.class_weight[c]
    below = max(total + 0.5 * active, 0.5)
    a = state.last[0]
    stays = 0.0
    by_chance = 0.0
    for c in range(M):
        if state.active[c]:
            stays += state.pairs[c, c]
            by_chance += state.class_weight[c] * (state.class_weight[c] + 0.5) / below
    kappa = (stays - by_chance) / (total - by_chance + PRIOR)
    kappa = min(max(kappa, 0.0), MOST_KAPPA)
    for c in range(M):
        if state.active[c]:
            share = (state.class_weight[c] + 0.5) / below
            if a >= 0:
                value = PRIOR * ((1.0 - kappa) * share + kappa * (c == a))
                scores[c] = log(value + state.pairs[a, c])
            else:
                scores[c] = log(share)


def merge(states: list[Transitions], base: Transitions | None = None) -> Transitions:
    """Return the sums of several states, less all but one times those of `base`."""
    merged = copy_state(states[0])
    parts = [(1.0, state) for state in states[1:]]
    if base is not None:
        parts += [(-1.0, base)] * (len(states) - 1)
    for sign, part in parts:
        merged.active[:] |= part.active
        merged.class_weight[:] += sign * part.class_weight
        merged.pairs[:] += sign * part.pairs
    return merged
