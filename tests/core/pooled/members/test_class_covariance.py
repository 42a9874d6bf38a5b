"""Class covariances, against their oracle and NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from core.pooled.members.test_members import (
    part,
    rows_of,
    scores_along,
    shape_of,
    stream,
)
from oracles.pooled.members.covariances import ClassCovariances
from rpnb._core.pooled import Shape
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.pooled.features import low_columns
from rpnb.core.pooled.member import copy_state
from rpnb.core.pooled.members import class_covariance as member


@pytest.mark.parametrize("p", [1, 4, 18, 40])
def test_the_class_covariance_equals_its_oracle(p: int) -> None:
    rows, y, weight = stream(150, p)
    oracle = ClassCovariances(3, low_columns(p))
    expected = []
    for x, label, w in zip(rows.low, y, weight, strict=True):
        wide = x.astype(np.float64)
        expected.append(oracle.score(wide))
        oracle.learn(wide, label, w)
    scores = scores_along(member, rows, y, weight, 3)
    assert_allclose(scores, expected, rtol=1e-7, atol=1e-7)


def whole(triangles: FloatArray, d: int) -> FloatArray:
    """Return symmetric matrices (…, d, d), given their lower triangles (…, P)."""
    rows, columns = np.tril_indices(d)
    matrices = np.zeros((*triangles.shape[:-1], d, d))
    matrices[..., rows, columns] = triangles
    matrices[..., columns, rows] = triangles
    return matrices


def inverses(state: member.ClassCovariance) -> FloatArray:
    """Return Λ⁻¹ (M, d, d) of all classes."""
    M, d = len(state.active), state.mean.shape[1]
    return whole(member.by_class(state.inverse, M), d)


def begin(d: int, M: int) -> member.ClassCovariance:
    shape = Shape(d, d, 16, 16, 16, 8, 0)
    return member.begin(shape, np.ones(M, np.bool_), 5)


@pytest.mark.parametrize("d", [1, 3, 4, 5, 8, 19])
@pytest.mark.parametrize("M", [1, 4, 11])
def test_inverses_and_determinants_are_numpys(d: int, M: int) -> None:
    state = begin(d, M)
    rng = np.random.default_rng(d)
    roots = rng.normal(size=(M, d, 2 * d))
    scatters = roots @ roots.transpose(0, 2, 1)
    state.class_weight[:] = rng.integers(1, 9, M)
    without_rows = np.arange(M) % 4 == 2
    scatters[without_rows] = 0.0
    state.class_weight[without_rows] = 0.0
    state.scatter[:] = scatters[:, *np.tril_indices(d)]
    state.refresh()
    n = state.class_weight
    pooled = (scatters.sum(axis=0) + d * np.eye(d)) / (np.maximum(n - 1, 0).sum() + d)
    prior = (2 * d + 1) * pooled
    assert_allclose(whole(state.prior, d), prior, rtol=1e-12)
    assert_allclose(whole(state.prior_inverse, d), np.linalg.inv(prior), atol=1e-9)
    assert_allclose(inverses(state), np.linalg.inv(prior + scatters), atol=1e-9)
    volumes = np.linalg.slogdet(prior + scatters)[1]
    assert_allclose(state.log_volume, volumes, rtol=1e-9)


@pytest.mark.parametrize("d", [1, 3, 8, 10])
def test_a_row_updates_inverse_and_determinant(d: int) -> None:
    state = begin(d, 6)
    rng = np.random.default_rng(d)
    y, weight = rng.integers(0, 5, 60), rng.choice([1.0, 2.5], 60)
    rows = rows_of(rng.normal(size=(60, d)))
    member.learn_rows(state, rows, y, weight, np.zeros((60, 1, 6)))
    assert state.seen[0] < state.next[0] - 1  # nothing was computed from scratch
    precision = whole(state.prior, d) + whole(state.scatter, d)
    assert_allclose(inverses(state), np.linalg.inv(precision), rtol=1e-7, atol=1e-12)
    assert_allclose(state.log_volume, np.linalg.slogdet(precision)[1], rtol=1e-9)
    for c in range(5):
        x, w = rows.low[y == c].astype(np.float64), weight[y == c]
        mean = np.average(x, axis=0, weights=w)
        assert_allclose(member.by_class(state.mean, 6)[c], mean, rtol=1e-9)
        scatter = ((x - mean).T * w) @ (x - mean)
        assert_allclose(whole(state.scatter[c], d), scatter, rtol=1e-9, atol=1e-12)


def test_an_inverse_that_is_no_longer_positive_is_recomputed() -> None:
    rows, y, weight = stream(25)
    state = begin(4, 3)
    nothing = np.zeros((0, 1, 3))
    member.learn_rows(state, part(rows, slice(24)), y[:24], weight[:24], nothing)
    spoilt = copy_state(state)
    spoilt.inverse[:] *= -1e3
    for each in (state, spoilt):
        last = part(rows, slice(24, 25))
        member.learn_rows(each, last, y[24:], weight[24:], np.zeros((1, 1, 3)))
    assert_allclose(spoilt.inverse, state.inverse, rtol=0.3, atol=0.1)
    assert np.isfinite(spoilt.log_volume).all()


@pytest.mark.parametrize("size", [1e17, 1e100])
def test_the_inverse_of_a_matrix_that_rounding_made_singular_is_finite(
    size: float,
) -> None:
    state = begin(3, 2)
    state.class_weight[:] = [2.0, 0.0]
    state.scatter[0] = size  # one row of huge weight: nothing is left of the prior
    assert np.linalg.matrix_rank(np.eye(3) + size) == 1
    state.refresh()
    for array in state:
        assert np.isfinite(array).all()
    assert (np.diagonal(inverses(state), axis1=1, axis2=2) >= 0.0).all()


def test_of_many_classes_the_most_promising_are_scored() -> None:
    M, n = 90, 900
    rng = np.random.default_rng(0)
    y = rng.integers(0, M, n)
    rows = rows_of(rng.normal(size=(n, 4)) + 6.0 * rng.normal(size=(M, 4))[y])
    oracle = ClassCovariances(M, 4)
    expected = []
    for x, label in zip(rows.low, y, strict=True):
        wide = x.astype(np.float64)
        expected.append(oracle.score(wide))
        oracle.learn(wide, label, 1.0)
    scores = scores_along(member, rows, y, np.ones(n), M)
    full = np.array(expected)
    kept = np.isclose(scores, full, rtol=1e-6)
    assert (kept.sum(axis=1) >= member.SCORED).all()
    assert (scores.min(axis=1) >= full.min(axis=1) - 1e-6).all()
    same = scores.argmax(axis=1) == full.argmax(axis=1)
    assert np.mean(same[300:]) > 0.98


def test_of_many_classes_one_that_is_not_active_is_passed_over() -> None:
    rows, y, weight = stream(12, M=70)
    without = scores_along(member, rows, y, weight, 70)
    active = np.ones(71, np.bool_)
    active[40] = False
    state = member.begin(shape_of(4), active, 5)
    scores = np.zeros((12, 1, 71))
    member.learn_rows(state, rows, y + (y >= 40), weight, scores)
    assert_array_equal(np.delete(scores[:, 0], 40, axis=1), without)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_overflowed_do_no_harm_beyond_scores(value: float) -> None:
    state = begin(2, 70)
    state.spread[::2] = value
    scores = np.zeros((1, 1, 70))
    member.score_rows(state, rows_of(np.zeros((1, 2))), scores)
    assert scores.shape == (1, 1, 70)


def test_arrays_that_do_not_fit_are_refused() -> None:
    state = begin(4, 5)
    with pytest.raises(ValueError, match="length 1, not 2"):
        state._replace(mean=state.mean[:1], inverse=state.inverse[:1])
    with pytest.raises(ValueError, match="length 9, not 10"):
        state._replace(
            scatter=state.scatter[:, :9].copy(),
            inverse=state.inverse[:, :9].copy(),
            prior=state.prior[:9],
            prior_inverse=state.prior[:9],
        )
    for c in (-1, 5):
        with pytest.raises(ValueError, match="no such class"):
            state.begin_classes(np.array([c]))
    with pytest.raises(ValueError, match="a row of low is of length 3, not 4"):
        member.score_rows(state, rows_of(np.zeros((1, 3))), np.zeros((1, 1, 5)))
