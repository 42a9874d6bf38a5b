"""Running a model over many rows: blocks of bounded size, the fastest pass for each.

This affects speed and memory only. The labels and the state are those of the exact
pass, ``run_exact`` of ``cpp/rpnb/exact.h``, to the bit, however rows are divided into
blocks and calls.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from scipy.sparse import issparse

from rpnb._core.passes import (
    NO_PROJECTION,
    Forms,
    accumulate_rows,
    count_rows,
    learn_batch,
    run_exact,
    run_row,
    score_rows,
)
from rpnb._core.passes import run_scored as run_scored_block
from rpnb.core.bayes.model import Model
from rpnb.core.bayes.statistics import (
    LEARN_ALL,
    LEARN_NOTHING,
    Moments,
    clear,
    empty_moments,
    merge,
    refresh,
)
from rpnb.core.calibration import calibration_rows
from rpnb.core.kernels.arrays import CodeArray, FloatArray, IntArray, as_block
from rpnb.core.kernels.row_blocks import RowTable, row_blocks, weights_of
from rpnb.core.passes.calibrated import batch_codes, learn_batch_codes, mixed
from rpnb.core.passes.choice import Path, choose_path
from rpnb.core.passes.screened import ScreenedPass
from rpnb.core.projection.apply import (
    block_rows,
    project_rows,
    projects_in_advance,
    rows_for_passes,
)

# Rows of a block of a mini-batch. The moments of each block are summed row by row, then
# the blocks are merged in order. Floating-point sums depend on this grouping, which
# lets machines compute the blocks of a mini-batch in parallel.
BATCH_BLOCK: Final = 2048

_ONE = np.ones(1)
_NO_LABELS = np.zeros(0, np.int64)
_NOT_PROJECTED = np.zeros(0)


def run(
    model: Model,
    X: RowTable,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    labels: IntArray,
    path: Path | None = None,
    jobs: int = 1,
) -> None:
    """Predict each row of X (n, p), then learn from it.

    `y` (n,) holds the classes' numbers, −1 for a row that is only predicted, and is not
    read if nothing is to be learned; the predicted numbers go to `labels` (n,), −1
    while no class is known. `weight` is (n,), or (1,) where all rows weigh the same.
    `path` sets the pass, for tests and benchmarks. With two `jobs`, wide rows are
    projected in a thread ahead of the pass.
    """
    if path is None:
        single = X.shape[0] == 1 and model.rule == "log_sum"
        if single and (type(X) is np.ndarray or not issparse(X)):
            labels[0] = _run_one(model, X, y, weight, learn)
            return
        path = choose_path(model, X, learn)
    if path == "screened":
        ScreenedPass(model, X, jobs=jobs).run(X, y, weight, learn, labels)
        return
    projected = projects_in_advance(model.projection, X)
    size = block_rows(model.projection.p, model.F)
    forms = Forms(model, as_block(X[:size]).mean(axis=0)) if path == "forms" else None
    for rows in row_blocks(X.shape[0], size):
        x = rows_for_passes(model.projection, X[rows])
        if forms is not None:
            forms.classify(x, labels[rows])
            continue
        t = y[rows] if learn else _NO_LABELS
        w = weights_of(weight, rows)
        run_exact(model, x, projected, t, w, learn, labels[rows])


def _run_one(
    model: Model, X: RowTable, y: IntArray, weight: FloatArray, learn: int
) -> int:
    """Do what `run` does, for one dense row; return its label."""
    x = as_block(X)
    number = int(y[0]) if learn else -1
    label = run_row(model, x[0], _NOT_PROJECTED, number, weight[0], learn)
    if label == NO_PROJECTION:
        z = project_rows(model.projection, x)[0]
        label = run_row(model, x[0], z, number, weight[0], learn)
    return label


def run_scored(
    model: Model,
    X: RowTable,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    labels: IntArray,
    out: FloatArray,
) -> None:
    """Do what `run` does, and write the values that determined each prediction.

    `out` (n, M) gets the probabilities of a calibrated model, or else the scores.
    """
    projection = model.projection
    projected = projects_in_advance(projection, X)
    for rows in row_blocks(X.shape[0], block_rows(projection.p, model.F)):
        run_scored_block(
            model,
            rows_for_passes(projection, X[rows]),
            projected,
            y[rows],
            weights_of(weight, rows),
            learn,
            labels[rows],
            out[rows],
        )


def classify(model: Model, X: RowTable) -> IntArray:
    """Return the predicted class of each row (n,), −1 while no class is known."""
    labels = np.empty(X.shape[0], np.int64)
    run(model, X, _NO_LABELS, _ONE, LEARN_NOTHING, labels)
    return labels


def learn_all(model: Model, X: RowTable, y: IntArray, weight: FloatArray) -> None:
    """Learn every row without predicting it."""
    everything = np.arange(X.shape[0])
    _accumulate(model, X, everything, y, weight, model.keep, model.moments)
    count_rows(model, y, weight)
    for m in np.unique(y).tolist():
        refresh(model.gaussians, m, model.moments, model.prior)
    model.n_seen += X.shape[0]
    model.n_updates += X.shape[0]


def run_batches(
    model: Model,
    X: RowTable,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    size: int,
    labels: IntArray,
    path: Path | None = None,
    out: FloatArray | None = None,
    block: int = BATCH_BLOCK,
) -> None:
    """Pass over X by mini-batches of `size` rows: equations (7) and (8).

    All rows of a batch are predicted first. Then each class learns, in one step, its
    misclassified rows, or all of its rows. Their moments are summed block by block;
    only tests set `block`. `out` is that of `run_scored`.
    """
    batch = empty_moments(model.M, model.F)
    part = empty_moments(model.M, model.F) if size > block else batch
    for rows in row_blocks(X.shape[0], size):
        x, t, predicted = X[rows], y[rows], labels[rows]
        w = weights_of(weight, rows)
        run(model, x, _NO_LABELS, _ONE, LEARN_NOTHING, predicted, path)
        if out is not None or model.calibration is not None:
            asked = None if out is None else out[rows]
            _score_batch(model, x, t, predicted, asked)
        taken = _learned_rows(t, predicted, learn)
        if size <= block:
            _accumulate(model, x, taken, t, w, 1.0, batch)
        else:
            for each in row_blocks(t.shape[0], block):
                begin, end = np.searchsorted(taken, [each.start, each.stop])
                _accumulate(model, x, taken[begin:end], t, w, 1.0, part)
                for m in np.unique(t[taken[begin:end]]).tolist():
                    merge(batch, m, part, m)
                    clear(part, m)
        for m in np.unique(t[taken]).tolist():
            learn_batch(model, m, batch)
            clear(batch, m)
        count_rows(model, t, w)
        model.n_seen += t.shape[0]
        model.n_updates += taken.shape[0]


def _learned_rows(y: IntArray, labels: IntArray, learn: int) -> IntArray:
    """Return the indices of the rows that are learned after their prediction."""
    return np.flatnonzero((labels != y) | (learn == LEARN_ALL))


class BlockMoments(NamedTuple):
    """What a mini-batch learns from one of its blocks of rows."""

    y: IntArray
    """(n,) classes of the rows"""
    labels: IntArray
    """(n,) predicted classes"""
    classes: IntArray
    """classes with rows to learn, ascending"""
    moments: Moments
    """moments of these rows, one entry per class in `classes`"""
    weight: FloatArray
    """(n,) or (1,) weights of the rows"""
    codes: CodeArray
    """(r, M) codes of the rows that calibration learns from; (0, M) without it"""


def observe_block(
    model: Model,
    X: RowTable,
    y: IntArray,
    labels: IntArray,
    learn: int,
    weight: FloatArray = _ONE,
    start: int = 0,
) -> BlockMoments:
    """Return the moments of the rows of a block that are to be learned.

    The model is not changed. `labels` are the predictions of `classify`, and `start` is
    how many rows of the mini-batch precede the block. `learn_blocks` with all blocks of
    a mini-batch, each of `BATCH_BLOCK` rows except the last, does what `run_batches`
    does, to the bit.
    """
    taken = _learned_rows(y, labels, learn)
    classes = np.unique(y[taken])
    moments = empty_moments(classes.shape[0], model.F)
    places = np.searchsorted(classes, y)
    _accumulate(model, X, taken, places, weight, 1.0, moments)
    codes = np.zeros((0, model.M), np.int16)
    if model.calibration is not None:
        used = calibration_rows(model.n_seen + start, y.shape[0])
        codes = batch_codes(model, labels[used], active_scores(model, X[used]))
    return BlockMoments(y, labels, classes, moments, weight, codes)


def learn_blocks(model: Model, blocks: Sequence[BlockMoments], learn: int) -> None:
    """Learn a mini-batch from the moments of its blocks, given in order."""
    batch = empty_moments(model.M, model.F)
    for block in blocks:
        for place, m in enumerate(block.classes.tolist()):
            merge(batch, m, block.moments, place)
    for m in np.flatnonzero(batch.weight > 0.0).tolist():
        learn_batch(model, m, batch)
    for block in blocks:
        if model.calibration is not None:
            learn_batch_codes(model, block.y, block.codes)
        count_rows(model, block.y, block.weight)
        model.n_seen += block.y.shape[0]
        model.n_updates += _learned_rows(block.y, block.labels, learn).shape[0]


def batch_probabilities(model: Model, X: RowTable) -> FloatArray:
    """Return what `run_batches` writes to `out` for rows of one mini-batch (n, M)."""
    found = active_scores(model, X)
    return found if model.calibration is None else mixed(model, found)


def moments_of(model: Model, X: RowTable, y: IntArray, weight: FloatArray) -> Moments:
    """Return the moments (M, F) of rows of classes y, to subtract from a model's."""
    part = empty_moments(model.M, model.F)
    _accumulate(model, X, np.arange(y.shape[0]), y, weight, 1.0, part)
    return part


def _score_batch(
    model: Model, X: RowTable, y: IntArray, labels: IntArray, out: FloatArray | None
) -> None:
    """Write a mini-batch's probabilities or scores, then calibrate by it."""
    used = calibration_rows(model.n_seen, y.shape[0])
    if out is None:
        found = active_scores(model, X[used])
    else:
        every = active_scores(model, X)
        out[:] = every if model.calibration is None else mixed(model, every)
        found = every[used]
    if model.calibration is not None:
        learn_batch_codes(model, y, batch_codes(model, labels[used], found))


def active_scores(model: Model, X: RowTable) -> FloatArray:
    """Return the scores (n, M) of rows, −∞ for classes that are not active."""
    return np.where(model.classes.eligible, scores(model, X), -np.inf)


def _accumulate(
    model: Model,
    X: RowTable,
    taken: IntArray,
    y: IntArray,
    weight: FloatArray,
    keep: float,
    into: Moments,
) -> None:
    """Add the rows with indices `taken` to the moments `into`, block by block."""
    projection = model.projection
    projected = projects_in_advance(projection, X)
    for chosen in row_blocks(taken.shape[0], block_rows(projection.p, model.F)):
        rows = taken[chosen]
        x = rows_for_passes(projection, X[rows])
        w = weights_of(weight, rows)
        accumulate_rows(model, x, projected, y[rows], w, keep, into)


def scores(model: Model, X: RowTable) -> FloatArray:
    """Return the score of every class for every row (n, M); the largest wins.

    For "log_sum" these are the scores of equation (6) in double precision, for the
    other rules the combined posteriors of `rpnb.core.bayes.statistics.combine`.
    """
    out = np.empty((X.shape[0], model.M))
    projection = model.projection
    projected = projects_in_advance(projection, X)
    for rows in row_blocks(X.shape[0], block_rows(projection.p, model.F)):
        x = rows_for_passes(projection, X[rows])
        score_rows(model, x, projected, out[rows])
    return out
