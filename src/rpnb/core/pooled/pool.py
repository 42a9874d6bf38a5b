"""The pool's weights and class terms: creating, growing and merging them.

Formulas and letters are those of pool.h.
"""

from typing import Final

import numpy as np

from rpnb._core.pooled import Pool, learn_scored_rows, pool_rows
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.kernels.fixed_order import solve_semidefinite
from rpnb.core.pooled.member import arrange, copy_state

__all__ = [
    "Pool",
    "begin",
    "grow_classes",
    "learn_scored_rows",
    "merge",
    "pool_rows",
    "terms_in_use",
    "weights_in_use",
]

#: Initial H is this times I.
RIDGE: Final = 30.0
#: ρ of the class weights v, and of the class constants b.
CLASS_RIDGE: Final = 400.0
CONSTANT_RIDGE: Final = 60.0
#: Delay of labels, in rows, up to which ρ does not grow.
SHORT_DELAY: Final = 5.0
#: ρ of α, which mixes the last weights with their means.
MIX_RIDGE: Final = 10.0
_FIRST_CURVATURE: Final = 30.0
FIRST_NOISE: Final = 0.02
#: Most entries of the history, an even number, and rows between the first ones.
HISTORY: Final = 128
FIRST_STEP: Final = 32
#: Substitute for a missing score, relative to the best class.
NO_SCORE: Final = -6.0
#: Bounds of the temperature, and of the share of labels that are noise.
LEAST_POWER, MOST_POWER = 0.2, 4.0
LEAST_NOISE, MOST_NOISE = 1e-4, 0.5


def begin(first: FloatArray, active: BoolArray, delay: int = 0) -> Pool:
    """Return the initial pool, with weights `first` (K,).

    Labels arrive `delay` rows after the prediction of their row.
    """
    K = first.shape[0]
    return Pool(
        active.copy(),
        first.copy(),
        RIDGE * np.eye(K),
        *first_class_terms(K, active.shape[0], delay),
        first.copy(),
        np.zeros((K + 1, active.shape[0])),
        np.ones(1),
        np.full(1, MIX_RIDGE),
        np.zeros(active.shape[0]),
        np.ones(1),
        np.full(1, _FIRST_CURVATURE),
        np.full(1, FIRST_NOISE),
        np.zeros(K + 1),
        np.zeros(1),
        np.zeros(2, np.int64),
        np.zeros((HISTORY, 2 * K + 3)),
        np.array([0, FIRST_STEP]),
    )


def first_class_terms(
    K: int, M: int, delay: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the initial v and b, their h, and ρ."""
    ridge = np.append(np.full(K, CLASS_RIDGE), CONSTANT_RIDGE)
    ridge *= max(1.0, delay / SHORT_DELAY)
    return np.zeros((K + 1, M)), np.repeat(ridge[:, None], M, axis=1), ridge


def grow_classes(pool: Pool, source: IntArray, active: BoolArray) -> Pool:
    """Return a pool whose class m is class source[m] of `pool`, or new if −1.

    `active` (M,) marks the active classes.
    """
    M = source.shape[0]
    known = np.flatnonzero(source >= 0)
    terms, mean = np.zeros((2, pool.class_ridge.shape[0], M))
    curvature = np.repeat(pool.class_ridge[:, None], M, axis=1)
    terms[:, known] = pool.class_terms[:, source[known]]
    mean[:, known] = pool.mean_terms[:, source[known]]
    curvature[:, known] = pool.class_curvature[:, source[known]]
    return copy_state(pool)._replace(
        active=active.copy(),
        class_terms=terms,
        class_curvature=curvature,
        mean_terms=mean,
        class_weight=arrange(pool.class_weight, source, 0.0),
    )


def weights_in_use(pool: Pool) -> FloatArray:
    """Return the weights (K,) that predictions use: w̄ + α(w − w̄)."""
    used: FloatArray = _mixed(pool, pool.mean_weights, pool.weights)
    return used


def terms_in_use(pool: Pool) -> FloatArray:
    """Return the terms of classes (K + 1, M) that predictions use, constants last."""
    used: FloatArray = _mixed(pool, pool.mean_terms, pool.class_terms)
    return used


def _mixed(pool: Pool, mean: FloatArray, now: FloatArray) -> FloatArray:
    mixed: FloatArray = mean + pool.mix[0] * (now - mean)
    return mixed


def merge(pools: list[Pool], base: Pool | None = None) -> Pool:
    """Return the means of weights and class terms, weighted by their curvatures.

    Averages over rows are weighted by their numbers of rows. Rows and mistakes are
    added, those of `base` counted once; the history is that of the first pool.
    """
    merged = copy_state(pools[0])
    H = np.sum([pool.curvature for pool in pools], axis=0)
    moment = np.sum([(pool.curvature * pool.weights).sum(1) for pool in pools], axis=0)
    merged.weights[:] = np.maximum(solve_semidefinite(H, moment), 0.0)
    merged.curvature[:] = H / len(pools)
    h = np.sum([pool.class_curvature for pool in pools], axis=0)
    moment = np.sum([pool.class_curvature * pool.class_terms for pool in pools], axis=0)
    merged.class_terms[:] = moment / h
    merged.class_curvature[:] = h / len(pools)
    rows = np.array([pool.seen[0] for pool in pools], np.float64)
    share = rows / rows.sum() if rows.any() else np.full(len(pools), 1 / len(pools))
    for field in ("mean_weights", "mean_terms"):
        parts = zip(share, (getattr(pool, field) for pool in pools), strict=True)
        getattr(merged, field)[:] = np.sum([s * part for s, part in parts], axis=0)
    for field in ("mix", "power"):
        values = np.array([getattr(pool, field)[0] for pool in pools])
        shares = np.array([getattr(pool, f"{field}_curvature")[0] for pool in pools])
        getattr(merged, field)[0] = (values * shares).sum() / shares.sum()
        getattr(merged, f"{field}_curvature")[0] = shares.mean()
    merged.noise[0] = np.mean([pool.noise[0] for pool in pools])
    for pool in pools[1:]:
        merged.active[:] |= pool.active
        merged.mistakes[:] += pool.mistakes
        merged.weight[:] += pool.weight
        merged.class_weight[:] += pool.class_weight
        merged.seen[:] += pool.seen
        if base is not None:
            merged.mistakes[:] -= base.mistakes
            merged.weight[:] -= base.weight
            merged.class_weight[:] -= base.class_weight
            merged.seen[:] -= base.seen
    return merged
