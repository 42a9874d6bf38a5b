r"""Leaves of a window forest: what is counted there, and the scores.

Leaf l of tree j has slow counts C, the weight of each class since the leaf began, and
fast counts c, halved at each visit before the new row is added, so that they know the
last few rows only. With π_c = (n_c + ½)/(Σn + M'/2), M' active classes:

$$P_j(c) = \frac{C_{jc} + π_c}{C_j + 1}, \qquad
  \mathrm{score}_c = \log\Bigl(\sum_j w_j P_j(c) + 10^{-4}\Bigr), \qquad
  w = \mathrm{softmax}(a), \qquad
  a_j ← 0.98\,a_j + 0.1 \log P_j(y)$$

and the same for fast counts with weights of their own. Weighting by exponentials of the
log loss, with older losses fading, follows Herbster & Warmuth, "Tracking the best
expert" (1998); the fading is ours.
"""

from typing import NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray, WordArray
from rpnb.core.kernels.compiling.compiled import (
    compiled_borrowing,
    compiled_borrowing_inline,
)
from rpnb.core.kernels.exponentials import fill_exponentials
from rpnb.core.kernels.random_bits import fill_logs
from rpnb.core.pooled.members.forest.descents import find_leaf, prefetch_leaf
from rpnb.core.pooled.members.forest.state import ForestState, Workspace

SMOOTHING = 1e-4
MEMORY = 0.98
RATE = 0.1
HALF = 0.5
FORGOTTEN = 1e-30
"""A fast count below this is 0: no arithmetic with subnormal numbers"""


@compiled_borrowing_inline
def add_slow(
    classes: WordArray,
    counts: FloatArray,
    totals: FloatArray,
    k: int,
    leaf: int,
    y: int,
    weight: float,
) -> None:
    """Count the weight of a row of class y at a leaf of the tree at place k."""
    S = classes.shape[2]
    entry = 0
    least = 0
    while entry < S and classes[k, leaf, entry] >= 0 and classes[k, leaf, entry] != y:
        if counts[k, leaf, entry] < counts[k, leaf, least]:
            least = entry
        entry += 1
    if entry == S:
        entry = least
    if classes[k, leaf, entry] != y:
        classes[k, leaf, entry] = y
        counts[k, leaf, entry] = 0.0
    counts[k, leaf, entry] += weight
    totals[k, leaf] += weight


@compiled_borrowing_inline
def add_fast(
    classes: WordArray,
    counts: FloatArray,
    totals: FloatArray,
    k: int,
    leaf: int,
    y: int,
) -> None:
    """Halve the fast counts at a grown leaf, then count a row of class y."""
    S = classes.shape[2]
    entry = -1
    end = 0
    least = 0
    while end < S and classes[k, leaf, end] >= 0:
        count = HALF * counts[k, leaf, end]
        counts[k, leaf, end] = count if count > FORGOTTEN else 0.0
        if classes[k, leaf, end] == y:
            entry = end
        if counts[k, leaf, end] < counts[k, leaf, least]:
            least = end
        end += 1
    if entry < 0:
        entry = end if end < S else least
        classes[k, leaf, entry] = y
        counts[k, leaf, entry] = 0.0
    counts[k, leaf, entry] += 1.0
    totals[k, leaf] = HALF * totals[k, leaf] + 1.0


@compiled_borrowing_inline
def remember(recent: IntArray, k: int, leaf: int, row: int) -> None:
    """Note the number of a row as the last one at a leaf."""
    for i in range(recent.shape[2] - 1, 0, -1):
        recent[k, leaf, i] = recent[k, leaf, i - 1]
    recent[k, leaf, 0] = row


@compiled_borrowing
def fill_softmax(logs: FloatArray, weights: FloatArray, power: IntArray) -> None:
    """Fill `weights` (T,) with exp(logs) scaled to sum to 1."""
    T = logs.shape[0]
    top = logs[0]
    for j in range(1, T):
        top = max(top, logs[j])
    for j in range(T):
        weights[j] = logs[j] - top
    fill_exponentials(weights, power)
    total = 0.0
    for j in range(T):
        total += weights[j]
    for j in range(T):
        weights[j] /= total


class Listed(NamedTuple):
    """What a leaf's list of classes says about a class y."""

    end: int
    """classes listed"""
    at: int
    """where y is, −1 if it is not listed"""
    counted: float
    """its count, 0 if it is not listed"""
    top: int
    """where the largest count is, the first of several"""
    least: int
    """where the least count is, the first of several"""


@compiled_borrowing_inline
def _read_list(
    classes: WordArray,
    counts: FloatArray,
    k: int,
    leaf: int,
    y: int,
    share: float,
    scores: FloatArray,
) -> Listed:
    """Add the counts at a leaf, times `share`, to the scores (M,) of their classes."""
    end = 0
    at = -1
    count = 0.0
    top = 0
    least = 0
    most_count = -1.0
    least_count = np.inf
    while end < classes.shape[2]:
        c = classes[k, leaf, end]
        if c < 0:
            break
        n = counts[k, leaf, end]
        scores[c] += share * n
        at = end if c == y else at
        count = n if c == y else count
        top = end if n > most_count else top
        most_count = max(n, most_count)
        least = end if n < least_count else least
        least_count = min(n, least_count)
        end += 1
    return Listed(end, at, count, top, least)


@compiled_borrowing_inline
def _read_and_halve(
    classes: WordArray,
    counts: FloatArray,
    k: int,
    leaf: int,
    y: int,
    share: float,
    scores: FloatArray,
) -> float:
    """Do what `_read_list` does, then what `add_fast` does but for the total.

    Returns the count of y before.
    """
    S = classes.shape[2]
    end = 0
    at = -1
    count = 0.0
    least = 0
    least_count = np.inf
    while end < S:
        c = classes[k, leaf, end]
        if c < 0:
            break
        n = counts[k, leaf, end]
        scores[c] += share * n
        half = HALF * n
        half = half if half > FORGOTTEN else 0.0
        counts[k, leaf, end] = half
        at = end if c == y else at
        count = n if c == y else count
        least = end if half < least_count else least
        least_count = min(half, least_count)
        end += 1
    if at < 0:
        at = end if end < S else least
        classes[k, leaf, at] = y
        counts[k, leaf, at] = 0.0
    counts[k, leaf, at] += 1.0
    return count


@compiled_borrowing
def visit_leaves(
    state: ForestState,
    n_active: int,
    y: int,
    weight: float,
    row: int,
    ahead: int,
    space: Workspace,
    scores: FloatArray,
) -> None:
    """Score a row at its leaves, then learn it there unless its class y is −1.

    Its leaves are `space.leaves`; those of row `ahead` of the rows found are asked for.
    Both scores of each class are written into `scores` (2, M). A tree that learns gains
    or loses weight by the probability that it gave to y, and `space.surprised` says
    whether another class was more frequent at its leaf. One visit does it all: most
    of its time goes into bringing a leaf's counts from memory.
    """
    classes = state.slow_class
    counts = state.slow_count
    totals = state.slow_total
    recent = state.recent
    origin = state.origin
    fast_classes = state.fast_class
    fast_counts = state.fast_count
    fast_totals = state.fast_total
    place = state.place
    leaves = space.leaves
    surprised = space.surprised
    logs = space.logs
    weights = space.weights
    log_weight = state.log_weight
    class_weight = state.class_weight
    T = leaves.shape[0]
    S = classes.shape[2]
    n_learnt = n_active + (1 if y >= 0 and not state.active[y] else 0)
    total_weight = state.total_weight[0]
    prior = (class_weight[y] + 0.5) / (total_weight + 0.5 * max(n_learnt, 1))
    for kind in range(2):
        fill_softmax(log_weight[kind], weights[kind], space.weight_bits)
    scores[:] = 0.0
    slow_scores = scores[0]
    fast_scores = scores[1]
    slow_shares = 0.0
    fast_shares = 0.0
    for j in range(T):
        prefetch_leaf(state, ahead, j, space)
        k = place[j]
        leaf = leaves[j]
        grown = origin[k, leaf]
        total = totals[k, leaf]
        share = weights[0, j] / (total + 1.0)
        slow_shares += share
        slow = _read_list(classes, counts, k, leaf, y, share, slow_scores)
        fast_total = fast_totals[k, grown]
        share = weights[1, j] / (fast_total + 1.0)
        fast_shares += share
        if y < 0:
            _read_list(fast_classes, fast_counts, k, grown, y, share, fast_scores)
            continue
        fast_count = _read_and_halve(
            fast_classes, fast_counts, k, grown, y, share, fast_scores
        )
        fast_totals[k, grown] = HALF * fast_total + 1.0
        logs[j] = (slow.counted + prior) / (total + 1.0)
        logs[T + j] = (fast_count + prior) / (fast_total + 1.0)
        surprised[j] = slow.end > 0 and slow.at != slow.top
        at = slow.at
        if at < 0:
            at = slow.end if slow.end < S else slow.least
            classes[k, leaf, at] = y
            counts[k, leaf, at] = 0.0
        counts[k, leaf, at] += weight
        totals[k, leaf] = total + weight
        remember(recent, k, leaf, row)
    evidence = total_weight + 0.5 * max(n_active, 1)
    _finish_scores(slow_scores, slow_shares / evidence, class_weight, space.score_bits)
    _finish_scores(fast_scores, fast_shares / evidence, class_weight, space.score_bits)
    if y >= 0:
        fill_logs(logs, space.log_bits)
        for j in range(T):
            log_weight[0, j] = MEMORY * log_weight[0, j] + RATE * logs[j]
            log_weight[1, j] = MEMORY * log_weight[1, j] + RATE * logs[T + j]


@compiled_borrowing_inline
def _finish_scores(
    scores: FloatArray, prior: float, class_weight: FloatArray, bits: WordArray
) -> None:
    """Add the classes' frequencies to the mixtures (M,), and take logarithms."""
    for c in range(scores.shape[0]):
        scores[c] = scores[c] + prior * (class_weight[c] + 0.5) + SMOOTHING
    fill_logs(scores, bits)


@compiled_borrowing
def learn_in_tree(
    state: ForestState, k: int, rows: ForestState, first: int, end: int, past: bool
) -> None:
    """Let the tree at place k learn rows first … end − 1 of a forest's window.

    They are remembered at their leaves if they are rows of the forest itself.
    """
    feature = state.feature
    threshold = state.threshold
    child = state.child
    classes = state.slow_class
    counts = state.slow_count
    totals = state.slow_total
    recent = state.recent
    fast_classes = state.fast_class
    fast_counts = state.fast_count
    fast_totals = state.fast_total
    window = rows.window
    R = window.shape[0]
    for number in range(first, end):
        at = number % R
        y = rows.window_class[at]
        node, _ = find_leaf(feature, threshold, child, k, window[at])
        leaf = -1 - child[k, node]
        add_slow(classes, counts, totals, k, leaf, y, rows.window_weight[at])
        if not past:
            remember(recent, k, leaf, number)
        leaf = state.origin[k, leaf]
        add_fast(fast_classes, fast_counts, fast_totals, k, leaf, y)
