"""What the pool has learnt: its weights and terms, begun, grown and merged.

Letters are those of `rpnb.core.pooled.pool`.
"""

from typing import Final, NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.pooled.member import copy_state

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


class Pool(NamedTuple):
    """Weights of the members, and what they did so far."""

    active: BoolArray
    """(M,)"""
    weights: FloatArray
    """(K,) w"""
    curvature: FloatArray
    """(K, K) H"""
    class_terms: FloatArray
    """(K + 1, M) v, and b in the last row"""
    class_curvature: FloatArray
    """(K + 1, M) h of each of them"""
    class_ridge: FloatArray
    """(K + 1,) ρ"""
    power: FloatArray
    """(1,) τ"""
    power_curvature: FloatArray
    """(1,) h"""
    noise: FloatArray
    """(1,) ε"""
    mistakes: FloatArray
    """(K + 1,) weight of rows that each member would have got wrong, the pool last"""
    weight: FloatArray
    """(1,) weight of the rows learnt"""
    seen: IntArray
    """(2,) rows learnt, and those of them that the pool got wrong"""
    history: FloatArray
    """(128, 2K + 3) rows learnt, `weight`, `mistakes` and `weights` at some rows"""
    clock: IntArray
    """(2,) entries of the history, and rows between those to come"""


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
