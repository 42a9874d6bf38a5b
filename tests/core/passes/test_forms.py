"""Quadratic forms: against their definition, within their bound, the same labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rpnb._core.passes import Forms
from rpnb.core.bayes.model import Model, copy_model
from rpnb.core.bayes.statistics import LEARN_ALL, LEARN_MISTAKES, LEARN_NOTHING
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.passes.choice import Path
from rpnb.core.passes.engine import run, run_batches, scores
from strategies import Stream, assert_same_state, make_model, streams, well_behaved

WEIGHT = np.ones(1)
NOTHING = np.zeros(0, np.int64)


def learned(stream: Stream, K: int = 20) -> Model:
    model = make_model(stream.X.shape[1], stream.M, K=K)
    labels = np.empty(stream.y.shape[0], np.int64)
    run(model, stream.X, stream.y, WEIGHT, LEARN_ALL, labels)
    return model


def evaluated(
    model: Model, X: FloatArray, origin: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the values of the forms (n, M), and the bounds of their errors."""
    values, bounds = np.empty((2, X.shape[0], model.M))
    Forms(model, origin).score(X, values, bounds)
    return values, bounds


def predicted(model: Model, X: FloatArray, path: Path) -> IntArray:
    labels = np.empty(X.shape[0], np.int64)
    run(model, X, NOTHING, WEIGHT, LEARN_NOTHING, labels, path)
    return labels


def excess(model: Model, X: FloatArray, origin: FloatArray) -> FloatArray:
    """Return errors divided by their bounds (n, M)."""
    values, bounds = evaluated(model, X, origin)
    return np.abs(values - scores(model, X)) / bounds


@given(
    st.integers(1, 13),
    st.sampled_from([1, 30, 100, 300]),
    st.integers(1, 5),
    st.integers(0, 2**32 - 1),
)
def test_a_form_is_its_definition(p: int, K: int, M: int, seed: int) -> None:
    # Features are taken four at a time, columns 256, rows up to 32 and classes two.
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(70, p)), rng.integers(0, M, 70)
    model = learned(Stream(X, y, M), K)
    model.classes.bias[:] = rng.normal(size=M)
    origin = X.mean(axis=0)
    R = model.projection.R.astype(np.float64) / np.sqrt(model.projection.q)
    w, moved = model.gaussians.precision, model.gaussians.mean - origin @ R
    A = np.einsum("if,mf,jf->mij", R, w, R)
    b = np.einsum("if,mf->mi", R, w * moved)
    start = model.gaussians.constant + model.classes.bias
    start -= 0.5 * (w * moved**2).sum(axis=1)
    x = X - origin
    expected = start + x @ b.T - 0.5 * np.einsum("ni,mij,nj->nm", x, A, x)
    values, bounds = evaluated(model, X, origin)
    assert_allclose(values, expected, rtol=1e-11, atol=1e-9)
    assert (bounds < 1e-8 * (1.0 + np.abs(values).max())).all()


@given(streams(max_n=40), st.sampled_from([2, 30, 350]), st.booleans())
def test_a_form_is_within_its_bound(stream: Stream, K: int, centred: bool) -> None:
    model = learned(stream, K)
    origin = stream.X.mean(axis=0) if centred else np.zeros(stream.X.shape[1])
    with np.errstate(invalid="ignore"):
        # A NaN, from numbers beyond double precision, promises nothing.
        assert not (excess(model, stream.X, origin) > 1.0).any()


@given(streams(), st.booleans(), st.integers(0, 2**32 - 1))
def test_forms_predict_what_the_exact_pass_does(
    stream: Stream, some: bool, seed: int
) -> None:
    model = learned(stream)
    rng = np.random.default_rng(seed)
    if some:
        model.classes.eligible[:] = rng.random(stream.M) < 0.5
    model.classes.bias[:] = rng.normal(size=stream.M) * rng.choice([0.0, 1.0, 1e3])
    before = copy_model(model)
    expected = predicted(model, stream.X, "exact")
    assert_array_equal(predicted(model, stream.X, "forms"), expected)
    assert_array_equal(predicted(model, stream.X, "screened"), expected)
    assert_same_state(model, before)


def test_many_rows_are_taken_step_by_step() -> None:
    stream = well_behaved(3, 1500, M=5)
    model = learned(stream)
    for n in (1, 31, 33, 256, 257, 1500):
        expected = predicted(model, stream.X[:n], "exact")
        assert_array_equal(predicted(model, stream.X[:n], "forms"), expected)


def one_column(precision: FloatArray, mean: FloatArray, q: int = 1) -> Model:
    """Return a model of one feature and q columns with the given densities."""
    model = make_model(1, precision.shape[0], K=1, q=q, seed=3)
    model.gaussians.precision[:] = 1e-30
    model.gaussians.precision[:, 0] = precision
    model.gaussians.mean[:] = 0.0
    model.gaussians.mean[:, 0] = mean
    model.gaussians.constant[:] = 0.0
    return model


def test_rounding_of_products_comes_near_its_bound() -> None:
    # The bound allows for as many roundings as there are terms, and some sixty more; a
    # handful happen, and for some class they do in the same direction.
    rng = np.random.default_rng(0)
    model = one_column(rng.uniform(1.0, 2.0, 3000), np.zeros(3000))
    ratio = excess(model, np.full((1, 1), 10.0), np.zeros(1))
    assert 0.03 < ratio.max() <= 1.0


def test_rounding_of_projections_comes_near_its_bound() -> None:
    # Far from zero, where the double-precision projection itself loses digits.
    rng = np.random.default_rng(4)
    model = one_column(np.ones(1), np.zeros(1), q=3)
    R, scale = model.projection.R, 1.0 / np.sqrt(3.0)
    worst = 0.0
    for _ in range(40):
        origin = rng.uniform(1e12, 2e12, 1)
        model.gaussians.mean[:, 0] = origin[0] * R[0, 0] * scale + 1.0
        X = origin + rng.integers(-500, 500, size=(40, 1)) / 512.0
        worst = max(worst, excess(model, X, origin).max())
    assert 0.25 < worst <= 1.0


def test_bounds_are_not_finite_where_numbers_overflow() -> None:
    # Finite, but where the terms of double-precision scores are limited.
    model = make_model(2, 2)
    values, bounds = evaluated(model, np.full((1, 2), 1e150), np.zeros(2))
    assert np.isfinite(values).all()
    assert_array_equal(bounds, np.inf)
    model.gaussians.precision[:] = 1e300
    _, bounds = evaluated(model, np.full((1, 2), 1e140), np.zeros(2))
    assert_array_equal(bounds, np.inf)
    model.gaussians.mean[:] = 1e150
    _, bounds = evaluated(model, np.ones((1, 2)), np.zeros(2))
    assert_array_equal(bounds, np.inf)


@pytest.mark.parametrize("M", [1, 2, 3])
def test_where_nothing_is_a_number_labels_are_those_of_the_exact_pass(M: int) -> None:
    model = make_model(2, M)
    model.gaussians.precision[:] = 1e300
    X = np.array([[1e150, -1e150], [1e140, 1.0], [0.0, 0.0]])
    for first in range(M + 1):
        model.classes.eligible[:] = np.arange(M) >= first
        expected = predicted(model, X, "exact")
        assert_array_equal(predicted(model, X, "forms"), expected)
        assert (expected == (first if first < M else -1)).all()


def test_a_tie_is_decided_by_the_double_precision_scores() -> None:
    # Equal classes tie in every row: the first of them wins.
    model = make_model(2, 3)
    X = np.random.default_rng(0).normal(size=(40, 2))
    assert_array_equal(predicted(model, X, "forms"), 0)
    model.classes.eligible[:] = [False, True, True]
    assert_array_equal(predicted(model, X, "forms"), 1)
    model.classes.eligible[:] = False
    assert_array_equal(predicted(model, X, "forms"), -1)


def test_mini_batches_take_any_path() -> None:
    stream = well_behaved(9, 200)
    found = []
    paths: list[Path | None] = ["exact", "screened", "forms", None]
    for path in paths:
        model = make_model(6, 3)
        labels = np.empty(200, np.int64)
        X, y = stream.X, stream.y
        run_batches(model, X, y, WEIGHT, LEARN_MISTAKES, 25, labels, path)
        found.append((model, labels))
    for model, labels in found[1:]:
        assert_array_equal(labels, found[0][1])
        assert_same_state(model, found[0][0])


def test_what_does_not_fit_is_refused() -> None:
    model = make_model(2, 3)
    with pytest.raises(ValueError, match="X is not of shape"):
        Forms(model, np.zeros(3))
    forms = Forms(model, np.zeros(2))
    with pytest.raises(ValueError, match="X is not of shape"):
        forms.classify(np.zeros((4, 3)), np.empty(4, np.int64))
    with pytest.raises(ValueError, match="labels is not of shape"):
        forms.classify(np.zeros((4, 2)), np.empty(3, np.int64))
    model.rule = "vote"
    with pytest.raises(ValueError, match="the rule is not log_sum"):
        Forms(model, np.zeros(2))
