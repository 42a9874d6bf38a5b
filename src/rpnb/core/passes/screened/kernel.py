"""The test-then-train pass that predicts from single-precision scores.

`pass_screened` gives the labels of `core.passes.exact.pass_exact` and leaves the same
state, to the bit. It predicts from single-precision scores wherever their error bounds
leave only one class possible, and projects the other rows in double precision.
"""

import numpy as np

from rpnb.core.bayes.densities import refresh
from rpnb.core.bayes.moments import fade
from rpnb.core.bayes.scoring import LANES, best_class
from rpnb.core.bayes.state import LEARN_NOTHING, KernelState
from rpnb.core.calibration.cells import (
    BEST,
    INACTIVE,
    UNCERTAIN,
    certain_code,
    is_calibration_row,
    next_row_of_codes,
)
from rpnb.core.kernels.arrays import (
    BoolArray,
    CodeArray,
    FloatArray,
    IntArray,
    SingleArray,
)
from rpnb.core.kernels.compiling.compiled import compiled, compiled_inline
from rpnb.core.passes.exact import complete_codes, count_row, is_learnt
from rpnb.core.passes.screened.learning import learn_into_singles
from rpnb.core.passes.screened.scores import (
    SingleDensities,
    error_bound,
    quick_error_bound,
    refresh_single_densities,
    score_class,
    score_rows,
)
from rpnb.core.projection.matrices import project, project_singles


@compiled_inline
def leading_class(
    scores: FloatArray,
    learner: KernelState,
    densities: SingleDensities,
    projection_error: float,
    row_norm: float,
    rivals: BoolArray,
) -> tuple[int, bool]:
    """Return the class of the largest score, and whether it is certain.

    `scores` (M,) are single-precision scores. If the class is not certain, `rivals`
    (M,) is set to the classes whose double-precision score may be the largest.
    Comparisons are written so that a NaN, which comes from a number beyond single
    precision, makes a class a rival.
    """
    eligible = learner.classes.eligible
    bias = learner.classes.bias
    gaussians = learner.gaussians
    best = -1
    highest = -np.inf
    # Without branches: they would be mispredicted whenever the leader changes.
    for m in range(scores.shape[0]):
        value = scores[m] + bias[m]
        better = eligible[m] & ((value > highest) | (best < 0))
        best = m if better else best
        highest = value if better else highest
    if best < 0:
        return -1, True
    lowest = highest - quick_error_bound(
        scores[best], gaussians, densities, best, bias[best], projection_error, row_norm
    )
    rest = 0
    for m in range(scores.shape[0]):
        upper = scores[m] + bias[m]
        upper += quick_error_bound(
            scores[m], gaussians, densities, m, bias[m], projection_error, row_norm
        )
        rest += 0 if (upper < lowest) | (not eligible[m]) else 1
    # The leader itself counts as one.
    if rest == 1:
        return best, True
    lowest = highest - error_bound(
        scores[best], gaussians, densities, best, bias[best], projection_error, row_norm
    )
    certain = True
    for m in range(scores.shape[0]):
        rivals[m] = m == best
        if eligible[m] and m != best:
            upper = scores[m] + bias[m]
            upper += error_bound(
                scores[m], gaussians, densities, m, bias[m], projection_error, row_norm
            )
            if not upper < lowest:
                rivals[m] = True
                certain = False
    return best, certain


@compiled
def pass_screened(
    learner: KernelState,
    densities: SingleDensities,
    X: FloatArray,
    centred: SingleArray,
    Z: SingleArray,
    projection_error: FloatArray,
    row_norm: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    step: int,
    labels: IntArray,
) -> int:
    """Do what `pass_exact` does, from rows projected in single precision.

    Rows are scored `step` at a time, a multiple of four. Either they come as `centred`
    (≥ n, p) and are projected here into the working space Z (step, F), or `centred` is
    (0, p) and Z (≥ n, F) holds all projections. The number of rows of either is padded
    to a multiple of four. `projection_error` and `row_norm` (n,) come from
    `centre_rows` or `centre_projected`.

    The rows of a step that are uncertain, look like mistakes, or have an uncertain cell
    that calibration needs are projected in double precision together, which is cheaper
    than one by one. When a class learns, its
    scores of the rows that remain of the step are computed again.
    """
    n = X.shape[0]
    M = learner.classes.bias.shape[0]
    scores = np.empty((step, M))
    exact = np.empty((step, learner.R.shape[1]))
    # The row of `exact` that holds the projection of each row of the step, or −1.
    slot = np.empty(step, np.int64)
    rows = np.empty(step, np.int64)
    rivals = np.empty(M, np.bool_)
    # Classes whose densities are not up to date with their moments.
    outdated = np.zeros(M, np.bool_)
    lanes = np.empty(LANES)
    expected = np.empty(M, np.int16)
    counts = learn != LEARN_NOTHING
    calibrated = counts and learner.cells.codes.shape[0] > 0
    updates = 0
    for start in range(0, n, step):
        stop = min(start + step, n)
        fours = (stop - start + 3) // 4 * 4
        if centred.shape[0] > 0:
            z = Z[:fours]
            project_singles(centred[start : start + fours], learner.R, z)
        else:
            z = Z[start : start + fours]
        score_rows(z, densities, scores)
        done = 0
        number = learner.cells.place[0]
        for i in range(start, stop):
            b = i - start
            label, certain = leading_class(
                scores[b], learner, densities, projection_error[i], row_norm[i], rivals
            )
            labels[i] = label
            slot[b] = -1
            wanted = not certain or is_learnt(learn, label, y, i)
            if calibrated and y[i] >= 0:
                if is_calibration_row(number) and not wanted:
                    wanted = not _write_codes(
                        scores[b],
                        learner,
                        densities,
                        projection_error[i],
                        row_norm[i],
                        label,
                        expected,
                    )
                number += 1
            if wanted:
                slot[b] = done
                rows[done] = i
                done += 1
        if done == 0 and not counts:
            continue
        project(X, rows[:done], learner.scale, learner.R, exact)
        changed = learner.classes.count_factor > 0.0
        for i in range(start, stop):
            b = i - start
            label, certain = labels[i], True
            # While no class has changed, the first decision holds.
            if changed or slot[b] >= 0:
                label, certain = leading_class(
                    scores[b],
                    learner,
                    densities,
                    projection_error[i],
                    row_norm[i],
                    rivals,
                )
            if slot[b] < 0 and (not certain or is_learnt(learn, label, y, i)):
                slot[b] = done
                rows[done] = i
                project(
                    X,
                    rows[done : done + 1],
                    learner.scale,
                    learner.R,
                    exact[done : done + 1],
                )
                done += 1
            if not certain:
                _refresh_outdated(learner, outdated, rivals)
                label = best_class(
                    exact[slot[b]],
                    learner.gaussians,
                    learner.classes.bias,
                    rivals,
                    lanes,
                )
            labels[i] = label
            if learn != LEARN_NOTHING and y[i] >= 0:
                w = weight[i % weight.shape[0]]
                to = next_row_of_codes(learner.cells)
                if to >= 0 and not _write_codes(
                    scores[b],
                    learner,
                    densities,
                    projection_error[i],
                    row_norm[i],
                    label,
                    learner.cells.codes[to],
                ):
                    # A row's slot is its projection, if it has one.
                    if slot[b] < 0:
                        slot[b] = done
                        rows[done] = i
                        project(
                            X,
                            rows[done : done + 1],
                            learner.scale,
                            learner.R,
                            exact[done : done + 1],
                        )
                        done += 1
                    codes = learner.cells.codes[to]
                    for m in range(M):
                        rivals[m] = codes[m] == UNCERTAIN or codes[m] == BEST
                    _refresh_outdated(learner, outdated, rivals)
                    complete_codes(learner, exact[slot[b]], label, lanes, codes)
                count_row(learner.classes, learner.keep, y[i], w)
                if is_learnt(learn, label, y, i):
                    fade(learner.moments, y[i], learner.keep, w)
                    outdated[y[i]] = True
                    if not learn_into_singles(
                        densities,
                        learner.gaussians,
                        y[i],
                        learner.moments,
                        learner.prior,
                        exact[slot[b]],
                        w,
                    ):
                        _refresh_outdated(learner, outdated, outdated)
                        refresh_single_densities(densities, y[i], learner.gaussians)
                    score_class(z, densities, y[i], (b + 1) // 4 * 4, scores)
                    changed = True
                    updates += 1
    _refresh_outdated(learner, outdated, np.ones(M, np.bool_))
    return updates


@compiled
def _write_codes(
    scores: FloatArray,
    learner: KernelState,
    densities: SingleDensities,
    projection_error: float,
    row_norm: float,
    best: int,
    codes: CodeArray,
) -> bool:
    """Write the codes (M,) of a row predicted as `best`; return whether all are known.

    `scores` (M,) are single-precision scores; see `rpnb.core.calibration.cells`.
    """
    bias = learner.classes.bias
    gaussians = learner.gaussians
    scale = learner.cells.scale
    known = True
    highest = 0.0
    margin = 0.0
    if best >= 0:
        highest = scores[best] + bias[best]
        margin = error_bound(
            scores[best],
            gaussians,
            densities,
            best,
            bias[best],
            projection_error,
            row_norm,
        )
    for m in range(scores.shape[0]):
        if not learner.classes.eligible[m]:
            codes[m] = INACTIVE
        elif m == best:
            codes[m] = BEST
        else:
            error = margin + error_bound(
                scores[m], gaussians, densities, m, bias[m], projection_error, row_norm
            )
            codes[m] = certain_code(highest - (scores[m] + bias[m]), error, scale)
            known &= codes[m] != UNCERTAIN
    return known


@compiled
def _refresh_outdated(
    learner: KernelState, outdated: BoolArray, wanted: BoolArray
) -> None:
    """Refresh the double-precision densities of those wanted classes that need it."""
    for m in range(outdated.shape[0]):
        if outdated[m] and wanted[m]:
            refresh(learner.gaussians, m, learner.moments, learner.prior)
            outdated[m] = False
