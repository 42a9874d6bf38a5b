"""Products, solutions and factors agree with LAPACK's, and each with its definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rpnb.core.kernels.fixed_order import (
    cholesky,
    invert_lower,
    product,
    solve_semidefinite,
)

RNG = np.random.default_rng(0)


def a_product(p: int, rank: int) -> np.ndarray:
    """Return a positive semidefinite matrix (p, p) of this rank."""
    factor = RNG.normal(size=(p, rank))
    return factor @ factor.T


def test_terms_of_products_are_added_in_order() -> None:
    A, B = RNG.normal(size=(3, 4, 40)), RNG.normal(size=(40, 5))
    found = product(A, B)
    assert_allclose(found, A @ B, rtol=1e-13, atol=1e-13)
    for at in np.ndindex(3, 4, 5):
        total = 0.0
        for a, b in zip(A[at[:2]].tolist(), B[:, at[2]].tolist(), strict=True):
            total += a * b
        assert found[at] == total


@pytest.mark.parametrize("p", [1, 2, 17, 60])
def test_factors_and_inverses_are_lapacks(p: int) -> None:
    A = a_product(p, 2 * p)
    L = cholesky(A)
    assert_array_equal(L, np.tril(L))
    assert_allclose(L, np.linalg.cholesky(A), rtol=1e-8, atol=1e-10)
    inverse = invert_lower(L)
    assert_array_equal(inverse, np.tril(inverse))
    assert_allclose(inverse @ L, np.eye(p), atol=1e-9)


@pytest.mark.parametrize(("p", "rank"), [(1, 1), (5, 5), (6, 3), (40, 40), (40, 7)])
def test_solutions_solve(p: int, rank: int) -> None:
    A = a_product(p, rank)
    b = A @ RNG.normal(size=p)
    x = solve_semidefinite(A, b)
    assert_allclose(A @ x, b, rtol=1e-8, atol=1e-8 * np.abs(b).max())
    assert np.count_nonzero(x) <= rank


def test_nothing_is_solved_by_a_matrix_of_zeros() -> None:
    assert_array_equal(solve_semidefinite(np.zeros((3, 3)), np.ones(3)), 0.0)
    assert solve_semidefinite(np.zeros((0, 0)), np.zeros(0)).shape == (0,)
