"""The test-then-train pass as short streams take it: few kernels, compiled in a second.

`pass_plain` gives the labels of `core.passes.exact.pass_exact` and leaves the same
state, to the bit: the same sums in the same order, in loops that the compiler has
little work with. It scores every class completely, without the tiles of explicit
vectors and without stopping early, and takes about twice the time of `pass_exact`,
which takes three times as long to compile.
"""

import numpy as np

from rpnb.core.bayes.densities import learn_density
from rpnb.core.bayes.moments import fade
from rpnb.core.bayes.scoring import LANES, LARGEST
from rpnb.core.bayes.state import LEARN_ALL, LEARN_NOTHING, KernelState
from rpnb.core.calibration.cells import next_row_of_codes, write_codes
from rpnb.core.kernels.arrays import FloatArray, IntArray, SingleArray
from rpnb.core.kernels.compiling.compiled import compiled, fused_multiply_add
from rpnb.core.passes.exact import count_row


@compiled
def _project_row(x: FloatArray, scale: float, R: SingleArray, z: FloatArray) -> None:
    """Project x (p,) to z (F,); copy it if R has no rows. See `matrices.project`."""
    for f in range(z.shape[0]):
        z[f] = x[f] if R.shape[0] == 0 else 0.0
    for i in range(R.shape[0]):
        a = x[i] * scale
        for f in range(z.shape[0]):
            z[f] = fused_multiply_add(a, np.float64(R[i, f]), z[f])


@compiled
def _squared_distance(
    z: FloatArray, mean: FloatArray, precision: FloatArray, lanes: FloatArray
) -> float:
    """Return Σ ((z − μ)/σ)² of all columns, added as `scoring.score` does."""
    F = z.shape[0]
    whole = F - F % LANES
    for lane in range(LANES):
        lanes[lane] = 0.0
    for start in range(0, whole, LANES):
        for lane in range(LANES):
            delta = z[start + lane] - mean[start + lane]
            term = delta * delta * precision[start + lane]
            lanes[lane] += term if term < LARGEST else LARGEST
    for f in range(whole, F):
        delta = z[f] - mean[f]
        lanes[f - whole] += min(delta * delta * precision[f], LARGEST)
    total = 0.0
    for lane in range(0, LANES, 4):
        total += (lanes[lane] + lanes[lane + 1]) + (lanes[lane + 2] + lanes[lane + 3])
    return total


@compiled
def _score_classes(
    learner: KernelState, z: FloatArray, lanes: FloatArray, scores: FloatArray
) -> None:
    """Write the scores (M,) of a projected row z (F,)."""
    gaussians = learner.gaussians
    for m in range(scores.shape[0]):
        top = gaussians.constant[m] + learner.classes.bias[m]
        distance = _squared_distance(
            z, gaussians.mean[m], gaussians.precision[m], lanes
        )
        scores[m] = top - 0.5 * distance


@compiled
def pass_plain(
    learner: KernelState,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    labels: IntArray,
) -> int:
    """Do what `pass_exact` does."""
    eligible = learner.classes.eligible
    z = np.empty(learner.R.shape[1])
    lanes = np.empty(LANES)
    scores = np.empty(eligible.shape[0])
    updates = 0
    for i in range(X.shape[0]):
        _project_row(X[i], learner.scale, learner.R, z)
        _score_classes(learner, z, lanes, scores)
        best = -1
        for m in range(scores.shape[0]):
            if eligible[m] and (best < 0 or scores[m] > scores[best]):
                best = m
        labels[i] = best
        if learn == LEARN_NOTHING or y[i] < 0:
            continue
        w = weight[i % weight.shape[0]]
        to = next_row_of_codes(learner.cells)
        if to >= 0:
            codes = learner.cells.codes[to]
            write_codes(scores, eligible, best, learner.cells.scale, codes)
        count_row(learner.classes, learner.keep, y[i], w)
        if learn == LEARN_ALL or best != y[i]:
            fade(learner.moments, y[i], learner.keep, w)
            learn_density(learner.gaussians, y[i], learner.moments, learner.prior, z, w)
            updates += 1
    return updates


@compiled
def score_rows_plain(learner: KernelState, X: FloatArray, out: FloatArray) -> None:
    """Write the scores (n, M) of rows X (n, p), or of projections (n, F)."""
    z = np.empty(learner.R.shape[1])
    lanes = np.empty(LANES)
    for i in range(X.shape[0]):
        _project_row(X[i], learner.scale, learner.R, z)
        _score_classes(learner, z, lanes, out[i])
