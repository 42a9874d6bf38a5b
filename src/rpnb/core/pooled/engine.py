"""Passing rows to the compiled pooled model, in blocks: see model.h.

No result depends on how rows are divided into calls, or on the number of threads.
"""

import numpy as np
from scipy.sparse import issparse

from rpnb.core.kernels.arrays import FloatArray, IntArray, as_block
from rpnb.core.kernels.row_blocks import RowBlock, RowTable, as_rows, row_blocks
from rpnb.core.pooled.member import MemberRows
from rpnb.core.pooled.model import PooledModel


def run(
    model: PooledModel,
    X: RowTable,
    y: IntArray,
    weight: FloatArray,
    labels: IntArray,
    log_posteriors: FloatArray,
    jobs: int = 1,
) -> None:
    """Predict each row, then learn it; rows of class −1 are predicted only.

    X (n, p) is an array or a SciPy CSR matrix. Predictions are written to `labels`
    (n,), and log probabilities to `log_posteriors` (n, M), unless it has no rows.
    """
    n = y.shape[0]
    if n == 1:
        model.run(core_rows(X), y, weight, labels, log_posteriors, jobs)
        return
    for part in row_blocks(n):
        out = log_posteriors[part] if log_posteriors.shape[0] > 0 else log_posteriors
        model.run(core_rows(X[part]), y[part], weight[part], labels[part], out, jobs)


def score(
    model: PooledModel,
    X: RowTable,
    labels: IntArray,
    log_posteriors: FloatArray,
    *,
    ordered: bool,
) -> None:
    """Predict rows without learning; the arguments are those of `run`.

    If `ordered`, each row is scored as the next row of the stream. Otherwise the rows
    are unrelated to the stream, and members ignore which rows were learned last.
    """
    if X.shape[0] == 1:
        model.score(core_rows(X), labels, log_posteriors, ordered)
        return
    for part in row_blocks(X.shape[0]):
        out = log_posteriors[part] if log_posteriors.shape[0] > 0 else log_posteriors
        model.score(core_rows(X[part]), labels[part], out, ordered)


def member_scores(model: PooledModel, X: RowTable) -> FloatArray:
    """Return the members' scores (n, K, M) of rows that are not ordered.

    They are 0 for classes that are not active.
    """
    scores = np.empty((X.shape[0], len(model.outputs), model.M))
    for part in row_blocks(X.shape[0]):
        model.fill_scores(core_rows(X[part]), scores[part])
    return scores


def prepare_rows(model: PooledModel, X: RowTable) -> MemberRows:
    """Return rows as members see them: hashed, scaled and projected."""
    n, shape = X.shape[0], model.shape
    rows = MemberRows(
        np.empty((n, shape.p)),
        np.empty((n, shape.p), np.float32),
        np.empty((n, shape.d), np.float32),
        np.empty((n, shape.E), np.float32),
    )
    model.fill_rows(core_rows(X), *rows)
    return rows


def core_rows(X: RowTable) -> RowBlock | FloatArray:
    """Return rows, dense or sparse, as compiled code takes them."""
    # The check of the type is faster than `issparse`.
    return as_block(X) if type(X) is np.ndarray or not issparse(X) else as_rows(X)
