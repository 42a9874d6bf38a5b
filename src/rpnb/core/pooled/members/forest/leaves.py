r"""Leaves of a window forest: where a row ends up, what is counted there, the scores.

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
from rpnb.core.kernels.compiling.compiled import compiled, compiled_inline
from rpnb.core.kernels.exponentials import fill_exponentials
from rpnb.core.kernels.random_bits import fill_logs
from rpnb.core.pooled.members.forest.state import ForestState, Workspace

SMOOTHING = 1e-4
MEMORY = 0.98
RATE = 0.1
HALF = 0.5
FORGOTTEN = 1e-30
"""A fast count below this is 0: no arithmetic with subnormal numbers"""


@compiled_inline
def find_leaf(
    feature: WordArray, threshold: FloatArray, child: WordArray, k: int, x: FloatArray
) -> tuple[int, int]:
    """Return the leaf, as a node, of x (p,) in the tree at place k, and its depth."""
    node = 0
    depth = 0
    step = child[k, 0]
    while step >= 0:
        node = step + (0 if x[feature[k, node]] <= threshold[k, node] else 1)
        step = child[k, node]
        depth += 1
    return node, depth


@compiled_inline
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


@compiled_inline
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


@compiled_inline
def remember(recent: IntArray, k: int, leaf: int, row: int) -> None:
    """Note the number of a row as the last one at a leaf."""
    for i in range(recent.shape[2] - 1, 0, -1):
        recent[k, leaf, i] = recent[k, leaf, i - 1]
    recent[k, leaf, 0] = row


@compiled
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


@compiled
def find_leaves(state: ForestState, x: FloatArray, space: Workspace) -> None:
    """Find the leaf of x (p,) in each tree: `space.nodes`, `depths` and `leaves`."""
    feature = state.feature
    threshold = state.threshold
    child = state.child
    place = state.place
    nodes = space.nodes
    depths = space.depths
    leaves = space.leaves
    # Four trees at once, each waiting at its leaf for the others: a step down has to
    # wait for memory, and these waits then overlap. Their number is a multiple of four.
    for j in range(0, nodes.shape[0], 4):
        k0 = place[j]
        k1 = place[j + 1]
        k2 = place[j + 2]
        k3 = place[j + 3]
        node0 = 0
        depth0 = 0
        step0 = child[k0, 0]
        node1 = 0
        depth1 = 0
        step1 = child[k1, 0]
        node2 = 0
        depth2 = 0
        step2 = child[k2, 0]
        node3 = 0
        depth3 = 0
        step3 = child[k3, 0]
        while step0 & step1 & step2 & step3 >= 0:
            right = not x[feature[k0, node0]] <= threshold[k0, node0]
            node0 = step0 + right if step0 >= 0 else node0
            depth0 += step0 >= 0
            step0 = child[k0, node0]
            right = not x[feature[k1, node1]] <= threshold[k1, node1]
            node1 = step1 + right if step1 >= 0 else node1
            depth1 += step1 >= 0
            step1 = child[k1, node1]
            right = not x[feature[k2, node2]] <= threshold[k2, node2]
            node2 = step2 + right if step2 >= 0 else node2
            depth2 += step2 >= 0
            step2 = child[k2, node2]
            right = not x[feature[k3, node3]] <= threshold[k3, node3]
            node3 = step3 + right if step3 >= 0 else node3
            depth3 += step3 >= 0
            step3 = child[k3, node3]
        nodes[j] = node0
        depths[j] = depth0
        leaves[j] = -1 - step0
        nodes[j + 1] = node1
        depths[j + 1] = depth1
        leaves[j + 1] = -1 - step1
        nodes[j + 2] = node2
        depths[j + 2] = depth2
        leaves[j + 2] = -1 - step2
        nodes[j + 3] = node3
        depths[j + 3] = depth3
        leaves[j + 3] = -1 - step3


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


@compiled_inline
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


@compiled
def visit_leaves(
    state: ForestState,
    n_active: int,
    y: int,
    weight: float,
    row: int,
    space: Workspace,
    scores: FloatArray,
) -> None:
    """Score a row at its leaves, then learn it there unless its class y is −1.

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
        fast = _read_list(fast_classes, fast_counts, k, grown, y, share, fast_scores)
        if y < 0:
            continue
        logs[j] = (slow.counted + prior) / (total + 1.0)
        logs[T + j] = (fast.counted + prior) / (fast_total + 1.0)
        surprised[j] = slow.end > 0 and slow.at != slow.top
        at = slow.at
        if at < 0:
            at = slow.end if slow.end < S else slow.least
            classes[k, leaf, at] = y
            counts[k, leaf, at] = 0.0
        counts[k, leaf, at] += weight
        totals[k, leaf] = total + weight
        remember(recent, k, leaf, row)
        add_fast(fast_classes, fast_counts, fast_totals, k, grown, y)
    evidence = total_weight + 0.5 * max(n_active, 1)
    _finish_scores(slow_scores, slow_shares / evidence, class_weight, space.score_bits)
    _finish_scores(fast_scores, fast_shares / evidence, class_weight, space.score_bits)
    if y >= 0:
        fill_logs(logs, space.log_bits)
        for j in range(T):
            log_weight[0, j] = MEMORY * log_weight[0, j] + RATE * logs[j]
            log_weight[1, j] = MEMORY * log_weight[1, j] + RATE * logs[T + j]


@compiled_inline
def _finish_scores(
    scores: FloatArray, prior: float, class_weight: FloatArray, bits: WordArray
) -> None:
    """Add the classes' frequencies to the mixtures (M,), and take logarithms."""
    for c in range(scores.shape[0]):
        scores[c] = scores[c] + prior * (class_weight[c] + 0.5) + SMOOTHING
    fill_logs(scores, bits)


@compiled
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
