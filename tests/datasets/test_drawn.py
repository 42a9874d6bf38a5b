"""Drawn datasets have the moments and Bayes errors of their distributions."""

from math import erfc, sqrt
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rpnb.core.kernels.arrays import FloatArray
from rpnb.datasets import drawn as generators
from rpnb.datasets import load
from rpnb.datasets.dataset import LabelArray

N = 40_000


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_gm_has_the_means_and_variances_of_the_paper() -> None:
    X, y = generators.gaussian_mixture(rng(), n=3000, p=200)
    for label, mean, variance in (("1", 0.5, 1.0), ("2", 0.0, 2.0), ("3", -0.5, 3.0)):
        Z = X[y == label]
        assert len(Z) == 1000
        # 200,000 numbers each: five standard errors of their mean and variance.
        assert abs(Z.mean() - mean) < 5 * sqrt(variance / Z.size)
        assert abs(Z.var() - variance) < 5 * variance * sqrt(2 / Z.size)
        assert abs(Z.mean(axis=0).std() - sqrt(variance / 1000)) < 0.01


def test_gm_of_the_paper_is_as_balanced_as_can_be_and_in_random_order() -> None:
    X, y = generators.gaussian_mixture(rng())
    assert X.shape == (1000, 1000)
    assert_array_equal(np.unique(y, return_counts=True)[1], [334, 333, 333])
    assert len(set(y[:30])) == 3


def test_twonorm_has_its_means_unit_variance_and_bayes_error() -> None:
    X, y = generators.twonorm(rng(), n=N)
    a = 2 / sqrt(20)
    for label, mean in (("0", a), ("1", -a)):
        Z = X[y == label]
        assert_allclose(Z.mean(axis=0), mean, atol=5 / sqrt(len(Z)))
        assert_allclose(np.cov(Z.T), np.eye(20), atol=5 * sqrt(2 / len(Z)))
    assert abs((y == "0").mean() - 0.5) < 5 * 0.5 / sqrt(N)
    error = ((X.sum(axis=1) > 0) != (y == "0")).mean()
    bayes = erfc(sqrt(2)) / 2  # the normal distribution below -2
    assert abs(error - bayes) < 5 * sqrt(bayes / N)
    assert_array_equal(X, np.round(X, 4))


@pytest.mark.parametrize("noise", [True, False])
def test_waveform_has_the_means_and_covariances_of_its_law(noise: bool) -> None:
    X, y = generators.waveform(rng(), n=N, noise=noise)
    assert X.shape == (N, 40 if noise else 21)
    waves = {c: np.maximum(6 - np.abs(np.arange(1, 22) - c), 0) for c in (7, 11, 15)}
    for label, (a, b) in {"0": (7, 15), "1": (7, 11), "2": (11, 15)}.items():
        Z = X[y == label]
        assert abs(len(Z) - N / 3) < 5 * sqrt(N * 2 / 9)
        mean, slope = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        mean[:21] = (waves[a] + waves[b]) / 2
        slope[:21] = waves[a] - waves[b]
        # u uniform on (0, 1) has the variance 1/12; the noise adds the identity.
        covariance = np.outer(slope, slope) / 12 + np.eye(X.shape[1])
        assert_allclose(Z.mean(axis=0), mean, atol=5 * 2 / sqrt(len(Z)))
        assert_allclose(np.cov(Z.T), covariance, atol=5 * 4 * sqrt(2 / len(Z)))


def waveform_bayes(X: FloatArray) -> LabelArray:
    waves = generators.waveform_waves()
    u = ((np.arange(50) + 0.5) / 50)[:, None]
    scores = []
    for a, b in ((0, 2), (0, 1), (1, 2)):
        centres = u * waves[a] + (1 - u) * waves[b]
        closeness = X[:, :21] @ centres.T - 0.5 * (centres**2).sum(axis=1)
        scores.append(np.logaddexp.reduce(closeness, axis=1))
    best: LabelArray = np.argmax(scores, axis=0).astype(np.str_)
    return best


def test_waveform_has_the_bayes_error_that_is_published() -> None:
    X, y = generators.waveform(rng(), n=20_000, noise=True)
    # Breiman et al. give 14 %: five standard errors and their rounding.
    assert abs((waveform_bayes(X) != y).mean() - 0.14) < 5 * 0.0025 + 0.005


def test_led_segments_are_wrong_as_often_as_asked() -> None:
    X, y = generators.led7digit(rng(), n=N)
    digit = y.astype(int)
    wrong = generators.LED_SEGMENTS[digit] != X
    assert_allclose(wrong.mean(axis=0), 0.1, atol=5 * 0.3 / sqrt(N))
    assert_allclose(np.cov(wrong.T), 0.09 * np.eye(7), atol=5 * 0.09 * 3 / sqrt(N))
    assert_allclose(np.bincount(digit) / N, 0.1, atol=5 * 0.3 / sqrt(N))


def test_led_has_the_bayes_error_that_is_published() -> None:
    displays = (np.arange(128)[:, None] >> np.arange(7)) & 1
    distance = (displays[:, None, :] != generators.LED_SEGMENTS).sum(axis=2)
    likelihood = 0.1**distance * 0.9 ** (7 - distance)
    assert_allclose(likelihood.sum(axis=0), 1.0)
    assert round(1 - likelihood.max(axis=1).sum() / 10, 2) == 0.26


@pytest.mark.parametrize(
    "name", ["Led7digit", "Twonorm", "Waveform_w_Noise", "Waveform_wo_Noise"]
)
def test_a_draw_is_like_the_file_that_it_stands_for(
    name: str, data_folder: Path
) -> None:
    drawn, file = load(name), load(name, data=data_folder)
    assert drawn.X.shape == file.X.shape
    assert drawn.description.stands_for is not None
    assert file.description.stands_for is None
    for label in file.description.class_counts:
        A, B = drawn.X[drawn.y == label], file.X[file.y == label]
        error = np.sqrt(A.var(axis=0) / len(A) + B.var(axis=0) / len(B) + 1e-3)
        assert np.abs((A.mean(axis=0) - B.mean(axis=0)) / error).max() < 5, label


def test_the_seed_decides() -> None:
    first, again, other = (load("twonorm", seed=seed).X for seed in (3, 3, 4))
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)
