"""Running a model over many rows: blocks of bounded size, the fastest pass for each.

Everything here concerns speed and memory only. The labels and the state are those of
`core.passes.exact.pass_exact`, to the bit, however rows are cut into blocks and calls.
"""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import issparse

from rpnb.core.bayes.combining import combine, member_log_posteriors
from rpnb.core.bayes.densities import refresh
from rpnb.core.bayes.model import Model
from rpnb.core.bayes.moments import Moments, empty_moments, merge
from rpnb.core.bayes.scoring import LANES, score
from rpnb.core.bayes.state import LEARN_ALL, LEARN_MISTAKES, LEARN_NOTHING, KernelState
from rpnb.core.calibration.cells import calibration_rows
from rpnb.core.kernels.arrays import CodeArray, FloatArray, IntArray, as_block
from rpnb.core.kernels.compiling.budget import CompilingBudget
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.kernels.rows import RowTable, row_blocks
from rpnb.core.passes.blocks import block_rows, count_labelled, weights_of
from rpnb.core.passes.calibrated import (
    batch_codes,
    learn_batch_codes,
    learn_cells,
    mix_then_learn_cells,
    mixed,
    with_cells,
)
from rpnb.core.passes.choice import PassChoice, Path
from rpnb.core.passes.costs import plain_cost
from rpnb.core.passes.exact import (
    accumulate_rows,
    count_rows,
    empty_memo,
    learn_batch,
    pass_combined,
    pass_exact,
    pass_one,
    pass_scored,
)
from rpnb.core.passes.plain import pass_plain, score_rows_plain
from rpnb.core.passes.screened.kernel import pass_screened
from rpnb.core.projection.apply import (
    project_rows,
    projects_beforehand,
    rows_for_passes,
)
from rpnb.core.projection.matrices import project

AnyPath: TypeAlias = Path | Literal["exact", "plain"]

# For fewer rows, preparing a faster pass costs more than it saves.
_FEW = 16

# A mini-batch is cut into blocks of so many rows. The moments of a block are those of
# its rows added in order, and the blocks are merged in order. Sums of floating-point
# numbers depend on their grouping: with this one, machines can share out the blocks.
BATCH_BLOCK: Final = 2048

# When the kernels of the faster passes are worth compiling, and those of the exact one.
_fast = CompilingBudget(pass_screened, compiling=10e9, reading=0.3e9)
_exact = CompilingBudget(pass_exact, compiling=4e9)
_one = CompilingBudget(pass_one, compiling=4e9)

_ONE = np.ones(1)
_NO_LABELS = np.zeros(0, np.int64)


def _expected_changes(model: Model, learn: int) -> float:
    """Return the expected number of updates per row."""
    if learn == LEARN_MISTAKES and model.n_seen > 0:
        return model.n_updates / model.n_seen
    return 0.0 if learn == LEARN_NOTHING else 1.0


def run(
    model: Model,
    X: RowTable,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    labels: IntArray,
    choice: PassChoice | None = None,
    path: AnyPath = "auto",
    jobs: int = 1,
) -> None:
    """Pass over the rows of X (n, p) one observation at a time.

    Parameters are those of `core.passes.exact.pass_exact`. A `choice` kept from an
    earlier call with the same model saves preparing one. `path` other than "auto" fixes
    the pass, for tests and benchmarks. With two `jobs`, rows are projected in a thread
    ahead of the pass.
    """
    n = X.shape[0]
    projection = model.projection
    if model.rule == "log_sum" and path != "plain" and path != "exact":
        plain_time = n * plain_cost(projection.p, model.F, model.M)
        if n == 1 and not issparse(X) and _one.pays(plain_time):
            _run_one(model, X, y, weight, learn, labels)
            return
        if n >= _FEW and (choice or path != "auto" or _fast.pays(plain_time)):
            if choice is None:
                rate = _expected_changes(model, learn)
                choice = PassChoice(model, X, rate, path, jobs)
            choice.run(X, y, weight, learn, labels)
            return
        # Many rows would rather have the fast kernels compiled.
        pays = _exact.pays(plain_time if n < _FEW else 0.0)
        path = "exact" if pays else "plain"
    learner = model.kernel_state(projected=projects_beforehand(projection, X))
    for rows in row_blocks(n, block_rows(projection.p, model.F)):
        x = rows_for_passes(projection, X[rows])
        t = y[rows] if learn else _NO_LABELS
        w = weights_of(weight, rows)
        if learn:
            learner = with_cells(model, learner, t)
        if model.rule == "log_sum":
            one_by_one = pass_plain if path == "plain" else pass_exact
            updates = one_by_one(learner, x, t, w, learn, labels[rows])
        else:
            K = projection.K
            updates = pass_combined(
                learner, model.rule_number, K, x, t, w, learn, labels[rows]
            )
        if learn:
            learn_cells(model, learner, t)
            model.n_seen += count_labelled(t)
            model.n_updates += updates


def _run_one(
    model: Model,
    X: RowTable,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    labels: IntArray,
) -> None:
    x = as_block(X)
    p, F = x.shape[1], model.F
    known = model.memo
    if known is None:
        known = empty_memo(p, F)
    memo = np.empty_like(known)
    unkept = model.projection.R.shape[0] == 0
    if unkept and not np.array_equal(x[0], known[:p]):
        memo[p : p + F] = project_rows(model.projection, x)[0]
    learner = model.kernel_state()
    if learn:
        learner = with_cells(model, learner, y)
    label, updates = pass_one(
        learner,
        known,
        memo,
        model.n_seen,
        x,
        y[0] if learn else -1,
        weight[0],
        learn,
    )
    model.memo = memo
    labels[0] = label
    if learn:
        learn_cells(model, learner, y)
        model.n_seen += int(y[0] >= 0)
        model.n_updates += updates


def run_scored(
    model: Model,
    X: RowTable,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    labels: IntArray,
    out: FloatArray,
    thresholds: FloatArray,
) -> None:
    """Do what `run` does, and write what was known of each row before it was learnt.

    `out` (n, M) gets the probabilities of a calibrated model, or else the scores;
    `thresholds` (n, coverages) those of prediction sets, where the model is calibrated.
    """
    projection = model.projection
    start = model.kernel_state(projected=projects_beforehand(projection, X))
    for rows in row_blocks(X.shape[0], block_rows(projection.p, model.F)):
        x, t = rows_for_passes(projection, X[rows]), y[rows]
        w = weights_of(weight, rows)
        learner = with_cells(model, start, t)
        scores = np.empty((x.shape[0], model.M))
        updates = pass_scored(
            learner,
            model.rule_number,
            projection.K,
            x,
            t,
            w,
            learn,
            labels[rows],
            scores,
        )
        if model.calibration is None:
            out[rows] = scores
        else:
            mix_then_learn_cells(model, learner, t, scores, out[rows], thresholds[rows])
        model.n_seen += count_labelled(t)
        model.n_updates += updates


def classify(model: Model, X: RowTable) -> IntArray:
    """Return the predicted class of each row (n,), −1 while no class is known."""
    labels = np.empty(X.shape[0], np.int64)
    run(model, X, _NO_LABELS, _ONE, LEARN_NOTHING, labels)
    return labels


def learn_all(model: Model, X: RowTable, y: IntArray, weight: FloatArray) -> None:
    """Learn every row without predicting it."""
    everything = np.arange(X.shape[0])
    _accumulate(model, X, everything, y, weight, model.keep, model.moments)
    count_rows(model.classes, model.keep, y, weight)
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
    path: Path = "auto",
    out: FloatArray | None = None,
    thresholds: FloatArray | None = None,
    block: int = BATCH_BLOCK,
) -> None:
    """Pass over X by mini-batches of `size` rows: equations (7) and (8).

    All rows of a batch are predicted first. Then each class learns, in one step, those
    of its rows that were misclassified, or all of its rows. Their moments are added up
    block by block; `block` other than `BATCH_BLOCK` is for tests. `out` and
    `thresholds` are those of `run_scored`.
    """
    screened = model.rule == "log_sum" and min(size, X.shape[0]) >= _FEW
    rate = min(_expected_changes(model, learn), model.M / size)
    choice = PassChoice(model, X, rate, path) if screened else None
    learner = model.kernel_state()
    batch = empty_moments(model.M, model.F)
    part = empty_moments(model.M, model.F) if size > block else batch
    for rows in row_blocks(X.shape[0], size):
        x, t, predicted = X[rows], y[rows], labels[rows]
        w = weights_of(weight, rows)
        run(model, x, _NO_LABELS, _ONE, LEARN_NOTHING, predicted, choice)
        if thresholds is not None and model.calibration is not None:
            thresholds[rows] = model.calibration.thresholds
        if out is not None or model.calibration is not None:
            asked = None if out is None else out[rows]
            _score_batch(model, x, t, predicted, asked)
        taken = _learnt_rows(t, predicted, learn)
        if size <= block:
            _accumulate(model, x, taken, t, w, 1.0, batch)
        else:
            for each in row_blocks(t.shape[0], block):
                begin, end = np.searchsorted(taken, [each.start, each.stop])
                _accumulate(model, x, taken[begin:end], t, w, 1.0, part)
                for m in np.unique(t[taken[begin:end]]).tolist():
                    merge(batch, m, part, m)
                    _clear(part, m)
        touched = np.unique(t[taken])
        for m in touched.tolist():
            learn_batch(learner, m, batch)
            _clear(batch, m)
        if choice is not None:
            choice.refresh(touched)
        count_rows(model.classes, model.keep, t, w)
        model.n_seen += t.shape[0]
        model.n_updates += taken.shape[0]


def _learnt_rows(y: IntArray, labels: IntArray, learn: int) -> IntArray:
    """Return the indices of the rows that are learnt after their prediction."""
    return np.flatnonzero((labels != y) | (learn == LEARN_ALL))


def _clear(moments: Moments, m: int) -> None:
    """Make class m one without observations."""
    for of_class in moments:
        of_class[m] = 0.0


class BlockMoments(NamedTuple):
    """What a mini-batch learns from one of its blocks of rows."""

    y: IntArray
    """(n,) the rows' classes"""
    labels: IntArray
    """(n,) the predicted ones"""
    classes: IntArray
    """the classes with rows to learn, ascending"""
    moments: Moments
    """of these rows, of these classes"""
    weight: FloatArray
    """(n,) or (1,) weights of the rows"""
    codes: CodeArray
    """(r, M) cells of the rows that calibration learns from; (0, M) without it"""


def observe_block(
    model: Model,
    X: RowTable,
    y: IntArray,
    labels: IntArray,
    learn: int,
    weight: FloatArray = _ONE,
    start: int = 0,
) -> BlockMoments:
    """Return the moments of those rows of a block that are learnt.

    `labels` are the predictions of `classify`, and `start` is how many rows of the
    mini-batch come before the block. Changes nothing. `learn_blocks` with all blocks of
    a mini-batch, of `BATCH_BLOCK` rows each but for the last one, does what
    `run_batches` does, to the bit.
    """
    taken = _learnt_rows(y, labels, learn)
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
    """Learn a mini-batch from the moments of its blocks, which are in order."""
    learner = model.kernel_state()
    batch = empty_moments(model.M, model.F)
    for block in blocks:
        for place, m in enumerate(block.classes.tolist()):
            merge(batch, m, block.moments, place)
    for m in np.flatnonzero(batch.weight > 0.0).tolist():
        learn_batch(learner, m, batch)
    for block in blocks:
        if model.calibration is not None:
            learn_batch_codes(model, block.y, block.codes)
        count_rows(model.classes, model.keep, block.y, block.weight)
        model.n_seen += block.y.shape[0]
        model.n_updates += _learnt_rows(block.y, block.labels, learn).shape[0]


def batch_probabilities(model: Model, X: RowTable) -> FloatArray:
    """Return what `run_batches` writes to `out` for rows of one mini-batch (n, M)."""
    found = active_scores(model, X)
    return found if model.calibration is None else mixed(model, found)


def moments_of(model: Model, X: RowTable, y: IntArray, weight: FloatArray) -> Moments:
    """Return the moments (M, F) of rows of classes y, to be taken out of a model's."""
    part = empty_moments(model.M, model.F)
    _accumulate(model, X, np.arange(y.shape[0]), y, weight, 1.0, part)
    return part


def _score_batch(
    model: Model, X: RowTable, y: IntArray, labels: IntArray, out: FloatArray | None
) -> None:
    """Write a mini-batch's probabilities or scores; let calibration learn from it."""
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
    """Return the scores (n, M) of every row, −∞ of classes that are not active."""
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
    """Do what `accumulate_rows` does for the rows named in `taken`, block by block."""
    projection = model.projection
    learner = model.kernel_state(projected=projects_beforehand(projection, X))
    for chosen in row_blocks(taken.shape[0], block_rows(projection.p, model.F)):
        rows = taken[chosen]
        numbers = np.arange(rows.shape[0])
        x = rows_for_passes(projection, X[rows])
        accumulate_rows(
            learner, x, numbers, y[rows], weights_of(weight, rows), keep, into
        )


def scores(model: Model, X: RowTable) -> FloatArray:
    """Return the score of every class for every row (n, M); the largest wins.

    For "log_sum" these are the scores of equation (6) in double precision, for the
    other rules the combined posteriors of `rpnb.core.bayes.combining.combine`.
    """
    out = np.empty((X.shape[0], model.M))
    projection = model.projection
    learner = model.kernel_state(projected=projects_beforehand(projection, X))
    plain_time = X.shape[0] * plain_cost(projection.p, model.F, model.M)
    fast = model.rule != "log_sum" or _scores.pays(plain_time)
    for rows in row_blocks(X.shape[0], block_rows(projection.p, model.F)):
        x = rows_for_passes(projection, X[rows])
        if not fast:
            score_rows_plain(learner, x, out[rows])
        elif model.rule == "log_sum":
            _score_rows(learner, x, out[rows])
        else:
            K = projection.K
            _combine_rows(learner, model.rule_number, K, x, out[rows])
    return out


@compiled
def _score_rows(learner: KernelState, X: FloatArray, out: FloatArray) -> None:
    z = np.empty((1, learner.R.shape[1]))
    lanes = np.empty(LANES)
    row = np.empty(1, np.int64)
    bias = learner.classes.bias
    for i in range(X.shape[0]):
        row[0] = i
        project(X, row, learner.scale, learner.R, z)
        for m in range(bias.shape[0]):
            out[i, m] = score(z[0], learner.gaussians, m, bias[m], -np.inf, lanes)


_scores = CompilingBudget(_score_rows, compiling=3e9)


@compiled
def _combine_rows(
    learner: KernelState, rule: int, K: int, X: FloatArray, out: FloatArray
) -> None:
    z = np.empty((1, learner.R.shape[1]))
    posterior = np.empty((K, out.shape[1]))
    row = np.empty(1, np.int64)
    for i in range(X.shape[0]):
        row[0] = i
        project(X, row, learner.scale, learner.R, z)
        member_log_posteriors(
            z[0],
            learner.gaussians,
            learner.classes.bias,
            learner.classes.eligible,
            posterior,
        )
        combine(rule, posterior, out[i])
