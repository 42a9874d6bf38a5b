"""Pairs of 16-bit integers: compiled code does what the plain operations say."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from rpnb.core.kernels.arrays import CodeArray, WordArray
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.kernels.pair_vectors import (
    add_pair_products,
    load_pairs,
    repeat_pair,
    store_sums,
    zero_sums,
)

codes = st.lists(st.integers(-(2**15) + 1, 2**15 - 1), min_size=16, max_size=16)


@compiled
def multiply(a: CodeArray, b: CodeArray, out: WordArray) -> None:
    sums = zero_sums(a)
    sums = add_pair_products(load_pairs(a, 1), load_pairs(b, 1), sums)
    store_sums(out, 1, sums)
    store_sums(out, 9, add_pair_products(repeat_pair(a, 3), load_pairs(b, 1), sums))


@given(codes, codes)
def test_products_of_pairs_are_added(a: list[int], b: list[int]) -> None:
    # Halved, so that the sums of four products fit.
    x, y = (np.array([0, *part], np.int16) // 2 for part in (a, b))
    out = np.full(18, 7, np.int32)
    multiply(x, y, out)
    one, other = x[1:].astype(np.int64), y[1:].astype(np.int64)
    first = (one * other).reshape(8, 2).sum(axis=1)
    second = (np.tile(one[2:4], 8) * other).reshape(8, 2).sum(axis=1)
    assert_array_equal(out, [7, *first, *(first + second), 7])
