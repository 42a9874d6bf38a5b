"""Late labels: the pool learns from scores that are made when a row is predicted."""

import numpy as np

from oracles.pooled.pool import Pool
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled.engine import prepare_rows
from rpnb.core.pooled.engine import run as learn_rows
from rpnb.core.pooled.model import PooledModel, copy_model


def scores_when_predicted(
    start: PooledModel, X: FloatArray, y: IntArray, delay: int, block: int
) -> FloatArray:
    """Return the scores (n, K, M) of each row by members that learned what was known.

    Row s is scored by a copy of `start` that has learned the first rows one by one: all
    whose labels had arrived, rounded down to a multiple of `block`.
    """
    scores = []
    for s in range(len(y)):
        model = copy_model(start)
        known = max(s - delay, 0) // block * block
        for i in range(known):
            learn_rows(
                model,
                X[i : i + 1],
                y[i : i + 1],
                np.ones(1),
                np.empty(1, np.int64),
                np.zeros((0, 0)),
            )
        rows = prepare_rows(model, X[s : s + 1])
        parts = []
        for module, state in zip(model.modules, model.states, strict=True):
            part = np.zeros((1, len(module.OUTPUTS), model.M))
            module.score_rows(state, rows, part)
            parts.append(part[0])
        scores.append(np.concatenate(parts))
    return np.array(scores)


def pool_of(
    first: FloatArray, then: FloatArray, now: FloatArray, y: IntArray, delay: int
) -> Pool:
    """Return the pool that has learned rows by their scores (n, K, M).

    Those of the prediction, `then`, and those just before the row is learned, `now`.
    """
    pool = Pool(first, then.shape[2], delay)
    for one, other, label in zip(then, now, y, strict=True):
        pool.learn(one, int(label), now=other)
    return pool
