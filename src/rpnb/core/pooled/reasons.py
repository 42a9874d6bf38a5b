r"""Contributions of members and features to the log odds of one class over another.

With the letters of pool.h, the log odds of a row are

$$G = \log\frac{P(c)}{P(c')} = b_c - b_{c'} + \sum_k g_k, \qquad
  g_k = (w_k + v_{kc}) f_k(c) - (w_k + v_{kc'}) f_k(c'):$$

so member k contributes exactly $g_k$. The contributions of features are Shapley values:
the value of a set S of features is G of a row that has the row's values of S, and a
background row's values of all other features.

If the allowed number of evaluations suffices for all sets, the values are computed by
definition, and are exact. Otherwise they are means over random orders of the features,
each taken forwards and backwards (Castro, Gómez & Tejada, "Polynomial calculation of
the Shapley value based on sampling", 2009; Mitchell, Cooper, Frank & Holmes, "Sampling
permutations for Shapley value estimation", 2022): the change of G when a feature gets
the row's value, after the features before it in the order. The two orders of a pair of
features occur equally often, so each feature gets half of their interaction, which is
its Shapley value: terms that are additive or quadratic in the features have no sampling
error. The values always sum to the difference between row and background, up to
rounding.
"""

from collections.abc import Callable
from functools import lru_cache
from math import factorial
from typing import NamedTuple, TypeAlias

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.kernels.elementary import exp
from rpnb.core.pooled.pool import Pool, terms_in_use, weights_in_use

#: Function from sets of features, given as masks (E, m), to their values (E,).
Game: TypeAlias = Callable[[BoolArray], FloatArray]

# Scores below the first are compressed to at most the second below it; as in pool.cpp.
_LOWEST, _BEYOND = -6.0, 6.0
# A standard error needs two.
_LEAST_PAIRS = 2
# Most features for which all sets may be evaluated.
_MOST_EXACT = 12


def limited_scores(scores: FloatArray, active: BoolArray) -> FloatArray:
    """Return f (n, K, M) from scores; 0 for classes that are not active."""
    known = np.where(active, scores, -np.inf)
    d = np.where(active, scores - known.max(axis=2, keepdims=True), 0.0)
    x = np.maximum(_LOWEST - d, 0.0)
    low = (_LOWEST - _BEYOND) + _BEYOND * _BEYOND / (_BEYOND + x)
    return np.where(d > _LOWEST, d, low)


def member_terms(pool: Pool, scores: FloatArray) -> FloatArray:
    """Return the terms of the members, then the constant, per class: (n, K + 1, M)."""
    f = limited_scores(scores, pool.active)
    n, K, M = f.shape
    terms = np.empty((n, K + 1, M))
    added = terms_in_use(pool)
    terms[:, :K] = (weights_in_use(pool)[:, None] + added[:K]) * f
    terms[:, K] = added[K]
    return terms


def log_odds(terms: FloatArray) -> FloatArray:
    """Return the sums (n, M) of these terms, in the order of the members."""
    total = np.zeros((terms.shape[0], terms.shape[2]))
    for k in range(terms.shape[1]):  # bits of `sum` over an axis may depend on n
        total += terms[:, k]
    return total


def given_out(pool: Pool, odds: FloatArray) -> FloatArray:
    """Return P' (n, M) from these sums; 0 for classes that are not active."""
    powers = np.where(pool.active, pool.power[0] * odds, -np.inf)
    Q = exp(powers - powers.max(axis=1, keepdims=True))
    share = np.where(pool.active, pool.class_weight + 0.5, 0.0)
    mixed: FloatArray = (1.0 - pool.noise[0]) * (Q / Q.sum(axis=1, keepdims=True))
    return mixed + pool.noise[0] * (share / share.sum())


class ShapleyValues(NamedTuple):
    """Contributions of m features."""

    values: FloatArray
    """(m,)"""
    error: FloatArray
    """(m,) standard error; 0 where the values are exact"""
    base: float
    """the value of no feature, the background"""
    score: float
    """the value of all features, the row"""


def shapley_values(games: list[Game], m: int, evaluations: int) -> ShapleyValues:
    """Return the mean Shapley values of games of m features: one per background row.

    The games share `evaluations` sets of features, but at least two orders and their
    reverses are evaluated. The orders depend on m only.
    """
    if m == 0:
        at = [float(game(np.zeros((1, 0), np.bool_))[0]) for game in games]
        mean = float(np.mean(at))
        return ShapleyValues(np.zeros(0), np.zeros(0), mean, mean)
    if m <= _MOST_EXACT and len(games) << m <= evaluations:
        return _exact(games, m)
    pairs = max(evaluations // (2 * m * len(games)), 1)
    if pairs * len(games) < _LEAST_PAIRS:
        pairs = _LEAST_PAIRS
    found, ends = [], []
    for t in range(pairs):
        for k, game in enumerate(games):
            values, base, score = _pair(game, _order(m, t * len(games) + k))
            found.append(values)
            ends.append((base, score))
    every = np.stack(found)
    base, score = np.mean(ends, axis=0)
    error = every.std(axis=0, ddof=1) / np.sqrt(len(found))
    return ShapleyValues(every.mean(axis=0), error, float(base), float(score))


def _exact(games: list[Game], m: int) -> ShapleyValues:
    """Return Shapley values by their definition: all 2ᵐ sets."""
    masks, shares = _all_sets(m)
    value = np.mean([game(masks) for game in games], axis=0)
    return ShapleyValues(shares @ value, np.zeros(m), float(value[0]), float(value[-1]))


@lru_cache(maxsize=8)
def _all_sets(m: int) -> tuple[BoolArray, FloatArray]:
    """Return all sets (2ᵐ, m), and their coefficients in each feature's value (m, 2ᵐ).

    The first set is empty, the last has all features. The coefficient of a set of size
    s is (s − 1)!(m − s)!/m! for a feature in it, and −s!(m − s − 1)!/m! for another.
    """
    masks = (np.arange(2**m)[:, None] >> np.arange(m)) & 1 == 1
    size = masks.sum(axis=1)
    whole = factorial(m)
    inside = [
        factorial(s - 1) * factorial(m - s) / whole if s else 0.0 for s in range(m + 1)
    ]
    outside = [
        -factorial(s) * factorial(m - s - 1) / whole if s < m else 0.0
        for s in range(m + 1)
    ]
    counts = np.where(
        masks, np.array(inside)[size][:, None], np.array(outside)[size][:, None]
    )
    return masks, np.ascontiguousarray(counts.T)


@lru_cache(maxsize=1024)
def _order(m: int, t: int) -> IntArray:
    """Return the t-th random order of m features."""
    order: IntArray = np.random.default_rng([m, t]).permutation(m)
    return order


def _pair(game: Game, order: IntArray) -> tuple[FloatArray, float, float]:
    """Return the mean contributions in an order and its reverse, and both ends."""
    m = order.shape[0]
    place = np.empty(m, np.int64)
    place[order] = np.arange(m)
    # The first s features of the order, s = 0 … m, and the last s, s = 1 … m − 1.
    forwards = place[None, :] < np.arange(m + 1)[:, None]
    backwards = place[None, :] >= m - np.arange(1, m)[:, None]
    value = game(np.concatenate([forwards, backwards]))
    first = value[: m + 1]
    last = np.concatenate([first[:1], value[m + 1 :], first[-1:]])
    values = np.empty(m)
    values[order] = 0.5 * (np.diff(first) + np.diff(last)[::-1])
    return values, float(first[0]), float(first[-1])
