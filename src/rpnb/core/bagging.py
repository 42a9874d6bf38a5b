"""Online bagging: each tree learns each row as often as a Poisson law of mean 1 says.

Oza & Russell, "Online bagging and boosting", 2001, as in MOA's OzaBag: the members'
votes, scaled to sum to 1, are added. Members do not depend on one another, so a block
of rows is passed through one member after the other while the member's leaves are at
hand; votes are added in the members' order all the same.
"""

from math import e, factorial
from typing import NamedTuple

import numpy as np

from rpnb.core.arrays import FloatArray, IntArray, UIntArray
from rpnb.core.compiled import compiled
from rpnb.core.random_bits import philox
from rpnb.core.trees import LEAF_ADAPTIVE, Forest, Rules, room_for_splits, with_room
from rpnb.core.trees_learning import descend, learn_row, split_place
from rpnb.core.trees_leaves import score_beyond_limits, score_by_distance
from rpnb.core.trees_votes import add_votes, largest, votes_by_majority

# Rows that go through a member at a time.
BLOCK = 256
# Tells the draws of bagging from those of boosting with the same seed.
_PURPOSE = np.uint64(1)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
# P(at most k) for k = 0 … 12 in units of 2⁻³²; 32 bits cannot tell 13 from more.
_AT_MOST = np.cumsum([2.0**32 / (e * factorial(k)) for k in range(13)])


class Draws(NamedTuple):
    """The address of a pass's first random number."""

    seed: np.uint64
    member: int
    """Number of the forest's first tree, if the forest is a part of an ensemble"""
    row: int
    """Number of the pass's first row: rows learnt before"""


@compiled
def fill_words(
    seed: np.uint64, purpose: np.uint64, member: int, row: int, words: UIntArray
) -> None:
    """Set `words` (n,) to 32 random bits for each of a member's rows from `row` on."""
    first = row // 4
    blocks = (row + words.shape[0] + 3) // 4 - first
    counters = np.empty((4, blocks), np.uint64)
    for block in range(blocks):
        number = np.uint64(first + block)
        counters[0, block] = number & _LOW
        counters[1, block] = number >> _HALF
    counters[2] = np.uint64(member)
    counters[3] = purpose
    philox(counters, seed)
    for i in range(words.shape[0]):
        words[i] = counters[(row + i) % 4, (row + i) // 4 - first]


@compiled
def fill_poisson(
    seed: np.uint64, member: int, row: int, words: UIntArray, counts: FloatArray
) -> None:
    """Set `counts` (n,) to draws from a Poisson law of mean 1, by inversion.

    The draw for a member and a row number depends on them and the seed alone. `words`
    (n,) is working space.
    """
    fill_words(seed, _PURPOSE, member, row, words)
    for i in range(words.shape[0]):
        place = np.float64(words[i]) + 0.5
        count = 0
        while count < _AT_MOST.shape[0] and _AT_MOST[count] <= place:
            count += 1
        counts[i] = count


@compiled
def pass_bagging(
    forest: Forest,
    rules: Rules,
    draws: Draws,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: bool,
    votes: FloatArray,
) -> Forest:
    """Test each row of X (n, p) on every tree, then learn it; return the forest.

    The forest is written to, and what is returned shares its arrays unless a pool had
    to grow. Votes are added to `votes` (n, M); `y` (n,), the classes' numbers, and
    `weight`, (n,) or (1,) where all rows weigh the same, are read only if `learn`. A
    row whose weight is not above 0 is tested and passed over.
    """
    n = X.shape[0]
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        size = stop - start
        words = np.empty(size, np.uint64)
        weights = np.zeros(size)
        for k in range(forest.root.shape[0]):
            if learn:
                row = draws.row + start
                fill_poisson(draws.seed, draws.member + k, row, words, weights)
                for i in range(size):
                    weights[i] *= weight[(start + i) % weight.shape[0]]
            i = 0
            while i < size:
                i = _pass_member(
                    forest,
                    k,
                    rules,
                    X[start:stop],
                    y[start:stop],
                    weights,
                    i,
                    votes[start:stop],
                )
                if i < size:
                    forest = with_room(forest)
    return forest


@compiled
def _pass_member(
    forest: Forest,
    k: int,
    rules: Rules,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    first: int,
    votes: FloatArray,
) -> int:
    """Pass the rows from `first` on through tree k; return where it had to stop.

    It stops before a row that is to be learnt when a pool is full. The loop reads the
    forest through names bound before it, and calls functions that need few of its
    arrays: to pass a whole forest costs as much as a vote.
    """
    nodes = forest.nodes
    leaves = forest.leaves
    counts = leaves.counts
    observed = leaves.observed
    laws = leaves.laws
    scores = np.empty(votes.shape[1])
    shares = np.empty(votes.shape[1])
    room = room_for_splits(forest)
    for i in range(first, X.shape[0]):
        w = weight[i]
        if w > 0.0 and room == 0:
            return i
        x = X[i]
        place = descend(nodes, forest.root[k], x)
        leaf = place.leaf
        by_majority = votes_by_majority(counts, leaf, rules.leaf)
        if not by_majority or (w > 0.0 and rules.leaf == LEAF_ADAPTIVE):
            slots = counts.slots[leaf]
            if not score_by_distance(laws, leaf, slots, x, scores):
                score_beyond_limits(leaves, leaf, x, rules.density, scores)
        add_votes(
            counts, leaf, by_majority, scores, rules.density, 1.0, shares, votes[i]
        )
        if w > 0.0 and learn_row(
            counts, observed, laws, leaf, x, y[i], w, rules, scores
        ):
            split_place(forest, k, place, rules)
            room = room_for_splits(forest)
    return X.shape[0]


@compiled
def fill_labels(votes: FloatArray, labels: IntArray) -> None:
    """Set `labels` (n,) to the classes with most votes, the lowest of equals."""
    for i in range(votes.shape[0]):
        labels[i] = largest(votes[i], votes.shape[1], 0)
