"""Online boosting: rows misclassified by earlier trees are learnt more often by later.

Oza & Russell, "Online bagging and boosting", 2001, as in MOA's OzaBoost. A row starts
with λ = 1. Member k learns it a Poisson(λ) number of times and then predicts it: for
the next member λ grows if the prediction is wrong and shrinks if it is right. A
member's weight in a vote follows from its error rate, weighted by λ; the first member
with an error rate of at least one half, or of zero, ends the vote.

Member k depends on the other members only by the λ of the member before, so a block of
rows is passed through one member after the other, as in bagging.
"""

from math import exp, floor, log, sqrt
from typing import NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.kernels.random_bits import fill_normal
from rpnb.core.trees.bagging import BLOCK, Draws, fill_row_words
from rpnb.core.trees.learning import (
    NO_POSITION,
    LeafPosition,
    descend,
    learn_at_leaf,
    split_and_link,
)
from rpnb.core.trees.leaves import score_classes
from rpnb.core.trees.records import Forest, TreeParameters, places
from rpnb.core.trees.splits import NO_SPLIT, Split, attempt_split
from rpnb.core.trees.votes import add_votes, largest_vote, votes_by_majority

# Makes the draws of boosting differ from those of bagging with the same seed.
_PURPOSE = np.uint64(2)
_CELL = 2.0**-32
# From this mean on the Poisson distribution is approximated by a normal one.
_LARGE_MEAN = 100.0


class MemberAccuracy(NamedTuple):
    """Weights of the rows that each of K members classified right and wrong."""

    right: FloatArray
    """(K,) Σλ over the rows a member classified right once it had learnt them"""
    wrong: FloatArray
    """(K,) Σλ over the others"""
    seen: FloatArray
    """(1,) weight of the rows learnt"""


class _Block(NamedTuple):
    """State of the rows of a block between two members."""

    weight: FloatArray
    """Weight of each row"""
    seen: FloatArray
    """T: weight of all rows up to this one"""
    mean: FloatArray
    """λ for the next member"""
    open: BoolArray
    """Whether further members vote on the row"""


def new_member_accuracy(K: int) -> MemberAccuracy:
    """Return the record of K members before the first row: zeros."""
    return MemberAccuracy(np.zeros(K), np.zeros(K), np.zeros(1))


@compiled
def draw_poisson(word: np.uint64, mean: float) -> float:
    """Turn 32 random bits into a draw from a Poisson distribution, by inversion.

    It is the smallest k with Σ_{i≤k} meanⁱ/i! > U·e^mean, U uniform. From a mean of 100
    on it is a normal draw of that mean and variance, rounded down, and at least 0.
    """
    if mean >= _LARGE_MEAN:
        words = np.empty(1, np.int32)
        words[0] = np.int64(word) - (1 << 31)
        normal = np.empty(1)
        fill_normal(words, normal)
        return float(max(floor(mean + sqrt(mean) * normal[0]), 0))
    place = (np.float64(word) + 0.5) * _CELL * exp(mean)
    term = 1.0
    total = 1.0
    count = 0
    # The bound on the count ends the loop where rounding keeps the sum below `place`.
    while total <= place and count < 10.0 * _LARGE_MEAN:
        count += 1
        term *= mean / count
        total += term
    return float(count)


@compiled
def influence(right: float, wrong: float) -> float:
    """Return a member's weight in a vote, log((1 − e)/e); 0 ends the vote.

    e is the share of `wrong`. The weight is 0 also for a member without errors, and
    for one with e ≥ ½.
    """
    if wrong == 0.0 or wrong >= right:
        return 0.0
    return log(right / wrong)


def pass_boosting(
    forest: Forest,
    record: MemberAccuracy,
    rules: TreeParameters,
    draws: Draws,
    pure: bool,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: bool,
    votes: FloatArray,
) -> Forest:
    """Test each row of X (n, p) on the trees, then learn it; return the forest.

    The forest and the record are written to, and the forest that is returned shares its
    arrays unless it had to grow. Votes are added to `votes` (n, M); `y` (n,), the
    classes' numbers, and `weight`, (n,) or (1,) where all rows weigh the same, are read
    only if `learn`. A row whose weight is not above 0 is tested but not learnt. If
    `pure`, a row is learnt with weight λ instead of a Poisson draw.
    """
    for start in range(0, X.shape[0], BLOCK):
        rows = slice(start, start + BLOCK)
        size = len(X[rows])
        block = _Block(
            np.zeros(size), np.zeros(size), np.ones(size), np.ones(size, bool)
        )
        if learn:
            block.weight[:] = np.maximum(
                weight if len(weight) == 1 else weight[rows], 0
            )
            # Added one by one, so that the sum does not depend on how rows are grouped.
            block.seen[:] = np.add.accumulate([*record.seen, *block.weight])[1:]
            record.seen[0] = block.seen[-1]
        here = draws._replace(row=draws.row + start)
        k, row, resume = 0, 0, False
        while k < forest.splits.shape[0]:
            k, row, place, split = _pass_boosted_rows(
                forest,
                record,
                rules,
                here,
                pure,
                X[rows],
                y[rows],
                block,
                k,
                row,
                resume,
                votes[rows],
            )
            resume = split.attribute >= 0
            if resume:
                forest = split_and_link(forest, k, place, split)
    return forest


@compiled
def _pass_boosted_rows(
    forest: Forest,
    record: MemberAccuracy,
    rules: TreeParameters,
    draws: Draws,
    pure: bool,
    X: FloatArray,
    y: IntArray,
    block: _Block,
    k: int,
    row: int,
    resume: bool,
    votes: FloatArray,
) -> tuple[int, int, LeafPosition, Split]:
    """Pass rows through the trees, from row `row` of tree k on, until a leaf is split.

    Returns the tree and the row to resume with, and the split. That row has been
    learnt, but not yet predicted again by the tree: the next call must have `resume`.
    """
    n = X.shape[0]
    words = np.empty(n, np.uint64)
    scores = np.empty(votes.shape[1])
    shares = np.empty(votes.shape[1])
    leaves = forest.leaves
    counts = leaves.counts
    observed = leaves.observed
    densities = leaves.densities
    for member in range(k, forest.splits.shape[0]):
        fill_row_words(draws.seed, _PURPOSE, draws.member + member, draws.row, words)
        first = member * places(forest)
        splits = forest.splits[member]
        for i in range(row, n):
            x = X[i]
            place = descend(forest.nodes, first, splits, x)
            leaf = first + place.leaf
            by_majority = votes_by_majority(counts, leaf, rules.leaf)
            score_classes(leaves, leaf, x, rules.density, scores)
            w = block.weight[i]
            mean = block.mean[i]
            if not resume:
                factor = influence(record.right[member], record.wrong[member])
                block.open[i] = block.open[i] and factor > 0.0
                if block.open[i]:
                    add_votes(
                        counts,
                        leaf,
                        by_majority,
                        scores,
                        rules.density,
                        factor,
                        shares,
                        votes[i],
                    )
                times = mean if pure else draw_poisson(words[i], mean)
                if w * times > 0.0:
                    if learn_at_leaf(
                        counts,
                        observed,
                        densities,
                        leaf,
                        x,
                        y[i],
                        w * times,
                        rules,
                        scores,
                    ):
                        split = attempt_split(leaves, leaf, rules)
                        counts.frozen[leaf] = split.freeze
                        if split.attribute >= 0:
                            return member, i, place, split
                    by_majority = votes_by_majority(counts, leaf, rules.leaf)
                    score_classes(leaves, leaf, x, rules.density, scores)
            resume = False
            if w > 0.0:
                guess = largest_vote(counts, leaf, by_majority, scores)
                is_right = guess == y[i]
                block.mean[i] = _next_mean(
                    record, member, is_right, mean, block.seen[i]
                )
        row = 0
    return forest.splits.shape[0], 0, NO_POSITION, NO_SPLIT


@compiled
def _next_mean(
    record: MemberAccuracy, k: int, is_right: bool, mean: float, seen: float
) -> float:
    """Record whether member k was right on a row with λ = `mean`; return the next λ."""
    if mean == 0.0:
        return 0.0
    totals = record.right if is_right else record.wrong
    totals[k] += mean
    total: float = totals[k]
    return mean * seen / (2.0 * total)
