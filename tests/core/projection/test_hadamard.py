"""Projections by Walsh-Hadamard transforms: their distribution and arithmetic."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.sparse import csr_array

from oracles.paper import matrices
from rpnb._core.projection import Hadamard
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.row_blocks import as_rows
from rpnb.core.projection.record import make_projection
from strategies import Stream, streams


def numbers(p: int) -> np.ndarray:
    return np.arange(p, dtype=np.uint64)


def dense(p: int, F: int, seed: int = 0) -> FloatArray:
    return matrices(make_projection("hadamard", seed, numbers(p), 1, F))[0]


def butterflies(x: FloatArray) -> FloatArray:
    """Transform x as the textbook does: pairs at distance 1, 2, 4, …, in place."""
    v = x.copy()
    distance = 1
    while distance < v.shape[0]:
        pairs = v.reshape(-1, 2, distance)
        v = np.stack(
            [pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1
        ).reshape(-1)
        distance *= 2
    return v


def plain(X: FloatArray, scale: float, hadamard: Hadamard, F: int) -> FloatArray:
    T, order = hadamard.weights.shape
    p = hadamard.signs.shape[0]
    out = []
    for x in X:
        padded = np.zeros(order)
        padded[:p] = x * scale * hadamard.signs
        first = butterflies(padded)
        columns = [
            butterflies(hadamard.weights[t] * first[hadamard.places[t]])
            for t in range(T)
        ]
        out.append(np.concatenate(columns)[:F])
    return np.array(out)


@pytest.mark.parametrize("order", [1, 2, 4, 8, 32])
def test_the_textbooks_transform_is_the_hadamard_matrix(order: int) -> None:
    x = np.random.default_rng(order).integers(-9, 9, order).astype(np.float64)
    assert_array_equal(butterflies(x), scipy.linalg.hadamard(order) @ x)


@given(streams(max_n=5, max_p=70), st.integers(1, 90))
def test_it_makes_the_textbooks_additions_to_the_bit(stream: Stream, F: int) -> None:
    n, p = stream.X.shape
    hadamard = Hadamard.draw(3, numbers(p), F)
    Z = np.full((n, F), np.nan)
    hadamard.project(as_rows(stream.X), 0.3, Z)
    assert_array_equal(Z, plain(stream.X, 0.3, hadamard, F))


@given(streams(max_n=5, max_p=20), st.integers(1, 90))
def test_it_projects_as_its_matrix(stream: Stream, F: int) -> None:
    n, p = stream.X.shape
    hadamard = Hadamard.draw(3, numbers(p), F)
    Z = np.empty((n, F))
    hadamard.project(as_rows(stream.X), 0.5, Z)
    expected = 0.5 * stream.X @ dense(p, F, seed=3)
    # Of two transforms, each of which adds up at most 32 numbers.
    size = np.abs(stream.X).sum(axis=1, keepdims=True) * np.sqrt(32.0)
    assert (np.abs(Z - expected) <= 1e-14 * size).all()


def test_a_zero_changes_no_bit_whatever_its_sign() -> None:
    hadamard = Hadamard.draw(1, numbers(5), 40)
    X = np.array([[0.0, 1.5, 0.0, -2.0, 0.0], [-0.0, 1.5, -0.0, -2.0, -0.0]])
    X = np.concatenate([X, np.zeros((1, 5)), -np.zeros((1, 5))])
    Z, of_sparse = np.empty((4, 40)), np.empty((4, 40))
    hadamard.project(as_rows(X), 0.5, Z)
    hadamard.project(as_rows(csr_array(X)), 0.5, of_sparse)
    assert Z.tobytes() == of_sparse.tobytes()
    assert Z[0].tobytes() == Z[1].tobytes()
    assert Z[2].tobytes() == Z[3].tobytes()


def test_entries_are_sums_of_random_signs() -> None:
    R = dense(64, 64 * 400)
    # One entry a block, since those of a block depend on each other.
    entries = R[5, ::64]
    heads = np.round(entries * 8.0 + 64.0).astype(np.int64) // 2
    assert_allclose((2 * heads - 64) / 8.0, entries, atol=1e-12)
    counts = np.bincount(np.clip(heads, 26, 38) - 26, minlength=13)
    distribution = stats.binom(64, 0.5)
    expected = np.array(
        [
            distribution.cdf(26),
            *distribution.pmf(np.arange(27, 38)),
            distribution.sf(37),
        ]
    )
    assert stats.chisquare(counts, counts.sum() * expected).pvalue > 0.01
    # Entries of a column are uncorrelated.
    off_diagonal = np.asarray(np.corrcoef(R[:, ::64]))[~np.eye(64, dtype=bool)]
    assert np.abs(off_diagonal).max() < 5 / np.sqrt(400)


def test_a_block_preserves_all_distances() -> None:
    R = dense(64, 100)
    assert_allclose(R[:, :64] @ R[:, :64].T, 64.0 * np.eye(64), atol=1e-12)
    # The negative control: part of a block does not.
    assert np.abs(R[:, 64:] @ R[:, 64:].T - 36.0 * np.eye(64)).max() > 1.0


def test_a_feature_that_dominates_is_not_seen_alike_by_all_columns() -> None:
    seen = np.abs(dense(100, 128)[7])
    assert seen.min() < 0.2
    assert seen.max() > 1.5


def test_columns_are_hardly_correlated_for_observations_of_every_kind() -> None:
    # Over many seeds: columns f and g of a block, and of two blocks, for an observation
    # of one size throughout, and one with two features that dominate.
    for x in (np.ones(16), np.array([1.0] + [0.01] * 9 + [1.0] + [0.01] * 5)):
        Z = np.array([x @ dense(16, 20, seed) for seed in range(250)])
        correlation = np.corrcoef(Z.T)
        assert np.abs(correlation[~np.eye(20, dtype=bool)]).max() < 5 / np.sqrt(250)
        assert_allclose((Z**2).mean() / (x**2).sum(), 1.0, rtol=0.1)


def test_permutations_and_signs_are_each_blocks_own() -> None:
    hadamard = Hadamard.draw(5, numbers(60), 64 * 3 + 10)
    assert hadamard.places.shape == hadamard.weights.shape == (4, 64)
    for t in range(4):
        assert_array_equal(np.sort(hadamard.places[t]), np.arange(64))
        assert (hadamard.places[t] == hadamard.places[t - 1]).mean() < 0.2
        assert abs(8.0 * (hadamard.weights[t] * hadamard.weights[t - 1]).sum()) < 4.0
    assert_array_equal(np.unique(hadamard.weights), [-0.125, 0.125])
    assert abs(hadamard.weights.mean()) < 4 * 0.125 / np.sqrt(256)
    assert set(np.unique(hadamard.signs)) == {-1.0, 1.0}
    assert abs(hadamard.signs.mean()) < 4 / np.sqrt(60)
    assert abs((hadamard.signs * hadamard.weights[0, :60]).sum()) < 4 * 0.125 * 8


def test_permutations_do_not_follow_the_signs() -> None:
    hadamard = Hadamard.draw(5, numbers(64), 64)
    in_order = hadamard.signs[hadamard.places[0]]
    # Of 63 neighbours, about half have the other sign; sorted by it, one would.
    assert 16 < (in_order[1:] != in_order[:-1]).sum() < 48


@given(st.integers(1, 40), st.integers(1, 90), st.integers(1, 90))
def test_a_column_is_the_same_whatever_their_number(p: int, few: int, F: int) -> None:
    few = min(few, F)
    assert_array_equal(dense(p, few, seed=9), dense(p, F, seed=9)[:, :few])
