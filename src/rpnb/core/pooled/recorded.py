"""Labels with any delay: the pool learns from scores recorded at the prediction.

Members learn a row when its label arrives. The pool learns from the scores by which the
row was predicted, however long ago, and from the members' scores now (pool.h). With a
constant delay, delayed members recompute the former instead (late.h).
"""

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.row_blocks import RowTable, row_blocks
from rpnb.core.pooled import pool as pooling
from rpnb.core.pooled.engine import core_rows, prepare_rows
from rpnb.core.pooled.model import PooledModel

_NO_LABELS = np.zeros(0, np.int64)
_NO_WEIGHT = np.zeros(0)
# Rows scored at once.
_ROWS = 256


def predict_recorded(
    model: PooledModel, X: RowTable
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Predict rows (n, p), each as the next of the stream, without learning.

    Returns the predicted classes (n,), log probabilities (n, M), and the members'
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
) -> None:
    """Learn labelled rows that were predicted by these scores.

    The other arguments are those of `run`.
    """
    predicted = np.empty(y.shape[0], np.int64)
    for part in row_blocks(y.shape[0]):
        model.learn_recorded(
            *(core_rows(X[part]), y[part], weight[part]),
            *(scores[part], predicted[part], jobs),
        )
