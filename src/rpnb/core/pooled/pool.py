r"""The pool: one log-linear model of the members' scores, learnt along the stream.

With f_k(c) = max(s_k(c) − max_c s_k(c), −6) the clipped scores of member k,

.. math:: P(c) ∝ \exp(b_c + Σ_k (w_k + v_{kc}) f_k(c))

predicts the class with the largest P: evidence is multiplied (a logarithmic opinion
pool; Genest & Zidek, "Combining probability distributions", 1986). The weights follow
the log-loss by an online Newton step (Hazan, Agarwal & Kale, "Logarithmic regret
algorithms for online convex optimization", 2007), with a memory of about 100 rows for
the curvature:

.. math::
    g_k = r\,(E_P f_k - f_k(y)), \quad
    H ← 0.99 H + 0.01·30 I + ½(r\,\mathrm{Cov}_P f + g g^T), \quad
    w ← \max(0, w - H^{-1} g)

from w = 1/(number of members), 0 for transitions, and H = 30 I. What a class adds to
the weights, v, and its constant b follow the same loss, each by a Newton step of its
own, with f = 1 for b:

.. math::
    d_c = P(c) - [c = y], \quad
    h_{kc} ← 0.99 h_{kc} + 0.01 ρ
             + r\,(ω P(c)(1 - P(c)) + \max(ω - 1, 0) |d_c|) f_k(c)^2, \quad
    v_{kc} ← v_{kc} - r\,ω\,d_c f_k(c)/h_{kc}

from v = b = 0 and h = ρ, with ρ = 400 for v and 60 for b: what single classes add moves
slowly, and matters where there are many rows. ω is the weight of the row. Without it
constants would take back what weights of classes are given for; a weight above 1 adds
to h as well, so that a heavy row moves each term only so far. Where labels come d rows
late, ρ is d/5 times as much, if that is more: terms that follow the latest labels
quickly would follow what is long past.

Some labels are noise, which no scores can foretell. The probabilities given out are

.. math:: P'(c) = (1 - ε) Q(c) + ε/M', \quad Q ∝ P^τ, \quad
          r = (1 - ε) Q(y)/P'(y)

with M' active classes, and r is the probability that the label of a row is not noise
(Lawrence & Schölkopf, "Estimating a kernel Fisher discriminant in the presence of label
noise", 2001). ε follows 1 − r by a running mean of 50 + t rows, at most 1,000, from
0.02; τ follows the log-loss by a Newton step slower than that of the weights,
h ← 0.999 h + 0.03 + Var(log P), and stays in [0.2, 4].
"""

from math import log, sqrt
from typing import Final

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.kernels.compiling.compiled import compiled, compiled_borrowing
from rpnb.core.kernels.exponentials import fill_exponentials
from rpnb.core.kernels.random_bits import fill_logs
from rpnb.core.kernels.vectors import doubles, fused, load_doubles, sum_doubles
from rpnb.core.pooled.pool_state import HISTORY, RIDGE, Pool

#: Where scores are clipped, below the best class.
LOWEST: Final = -6.0
MEMORY: Final = 0.99
#: Of the temperature.
SLOW_MEMORY: Final = 0.999
SLOW_RIDGE: Final = 0.03
LEAST_POWER, MOST_POWER = 0.2, 4.0
#: Of the share of labels that are noise.
LEAST_NOISE, MOST_NOISE = 1e-4, 0.5
FIRST_ROWS, MOST_ROWS = 50.0, 1000.0


@compiled
def pool_rows(
    pool: Pool,
    scores: FloatArray,
    y: IntArray,
    weight: FloatArray,
    labels: IntArray,
    log_posteriors: FloatArray,
    learnt: FloatArray,
) -> None:
    """Predict each row from the members' scores (n, K, M), then learn its label.

    `labels` (n,) is set to the class predicted, −1 where none is active;
    `log_posteriors`, if it has rows, to log P' (n, M), −∞ for classes not active. With
    y of length 0, nothing is learnt; a row of class −1 is not learnt either.

    `learnt` (n, K, M) are the scores to learn from, where they are not those that give
    the predictions; otherwise it has no rows.
    """
    n, K, M = scores.shape
    C = (M + 3) // 4 * 4
    f = np.zeros((K, C))
    g = np.zeros((K, C))
    best = np.empty(K, np.int64)
    posterior = np.zeros(C)
    tempered = np.zeros(C)
    bits = np.empty(C, np.int64)
    logs = np.zeros(C)
    space = np.empty((K + 2, K))
    for i in range(n):
        labels[i] = _combine(pool, scores[i], f, best, logs, posterior, bits)
        if log_posteriors.shape[0] > 0:
            _give_out(pool, logs, tempered, bits, log_posteriors[i])
        if y.shape[0] > 0 and y[i] >= 0:
            label = labels[i]
            if learnt.shape[0] > 0:
                label = _combine(pool, learnt[i], f, best, logs, posterior, bits)
            if label >= 0:
                _count(pool, best, label, y[i], weight[i])
                if pool.active[y[i]]:
                    trust = _learn_power(pool, logs, y[i], tempered, bits)
                    _learn_weights(pool, f, g, y[i], trust, posterior, space)
                    _learn_class_terms(pool, f, y[i], weight[i], trust, posterior)
            else:
                for k in range(pool.mistakes.shape[0]):
                    pool.mistakes[k] += weight[i]
                pool.weight[0] += weight[i]
                pool.seen[0] += 1
                pool.seen[1] += 1
            pool.active[y[i]] = True
            if pool.seen[0] % pool.clock[1] == 0:
                _record(pool)


@compiled
def learn_scored_rows(
    pool: Pool,
    scores: FloatArray,
    y: IntArray,
    weight: FloatArray,
    labels: IntArray,
) -> None:
    """Learn rows from scores (n, K, M) that members gave before any was learnt.

    `labels` (n,) were predicted. No class becomes active: a row of one that is not
    counts as a mistake and moves no weight, since members knew nothing of the class.
    One class is active at least.
    """
    n, K, M = scores.shape
    C = (M + 3) // 4 * 4
    f = np.zeros((K, C))
    g = np.zeros((K, C))
    best = np.empty(K, np.int64)
    posterior = np.zeros(C)
    tempered = np.zeros(C)
    bits = np.empty(C, np.int64)
    logs = np.zeros(C)
    space = np.empty((K + 2, K))
    for i in range(n):
        _combine(pool, scores[i], f, best, logs, posterior, bits)
        _count(pool, best, labels[i], y[i], weight[i])
        if pool.active[y[i]]:
            trust = _learn_power(pool, logs, y[i], tempered, bits)
            _learn_weights(pool, f, g, y[i], trust, posterior, space)
            _learn_class_terms(pool, f, y[i], weight[i], trust, posterior)
        if pool.seen[0] % pool.clock[1] == 0:
            _record(pool)


@compiled
def _record(pool: Pool) -> None:
    """Add an entry to the history; where that fills it, keep every second entry."""
    K = pool.weights.shape[0]
    at = pool.clock[0]
    entry = pool.history[at]
    entry[0] = pool.seen[0]
    entry[1] = pool.weight[0]
    for k in range(K + 1):
        entry[2 + k] = pool.mistakes[k]
    for k in range(K):
        entry[K + 3 + k] = pool.weights[k]
    at += 1
    if at == HISTORY:
        at = HISTORY // 2
        for i in range(at):
            for k in range(entry.shape[0]):
                pool.history[i, k] = pool.history[2 * i + 1, k]
        pool.clock[1] *= 2
    pool.clock[0] = at


@compiled_borrowing
def _combine(
    pool: Pool,
    scores: FloatArray,
    f: FloatArray,
    best: IntArray,
    logs: FloatArray,
    posterior: FloatArray,
    power_bits: IntArray,
) -> int:
    """Set f, each member's best class, log P and P; return the best class."""
    K, M = scores.shape
    active = pool.active
    for c in range(M):
        logs[c] = pool.class_terms[K, c]
    for k in range(K):
        row = scores[k]
        added = pool.class_terms[k]
        top = -1
        highest = -np.inf
        for c in range(M):
            if active[c] and (top < 0 or row[c] > highest):
                top = c
                highest = row[c]
        best[k] = top
        if top < 0:
            return -1
        w = pool.weights[k]
        for c in range(M):
            value = row[c] - highest
            # Written so that NaN, of a class that is not active, is replaced as well.
            value = value if value > LOWEST else LOWEST
            f[k, c] = value
            logs[c] += (w + added[c]) * value
    label = -1
    for c in range(M):
        if active[c] and (label < 0 or logs[c] > logs[label]):
            label = c
    shift = _normalise(active, logs, 1.0, logs[label], posterior, power_bits)
    for c in range(M):
        logs[c] -= shift
    return label


@compiled_borrowing
def _normalise(
    active: BoolArray,
    logs: FloatArray,
    power: float,
    highest: float,
    posterior: FloatArray,
    power_bits: IntArray,
) -> float:
    """Set `posterior` to exp(power·logs) over its sum, and return that sum's logarithm.

    Classes that are not active get 0; `highest` is the largest of power·logs.
    """
    M = active.shape[0]
    for c in range(M):
        posterior[c] = power * logs[c] - highest if active[c] else 0.0
    fill_exponentials(posterior[:M], power_bits)
    total = 0.0
    for c in range(M):
        posterior[c] = posterior[c] if active[c] else 0.0
        total += posterior[c]
    for c in range(M):
        posterior[c] /= total
    return highest + log(total)


@compiled_borrowing
def _active(pool: Pool) -> int:
    count = 0
    for c in range(pool.active.shape[0]):
        count += pool.active[c]
    return count


@compiled_borrowing
def _give_out(
    pool: Pool,
    logs: FloatArray,
    tempered: FloatArray,
    power_bits: IntArray,
    out: FloatArray,
) -> None:
    """Set `out` to log P', −∞ for classes not active; `tempered` is working space."""
    power = pool.power[0]
    active = pool.active
    n_active = _active(pool)
    out[:] = -np.inf
    if n_active == 0:
        return
    highest = power * _largest(active, logs)
    _normalise(active, logs, power, highest, tempered, power_bits)
    noise = pool.noise[0]
    floor = noise / n_active
    for c in range(out.shape[0]):
        out[c] = (1.0 - noise) * tempered[c] + floor
    fill_logs(out, power_bits.view(np.int32)[: out.shape[0]])
    for c in range(out.shape[0]):
        out[c] = out[c] if active[c] else -np.inf


@compiled_borrowing
def _largest(active: BoolArray, logs: FloatArray) -> float:
    highest = -np.inf
    for c in range(active.shape[0]):
        highest = max(highest, logs[c]) if active[c] else highest
    return highest


@compiled_borrowing
def _count(pool: Pool, best: IntArray, label: int, y: int, weight: float) -> None:
    K = best.shape[0]
    for k in range(K):
        if best[k] != y:
            pool.mistakes[k] += weight
    if label != y:
        pool.mistakes[K] += weight
        pool.seen[1] += 1
    pool.weight[0] += weight
    pool.seen[0] += 1


@compiled_borrowing
def _learn_power(
    pool: Pool, logs: FloatArray, y: int, tempered: FloatArray, power_bits: IntArray
) -> float:
    """Move τ by a Newton step of the log-loss of P', and ε; return r."""
    power = pool.power[0]
    highest = power * _largest(pool.active, logs)
    _normalise(pool.active, logs, power, highest, tempered, power_bits)
    mean = 0.0
    square = 0.0
    for c in range(pool.active.shape[0]):
        if pool.active[c]:
            mean += tempered[c] * logs[c]
            square += tempered[c] * logs[c] * logs[c]
    h = SLOW_MEMORY * pool.power_curvature[0] + SLOW_RIDGE
    h += max(square - mean * mean, 0.0)
    pool.power_curvature[0] = h
    noise = pool.noise[0]
    right = (1.0 - noise) * tempered[y]
    trust = right / (right + noise / _active(pool))
    power -= trust * (mean - logs[y]) / h
    pool.power[0] = min(max(power, LEAST_POWER), MOST_POWER)
    # This row has been counted already.
    rows = min(pool.seen[0] - 1 + FIRST_ROWS, MOST_ROWS)
    noise += ((1.0 - trust) - noise) / rows
    pool.noise[0] = min(max(noise, LEAST_NOISE), MOST_NOISE)
    return trust


@compiled_borrowing
def _learn_weights(
    pool: Pool,
    f: FloatArray,
    g: FloatArray,
    y: int,
    trust: float,
    posterior: FloatArray,
    space: FloatArray,
) -> None:
    """Move w by a Newton step of the log-loss.

    `posterior` (C,) is P; g (K, C) and `space` (K + 2, K) are working space.
    """
    K, C = f.shape
    H = pool.curvature
    mean = space[K]
    gradient = space[K + 1]
    for k in range(K):
        for c in range(C):
            g[k, c] = posterior[c] * f[k, c]
        total = 0.0
        for c in range(C):
            total += g[k, c]
        mean[k] = total
        gradient[k] = trust * (total - f[k, y])
    a = f.reshape(K * C)
    b = g.reshape(K * C)
    for k in range(K):
        for j in range(k + 1):
            lanes = doubles(0.0)
            for c in range(0, C, 4):
                left = load_doubles(a, k * C + c)
                lanes = fused(left, load_doubles(b, j * C + c), lanes)
            covariance = trust * (sum_doubles(lanes) - mean[k] * mean[j])
            value = MEMORY * H[k, j] + 0.5 * (covariance + gradient[k] * gradient[j])
            if k == j:
                value += (1.0 - MEMORY) * RIDGE
            H[k, j] = value
            H[j, k] = value
    _solve_small(H, gradient, space)
    for k in range(K):
        pool.weights[k] = max(0.0, pool.weights[k] - gradient[k])


@compiled_borrowing
def _learn_class_terms(
    pool: Pool,
    f: FloatArray,
    y: int,
    weight: float,
    trust: float,
    posterior: FloatArray,
) -> None:
    """Move what active classes add to the weights, and their constants."""
    K = f.shape[0]
    M = pool.active.shape[0]
    beyond = trust * max(weight - 1.0, 0.0)
    share = trust * weight
    for k in range(K + 1):
        ridge = (1.0 - MEMORY) * pool.class_ridge[k]
        terms = pool.class_terms[k]
        curvature = pool.class_curvature[k]
        row = f[min(k, K - 1)]
        for c in range(M):
            P = posterior[c]
            slope = P - (c == y)
            x = row[c] if k < K else 1.0
            spread = share * P * (1.0 - P) + beyond * abs(slope)
            h = MEMORY * curvature[c] + ridge + spread * x * x
            step = share * slope * x / h
            curvature[c] = h if pool.active[c] else curvature[c]
            terms[c] = terms[c] - step if pool.active[c] else terms[c]


@compiled_borrowing
def _solve_small(H: FloatArray, b: FloatArray, L: FloatArray) -> None:
    """Replace b by H⁻¹ b, by Cholesky's factor L, for which there is space."""
    K = b.shape[0]
    for k in range(K):
        for i in range(k, K):
            value = H[i, k]
            for j in range(k):
                value -= L[i, j] * L[k, j]
            L[i, k] = sqrt(value) if i == k else value / L[k, k]
    for k in range(K):
        for j in range(k):
            b[k] -= L[k, j] * b[j]
        b[k] /= L[k, k]
    for k in range(K - 1, -1, -1):
        for j in range(k + 1, K):
            b[k] -= L[j, k] * b[j]
        b[k] /= L[k, k]
