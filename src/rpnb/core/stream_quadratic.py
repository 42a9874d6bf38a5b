"""The test-then-train pass that predicts from quadratic forms.

`pass_quadratic` gives the labels of `rpnb.core.stream.pass_exact` and leaves the same
state, to the bit. The polynomials of a step of rows are evaluated together, and so are
their labels; the rows are then gone through one by one, up to the first that changes
the model, after which what depends on it is done anew for the rest of the step.
"""

from typing import NamedTuple

import numpy as np

from rpnb.core.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.compiled import compiled
from rpnb.core.projection import project
from rpnb.core.quadratic import (
    Quadratic,
    bound_errors,
    evaluate,
    evaluate_one,
    expand,
    last_bits,
    refresh_quadratic,
)
from rpnb.core.scoring import LANES, best_class
from rpnb.core.stream import LEARN_NOTHING, Learner, count_row, learn_row, learns


class Step(NamedTuple):
    """Working space for the rows of a step."""

    terms: FloatArray
    """(⌈L⌉, step) what `rpnb.core.quadratic.expand` makes of the rows"""
    lengths: FloatArray
    """(step,) |x'|"""
    distances: FloatArray
    """(step,) |x| + |x₀|"""
    values: FloatArray
    """(M, step) the polynomials' values"""
    doubts: FloatArray
    """(M, step) bounds of their errors"""
    leader: FloatArray
    """(step,) the class with the largest value, −1 if none takes part"""
    lowest: FloatArray
    """(step,) the least that its definitive score can be"""
    rivals: FloatArray
    """(step,) how many classes may be first, itself included"""


@compiled
def make_step(terms: int, M: int, step: int) -> Step:
    """Room for `step` rows, M classes and polynomials of so many terms."""
    return Step(
        np.empty((terms, step)),
        np.empty(step),
        np.empty(step),
        np.empty((M, step)),
        np.empty((M, step)),
        np.empty(step),
        np.empty(step),
        np.empty(step),
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
        expand(rows, quadratic.origin, work.terms, work.lengths, work.distances)
        evaluate(quadratic, work.terms, size, work.values)
        for m in range(M):
            _bound(learner, quadratic, work, m, 0, size)
        settle(learner, work, 0, size)
        for b in range(size):
            i = start + b
            # No remainder, as in the other passes: a division is much in so short a
            # loop.
            w = weight[i if weight.shape[0] > 1 else 0]
            label = int(work.leader[b])
            certain = work.rivals[b] <= 1.0
            if certain and not learns(learn, label, y, i):
                labels[i] = label
                if learn != LEARN_NOTHING and y[i] >= 0:
                    count_row(classes, keep, y[i], w)
                    if classes.follow > 0.0:
                        settle(learner, work, b + 1, size)
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
                if learns(learn, label, y, i):
                    learn_row(learner, y[i], z[0], w)
                    refresh_quadratic(quadratic, y[i], learner.gaussians)
                    evaluate_one(
                        quadratic, y[i], work.terms, b + 1, size, work.values[y[i]]
                    )
                    _bound(learner, quadratic, work, y[i], b + 1, size)
                    updates += 1
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
        work.distances[first:last],
        work.values[m, first:last],
        work.doubts[m, first:last],
    )


@compiled
def settle(learner: Learner, work: Step, first: int, last: int) -> None:
    """Find the leading class of rows first … last − 1, and how many may be first.

    A NaN never leads where there is a number, and always counts as a rival.
    """
    classes = learner.classes
    lost = last_bits(learner.R.shape[1])
    leader = work.leader[first:last]
    lowest = work.lowest[first:last]
    rivals = work.rivals[first:last]
    # The largest score so far takes the place of the count, which comes later.
    leader[:] = -1.0
    lowest[:] = -np.inf
    rivals[:] = -np.inf
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
                rivals,
            )
    rivals[:] = 0.0
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
    highest: FloatArray,
) -> None:
    for b in range(values.shape[0]):
        score = values[b] + known
        ahead = score > highest[b]
        lowest[b] = score - (doubts[b] + lost) if ahead else lowest[b]
        leader[b] = m if ahead else leader[b]
        highest[b] = score if ahead else highest[b]


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


@compiled
def _find_rivals(learner: Learner, work: Step, b: int, out: BoolArray) -> None:
    """Set `out` (M,) to the classes that may be first in row b."""
    classes = learner.classes
    lost = last_bits(learner.R.shape[1])
    for m in range(out.shape[0]):
        upper = work.values[m, b] + (learner.gaussians.constant[m] + classes.bias[m])
        upper += work.doubts[m, b] + lost * abs(classes.bias[m])
        out[m] = classes.eligible[m] and not upper < work.lowest[b]
