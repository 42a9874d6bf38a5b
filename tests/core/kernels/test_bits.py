"""Sets as bits of a word: compiled code and the plain functions agree."""

from typing import Any

import numpy as np
import pytest

from rpnb.core.kernels.bits import count_bits, eight_below, lowest_bit
from rpnb.core.kernels.compiling.compiled import compiled


@compiled
def below(values: Any, at: int, threshold: Any) -> Any:
    return eight_below(values, at, threshold)


@compiled
def counted(word: Any) -> tuple[int, int]:
    return count_bits(word), lowest_bit(word)


def test_bits_are_counted() -> None:
    assert count_bits(np.uint64(0)) == 0
    for word in (1, 2, 2**63, 2**64 - 1, 0xF0F0):
        lowest = f"{word:b}"[::-1].index("1")
        assert count_bits(np.uint64(word)) == word.bit_count()
        assert lowest_bit(np.uint64(word)) == lowest
        assert counted(np.uint64(word)) == (word.bit_count(), lowest)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_values_below_a_threshold_are_bits(kind: Any) -> None:
    values = np.array([9.0, 1.0, 2.0, np.nan, -1.0, 2.5, 2.0, np.inf, -np.inf], kind)
    for function in (eight_below, below):
        assert function(values, 0, kind(2.0)) == 0b01010110
        assert function(values, 1, kind(2.0)) == 0b10101011
