"""The statistics of a leaf, and the naive Bayes scores of the classes there.

The score of class c is log N_c + Σ_j log density_j(x_j | c), with a normal density for
each attribute. A leaf keeps, for each class, the part of this sum that does not depend
on x, so that a score is `peak` − Σ_j (x_j − μ_j)²·precision_j. Three cases need other
formulas: an attribute without variance, whose density is 1 at its only value and 0
elsewhere; a class not seen since the leaf began, whose density is 0; and, with
`DENSITY_PRODUCT`, products that may leave the range of doubles. The last two are
recognised by the class's `limit`.
"""

from math import exp, log, sqrt

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.trees.records import (
    DENSITY_LOG,
    LeafCounts,
    LeafDensities,
    LeafMoments,
    Leaves,
)

_ROOT_TWO_PI = sqrt(2.0 * np.pi)
_HALF_LOG_TWO_PI = 0.5 * log(2.0 * np.pi)
# Variances outside are left to `score_by_factors`: the inverse, or its product with a
# square, might leave the range of doubles.
_SMALLEST = 1e-290
_LARGEST = 1e290
# Doubles are normal numbers, with all their digits, between e^−708 and e^709. A product
# whose logarithm stays within this bound is as good as the exponential of a sum.
SAFE = 700.0
# |log ΣN| is below this; it is part of every prior.
_LOG_TOTAL = 64.0


def reset_leaf(leaves: Leaves, leaf: int, class_weight: FloatArray, slots: int) -> None:
    """Reset `leaf` to a leaf without observations that has these class weights."""
    counts, observed, densities = leaves
    for field in (*counts, *observed, *densities):
        field[leaf] = 0
    counts.slots[leaf] = slots
    counts.class_weight[leaf] = class_weight
    counts.checked[leaf] = total_weight(counts, leaf)
    densities.limit[leaf] = -np.inf
    densities.peak[leaf] = -np.inf
    np.log(class_weight, out=densities.peak[leaf], where=class_weight > 0.0)


@compiled
def total_weight(counts: LeafCounts, leaf: int) -> float:
    """Return ΣN, added in the order of the classes.

    A running sum would be cheaper but would round differently, and whether a leaf has
    gained 200 since its last attempt to split must be decided as in MOA.
    """
    total = 0.0
    for m in range(counts.slots[leaf]):
        total += counts.class_weight[leaf, m]
    return total


@compiled
def count_class(counts: LeafCounts, leaf: int, y: int, weight: float) -> None:
    """Add `weight` to the weight of class y."""
    counts.class_weight[leaf, y] += weight
    counts.slots[leaf] = max(counts.slots[leaf], y + 1)


@compiled
def observe_row(
    observed: LeafMoments, leaf: int, y: int, x: FloatArray, weight: float
) -> None:
    """Add a row x (p,) of class y to the class's Gaussians and ranges.

    The first row sets the mean. From then on, with W the weight including this row,
    μ' = μ + w(x − μ)/W and S += w(x − μ)(x − μ'), rounded as written.
    """
    before = observed.weight[leaf, y]
    total = before + weight
    observed.weight[leaf, y] = total
    if before == 0.0:
        for j in range(x.shape[0]):
            observed.mean[leaf, y, j] = x[j]
            observed.low[leaf, y, j] = x[j]
            observed.high[leaf, y, j] = x[j]
    else:
        for j in range(x.shape[0]):
            delta = x[j] - observed.mean[leaf, y, j]
            mean = observed.mean[leaf, y, j] + weight * delta / total
            observed.mean[leaf, y, j] = mean
            observed.scatter[leaf, y, j] += weight * delta * (x[j] - mean)
            observed.low[leaf, y, j] = min(observed.low[leaf, y, j], x[j])
            observed.high[leaf, y, j] = max(observed.high[leaf, y, j], x[j])


@compiled
def variance_of(observed: LeafMoments, leaf: int, m: int, j: int) -> float:
    """Return S/(W − 1), 0 where W is not above 1."""
    weight = observed.weight[leaf, m]
    return observed.scatter[leaf, m, j] / (weight - 1.0) if weight > 1.0 else 0.0


@compiled
def refresh_leaf_densities(
    densities: LeafDensities,
    observed: LeafMoments,
    leaf: int,
    m: int,
    class_weight: float,
    density: int,
) -> None:
    """Derive the density of class m, after its weight or its moments have changed."""
    log_weight = log(class_weight)
    peak = log_weight
    spread = abs(log_weight) + _LOG_TOTAL
    flat = 0
    extreme = False
    for j in range(observed.mean.shape[2]):
        variance = variance_of(observed, leaf, m, j)
        precision = 0.0
        normaliser = 0.0
        if _SMALLEST < variance < _LARGEST:
            precision = 0.5 / variance
            normaliser = -_HALF_LOG_TWO_PI - 0.5 * log(variance)
        elif variance > 0.0:
            extreme = True
        else:
            flat += 1
        peak += normaliser
        spread += abs(normaliser)
        densities.centre[leaf, j, m] = observed.mean[leaf, m, j]
        densities.precision[leaf, j, m] = precision
        densities.normaliser[leaf, m, j] = normaliser
    densities.peak[leaf, m] = peak
    densities.flat[leaf, m] = flat
    if extreme:
        densities.limit[leaf, m] = -np.inf
    elif density == DENSITY_LOG:
        densities.limit[leaf, m] = np.inf
    else:
        # No partial product lies further from 1 than e^(spread + distance).
        densities.limit[leaf, m] = SAFE - spread


@compiled
def score_classes(
    leaves: Leaves, leaf: int, x: FloatArray, density: int, scores: FloatArray
) -> None:
    """Set scores[m] to the log of naive Bayes' vote for class m, plus log ΣN.

    Only classes that have a slot at the leaf are scored. A vote of 0 scores −∞.
    """
    if not score_by_distance(
        leaves.densities, leaf, leaves.counts.slots[leaf], x, scores
    ):
        finish_scores(leaves, leaf, x, density, scores)


@compiled
def score_by_distance(
    densities: LeafDensities, leaf: int, slots: int, x: FloatArray, scores: FloatArray
) -> bool:
    """Do what `score_classes` does if nothing is flat or beyond limits; return whether.

    Otherwise `scores` holds distances, from which `finish_scores` continues.
    """
    for m in range(slots):
        scores[m] = 0.0
    for j in range(x.shape[0]):
        for m in range(slots):
            delta = x[j] - densities.centre[leaf, j, m]
            scores[m] += delta * delta * densities.precision[leaf, j, m]
    odd = 0
    for m in range(slots):
        odd += (not scores[m] <= densities.limit[leaf, m]) + densities.flat[leaf, m]
    if odd == 0:
        for m in range(slots):
            scores[m] = densities.peak[leaf, m] - scores[m]
    return odd == 0


@compiled
def finish_scores(
    leaves: Leaves, leaf: int, x: FloatArray, density: int, scores: FloatArray
) -> None:
    """Turn distances into scores where `score_by_distance` could not."""
    densities = leaves.densities
    fresh = True
    for m in range(leaves.counts.slots[leaf]):
        fresh = fresh and leaves.observed.weight[leaf, m] == 0.0
    for m in range(leaves.counts.slots[leaf]):
        # Before a leaf has observed anything, every density is 1.
        if fresh or scores[m] <= densities.limit[leaf, m]:
            differs = densities.flat[leaf, m] > 0 and _differs(densities, leaf, m, x)
            scores[m] = -np.inf if differs else densities.peak[leaf, m] - scores[m]
        else:
            scores[m] = score_by_factors(leaves, leaf, m, x, density)


@compiled
def _differs(densities: LeafDensities, leaf: int, m: int, x: FloatArray) -> bool:
    """Whether x has another value where an attribute of class m has only one."""
    for j in range(x.shape[0]):
        if (
            densities.precision[leaf, j, m] == 0.0
            and x[j] != densities.centre[leaf, j, m]
        ):
            return True
    return False


@compiled
def score_by_factors(
    leaves: Leaves, leaf: int, m: int, x: FloatArray, density: int
) -> float:
    """Return the score of class m, attribute by attribute."""
    counts, observed, densities = leaves
    if observed.weight[leaf, m] == 0.0:
        return -np.inf
    log_weight = log(counts.class_weight[leaf, m])
    if density == DENSITY_LOG:
        return _sum_of_logs(densities, observed, leaf, m, x, log_weight)
    log_total = log(total_weight(counts, leaf))
    log_prior = log_weight - log_total
    return _log_of_product(densities, observed, leaf, m, x, log_prior) + log_total


@compiled
def _sum_of_logs(
    densities: LeafDensities,
    observed: LeafMoments,
    leaf: int,
    m: int,
    x: FloatArray,
    score: float,
) -> float:
    """Return `score` plus the log densities of x under class m."""
    for j in range(x.shape[0]):
        delta = x[j] - observed.mean[leaf, m, j]
        precision = densities.precision[leaf, j, m]
        if precision > 0.0:
            score += densities.normaliser[leaf, m, j] - delta * delta * precision
            continue
        variance = variance_of(observed, leaf, m, j)
        if variance > 0.0:
            distance = delta / sqrt(variance)
            score -= _HALF_LOG_TWO_PI + 0.5 * log(variance) + 0.5 * distance * distance
        elif delta != 0.0:
            return -np.inf
    return score


@compiled
def _log_of_product(
    densities: LeafDensities,
    observed: LeafMoments,
    leaf: int,
    m: int,
    x: FloatArray,
    score: float,
) -> float:
    """Return the log of e^score times the densities of x, multiplied in doubles.

    While the product and the next density are well within the range of doubles, adding
    logarithms gives the product's logarithm to about 1e-13. Near the ends of the range,
    where products lose digits, become 0 or overflow, or stay at the smallest double
    after factors above ½, the doubles themselves are multiplied.
    """
    product = 1.0
    in_doubles = False
    for j in range(x.shape[0]):
        delta = x[j] - observed.mean[leaf, m, j]
        precision = densities.precision[leaf, j, m]
        if not in_doubles and precision > 0.0:
            distance = delta * delta * precision
            factor = densities.normaliser[leaf, m, j] - distance
            if distance < SAFE and abs(factor) < SAFE and abs(score + factor) < SAFE:
                score += factor
                continue
        factor = _density(variance_of(observed, leaf, m, j), delta)
        if factor == 1.0:
            continue
        if not in_doubles:
            product = exp(score)
        product *= factor
        if product == 0.0:
            return -np.inf
        score = log(product)
        in_doubles = not abs(score) < SAFE
    return score


@compiled
def _density(variance: float, delta: float) -> float:
    """Return the normal density at `delta` from the mean, rounded as in MOA."""
    if not variance > 0.0:
        return 1.0 if delta == 0.0 else 0.0
    deviation = sqrt(variance)
    spread = 2.0 * deviation * deviation
    return 1.0 / (_ROOT_TWO_PI * deviation) * exp(-(delta * delta / spread))
