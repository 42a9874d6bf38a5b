"""Weights of rows and probabilities of classes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from estimators.snapshots import state_of
from estimators.streams import blobs, densities_of, oracle_for, projected, seeds, small
from oracles import paper as plain
from rpnb import RPNBClassifier


def assert_same_statistics(one: RPNBClassifier, other: RPNBClassifier) -> None:
    for a, b in zip(one._state.moments, other._state.moments, strict=True):
        assert_allclose(a, b, rtol=1e-11, atol=1e-12)


# Weights of rows


@given(seeds, st.sampled_from([1, 8, None]))
def test_a_whole_weight_is_the_row_repeated_in_one_update(
    seed: int, size: int | None
) -> None:
    X, y = blobs(seed, 40)
    weight = np.random.default_rng(seed).integers(0, 5, 40)
    weight[0] = 1
    weighted = small(update="all", batch_size=size)
    weighted.partial_fit(X, y, classes=[0, 1, 2], sample_weight=weight)
    repeated = small(update="all", batch_size=None)
    copies = np.repeat(np.arange(40), weight)
    repeated.partial_fit(X[copies], y[copies], classes=[0, 1, 2])
    assert_same_statistics(weighted, repeated)
    assert_allclose(weighted._state.classes.seen, repeated._state.classes.seen)
    assert_array_equal(weighted.predict(X), repeated.predict(X))
    assert weighted.n_samples_seen_ == np.count_nonzero(weight)


def test_a_weighted_mistake_is_one_update_with_that_weight() -> None:
    X, y = blobs(1, 80)
    weight = np.random.default_rng(0).uniform(0.1, 4.0, 80)
    model = small(shuffle=False).fit(X, y, sample_weight=weight)
    twin = oracle_for(model, declared=[0, 1, 2])
    mistakes = 0
    for i in range(80):
        row = slice(i, i + 1)
        if plain.predict(twin, X[row])[0] != y[i]:
            plain.update_batch(twin, X[row], int(y[i]), weight[row])
            mistakes += 1
    assert_allclose(densities_of(model)[0], twin.mean.swapaxes(0, 1).reshape(3, -1))
    assert_allclose(densities_of(model)[1], twin.variance.swapaxes(0, 1).reshape(3, -1))
    assert model.n_updates_ == mistakes


@pytest.mark.parametrize("size", [1, 16, None])
def test_fractional_weights_give_the_weighted_mean_and_variance(
    size: int | None,
) -> None:
    X, y = blobs(2, 60)
    weight = np.random.default_rng(1).uniform(0.01, 2.0, 60)
    model = small(update="all", prior_weight=0.0, batch_size=size)
    model.fit(X, y, sample_weight=weight)
    Z = projected(model, X)
    for m in range(3):
        w, z = weight[y == m], Z[y == m]
        mean = np.average(z, axis=0, weights=w)
        assert_allclose(densities_of(model)[0][m], mean, rtol=1e-10, atol=1e-12)
        expected = np.average((z - mean) ** 2, axis=0, weights=w)
        assert_allclose(densities_of(model)[1][m], expected, rtol=1e-10)
        assert_allclose(model._state.moments.weight[m], w.sum())


@pytest.mark.parametrize("update", ["mistakes", "all"])
@pytest.mark.parametrize("size", [1, 5])
def test_rows_of_weight_zero_are_left_out(update: Any, size: int) -> None:
    X, y = blobs(3, 60)
    kept = np.random.default_rng(2).random(60) < 0.6
    weighted = small(update=update, batch_size=size)
    weighted.partial_fit(X, y, sample_weight=kept.astype(float))
    without = small(update=update, batch_size=size).partial_fit(X[kept], y[kept])
    assert state_of(weighted) == state_of(without)


def test_a_class_of_weightless_rows_is_known_only_where_it_is_declared() -> None:
    X, _ = blobs(4, 4)
    y, weight = ["a", "b", "c", "a"], [1.0, 1.0, 0.0, 1.0]
    assert small().partial_fit(X, y, sample_weight=weight).classes_.tolist() == [
        "a",
        "b",
    ]
    assert small().fit(X, y, sample_weight=weight).classes_.tolist() == ["a", "b", "c"]


def test_equal_weights_of_one_are_no_weights() -> None:
    X, y = blobs(5)
    plainly = small().fit(X, y)
    for weight in (np.ones(60), [1] * 60, 1.0, np.float32(1)):
        assert state_of(small().fit(X, y, sample_weight=weight)) == state_of(plainly)


def test_one_number_weighs_all_rows() -> None:
    X, y = blobs(5)
    one = small().fit(X, y, sample_weight=2.5)
    each = small().fit(X, y, sample_weight=np.full(60, 2.5))
    assert state_of(one) == state_of(each)
    assert state_of(one) != state_of(small().fit(X, y))


# Probabilities of classes


def with_prior(class_prior: Any, X: NDArray[Any], y: NDArray[Any]) -> Any:
    return small(class_prior=class_prior, update="all").fit(X, y)


@pytest.mark.parametrize(
    "given_prior",
    [
        [0.2, 0.5, 0.3],
        np.array([0.2, 0.5, 0.3]),
        (0.2, 0.5, 0.3),
        {"cat": 0.3, "ant": 0.2, "bee": 0.5},
    ],
    ids=["list", "array", "tuple", "mapping"],
)
def test_given_probabilities_are_added_to_each_members_score(given_prior: Any) -> None:
    X, numbers = blobs(6)
    y = np.array(["ant", "bee", "cat"])[numbers]
    uniform = with_prior("uniform", X, y)
    model = with_prior(given_prior, X, y)
    difference = model.decision_function(X) - uniform.decision_function(X)
    bias = 7 * np.log([0.2, 0.5, 0.3])
    assert_allclose(difference, np.tile(bias, (60, 1)), atol=1e-9)


@pytest.mark.parametrize("rule", ["log_sum", "sum", "vote"])
def test_given_probabilities_are_those_of_the_plain_algorithm(rule: Any) -> None:
    X, y = blobs(7, 100, apart=0.3)
    prior = [0.7, 0.2, 0.1]
    model = small(class_prior=prior, combiner=rule)
    predictions = model.predict_then_learn(X, y, classes=[0, 1, 2])
    twin = oracle_for(model, declared=[0, 1, 2], log_prior=np.log(prior))
    assert_array_equal(predictions, plain.run(twin, X, y))
    uniform = small(combiner=rule).predict_then_learn(X, y, classes=[0, 1, 2])
    assert np.any(uniform != predictions)


def test_a_mapping_may_hold_more_classes_than_have_come_so_far() -> None:
    X, y = blobs(8)
    model = small(class_prior={0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4})
    model.partial_fit(X[:1], [1]).partial_fit(X, y)
    assert_allclose(model._state.classes.bias, 7 * np.log([0.1, 0.2, 0.3]))
    assert model.predict_proba(X).shape == (60, 3)


@pytest.mark.parametrize("size", [1, 12])
def test_frequency_counts_each_class_once_more_than_it_was_seen(size: int) -> None:
    X, y = blobs(9, 60, apart=0.3)
    model = small(class_prior="frequency", batch_size=size)
    predictions = model.predict_then_learn(X, y, classes=[0, 1, 2])
    twin = oracle_for(model, declared=[0, 1, 2])
    for start in range(0, 60, size):
        batch = slice(start, start + size)
        counts = 1.0 + np.bincount(y[:start], minlength=3)
        twin.log_prior = np.log(counts / counts.sum())
        assert_array_equal(
            predictions[batch], plain.run(twin, X[batch], y[batch], size)
        )
    assert_allclose(model._state.classes.seen, np.bincount(y))


def test_frequency_counts_weights_and_rows_that_were_not_learned() -> None:
    X, y = blobs(10)
    model = small(class_prior="frequency").fit(X, y, sample_weight=np.full(60, 0.5))
    assert model.n_updates_ < 60
    assert_allclose(
        model._state.classes.bias, 7 * np.log1p(0.5 * np.bincount(y)), rtol=1e-12
    )


def test_a_new_class_keeps_the_counts_of_the_others() -> None:
    X, y = blobs(11)
    model = small(class_prior="frequency").fit(X, y).partial_fit(X[:1], [-1])
    assert_allclose(
        model._state.classes.bias, 7 * np.log1p([1, *np.bincount(y)]), rtol=1e-12
    )


def test_weights_count_in_predict_then_learn_and_row_by_row() -> None:
    X, y = blobs(6, 50)
    weight = np.random.default_rng(2).uniform(0.2, 4.0, 50)
    whole, loop, one = small(), small(), small()
    labels = whole.predict_then_learn(X, y, [0, 1, 2], sample_weight=weight)
    one.partial_fit(X[:1], y[:1], [0, 1, 2], sample_weight=weight[:1])
    found, quick = [], [labels[0]]
    for i in range(50):
        row = slice(i, i + 1)
        classes = [0, 1, 2] if i == 0 else None
        found += list(
            loop.predict_then_learn(X[row], y[row], classes, sample_weight=weight[row])
        )
        if i > 0:
            quick.append(one.predict_one(X[i]))
            one.learn_one(X[i], y[i], float(weight[i]))
    assert_array_equal(found, labels)
    assert_array_equal(quick, labels)
    assert state_of(whole) == state_of(loop) == state_of(one)
    assert state_of(whole) != state_of(small().partial_fit(X, y, [0, 1, 2]))
    before = state_of(whole)
    with pytest.raises(ValueError, match="above 0 here, got 0 in row 3"):
        whole.predict_then_learn(X[:5], y[:5], sample_weight=[1, 1, 1, 0, 1])
    with pytest.raises(ValueError, match="sample_weight must be a finite number above"):
        whole.learn_one(X[0], y[0], 0.0)
    with pytest.raises(TypeError, match="sample_weight must be a finite number above"):
        whole.learn_one(X[0], y[0], "2")  # type: ignore[arg-type]
    assert state_of(whole) == before
    whole.learn_one(X[0], 7, 2.5)  # a new class falls back to `partial_fit`
    assert whole.classes_.tolist() == [0, 1, 2, 7]
