"""The test-then-train pass that predicts from quadratic forms.

`pass_quadratic` gives the labels of `core.passes.exact.pass_exact` and leaves the same
state, to the bit. The polynomials of a step of rows are evaluated together. Then the
leading class of each row is found, and whether it is certain: for a few rows at first,
and for twice as many each time while no class learns. When a class learns, its values
and bounds for the rest of the step are updated.
"""

import numpy as np

from rpnb.core.bayes.scoring import LANES, best_class, score_rounding
from rpnb.core.bayes.state import LEARN_NOTHING, KernelState
from rpnb.core.calibration.cells import (
    BEST,
    INACTIVE,
    UNCERTAIN,
    certain_code,
    next_row_of_codes,
)
from rpnb.core.kernels.arrays import CodeArray, FloatArray, IntArray
from rpnb.core.kernels.compiling.compiled import compiled, compiled_inline
from rpnb.core.kernels.vectors import DOUBLES
from rpnb.core.passes.exact import (
    complete_codes,
    count_row,
    is_learnt,
    learn_projected_row,
)
from rpnb.core.passes.quadratic.evaluate import (
    add_linear,
    bound_errors,
    centre_columns,
    evaluate,
    evaluate_one,
)
from rpnb.core.passes.quadratic.leaders import (
    RowsInStep,
    find_leaders,
    find_rivals,
    find_stalest,
    make_step,
    score_bounds,
)
from rpnb.core.passes.quadratic.rebuild import rebuild_form, shift_means
from rpnb.core.passes.quadratic.record import SHRINKAGE, QuadraticForms
from rpnb.core.passes.quadratic.staleness import (
    Staleness,
    add_cost,
    should_rebuild,
    widen,
)
from rpnb.core.projection.matrices import project


@compiled
def pass_quadratic(
    learner: KernelState,
    quadratic: QuadraticForms,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    step: int,
    price: float,
    rival: float,
    labels: IntArray,
) -> tuple[int, int, float]:
    """Do what `pass_exact` does, evaluating the polynomials of `step` rows at a time.

    Every class must have a polynomial; `core.passes.quadratic.staleness` says when that
    of a class that learns is built again. Costs are in units of a row that is left
    undecided between two classes: `price` is the cost of building a polynomial, `rival`
    that of scoring one of the two classes in double precision. Returns the number of
    updates, of polynomials built, and the cost of undecided rows.
    """
    n = X.shape[0]
    classes = learner.classes
    keep = learner.keep
    M = classes.bias.shape[0]
    work = make_step(X.shape[1], M, step)
    z = np.empty((2, learner.R.shape[1]))
    two = np.empty(2, np.int64)
    open_classes = np.empty(M, np.bool_)
    lanes = np.empty(LANES)
    # Whether a row that is not learnt changes no score.
    fixed = learn == LEARN_NOTHING or classes.count_factor == 0.0
    updates = 0
    built = 0
    undecided = 0.0
    for start in range(0, n, step):
        size = min(step, n - start)
        rows = X[start : start + size]
        centre_columns(rows, quadratic.origin, work.centred, work.lengths)
        evaluate(quadratic, work.centred, size, work.values)
        for m in range(work.mean_norm.shape[0]):
            work.mean_norm[m] = quadratic.mean_norm[m]
        for m in range(M):
            _bound_class(learner, quadratic, work, m, 0, size)
            _update_known(learner, quadratic.staleness, work, m)
        # The leaders of rows before `until` are known; next are those of `ahead` more
        # rows, and of twice as many each time until a class changes.
        until = 0
        ahead = size
        # The row whose projection is in the second row of z, or −1.
        spare = -1
        b = 0
        while b < size:
            if b >= until:
                until = min(b + ahead, size)
                ahead *= 2
                find_leaders(learner, quadratic.staleness, work, b, until)
            if fixed:
                b = _label_certain(
                    learner,
                    quadratic.staleness,
                    work,
                    X,
                    learn,
                    y,
                    weight,
                    start,
                    b,
                    until,
                    labels,
                )
                if b == until:
                    continue
            i = start + b
            w = weight[i if weight.shape[0] > 1 else 0]
            label = int(work.leader[b])
            certain = work.rivals[b] <= 1.0
            if certain and not is_learnt(learn, label, y, i):
                labels[i] = label
                if learn != LEARN_NOTHING and y[i] >= 0:
                    _record_codes(learner, quadratic.staleness, work, X, i, b, label)
                    count_row(classes, keep, y[i], w)
                    for m in range(M):
                        _update_known(learner, quadratic.staleness, work, m)
                    until = b + 1
                    ahead = DOUBLES
                b += 1
                continue
            at = 1
            if spare != b:
                # Projecting two rows together is faster than one after the other.
                at = 0
                spare = _next_to_project(work, learn, y, start, b + 1, size)
                two[0] = i
                two[1] = start + spare
                few = two[: 1 if spare < 0 else 2]
                project(X, few, learner.scale, learner.R, z)
            if not certain:
                find_rivals(learner, quadratic.staleness, work, b, open_classes)
                label = best_class(
                    z[at], learner.gaussians, classes.bias, open_classes, lanes
                )
            labels[i] = label
            changed = False
            if learn != LEARN_NOTHING and y[i] >= 0:
                to = next_row_of_codes(learner.cells)
                if to >= 0:
                    codes = learner.cells.codes[to]
                    if not _write_codes(
                        learner, quadratic.staleness, work, b, label, codes
                    ):
                        complete_codes(learner, z[at], label, lanes, codes)
                count_row(classes, keep, y[i], w)
                if is_learnt(learn, label, y, i):
                    before = learner.moments.weight[y[i]]
                    learn_projected_row(learner, y[i], z[at], w)
                    # Where moments fade, means also move towards the prior's mean,
                    # which `shift_means` does not describe.
                    if keep < 1.0 or should_rebuild(quadratic.staleness, price):
                        _rebuild(learner, quadratic, work, y[i], b + 1, size)
                        built += 1
                    else:
                        _update_class(
                            learner, quadratic, work, y[i], before, w, b, size
                        )
                    updates += 1
                    changed = True
            if not certain:
                m = find_stalest(quadratic.staleness, work, b, open_classes)
                # A row that is learnt had to be projected anyway.
                cost = rival * work.rivals[b] + (0.0 if changed else 1.0 - 2.0 * rival)
                undecided += cost
                if m >= 0 and add_cost(quadratic.staleness, m, cost):
                    _rebuild(learner, quadratic, work, m, b + 1, size)
                    built += 1
                    changed = True
            if changed or not fixed:
                until = b + 1
                ahead = DOUBLES
            if not fixed:
                for m in range(M):
                    _update_known(learner, quadratic.staleness, work, m)
            b += 1
    return updates, built, undecided


@compiled
def _label_certain(
    learner: KernelState,
    staleness: Staleness,
    work: RowsInStep,
    X: FloatArray,
    learn: int,
    y: IntArray,
    weight: FloatArray,
    start: int,
    first: int,
    last: int,
    labels: IntArray,
) -> int:
    """Label rows from `first` on that are certain and not learnt; return the next row.

    Most rows of most streams are of this kind: a short loop for them is faster.
    """
    for b in range(first, last):
        i = start + b
        label = int(work.leader[b])
        if work.rivals[b] > 1.0 or is_learnt(learn, label, y, i):
            return b
        labels[i] = label
        if learn != LEARN_NOTHING and y[i] >= 0:
            # Not by a remainder as in the other passes: a division is slow in so short
            # a loop.
            w = weight[i if weight.shape[0] > 1 else 0]
            _record_codes(learner, staleness, work, X, i, b, label)
            count_row(learner.classes, learner.keep, y[i], w)
    return last


@compiled_inline
def _record_codes(
    learner: KernelState,
    staleness: Staleness,
    work: RowsInStep,
    X: FloatArray,
    i: int,
    b: int,
    best: int,
) -> None:
    """Write the codes of row i, the step's row b, if calibration learns from it."""
    to = next_row_of_codes(learner.cells)
    if to >= 0:
        codes = learner.cells.codes[to]
        if not _write_codes(learner, staleness, work, b, best, codes):
            z = np.empty((1, learner.R.shape[1]))
            row = np.full(1, i)
            project(X, row, learner.scale, learner.R, z)
            complete_codes(learner, z[0], best, np.empty(LANES), codes)


@compiled
def _write_codes(
    learner: KernelState,
    staleness: Staleness,
    work: RowsInStep,
    b: int,
    best: int,
    codes: CodeArray,
) -> bool:
    """Write the codes (M,) of row b, predicted as `best`; return whether all are known.

    See `rpnb.core.calibration.cells`.
    """
    known = True
    low, high = score_bounds(staleness, work, b, max(best, 0))
    for m in range(codes.shape[0]):
        if not learner.classes.eligible[m]:
            codes[m] = INACTIVE
        elif m == best:
            codes[m] = BEST
        else:
            lower, upper = score_bounds(staleness, work, b, m)
            least, most = low - upper, high - lower
            middle = 0.5 * (least + most)
            # The last term covers the rounding of the bounds.
            error = 0.5 * (most - least) + 1e-14 * (abs(low) + abs(upper))
            codes[m] = certain_code(middle, error, learner.cells.scale)
            known &= codes[m] != UNCERTAIN
    return known


@compiled
def _update_class(
    learner: KernelState,
    quadratic: QuadraticForms,
    work: RowsInStep,
    m: int,
    before: float,
    weight: float,
    b: int,
    size: int,
) -> None:
    """Update the values and bounds of class m for the rest of the step.

    The class has learnt row b, after rows of total weight `before`. Its form is not
    built again.
    """
    share = weight / (learner.prior.weight + before + weight)
    p = quadratic.origin.shape[0]
    L = quadratic.factors.shape[1]
    linear = quadratic.factors[m, L - p :]
    change = linear.copy()
    start = quadratic.start[m]
    shift_means(quadratic, m, share, work.centred[:, b].copy(), work.lengths[b])
    widen(quadratic.staleness, m, learner.gaussians)
    if quadratic.mean_norm[m] * SHRINKAGE < work.mean_norm[m]:
        # Updating large values to small ones loses digits: evaluate again.
        _evaluate(learner, quadratic, work, m, b + 1, size)
        return
    for i in range(p):
        change[i] = linear[i] - change[i]
    start = quadratic.start[m] - start
    add_linear(start, change, work.centred, b + 1, size, work.values[m])
    _bound_class(learner, quadratic, work, m, b + 1, size)
    _update_known(learner, quadratic.staleness, work, m)


@compiled
def _rebuild(
    learner: KernelState,
    quadratic: QuadraticForms,
    work: RowsInStep,
    m: int,
    first: int,
    last: int,
) -> None:
    """Build class m's polynomial again, and evaluate it for rows first … last − 1."""
    rebuild_form(quadratic, m, learner.gaussians)
    _evaluate(learner, quadratic, work, m, first, last)


@compiled
def _evaluate(
    learner: KernelState,
    quadratic: QuadraticForms,
    work: RowsInStep,
    m: int,
    first: int,
    last: int,
) -> None:
    """Evaluate class m's polynomial for rows first … last − 1, with bounds."""
    evaluate_one(quadratic, m, work.centred, first, last, work.values)
    work.mean_norm[m] = quadratic.mean_norm[m]
    _bound_class(learner, quadratic, work, m, first, last)
    _update_known(learner, quadratic.staleness, work, m)


@compiled
def _next_to_project(
    work: RowsInStep, learn: int, y: IntArray, start: int, first: int, last: int
) -> int:
    """Return the next row of the step that seems to need projecting, or −1."""
    for b in range(first, last):
        if work.rivals[b] > 1.0 or is_learnt(learn, int(work.leader[b]), y, start + b):
            return b
    return -1


@compiled
def _bound_class(
    learner: KernelState,
    quadratic: QuadraticForms,
    work: RowsInStep,
    m: int,
    first: int,
    last: int,
) -> None:
    """Bound the errors of class m's values for rows first … last − 1."""
    bound_errors(
        quadratic,
        m,
        learner.gaussians.constant[m],
        work.lengths,
        first,
        last,
        work.error_bounds[m],
    )


@compiled_inline
def _update_known(
    learner: KernelState, staleness: Staleness, work: RowsInStep, m: int
) -> None:
    """Set bounds of what is added to class m's polynomial to get its score."""
    bias = learner.classes.bias[m]
    known = learner.gaussians.constant[m] + bias
    margin = staleness.margin[m] + score_rounding(learner.R.shape[1]) * abs(bias)
    work.low[m] = known - margin
    work.high[m] = known + margin
