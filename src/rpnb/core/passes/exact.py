"""The compiled test-then-train pass over a block of rows, one observation at a time.

`pass_exact` is the algorithm of the paper (section 2.3) row by row: project, predict,
and learn if the prediction was wrong. The screened and the quadratic pass are faster
and give the same labels and state, to the bit.
"""

from math import log1p

import numpy as np

from rpnb.core.bayes.combining import best_combined, combine, member_log_posteriors
from rpnb.core.bayes.densities import learn_density, refresh
from rpnb.core.bayes.moments import Moments, add_observation, fade, merge
from rpnb.core.bayes.scoring import LANES, best_class, score
from rpnb.core.bayes.state import (
    LEARN_ALL,
    LEARN_MISTAKES,
    LEARN_NOTHING,
    ClassState,
    KernelState,
    set_bias_from_counts,
)
from rpnb.core.calibration.cells import (
    BEST,
    INACTIVE,
    UNCERTAIN,
    cell_of,
    next_row_of_codes,
    write_codes,
)
from rpnb.core.kernels.arrays import CodeArray, FloatArray, IntArray
from rpnb.core.kernels.compiling.compiled import compiled, compiled_inline
from rpnb.core.projection.matrices import project


@compiled_inline
def count_row(classes: ClassState, keep: float, y: int, weight: float) -> None:
    """Count a row of class y, which makes the class eligible.

    If the prior follows the counts, these fade as the moments do, and the bias of the
    class is set from its count.
    """
    classes.eligible[y] = True
    if classes.count_factor > 0.0 and keep < 1.0:
        _fade_counts(classes, keep**weight)
    classes.seen[y] += weight
    if classes.count_factor > 0.0:
        classes.bias[y] = classes.count_factor * log1p(classes.seen[y])


@compiled
def _fade_counts(classes: ClassState, left: float) -> None:
    """Multiply all counts by `left`.

    P(y) is a class's share of the stream: a class that no longer occurs must lose its
    share.
    """
    for m in range(classes.seen.shape[0]):
        classes.seen[m] *= left
    set_bias_from_counts(classes)


@compiled_inline
def learn_projected_row(
    learner: KernelState, y: int, z: FloatArray, weight: float
) -> None:
    """Let class y learn one projected row z (F,), after fading its moments by γʷ."""
    fade(learner.moments, y, learner.keep, weight)
    learn_density(learner.gaussians, y, learner.moments, learner.prior, z, weight)


@compiled
def complete_codes(
    learner: KernelState, z: FloatArray, best: int, lanes: FloatArray, codes: CodeArray
) -> None:
    """Find the cells of a projected row z (F,) that are UNCERTAIN in `codes` (M,)."""
    bias = learner.classes.bias
    gaussians = learner.gaussians
    highest = score(z, gaussians, best, bias[best], -np.inf, lanes)
    for m in range(codes.shape[0]):
        if codes[m] == UNCERTAIN:
            value = score(z, gaussians, m, bias[m], -np.inf, lanes)
            codes[m] = cell_of((highest - value) * learner.cells.scale) + 1


@compiled
def write_exact_codes(
    learner: KernelState, z: FloatArray, best: int, lanes: FloatArray, codes: CodeArray
) -> None:
    """Write the codes (M,) of a projected row z (F,) that was predicted as `best`."""
    for m in range(codes.shape[0]):
        codes[m] = UNCERTAIN if learner.classes.eligible[m] else INACTIVE
    if best >= 0:
        codes[best] = BEST
        complete_codes(learner, z, best, lanes, codes)


@compiled
def pass_exact(
    learner: KernelState,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    labels: IntArray,
) -> int:
    """Predict each row of X (n, p), then learn from it; return the number of updates.

    `y` (n,) holds the classes' numbers, −1 for a row that is only predicted, and is not
    read if nothing is to be learnt; the predicted numbers go to `labels` (n,), −1 while
    no class is known. `weight` is (n,), or (1,) where all rows weigh the same.
    """
    z = np.empty((1, learner.R.shape[1]))
    lanes = np.empty(LANES)
    row = np.empty(1, np.int64)
    updates = 0
    for i in range(X.shape[0]):
        row[0] = i
        project(X, row, learner.scale, learner.R, z)
        labels[i] = best_class(
            z[0],
            learner.gaussians,
            learner.classes.bias,
            learner.classes.eligible,
            lanes,
        )
        if learn != LEARN_NOTHING and y[i] >= 0:
            w = weight[i % weight.shape[0]]
            to = next_row_of_codes(learner.cells)
            if to >= 0:
                codes = learner.cells.codes[to]
                write_exact_codes(learner, z[0], labels[i], lanes, codes)
            count_row(learner.classes, learner.keep, y[i], w)
            if learn == LEARN_ALL or labels[i] != y[i]:
                learn_projected_row(learner, y[i], z[0], w)
                updates += 1
    return updates


@compiled
def pass_scored(
    learner: KernelState,
    rule: int,
    K: int,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    labels: IntArray,
    scores: FloatArray,
) -> int:
    """Do what `pass_exact` does, for any rule; write all scores (n, M) as well.

    They are the scores before each row was learnt, −∞ of a class that was not active.
    """
    M = learner.classes.bias.shape[0]
    eligible = learner.classes.eligible
    z = np.empty((1, learner.R.shape[1]))
    posterior = np.empty((K, M))
    lanes = np.empty(LANES)
    row = np.empty(1, np.int64)
    updates = 0
    for i in range(X.shape[0]):
        row[0] = i
        project(X, row, learner.scale, learner.R, z)
        if rule == 0:
            for m in range(M):
                bias = learner.classes.bias[m]
                scores[i, m] = score(z[0], learner.gaussians, m, bias, -np.inf, lanes)
        else:
            member_log_posteriors(
                z[0], learner.gaussians, learner.classes.bias, eligible, posterior
            )
            combine(rule, posterior, scores[i])
        for m in range(M):
            if not eligible[m]:
                scores[i, m] = -np.inf
        labels[i] = best_combined(scores[i], eligible)
        if learn != LEARN_NOTHING and y[i] >= 0:
            w = weight[i % weight.shape[0]]
            to = next_row_of_codes(learner.cells)
            if to >= 0:
                codes = learner.cells.codes[to]
                write_codes(scores[i], eligible, labels[i], learner.cells.scale, codes)
            count_row(learner.classes, learner.keep, y[i], w)
            if learn == LEARN_ALL or labels[i] != y[i]:
                learn_projected_row(learner, y[i], z[0], w)
                updates += 1
    return updates


# The memo keeps the last single row, for when it comes back with its label: the row
# (p), its projection (F), its predicted class, and how many rows the model had seen
# then. It is one array because each further array argument costs time per call.


def empty_memo(p: int, F: int) -> FloatArray:
    """Return a memo that matches no row, since NaN equals nothing."""
    return np.full(p + F + 2, np.nan)


@compiled
def pass_one(
    learner: KernelState,
    known: FloatArray,
    memo: FloatArray,
    seen: int,
    X: FloatArray,
    y: int,
    weight: float,
    learn: int,
) -> tuple[int, int]:
    """Do what `pass_exact` does, for one row X (1, p), reusing the last row's memo.

    A stream is often handled as predict, wait for the label, learn, so that each row
    comes twice. The second time its projection is taken from the memo `known`, and so
    is its prediction if the model has not learnt in between. `known` is only read,
    since other threads may be reading it; the memo of this row is written to `memo`.
    `seen` is the number of rows the model has seen. Returns the prediction and the
    number of updates.

    X is not projected. Where the learner has no matrix and the row is not in `known`,
    the caller must have written the row's projection into `memo`.
    """
    p = X.shape[1]
    F = learner.R.shape[1]
    same = True
    for i in range(p):
        same &= X[0, i] == known[i]
    memo[:p] = X[0]
    memo[p + F + 1] = seen
    z = memo[p : p + F]
    if same:
        z[:] = known[p : p + F]
    elif learner.R.shape[0] > 0:
        project(X, np.zeros(1, np.int64), learner.scale, learner.R, z.reshape(1, F))
    if same and known[p + F + 1] == seen:
        label = int(known[p + F])
    else:
        label = best_class(
            z,
            learner.gaussians,
            learner.classes.bias,
            learner.classes.eligible,
            np.empty(LANES),
        )
    memo[p + F] = label
    if learn == LEARN_NOTHING or y < 0:
        return label, 0
    to = next_row_of_codes(learner.cells)
    if to >= 0:
        write_exact_codes(learner, z, label, np.empty(LANES), learner.cells.codes[to])
    count_row(learner.classes, learner.keep, y, weight)
    if learn == LEARN_MISTAKES and label == y:
        return label, 0
    learn_projected_row(learner, y, z, weight)
    return label, 1


@compiled
def pass_combined(
    learner: KernelState,
    rule: int,
    K: int,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    labels: IntArray,
) -> int:
    """Do what `pass_exact` does, with another combining rule than equation (6)."""
    M = learner.classes.bias.shape[0]
    z = np.empty((1, learner.R.shape[1]))
    posterior = np.empty((K, M))
    scores = np.empty(M)
    row = np.empty(1, np.int64)
    updates = 0
    for i in range(X.shape[0]):
        row[0] = i
        project(X, row, learner.scale, learner.R, z)
        labels[i] = -1
        if learner.classes.eligible.any():
            member_log_posteriors(
                z[0],
                learner.gaussians,
                learner.classes.bias,
                learner.classes.eligible,
                posterior,
            )
            combine(rule, posterior, scores)
            labels[i] = best_combined(scores, learner.classes.eligible)
        if learn != LEARN_NOTHING and y[i] >= 0:
            w = weight[i % weight.shape[0]]
            to = next_row_of_codes(learner.cells)
            if to >= 0:
                write_codes(
                    scores,
                    learner.classes.eligible,
                    labels[i],
                    learner.cells.scale,
                    learner.cells.codes[to],
                )
            count_row(learner.classes, learner.keep, y[i], w)
            if learn == LEARN_ALL or labels[i] != y[i]:
                learn_projected_row(learner, y[i], z[0], w)
                updates += 1
    return updates


@compiled_inline
def is_learnt(learn: int, label: int, y: IntArray, i: int) -> bool:
    """Whether row i, predicted as `label`, is to be learnt."""
    if learn == LEARN_NOTHING or y[i] < 0:
        return False
    return learn == LEARN_ALL or label != y[i]


@compiled
def accumulate_rows(
    learner: KernelState,
    X: FloatArray,
    rows: IntArray,
    y: IntArray,
    weight: FloatArray,
    keep: float,
    into: Moments,
) -> None:
    """Add the named rows of X, each to its class, to the moments `into`.

    The moments of a class fade by `keep`ʷ before a row of weight w is added.
    """
    step = 16
    Z = np.empty((step, learner.R.shape[1]))
    for start in range(0, rows.shape[0], step):
        chosen = rows[start : start + step]
        project(X, chosen, learner.scale, learner.R, Z)
        for b in range(chosen.shape[0]):
            i = chosen[b]
            w = weight[i % weight.shape[0]]
            fade(into, y[i], keep, w)
            add_observation(into, y[i], Z[b], w)


@compiled
def learn_batch(learner: KernelState, y: int, batch: Moments) -> None:
    """Merge the moments that `batch` has of class y: equations (7) and (8).

    The earlier moments fade once, by the total weight of the batch: rows of one batch
    have no order, so none of them fades because of another.
    """
    fade(learner.moments, y, learner.keep, batch.weight[y])
    merge(learner.moments, y, batch, y)
    refresh(learner.gaussians, y, learner.moments, learner.prior)


@compiled
def count_rows(
    classes: ClassState, keep: float, y: IntArray, weight: FloatArray
) -> None:
    """Count rows of classes y (n,); see `count_row`."""
    for i in range(y.shape[0]):
        count_row(classes, keep, y[i], weight[i % weight.shape[0]])
