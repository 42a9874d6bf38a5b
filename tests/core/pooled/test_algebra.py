"""Products and factors of matrices, and discriminants, against NumPy."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from oracles.pooled.blocks import blank_matrix, place
from oracles.pooled.members import covariances as oracle
from rpnb._core.algebra import (
    add_exact_products,
    add_products,
    add_rows,
    cholesky,
    combine_rows,
    discriminants,
    inner_products,
    multiply_rows,
    pack_row,
    solve,
    subtract_outer,
)
from rpnb.core.kernels.arrays import FloatArray, SingleArray
from rpnb.core.pooled.member import padded


def in_blocks(matrix: FloatArray) -> FloatArray:
    E = matrix.shape[0]
    out = blank_matrix(E)
    for i in range(E):
        for j in range(16 * (i // 16 + 1)):
            out[place(i, j)] = matrix[i, j]
    return out


def from_blocks(blocks: FloatArray, E: int) -> FloatArray:
    lower = np.array([[blocks[place(i, j)] for j in range(i + 1)] + [0.0] * (E - i - 1)
                      for i in range(E)])  # fmt: skip
    return lower + np.tril(lower, -1).T


def positive(E: int, seed: int) -> FloatArray:
    root = np.random.default_rng(seed).normal(size=(E, E))
    return root @ root.T + np.eye(E)


def packed(rows: SingleArray, capacity: int) -> SingleArray:
    kept = np.zeros((rows.shape[1] // 16, capacity, 16), np.float32)
    for r, row in enumerate(rows):
        pack_row(row, kept, r)
    return kept


def test_entries_of_a_matrix_in_blocks_have_their_places() -> None:
    E = 48
    places = {place(i, j) for i in range(E) for j in range(16 * (i // 16 + 1))}
    assert places == set(range(len(blank_matrix(E))))
    assert place(17, 3) == 256 + 16 * 3 + 1
    assert (padded(0), padded(1), padded(16), padded(9, 8)) == (0, 16, 16, 16)


# With 64 columns there is a tile of several vectors, with 8 and 24 one of a single one.
@pytest.mark.parametrize("C", [8, 24, 64])
@pytest.mark.parametrize("E", [16, 48])
def test_factors_and_solutions_are_numpys(E: int, C: int) -> None:
    A = positive(E, 1)
    L = in_blocks(A)
    assert cholesky(L, E)
    expected = np.linalg.cholesky(A)
    ours = np.array([[L[place(i, j)] if j <= i else 0.0 for j in range(E)]
                     for i in range(E)])  # fmt: skip
    assert_allclose(ours, expected, rtol=1e-9, atol=1e-9)
    # In a diagonal block there are zeros above the diagonal.
    assert L[place(3, 4)] == 0.0
    X = np.random.default_rng(2).normal(size=(E, C))
    Y = X.copy()
    solve(L, Y)
    assert_allclose(A @ Y, X, rtol=1e-7, atol=1e-7)
    # A column has the same solution whatever other columns there are.
    alone = np.ascontiguousarray(X[:, -8:])
    solve(L, alone)
    assert_array_equal(alone, Y[:, -8:])


@pytest.mark.parametrize("column", [0, 15, 16, 40])
def test_a_matrix_that_is_not_positive_has_no_factor(column: int) -> None:
    A = positive(48, 2)
    A[column, column] -= 1e4
    assert not cholesky(in_blocks(A), 48)
    A[column, column] = np.nan
    assert not cholesky(in_blocks(A), 48)


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("last", [8, 9])
def test_products_of_rows_are_added(equal: bool, last: int) -> None:
    rng = np.random.default_rng(3)
    rows = (rng.integers(-2047, 2048, size=(9, 48)) / 128).astype(np.float32)
    weight = np.ones(9) if equal else rng.choice([0.5, 2.0], 9)
    kept = packed(rows, 12)
    A = in_blocks(np.eye(48))
    add_rows(A, kept, weight, last)
    wide = rows[:last].astype(np.float64)
    expected = np.eye(48) + (wide.T * weight[:last]) @ wide
    assert_allclose(from_blocks(A, 48), expected, rtol=0 if equal else 1e-5)
    before = A.copy()
    add_products(A, kept, kept, 5, 5)
    add_exact_products(A, kept, 5, 5)
    assert_array_equal(A, before)


def test_products_of_some_of_the_rows_are_added() -> None:
    rng = np.random.default_rng(4)
    rows = (rng.integers(-2047, 2048, size=(9, 16)) / 128).astype(np.float32)
    wide = rows[3:8].astype(np.float64)
    exact, single = in_blocks(np.zeros((16, 16))), in_blocks(np.zeros((16, 16)))
    add_exact_products(exact, packed(rows, 9), 3, 8)
    add_products(single, packed(rows, 9), packed(2 * rows, 9), 3, 8)
    assert_array_equal(from_blocks(exact, 16), wide.T @ wide)
    assert_allclose(from_blocks(single, 16), 2 * wide.T @ wide, rtol=1e-5, atol=1e-3)


def test_weighted_products_of_many_rows_are_added_in_parts() -> None:
    rng = np.random.default_rng(5)
    rows = (rng.integers(-2047, 2048, size=(256, 16)) / 128).astype(np.float32)
    weight = rng.uniform(0.5, 2.0, 256)
    kept, whole, parts = packed(rows, 256), blank_matrix(16), blank_matrix(16)
    add_rows(whole, kept, weight, 256)
    weighted = (kept * weight[:, None]).astype(np.float32)
    for first in (0, 128):
        add_products(parts, kept, weighted, first, first + 128)
    assert_array_equal(whole, parts)


def test_products_of_a_group_of_the_largest_entries_do_not_overflow() -> None:
    rows = np.full((256, 16), 2047 / 128, np.float32)
    rows[:, 1::2] = -2047 / 128
    A = blank_matrix(16)
    add_exact_products(A, packed(rows, 256), 0, 256)
    wide = rows.astype(np.float64)
    assert_array_equal(from_blocks(A, 16), wide.T @ wide)


def test_outer_products_are_subtracted() -> None:
    rng = np.random.default_rng(4)
    left, right = rng.normal(size=(2, 3, 32))
    parts = [
        np.ascontiguousarray(part.reshape(3, 2, 16).swapaxes(0, 1))
        for part in (left, right)
    ]
    A = in_blocks(np.ones((32, 32)))
    subtract_outer(A, *parts)
    full = 1.0 - np.einsum("ci,cj->ij", left, right)
    for i in range(32):
        for j in range(16 * (i // 16 + 1)):
            assert_allclose(A[place(i, j)], full[i, j], atol=1e-12)


# Tiles have 8, 4 or 1 rows, and up to 8 vectors of up to 16 columns.
@given(st.integers(0, 21), st.integers(1, 21))
def test_a_row_is_multiplied_alike_in_any_company(n: int, c: int) -> None:
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(n, 7)).astype(np.float32)
    matrix = rng.normal(size=(7, 8 * c)).astype(np.float32)
    start = rng.normal(size=8 * c).astype(np.float32)
    out = np.empty((n, 8 * c), np.float32)
    multiply_rows(rows, matrix, start, out)
    assert_allclose(out, start + rows @ matrix, rtol=1e-4, atol=1e-5)
    for r in range(n):
        alone = np.empty((1, 8 * c), np.float32)
        multiply_rows(rows[r : r + 1], matrix, start, alone)
        assert alone[0].tobytes() == out[r].tobytes()


@given(st.integers(0, 23), st.integers(0, 23))
def test_inner_products_and_combinations_of_packed_rows(n: int, first: int) -> None:
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(n, 32)).astype(np.float32)
    kept = packed(rows, 24)
    whole = np.full((24, 24), -7.0, np.float32)
    inner_products(kept, 0, n, whole)
    wide = rows.astype(np.float64)
    lower = np.tril_indices(n)
    assert_allclose(whole[lower], (wide @ wide.T)[lower], atol=1e-4)
    whole[lower] = -7.0
    assert (whole == -7.0).all()  # nothing else is written
    inner_products(kept, 0, n, whole)
    later = np.full((24, 24), -7.0, np.float32)
    inner_products(kept, 0, min(first, n), later)
    inner_products(kept, min(first, n), n, later)
    assert_array_equal(later, whole)
    for C in (8, 24):
        factors = rng.normal(size=(n, C))
        out = np.empty((C, 32))
        combine_rows(kept, factors, out)
        assert_allclose(out, factors.T @ wide, rtol=1e-9, atol=1e-12)


def test_discriminants_equal_their_oracle() -> None:
    rng = np.random.default_rng(6)
    y = rng.integers(0, 10, 300)
    rows = rng.normal(size=(300, 32)) + rng.normal(size=(10, 32))[y]
    rows[:, 30:] = 0.0  # padding
    count = np.bincount(y, minlength=11).astype(np.float64)  # a class without rows
    B = np.array([rows[y == c].sum(axis=0) for c in range(11)])
    A = rows.T @ rows
    V, offset = np.zeros((32, 16), np.float32), np.zeros(16, np.float32)
    discriminants(count, B, in_blocks(A), 30, V, offset)
    expected, constants = oracle.discriminants(count, B[:, :30], A[:30, :30])
    assert_allclose(V[:30, :11], expected, rtol=1e-4, atol=1e-5)
    assert_allclose(offset[:11], constants, rtol=1e-4, atol=1e-5)
    assert (V[:, 10:] == 0.0).all()
    assert (V[30:] == 0.0).all()
    assert (offset[10:] == 0.0).all()


def test_sums_that_rounding_has_spoilt_get_more_ridge() -> None:
    count, B = np.array([4.0]), np.zeros((1, 16))
    A = in_blocks(-3.0 * np.eye(16))
    V, offset = np.zeros((16, 8), np.float32), np.zeros(8, np.float32)
    discriminants(count, B, A, 16, V, offset)
    assert np.isfinite(V).all()
    V[:] = 7.0
    discriminants(np.zeros(1), B, A, 16, V, offset)
    assert (V == 7.0).all()  # without rows nothing is computed
    discriminants(count, B, np.full_like(A, np.nan), 16, V, offset)
    assert (V == 7.0).all()  # and nothing if no ridge can help


def test_more_ridge_is_added_to_the_sums_themselves() -> None:
    """Not to the remains of a factorisation that failed at the last column."""
    rng = np.random.default_rng(5)
    root = rng.normal(size=(16, 16))
    S = root @ root.T
    S[15, 15] -= 400.0
    count, B = np.array([4.0, 6.0]), rng.normal(size=(2, 16))
    A = S + B.T @ (B / count[:, None])
    V, offset = np.zeros((16, 8), np.float32), np.zeros(8, np.float32)
    discriminants(count, B, in_blocks(A), 16, V, offset)
    ridge, factor = oracle.shrinkage(count, S, A)
    assert np.linalg.eigvalsh(S)[0] + ridge < 0.0
    while np.linalg.eigvalsh(S)[0] + ridge < 0.0:
        ridge *= 10.0
    U = oracle.class_offsets(count, B)
    expected = factor * np.linalg.solve(S + ridge * np.eye(16), U)
    assert_allclose(V[:, :2], expected, rtol=1e-4, atol=1e-6)


def test_arrays_that_do_not_fit_are_refused() -> None:
    rows, kept = np.zeros((2, 16), np.float32), np.zeros((1, 8, 16), np.float32)
    A, B, weight = blank_matrix(16), np.zeros((1, 16)), np.ones(1)
    V, offset = np.zeros((16, 8), np.float32), np.zeros(8, np.float32)
    refused: list[tuple[Callable[..., object], tuple[object, ...], str]] = [
        (cholesky, (A, 8), "multiple of 16"),
        (cholesky, (A, 32), "all blocks"),
        (solve, (A, np.zeros((16, 4))), "multiple of 8"),
        (subtract_outer, (A, np.zeros((1, 1, 8)), B[None]), "blocks of 16"),
        (subtract_outer, (A, np.zeros((1, 2, 16)), B[None]), "same shape"),
        (pack_row, (rows[0], kept, 8), "among those packed"),
        (pack_row, (rows[0], kept, -1), "among those packed"),
        (pack_row, (rows[0, :8], kept, 0), "as long as packed rows"),
        (add_products, (A, kept, kept[:, :4], 0, 4), "same shape"),
        (add_exact_products, (A, kept, 3, 2), "among those packed"),
        (multiply_rows, (rows, V[:8], offset, rows), "a row for each column"),
        (multiply_rows, (rows, V, offset, rows), "a row for each row"),
        (multiply_rows, (rows, V, offset[:4], rows), "as long as rows of matrix"),
        (multiply_rows, (rows, rows.T[:, :1].copy(), offset, rows), "multiple of 8"),
        (inner_products, (kept[:, :7], 0, 2, rows), "multiple of 8"),
        (inner_products, (kept, 0, 3, rows), "a row and a column"),
        (combine_rows, (kept, np.zeros((2, 8)), np.zeros((4, 16))), "a row for each"),
        (combine_rows, (kept, np.zeros((2, 8)), np.zeros((8, 32))), "as wide"),
        (add_rows, (A, kept, weight, 2), "a weight for each row"),
        (discriminants, (weight, B[:, :8], A, 16, V, offset), "a row for each class"),
        (discriminants, (np.ones(9), np.zeros((9, 16)), A, 16, V, offset), "a column"),
        (discriminants, (weight, B, A, 16, V, offset[:4]), "as long as rows of V"),
    ]
    for function, arguments, message in refused:
        with pytest.raises(ValueError, match=message):
            function(*arguments)
