"""The test-then-train pass that predicts from quadratic forms.

`pass_quadratic` gives the labels of `rpnb.core.stream.pass_exact` and leaves the same
state, to the bit. The polynomials of a step of rows are evaluated together, and so are
their labels; the rows are then gone through one by one. A class that learns is
evaluated anew for the rest of the step, and so are the labels, the first time together:
another mistake is then far. After a second one, near, they are found row by row.
"""

from typing import NamedTuple

import numpy as np

from rpnb.core.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.compiled import compiled, compiled_inline
from rpnb.core.projection import project
from rpnb.core.quadratic import (
    ROWS,
    Quadratic,
    bound_errors,
    evaluate,
    evaluate_one,
    expand,
    last_bits,
)
from rpnb.core.quadratic_refresh import refresh_quadratic
from rpnb.core.scoring import LANES, best_class
from rpnb.core.stream import LEARN_NOTHING, Learner, count_row, learn_row, learns


class Step(NamedTuple):
    """Working space for the rows of a step."""

    terms: FloatArray
    """(⌈L⌉, step) what `rpnb.core.quadratic.expand` makes of the rows"""
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


@compiled
def make_step(terms: int, M: int, step: int) -> Step:
    """Room for `step` rows, M classes and polynomials of so many terms."""
    room = (step + ROWS - 1) // ROWS * ROWS
    # What fills the last rows is evaluated too, and must be numbers.
    return Step(
        np.zeros((terms, room)),
        np.empty(room),
        np.empty((M, room)),
        np.empty((M, room)),
        np.empty(room),
        np.empty(room),
        np.empty(room),
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
    labels: IntArray,
) -> int:
    """Do what `pass_exact` does, evaluating the polynomials of `step` rows at a time.

    The polynomials must be up to date with the classes' laws, and are kept so.
    """
    n = X.shape[0]
    classes = learner.classes
    keep = learner.keep
    M = classes.bias.shape[0]
    work = make_step(quadratic.factors.shape[1], M, step)
    z = np.empty((1, learner.R.shape[1]))
    row = np.empty(1, np.int64)
    open_classes = np.empty(M, np.bool_)
    lanes = np.empty(LANES)
    updates = 0
    for start in range(0, n, step):
        size = min(step, n - start)
        rows = X[start : start + size]
        expand(rows, quadratic.origin, work.terms, work.lengths)
        evaluate(quadratic, work.terms, size, work.values)
        for m in range(M):
            _bound(learner, quadratic, work, m, 0, size)
        settle(learner, work, 0, size)
        settled = True
        changes = 0
        for b in range(size):
            i = start + b
            # No remainder, as in the other passes: a division is much in so short a
            # loop.
            w = weight[i if weight.shape[0] > 1 else 0]
            if not settled:
                settle_row(learner, work, b)
            label = int(work.leader[b])
            certain = work.rivals[b] <= 1.0
            if certain and not learns(learn, label, y, i):
                labels[i] = label
                if learn != LEARN_NOTHING and y[i] >= 0:
                    count_row(classes, keep, y[i], w)
                    settled = settled and classes.follow == 0.0
                continue
            row[0] = i
            project(X, row, learner.scale, learner.R, z)
            if not certain:
                _find_rivals(learner, work, b, open_classes)
                label = best_class(
                    z[0], learner.gaussians, classes.bias, open_classes, lanes
                )
            labels[i] = label
            if learn != LEARN_NOTHING and y[i] >= 0:
                count_row(classes, keep, y[i], w)
                settled = settled and classes.follow == 0.0
                if learns(learn, label, y, i):
                    learn_row(learner, y[i], z[0], w)
                    refresh_quadratic(quadratic, y[i], learner.gaussians)
                    evaluate_one(quadratic, y[i], work.terms, b + 1, size, work.values)
                    _bound(learner, quadratic, work, y[i], b + 1, size)
                    updates += 1
                    changes += 1
                    settled = settled and changes == 1
                    if settled:
                        settle(learner, work, b + 1, size)
    return updates


@compiled
def _bound(
    learner: Learner, quadratic: Quadratic, work: Step, m: int, first: int, last: int
) -> None:
    bound_errors(
        quadratic,
        m,
        learner.gaussians.constant[m],
        work.lengths[first:last],
        work.values[m, first:last],
        work.doubts[m, first:last],
    )


@compiled
def settle(learner: Learner, work: Step, first: int, last: int) -> None:
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
            _lead(
                float(m),
                learner.gaussians.constant[m] + classes.bias[m],
                lost * abs(classes.bias[m]),
                work.values[m, first:last],
                work.doubts[m, first:last],
                leader,
                lowest,
            )
    for m in range(classes.bias.shape[0]):
        if classes.eligible[m]:
            _challenge(
                learner.gaussians.constant[m] + classes.bias[m],
                lost * abs(classes.bias[m]),
                work.values[m, first:last],
                work.doubts[m, first:last],
                lowest,
                rivals,
            )


@compiled
def _lead(
    m: float,
    known: float,
    lost: float,
    values: FloatArray,
    doubts: FloatArray,
    leader: FloatArray,
    lowest: FloatArray,
) -> None:
    for b in range(values.shape[0]):
        lower = values[b] + known - (doubts[b] + lost)
        ahead = lower > lowest[b]
        leader[b] = m if ahead else leader[b]
        lowest[b] = lower if ahead else lowest[b]


@compiled
def _challenge(
    known: float,
    lost: float,
    values: FloatArray,
    doubts: FloatArray,
    lowest: FloatArray,
    rivals: FloatArray,
) -> None:
    for b in range(values.shape[0]):
        upper = values[b] + known + (doubts[b] + lost)
        rivals[b] += 0.0 if upper < lowest[b] else 1.0


@compiled_inline
def settle_row(learner: Learner, work: Step, b: int) -> None:
    """Do what `settle` does, for row b."""
    classes = learner.classes
    lost = last_bits(learner.R.shape[1])
    leader = -1
    lowest = -np.inf
    for m in range(classes.bias.shape[0]):
        bias = classes.bias[m]
        lower = work.values[m, b] + (learner.gaussians.constant[m] + bias)
        lower -= work.doubts[m, b] + lost * abs(bias)
        ahead = classes.eligible[m] & ((lower > lowest) | (leader < 0))
        leader = m if ahead else leader
        lowest = lower if ahead & (lower > lowest) else lowest
    rivals = 0
    for m in range(classes.bias.shape[0]):
        bias = classes.bias[m]
        upper = work.values[m, b] + (learner.gaussians.constant[m] + bias)
        upper += work.doubts[m, b] + lost * abs(bias)
        rivals += 1 if classes.eligible[m] and not upper < lowest else 0
    work.leader[b] = leader
    work.lowest[b] = lowest
    work.rivals[b] = rivals


@compiled
def _find_rivals(learner: Learner, work: Step, b: int, out: BoolArray) -> None:
    """Set `out` (M,) to the classes that may be first in row b."""
    classes = learner.classes
    lost = last_bits(learner.R.shape[1])
    for m in range(out.shape[0]):
        upper = work.values[m, b] + (learner.gaussians.constant[m] + classes.bias[m])
        upper += work.doubts[m, b] + lost * abs(classes.bias[m])
        out[m] = classes.eligible[m] and not upper < work.lowest[b]
