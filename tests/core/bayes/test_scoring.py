"""Scores of classes, and sums that stop once a class cannot win."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from oracles import paper as plain
from rpnb.core.bayes.model import Model
from rpnb.core.bayes.statistics import LEARN_ALL, best_class, score
from rpnb.core.passes.engine import run, scores
from rpnb.core.projection.matrices import project
from strategies import Stream, make_model, oracle_of, streams

WEIGHT = np.ones(1)


def learned(stream: Stream, K: int = 5) -> Model:
    model = make_model(stream.X.shape[1], stream.M, K=K)
    labels = np.empty(stream.y.shape[0], np.int64)
    run(model, stream.X, stream.y, WEIGHT, LEARN_ALL, labels)
    return model


def projected(model: Model, X: np.ndarray) -> np.ndarray:
    projection = model.projection
    Z = np.empty((X.shape[0], model.F))
    scale = 1.0 / np.sqrt(projection.q)
    project(X, np.arange(X.shape[0]), scale, projection.R, Z)
    return Z


def test_the_flat_score_is_the_sum_over_the_members() -> None:
    # Equation (6) with (5) inside, up to the uniform prior that the kernels leave out.
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(50, 6)), rng.integers(0, 3, 50)
    model = make_model(6, 3, K=40)
    oracle = oracle_of(model)
    run(model, X, y, WEIGHT, LEARN_ALL, np.empty(50, np.int64))
    plain.run(oracle, X, y, learn_all=True)
    expected = plain.class_scores(oracle, X) + 40 * np.log(3)
    assert_allclose(scores(model, X), expected, rtol=1e-11)


@given(streams(max_n=10))
def test_stopping_sums_early_changes_no_winner(stream: Stream) -> None:
    model = learned(stream, K=100)
    every = scores(model, stream.X)
    for z, row in zip(projected(model, stream.X), every, strict=True):
        found = best_class(
            z, model.gaussians, model.classes.bias, model.classes.eligible
        )
        assert found == int(np.argmax(row))


def test_sums_continue_from_one_stretch_of_columns_to_the_next() -> None:
    # Every column has its own size, so that a sum lost or counted twice is seen.
    model = make_model(2, 1, K=300)
    model.gaussians.mean[0] = np.arange(model.F) / 7.0
    expected = model.gaussians.constant[0] - 0.5 * np.sum(
        model.gaussians.precision[0] * model.gaussians.mean[0] ** 2
    )
    found = score(np.zeros(model.F), model.gaussians, 0, 0.0, -np.inf)
    assert_allclose(found, expected, rtol=1e-12)


def test_the_sum_of_a_class_that_cannot_win_is_stopped() -> None:
    model = make_model(2, 2, K=300)
    z = np.full(model.F, 5.0)
    whole = score(z, model.gaussians, 0, 0.0, -np.inf)
    partial = score(z, model.gaussians, 0, 0.0, -100.0)
    assert whole < partial < -100.0


def test_equal_scores_go_to_the_first_class() -> None:
    model = make_model(3, 4)
    z = np.linspace(-1, 1, model.F)
    bias = model.classes.bias
    eligible = model.classes.eligible
    assert best_class(z, model.gaussians, bias, eligible) == 0
    eligible[0] = False
    assert best_class(z, model.gaussians, bias, eligible) == 1
    eligible[:] = False
    assert best_class(z, model.gaussians, bias, eligible) == -1


def test_equal_sums_go_to_the_first_class_though_another_leads_at_first() -> None:
    model = make_model(2, 2, K=300)
    model.gaussians.precision[:] = 1.0
    model.gaussians.mean[:] = 0.0
    model.gaussians.mean[0, :8] = model.gaussians.mean[1, -8:] = 1.0
    bias, eligible = model.classes.bias, model.classes.eligible
    z = np.zeros(model.F)
    one, two = (score(z, model.gaussians, m, 0.0, -np.inf) for m in range(2))
    assert one == two
    assert best_class(z, model.gaussians, bias, eligible) == 0


def test_a_given_class_prior_counts_once_for_each_member() -> None:
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(30, 6)), rng.integers(0, 3, 30)
    model = make_model(6, 3, K=7)
    oracle = oracle_of(model)
    prior = np.log([0.2, 0.5, 0.3])
    given_prior = replace(oracle, log_prior=prior)
    model.classes.bias[:] = 7 * prior
    run(model, X, y, WEIGHT, LEARN_ALL, np.empty(30, np.int64))
    plain.run(given_prior, X, y, learn_all=True)
    assert_allclose(scores(model, X), plain.class_scores(given_prior, X), rtol=1e-11)


@given(streams(max_n=20))
def test_scores_are_finite_whatever_the_rows(stream: Stream) -> None:
    assert np.isfinite(scores(learned(stream), stream.X)).all()


@given(streams(max_n=20))
def test_a_score_does_not_depend_on_the_other_rows(stream: Stream) -> None:
    model = learned(stream)
    together = scores(model, stream.X)
    alone = np.vstack([scores(model, x[None, :]) for x in stream.X])
    assert_array_equal(together, alone)
