"""Leaves of a window forest: where a row ends up, what is counted there, the scores.

Leaf l of tree j has slow counts C, the weight of each class since the tree was grown,
and fast counts c, halved at each visit before the new row is added, so that they know
the last few rows only. With π_c = (n_c + ½)/(Σn + M'/2), M' active classes:

$$P_j(c) = \\frac{C_{jc} + π_c}{C_j + 1}, \\qquad
  \\mathrm{score}_c = \\log\\Bigl(\\sum_j w_j P_j(c) + 10^{-4}\\Bigr), \\qquad
  w = \\mathrm{softmax}(a), \\qquad
  a_j ← 0.98\\,a_j + 0.1 \\log P_j(y)$$

and the same for fast counts with weights of their own. Mixing trees with weights from
their log loss, older losses fading, is the fixed-share idea of Herbster & Warmuth,
"Tracking the best expert" (1998), in its simplest form.
"""

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray, WordArray
from rpnb.core.kernels.compiled import compiled, compiled_inline
from rpnb.core.kernels.random_bits import fill_logs
from rpnb.core.pooled.window_forest_state import ForestState

SMOOTHING = 1e-4
MEMORY = 0.98
RATE = 0.1
HALF = 0.5
FORGOTTEN = 1e-30
"""A fast count below this is 0: no arithmetic with subnormal numbers"""

_LOG2_E = 1.4426950408889634
# log 2 in two parts; the first has 32 bits, so its multiples by integers are exact.
_LOG_TWO_HIGH = 6.93147180369123816490e-01
_LOG_TWO_LOW = 1.90821492927058770002e-10
_LEAST_EXPONENT = -700.0
_INVERSE_FACTORIALS = (
    1.0 / 6227020800.0,
    1.0 / 479001600.0,
    1.0 / 39916800.0,
    1.0 / 3628800.0,
    1.0 / 362880.0,
    1.0 / 40320.0,
    1.0 / 5040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
)


@compiled_inline
def find_leaf(
    feature: WordArray, threshold: FloatArray, child: WordArray, k: int, x: FloatArray
) -> int:
    """Return the leaf of the tree at place k to which x (p,) belongs."""
    node = 0
    step = child[k, 0]
    while step >= 0:
        node = step + (0 if x[feature[k, node]] <= threshold[k, node] else 1)
        step = child[k, node]
    return -1 - step


@compiled_inline
def add_to_leaf(
    classes: WordArray,
    counts: FloatArray,
    totals: FloatArray,
    k: int,
    leaf: int,
    y: int,
    weight: float,
) -> None:
    """Count a row of class y and its weight at a leaf of the tree at place k."""
    S = classes.shape[2]
    entry = -1
    end = 0
    least = 0
    while end < S and classes[k, leaf, end] >= 0:
        fast = HALF * counts[k, leaf, 1, end]
        counts[k, leaf, 1, end] = fast if fast > FORGOTTEN else 0.0
        if classes[k, leaf, end] == y:
            entry = end
        if counts[k, leaf, 0, end] < counts[k, leaf, 0, least]:
            least = end
        end += 1
    if entry < 0:
        entry = end if end < S else least
        classes[k, leaf, entry] = y
        counts[k, leaf, 0, entry] = 0.0
        counts[k, leaf, 1, entry] = 0.0
    counts[k, leaf, 0, entry] += weight
    counts[k, leaf, 1, entry] += 1.0
    totals[k, leaf, 0] += weight
    totals[k, leaf, 1] = HALF * totals[k, leaf, 1] + 1.0


@compiled
def fill_exponentials(values: FloatArray, power: IntArray) -> None:
    """Replace each value, which is ≤ 0, by its exponential.

    A library's `exp` may differ in its last bit between machines, hence a series: with
    x = k·log 2 + r and |r| ≤ ½ log 2, exp x = 2ᵏ·exp r. `power` is working space.
    """
    scale = power.view(np.float64)
    for i in range(values.shape[0]):
        x = max(values[i], _LEAST_EXPONENT)
        k = np.floor(x * _LOG2_E + 0.5)
        r = (x - k * _LOG_TWO_HIGH) - k * _LOG_TWO_LOW
        total = 0.0
        for coefficient in _INVERSE_FACTORIALS:
            total = total * r + coefficient
        power[i] = (np.int64(k) + 1023) << 52
        values[i] = total * scale[i]


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
def find_leaves(state: ForestState, x: FloatArray, leaves: IntArray) -> None:
    """Fill `leaves` (T,) with the leaf of x (p,) in each tree."""
    feature = state.feature
    threshold = state.threshold
    child = state.child
    for j in range(leaves.shape[0]):
        leaves[j] = find_leaf(feature, threshold, child, state.place[j], x)


@compiled
def score_leaves(
    state: ForestState,
    leaves: IntArray,
    n_active: int,
    weights: FloatArray,
    power: WordArray,
    powers: IntArray,
    scores: FloatArray,
) -> None:
    """Write both scores of each class into `scores` (2, M), for a row at `leaves`.

    `weights` (T,), `power` (M,) and `powers` (T,) are working space.
    """
    classes = state.leaf_class
    counts = state.leaf_count
    totals = state.leaf_total
    T = leaves.shape[0]
    S = classes.shape[2]
    M = scores.shape[1]
    evidence = state.total_weight[0] + 0.5 * n_active
    for kind in range(2):
        fill_softmax(state.log_weight[kind], weights, powers)
        out = scores[kind]
        out[:] = 0.0
        prior = 0.0
        for j in range(T):
            k = state.place[j]
            leaf = leaves[j]
            share = weights[j] / (totals[k, leaf, kind] + 1.0)
            prior += share
            for entry in range(S):
                c = classes[k, leaf, entry]
                if c < 0:
                    break
                out[c] += share * counts[k, leaf, kind, entry]
        prior /= evidence
        for c in range(M):
            out[c] = out[c] + prior * (state.class_weight[c] + 0.5) + SMOOTHING
        fill_logs(out, power)


@compiled
def learn_at_leaves(
    state: ForestState,
    leaves: IntArray,
    n_active: int,
    y: int,
    weight: float,
    logs: FloatArray,
    power: WordArray,
) -> None:
    """Let trees gain or lose weight by their probability of y, then count the row.

    `logs` (2·T,) and `power` (2·T,) are working space.
    """
    classes = state.leaf_class
    counts = state.leaf_count
    totals = state.leaf_total
    T = leaves.shape[0]
    S = classes.shape[2]
    prior = (state.class_weight[y] + 0.5) / (state.total_weight[0] + 0.5 * n_active)
    for j in range(T):
        k = state.place[j]
        leaf = leaves[j]
        slow = prior
        fast = prior
        for entry in range(S):
            if classes[k, leaf, entry] == y:
                slow += counts[k, leaf, 0, entry]
                fast += counts[k, leaf, 1, entry]
        logs[j] = slow / (totals[k, leaf, 0] + 1.0)
        logs[T + j] = fast / (totals[k, leaf, 1] + 1.0)
        add_to_leaf(classes, counts, totals, k, leaf, y, weight)
    fill_logs(logs, power)
    for j in range(T):
        state.log_weight[0, j] = MEMORY * state.log_weight[0, j] + RATE * logs[j]
        state.log_weight[1, j] = MEMORY * state.log_weight[1, j] + RATE * logs[T + j]
