"""Forms that have aged: what they say still holds, and they are built anew in time."""

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
from strategies import Stream, definitive, make_model, streams, well_behaved

WEIGHT = np.ones(1)
priors = st.sampled_from(
    [
        Prior(0.0, 1.0, 1.0, 1e-9),
        Prior(3.0, 0.5, 0.0, 1e-9),
        Prior(-1e3, 20.0, 7.5, 1e-3),
    ]
)


def age(
    model: Model, quadratic: QuadraticForms, m: int, x: FloatArray, weight: float = 1.0
) -> None:
    """Let class m learn a row, and its form grow old by it."""
    learner = model.kernel_state()
    z = np.empty((1, model.F))
    project(x[None, :], np.zeros(1, np.int64), learner.scale, learner.R, z)
    share = weight / (model.prior.weight + model.moments.weight[m] + weight)
    learn_projected_row(learner, m, z[0], weight)
    centred = x - quadratic.origin
    shift_means(quadratic, m, share, centred, float(np.linalg.norm(centred)))
    widen(quadratic.staleness, m, model.gaussians)


def limits(
    model: Model, quadratic: QuadraticForms, X: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the least and the most that scores (n, M) can be, by aged forms."""
    n, M = X.shape[0], model.M
    room = -(-n // 16) * 16
    centred, lengths = np.zeros((X.shape[1], room)), np.zeros(room)
    values, error_bounds = np.empty((2, M, room))
    centre_columns(X, quadratic.origin, centred, lengths)
    evaluate(quadratic, centred, n, values)
    for m in range(M):
        constant = model.gaussians.constant[m]
        bound_errors(quadratic, m, constant, lengths, 0, n, error_bounds[m])
    old, values, error_bounds = quadratic.staleness, values[:, :n], error_bounds[:, :n]
    known = model.gaussians.constant[:, None]
    margin = old.margin[:, None]
    low = old.low[:, None] * (values - error_bounds) + (known - margin)
    high = old.high[:, None] * (values + error_bounds) + (known + margin)
    return low.T, high.T


@given(streams(max_n=40), st.integers(0, 30), priors, st.sampled_from([1.0, 0.25]))
def test_scores_are_between_what_aged_forms_say(
    stream: Stream, young: int, prior: Prior, weight: float
) -> None:
    model = make_model(stream.X.shape[1], stream.M, K=20, prior=prior)
    run(model, stream.X[:young], stream.y[:young], WEIGHT, LEARN_ALL, stream.y.copy())
    quadratic = forms(model, stream.X.mean(axis=0))
    for x, m in zip(stream.X[young:], stream.y[young:], strict=True):
        age(model, quadratic, m, x, weight)
    with np.errstate(invalid="ignore"):
        low, high = limits(model, quadratic, stream.X)
        found = scores(model, stream.X)
        # What is no number promises nothing.
        assert not (found < low).any()
        assert not (found > high).any()


def test_what_aged_forms_say_is_no_more_than_needed() -> None:
    stream = well_behaved(1, 300)
    model = make_model(6, 3, K=50)
    run(model, stream.X, stream.y, WEIGHT, LEARN_ALL, stream.y.copy())
    quadratic = forms(model, stream.X.mean(axis=0))
    age(model, quadratic, 0, stream.X[0])
    low, high = limits(model, quadratic, stream.X)
    found = scores(model, stream.X)
    # One row among a hundred: a few hundredths of the distance are left open.
    assert ((high - low)[:, 0] < 0.2 * np.abs(found[:, 0])).all()
    assert ((high - low)[:, 1:] < 1e-2).all()


@given(st.integers(1, 6), st.integers(0, 2**32 - 1), priors)
def test_a_form_follows_the_means_to_where_they_are(
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
        age(model, quadratic, 0, x)
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


def test_values_follow_where_they_have_been_evaluated_already() -> None:
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
def test_a_form_says_nothing_once_its_class_is_another(
    variance: float, column: int
) -> None:
    model = make_model(2, 2)
    quadratic = forms(model, np.zeros(2))
    widen(quadratic.staleness, 0, model.gaussians)
    assert np.isfinite(quadratic.staleness.margin[0])
    model.gaussians.precision[0, column] = variance
    widen(quadratic.staleness, 0, model.gaussians)
    assert quadratic.staleness.margin[0] == np.inf


def test_a_form_says_nothing_of_precisions_too_far_apart_for_single_precision() -> None:
    model = make_model(2, 1)
    model.gaussians.precision[0, 0] = 1e60
    quadratic = forms(model, np.zeros(2))
    widen(quadratic.staleness, 0, model.gaussians)
    assert quadratic.staleness.margin[0] == np.inf


def test_who_waits_in_vain_waits_less_and_tries_again_later() -> None:
    model = make_model(2, 1)
    quadratic = forms(model, np.zeros(2))
    old = quadratic.staleness
    assert should_rebuild(old, 4.0)
    assert old.budget[0] == 4.0
    assert not is_stale(old, 0)
    for budget in (2.0, 1.0):
        widen(old, 0, model.gaussians)
        assert is_stale(old, 0)
        debts = 0
        while not add_cost(old, 0, 1.0):
            debts += 1
        assert debts == 2.0 * budget - 1.0
        assert old.budget[0] == budget
        rebuild_form(quadratic, 0, model.gaussians)
        assert old.cost[0] == 0.0
    old.budget[0] = 0.2
    refused = 0
    while not should_rebuild(old, 4.0):
        refused += 1
    assert 5 < refused < 20


def test_waiting_that_paid_is_repeated() -> None:
    model = make_model(2, 1)
    old = forms(model, np.zeros(2)).staleness
    old.budget[0] = 2.0
    widen(old, 0, model.gaussians)
    widen(old, 0, model.gaussians)
    assert add_cost(old, 0, 2.0)
    assert old.budget[0] == 3.0


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
    assert_array_equal(labels, definitive(twin, stream, LEARN_MISTAKES))
    assert updates == (labels != stream.y).sum()
    assert 0 < built < updates / 2
    assert 0.0 < undecided < 1000.0


def test_values_that_lost_their_digits_are_evaluated_anew() -> None:
    # One row outweighs a prior that is far away by far, and all that is known of the
    # rows behind it in the step are small differences of large numbers.
    prior = Prior(1e9, 1.0, 1e-6, 1e-9)
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 64)
    X = rng.normal(size=(64, 2)) + 3.0 * y[:, None]
    X[:2], y[:2] = [[0.0, 0.0], [3.0, 3.0]], [0, 1]
    weight = np.ones(64)
    weight[:2] = 1e10
    stream = Stream(X, y, 2)
    one, two = (make_model(2, 2, K=20, prior=prior) for _ in range(2))
    expected = definitive(one, stream, LEARN_ALL, weight)
    quadratic = forms(two, X.mean(axis=0))
    labels = np.empty(64, np.int64)
    pass_quadratic(
        two.kernel_state(), quadratic, X, y, weight, LEARN_ALL, 64, 1e9, 0.2, labels
    )
    assert_array_equal(labels, expected)
