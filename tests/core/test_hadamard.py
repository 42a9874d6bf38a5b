"""Projections by Walsh-Hadamard transforms: their law and their arithmetic."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import stats

from rpnb.core.arrays import FloatArray
from rpnb.core.hadamard import Hadamard, draw_hadamard, project_hadamard
from rpnb.core.model import make_projection
from rpnb.core.oracle import matrices
from rpnb.core.rows import as_rows
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


def plain(X: FloatArray, scale: float, hadamard: Hadamard) -> FloatArray:
    T, p = hadamard.signs.shape
    out = []
    for x in X:
        columns: list[float] = []
        for t in range(T):
            padded = np.zeros(hadamard.order)
            padded[:p] = x * scale * hadamard.signs[t]
            columns += butterflies(padded).tolist()
        at = np.arange(hadamard.columns.shape[0]) // hadamard.order * hadamard.order
        out.append(np.array(columns)[at + hadamard.columns])
    return np.array(out)


@pytest.mark.parametrize("order", [1, 2, 4, 8, 32])
def test_the_textbooks_transform_is_the_hadamard_matrix(order: int) -> None:
    x = np.random.default_rng(order).integers(-9, 9, order).astype(np.float64)
    assert_array_equal(butterflies(x), scipy.linalg.hadamard(order) @ x)


@given(streams(max_n=5, max_p=70), st.integers(1, 90))
def test_it_makes_the_textbooks_additions_to_the_bit(stream: Stream, F: int) -> None:
    n, p = stream.X.shape
    hadamard = draw_hadamard(3, numbers(p), F)
    Z = np.full((n, F), np.nan)
    project_hadamard(as_rows(stream.X), 0.3, hadamard, Z)
    assert_array_equal(Z, plain(stream.X, 0.3, hadamard))


@given(streams(max_n=5, max_p=20), st.integers(1, 90))
def test_it_projects_as_its_matrix(stream: Stream, F: int) -> None:
    n, p = stream.X.shape
    hadamard = draw_hadamard(3, numbers(p), F)
    Z = np.empty((n, F))
    project_hadamard(as_rows(stream.X), 0.5, hadamard, Z)
    expected = 0.5 * stream.X @ dense(p, F, seed=3)
    size = 0.5 * np.abs(stream.X).sum(axis=1, keepdims=True)
    assert (np.abs(Z - expected) <= 1e-15 * (p + 2) * size).all()


def test_zeros_come_out_positive_whatever_their_sign() -> None:
    Z = np.empty((2, 40))
    hadamard = draw_hadamard(1, numbers(5), 40)
    project_hadamard(as_rows(np.array([[0.0] * 5, [-0.0] * 5])), 0.5, hadamard, Z)
    assert Z.tobytes() == np.zeros((2, 40)).tobytes()


def test_signs_are_even_and_independent_between_transforms() -> None:
    hadamard = draw_hadamard(5, numbers(60), 64 * 50)
    assert hadamard.signs.shape == (50, 60)
    assert set(np.unique(hadamard.signs)) == {-1.0, 1.0}
    positive = int((hadamard.signs > 0).sum())
    assert stats.binomtest(positive, hadamard.signs.size).pvalue > 0.01
    off_diagonal = np.asarray(np.corrcoef(hadamard.signs))[~np.eye(50, dtype=bool)]
    assert np.abs(off_diagonal).max() < 5 / np.sqrt(60)


def test_every_transform_gives_all_its_columns_in_an_order_of_its_own() -> None:
    hadamard = draw_hadamard(5, numbers(60), 64 * 3 + 10)
    orders = hadamard.columns[: 64 * 3].reshape(3, 64)
    for order in orders:
        assert_array_equal(np.sort(order), np.arange(64))
    assert (orders[0] == orders[1]).mean() < 0.2
    assert (orders[0] == np.arange(64)).mean() < 0.2
    last = hadamard.columns[64 * 3 :]
    assert np.unique(last).shape == (10,)
    # Of a part of a transform, columns come from everywhere, not from its beginning.
    assert last.max() > 32


def test_columns_of_one_transform_are_orthogonal() -> None:
    R = dense(64, 100)
    first = R[:, :64]
    assert_array_equal(first.T @ first, 64.0 * np.eye(64))
    # The negative control: those of different transforms are not.
    assert np.abs(R[:, :1].T @ R[:, 64:]).max() > 0.0


@given(st.integers(1, 40), st.integers(1, 90), st.integers(1, 90))
def test_a_column_is_the_same_whatever_their_number(p: int, few: int, F: int) -> None:
    few = min(few, F)
    assert_array_equal(dense(p, few, seed=9), dense(p, F, seed=9)[:, :few])
