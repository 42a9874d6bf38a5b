"""Projection matrices: the distribution of their entries."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from oracles import projection as plain
from rpnb._core import projection as kernels
from rpnb._core.projection import max_column_norm, project, project_singles
from rpnb.core.projection.matrices import (
    MATRIX_DISTRIBUTIONS,
    Distribution,
    MatrixDistribution,
    down_space_dimension,
    draw_matrix,
)
from strategies import Stream, matrix_distributions, streams


def entries(distribution: Distribution) -> np.ndarray:
    return draw_matrix(distribution, 5, np.arange(40, dtype=np.uint64), 50, 10).ravel()


@pytest.mark.parametrize(
    ("p", "q"), [(1, 1), (2, 2), (3, 3), (4, 4), (5, 4), (7, 5), (16, 8), (617, 18)]
)
def test_the_down_space_is_twice_the_logarithm_and_p_below_five(p: int, q: int) -> None:
    assert down_space_dimension(p) == q


@pytest.mark.parametrize("distribution", MATRIX_DISTRIBUTIONS)
def test_every_distribution_has_mean_zero_and_variance_one(
    distribution: Distribution,
) -> None:
    r = entries(distribution).astype(np.float64)
    assert abs(r.mean()) < 4 / np.sqrt(r.size)
    # The variance of r² is 2, 0 and 2 for the three distributions.
    assert abs((r**2).mean() - 1.0) < 4 * np.sqrt(2 / r.size)


def test_gaussian_entries_are_normally_distributed() -> None:
    assert stats.kstest(entries("gaussian"), "norm").pvalue > 0.01
    # The negative control: the nearest other distribution of the three fails the test.
    assert stats.kstest(entries("bernoulli"), "norm").pvalue < 1e-6


def test_bernoulli_entries_are_plus_and_minus_one_equally_often() -> None:
    r = entries("bernoulli")
    assert set(np.unique(r)) == {-1.0, 1.0}
    assert stats.binomtest(int((r > 0).sum()), r.size).pvalue > 0.01


def test_achlioptas_entries_have_the_support_and_the_probabilities() -> None:
    r = entries("achlioptas")
    values, counts = np.unique(r, return_counts=True)
    root = np.float32(np.sqrt(3.0))
    assert_array_equal(values, np.array([-root, 0.0, root], np.float32))
    expected = r.size * np.array([1 / 6, 2 / 3, 1 / 6])
    assert stats.chisquare(counts, expected).pvalue > 0.01
    # The negative control: thirds would not pass.
    thirds = np.full(3, r.size / 3)
    assert stats.chisquare(counts, thirds).pvalue < 1e-6


@pytest.mark.parametrize("distribution", MATRIX_DISTRIBUTIONS)
def test_columns_are_uncorrelated_across_members_and_features(
    distribution: Distribution,
) -> None:
    R = draw_matrix(distribution, 5, np.arange(400, dtype=np.uint64), 6, 5).astype(
        np.float64
    )
    off_diagonal = np.asarray(np.corrcoef(R.T))[~np.eye(30, dtype=bool)]
    assert np.abs(off_diagonal).max() < 5 / np.sqrt(400)


@given(matrix_distributions)
def test_a_member_is_the_same_whatever_their_number(distribution: Distribution) -> None:
    features = np.arange(6, dtype=np.uint64)
    few, many = (
        draw_matrix(distribution, 9, features, 3, 4),
        draw_matrix(distribution, 9, features, 8, 4),
    )
    assert_array_equal(few, many[:, :12])


@given(matrix_distributions)
def test_a_feature_added_later_changes_no_other_row(distribution: Distribution) -> None:
    early = draw_matrix(distribution, 9, np.array([3, 11], np.uint64), 3, 4)
    late = draw_matrix(distribution, 9, np.array([11, 8, 3], np.uint64), 3, 4)
    assert_array_equal(early, late[[2, 0]])


@given(streams(max_n=14, max_p=11))
def test_projection_is_equation_two(stream: Stream) -> None:
    n, p = stream.X.shape
    R = draw_matrix("gaussian", 1, np.arange(p, dtype=np.uint64), 4, 3)
    Z = np.empty((n, 12))
    project(stream.X, np.arange(n), 0.5, R, Z)
    expected = 0.5 * stream.X @ R.astype(np.float64)
    size = 0.5 * np.abs(stream.X) @ np.abs(R).astype(np.float64)
    assert (np.abs(Z - expected) <= 1e-15 * (p + 2) * size).all()


@given(streams(max_n=14, max_p=11))
def test_a_projected_row_has_the_same_bits_whatever_the_other_rows(
    stream: Stream,
) -> None:
    n, p = stream.X.shape
    R = draw_matrix("achlioptas", 1, np.arange(p, dtype=np.uint64), 4, 3)
    together, alone = np.empty((n, 12)), np.empty((1, 12))
    order = np.arange(n)[::-1].copy()
    project(stream.X, order, 0.3, R, together)
    for b, i in enumerate(order):
        project(stream.X, np.array([i]), 0.3, R, alone)
        assert_array_equal(alone[0], together[b])


@pytest.mark.parametrize("F", [15, 16, 31, 48, 4000])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_tiles_of_columns_and_blocks_of_features_change_no_bit(F: int, n: int) -> None:
    # Of 4000 columns, 16 features are taken together; 37 are more than twice as many.
    rng = np.random.default_rng(F)
    X = rng.normal(size=(n, 37))
    R = rng.normal(size=(37, F)).astype(np.float32)
    Z = np.full((n, F), np.nan)
    project(X, np.arange(n), 0.5, R, Z)
    # Three columns fill no tile. All places of the widest tile are looked at.
    three = np.empty((n, 3))
    for f in [*range(0, min(F, 66) - 2, 3), F // 2 - 1, F - 3]:
        project(X, np.arange(n), 0.5, R[:, f : f + 3].copy(), three)
        assert_array_equal(three, Z[:, f : f + 3])


@given(streams(max_n=9, max_p=11))
def test_single_precision_projections_are_as_precise_as_bounds_assume(
    stream: Stream,
) -> None:
    n, p = stream.X.shape
    R = draw_matrix("gaussian", 1, np.arange(p, dtype=np.uint64), 7, 3)
    X = np.zeros((-(-n // 4) * 4, p), np.float32)
    X[:n] = np.clip(stream.X, -1e15, 1e15)
    Z = np.full((X.shape[0], 21), np.nan, np.float32)
    project_singles(X, R, Z)
    expected = X.astype(np.float64) @ R.astype(np.float64)
    size = np.abs(X).astype(np.float64) @ np.abs(R).astype(np.float64)
    assert (np.abs(Z - expected) <= (p + 1) * 2.0**-24 * size + p * 2.0**-149).all()


def test_zeros_change_no_bit_so_that_sparse_rows_equal_dense_ones() -> None:
    x = np.array([[0.0, 1.5, 0.0, 0.0, -2.25, 0.0, 3.125]])
    kept = np.flatnonzero(x[0])
    features = np.arange(7, dtype=np.uint64)
    R = draw_matrix("gaussian", 2, features, 5, 4)
    whole, part = np.empty((1, 20)), np.empty((1, 20))
    project(x, np.zeros(1, np.int64), 0.5, R, whole)
    project(x[:, kept].copy(), np.zeros(1, np.int64), 0.5, R[kept], part)
    assert_array_equal(whole, part)


def test_rows_that_are_projected_already_are_copied() -> None:
    Z = np.random.default_rng(0).normal(size=(5, 6))
    out = np.empty((2, 6))
    project(Z, np.array([3, 1]), 0.5, np.empty((0, 6), np.float32), out)
    assert_array_equal(out, Z[[3, 1]])


def test_rows_that_depend_on_their_number_cannot_be_drawn_alone() -> None:
    distributions: tuple[Distribution, ...] = ("very_sparse", "hadamard")
    for distribution in distributions:
        with pytest.raises(
            ValueError, match=f"a '{distribution}' projection depend on how many"
        ):
            draw_matrix(distribution, 0, np.arange(3, dtype=np.uint64), 2, 2)


def test_distances_survive_on_average() -> None:
    # E|z|² = |x|² for every distribution: the scale 1/√q is the right one.
    p, q = 30, 6
    x = np.random.default_rng(1).normal(size=(1, p))
    for distribution in MATRIX_DISTRIBUTIONS:
        R = draw_matrix(distribution, 3, np.arange(p, dtype=np.uint64), 200, q)
        Z = np.empty((1, 200 * q))
        project(x, np.zeros(1, np.int64), 1 / np.sqrt(q), R, Z)
        assert_allclose((Z**2).sum() / 200, (x**2).sum(), rtol=0.15)


@pytest.mark.parametrize("distribution", MATRIX_DISTRIBUTIONS)
@given(
    st.integers(0, 2**64 - 1),
    st.lists(st.integers(0, 2**64 - 1), max_size=5),
    st.integers(1, 9),
    st.integers(1, 40),
)
def test_numpy_draws_the_same_numbers_to_the_bit(
    distribution: MatrixDistribution, seed: int, features: list[int], K: int, q: int
) -> None:
    numbers = np.array(features, np.uint64)
    drawn = draw_matrix(distribution, seed, numbers, K, q)
    expected = plain.draw_matrix(distribution, seed, numbers, K, q)
    assert drawn.dtype == expected.dtype == np.float32
    assert_array_equal(drawn, expected)


@given(st.integers(0, 30), st.integers(1, 30))
def test_the_largest_norm_is_that_of_the_longest_column(p: int, F: int) -> None:
    R = np.random.default_rng(p + 100 * F).normal(size=(p, F)).astype(np.float32)
    expected = np.linalg.norm(R.astype(np.float64), axis=0).max()
    assert_allclose(max_column_norm(R), expected, rtol=1e-15)


def test_arrays_that_do_not_fit_are_refused() -> None:
    X, R = np.zeros((3, 4)), np.zeros((4, 6), np.float32)
    Z = np.zeros((3, 6))
    rows = np.arange(3)
    features = np.arange(4, dtype=np.uint64)
    calls: tuple[Callable[[], None], ...] = (
        lambda: project(X[:, :3].copy(), rows, 1.0, R, Z),
        lambda: project(X, rows, 1.0, R[:0], Z),
        lambda: project(X, rows, 1.0, R, Z[:, :5].copy()),
        lambda: project(X, rows, 1.0, R, Z[:2]),
        lambda: project(X, np.array([0, 3]), 1.0, R, Z),
        lambda: project(X, np.array([-1]), 1.0, R, Z),
        lambda: kernels.draw_matrix("gaussian", 0, features, 4, R),
        lambda: kernels.draw_matrix("gaussian", 0, features, 0, R),
        lambda: kernels.draw_matrix("gaussian", 0, features[:3], 3, R),
        lambda: kernels.draw_matrix("hadamard", 0, features, 3, R),
    )
    for refused in calls:
        with pytest.raises(ValueError, match=r"must|no such row|no distribution"):
            refused()
    x, z = np.zeros((4, 4), np.float32), np.zeros((4, 6), np.float32)
    for n, p, k, F in [(3, 4, 3, 6), (4, 3, 4, 6), (4, 4, 0, 6), (4, 4, 4, 5)]:
        with pytest.raises(ValueError, match="must"):
            project_singles(x[:n, :p].copy(), R, z[:k, :F].copy())
