"""The votes of a leaf: its class weights, or the naive Bayes scores of a row."""

from math import log

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.trees.leaves import SAFE, total_weight
from rpnb.core.trees.records import (
    DENSITY_PRODUCT,
    LEAF_ADAPTIVE,
    LEAF_MAJORITY,
    LeafCounts,
)


@compiled
def largest(values: FloatArray, count: int, otherwise: int) -> int:
    """Return the index of the largest of the first `count` values, the first of equals.

    Returns `otherwise` if `count` is 0. As in MOA, a NaN at index 0 is the largest, and
    a NaN elsewhere is never the largest.
    """
    best = otherwise
    for m in range(count):
        if m == 0 or values[m] > values[best]:
            best = m
    return best


@compiled
def votes_by_majority(counts: LeafCounts, leaf: int, rule: int) -> bool:
    """Whether the leaf votes with its class weights rather than with naive Bayes."""
    if counts.frozen[leaf] or rule == LEAF_MAJORITY:
        return True
    if rule == LEAF_ADAPTIVE:
        return bool(counts.majority_right[leaf] > counts.bayes_right[leaf])
    return False


@compiled
def largest_vote(
    counts: LeafCounts, leaf: int, by_majority: bool, scores: FloatArray
) -> int:
    """Return the class with most votes, the lowest of equals, 0 if there are none."""
    slots = counts.slots[leaf]
    if by_majority:
        return largest(counts.class_weight[leaf], slots, 0)
    return largest(scores, slots, 0)


@compiled
def add_votes(
    counts: LeafCounts,
    leaf: int,
    by_majority: bool,
    scores: FloatArray,
    density: int,
    factor: float,
    shares: FloatArray,
    votes: FloatArray,
) -> None:
    """Add the votes of the leaf, scaled to sum to `factor`, to `votes` (M,).

    Votes that sum to 0 or to NaN are left out. With `DENSITY_PRODUCT` the votes are, as
    in MOA, multiplied by 1 over their sum: where this is 0 or ∞, because products have
    overflowed or are about to vanish, votes become ∞ or NaN. `shares` (M,) is working
    space.
    """
    slots = counts.slots[leaf]
    if by_majority:
        for m in range(slots):
            shares[m] = counts.class_weight[leaf, m]
    else:
        scale = -np.inf
        for m in range(slots):
            scale = max(scale, scores[m])
        # Only ratios count, unless products are at the ends of the range of doubles.
        if scale == -np.inf:
            scale = 0.0
        elif density == DENSITY_PRODUCT and abs(scale) > SAFE:
            scale = log(total_weight(counts, leaf))
        for m in range(slots):
            shares[m] = np.exp(scores[m] - scale)
    total = 0.0
    for m in range(slots):
        total += shares[m]
    if total > 0.0:
        for m in range(slots):
            votes[m] += factor * (shares[m] * (1.0 / total))
