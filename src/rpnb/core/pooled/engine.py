"""Rows go through the pooled model: the scale, all members, and the pool.

`run` learns a block of rows, each predicted beforehand; `score` predicts only. Rows are
handled in chunks, and chunks are cut where the scale is found anew: after 2, 4, 8, …,
256 labelled rows, when all members that depend on it learn the first rows again. No
result depends on where a block or a chunk ends.

Where labels come late, a second set of members learns the same rows later, and the pool
learns from its scores: `rpnb.core.pooled.late`.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.sparse import issparse

from rpnb.core.kernels.arrays import FloatArray, IntArray, as_block
from rpnb.core.kernels.rows import RowTable, as_rows
from rpnb.core.pooled import late, scale
from rpnb.core.pooled import pool as pooling
from rpnb.core.pooled.features import fill_features
from rpnb.core.pooled.hashing import HASHED, hash_rows
from rpnb.core.pooled.member import MemberRows
from rpnb.core.pooled.model import SILENT, LateLabels, PooledModel
from rpnb.core.pooled.scale import LAST_REPLAY

# Rows handled at once.
_CHUNK = 256

_NO_LABELS = np.zeros(0, np.int64)
_NO_WEIGHT = np.zeros(0)
_NO_SCORES = np.zeros((0, 0, 0))


@SILENT
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

    X (n, p) is an array or a SciPy matrix in compressed rows. `labels` (n,) gets the
    predictions, and `log_posteriors` (n, M), unless it has no rows, their logarithmic
    probabilities.
    """
    n = y.shape[0]
    done = 0
    while done < n:
        stop, replay = _next_chunk(model, y, done)
        part = slice(done, stop)
        rows = prepare_rows(model, X[part], y[part], weight[part])
        scores = _member_scores(model, rows, y[part], weight[part], jobs)
        learnt = _NO_SCORES
        if model.late is not None:
            learnt = _late_scores(model.late, rows.raw, y[part], weight[part], jobs)
        out = log_posteriors[part] if log_posteriors.shape[0] > 0 else log_posteriors
        pooling.pool_rows(
            model.pool, scores, y[part], weight[part], labels[part], out, learnt
        )
        if replay:
            _replay(model)
        done = stop


def _next_chunk(model: PooledModel, y: IntArray, done: int) -> tuple[int, bool]:
    """Return where the chunk from row `done` ends, and if the scale is found there."""
    stop = min(done + _CHUNK, y.shape[0])
    seen = int(model.scale.seen[0])
    if seen < LAST_REPLAY:
        left = scale.next_replay(seen) - seen
        labelled = np.flatnonzero(y[done:stop] >= 0)
        if labelled.shape[0] >= left:
            return done + int(labelled[left - 1]) + 1, True
    return stop, False


def _late_scores(
    labels: LateLabels, raw: FloatArray, y: IntArray, weight: FloatArray, jobs: int
) -> FloatArray:
    """Return the scores (n, K, M) that labelled rows had when they were predicted."""
    behind, pending, delay = labels.behind, labels.pending, labels.behind.shape.delay
    scores = np.zeros((y.shape[0], len(behind.outputs), behind.M))
    labelled = np.flatnonzero(y >= 0)
    while labelled.shape[0] > 0:
        due = late.due_rows(pending, delay)
        if due.shape[0] > 0:
            _learn_behind(
                behind,
                pending.rows[due],
                pending.labels[due],
                pending.weight[due],
                jobs,
            )
        count = late.rows_until_due(pending, delay)
        some, labelled = labelled[:count], labelled[count:]
        rows = prepare_rows(behind, raw[some], _NO_LABELS, _NO_WEIGHT)
        found = _member_scores(behind, rows, _NO_LABELS, _NO_WEIGHT, jobs)
        # A class that they do not know yet has no score.
        found[:, :, ~behind.pool.active] = -np.inf
        scores[some] = found
        late.add_rows(pending, raw[some], y[some], weight[some])
    return scores


def _learn_behind(
    model: PooledModel, X: FloatArray, y: IntArray, weight: FloatArray, jobs: int
) -> None:
    """Let the members learn labelled rows; the pool only learns which classes exist."""
    done = 0
    while done < y.shape[0]:
        stop, replay = _next_chunk(model, y, done)
        part = slice(done, stop)
        rows = prepare_rows(model, X[part], y[part], weight[part])
        _member_scores(model, rows, y[part], weight[part], jobs)
        model.pool.active[y[part]] = True
        if replay:
            _replay(model)
        done = stop


@SILENT
def score(
    model: PooledModel,
    X: RowTable,
    labels: IntArray,
    log_posteriors: FloatArray,
) -> None:
    """Predict rows; the arguments are those of `run`. Changes nothing."""
    n = X.shape[0]
    for done in range(0, n, _CHUNK):
        part = slice(done, min(done + _CHUNK, n))
        rows = prepare_rows(model, X[part], _NO_LABELS, _NO_WEIGHT)
        scores = _member_scores(model, rows, _NO_LABELS, _NO_WEIGHT, 1)
        out = log_posteriors[part] if log_posteriors.shape[0] > 0 else log_posteriors
        pooling.pool_rows(
            model.pool, scores, _NO_LABELS, _NO_WEIGHT, labels[part], out, _NO_SCORES
        )


def prepare_rows(
    model: PooledModel,
    table: RowTable,
    y: IntArray,
    weight: FloatArray,
) -> MemberRows:
    """Scale rows and project them; keep what the scale needs of labelled rows."""
    n = table.shape[0]
    if model.places.shape[0] > 0:
        X = np.empty((n, HASHED))
        hash_rows(as_rows(table), table.shape[1], model.places, X)
    else:
        X = as_block(table.toarray() if issparse(table) else table)
    z = np.empty(X.shape, np.float32)
    phi = np.empty((n, model.shape.E), np.float32)
    low = np.empty((n, model.shape.d), np.float32)
    scale.scale_rows(model.scale, X, y, weight, z)
    fill_features(model.features, z, phi, low)
    return MemberRows(X, z, low, phi)


def _member_scores(
    model: PooledModel,
    rows: MemberRows,
    y: IntArray,
    weight: FloatArray,
    jobs: int,
) -> FloatArray:
    """Return the scores (n, K, M) of all members, which learn rows if there is y."""
    n, M = rows.raw.shape[0], model.M
    learn = y.shape[0] > 0

    modules = model.modules
    if n == 1:
        # Parts of an array of one row are contiguous: nothing to put together.
        whole = np.zeros((1, model.pool.weights.shape[0], M))
        first = 0
        for module, state in zip(modules, model.states, strict=True):
            part = whole[:, first : first + len(module.OUTPUTS)]
            first += len(module.OUTPUTS)
            if learn:
                module.learn_rows(state, rows, y, weight, part)
            else:
                module.score_rows(state, rows, part)
        return whole

    def work(k: int) -> FloatArray:
        module = modules[k]
        scores = np.zeros((n, len(module.OUTPUTS), M))
        if learn:
            module.learn_rows(model.states[k], rows, y, weight, scores)
        else:
            module.score_rows(model.states[k], rows, scores)
        return scores

    members = range(len(modules))
    if jobs > 1:
        with ThreadPoolExecutor(jobs) as threads:
            parts = list(threads.map(work, members))
    else:
        parts = [work(k) for k in members]
    return np.ascontiguousarray(np.concatenate(parts, axis=1))


def _replay(model: PooledModel) -> None:
    """Find the scale anew; what depends on it learns the rows kept once more."""
    scale.fit_all(model.scale)
    seen = int(model.scale.seen[0])
    X = model.scale.rows[:seen]
    y, weight = model.scale.labels[:seen], model.scale.weight[:seen]
    z = np.empty(X.shape, np.float32)
    phi = np.empty((seen, model.shape.E), np.float32)
    low = np.empty((seen, model.shape.d), np.float32)
    scale.apply_scale(model.scale, X, z)
    fill_features(model.features, z, phi, low)
    rows = MemberRows(X, z, low, phi)
    active = model.pool.active
    for k, module in enumerate(model.modules):
        if module.USES_SCALE:
            state = module.begin(model.shape, active, model.seed)
            nothing = np.zeros((0, len(module.OUTPUTS), model.M))
            module.learn_rows(state, rows, y, weight, nothing)
            model.states[k] = state
