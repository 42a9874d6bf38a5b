"""Rules that combine the K members' posteriors: Kittler, Hatef, Duin & Matas (1998).

The paper's rule, equation (6), needs no member's posterior and is in
`core.bayes.scoring`. The rules here do: each member's log posterior is normalised over
the classes, and the rule is applied to the K log posteriors of each class. Scores are
logarithms wherever the rule allows, so that classes can be compared even where
posteriors underflow.
"""

from math import exp, log, log1p
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from rpnb.core.bayes.densities import Gaussians
from rpnb.core.kernels.arrays import BoolArray, FloatArray
from rpnb.core.kernels.compiling.compiled import compiled

Combiner: TypeAlias = Literal[
    "log_sum", "sum", "product", "vote", "max", "min", "median"
]
COMBINERS: Final[tuple[Combiner, ...]] = get_args(Combiner)

_LOG_TWO_PI = log(2.0 * np.pi)
_SUM = COMBINERS.index("sum")
_PRODUCT = COMBINERS.index("product")
_VOTE = COMBINERS.index("vote")
_MAX = COMBINERS.index("max")
_MIN = COMBINERS.index("min")


@compiled
def member_log_posteriors(
    z: FloatArray,
    gaussians: Gaussians,
    bias: FloatArray,
    eligible: BoolArray,
    out: FloatArray,
) -> None:
    """Write log P(y_m | z⁽ᵏ⁾) to `out` (K, M), normalised over m: equation (5).

    A class that is not eligible gets −∞. `bias` is K times the log prior.
    """
    K, M = out.shape
    q = z.shape[0] // K
    for k in range(K):
        best = -1
        for m in range(M):
            out[k, m] = -np.inf
            if eligible[m]:
                total = bias[m] / K
                for j in range(k * q, (k + 1) * q):
                    precision = gaussians.precision[m, j]
                    delta = z[j] - gaussians.mean[m, j]
                    distance = min(delta * delta * precision, 1e300)
                    total -= 0.5 * (_LOG_TWO_PI - log(precision) + distance)
                out[k, m] = total
                if best < 0 or total > out[k, best]:
                    best = m
        _normalise(out[k], best)


@compiled
def _normalise(row: FloatArray, best: int) -> None:
    """Subtract log Σ exp, in a way that keeps the digits of 1 − posterior of `best`."""
    highest = row[best]
    others = 0.0
    for m in range(row.shape[0]):
        if m != best:
            others += exp(row[m] - highest)
    excess = log1p(others)
    for m in range(row.shape[0]):
        row[m] = (row[m] - highest) - excess


@compiled
def combine(rule: int, posterior: FloatArray, scores: FloatArray) -> None:
    """Combine log posteriors (K, M) to one score per class (M,); the largest wins.

    sum: logarithm of the mean posterior. product: sum of the logarithms. vote: share of
    the members that put the class first. max, min, median: logarithm of the largest,
    smallest and middle posterior; the middle of an even number is the mean of two.
    """
    K, M = posterior.shape
    if rule == _VOTE:
        scores[:] = 0.0
        for k in range(K):
            scores[np.argmax(posterior[k])] += 1.0 / K
        return
    for m in range(M):
        values = posterior[:, m]
        if rule == _PRODUCT:
            scores[m] = values.sum()
        elif rule == _MAX:
            scores[m] = values.max()
        elif rule == _MIN:
            scores[m] = values.min()
        elif rule == _SUM:
            scores[m] = _log_mean(values)
        else:
            ordered = np.sort(values)
            scores[m] = _log_mean(ordered[(K - 1) // 2 : K // 2 + 1])


@compiled
def _log_mean(values: FloatArray) -> float:
    """Return the logarithm of the mean of exp(values)."""
    highest = values.max()
    if highest == -np.inf:
        return highest
    total = 0.0
    for value in values:
        total += exp(value - highest)
    return highest + log(total / values.shape[0])


@compiled
def best_combined(scores: FloatArray, eligible: BoolArray) -> int:
    """Return the eligible class with the largest score, the first of equals, or −1."""
    best = -1
    for m in range(scores.shape[0]):
        if eligible[m] and (best < 0 or scores[m] > scores[best]):
            best = m
    return best
