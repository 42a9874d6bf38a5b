"""Online boosting: its draws, its record, and the ensemble of the oracle."""

from itertools import pairwise
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from oracles.tree_ensembles import Boosting, poisson, uniform
from oracles.trees import Tree, first_largest
from rpnb._core.trees import draw_poisson, fill_row_words, influence
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.trees import (
    DENSITY_LOG,
    DENSITY_PRODUCT,
    LEAF_BAYES,
    Draws,
    Forest,
    MemberAccuracy,
    TreeParameters,
    fill_labels,
    insert_forest_class,
    new_forest,
    new_member_accuracy,
    pass_boosting,
)
from strategies import Stream, mixtures, streams

SEED = 0xFEDCBA9876543210
EAGER = TreeParameters(grace=25.0, confidence=0.3, tie=0.15)
# Rows that go through a member at a time.
BLOCK = 256
NO_LABELS = np.zeros(0, np.int64)


def a_stream(seed: int, n: int = 300) -> tuple[FloatArray, IntArray]:
    """Rows of three classes that overlap, so that every member makes mistakes."""
    return mixtures(seed, n, apart=2.0)


def run(
    forest: Forest,
    record: MemberAccuracy,
    rules: TreeParameters,
    X: FloatArray,
    y: IntArray,
    *,
    row: int = 0,
    pure: bool = False,
    weight: FloatArray | None = None,
    learn: bool = True,
) -> tuple[Forest, FloatArray]:
    votes = np.zeros((len(X), forest.leaves.counts.class_weight.shape[1]))
    weight = np.ones(1) if weight is None else weight
    draws = Draws(SEED, 0, row)
    pass_boosting(forest, record, rules, draws, pure, X, y, weight, learn, votes)
    return forest, votes


def assert_same_bits(a: Forest, b: Forest) -> None:
    assert_array_equal(a.splits, b.splits)
    for record, twin in zip((a.nodes, *a.leaves), (b.nodes, *b.leaves), strict=True):
        for mine, yours in zip(record, twin, strict=True):
            assert_array_equal(mine, yours, strict=True)


def draws_of(mean: float, n: int) -> FloatArray:
    words = np.zeros(n, np.uint32)
    fill_row_words(SEED, 9, 0, 0, words)
    return np.array([draw_poisson(word, mean) for word in words.tolist()])


@pytest.mark.parametrize("mean", [0.0, 1e-3, 0.5, 3.0, 30.0, 99.9, 100.0, 400.0])
def test_draws_have_the_mean_and_variance_of_a_poisson_distribution(
    mean: float,
) -> None:
    n = 2000
    draws = draws_of(mean, n)
    assert_array_equal(draws, np.floor(draws))
    # From 100 on draws are normal ones rounded down, which takes off half a unit.
    centre = mean - (0.5 if mean >= 100.0 else 0.0)
    assert abs(draws.mean() - centre) <= 4.0 * np.sqrt(mean / n)
    if mean >= 0.5:
        assert_allclose(draws.var(), mean, rtol=0.2)
    assert draws.min() >= 0.0


def test_draws_invert_the_distribution_function() -> None:
    words = np.zeros(100, np.uint32)
    fill_row_words(SEED, 2, 5, 0, words)
    for mean in (0.1, 1.0, 7.5):
        for i, word in enumerate(words.tolist()):
            place = uniform(SEED, 2, 5, i)
            assert draw_poisson(word, mean) == poisson(place, mean)


def test_a_draw_ends_though_rounding_keeps_the_sum_below() -> None:
    assert draw_poisson(2**32 - 1, 99.99) < 1000.0
    assert draw_poisson(0, 100.0) >= 0.0
    # A number of times that would not fit in 64 bits is none.
    assert draw_poisson(2**32 - 1, 1e19) == draw_poisson(7, np.inf) == 0.0


@pytest.mark.parametrize(
    ("right", "wrong", "expected"),
    [
        (0.0, 0.0, 0.0),
        (5.0, 0.0, 0.0),
        (1.0, 1.0, 0.0),
        (1.0, 2.0, 0.0),
        (3.0, 1.0, log(3.0)),
    ],
)
def test_influence(right: float, wrong: float, expected: float) -> None:
    assert_allclose(influence(right, wrong), expected)


@pytest.mark.parametrize("density", [DENSITY_LOG, DENSITY_PRODUCT])
@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("base", ["tree", "bayes"])
def test_the_compiled_ensemble_equals_the_oracle(
    density: int, pure: bool, base: str
) -> None:
    rules = EAGER._replace(density=density)
    if base == "bayes":
        rules = rules._replace(leaf=LEAF_BAYES, grows=False)
    X, y = a_stream(3, n=BLOCK + 30)
    K = 4

    def draw(k: int, i: int, mean: float) -> float:
        return mean if pure else poisson(uniform(SEED, 2, k, i), mean)

    plain = Boosting([Tree(rules) for _ in range(K)], draw)
    expected = np.zeros((len(X), 3))
    for i, (x, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        expected[i] = plain.votes(x, 3)
        plain.learn(x, label, 1.0)
    record = new_member_accuracy(K)
    forest, votes = run(new_forest(K, 3, 3), record, rules, X, y, pure=pure)
    assert_allclose(votes, expected, rtol=1e-8, atol=1e-12)
    assert_allclose(record.right, plain.right, rtol=1e-9)
    assert_allclose(record.wrong, plain.wrong, rtol=1e-9)
    assert record.seen[0] == len(X)
    assert_array_equal(forest.splits, [len(tree.splits) for tree in plain.trees])
    assert (forest.splits.sum() > 0) == (base == "tree")
    assert (votes.sum(axis=1) > 0.0).mean() > 0.5
    labels = np.zeros(len(X), np.int64)
    fill_labels(votes, labels)
    assert_array_equal(labels, [first_largest(ballot) for ballot in expected.tolist()])


@given(st.lists(st.integers(0, 300), max_size=4), st.integers(0, 2))
def test_parts_leave_the_same_bits_as_the_whole(cuts: list[int], seed: int) -> None:
    X, y = a_stream(seed)
    record = new_member_accuracy(3)
    whole, votes = run(new_forest(3, 3, 3), record, EAGER, X, y, row=7)
    parts, in_parts = new_forest(3, 3, 3), []
    record_of_parts = new_member_accuracy(3)
    for start, stop in pairwise([0, *sorted(cuts), 300]):
        part = slice(start, stop)
        parts, ballots = run(
            parts, record_of_parts, EAGER, X[part], y[part], row=7 + start
        )
        in_parts.append(ballots)
    assert_array_equal(np.concatenate(in_parts), votes)
    assert_same_bits(parts, whole)
    for mine, yours in zip(record, record_of_parts, strict=True):
        assert_array_equal(mine, yours)


def test_the_mean_grows_with_errors_and_shrinks_with_successes() -> None:
    """In Oza and Russell's scheme half of the weight of all rows is on each side."""
    X, y = a_stream(1, n=600)
    record = new_member_accuracy(5)
    run(new_forest(5, 3, 3), record, EAGER, X, y)
    assert_allclose(record.right[0] + record.wrong[0], 600.0)
    total = record.right + record.wrong
    assert (np.abs(total / 600.0 - 1.0) < 0.25).all()
    share = record.wrong / total
    assert share[0] < 0.5
    assert (share[1:] > share[0]).all()


def test_rows_without_weight_are_tested_but_not_learned() -> None:
    X, y = a_stream(2)
    weight = np.where(np.arange(len(X)) % 3 == 0, -1.0, 1.0)
    record, twin = new_member_accuracy(2), new_member_accuracy(2)
    bayes = TreeParameters(leaf=LEAF_BAYES, grows=False)
    forest, votes = run(
        new_forest(2, 3, 3), record, bayes, X, y, weight=weight, pure=True
    )
    keep = weight > 0.0
    alone, expected = run(new_forest(2, 3, 3), twin, bayes, X[keep], y[keep], pure=True)
    assert_array_equal(votes[keep], expected)
    assert_same_bits(forest, alone)
    for mine, yours in zip(record, twin, strict=True):
        assert_array_equal(mine, yours)


def test_a_mean_of_zero_stays_zero() -> None:
    """The smallest mean halves to 0, which no later member may divide by 0."""
    X, y = a_stream(0, n=40)
    forest, record = new_forest(3, 3, 3), new_member_accuracy(3)
    record.right[0] = 1e300
    record.seen[0] = 5e-324
    run(forest, record, EAGER, X, y, weight=np.full(1, 1e-300))
    for array in record:
        assert np.isfinite(array).all()


def test_predicting_changes_nothing() -> None:
    X, y = a_stream(2)
    record, twin = new_member_accuracy(3), new_member_accuracy(3)
    forest, _ = run(new_forest(3, 3, 3), record, EAGER, X, y)
    same, _ = run(new_forest(3, 3, 3), twin, EAGER, X, y)
    _, votes = run(forest, record, EAGER, X, NO_LABELS, weight=np.zeros(0), learn=False)
    assert (votes.sum(axis=1) > 0.0).any()
    assert_same_bits(forest, same)
    for mine, yours in zip(record, twin, strict=True):
        assert_array_equal(mine, yours)


def test_members_from_the_first_that_is_often_wrong_on_have_no_vote() -> None:
    X, y = a_stream(2)
    record = new_member_accuracy(3)
    forest, _ = run(new_forest(3, 3, 3), record, EAGER, X, y)
    record.right[:], record.wrong[:] = 9.0, [1.0, 10.0, 1.0]
    _, votes = run(forest, record, EAGER, X, NO_LABELS, weight=np.zeros(0), learn=False)
    assert_allclose(votes.sum(axis=1), log(9.0))
    record.wrong[1] = 1.0
    _, votes = run(forest, record, EAGER, X, NO_LABELS, weight=np.zeros(0), learn=False)
    assert (votes.sum(axis=1) > 1.5 * log(9.0)).all()


def test_a_class_may_be_inserted_between_two_calls() -> None:
    X, y = a_stream(5)
    record = new_member_accuracy(3)
    forest, _ = run(new_forest(3, 2, 3), record, EAGER, X[:150], np.minimum(y, 1)[:150])
    forest, votes = run(insert_forest_class(forest, 2), record, EAGER, X[150:], y[150:])
    assert votes.shape == (150, 3)
    assert (votes[-50:, 2] > 0.0).any()


@given(streams(), st.booleans())
def test_the_state_is_finite(stream: Stream, pure: bool) -> None:
    X, y, M = stream
    record = new_member_accuracy(2)
    rules = EAGER._replace(grace=5.0)
    forest, votes = run(new_forest(2, M, X.shape[1]), record, rules, X, y, pure=pure)
    assert np.isfinite(votes).all()
    for array in (*record, *forest.leaves.counts, *forest.leaves.observed):
        assert np.isfinite(array).all()


def test_rows_that_do_not_fit_are_refused() -> None:
    X, y = a_stream(0, n=4)
    forest, record = new_forest(2, 3, 3), new_member_accuracy(2)
    with pytest.raises(ValueError, match="an accuracy for each tree"):
        run(forest, new_member_accuracy(3), EAGER, X, y)
    with pytest.raises(ValueError, match="no class"):
        run(forest, record, EAGER, X, y + 3)
    with pytest.raises(ValueError, match="a column for each attribute"):
        run(forest, record, EAGER, X[:, :2].copy(), y)
