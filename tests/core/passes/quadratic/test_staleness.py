"""Stale forms: their bounds still hold, and they are built again in time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from core.passes.quadratic.test_quadratic import forms
from rpnb.core.bayes.densities import Prior
from rpnb.core.bayes.model import Model
from rpnb.core.bayes.state import LEARN_ALL, LEARN_MISTAKES
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.passes.engine import run, scores
from rpnb.core.passes.exact import learn_projected_row
from rpnb.core.passes.quadratic.evaluate import (
    add_linear,
    bound_errors,
    centre_columns,
    evaluate,
)
from rpnb.core.passes.quadratic.kernel import pass_quadratic
from rpnb.core.passes.quadratic.rebuild import rebuild_form, shift_means
from rpnb.core.passes.quadratic.record import QuadraticForms
from rpnb.core.passes.quadratic.staleness import (
    add_cost,
    is_stale,
    should_rebuild,
    widen,
)
from rpnb.core.projection.matrices import project
from strategies import Stream, exact_labels, make_model, streams, well_behaved

WEIGHT = np.ones(1)
priors = st.sampled_from(
    [
        Prior(0.0, 1.0, 1.0, 1e-9),
        Prior(3.0, 0.5, 0.0, 1e-9),
        Prior(-1e3, 20.0, 7.5, 1e-3),
    ]
)


def learn_stale(
    model: Model, quadratic: QuadraticForms, m: int, x: FloatArray, weight: float = 1.0
) -> None:
    """Let class m learn a row, and update its form without building it again."""
    learner = model.kernel_state()
    z = np.empty((1, model.F))
    project(x[None, :], np.zeros(1, np.int64), learner.scale, learner.R, z)
    share = weight / (model.prior.weight + model.moments.weight[m] + weight)
    learn_projected_row(learner, m, z[0], weight)
    centred = x - quadratic.origin
    shift_means(quadratic, m, share, centred, float(np.linalg.norm(centred)))
    widen(quadratic.staleness, m, model.gaussians)


def score_limits(
    model: Model, quadratic: QuadraticForms, X: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds of scores (n, M) from stale forms."""
    n, M = X.shape[0], model.M
    padded = -(-n // 16) * 16
    centred, lengths = np.zeros((X.shape[1], padded)), np.zeros(padded)
    values, error_bounds = np.empty((2, M, padded))
    centre_columns(X, quadratic.origin, centred, lengths)
    evaluate(quadratic, centred, n, values)
    for m in range(M):
        constant = model.gaussians.constant[m]
        bound_errors(quadratic, m, constant, lengths, 0, n, error_bounds[m])
    staleness, values, error_bounds = (
        quadratic.staleness,
        values[:, :n],
        error_bounds[:, :n],
    )
    known = model.gaussians.constant[:, None]
    margin = staleness.margin[:, None]
    low = staleness.low[:, None] * (values - error_bounds) + (known - margin)
    high = staleness.high[:, None] * (values + error_bounds) + (known + margin)
    return low.T, high.T


@given(streams(max_n=40), st.integers(0, 30), priors, st.sampled_from([1.0, 0.25]))
def test_scores_are_within_the_bounds_of_stale_forms(
    stream: Stream, before: int, prior: Prior, weight: float
) -> None:
    model = make_model(stream.X.shape[1], stream.M, K=20, prior=prior)
    run(model, stream.X[:before], stream.y[:before], WEIGHT, LEARN_ALL, stream.y.copy())
    quadratic = forms(model, stream.X.mean(axis=0))
    for x, m in zip(stream.X[before:], stream.y[before:], strict=True):
        learn_stale(model, quadratic, m, x, weight)
    with np.errstate(invalid="ignore"):
        low, high = score_limits(model, quadratic, stream.X)
        found = scores(model, stream.X)
        # A bound that is NaN holds for any score.
        assert not (found < low).any()
        assert not (found > high).any()


def test_bounds_of_stale_forms_are_not_too_wide() -> None:
    stream = well_behaved(1, 300)
    model = make_model(6, 3, K=50)
    run(model, stream.X, stream.y, WEIGHT, LEARN_ALL, stream.y.copy())
    quadratic = forms(model, stream.X.mean(axis=0))
    learn_stale(model, quadratic, 0, stream.X[0])
    low, high = score_limits(model, quadratic, stream.X)
    found = scores(model, stream.X)
    # One row among a hundred: the bounds are a few hundredths of the distance apart.
    assert ((high - low)[:, 0] < 0.2 * np.abs(found[:, 0])).all()
    assert ((high - low)[:, 1:] < 1e-2).all()


@given(st.integers(1, 6), st.integers(0, 2**32 - 1), priors)
def test_shifting_the_means_gives_the_form_of_the_new_means(
    p: int, seed: int, prior: Prior
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, p)) + rng.normal(size=p)
    model = make_model(p, 1, K=60, prior=prior)
    labels = np.zeros(40, np.int64)
    run(model, X[:20], labels[:20], WEIGHT, LEARN_ALL, labels.copy())
    quadratic = forms(model, X.mean(axis=0))
    w = model.gaussians.precision[0].copy()
    for x in X[20:]:
        learn_stale(model, quadratic, 0, x)
    R = model.projection.R.astype(np.float64) / np.sqrt(model.projection.q)
    centred = model.gaussians.mean[0] - quadratic.origin @ R
    b = R @ (w * centred)
    size = np.sqrt(np.sum(w * centred**2))
    atol = 1e-5 * quadratic.mean_norm[0] * quadratic.trace_root[0]
    assert_allclose(quadratic.factors[0, -p:], b, rtol=0, atol=atol)
    start = -0.5 * size**2
    assert_allclose(quadratic.start[0], start, atol=1e-5 * quadratic.mean_norm[0] ** 2)
    # An upper bound, and not a wild one.
    assert size <= 1.0001 * quadratic.mean_norm[0]
    assert quadratic.staleness.rows[0] == 20


def test_adding_linear_terms_updates_the_values_of_the_columns() -> None:
    rng = np.random.default_rng(5)
    centred, values = rng.normal(size=(3, 48)), rng.normal(size=48)
    linear = rng.normal(size=3)
    expected = values + 2.0 + linear @ centred
    found = values.copy()
    add_linear(2.0, linear, centred, 20, 41, found)
    assert_allclose(found[20:41], expected[20:41], rtol=1e-12)
    assert_array_equal(found[:16], values[:16])


@pytest.mark.parametrize("variance", [1e-5, 1e5])
@pytest.mark.parametrize("column", [0, 5, 14])
def test_bounds_are_infinite_once_precisions_changed_too_much(
    variance: float, column: int
) -> None:
    model = make_model(2, 2)
    quadratic = forms(model, np.zeros(2))
    widen(quadratic.staleness, 0, model.gaussians)
    assert np.isfinite(quadratic.staleness.margin[0])
    model.gaussians.precision[0, column] = variance
    widen(quadratic.staleness, 0, model.gaussians)
    assert quadratic.staleness.margin[0] == np.inf


def test_bounds_are_infinite_if_precisions_underflow_single() -> None:
    model = make_model(2, 1)
    model.gaussians.precision[0, 0] = 1e60
    quadratic = forms(model, np.zeros(2))
    widen(quadratic.staleness, 0, model.gaussians)
    assert quadratic.staleness.margin[0] == np.inf


def test_the_budget_shrinks_after_one_row_and_recovers_later() -> None:
    model = make_model(2, 1)
    quadratic = forms(model, np.zeros(2))
    staleness = quadratic.staleness
    assert not should_rebuild(staleness, 4.0)
    assert staleness.budget[0] == 4.0
    assert not is_stale(staleness, 0)
    for budget in (2.0, 1.0):
        widen(staleness, 0, model.gaussians)
        assert is_stale(staleness, 0)
        undecided = 0
        while not add_cost(staleness, 0, 1.0):
            undecided += 1
        assert undecided == 2.0 * budget - 1.0
        assert staleness.budget[0] == budget
        rebuild_form(quadratic, 0, model.gaussians)
        assert staleness.cost[0] == 0.0
    staleness.budget[0] = 0.2
    refused = 0
    while should_rebuild(staleness, 4.0):
        refused += 1
    assert 5 < refused < 20


def test_the_budget_grows_where_a_form_served_several_rows() -> None:
    model = make_model(2, 1)
    staleness = forms(model, np.zeros(2)).staleness
    staleness.budget[0] = 2.0
    widen(staleness, 0, model.gaussians)
    widen(staleness, 0, model.gaussians)
    assert add_cost(staleness, 0, 2.0)
    assert staleness.budget[0] == 3.0


def test_forms_are_built_for_several_mistakes_at_a_time() -> None:
    stream = well_behaved(12, 2000)
    model = make_model(6, 3, K=50)
    twin = make_model(6, 3, K=50)
    quadratic = forms(model, stream.X.mean(axis=0))
    labels = np.empty(2000, np.int64)
    updates, built, undecided = pass_quadratic(
        model.kernel_state(),
        quadratic,
        stream.X,
        stream.y,
        WEIGHT,
        LEARN_MISTAKES,
        64,
        20.0,
        0.2,
        labels,
    )
    assert_array_equal(labels, exact_labels(twin, stream, LEARN_MISTAKES))
    assert updates == (labels != stream.y).sum()
    assert 0 < built < updates / 2
    assert 0.0 < undecided < 1000.0


def test_values_that_lost_their_digits_are_evaluated_again() -> None:
    # One row outweighs by far a prior that is far away: the values of the later rows of
    # the step would be small differences of large numbers.
    prior = Prior(1e9, 1.0, 1e-6, 1e-9)
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 64)
    X = rng.normal(size=(64, 2)) + 3.0 * y[:, None]
    X[:2], y[:2] = [[0.0, 0.0], [3.0, 3.0]], [0, 1]
    weight = np.ones(64)
    weight[:2] = 1e10
    stream = Stream(X, y, 2)
    one, two = (make_model(2, 2, K=20, prior=prior) for _ in range(2))
    expected = exact_labels(one, stream, LEARN_ALL, weight)
    quadratic = forms(two, X.mean(axis=0))
    labels = np.empty(64, np.int64)
    pass_quadratic(
        two.kernel_state(), quadratic, X, y, weight, LEARN_ALL, 64, 1e9, 0.2, labels
    )
    assert_array_equal(labels, expected)
