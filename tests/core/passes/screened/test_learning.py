"""Learning into moments and single-precision densities: same bits as the two steps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from core.passes.screened.test_scores import single_precision
from rpnb._core.passes import (
    PANEL,
    error_bound,
    learn_into_singles,
    quick_error_bound,
    refresh_single_densities,
    score_centred,
)
from rpnb.core.bayes.model import copy_model
from rpnb.core.bayes.statistics import LEARN_MISTAKES, Prior, learn_density, refresh
from rpnb.core.passes.engine import run, scores
from strategies import Stream, assert_same_state, exact_labels, make_model, streams

columns = st.sampled_from([1, 3, 4, 7, 8, 12, 13, 40, PANEL + 13])


@given(
    st.lists(st.integers(0, 1), min_size=1, max_size=12), columns, st.floats(0.1, 9.0)
)
def test_moments_and_single_densities_are_those_of_the_two_steps(
    labels: list[int], F: int, weight: float
) -> None:
    one = make_model(2, 2, K=F, q=1)
    two = copy_model(one)
    rows, origin = np.zeros((4, 2)), np.array([3.0, -1.0])
    expected = single_precision(one, rows, origin)[0]
    updated = single_precision(two, rows, origin)[0]
    rng = np.random.default_rng(F)
    for y in labels:
        z = rng.normal(size=F) * 3.0
        learn_density(one.gaussians, y, one.moments, one.prior, z, weight)
        refresh_single_densities(expected, y, one.gaussians)
        gaussians = two.gaussians.precision.copy()
        assert learn_into_singles(updated, two, y, z, weight)
        assert_array_equal(two.gaussians.precision, gaussians)
        refresh(two.gaussians, y, two.moments, two.prior)
        for a, b in zip(
            (*one.moments, *one.gaussians), (*two.moments, *two.gaussians), strict=True
        ):
            assert_array_equal(a, b)
        assert_allclose(updated.square[y], expected.square[y], rtol=1e-6)
        size = np.abs(expected.linear[y]).max()
        assert_allclose(
            updated.linear[y], expected.linear[y], rtol=1e-6, atol=1e-6 * size
        )
        for found, true in (
            (updated.mean_norm[y], expected.mean_norm[y]),
            (updated.precision_norm[y], expected.precision_norm[y]),
        ):
            assert true <= found <= 1.01 * true


@given(streams(max_n=24), st.sampled_from([2, 30, 1 + PANEL // 3]))
def test_a_score_is_within_its_bound_after_learning(stream: Stream, K: int) -> None:
    model = make_model(stream.X.shape[1], stream.M, K=K)
    densities, Z, projection_error, row_norm = single_precision(
        model, stream.X, stream.X.mean(axis=0)
    )
    R = model.projection.R.astype(np.float64) / np.sqrt(model.projection.q)
    good = np.ones(model.M, np.bool_)
    for x, y in zip(stream.X, stream.y, strict=True):
        with np.errstate(all="ignore"):
            good[y] = learn_into_singles(densities, model, y, x @ R, 1.0)
    for m in range(model.M):
        refresh(model.gaussians, m, model.moments, model.prior)
    found = np.empty((Z.shape[0], model.M))
    with np.errstate(all="ignore"):
        score_centred(Z, densities, found)
        exact = scores(model, stream.X)
        for b in range(stream.X.shape[0]):
            for m in np.flatnonzero(good).tolist():
                facts = (
                    model.gaussians,
                    densities,
                    m,
                    0.0,
                    projection_error[b],
                    row_norm[b],
                )
                error = abs(found[b, m] - exact[b, m])
                # A bound that is NaN holds for any error.
                assert not error > error_bound(found[b, m], *facts)
                assert not error > quick_error_bound(found[b, m], *facts)


@pytest.mark.parametrize(
    ("variance", "good"),
    [(1e-300, False), (1e-37, False), (1e-30, True), (1e30, True), (1e37, False)],
)
@pytest.mark.parametrize("F", [3, 8, 11])
def test_variances_beyond_single_precision_are_noticed(
    variance: float, good: bool, F: int
) -> None:
    model = make_model(2, 1, K=F, q=1, prior=Prior(0.0, variance, 1e9, 1e-300))
    densities = single_precision(model, np.zeros((4, 2)), np.zeros(2))[0]
    with np.errstate(all="ignore"):
        found = learn_into_singles(densities, model, 0, np.zeros(F), 1.0)
    assert found == good


@pytest.mark.parametrize("size", [1e-25, 1e25])
def test_a_stream_beyond_single_precision_has_the_same_labels(size: float) -> None:
    # Variances that start within the range of single precision, and leave it.
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    stream = Stream((rng.normal(size=(200, 2)) + 2.0 * y[:, None]) * size, y, 3)
    one = make_model(2, 3, K=9, prior=Prior(0.0, 1.0, 0.01, 1e-300))
    two = copy_model(one)
    expected = exact_labels(one, stream, LEARN_MISTAKES)
    labels = np.empty(200, np.int64)
    run(two, stream.X, stream.y, np.ones(1), LEARN_MISTAKES, labels, path="screened")
    assert_array_equal(labels, expected)
    assert_same_state(one, two)
