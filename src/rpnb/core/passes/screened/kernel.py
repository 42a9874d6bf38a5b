"""The test-then-train pass that predicts from single-precision scores.

`pass_screened` gives the labels of `core.passes.exact.pass_exact` and leaves the same
state, to the bit, but predicts from screened scores wherever these decide the label
beyond doubt, and projects in double precision only what it must.
"""

import numpy as np

from rpnb.core.bayes.densities import refresh
from rpnb.core.bayes.moments import fade
from rpnb.core.bayes.scoring import LANES, best_class
from rpnb.core.bayes.state import LEARN_NOTHING, KernelState
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray, SingleArray
from rpnb.core.kernels.compiled import compiled, compiled_inline
from rpnb.core.passes.exact import count_row, learns
from rpnb.core.passes.screened.learning import learn_into_screen
from rpnb.core.passes.screened.scores import (
    ScreenedDensities,
    doubt,
    loose_doubt,
    refresh_screen,
    screen_class,
    screen_rows,
)
from rpnb.core.projection.matrices import project, project_singles


@compiled_inline
def decide(
    scores: FloatArray,
    learner: KernelState,
    screen: ScreenedDensities,
    noise: float,
    reach: float,
    rivals: BoolArray,
) -> tuple[int, bool]:
    """Return the leading class by screened scores (M,), and whether it is certain.

    If it is not, `rivals` is set to the classes that may be first once scores are
    definitive. Written so that a NaN, from a number beyond single precision, makes a
    class a rival.
    """
    eligible = learner.classes.eligible
    bias = learner.classes.bias
    laws = learner.gaussians
    best = -1
    highest = -np.inf
    # Without branches, which would be guessed wrong as often as the leader changes.
    for m in range(scores.shape[0]):
        value = scores[m] + bias[m]
        better = eligible[m] & ((value > highest) | (best < 0))
        best = m if better else best
        highest = value if better else highest
    if best < 0:
        return -1, True
    lowest = highest - loose_doubt(
        scores[best], laws, screen, best, bias[best], noise, reach
    )
    rest = 0
    for m in range(scores.shape[0]):
        upper = scores[m] + bias[m]
        upper += loose_doubt(scores[m], laws, screen, m, bias[m], noise, reach)
        rest += 0 if (upper < lowest) | (not eligible[m]) else 1
    # The leader itself is one.
    if rest == 1:
        return best, True
    lowest = highest - doubt(scores[best], laws, screen, best, bias[best], noise, reach)
    certain = True
    for m in range(scores.shape[0]):
        rivals[m] = m == best
        if eligible[m] and m != best:
            upper = scores[m] + bias[m]
            upper += doubt(scores[m], laws, screen, m, bias[m], noise, reach)
            if not upper < lowest:
                rivals[m] = True
                certain = False
    return best, certain


@compiled
def pass_screened(
    learner: KernelState,
    screen: ScreenedDensities,
    X: FloatArray,
    moved: SingleArray,
    Z: SingleArray,
    noise: FloatArray,
    reach: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    step: int,
    labels: IntArray,
) -> int:
    """Do what `pass_exact` does, from rows projected in single precision.

    Rows are screened `step`, a multiple of four, at a time. They come as `moved`
    (≥ n, p) and are projected here, Z (step, F) being room for them; or `moved` is
    (0, p) and Z (≥ n, F) has them all. Either has rows to fill the last four.

    The rows of a step that look like mistakes are projected in double precision
    together, which costs less than one by one. A class that learns is screened anew for
    the rows that remain of the step.
    """
    n = X.shape[0]
    M = learner.classes.bias.shape[0]
    scores = np.empty((step, M))
    exact = np.empty((step, learner.R.shape[1]))
    # Where in `exact` a row of the step has been projected, or −1.
    place = np.empty(step, np.int64)
    rows = np.empty(step, np.int64)
    rivals = np.empty(M, np.bool_)
    # Classes whose laws are not up to date with their moments.
    late = np.zeros(M, np.bool_)
    lanes = np.empty(LANES)
    counts = learn != LEARN_NOTHING
    updates = 0
    for start in range(0, n, step):
        stop = min(start + step, n)
        fours = (stop - start + 3) // 4 * 4
        if moved.shape[0] > 0:
            z = Z[:fours]
            project_singles(moved[start : start + fours], learner.R, z)
        else:
            z = Z[start : start + fours]
        screen_rows(z, screen, scores)
        done = 0
        for i in range(start, stop):
            b = i - start
            label, certain = decide(
                scores[b], learner, screen, noise[i], reach[i], rivals
            )
            labels[i] = label
            place[b] = -1
            if not certain or learns(learn, label, y, i):
                place[b] = done
                rows[done] = i
                done += 1
        if done == 0 and not counts:
            continue
        project(X, rows[:done], learner.scale, learner.R, exact)
        moving = learner.classes.follow > 0.0
        for i in range(start, stop):
            b = i - start
            label, certain = labels[i], True
            # While nothing has changed, what was decided stands.
            if moving or place[b] >= 0:
                label, certain = decide(
                    scores[b], learner, screen, noise[i], reach[i], rivals
                )
            if place[b] < 0 and (not certain or learns(learn, label, y, i)):
                place[b] = done
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
                _catch_up(learner, late, rivals)
                label = best_class(
                    exact[place[b]],
                    learner.gaussians,
                    learner.classes.bias,
                    rivals,
                    lanes,
                )
            labels[i] = label
            if learn != LEARN_NOTHING and y[i] >= 0:
                w = weight[i % weight.shape[0]]
                count_row(learner.classes, learner.keep, y[i], w)
                if learns(learn, label, y, i):
                    fade(learner.moments, y[i], learner.keep, w)
                    late[y[i]] = True
                    if not learn_into_screen(
                        screen,
                        learner.gaussians,
                        y[i],
                        learner.moments,
                        learner.prior,
                        exact[place[b]],
                        w,
                    ):
                        _catch_up(learner, late, late)
                        refresh_screen(screen, y[i], learner.gaussians)
                    screen_class(z, screen, y[i], (b + 1) // 4 * 4, scores)
                    moving = True
                    updates += 1
    _catch_up(learner, late, np.ones(M, np.bool_))
    return updates


@compiled
def _catch_up(learner: KernelState, late: BoolArray, wanted: BoolArray) -> None:
    """Bring the laws of the wanted classes up to date, where they are late."""
    for m in range(late.shape[0]):
        if late[m] and wanted[m]:
            refresh(learner.gaussians, m, learner.moments, learner.prior)
            late[m] = False
