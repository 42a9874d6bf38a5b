"""Products and factors of matrices, beside NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.pooled.algebra.blocks import (
    blank_matrix,
    cholesky,
    padded,
    place,
    solve,
    subtract_outer,
)
from rpnb.core.pooled.algebra.outer_products import (
    add_exact_products,
    add_products,
    pack_row,
)
from rpnb.core.pooled.algebra.row_products import (
    combine_rows,
    inner_products,
    multiply_rows,
)
from rpnb.core.pooled.algebra.triangles import fill_forms, form, invert
from rpnb.core.pooled.discriminant import (
    add_rows,
    class_offsets,
    common_mean,
    degrees,
    discriminants,
    shrinkage,
)


def packed(matrix: FloatArray) -> FloatArray:
    E = matrix.shape[0]
    out = blank_matrix(E)
    for i in range(E):
        for j in range(16 * (i // 16 + 1)):
            out[place(i, j)] = matrix[i, j]
    return out


def unpacked(blocks: FloatArray, E: int) -> FloatArray:
    lower = np.array([[blocks[place(i, j)] for j in range(i + 1)] + [0.0] * (E - i - 1)
                      for i in range(E)])  # fmt: skip
    return lower + np.tril(lower, -1).T


def positive(E: int, seed: int) -> FloatArray:
    root = np.random.default_rng(seed).normal(size=(E, E))
    return root @ root.T + np.eye(E)


@pytest.mark.parametrize("E", [16, 48])
def test_factors_and_solutions_are_numpys(E: int) -> None:
    A = positive(E, 1)
    L = packed(A)
    assert cholesky(L, E)
    expected = np.linalg.cholesky(A)
    ours = np.array([[L[place(i, j)] if j <= i else 0.0 for j in range(E)]
                     for i in range(E)])  # fmt: skip
    assert_allclose(ours, expected, rtol=1e-9, atol=1e-9)
    X = np.random.default_rng(2).normal(size=(E, 16))
    Y = X.copy()
    solve(L, E, Y)
    assert_allclose(A @ Y, X, rtol=1e-7, atol=1e-7)


def test_a_matrix_that_is_not_positive_has_no_factor() -> None:
    assert not cholesky(packed(-np.eye(16)), 16)


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("last", [8, 9])
def test_products_of_rows_are_added(equal: bool, last: int) -> None:
    rng = np.random.default_rng(3)
    rows = (rng.integers(-2047, 2048, size=(9, 32)) / 128).astype(np.float32)
    weight = np.ones(9) if equal else rng.choice([0.5, 2.0], 9)
    kept = np.zeros(32 * 12, np.float32)
    for r in range(9):
        pack_row(rows[r], kept, r, 12)
    A = packed(np.eye(32))
    add_rows(A, kept, weight, 12, last)
    wide = rows[:last].astype(np.float64)
    expected = np.eye(32) + (wide.T * weight[:last]) @ wide
    assert_allclose(unpacked(A, 32), expected, rtol=0 if equal else 1e-5)
    before = A.copy()
    add_products(A, kept, kept, 12, 5, 5)
    add_exact_products(A, kept, 12, 5, 5)
    assert_array_equal(A, before)


def test_products_of_a_group_of_the_largest_entries_do_not_overflow() -> None:
    rows = np.full((256, 16), 2047 / 128, np.float32)
    rows[:, 1::2] = -2047 / 128
    kept = np.zeros(16 * 256, np.float32)
    for r in range(256):
        pack_row(rows[r], kept, r, 256)
    A = packed(np.zeros((16, 16)))
    add_exact_products(A, kept, 256, 0, 256)
    wide = rows.astype(np.float64)
    assert_array_equal(unpacked(A, 16), wide.T @ wide)


def test_outer_products_are_subtracted() -> None:
    rng = np.random.default_rng(4)
    left, right = rng.normal(size=(2, 3, 32))
    flat = [
        np.ascontiguousarray(part.reshape(3, 2, 16).swapaxes(0, 1)).ravel()
        for part in (left, right)
    ]
    A = packed(np.zeros((32, 32)))
    subtract_outer(A, flat[0], flat[1], 3)
    full = -np.einsum("ci,cj->ij", left, right)
    for i in range(32):
        for j in range(16 * (i // 16 + 1)):
            assert_allclose(A[place(i, j)], full[i, j], atol=1e-12)


@given(st.integers(0, 9), st.integers(1, 5))
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


def test_inner_products_and_combinations_of_packed_rows() -> None:
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(7, 32)).astype(np.float32)
    kept = np.zeros(32 * 8, np.float32)
    for r in range(7):
        pack_row(rows[r], kept, r, 8)
    whole = np.zeros((8, 8), np.float32)
    inner_products(kept, 8, 0, 7, whole)
    wide = rows.astype(np.float64)
    assert_allclose(np.tril(whole[:7, :7]), np.tril(wide @ wide.T), atol=1e-4)
    later = np.zeros((8, 8), np.float32)
    inner_products(kept, 8, 0, 3, later)
    inner_products(kept, 8, 3, 7, later)
    assert_array_equal(later, whole)
    factors = rng.normal(size=(7, 8))
    out = np.empty((8, 32))
    combine_rows(kept, 8, 7, factors, out)
    assert_allclose(out, factors.T @ wide, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("d", [3, 5])
def test_forms_products_and_inverses_of_triangles(d: int) -> None:
    rng = np.random.default_rng(d)
    lower = np.tril_indices(d)
    matrices = np.array([positive(d, seed) for seed in range(12)])
    lanes = matrices[:, *lower].reshape(3, 4, -1).transpose(0, 2, 1)
    means = rng.normal(size=(12, d))
    x, m0 = rng.normal(size=(2, d))
    share, factor = rng.uniform(0.5, 1.0, size=(2, 12))
    forms = np.full(12, -7.0)
    fill_forms(
        np.ascontiguousarray(lanes).ravel(),
        np.ascontiguousarray(means.reshape(3, 4, d).transpose(0, 2, 1)).ravel(),
        np.array([True, False, True]),
        x,
        m0,
        share,
        1.0 - share,
        factor,
        np.empty(4 * d),
        forms,
    )
    delta = x - (share[:, None] * means + (1.0 - share)[:, None] * m0)
    expected = 1.0 + factor * np.einsum("ci,cij,cj->c", delta, matrices, delta)
    expected[4:8] = -7.0  # of a group that was not chosen
    assert_allclose(forms, expected, rtol=1e-9)

    v, inverse = np.empty(d), np.zeros((d * (d + 1) // 2, 4))
    entries = np.ascontiguousarray(lanes[1]).ravel()
    assert_allclose(form(entries, 2, 4, x, v), x @ matrices[6] @ x, rtol=1e-9)
    assert_allclose(v, matrices[6] @ x, rtol=1e-9)
    triangle = np.ascontiguousarray(matrices[6][lower])
    prior = np.ascontiguousarray(np.eye(d)[lower])
    volume = invert(prior, triangle, inverse.reshape(-1), 1, 4, np.empty((2, d, d)))
    both = matrices[6] + np.eye(d)
    assert_allclose(volume, np.linalg.slogdet(both)[1], rtol=1e-9)
    assert_allclose(inverse[:, 1], np.linalg.inv(both)[lower], rtol=1e-8, atol=1e-12)
    assert not inverse[:, [0, 2, 3]].any()


def test_the_inverse_of_a_matrix_that_rounding_made_singular_is_finite() -> None:
    lower = np.tril_indices(3)
    prior = np.ascontiguousarray(np.eye(3)[lower])
    for size in (1e17, 1e100):
        scatter = np.full(6, size)  # one row of huge weight: of the prior nothing stays
        assert np.linalg.matrix_rank(np.eye(3) + size) == 1
        inverse = np.zeros(6)
        volume = invert(prior, scatter, inverse, 0, 1, np.empty((2, 3, 3)))
        assert np.isfinite(volume)
        assert np.isfinite(inverse).all()
        assert (inverse[[0, 2, 5]] >= 0.0).all()


def test_sums_that_rounding_has_spoilt_get_more_ridge() -> None:
    count, B = np.array([4.0]), np.zeros((1, 16))
    A = packed(-3.0 * np.eye(16))
    V, offset = np.zeros((16, 8), np.float32), np.zeros(8, np.float32)
    discriminants(count, B, A, 16, V, offset)
    assert np.isfinite(V).all()
    V[:] = 7.0
    discriminants(np.zeros(1), B, A, 16, V, offset)
    assert (V == 7.0).all()  # of no rows nothing is made
    discriminants(count, B, np.full_like(A, np.nan), 16, V, offset)
    assert (V == 7.0).all()  # and nothing of what no ridge can mend


def test_more_ridge_is_added_to_the_sums_themselves() -> None:
    """Not to what a factorisation left of them that failed at the last column."""
    rng = np.random.default_rng(5)
    root = rng.normal(size=(16, 16))
    S = root @ root.T
    S[15, 15] -= 400.0
    count, B = np.array([4.0, 6.0]), rng.normal(size=(2, 16))
    A = S + B.T @ (B / count[:, None])
    V, offset = np.zeros((16, 8), np.float32), np.zeros(8, np.float32)
    discriminants(count, B, packed(A), 16, V, offset)
    m, U = np.empty(16), np.empty((16, 8))
    df = degrees(count, common_mean(count, B, m))
    class_offsets(count, B, m, U)
    ridge, factor = shrinkage(
        np.trace(S) / df, (S**2).sum() / df**2, df, 16, np.trace(A) / df
    )
    assert np.linalg.eigvalsh(S)[0] + ridge < 0.0
    while np.linalg.eigvalsh(S)[0] + ridge < 0.0:
        ridge *= 10.0
    expected = factor * np.linalg.solve(S + ridge * np.eye(16), U)
    assert_allclose(V, expected, rtol=1e-4, atol=1e-6)


def test_sizes_are_rounded_up() -> None:
    assert [padded(size) for size in (1, 16, 17)] == [16, 16, 32]
