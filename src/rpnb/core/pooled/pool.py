"""The pool: its weights and terms, begun, grown and merged.

The formulas, and the letters used here, are those of pool.h.
"""

from typing import Final

import numpy as np

from rpnb._core.pooled import Pool, learn_scored_rows, pool_rows
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.pooled.member import copy_state

__all__ = ["Pool", "begin", "grow_classes", "learn_scored_rows", "merge", "pool_rows"]

RIDGE: Final = 30.0
#: ρ of what classes add to the weights, and of their constants.
CLASS_RIDGE: Final = 400.0
CONSTANT_RIDGE: Final = 60.0
#: Rows by which labels may be late without slowing these down.
SHORT_DELAY: Final = 5.0
_FIRST_CURVATURE: Final = 30.0
FIRST_NOISE: Final = 0.02
#: Entries of the history at most, an even number, and rows between the first of them.
HISTORY: Final = 128
FIRST_STEP: Final = 32


#: What takes the place of a score, relative to the best class, where there is none.
NO_SCORE: Final = -6.0
#: Bounds of the temperature, and of the share of labels that are noise.
LEAST_POWER, MOST_POWER = 0.2, 4.0
LEAST_NOISE, MOST_NOISE = 1e-4, 0.5


def begin(first: FloatArray, active: BoolArray, delay: int = 0) -> Pool:
    """Return the pool before the first row; `first` (K,) are the weights.

    Labels arrive `delay` rows after the prediction of their row.
    """
    K = first.shape[0]
    return Pool(
        active.copy(),
        first.copy(),
        RIDGE * np.eye(K),
        *first_class_terms(K, active.shape[0], delay),
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
    """Return v and b, h of each, and ρ, before the first row."""
    ridge = np.append(np.full(K, CLASS_RIDGE), CONSTANT_RIDGE)
    ridge *= max(1.0, delay / SHORT_DELAY)
    return np.zeros((K + 1, M)), np.repeat(ridge[:, None], M, axis=1), ridge


def grow_classes(pool: Pool, source: IntArray, active: BoolArray) -> Pool:
    """Return a pool whose class m is class source[m] of `pool`, or new if −1.

    The classes flagged in `active` are active.
    """
    M = source.shape[0]
    known = np.flatnonzero(source >= 0)
    terms = np.zeros((pool.class_ridge.shape[0], M))
    curvature = np.repeat(pool.class_ridge[:, None], M, axis=1)
    terms[:, known] = pool.class_terms[:, source[known]]
    curvature[:, known] = pool.class_curvature[:, source[known]]
    return copy_state(pool)._replace(
        active=active.copy(), class_terms=terms, class_curvature=curvature
    )


def merge(pools: list[Pool], base: Pool | None = None) -> Pool:
    """Return the mean of the weights, and of the terms, by their curvatures.

    Rows and mistakes are added up, those of `base` counted once; the history is that of
    the first pool.
    """
    merged = copy_state(pools[0])
    H = np.sum([pool.curvature for pool in pools], axis=0)
    moment = np.sum([pool.curvature @ pool.weights for pool in pools], axis=0)
    merged.weights[:] = np.maximum(np.linalg.solve(H, moment), 0.0)
    merged.curvature[:] = H / len(pools)
    h = np.sum([pool.class_curvature for pool in pools], axis=0)
    moment = np.sum([pool.class_curvature * pool.class_terms for pool in pools], axis=0)
    merged.class_terms[:] = moment / h
    merged.class_curvature[:] = h / len(pools)
    powers = np.array([pool.power[0] for pool in pools])
    shares = np.array([pool.power_curvature[0] for pool in pools])
    merged.power[0] = (powers * shares).sum() / shares.sum()
    merged.power_curvature[0] = shares.mean()
    merged.noise[0] = np.mean([pool.noise[0] for pool in pools])
    for pool in pools[1:]:
        merged.active[:] |= pool.active
        merged.mistakes[:] += pool.mistakes
        merged.weight[:] += pool.weight
        merged.seen[:] += pool.seen
        if base is not None:
            merged.mistakes[:] -= base.mistakes
            merged.weight[:] -= base.weight
            merged.seen[:] -= base.seen
    return merged
