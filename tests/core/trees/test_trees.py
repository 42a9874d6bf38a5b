"""Hoeffding trees: against the oracle, and their invariants."""

import copy
import pickle
from collections.abc import Iterator
from itertools import chain
from math import log, pi, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from oracles.tree_ensembles import add_normalised
from oracles.trees import Leaf, Node, Tree
from rpnb._core.trees import (
    pass_tree,
    refresh_densities,
    score_by_factors,
    weight_below,
)
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.trees import (
    DENSITY_LOG,
    DENSITY_PRODUCT,
    LEAF_ADAPTIVE,
    LEAF_BAYES,
    LEAF_MAJORITY,
    Forest,
    Leaves,
    TreeParameters,
    insert_forest_class,
    new_forest,
)
from strategies import Stream, streams

both_densities = pytest.mark.parametrize("density", [DENSITY_LOG, DENSITY_PRODUCT])
# Trees that split within a few hundred rows.
EAGER = TreeParameters(grace=25.0, confidence=0.3, tie=0.15)


def a_stream(
    seed: int, n: int = 300, p: int = 3, M: int = 3, scale: float = 1.0
) -> tuple[FloatArray, IntArray]:
    """Rows of M classes, each a mixture of two Gaussians, so that splits help."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, M, n)
    centres = rng.normal(size=(M, 2, p)) * 3.0
    X = centres[y, rng.integers(0, 2, n)] + rng.normal(size=(n, p))
    return X * scale, y


def learn(
    forest: Forest,
    rules: TreeParameters,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray | None = None,
    k: int = 0,
) -> tuple[Forest, FloatArray]:
    weight = np.ones(len(X)) if weight is None else weight
    votes = np.zeros((len(X), forest.leaves.counts.class_weight.shape[1]))
    pass_tree(forest, k, rules, X, y, weight, True, votes)
    return forest, votes


def votes_of(forest: Forest, rules: TreeParameters, X: FloatArray) -> FloatArray:
    votes = np.zeros((len(X), forest.leaves.counts.class_weight.shape[1]))
    no_labels, no_weight = np.zeros(0, np.int64), np.zeros(0)
    pass_tree(forest, 0, rules, X, no_labels, no_weight, False, votes)
    return votes


def learn_with_oracle(
    tree: Tree, X: FloatArray, y: IntArray, weight: FloatArray, M: int
) -> FloatArray:
    votes = []
    for x, label, w in zip(X.tolist(), y.tolist(), weight.tolist(), strict=True):
        ballot = [0.0] * M
        add_normalised(ballot, tree.votes(x), 1.0)
        votes.append(ballot)
        tree.learn(x, label, w)
    return np.array(votes)


def arrays_of(forest: Forest) -> Iterator[FloatArray | IntArray | BoolArray]:
    yield from (forest.splits, *forest.nodes)
    for record in forest.leaves:
        yield from record


def assert_same_bits(a: Forest, b: Forest) -> None:
    for one, other in zip(arrays_of(a), arrays_of(b), strict=True):
        assert_array_equal(one, other, strict=True)


def splits_by_row(
    rules: TreeParameters, X: FloatArray, y: IntArray, weight: FloatArray, M: int
) -> tuple[Forest, list[tuple[int, int, float]]]:
    """Learn row by row; return the splits as (row, attribute, threshold)."""
    forest = new_forest(1, M, X.shape[1])
    splits: list[tuple[int, int, float]] = []
    for i in range(len(X)):
        part = slice(i, i + 1)
        forest, _ = learn(forest, rules, X[part], y[part], weight[part])
        for node in range(len(splits), forest.splits[0]):
            nodes = forest.nodes
            splits.append((i, int(nodes.attribute[node]), float(nodes.threshold[node])))
    return forest, splits


def assert_same_leaves(forest: Forest, tree: Tree) -> None:
    counts = forest.leaves.counts
    pairs: list[tuple[int, Leaf | Node]] = [(min(forest.splits[0], 1) - 1, tree.root)]
    while pairs:
        number, place = pairs.pop()
        if isinstance(place, Node):
            nodes = forest.nodes
            pairs += [
                (int(nodes.left[number]), place.left),
                (int(nodes.right[number]), place.right),
            ]
            continue
        leaf = -1 - number
        slots = counts.slots[leaf]
        assert slots == len(place.N)
        assert_allclose(counts.class_weight[leaf, :slots], place.N, rtol=1e-12)
        assert_allclose(counts.majority_right[leaf], place.majority_right)
        assert_allclose(counts.bayes_right[leaf], place.bayes_right)
        assert counts.frozen[leaf] == place.frozen


@both_densities
@pytest.mark.parametrize("leaf", [LEAF_MAJORITY, LEAF_BAYES, LEAF_ADAPTIVE])
@pytest.mark.parametrize("weights", ["ones", "counts", "fractions"])
def test_the_compiled_tree_equals_the_oracle(
    density: int, leaf: int, weights: str
) -> None:
    rules = EAGER._replace(density=density, leaf=leaf)
    made = 0
    for seed in range(3):
        X, y = a_stream(seed)
        # Labels with gaps, and a class that appears late.
        y = np.where((y == 2) & (np.arange(len(y)) < 100), 0, 2 * y)
        rng = np.random.default_rng(seed)
        weight = {
            "ones": np.ones(len(X)),
            "counts": rng.poisson(1.0, len(X)).astype(float),
            "fractions": rng.random(len(X)) * np.linspace(0.1, 5.0, len(X)),
        }[weights]
        tree = Tree(rules)
        expected = learn_with_oracle(tree, X, y, weight, 5)
        forest, splits = splits_by_row(rules, X, y, weight, 5)
        assert splits == tree.splits
        made += len(splits)
        if leaf == LEAF_ADAPTIVE:  # the oracle keeps tallies in any case
            assert_same_leaves(forest, tree)
        again, votes = learn(new_forest(1, 5, 3), rules, X, y, weight)
        assert_allclose(votes, expected, rtol=1e-9, atol=1e-12)
        assert_array_equal(votes.argmax(axis=1), expected.argmax(axis=1))
        assert_same_bits(again, forest)
    assert made >= 3


@both_densities
def test_constant_attributes_are_as_in_the_oracle(density: int) -> None:
    rules = EAGER._replace(density=density)
    X, y = a_stream(3, n=200)
    X[:, 1] = 4.0
    X[y > 0, 2] = np.round(X[y > 0, 2])
    X[y == 0, 2] = 1.0  # a class for which an attribute is constant, and others not
    for varied in (0, 60):
        X[:varied] = 1.0  # long enough for the leaf to freeze
        tree = Tree(rules)
        weight = np.ones(len(X))
        expected = learn_with_oracle(tree, X, y, weight, 3)
        forest, splits = splits_by_row(rules, X, y, weight, 3)
        assert splits == tree.splits
        assert (len(splits) > 0) == (varied == 0)
        assert_same_leaves(forest, tree)
        _, votes = learn(new_forest(1, 3, 3), rules, X, y)
        assert_allclose(votes, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("power", [38.0, 39.5, 40.0, 40.2, 41.0, -38.0, -39.0, -40.0])
def test_products_leave_the_range_of_doubles_as_multiplied_ones_do(
    power: float,
) -> None:
    """Products of eight densities near 10^−40 are denormal numbers, or 0."""
    rules = TreeParameters(density=DENSITY_PRODUCT, grace=50.0)
    X, y = a_stream(1, n=120, p=8, scale=10.0**power)
    tree = Tree(rules)
    expected = learn_with_oracle(tree, X, y, np.ones(len(X)), 3)
    forest, votes = learn(new_forest(1, 3, 8), rules, X, y)
    assert_allclose(votes, expected, rtol=1e-9, atol=1e-12)
    assert_same_leaves(forest, tree)
    assert forest.splits[0] == len(tree.splits)


def test_the_range_is_left_at_the_scales_of_the_last_test() -> None:
    """The control: at most of these scales the two densities disagree."""
    differ = []
    for power in (0.0, 39.5, 40.2, 41.0, -40.0):
        X, y = a_stream(1, n=120, p=8, scale=10.0**power)
        logs, products = (
            learn(
                new_forest(1, 3, 8),
                TreeParameters(density=density, leaf=LEAF_BAYES),
                X,
                y,
            )[1]
            for density in (DENSITY_LOG, DENSITY_PRODUCT)
        )
        differ.append(not np.allclose(logs[60:], products[60:], rtol=1e-3, atol=1e-6))
    assert differ == [False, True, True, True, True]


def hand_made(variances: list[float], density: int) -> Forest:
    """Return a forest whose only class has these variances around 0."""
    forest = new_forest(1, 1, len(variances))
    counts, observed, _ = forest.leaves
    counts.slots[0] = 1
    counts.class_weight[0, 0] = observed.weight[0, 0] = 3.0
    observed.scatter[0, 0] = 2.0 * np.array(variances)
    refresh_densities(forest.leaves, 0, 0, density)
    return forest


def deviation_for(density: float) -> float:
    return 1.0 / (sqrt(2.0 * pi) * density)


@pytest.mark.parametrize(
    ("densities", "product"),
    [
        ([1e-140, 1e-140, 1e-140, 1e140], 0.0),
        ([1e140, 1e-140, 1e-140, 1e-140], 1e-280),
        # 2.4 times the smallest double becomes 2, then 1.2 becomes 1, and 0.6 stays 1.
        ([1e-140, 1e-140, 1.2e-43, *[0.6] * 40], 5e-324),
        # Less than half the smallest double is 0, however large the rest.
        ([1e-140, 1e-140, 4e-44, 0.4, *[100.0] * 5], 0.0),
        # Into the zone of lost digits and out of it: 1.3 has become 1.
        ([1e-140, 1e-140, 6.4e-44, 1e140, 1e140, 1e40], 4.9e-4),
        ([1e140, 1e140, 1e140, 1e-140, 1e-140, 1e-140], np.inf),
        ([1e-140, 1e-140, 1e140, 1e140, 1e140, 1e100, 1e-100], 1e140),
    ],
)
def test_a_product_is_that_of_doubles(densities: list[float], product: float) -> None:
    variances = [deviation_for(density) ** 2 for density in densities]
    x = np.zeros(len(densities))
    forest = hand_made(variances, DENSITY_PRODUCT)
    score = score_by_factors(forest.leaves, 0, 0, x, DENSITY_PRODUCT) - log(3.0)
    literal = 1.0
    for variance in variances:
        literal *= 1.0 / (sqrt(2.0 * pi) * sqrt(variance))
    assert_allclose(literal, product, rtol=0.02)
    assert_allclose(np.exp(score), literal, rtol=1e-9)
    logs = hand_made(variances, DENSITY_LOG)
    score = score_by_factors(logs.leaves, 0, 0, x, DENSITY_LOG) - log(3.0)
    assert_allclose(score, np.log(densities).sum(), rtol=1e-9, atol=1e-9)


@both_densities
def test_densities_are_those_around_the_means(density: int) -> None:
    variances, means = np.array([1.0, 4.0, 0.25]), np.array([2.0, -3.0, 0.5])
    x = np.array([3.0, -4.0, 0.75])
    forest = hand_made(variances.tolist(), density)
    forest.leaves.observed.mean[0, 0] = means
    score = score_by_factors(forest.leaves, 0, 0, x, density) - log(3.0)
    expected = -0.5 * (np.log(2.0 * pi * variances) + (x - means) ** 2 / variances)
    assert_allclose(score, expected.sum())


def test_infinity_times_zero_is_not_a_vote() -> None:
    deviations = [deviation_for(1e140)] * 3 + [1.0]
    forest = hand_made([d**2 for d in deviations], DENSITY_PRODUCT)
    x = np.array([0.0, 0.0, 0.0, 1e3])
    assert np.isnan(score_by_factors(forest.leaves, 0, 0, x, DENSITY_PRODUCT))
    rules = TreeParameters(density=DENSITY_PRODUCT, leaf=LEAF_BAYES)
    assert_array_equal(votes_of(forest, rules, x[None]), [[0.0]])
    overflow = votes_of(forest, rules, np.zeros((1, 4)))
    assert np.isnan(overflow).all()


def test_a_density_below_the_smallest_double_is_zero_whatever_its_factor() -> None:
    """exp(−800) is 0 in doubles, though 1e140·exp(−800) would not be."""
    deviation = deviation_for(1e140)
    x = np.array([40.0 * deviation])
    for density, expected in (
        (DENSITY_PRODUCT, -np.inf),
        (DENSITY_LOG, log(1e140) - 800.0),
    ):
        forest = hand_made([deviation**2], density)
        score = score_by_factors(forest.leaves, 0, 0, x, density) - log(3.0)
        assert_allclose(score, expected)


def test_a_density_that_leaves_the_range_by_both_of_its_factors_is_zero() -> None:
    """Of exp(−450) and 1e−130 each is a double, but not the product."""
    deviation = deviation_for(1e-130)
    x = np.array([sqrt(900.0) * deviation])
    for density, expected in (
        (DENSITY_PRODUCT, -np.inf),
        (DENSITY_LOG, -130.0 * log(10.0) - 450.0),
    ):
        forest = hand_made([deviation**2], density)
        score = score_by_factors(forest.leaves, 0, 0, x, density) - log(3.0)
        assert_allclose(score, expected)


@pytest.mark.parametrize("variance", [1e-300, 1e300])
def test_variances_that_cannot_be_inverted_still_have_a_density(
    variance: float,
) -> None:
    """Beside them stands an attribute without variance, at its value or elsewhere."""
    near = np.array([0.0, 2.0 * sqrt(variance), 0.0])
    far = near + np.array([0.0, 0.0, 1e-9])
    expected = -log(2.0 * pi) - 0.5 * log(variance) - 2.0
    for density in (DENSITY_LOG, DENSITY_PRODUCT):
        forest = hand_made([1.0, variance, 0.0], density)
        assert forest.leaves.densities.limit[0, 0] == -np.inf
        assert forest.leaves.densities.flat[0, 0] == 1
        score = score_by_factors(forest.leaves, 0, 0, near, density) - log(3.0)
        assert_allclose(score, expected)
        assert score_by_factors(forest.leaves, 0, 0, far, density) == -np.inf


@both_densities
def test_an_attribute_without_variance_admits_its_only_value(density: int) -> None:
    forest = hand_made([1.0, 0.0, 4.0], density)
    rows = np.array([[1.0, 0.0, 1.0], [1.0, 1e-300, 1.0], [40.0, 0.0, 0.0]])
    rules = TreeParameters(density=density, leaf=LEAF_BAYES)
    votes = votes_of(forest, rules, rows)[:, 0]
    # exp(−800) is a product that has vanished, unless only its logarithm is kept.
    assert_array_equal(votes, [1.0, 0.0, float(density == DENSITY_LOG)])


def two_blocks(n: int) -> tuple[FloatArray, IntArray]:
    """Two classes, separable by the first attribute."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 2))
    X[:, 0] += 20.0 * y
    return X, y


def test_the_first_attempt_waits_for_the_grace_period() -> None:
    X, y = two_blocks(250)
    _, splits = splits_by_row(TreeParameters(), X, y, np.ones(250), 2)
    assert [(row, j) for row, j, _ in splits] == [(199, 0)]
    _, splits = splits_by_row(TreeParameters(), X, y, np.full(250, 2.0), 2)
    assert splits[0][0] == 99


def test_a_failed_attempt_restarts_the_grace_period() -> None:
    X, y = two_blocks(450)
    X[:199] = 1.0
    X[:199, 1] += np.arange(199) % 3
    _, splits = splits_by_row(TreeParameters(), X, y, np.ones(450), 2)
    assert splits[0][0] == 399


def test_a_leaf_of_constants_freezes_and_still_counts() -> None:
    X = np.ones((260, 2))
    y = np.arange(260) % 2
    forest, _ = learn(new_forest(1, 3, 2), TreeParameters(), X[:199], y[:199])
    assert not forest.leaves.counts.frozen[0]
    forest, _ = learn(forest, TreeParameters(), X[199:], y[199:])
    assert forest.leaves.counts.frozen[0]
    assert_array_equal(forest.leaves.counts.class_weight[0], [130.0, 130.0, 0.0])
    observed = forest.leaves.observed.weight[0].copy()
    assert observed.sum() == 200.0
    X, y = two_blocks(500)
    forest, votes = learn(forest, TreeParameters(), X, y + 1)
    assert forest.splits[0] == 0
    assert_array_equal(forest.leaves.observed.weight[0], observed)
    assert_array_equal(forest.leaves.counts.class_weight[0], [130.0, 380.0, 250.0])
    assert_allclose(votes[-1] * (759.0), [130.0, 380.0, 249.0])


def test_a_leaf_of_one_class_is_not_tried() -> None:
    X = np.ones((450, 2))
    forest, _ = learn(new_forest(1, 2, 2), TreeParameters(), X, np.ones(450, np.int64))
    assert not forest.leaves.counts.frozen[0]
    assert forest.leaves.counts.checked[0] == 400.0


def test_of_equal_attributes_the_last_is_taken_and_only_in_a_tie() -> None:
    X, y = two_blocks(250)
    X = np.ascontiguousarray(X[:, [1, 0, 0]])
    _, splits = splits_by_row(TreeParameters(), X, y, np.ones(250), 2)
    assert splits == []
    _, splits = splits_by_row(TreeParameters(tie=0.5), X, y, np.ones(250), 2)
    assert [(row, j) for row, j, _ in splits] == [(199, 2)]


def test_thresholds_that_leave_a_side_almost_empty_have_no_merit() -> None:
    """Attributes that separate only outliers tie, and the last one is taken."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 402)
    X = np.round(rng.normal(size=(402, 2)))
    X[:2, 0] = 1e3  # outliers of one class: the first attribute would gain something
    X[2:4, 1] = 1e3
    y[:4] = [0, 0, 0, 1]
    weight = np.where(np.arange(402) < 4, 0.1, 1.0)
    rules = TreeParameters(grace=398.0)
    for tie in (0.05, 9.0):
        tree = Tree(rules._replace(tie=tie))
        learn_with_oracle(tree, X, y, weight, 2)
        _, splits = splits_by_row(tree.rules, X, y, weight, 2)
        assert splits == tree.splits
        assert [j for _, j, _ in splits] == ([] if tie < 1.0 else [1])


def test_a_row_on_the_threshold_goes_left() -> None:
    """With values 0 … 11 the ten thresholds are whole numbers."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (400, 2)).astype(float)
    y = (X[:, 0] > 6.0).astype(np.int64)
    rules = EAGER._replace(leaf=LEAF_MAJORITY)
    tree = Tree(rules)
    expected = learn_with_oracle(tree, X, y, np.ones(400), 2)
    forest, votes = learn(new_forest(1, 2, 2), rules, X, y)
    assert 0 < forest.splits[0] == len(tree.splits)
    assert (X[100:, tree.splits[0][1]] == tree.splits[0][2]).any()
    assert_allclose(votes, expected, rtol=1e-9, atol=1e-12)


def test_a_class_without_variance_lies_where_its_mean_is() -> None:
    forest = new_forest(1, 1, 1)
    X = np.array([[0.0], [1.0]])
    learn(forest, TreeParameters(), X, np.zeros(2, np.int64), np.array([0.1, 0.4]))
    assert_allclose(forest.leaves.observed.mean[0, 0], 0.8)
    assert weight_below(forest.leaves, 0, 0, 0, 0.5, 0.0) == 0.0
    assert weight_below(forest.leaves, 0, 0, 0, 0.9, 0.0) == 0.5


def test_children_start_with_the_class_weights_of_their_side() -> None:
    X, y = two_blocks(200)
    forest, _ = learn(new_forest(1, 2, 2), TreeParameters(), X, y)
    counts = forest.leaves.counts
    assert_array_equal(forest.splits, [1])
    assert_allclose(counts.class_weight, [[100.0, 0.0], [0.0, 100.0]], atol=1e-9)
    # The class of index 1 lies wholly on the right: the left knows one class only.
    assert_array_equal(counts.slots, [1, 2])
    votes = votes_of(forest, TreeParameters(), X[:2])
    assert_allclose(votes, np.eye(2)[y[:2]])


def test_rows_are_learned_by_their_own_tree_alone() -> None:
    X, y = a_stream(0)
    alone, _ = learn(new_forest(1, 3, 3), EAGER, X, y)
    forest = new_forest(3, 3, 3)
    forest, _ = learn(forest, EAGER, X[::-1].copy(), y[::-1].copy(), k=0)
    before = votes_of(forest, EAGER, X)
    forest, _ = learn(forest, EAGER, X, y, k=2)
    assert_array_equal(votes_of(forest, EAGER, X), before)
    votes = np.zeros((len(X), 3))
    pass_tree(forest, 2, EAGER, X, y, np.zeros(len(X)), True, votes)
    assert_array_equal(votes, votes_of(alone, EAGER, X))
    assert forest.splits[1] == 0 < forest.splits[2]


@both_densities
@given(st.data())
def test_parts_leave_the_same_bits_as_the_whole(
    density: int, data: st.DataObject
) -> None:
    rules = EAGER._replace(density=density)
    X, y = a_stream(data.draw(st.integers(0, 5)), n=150)
    whole, votes = learn(new_forest(1, 3, 3), rules, X, y)
    cuts = sorted(data.draw(st.lists(st.integers(0, 150), max_size=6)))
    parts = new_forest(1, 3, 3)
    in_parts = []
    for start, stop in zip([0, *cuts], [*cuts, 150], strict=True):
        parts, part = learn(parts, rules, X[start:stop], y[start:stop])
        in_parts.append(part)
    assert_same_bits(parts, whole)
    assert_array_equal(np.concatenate(in_parts), votes)


@both_densities
@given(streams())
def test_the_state_is_finite_and_votes_sum_to_one(density: int, stream: Stream) -> None:
    X, y, M = stream
    rules = EAGER._replace(density=density, grace=5.0)
    forest, votes = learn(new_forest(1, M, X.shape[1]), rules, X, y)
    for array in arrays_of(forest):
        assert not np.isnan(array).any()
    for array in forest.leaves.observed:
        assert np.isfinite(array).all()
    if density == DENSITY_LOG:
        totals = votes.sum(axis=1)
        assert totals[0] == 0.0
        assert (np.isclose(totals, 1.0, rtol=1e-12) | (totals == 0.0)).all()


def test_predicting_changes_nothing() -> None:
    X, y = a_stream(0)
    forest, _ = learn(new_forest(1, 3, 3), EAGER, X, y)
    copies = [array.copy() for array in arrays_of(forest)]
    votes_of(forest, EAGER, X + 0.5)
    for array, before in zip(arrays_of(forest), copies, strict=True):
        assert_array_equal(array, before)


@both_densities
@pytest.mark.parametrize(
    ("leaf", "m"), [(LEAF_BAYES, 0), (LEAF_ADAPTIVE, 1), (LEAF_ADAPTIVE, 3)]
)
def test_a_class_inserted_later_equals_one_known_and_never_seen(
    density: int, leaf: int, m: int
) -> None:
    # With this tie every bound is small enough, so the number of slots is no matter.
    # Tallies remember that votes of 0 for all meant class 0, so there 0 is not tried.
    rules = EAGER._replace(density=density, leaf=leaf, tie=9.0)
    X, y = a_stream(4)
    moved = y + (y >= m)
    expected, _ = learn(new_forest(1, 4, 3), rules, X, moved)
    early, _ = learn(new_forest(1, 3, 3), rules, X[:200], y[:200])
    late, _ = learn(insert_forest_class(early, m), rules, X[200:], moved[200:])
    assert late.splits[0] > 0
    assert_same_bits(late, expected)
    any_class = np.random.default_rng(0).integers(0, 4, len(X))
    expected, before = learn(expected, rules, X, any_class)
    late, after = learn(late, rules, X, any_class)
    assert_array_equal(before, after)
    assert_same_bits(late, expected)


def test_a_forest_may_begin_without_classes() -> None:
    X, y = a_stream(0, n=50)
    forest = new_forest(1, 0, 3)
    assert votes_of(forest, EAGER, X).shape == (50, 0)
    for m in range(3):
        forest = insert_forest_class(forest, m)
    forest, _ = learn(forest, EAGER, X, y)
    assert_same_bits(forest, learn(new_forest(1, 3, 3), EAGER, X, y)[0])


def test_places_double_when_a_tree_has_filled_its_own() -> None:
    X, y = a_stream(2, n=1000)
    forest, _ = learn(new_forest(2, 3, 3), EAGER, X, y, k=1)
    leaves = forest.splits[1] + 1
    assert leaves > 5
    C = forest.places
    assert leaves <= C < 2 * leaves
    for array in (*forest.nodes, *chain(*forest.leaves)):
        assert len(array) == 2 * C


def test_arrays_taken_before_a_forest_grows_stay_valid() -> None:
    X, y = a_stream(2, n=1000)
    forest = new_forest(1, 3, 3)
    early = forest.leaves.counts.class_weight
    learn(forest, EAGER, X, y)
    assert early.shape == (1, 3)
    assert forest.leaves.counts.class_weight.shape == (forest.places, 3)
    assert forest.places > 1


def test_a_forest_owns_copies_and_is_pickled_with_its_arrays() -> None:
    X, y = a_stream(2)
    forest, _ = learn(new_forest(1, 3, 3), EAGER, X, y)
    twins = [
        Forest(*forest),
        copy.deepcopy(forest),
        pickle.loads(pickle.dumps(forest)),  # noqa: S301 - our own bytes
    ]
    for twin in twins:
        assert_same_bits(twin, forest)
        learn(twin, EAGER, X, y)
        assert not np.array_equal(
            twin.leaves.counts.class_weight, forest.leaves.counts.class_weight
        )
    pairs = zip(forest.leaves, copy.deepcopy(forest.leaves), strict=True)
    for record, twin_record in pairs:
        for array, copied in zip(record, twin_record, strict=True):
            assert_array_equal(array, copied)


def damaged(**changes: object) -> Forest:
    """Make a forest of two trees, three classes and two attributes with changes."""
    forest = new_forest(2, 3, 2)
    parts: dict[str, Any] = {
        "splits": forest.splits,
        "nodes": forest.nodes,
        "counts": forest.leaves.counts,
        "observed": forest.leaves.observed,
        "densities": forest.leaves.densities,
    }
    for name, value in changes.items():
        parts[name] = value(parts[name]) if callable(value) else value
    splits, nodes, counts, observed, densities = parts.values()
    return Forest(splits, nodes, Leaves(counts, observed, densities))


def test_records_that_do_not_fit_make_no_forest() -> None:
    assert damaged().places == 1
    three, fewer = new_forest(3, 3, 2), new_forest(2, 2, 2)
    two = np.zeros(2, np.int64)
    refused: list[tuple[str, dict[str, Any]]] = [
        ("as many places", {"splits": np.zeros(0, np.int64)}),
        ("as many places", {"nodes": three.nodes}),
        ("as many leaves as nodes", {"counts": three.leaves.counts}),
        ("as many classes and attributes", {"observed": fewer.leaves.observed}),
        ("as many classes and attributes", {"densities": fewer.leaves.densities}),
        ("more splits than places", {"splits": np.ones(2, np.int64)}),
        ("more splits than places", {"splits": np.full(2, -1)}),
        ("no attribute", {"nodes": lambda n: n._replace(attribute=two + 2)}),
        ("no child", {"nodes": lambda n: n._replace(left=two + 1)}),
        ("no child", {"nodes": lambda n: n._replace(right=two - 2)}),
        ("more slots than classes", {"counts": lambda c: c._replace(slots=two + 4)}),
    ]
    for message, changes in refused:
        with pytest.raises(ValueError, match=message):
            damaged(**changes)


def test_rows_and_numbers_that_do_not_fit_are_refused() -> None:
    forest = new_forest(2, 3, 2)
    X, y, w, votes = (
        np.zeros((4, 2)),
        np.zeros(4, np.int64),
        np.ones(4),
        np.zeros((4, 3)),
    )
    good = {"k": 0, "rules": EAGER, "X": X, "y": y, "weight": w, "votes": votes}
    bad: list[dict[str, Any]] = [
        {"k": 2},
        {"k": -1},
        {"rules": EAGER._replace(density=2)},
        {"rules": EAGER._replace(leaf=3)},
        {"X": np.zeros((4, 3))},
        {"votes": np.zeros((3, 3))},
        {"votes": np.zeros((4, 2))},
        {"y": y[:3]},
        {"y": y + 3},
        {"y": y - 1},
        {"weight": w[:1]},
        {"weight": w[:2]},
    ]
    for change in bad:
        k, rules, X_, y_, weight, votes_ = (good | change).values()
        with pytest.raises(ValueError, match=r"must|no such|no class"):
            pass_tree(forest, k, rules, X_, y_, weight, True, votes_)  # type: ignore[arg-type]
    # A row that is not learned needs no class.
    pass_tree(forest, 0, EAGER, X, y - 1, np.zeros(4), True, votes)
    for leaf, m, j in ((2, 0, 0), (-1, 0, 0), (0, 3, 0), (0, -1, 0), (0, 0, 2)):
        with pytest.raises(ValueError, match="no such"):
            weight_below(forest.leaves, leaf, m, j, 0.0, 1.0)
    with pytest.raises(ValueError, match="for each attribute"):
        score_by_factors(forest.leaves, 0, 0, np.zeros(3), DENSITY_LOG)
