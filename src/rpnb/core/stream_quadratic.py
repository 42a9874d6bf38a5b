"""The test-then-train pass that predicts from quadratic forms.

`pass_quadratic` gives the labels of `rpnb.core.stream.pass_exact` and leaves the same
state, to the bit. The polynomials of a step of rows are evaluated together, and so are
their labels; the rows are then gone through one by one. What the rest of the step knows
of a class that learns is brought up to date, and so are the labels, the first time
together: another mistake is then far. After a second one, near, they are found row by
row.
"""

from typing import NamedTuple

import numpy as np

from rpnb.core.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.compiled import compiled, compiled_inline
from rpnb.core.projection import project
from rpnb.core.quadratic import ROWS, SHRINKAGE, Quadratic
from rpnb.core.quadratic_age import Age, grow_old, is_old, owes, waits
from rpnb.core.quadratic_refresh import follow, refresh_quadratic
from rpnb.core.quadratic_values import (
    add_linear,
    bound_errors,
    evaluate,
    evaluate_one,
    move_rows,
)
from rpnb.core.scoring import LANES, best_class, last_bits
from rpnb.core.stream import LEARN_NOTHING, Learner, count_row, learn_row, learns

# What an undecided row costs that is learnt, so that it had to be projected anyway,
# relative to one that is not.
_CHEAP = 0.25


class Step(NamedTuple):
    """Working space for the rows of a step."""

    moved: FloatArray
    """(p, step) x', one column a row"""
    lengths: FloatArray
    """(step,) |x'|"""
    values: FloatArray
    """(M, step) the polynomials' values"""
    doubts: FloatArray
    """(M, step) bounds of their errors"""
    leader: FloatArray
    """(step,) the class that is best at least, −1 if none takes part"""
    lowest: FloatArray
    """(step,) the least that its definitive score can be"""
    rivals: FloatArray
    """(step,) how many classes may be first, itself included"""
    pull: FloatArray
    """(M,) the polynomials' `pull` when they were evaluated"""


@compiled
def make_step(p: int, M: int, step: int) -> Step:
    """Room for `step` rows of p features and M classes."""
    room = (step + ROWS - 1) // ROWS * ROWS
    # What fills the last rows is evaluated too, and must be numbers.
    return Step(
        np.zeros((p, room)),
        np.empty(room),
        np.empty((M, room)),
        np.empty((M, room)),
        np.empty(room),
        np.empty(room),
        np.empty(room),
        np.empty(M),
    )


@compiled
def pass_quadratic(
    learner: Learner,
    quadratic: Quadratic,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    step: int,
    price: float,
    labels: IntArray,
) -> tuple[int, int, int]:
    """Do what `pass_exact` does, evaluating the polynomials of `step` rows at a time.

    Every class must have a polynomial; those of classes that learn grow old, and are
    built anew as `rpnb.core.quadratic_age` says: that costs as much as `price`
    undecided rows. Returns the number of updates, of polynomials built and of rows that
    were undecided.
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
    updates = 0
    built = 0
    undecided = 0
    for start in range(0, n, step):
        size = min(step, n - start)
        rows = X[start : start + size]
        move_rows(rows, quadratic.origin, work.moved, work.lengths)
        evaluate(quadratic, work.moved, size, work.values)
        work.pull[:] = quadratic.pull
        for m in range(M):
            _bound(learner, quadratic, work, m, 0, size)
        settle(learner, quadratic.age, work, 0, size)
        settled = True
        changes = 0
        # The row whose projection is at hand, in the second row of z.
        spare = -1
        for b in range(size):
            i = start + b
            # No remainder, as in the other passes: a division is much in so short a
            # loop.
            w = weight[i if weight.shape[0] > 1 else 0]
            if not settled:
                settle_row(learner, quadratic.age, work, b)
            label = int(work.leader[b])
            certain = work.rivals[b] <= 1.0
            if certain and not learns(learn, label, y, i):
                labels[i] = label
                if learn != LEARN_NOTHING and y[i] >= 0:
                    count_row(classes, keep, y[i], w)
                    settled = settled and classes.follow == 0.0
                continue
            at = 1
            if spare != b:
                # Two rows are projected in less time than one and one.
                at = 0
                spare = _next(work, learn, y, start, b + 1, size)
                two[0] = i
                two[1] = start + spare
                few = two[: 1 if spare < 0 else 2]
                project(X, few, learner.scale, learner.R, z)
            if not certain:
                _find_rivals(learner, quadratic.age, work, b, open_classes)
                label = best_class(
                    z[at], learner.gaussians, classes.bias, open_classes, lanes
                )
                undecided += 1
            labels[i] = label
            changed = False
            if learn != LEARN_NOTHING and y[i] >= 0:
                count_row(classes, keep, y[i], w)
                settled = settled and classes.follow == 0.0
                if learns(learn, label, y, i):
                    before = learner.moments.weight[y[i]]
                    learn_row(learner, y[i], z[at], w)
                    # Where the past fades, means also move towards the prior's, which
                    # no form can follow.
                    if keep < 1.0 or not waits(quadratic.age, y[i], price):
                        _build(learner, quadratic, work, y[i], b + 1, size)
                        built += 1
                    else:
                        _follow(learner, quadratic, work, y[i], before, w, b, size)
                    updates += 1
                    changed = True
            if not certain:
                m = _oldest(quadratic.age, work, b, open_classes)
                if m >= 0 and owes(quadratic.age, m, _CHEAP if changed else 1.0):
                    _build(learner, quadratic, work, m, b + 1, size)
                    built += 1
                    changed = True
            if changed:
                changes += 1
                settled = settled and changes == 1
                if settled:
                    settle(learner, quadratic.age, work, b + 1, size)
    return updates, built, undecided


@compiled
def _follow(
    learner: Learner,
    quadratic: Quadratic,
    work: Step,
    m: int,
    before: float,
    weight: float,
    b: int,
    size: int,
) -> None:
    """Bring what the rest of the step knows of class m up to date: it learnt row b.

    It had learnt rows of the weight `before`.
    """
    share = weight / (learner.prior.weight + before + weight)
    p = quadratic.origin.shape[0]
    L = quadratic.factors.shape[1]
    linear = quadratic.factors[m, L - p :]
    change = linear.copy()
    start = quadratic.start[m]
    follow(quadratic, m, share, work.moved[:, b].copy(), work.lengths[b])
    grow_old(quadratic.age, m, learner.gaussians)
    if quadratic.pull[m] * SHRINKAGE < work.pull[m]:
        # A small value that was a large one has lost its digits.
        _evaluate(learner, quadratic, work, m, b + 1, size)
        return
    for i in range(p):
        change[i] = linear[i] - change[i]
    start = quadratic.start[m] - start
    add_linear(start, change, work.moved, b + 1, size, work.values[m])
    _bound(learner, quadratic, work, m, b + 1, size)


@compiled
def _build(
    learner: Learner, quadratic: Quadratic, work: Step, m: int, first: int, last: int
) -> None:
    """Build class m's polynomial anew, and evaluate it for rows first … last − 1."""
    refresh_quadratic(quadratic, m, learner.gaussians)
    _evaluate(learner, quadratic, work, m, first, last)


@compiled
def _evaluate(
    learner: Learner, quadratic: Quadratic, work: Step, m: int, first: int, last: int
) -> None:
    evaluate_one(quadratic, m, work.moved, first, last, work.values)
    work.pull[m] = quadratic.pull[m]
    _bound(learner, quadratic, work, m, first, last)


@compiled
def _oldest(age: Age, work: Step, b: int, rivals: BoolArray) -> int:
    """Return the rival whose age leaves the most open in row b, −1 if all are new."""
    oldest = -1
    widest = -np.inf
    for m in range(rivals.shape[0]):
        if rivals[m] and is_old(age, m):
            # Values are negative, and `low` is the larger factor.
            width = (age.high[m] - age.low[m]) * work.values[m, b] + age.margin[m]
            if oldest < 0 or width > widest:
                oldest = m
                widest = width
    return oldest


@compiled
def _next(
    work: Step, learn: int, y: IntArray, start: int, first: int, last: int
) -> int:
    """Return the next row of the step that seems to need projecting, or −1."""
    for b in range(first, last):
        if work.rivals[b] > 1.0 or learns(learn, int(work.leader[b]), y, start + b):
            return b
    return -1


@compiled
def _bound(
    learner: Learner, quadratic: Quadratic, work: Step, m: int, first: int, last: int
) -> None:
    bound_errors(
        quadratic,
        m,
        learner.gaussians.constant[m],
        work.lengths[first:last],
        work.doubts[m, first:last],
    )


@compiled
def settle(learner: Learner, age: Age, work: Step, first: int, last: int) -> None:
    """Find the leading class of rows first … last − 1, and how many may be first.

    The leader is the class whose score is known to be the highest at least. A NaN never
    leads where there is a number, and always counts as a rival.
    """
    classes = learner.classes
    lost = last_bits(learner.R.shape[1])
    leader = work.leader[first:last]
    lowest = work.lowest[first:last]
    rivals = work.rivals[first:last]
    leader[:] = -1.0
    lowest[:] = -np.inf
    rivals[:] = 0.0
    for m in range(classes.bias.shape[0]):
        if classes.eligible[m]:
            if first < last and leader[0] < 0.0:
                leader[:] = m
            known = learner.gaussians.constant[m] + classes.bias[m]
            _lead(
                float(m),
                age.low[m],
                known - (age.margin[m] + lost * abs(classes.bias[m])),
                work.values[m, first:last],
                work.doubts[m, first:last],
                leader,
                lowest,
            )
    for m in range(classes.bias.shape[0]):
        if classes.eligible[m]:
            known = learner.gaussians.constant[m] + classes.bias[m]
            _challenge(
                age.high[m],
                known + (age.margin[m] + lost * abs(classes.bias[m])),
                work.values[m, first:last],
                work.doubts[m, first:last],
                lowest,
                rivals,
            )


@compiled
def _lead(
    m: float,
    slope: float,
    shift: float,
    values: FloatArray,
    doubts: FloatArray,
    leader: FloatArray,
    lowest: FloatArray,
) -> None:
    for b in range(values.shape[0]):
        lower = slope * (values[b] - doubts[b]) + shift
        ahead = lower > lowest[b]
        leader[b] = m if ahead else leader[b]
        lowest[b] = lower if ahead else lowest[b]


@compiled
def _challenge(
    slope: float,
    shift: float,
    values: FloatArray,
    doubts: FloatArray,
    lowest: FloatArray,
    rivals: FloatArray,
) -> None:
    for b in range(values.shape[0]):
        upper = slope * (values[b] + doubts[b]) + shift
        rivals[b] += 0.0 if upper < lowest[b] else 1.0


@compiled_inline
def settle_row(learner: Learner, age: Age, work: Step, b: int) -> None:
    """Do what `settle` does, for row b."""
    classes = learner.classes
    lost = last_bits(learner.R.shape[1])
    leader = -1
    lowest = -np.inf
    for m in range(classes.bias.shape[0]):
        known = learner.gaussians.constant[m] + classes.bias[m]
        lower = age.low[m] * (work.values[m, b] - work.doubts[m, b])
        lower += known - (age.margin[m] + lost * abs(classes.bias[m]))
        ahead = classes.eligible[m] & ((lower > lowest) | (leader < 0))
        leader = m if ahead else leader
        lowest = lower if ahead & (lower > lowest) else lowest
    rivals = 0
    for m in range(classes.bias.shape[0]):
        upper = _upper(learner, age, work, m, b, lost)
        rivals += 1 if classes.eligible[m] and not upper < lowest else 0
    work.leader[b] = leader
    work.lowest[b] = lowest
    work.rivals[b] = rivals


@compiled
def _find_rivals(
    learner: Learner, age: Age, work: Step, b: int, out: BoolArray
) -> None:
    """Set `out` (M,) to the classes that may be first in row b."""
    lost = last_bits(learner.R.shape[1])
    for m in range(out.shape[0]):
        upper = _upper(learner, age, work, m, b, lost)
        out[m] = learner.classes.eligible[m] and not upper < work.lowest[b]


@compiled_inline
def _upper(
    learner: Learner, age: Age, work: Step, m: int, b: int, lost: float
) -> float:
    """Return the most that class m's score can be in row b."""
    bias = learner.classes.bias[m]
    upper = age.high[m] * (work.values[m, b] + work.doubts[m, b])
    known = learner.gaussians.constant[m] + bias
    return upper + (known + (age.margin[m] + lost * abs(bias)))
