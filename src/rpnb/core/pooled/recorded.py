"""Labels of any delay: the pool learns from scores that were kept since a prediction.

The members learn a row when its label arrives. The pool learns its weights from the
scores by which the row was predicted, however long ago that was: those are the scores
that its weights are applied to. Where all labels are equally late, that is what members
behind compute again (late.h), row by row.
"""

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.rows import RowTable
from rpnb.core.pooled import pool as pooling
from rpnb.core.pooled.engine import prepare_rows, run
from rpnb.core.pooled.member import copy_state
from rpnb.core.pooled.model import PooledModel

_NO_LABELS = np.zeros(0, np.int64)
_NO_WEIGHT = np.zeros(0)
_NOTHING = np.zeros((0, 0))
# Rows that are scored at once.
_ROWS = 256


def predict_recorded(
    model: PooledModel, X: RowTable
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Predict rows (n, p), each as the next of the stream; changes nothing.

    Returns the classes (n,), their logarithmic probabilities (n, M), and the members'
    scores (n, K, M), −∞ for classes that are not active.
    """
    n = X.shape[0]
    labels = np.empty(n, np.int64)
    scores = np.zeros((n, len(model.outputs), model.M))
    for start in range(0, n, _ROWS):
        part = slice(start, min(start + _ROWS, n))
        rows, first = prepare_rows(model, X[part]), 0
        for module, state in zip(model.modules, model.states, strict=True):
            some = np.zeros((labels[part].shape[0], len(module.OUTPUTS), model.M))
            module.score_rows(state, rows, some)
            scores[part, first : first + some.shape[1]] = some
            first += some.shape[1]
    log_P = np.empty((n, model.M))
    pooling.pool_rows(
        model.pool, scores, _NO_LABELS, _NO_WEIGHT, labels, log_P, scores[:0]
    )
    scores[:, :, ~model.pool.active] = -np.inf
    return labels, log_P, scores


def learn_recorded(
    model: PooledModel,
    X: RowTable,
    y: IntArray,
    weight: FloatArray,
    scores: FloatArray,
    jobs: int = 1,
) -> PooledModel:
    """Learn labelled rows that were predicted by these scores; return the model.

    X and the others are as for `run`. `model` must not be used any more.
    """
    # The members learn beside a pool that is thrown away.
    labels = np.empty(y.shape[0], np.int64)
    apart = model.replace(pool=copy_state(model.pool))
    run(apart, X, y, weight, labels, _NOTHING, jobs)
    pooling.pool_rows(model.pool, scores, y, weight, labels, _NOTHING, scores[:0])
    return apart.replace(pool=model.pool)
