"""The classifier against the oracle, and its statistics against the paper."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from estimators.snapshots import state_of
from estimators.streams import (
    blobs,
    densities_of,
    oracle_for,
    projected,
    rows,
    rules,
    seeds,
    small,
)
from oracles import paper as plain
from rpnb.core.bayes.statistics import COMBINERS

# The plain twin


@given(st.data(), seeds, rules)
def test_labels_and_statistics_are_those_of_the_plain_algorithm(
    data: st.DataObject, seed: int, rule: Any
) -> None:
    M = data.draw(st.integers(1, 4))
    X, y = blobs(seed, 50, p=data.draw(st.integers(1, 9)), M=M)
    update = data.draw(st.sampled_from(["mistakes", "all"]))
    declared = data.draw(st.sampled_from([[], list(range(M))]))
    size = data.draw(st.sampled_from([1, 7, 16, 33, None]))
    model = small(
        combiner=rule,
        update=update,
        batch_size=size,
        projection=data.draw(st.sampled_from(["gaussian", "bernoulli", "achlioptas"])),
        prior_mean=data.draw(st.sampled_from([0.0, -1.5])),
        prior_variance=data.draw(st.sampled_from([1.0, 0.3])),
        prior_weight=data.draw(st.sampled_from([1.0, 4.5])),
        forgetting=data.draw(st.sampled_from([None, 20.0, 2])),
    )
    # All classes in one call, so that the oracle numbers them like the model.
    y[:M] = np.arange(M)
    predictions = model.predict_then_learn(X, y, classes=declared or None)
    twin = oracle_for(model, declared=declared)
    expected = plain.run(twin, X, y, size or 50, update == "all")
    numbers = [
        -1 if prediction is None else prediction for prediction in predictions.tolist()
    ]
    assert numbers == expected.tolist()
    mean, variance = densities_of(model)
    assert_allclose(mean, twin.mean.swapaxes(0, 1).reshape(M, -1), atol=1e-12)
    flat = twin.variance.swapaxes(0, 1).reshape(M, -1)
    assert_allclose(variance, np.maximum(flat, twin.var_floor), rtol=1e-10)
    assert_allclose(model._state.moments.weight + model.prior_weight, twin.n)


@pytest.mark.parametrize("rule", COMBINERS)
def test_scores_are_those_of_the_plain_algorithm(rule: Any) -> None:
    X, y = blobs(10, 80)
    model = small(combiner=rule, shuffle=False).fit(X, y)
    twin = oracle_for(model, declared=[0, 1, 2])
    plain.run(twin, X, y)
    expected = plain.class_scores(twin, X)
    K = model._state.projection.K
    if rule == "log_sum":
        scores = model.decision_function(X)
        # Up to what all classes have in common.
        assert_allclose(scores - scores[:, :1], expected - expected[:, :1], atol=1e-9)
    elif rule == "vote":
        assert_allclose(model.decision_function(X), expected / K)
        assert_allclose(model.predict_proba(X), expected / K, rtol=1e-12)
    else:
        share = K if rule == "sum" else 1
        # Posteriors too small for the oracle differ only in their logarithms.
        assert expected.min() > 1e-300
        assert_allclose(np.exp(model.decision_function(X)) * share, expected)
    if rule in ("sum", "max", "min", "median"):
        normalised = expected / expected.sum(axis=1, keepdims=True)
        assert_allclose(model.predict_proba(X), normalised)


def test_the_product_rule_gives_the_labels_of_the_log_sum() -> None:
    X, y = blobs(11, 200)
    product = small(combiner="product").predict_then_learn(X, y)
    assert_array_equal(product, small().predict_then_learn(X, y))


@pytest.mark.parametrize("size", [2, 20, None])
def test_order_inside_a_mini_batch_does_not_matter(size: int | None) -> None:
    X, y = blobs(12, 80)
    rng = np.random.default_rng(0)
    step = size or 80
    order = np.concatenate(
        [a + rng.permutation(min(step, 80 - a)) for a in range(0, 80, step)]
    )
    one, other = small(batch_size=size), small(batch_size=size)
    first = one.predict_then_learn(X, y, classes=[0, 1, 2])
    second = other.predict_then_learn(X[order], y[order], classes=[0, 1, 2])
    assert_array_equal(first[order], second)
    assert (one.n_samples_seen_, one.n_updates_) == (
        other.n_samples_seen_,
        other.n_updates_,
    )
    for a, b in zip(one._state.moments, other._state.moments, strict=True):
        assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_a_mini_batch_is_predicted_before_any_of_it_is_learned() -> None:
    X, y = blobs(13, 40)
    model = small(batch_size=None).fit(X, y)
    before = model.predict(X)
    assert_array_equal(model.predict_then_learn(X, y), before)
    assert np.any(model.predict(X) != before)  # it has learned


def test_none_makes_each_call_one_mini_batch_and_batches_end_with_their_call() -> None:
    X, y = blobs(14, 60)
    by_call, by_size = small(batch_size=None), small(batch_size=25)
    for c in (slice(0, 25), slice(25, 50), slice(50, 60)):
        by_call.partial_fit(X[c], y[c])
    by_size.partial_fit(X, y)
    assert state_of(by_call) == state_of(by_size)
    cut_short = small(batch_size=25)
    for c in (slice(0, 40), slice(40, 60)):
        cut_short.partial_fit(X[c], y[c])
    assert state_of(cut_short) != state_of(by_size)


# The statistics


@given(seeds, st.sampled_from([1, 9, None]))
def test_corollary_2_learning_all_reaches_the_sample_mean_and_variance(
    seed: int, size: int | None
) -> None:
    X, y = blobs(seed, 90)
    model = small(update="all", prior_weight=0.0, batch_size=size).fit(X, y)
    Z = projected(model, X)
    mean, variance = densities_of(model)
    for m in range(3):
        assert_allclose(mean[m], Z[y == m].mean(axis=0), rtol=1e-11, atol=1e-11)
        assert_allclose(variance[m], Z[y == m].var(axis=0), rtol=1e-10)


def test_a_large_offset_breaks_the_textbook_variance_but_not_ours() -> None:
    X, y = blobs(15, 90, M=1)
    X += 1e8
    model = small(update="all", prior_weight=0.0).fit(X, y)
    Z = projected(model, X)
    true = projected(model, X - X.mean(axis=0)).var(axis=0)
    textbook = (Z**2).mean(axis=0) - Z.mean(axis=0) ** 2
    assert np.abs(textbook - true).max() > 0.5  # the negative control
    assert_allclose(densities_of(model)[1][0], true, rtol=1e-5)


def test_corollary_1_holds_at_every_step() -> None:
    X, _ = blobs(16, 25, M=1)
    model = small(update="all", prior_mean=0.5, prior_variance=2.0)
    mean, variance, t = 0.5, 2.0, 1  # the prior counts as one observation
    for x in X:
        model.partial_fit(x[None, :], ["only"])
        z = projected(model, x[None, :])[0]
        t += 1
        before, mean = mean, ((t - 1) * mean + z) / t
        variance = ((t - 1) * (variance + (before - mean) ** 2) + (z - mean) ** 2) / t
        assert_allclose(densities_of(model)[0][0], mean, rtol=1e-12, atol=1e-13)
        assert_allclose(densities_of(model)[1][0], variance, rtol=1e-12)


def test_only_mistakes_are_learned_and_only_in_their_own_class() -> None:
    X, y = blobs(17, 100)
    model = small().partial_fit(X[:30], y[:30])
    mistakes = 0
    for c in rows(100):
        right = model.predict(X[c]) == y[c]
        before = [part.copy() for part in model._state.moments]
        updates = model.n_updates_
        model.partial_fit(X[c], y[c])
        others = np.arange(3) != (-1 if right else y[c])
        for old, new in zip(before, model._state.moments, strict=True):
            assert_array_equal(old[others], new[others])
        assert model.n_updates_ == updates + (not right)
        mistakes += int(not right)
    assert 0 < mistakes < 100
    assert model.n_samples_seen_ == 130


def test_the_variance_floor_is_the_smallest_variance_used() -> None:
    X = np.ones((50, 2))
    model = small(update="all", prior_weight=0.0, var_floor=0.25).fit(X, ["a"] * 50)
    assert_allclose(densities_of(model)[1], 0.25)
