"""Philox and normal numbers: published values, and the same bits everywhere."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtri

from oracles.projection import normal_numbers, random_words
from rpnb._core.numbers import (
    fill_feature_words,
    fill_normal,
    philox,
)


# Test vectors published with the generator (Random123, kat_vectors, philox4x32 10).
@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ([0, 0, 0, 0], 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        (
            [0xFFFFFFFF] * 4,
            0xFFFFFFFFFFFFFFFF,
            [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
        ),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            0x299F31D0A4093822,
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox_gives_the_published_numbers(
    counter: list[int], key: int, expected: list[int]
) -> None:
    counters = np.array(counter, np.uint64).reshape(4, 1)
    philox(counters, key)
    assert_array_equal(counters[:, 0], np.array(expected, np.uint64))


def words(seed: int, feature: int, K: int, q: int) -> np.ndarray:
    out = np.empty(K * q, np.int32)
    fill_feature_words(seed, feature, q, out)
    return out.reshape(K, q)


@pytest.mark.parametrize("q", [1, 3, 4, 5, 8])
def test_a_word_depends_on_seed_feature_and_column_only(q: int) -> None:
    full = words(7, 2**40 + 3, 6, q)
    assert_array_equal(words(7, 2**40 + 3, 2, q), full[:2])
    assert_array_equal(words(7, 2**40 + 3, 6, max(1, q - 1)), full[:, : max(1, q - 1)])


def test_seed_and_feature_change_every_word() -> None:
    base = words(7, 3, 10, 8)
    for other in (words(8, 3, 10, 8), words(7, 4, 10, 8), words(7, 3 + 2**32, 10, 8)):
        assert (other != base).all()


def test_words_are_uniform_over_their_range() -> None:
    drawn = np.concatenate([words(1, i, 50, 8).ravel() for i in range(50)]) / 2**31
    n = drawn.size
    assert abs(drawn.mean()) < 4 * np.sqrt(1 / 3 / n)
    assert abs(drawn.var() - 1 / 3) < 4 * np.sqrt(4 / 45 / n)


def test_normal_numbers_are_quantiles_of_the_words() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.integers(-(2**31), 2**31, 4000).astype(np.int32)
    drawn[:6] = [-(2**31), -(2**31) + 1, -1, 0, 2**31 - 2, 2**31 - 1]
    out = np.empty(drawn.size)
    fill_normal(drawn, out)
    probability = (drawn.astype(np.float64) + 2.0**31 + 0.5) / 2.0**32
    # Towards one a probability has few digits left: there symmetry is used.
    upper = probability > 0.5
    expected = np.where(upper, -ndtri(1.0 - probability), ndtri(probability))
    assert_allclose(out, expected, rtol=2e-7)
    assert np.abs(out).max() > 6.0


def test_normal_numbers_are_symmetric() -> None:
    drawn = np.arange(-(2**31), 2**31, 2**23, dtype=np.int64).astype(np.int32)
    mirrored = (-1 - drawn.astype(np.int64)).astype(np.int32)
    one, two = np.empty(drawn.size), np.empty(drawn.size)
    fill_normal(drawn, one)
    fill_normal(mirrored, two)
    assert_array_equal(one, -two)


@pytest.mark.parametrize("K", [1, 3, 60])
@pytest.mark.parametrize("q", [1, 4, 7, 90])
def test_words_and_normal_numbers_are_numpys_to_the_bit(K: int, q: int) -> None:
    feature = 2**50 + 17
    drawn = words(2**63 + 5, feature, K, q).reshape(-1)
    expected = random_words(2**63 + 5, np.array([feature], np.uint64), K, q)[0]
    assert_array_equal(drawn, expected)
    out = np.empty(K * q)
    fill_normal(drawn, out)
    assert out.tobytes() == normal_numbers(expected).tobytes()


def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="4 rows"):
        philox(np.zeros((3, 2), np.uint64), 0)
    for q in (0, 4):
        with pytest.raises(ValueError, match="multiple of q"):
            fill_feature_words(0, 0, q, np.zeros(6, np.int32))
    with pytest.raises(ValueError, match="as long"):
        fill_normal(np.zeros(3, np.int32), np.zeros(4))
