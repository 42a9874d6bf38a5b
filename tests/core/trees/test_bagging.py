"""Online bagging: its weights, its votes, and the ensemble of the oracle."""

from itertools import pairwise
from math import e, factorial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from oracles.tree_ensembles import bagging_votes, poisson, uniform
from oracles.trees import Tree, first_largest
from rpnb._core.trees import draw_poisson, fill_row_words, pass_tree
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.trees import (
    DENSITY_LOG,
    DENSITY_PRODUCT,
    LEAF_BAYES,
    Draws,
    Forest,
    TreeParameters,
    fill_labels,
    insert_forest_class,
    new_forest,
    pass_bagging,
)
from strategies import mixtures

SEED = 0x0123456789ABCDEF
EAGER = TreeParameters(grace=25.0, confidence=0.3, tie=0.15)
BLOCK = 256  # rows that go through a member at a time
PURPOSE = 1  # of random words; boosting draws with another
NO_LABELS = np.zeros(0, np.int64)


def a_stream(seed: int, n: int = 300) -> tuple[FloatArray, IntArray]:
    """Rows of three classes that can be separated."""
    return mixtures(seed, n, apart=3.0)


def poisson_weights(member: int, row: int, n: int, seed: int = SEED) -> FloatArray:
    words = np.zeros(n, np.uint32)
    fill_row_words(seed, PURPOSE, member, row, words)
    return np.array([draw_poisson(word) for word in words.tolist()])


def run(
    forest: Forest,
    rules: TreeParameters,
    X: FloatArray,
    y: IntArray,
    *,
    row: int = 0,
    member: int = 0,
    weight: FloatArray | None = None,
) -> tuple[Forest, FloatArray]:
    votes = np.zeros((len(X), forest.leaves.counts.class_weight.shape[1]))
    weight = np.ones(1) if weight is None else weight
    draws = Draws(SEED, member, row)
    pass_bagging(forest, rules, draws, X, y, weight, True, votes)
    return forest, votes


def predict(forest: Forest, rules: TreeParameters, X: FloatArray) -> FloatArray:
    votes = np.zeros((len(X), forest.leaves.counts.class_weight.shape[1]))
    draws = Draws(SEED, 0, 0)
    pass_bagging(forest, rules, draws, X, NO_LABELS, np.zeros(0), False, votes)
    return votes


def assert_same_bits(a: Forest, b: Forest) -> None:
    assert_array_equal(a.splits, b.splits)
    for record, twin in zip((a.nodes, *a.leaves), (b.nodes, *b.leaves), strict=True):
        for mine, yours in zip(record, twin, strict=True):
            assert_array_equal(mine, yours, strict=True)


@pytest.mark.parametrize(("member", "row"), [(0, 0), (3, 5), (199, 2**34 + 3)])
def test_a_weight_depends_on_seed_member_and_row_alone(member: int, row: int) -> None:
    expected = [poisson(uniform(SEED, 1, member, row + i), 1.0) for i in range(30)]
    assert_array_equal(poisson_weights(member, row, 30), expected)
    for start in range(1, 6):
        assert_array_equal(
            poisson_weights(member, row + start, 20), expected[start : start + 20]
        )
    assert (poisson_weights(member + 1, row, 30) != expected).any()
    assert (poisson_weights(member, row, 30, seed=SEED + 1) != expected).any()


def test_weights_have_a_poisson_distribution_of_mean_one() -> None:
    counts = np.concatenate([poisson_weights(member, 0, 2000) for member in range(50)])
    n = len(counts)
    for k in range(6):
        share = 1.0 / (e * factorial(k))
        deviation = np.sqrt(n * share * (1.0 - share))
        assert abs((counts == k).sum() - n * share) < 4.0 * deviation
    assert (counts > 5).any()
    # Neither members nor neighbouring rows are correlated.
    table = counts.reshape(50, 2000)
    for one, other in ((table[:-1], table[1:]), (table[:, :-1], table[:, 1:])):
        correlation = np.corrcoef(one.ravel(), other.ravel())[0, 1]
        assert abs(correlation) < 4.0 / np.sqrt(one.size)


@pytest.mark.parametrize(
    ("word", "count"),
    [
        (0, 0),
        (1580030167, 0),
        (1580030168, 0),  # the middle of the cell lies below 2³²/e = 1580030168.70
        (1580030169, 1),
        (2**32 - 1, 12),
    ],
)
def test_the_smallest_and_largest_draws(word: int, count: int) -> None:
    place = (word + 0.5) / 2**32
    assert poisson(place, 1.0) == count
    assert draw_poisson(word) == count


def test_words_of_different_purposes_differ() -> None:
    words = np.zeros((2, 8), np.uint32)
    for purpose in (0, 1):
        fill_row_words(SEED, purpose, 0, 0, words[purpose])
    assert not set(words[0].tolist()) & set(words[1].tolist())


@pytest.mark.parametrize("density", [DENSITY_LOG, DENSITY_PRODUCT])
@pytest.mark.parametrize("base", ["tree", "bayes"])
def test_the_compiled_ensemble_equals_the_oracle(density: int, base: str) -> None:
    rules = EAGER._replace(density=density)
    if base == "bayes":
        rules = rules._replace(leaf=LEAF_BAYES, grows=False)
    X, y = a_stream(7, n=BLOCK + 20)
    K = 4
    trees = [Tree(rules) for _ in range(K)]
    expected = np.zeros((len(X), 3))
    for i, (x, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        expected[i] = bagging_votes(trees, x, 3)
        for k, tree in enumerate(trees):
            tree.learn(x, label, poisson(uniform(SEED, 1, k, i), 1.0))
    forest, votes = run(new_forest(K, 3, 3), rules, X, y)
    assert_allclose(votes, expected, rtol=1e-9, atol=1e-12)
    assert_array_equal(forest.splits, [len(tree.splits) for tree in trees])
    assert (forest.splits.sum() > 0) == (base == "tree")
    labels = np.zeros(len(X), np.int64)
    fill_labels(votes, labels)
    assert_array_equal(labels, [first_largest(ballot) for ballot in expected.tolist()])


@given(st.lists(st.integers(0, 300), max_size=4), st.integers(0, 2))
def test_parts_leave_the_same_bits_as_the_whole(cuts: list[int], seed: int) -> None:
    X, y = a_stream(seed)
    whole, votes = run(new_forest(3, 3, 3), EAGER, X, y, row=5)
    bounds = [0, *sorted(cuts), 300]
    parts = new_forest(3, 3, 3)
    in_parts = []
    for start, stop in pairwise(bounds):
        part = slice(start, stop)
        parts, ballots = run(parts, EAGER, X[part], y[part], row=5 + start)
        in_parts.append(ballots)
    assert_array_equal(np.concatenate(in_parts), votes)
    assert_same_bits(parts, whole)


def test_an_ensemble_may_be_kept_in_groups() -> None:
    X, y = a_stream(1)
    _, votes = run(new_forest(5, 3, 3), EAGER, X, y)
    _, first = run(new_forest(2, 3, 3), EAGER, X, y)
    _, rest = run(new_forest(3, 3, 3), EAGER, X, y, member=2)
    assert_allclose(first + rest, votes, rtol=1e-12, atol=1e-12)


def test_votes_of_each_member_sum_to_one() -> None:
    X, y = a_stream(3)
    forest, votes = run(new_forest(6, 3, 3), EAGER, X, y)
    assert votes[0].sum() == 0.0
    assert (votes.sum(axis=1) < 6.0 + 1e-9).all()
    totals = predict(forest, EAGER, X).sum(axis=1)
    # A member whose leaf gives all classes a density of 0 has no vote.
    assert_allclose(totals, np.round(totals), rtol=1e-12)
    assert (totals == 6.0).any()
    bayes = TreeParameters(leaf=LEAF_BAYES, grows=False)
    forest, _ = run(new_forest(6, 3, 3), bayes, X, y)
    assert_allclose(predict(forest, bayes, X).sum(axis=1), 6.0)


def test_weights_of_rows_multiply_the_draws() -> None:
    X, y = a_stream(2)
    weight = np.random.default_rng(0).choice([-1.0, 0.0, 0.5, 2.0], len(X))
    forest, votes = run(new_forest(1, 3, 3), EAGER, X, y, weight=weight)
    counts = poisson_weights(0, 0, len(X))
    expected = np.zeros((len(X), 3))
    alone = new_forest(1, 3, 3)
    pass_tree(alone, 0, EAGER, X, y, counts * weight, True, expected)
    assert_array_equal(votes, expected)
    assert_same_bits(forest, alone)


def test_predicting_changes_nothing() -> None:
    X, y = a_stream(2)
    forest, _ = run(new_forest(2, 3, 3), EAGER, X, y)
    twin, _ = run(new_forest(2, 3, 3), EAGER, X, y)
    predict(forest, EAGER, X + 0.5)
    assert_same_bits(forest, twin)


def test_a_new_class_is_learned_like_the_others() -> None:
    X, y = a_stream(5)
    forest, _ = run(new_forest(4, 2, 3), EAGER, X[:150], np.minimum(y[:150], 1))
    forest = insert_forest_class(forest, 0)
    forest, votes = run(forest, EAGER, X[150:], y[150:], row=150)
    assert votes.shape == (150, 3)
    assert (votes[-50:, 0] > 0.0).any()


@pytest.mark.parametrize(
    ("votes", "label"),
    [
        ([0.0, 0.0, 0.0], 0),
        ([0.1, 0.5, 0.5], 1),
        ([np.nan, 1.0, 2.0], 0),
        ([0.0, np.nan, 2.0], 2),
    ],
)
def test_ties_and_lost_votes(votes: list[float], label: int) -> None:
    labels = np.full(1, -9)
    fill_labels(np.array([votes]), labels)
    assert labels[0] == label


def test_rows_that_do_not_fit_are_refused() -> None:
    X, y, votes = np.zeros((4, 3)), np.zeros(4, np.int64), np.zeros((4, 3))
    weight = np.ones(4)
    forest = new_forest(2, 3, 3)
    draws = Draws(SEED, 0, 0)
    for change in (
        {"draws": Draws(SEED, -1, 0)},
        {"draws": Draws(SEED, 0, -1)},
        {"X": X[:, :2].copy()},
        {"votes": votes[:3]},
        {"y": y[:3]},
        {"y": y + 3},
        {"weight": weight[:3]},
    ):
        given: dict[str, Any] = {"draws": draws, "X": X, "y": y, "weight": weight}
        given |= {"learn": True, "votes": votes, **change}
        with pytest.raises(ValueError, match=r"must|count from 0|no class"):
            pass_bagging(forest, EAGER, *given.values())
    with pytest.raises(ValueError, match="a label for each row"):
        fill_labels(votes, np.zeros(3, np.int64))
    with pytest.raises(ValueError, match="count from 0"):
        fill_row_words(SEED, PURPOSE, 0, -1, np.zeros(3, np.uint32))
