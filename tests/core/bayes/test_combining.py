"""Rules that combine members: their definitions, and where they coincide."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from oracles import paper as plain
from rpnb.core.bayes.model import Model
from rpnb.core.bayes.statistics import (
    COMBINERS,
    LEARN_ALL,
    LEARN_MISTAKES,
    Combiner,
    best_combined,
    combine,
    member_log_posteriors,
)
from rpnb.core.passes.engine import classify, run, scores
from rpnb.core.projection.matrices import project
from strategies import make_model, oracle_of

KITTLER = [rule for rule in COMBINERS if rule != "log_sum"]
seeds = st.integers(0, 2**32 - 1)


def posteriors(seed: int, K: int, M: int) -> np.ndarray:
    logits = np.random.default_rng(seed).normal(size=(K, M)) * 3
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def combined(rule: Combiner, log_posterior: np.ndarray) -> np.ndarray:
    out = np.empty(log_posterior.shape[1])
    combine(COMBINERS.index(rule), log_posterior, out)
    return out


@pytest.mark.parametrize("rule", KITTLER)
@given(seed=seeds, K=st.integers(1, 9), M=st.integers(1, 5))
def test_each_rule_is_its_definition(rule: Combiner, seed: int, K: int, M: int) -> None:
    log_posterior = posteriors(seed, K, M)
    expected = plain.combine(rule, np.exp(log_posterior)[None])[0]
    found = combined(rule, log_posterior)
    if rule == "sum":
        expected = expected / K
    if rule == "vote":
        assert_allclose(found, expected / K, atol=1e-12)
    else:
        assert_allclose(np.exp(found), expected, rtol=1e-12)


@given(seed=seeds, K=st.integers(1, 9), M=st.integers(2, 5))
def test_product_ranks_classes_as_the_log_sum_of_unnormalised_posteriors(
    seed: int, K: int, M: int
) -> None:
    # A member's normaliser is the same for all classes: it shifts all of them alike.
    log_posterior = posteriors(seed, K, M)
    shifted = log_posterior + np.random.default_rng(seed).normal(size=(K, 1)) * 50
    product = combined("product", log_posterior)
    assert_allclose(
        product - product[0], (shifted.sum(0) - shifted.sum(0)[0]), atol=1e-9
    )


@given(seed=seeds, K=st.integers(1, 9))
def test_max_and_min_coincide_for_two_classes(seed: int, K: int) -> None:
    log_posterior = posteriors(seed, K, 2)
    largest = combined("max", log_posterior)
    smallest = combined("min", log_posterior)
    assert np.argmax(largest) == np.argmax(smallest)


@given(seed=seeds, half=st.integers(0, 4))
def test_median_and_vote_coincide_for_two_classes_and_odd_k(
    seed: int, half: int
) -> None:
    log_posterior = posteriors(seed, 2 * half + 1, 2)
    middle = combined("median", log_posterior)
    votes = combined("vote", log_posterior)
    assert np.argmax(middle) == np.argmax(votes)


def test_the_other_rules_do_differ() -> None:
    winners = {
        rule: tuple(
            int(np.argmax(combined(rule, posteriors(seed, 6, 3))))
            for seed in range(300)
        )
        for rule in KITTLER
    }
    assert len(set(winners.values())) == len(KITTLER)


def test_posteriors_that_underflow_still_distinguish_classes() -> None:
    log_posterior = np.array([[-1e-30, -70.0, -5000.0], [-1e-40, -90.0, -6000.0]])
    assert combined("max", log_posterior)[0] == -1e-40
    assert combined("sum", log_posterior)[2] == pytest.approx(-5000 - np.log(2))
    assert combined("min", log_posterior)[2] == -6000.0


def trained(rule: Combiner) -> tuple[Model, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    y = rng.integers(0, 3, 60)
    X = rng.normal(size=(60, 5)) + rng.normal(size=(3, 5))[y]
    model = make_model(5, 3, K=6)
    model.rule = rule
    return model, X, y


@pytest.mark.parametrize("rule", KITTLER)
def test_a_stream_gives_the_labels_of_the_oracle(rule: Combiner) -> None:
    model, X, y = trained(rule)
    oracle = oracle_of(model)
    labels = np.empty(60, np.int64)
    run(model, X, y, np.ones(1), LEARN_MISTAKES, labels)
    assert_array_equal(labels, plain.run(oracle, X, y))
    expected = plain.predict(oracle, X)
    assert_array_equal(scores(model, X).argmax(axis=1), expected)
    assert_array_equal(classify(model, X), expected)


def test_log_posteriors_are_those_of_equation_five() -> None:
    model, X, y = trained("sum")
    oracle = oracle_of(model)
    run(model, X, y, np.ones(1), LEARN_ALL, np.empty(60, np.int64))
    plain.run(oracle, X, y, learn_all=True)
    expected = plain.normalise(
        plain.log_posteriors(oracle, plain.project(oracle, X[:1]))
    )
    R, scale = model.projection.R, 1.0 / np.sqrt(model.projection.q)
    z = np.empty((1, model.F))
    project(X, np.zeros(1, np.int64), scale, R, z)
    out = np.empty((6, 3))
    classes = model.classes
    member_log_posteriors(z[0], model.gaussians, classes.bias, classes.eligible, out)
    assert_allclose(np.exp(out), expected[0], rtol=1e-9)
    classes.eligible[1] = False
    member_log_posteriors(z[0], model.gaussians, classes.bias, classes.eligible, out)
    assert (out[:, 1] == -np.inf).all()
    assert_allclose(np.exp(out).sum(axis=1), 1.0)


def test_a_distance_beyond_all_numbers_counts_as_the_largest() -> None:
    model, X, y = trained("sum")
    run(model, X, y, np.ones(1), LEARN_ALL, np.empty(60, np.int64))
    gaussians, classes = model.gaussians, model.classes
    gaussians.mean[:] = 0.0
    gaussians.mean[0] = 1e200
    gaussians.precision[:] = 1.0
    out = np.empty((6, 3))
    z = np.zeros(model.F)
    member_log_posteriors(z, gaussians, classes.bias, classes.eligible, out)
    assert_allclose(out[:, 0], -0.5e300 * (model.F // 6))


@pytest.mark.parametrize("rule", KITTLER)
def test_a_class_that_is_not_eligible_never_wins(rule: Combiner) -> None:
    log_posterior = np.full((3, 2), -np.inf)
    log_posterior[:, 1] = 0.0
    found = combined(rule, log_posterior)
    assert best_combined(found, np.array([False, True])) == 1
    assert best_combined(found, np.array([False, False])) == -1


def test_while_no_class_is_known_the_prediction_is_none() -> None:
    model, X, y = trained("vote")
    model.classes.eligible[:] = False
    labels = np.empty(60, np.int64)
    run(model, X, y, np.ones(1), LEARN_MISTAKES, labels)
    assert labels[0] == -1
    assert labels[1] == y[0]
