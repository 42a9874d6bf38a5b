"""Forms and inverses of triangles, beside NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.pooled.algebra.triangles import fill_forms, form, invert


def positive(E: int, seed: int) -> FloatArray:
    root = np.random.default_rng(seed).normal(size=(E, E))
    return root @ root.T + np.eye(E)


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
