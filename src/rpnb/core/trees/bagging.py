"""Online bagging: each tree learns each row a Poisson(1) number of times.

Oza & Russell, "Online bagging and boosting", 2001, as in MOA's OzaBag: the members'
votes, scaled to sum to 1, are added. Members do not depend on one another, so a block
of rows is passed through one member after the other, which keeps the member's leaves in
the cache; votes are added in the members' order.
"""

from math import e, factorial
from typing import NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray, UIntArray
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.kernels.random_bits import philox
from rpnb.core.trees.learning import (
    NO_POSITION,
    LeafPosition,
    pass_to_split,
    split_and_link,
)
from rpnb.core.trees.records import Forest, TreeParameters
from rpnb.core.trees.splits import NO_SPLIT, Split
from rpnb.core.trees.votes import largest

# Rows that go through a member at a time.
BLOCK = 256
# Makes the draws of bagging differ from those of boosting with the same seed.
_PURPOSE = np.uint64(1)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
# P(at most k) for k = 0 … 12 in units of 2⁻³²; 32 bits cannot represent more.
_AT_MOST = np.cumsum([2.0**32 / (e * factorial(k)) for k in range(13)])


class Draws(NamedTuple):
    """Where the random numbers of a pass begin: seed, first tree and first row."""

    seed: np.uint64
    member: int
    """Number of the forest's first tree, if the forest is a part of an ensemble"""
    row: int
    """Number of the pass's first row: rows learnt before"""


@compiled
def fill_row_words(
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
    """Set `counts` (n,) to draws from the Poisson distribution of mean 1, by inversion.

    A draw depends on the seed, the member and the row number only. `words` (n,) is
    working space.
    """
    fill_row_words(seed, _PURPOSE, member, row, words)
    for i in range(words.shape[0]):
        place = np.float64(words[i]) + 0.5
        count = 0
        while count < _AT_MOST.shape[0] and _AT_MOST[count] <= place:
            count += 1
        counts[i] = count


def pass_bagging(
    forest: Forest,
    rules: TreeParameters,
    draws: Draws,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: bool,
    votes: FloatArray,
) -> Forest:
    """Test each row of X (n, p) on every tree, then learn it; return the forest.

    The forest is written to, and what is returned shares its arrays unless it had to
    grow. Votes are added to `votes` (n, M); `y` (n,), the classes' numbers, and
    `weight`, (n,) or (1,) where all rows weigh the same, are read only if `learn`. A
    row whose weight is not above 0 is tested but not learnt.
    """
    for start in range(0, X.shape[0], BLOCK):
        block = slice(start, start + BLOCK)
        size = len(X[block])
        weights = np.zeros(size)
        if learn:
            weights += weight if len(weight) == 1 else weight[block]
        here = draws._replace(row=draws.row + start)
        k, row = 0, 0
        while k < forest.splits.shape[0]:
            k, row, place, split = _pass_bagged_rows(
                forest, rules, here, X[block], y[block], weights, k, row, votes[block]
            )
            if split.attribute >= 0:
                forest = split_and_link(forest, k, place, split)
    return forest


@compiled
def _pass_bagged_rows(
    forest: Forest,
    rules: TreeParameters,
    draws: Draws,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    k: int,
    row: int,
    votes: FloatArray,
) -> tuple[int, int, LeafPosition, Split]:
    """Pass rows through the trees, from row `row` of tree k on, until a leaf is split.

    Returns the tree and the row to resume with, and the split.
    """
    n = X.shape[0]
    words = np.empty(n, np.uint64)
    weights = np.zeros(n)
    for member in range(k, forest.splits.shape[0]):
        fill_poisson(draws.seed, draws.member + member, draws.row, words, weights)
        for i in range(n):
            weights[i] *= weight[i]
        row, place, split = pass_to_split(
            forest, member, rules, X, y, weights, row, votes
        )
        if split.attribute >= 0:
            return member, row, place, split
        row = 0
    return forest.splits.shape[0], 0, NO_POSITION, NO_SPLIT


@compiled
def fill_labels(votes: FloatArray, labels: IntArray) -> None:
    """Set `labels` (n,) to the classes with most votes, the lowest of equals."""
    for i in range(votes.shape[0]):
        labels[i] = largest(votes[i], votes.shape[1], 0)
