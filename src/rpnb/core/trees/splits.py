"""Whether and where a leaf is split.

Each attribute is tried at thresholds evenly spaced between the smallest and the largest
value seen. The classes' normal densities estimate how much of each class lies on either
side; the merit of a threshold is its information gain. The best attribute is taken when
it leads by more than the Hoeffding bound.
"""

from math import erfc, log, sqrt
from typing import NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.trees.leaves import reset_leaf, total_weight, variance_of
from rpnb.core.trees.records import Forest, LeafMoments, Leaves, TreeParameters, places

# Both sides of a split hold more than this share of the weight.
_SMALLEST_SHARE = 0.01
_ROOT_HALF = sqrt(0.5)
_LOG_TWO = log(2.0)


class Split(NamedTuple):
    """The outcome of an attempt to split a leaf."""

    attribute: int
    """The attribute to split on, −1 for none"""
    threshold: float
    freeze: bool
    """No attribute offers a threshold: the leaf cannot be split"""


NO_SPLIT = Split(-1, 0.0, False)


@compiled
def attempt_split(leaves: Leaves, leaf: int, rules: TreeParameters) -> Split:
    """Decide whether to split the leaf, by the Hoeffding bound.

    With n = ΣN and R the logarithm to base 2 of the number of class slots, at least 2,
    ε = √(R² ln(1/δ)/(2n)). The best attribute is taken if it leads the second best by
    more than ε, or if ε < τ. Not to split competes with merit −∞. Of attributes with
    equal merits the last is best. A leaf of one class is not split.
    """
    counts = leaves.counts
    observed = leaves.observed
    slots = counts.slots[leaf]
    if _number_of_classes(counts.class_weight[leaf]) < 2:
        return NO_SPLIT
    weight = total_weight(counts, leaf)
    before = _entropy(counts.class_weight[leaf], weight)
    whole = np.zeros(slots)
    for m in range(slots):
        whole[m] = _times_log(observed.weight[leaf, m])
    deviations = np.zeros(slots)
    best = -np.inf
    second = -np.inf
    attribute = -1
    threshold = 0.0
    for j in range(observed.mean.shape[2]):
        merit, place = _best_threshold(
            observed, leaf, j, rules.bins, before, whole, deviations
        )
        if np.isnan(place):
            continue
        if merit >= best:
            second = best
            best = merit
            attribute = j
            threshold = place
        elif merit > second:
            second = merit
    if attribute < 0:
        return Split(-1, 0.0, True)
    width = log(max(slots, 2)) / _LOG_TWO
    bound = sqrt(width * width * log(1.0 / rules.confidence) / (2.0 * weight))
    # Two merits of −∞ are equal, though their difference is not a number.
    leads = best > second and best - second > bound
    if leads or bound < rules.tie:
        return Split(attribute, threshold, False)
    return NO_SPLIT


@compiled
def _number_of_classes(weights: FloatArray) -> int:
    """Return how many classes have a weight other than zero."""
    count = 0
    for weight in weights:
        count += weight != 0.0
    return count


@compiled
def _times_log(weight: float) -> float:
    """Return w·log w, 0 at 0."""
    return weight * log(weight) if weight > 0.0 else 0.0


@compiled
def _entropy(weights: FloatArray, total: float) -> float:
    """Return the entropy, in bits, of classes with these weights."""
    value = _times_log(total)
    for weight in weights:
        value -= _times_log(weight)
    return value / (total * _LOG_TWO)


@compiled
def _best_threshold(
    observed: LeafMoments,
    leaf: int,
    j: int,
    bins: int,
    before: float,
    whole: FloatArray,
    deviations: FloatArray,
) -> tuple[float, float]:
    """Return the highest merit on attribute j and its threshold, the first of equals.

    The threshold is NaN if none lies strictly inside the range of the attribute.
    `before` is the entropy at the leaf, `whole` holds W·log W of each class, and
    `deviations` is working space.
    """
    low = np.inf
    high = -np.inf
    for m in range(whole.shape[0]):
        deviations[m] = _deviation(observed, leaf, m, j)
        if observed.weight[leaf, m] > 0.0:
            low = min(low, observed.low[leaf, m, j])
            high = max(high, observed.high[leaf, m, j])
    best = -np.inf
    threshold = np.nan
    for i in range(1, bins + 1):
        z = (high - low) / (bins + 1.0) * i + low
        if low < z < high:
            after = _remaining(observed, leaf, j, z, whole, deviations)
            merit = before - after
            if np.isnan(threshold) or merit > best:
                best = merit
                threshold = z
    return best, threshold


@compiled
def _deviation(observed: LeafMoments, leaf: int, m: int, j: int) -> float:
    """Return σ of attribute j in class m; rounding may leave S below 0."""
    return sqrt(max(variance_of(observed, leaf, m, j), 0.0))


@compiled
def _remaining(
    observed: LeafMoments,
    leaf: int,
    j: int,
    z: float,
    whole: FloatArray,
    deviations: FloatArray,
) -> float:
    """Return the entropy left after a split of attribute j at z.

    It is the mean of the two sides' entropies, weighted, in bits; ∞ if one of the sides
    is too small.
    """
    left = 0.0
    right = 0.0
    value = 0.0
    for m in range(whole.shape[0]):
        weight = observed.weight[leaf, m]
        below = weight_below(observed, leaf, m, j, z, deviations[m])
        left += below
        right += weight - below
        if below == 0.0 or below == weight:
            value -= whole[m]
        else:
            value -= _times_log(below) + _times_log(weight - below)
    total = left + right
    if not min(left, right) > _SMALLEST_SHARE * total:
        return np.inf
    return (value + _times_log(left) + _times_log(right)) / (total * _LOG_TWO)


@compiled
def weight_below(
    observed: LeafMoments, leaf: int, m: int, j: int, z: float, deviation: float
) -> float:
    """Estimate the weight of class m for which attribute j is ≤ z.

    Where z lies within the class's range, by its normal density: W·Φ((z − μ)/σ). MOA
    subtracts the density at z and adds it again, which costs digits, all of them if σ
    is near 1e-16. Its last digits differ in any case, so that a leaf which starts with
    such a weight may reach its next attempt to split one row earlier or later. For a
    class without variance, whose rows differ only if their total weight is at most 1,
    MOA puts all weight on the side where the mean is not.
    """
    weight: float = observed.weight[leaf, m]
    if z < observed.low[leaf, m, j]:
        return 0.0
    if z >= observed.high[leaf, m, j]:
        return weight
    delta = z - observed.mean[leaf, m, j]
    if deviation > 0.0:
        return weight * (0.5 * erfc(-delta / deviation * _ROOT_HALF))
    return weight if delta >= 0.0 else 0.0


@compiled
def divide_classes(
    observed: LeafMoments,
    leaf: int,
    j: int,
    z: float,
    left: FloatArray,
    right: FloatArray,
) -> tuple[int, int]:
    """Set `left` and `right` (M,) to the class weights where attribute j ≤ z and > z.

    Returns the number of slots on either side. A class has a slot on a side unless its
    range lies entirely on the other.
    """
    slots_left = 0
    slots_right = 0
    for m in range(left.shape[0]):
        weight = observed.weight[leaf, m]
        deviation = _deviation(observed, leaf, m, j)
        left[m] = weight_below(observed, leaf, m, j, z, deviation)
        right[m] = weight - left[m]
        if weight > 0.0:
            if z >= observed.low[leaf, m, j]:
                slots_left = m + 1
            if z < observed.high[leaf, m, j]:
                slots_right = m + 1
    return slots_left, slots_right


def split_leaf(forest: Forest, k: int, leaf: int, split: Split) -> int:
    """Make a node of tree k from its leaf; return its number, for the parent to link.

    The leaf itself is reset to be the left child, and the right child is a new leaf.
    Both start with the class weights estimated for their side. The forest must have a
    free place.
    """
    nodes, leaves = forest.nodes, forest.leaves
    first = k * places(forest)
    j, z = split.attribute, split.threshold
    left = np.zeros(leaves.observed.weight.shape[1])
    right = np.zeros_like(left)
    slots_left, slots_right = divide_classes(
        leaves.observed, first + leaf, j, z, left, right
    )
    node = int(forest.splits[k])
    forest.splits[k] += 1
    nodes.attribute[first + node] = j
    nodes.threshold[first + node] = z
    nodes.left[first + node] = -1 - leaf
    nodes.right[first + node] = -1 - (node + 1)
    reset_leaf(leaves, first + leaf, left, slots_left)
    reset_leaf(leaves, first + node + 1, right, slots_right)
    return node
