"""Moments: the theorem and the corollaries of the paper, and rounding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rpnb.core.bayes.statistics import (
    Gaussians,
    Moments,
    Prior,
    add_observation,
    clear,
    empty_gaussians,
    empty_moments,
    fade,
    learn_density,
    merge,
    refresh,
    unmerge,
)
from rpnb.core.kernels.arrays import FloatArray

PAPER = Prior(0.0, 1.0, 1.0, 1e-9)


def rows(seed: int, n: int, F: int = 3, offset: float = 0.0) -> FloatArray:
    return np.random.default_rng(seed).normal(size=(n, F)) + offset


def reading(Z: FloatArray, weight: FloatArray | None = None) -> Moments:
    moments = empty_moments(1, Z.shape[1])
    for i, z in enumerate(Z):
        add_observation(moments, 0, z, 1.0 if weight is None else weight[i])
    return moments


def densities_of(moments: Moments, prior: Prior = PAPER) -> Gaussians:
    gaussians = empty_gaussians(1, moments.mean.shape[1])
    refresh(gaussians, 0, moments, prior)
    return gaussians


def assert_close(a: Moments, b: Moments, scale: float = 1.0) -> None:
    assert_allclose(a.weight, b.weight, rtol=1e-14)
    assert_allclose(a.mean, b.mean, rtol=1e-12, atol=1e-13 * scale)
    assert_allclose(a.scatter, b.scatter, rtol=1e-10, atol=1e-12 * scale**2)


seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(1, 40))
def test_corollary_2_the_moments_are_those_of_the_sample(seed: int, n: int) -> None:
    Z = rows(seed, n)
    moments = reading(Z)
    assert_allclose(moments.mean[0], Z.mean(axis=0), atol=1e-13)
    assert_allclose(moments.scatter[0] / n, Z.var(axis=0), atol=1e-13)


@given(seeds, st.integers(0, 30), st.floats(-3, 3), st.floats(0.1, 9), st.floats(0, 4))
def test_corollary_1_one_by_one_with_the_initial_mean_and_variance(
    seed: int, n: int, mean: float, variance: float, weight: float
) -> None:
    # Equations (9) and (10), literally, from a state that counts as `weight` rows.
    mu, sigma2, t = np.full(3, mean), np.full(3, variance), weight
    for z in rows(seed, n):
        t += 1.0
        before = mu
        mu = ((t - 1.0) * before + z) / t
        sigma2 = ((t - 1.0) * (sigma2 + (before - mu) ** 2) + (z - mu) ** 2) / t
    found = densities_of(reading(rows(seed, n)), Prior(mean, variance, weight, 1e-9))
    assert_allclose(found.mean[0], mu, atol=1e-12)
    assert_allclose(1.0 / found.precision[0], np.maximum(sigma2, 1e-9), rtol=1e-9)


@given(seeds, st.integers(1, 30), st.data())
def test_theorem_1_parts_merged_equal_the_whole(
    seed: int, n: int, data: st.DataObject
) -> None:
    Z = rows(seed, n)
    cut = data.draw(st.integers(0, n))
    merged = reading(Z[:cut])
    merge(merged, 0, reading(Z[cut:]), 0)
    assert_close(merged, reading(Z))


@given(seeds, st.integers(1, 12), st.integers(1, 12), st.integers(1, 12))
def test_merging_is_associative_and_order_free(
    seed: int, a: int, b: int, c: int
) -> None:
    Z = rows(seed, a + b + c)
    parts = [reading(Z[:a]), reading(Z[a : a + b]), reading(Z[a + b :])]
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        total = empty_moments(1, 3)
        for part in order:
            merge(total, 0, parts[part], 0)
        assert_close(total, reading(Z))


@given(seeds, st.integers(0, 20), st.integers(0, 20))
def test_what_was_merged_can_be_unmerged(seed: int, a: int, b: int) -> None:
    Z = rows(seed, a + b)
    total = reading(Z)
    unmerge(total, 0, reading(Z[:a]), 0)
    assert_close(total, reading(Z[a:]))


def test_a_scatter_never_falls_below_zero() -> None:
    part = reading(rows(1, 5))
    total = Moments(part.weight + 1.0, part.mean.copy(), part.scatter * 0.5)
    unmerge(total, 0, part, 0)
    assert_array_equal(total.scatter, 0.0)


@given(seeds, st.lists(st.integers(1, 5), min_size=1, max_size=12))
def test_a_whole_weight_is_that_many_equal_rows(seed: int, times: list[int]) -> None:
    Z = rows(seed, len(times))
    weighted = reading(Z, np.array(times, dtype=float))
    assert_close(weighted, reading(np.repeat(Z, times, axis=0)))


def test_one_row_is_a_batch_of_one_to_the_bit() -> None:
    Z = rows(3, 9)
    one_by_one, batches = empty_moments(1, 3), empty_moments(1, 3)
    for z in Z:
        add_observation(one_by_one, 0, z, 1.0)
        merge(batches, 0, reading(z[None, :]), 0)
    for a, b in zip(one_by_one, batches, strict=True):
        assert_array_equal(a, b)


def test_a_large_offset_breaks_the_textbook_variance_but_not_ours() -> None:
    Z = 1e9 + np.arange(4.0)[:, None]
    textbook = (Z**2).mean() - Z.mean() ** 2
    assert abs(textbook - Z.var()) > 0.5
    assert_allclose(reading(Z).scatter[0] / 4, Z.var(), rtol=1e-9)


def test_an_unseen_class_has_the_priors_density() -> None:
    found = densities_of(empty_moments(1, 4), Prior(2.0, 0.25, 3.0, 1e-9))
    assert_array_equal(found.mean, 2.0)
    assert_array_equal(found.precision, 4.0)
    assert_allclose(found.constant, -4 * np.log(np.sqrt(2 * np.pi) * 0.5))


def test_a_prior_without_weight_is_used_until_the_first_row() -> None:
    prior = Prior(2.0, 0.25, 0.0, 1e-3)
    assert_array_equal(densities_of(empty_moments(1, 4), prior).precision, 4.0)
    seen = densities_of(reading(rows(0, 1)), prior)
    assert_array_equal(seen.mean[0], rows(0, 1)[0])
    assert_array_equal(seen.precision, 1e3)


@pytest.mark.parametrize("size", [1e150, 1e-150])
def test_extreme_values_leave_everything_finite(size: float) -> None:
    found = densities_of(reading(np.array([[size], [-size], [size]])))
    for part in found:
        assert np.isfinite(part).all()


@given(st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=80), st.integers(1, 60))
def test_the_constant_is_the_log_density_at_the_mean(
    values: list[float], times: int
) -> None:
    # Without a prior, an observation's scatter is its variance.
    variance = np.tile(np.array(values), times)
    moments = Moments(np.ones(1), np.zeros((1, variance.size)), variance[None, :])
    found = densities_of(moments, Prior(0.0, 1.0, 0.0, 1e-300))
    expected = -0.5 * (np.log(2.0 * np.pi) + np.log(variance)).sum()
    size = np.abs(np.log(variance)).sum() + variance.size
    assert abs(found.constant[0] - expected) <= 1e-14 * size


@given(seeds, st.integers(1, 12), st.integers(1, 13), st.floats(0, 4))
def test_learn_density_equals_add_observation_and_refresh(
    seed: int, n: int, F: int, prior_weight: float
) -> None:
    rng = np.random.default_rng(seed)
    prior = Prior(0.5, 2.0, prior_weight, 1e-9)
    Z, weight = rng.normal(size=(n, F)), rng.uniform(0.1, 3.0, n)
    one, two = empty_moments(2, F), empty_moments(2, F)
    densities, twice = empty_gaussians(2, F), empty_gaussians(2, F)
    for z, w in zip(Z, weight, strict=True):
        add_observation(one, 1, z, w)
        refresh(twice, 1, one, prior)
        learn_density(densities, 1, two, prior, z, w)
        for a, b in zip([*one, *twice], [*two, *densities], strict=True):
            assert_array_equal(a[1], b[1])


def test_what_is_no_class_or_column_is_refused() -> None:
    moments, gaussians = empty_moments(2, 3), empty_gaussians(2, 3)
    z = np.zeros(3)
    for m in (-1, 2):
        with pytest.raises(ValueError, match="class"):
            add_observation(moments, m, z, 1.0)
        with pytest.raises(ValueError, match="class"):
            fade(moments, m, 0.5, 1.0)
        with pytest.raises(ValueError, match="class"):
            clear(moments, m)
        for one, other in ((m, 0), (0, m)):
            with pytest.raises(ValueError, match="class"):
                merge(moments, one, moments, other)
            with pytest.raises(ValueError, match="class"):
                unmerge(moments, one, moments, other)
        with pytest.raises(ValueError, match="class"):
            refresh(gaussians, m, moments, PAPER)
        with pytest.raises(ValueError, match="class"):
            learn_density(gaussians, m, moments, PAPER, z, 1.0)
    with pytest.raises(ValueError, match="z is not of shape 3"):
        add_observation(moments, 0, z[:2], 1.0)
    with pytest.raises(ValueError, match="z is not of shape 3"):
        learn_density(gaussians, 0, moments, PAPER, z[:2], 1.0)
    with pytest.raises(ValueError, match="mean is not of shape 2 3"):
        merge(moments, 0, empty_moments(2, 4), 0)
    with pytest.raises(ValueError, match=r"moments.mean is not of shape 2 3"):
        refresh(gaussians, 0, empty_moments(1, 3), PAPER)
    for part in moments:
        assert_array_equal(part, 0.0)
