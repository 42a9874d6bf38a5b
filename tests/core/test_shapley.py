"""Shapley values in closed form equal the sum over all subsets of features."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.shapley import quadratic_scores, recovered_mean, shapley_values


def by_subsets(
    R: FloatArray,
    mean: FloatArray,
    precision: FloatArray,
    x: FloatArray,
    background: FloatArray,
) -> FloatArray:
    """Return the Shapley values of one row (p,) from their definition."""
    p = x.shape[0]

    def value(S: tuple[int, ...]) -> float:
        rows = background.copy()
        rows[:, list(S)] = x[list(S)]
        one = mean[None, :], precision[None, :], np.zeros(1)
        return float(quadratic_scores(*one, rows @ R).mean())

    values = np.zeros(p)
    for i in range(p):
        rest = [j for j in range(p) if j != i]
        for size in range(p):
            share = factorial(size) * factorial(p - size - 1) / factorial(p)
            for S in combinations(rest, size):
                values[i] += share * (value((*S, i)) - value(S))
    return values


@pytest.mark.parametrize("p", [1, 3, 6])
@pytest.mark.parametrize("k", [1, 4])
def test_closed_form_is_the_sum_over_all_subsets(p: int, k: int) -> None:
    rng = np.random.default_rng(p)
    F = 12
    R, mean = rng.normal(size=(p, F)), rng.normal(size=F)
    precision = rng.gamma(2.0, size=F)
    X, background = rng.normal(size=(2, p)), rng.normal(size=(k, p)) + 1.0
    found = shapley_values(R, mean, precision, X, background)
    for x, values in zip(X, found, strict=True):
        expected = by_subsets(R, mean, precision, x, background)
        assert_allclose(values, expected, rtol=1e-9, atol=1e-9)
    one = mean[None, :], precision[None, :], np.zeros(1)
    scores = quadratic_scores(*one, X @ R)[:, 0]
    base = quadratic_scores(*one, background @ R).mean()
    assert_allclose(found.sum(axis=1) + base, scores, rtol=1e-12)


def test_a_mean_is_recovered_from_its_projection() -> None:
    rng = np.random.default_rng(0)
    R, rows = rng.normal(size=(5, 9)), rng.normal(size=(3, 5))
    assert_allclose(recovered_mean(R, (rows @ R).T).T, rows, rtol=1e-9)
