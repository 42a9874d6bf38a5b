"""Projections with few entries: their distribution, drawing and application."""

from math import floor, log, sqrt

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import stats

from oracles.paper import matrices
from rpnb._core.numbers import philox
from rpnb._core.projection import VerySparse, project
from rpnb.core.kernels.arrays import FloatArray, SingleArray
from rpnb.core.kernels.row_blocks import as_rows
from rpnb.core.projection.record import make_projection
from strategies import Stream, streams


def numbers(p: int) -> np.ndarray:
    return np.arange(p, dtype=np.uint64)


def dense(p: int, F: int, seed: int = 0) -> FloatArray:
    projection = make_projection("very_sparse", seed, numbers(p), 1, F)
    return matrices(projection)[0]


def plain_row(seed: int, feature: int, F: int, s: float) -> list[int]:
    """Draw entries by the textbook's geometric distribution, one by one."""
    entries: list[int] = []
    f = t = 0
    while True:
        counter = np.array(
            [[t // 4], [0], [feature & 0xFFFFFFFF], [feature >> 32]], np.uint64
        )
        philox(counter, seed)
        word = int(counter[t % 4, 0])
        u = (word // 2 + 0.5) / 2**31
        f += floor(log(u) / log(1.0 - 1.0 / s)) if s > 1.0 else 0
        if f >= F:
            return entries
        entries.append(f if word % 2 == 0 else -1 - f)
        f += 1
        t += 1


@given(st.integers(0, 2**64 - 1), st.integers(1, 40), st.integers(1, 60))
@example(1, 400, 120)  # some rows take more leaps than are made at once
def test_rows_are_drawn_by_geometric_numbers_of_zeros(
    seed: int, p: int, F: int
) -> None:
    features = numbers(p) + np.uint64(2**32 - 3)
    drawn = VerySparse.draw(seed, features, F)
    for i in range(p):
        found = drawn.entries[drawn.starts[i] : drawn.starts[i + 1]].tolist()
        assert found == plain_row(seed, int(features[i]), F, sqrt(p))
    assert drawn.starts[-1] == drawn.entries.shape[0]
    assert drawn.size == np.float32(p**0.25)


def test_entries_have_the_support_and_the_probabilities() -> None:
    p, F = 400, 1000
    R = dense(p, F)
    values, counts = np.unique(R, return_counts=True)
    root = float(np.float32(np.sqrt(20.0)))
    assert_array_equal(values, [-root, 0.0, root])
    expected = R.size * np.array([1 / 40, 1 - 1 / 20, 1 / 40])
    assert stats.chisquare(counts, expected).pvalue > 0.01
    # The negative control: a tenth more entries would not pass.
    tenth = R.size * np.array([1.1 / 40, 1 - 1.1 / 20, 1.1 / 40])
    assert stats.chisquare(counts, tenth).pvalue < 1e-6
    # All columns alike: none is favoured by the leaps.
    per_column = (R != 0).sum(axis=0)
    assert stats.chisquare(per_column).pvalue > 0.01
    assert abs((R**2).mean() - 1.0) < 4 * np.sqrt(19 / R.size)


def test_columns_are_uncorrelated() -> None:
    R = dense(900, 30)
    off_diagonal = np.asarray(np.corrcoef(R.T))[~np.eye(30, dtype=bool)]
    assert np.abs(off_diagonal).max() < 5 / np.sqrt(900)


def test_of_one_feature_no_entry_is_zero() -> None:
    assert_array_equal(np.abs(dense(1, 50)), 1.0)


@given(st.integers(1, 30), st.integers(1, 80), st.integers(1, 80))
def test_a_column_is_the_same_whatever_their_number(p: int, few: int, F: int) -> None:
    few = min(few, F)
    assert_array_equal(dense(p, few, seed=9), dense(p, F, seed=9)[:, :few])


def test_capacity_grows_if_more_entries_are_drawn_than_expected() -> None:
    # 25 features of 1000 columns: 5000 entries are expected, and one row more fits.
    for seed in range(6):
        drawn = VerySparse.draw(seed, numbers(25), 1000)
        assert drawn.entries.shape[0] == drawn.starts[-1]
        assert (np.diff(drawn.starts) > 100).all()


@given(streams(max_n=6, max_p=30), st.integers(1, 40))
def test_it_projects_as_the_matrix_with_all_its_zeros(stream: Stream, F: int) -> None:
    n, p = stream.X.shape
    drawn = VerySparse.draw(4, numbers(p), F)
    R: SingleArray = dense(p, F, seed=4).astype(np.float32)
    X = stream.X * (np.random.default_rng(p).random((n, p)) < 0.6)
    expected, found = np.empty((n, F)), np.full((n, F), np.nan)
    project(X, np.arange(n), 0.3, R, expected)
    drawn.project(as_rows(X), 0.3, found)
    assert_array_equal(found, expected)


def test_memory_grows_with_the_root_of_the_number_of_features() -> None:
    few, many = (VerySparse.draw(0, numbers(p), 600) for p in (64, 4096))
    ratio = many.entries.nbytes / few.entries.nbytes
    assert ratio == pytest.approx(8.0, rel=0.06)
