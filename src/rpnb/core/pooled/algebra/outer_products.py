"""Sums of outer products of rows, Σ w·φφᵀ, for symmetric matrices in blocks.

The entries of φ are multiples of 1/128 and have 12 bits. Where all weights are 1, as
almost always, products are summed as integers, which is exact and twice as fast as in
single precision.
"""

from typing import Final

import numpy as np

from rpnb.core.kernels.arrays import CodeArray, FloatArray, SingleArray, WordArray
from rpnb.core.kernels.compiling.compiled import compiled, compiled_borrowing
from rpnb.core.kernels.pair_vectors import (
    add_pair_products,
    load_pairs,
    repeat_pair,
    store_sums,
    zero_sums,
)
from rpnb.core.kernels.vectors import (
    load_doubles,
    load_singles,
    load_widened,
    multiply_add,
    singles,
    store_doubles,
    store_singles,
)

#: Entries of φ are multiples of 1/128.
STEPS: Final = np.float32(128.0)
# Products are multiples of its square.
_UNIT: Final = 2.0**-14


@compiled_borrowing
def pack_row(row: SingleArray, packed: SingleArray, r: int, capacity: int) -> None:
    """Write a row (E,) as row r of packed rows: [block of columns][row][16]."""
    for b in range(row.shape[0] // 16):
        at = (b * capacity + r) * 16
        store_singles(packed, at, load_singles(row, 16 * b))
        store_singles(packed, at + 8, load_singles(row, 16 * b + 8))


@compiled
def add_products(
    matrix: FloatArray,
    packed: SingleArray,
    weighted: SingleArray,
    capacity: int,
    first: int,
    last: int,
) -> None:
    """Add Σ_r w_r φ_r φ_rᵀ of packed rows first … last − 1 to the matrix.

    `weighted` holds w_r φ_r, packed alike. Products of one call are summed in single
    precision, in the order of the rows, and the sums added in double precision.
    """
    blocks = packed.shape[0] // (16 * capacity)
    sums = np.empty(256, np.float32)
    at = 0
    for H in range(blocks):
        p = 16 * H * capacity
        for J in range(H + 1):
            q = 16 * J * capacity
            _eight_columns(packed, p, weighted, q, first, last, sums, 0)
            _eight_columns(packed, p, weighted, q + 8, first, last, sums, 128)
            for k in range(0, 256, 4):
                old = load_doubles(matrix, at + k)
                store_doubles(matrix, at + k, old + load_widened(sums, k))
            at += 256


@compiled_borrowing
def _eight_columns(
    packed: SingleArray,
    p: int,
    weighted: SingleArray,
    q: int,
    first: int,
    last: int,
    sums: SingleArray,
    at: int,
) -> None:
    """Set 128 sums, from `at` on, to products of 16 columns at p and 8 at q."""
    a0 = singles(0.0)
    a1 = singles(0.0)
    b0 = singles(0.0)
    b1 = singles(0.0)
    c0 = singles(0.0)
    c1 = singles(0.0)
    d0 = singles(0.0)
    d1 = singles(0.0)
    e0 = singles(0.0)
    e1 = singles(0.0)
    f0 = singles(0.0)
    f1 = singles(0.0)
    g0 = singles(0.0)
    g1 = singles(0.0)
    h0 = singles(0.0)
    h1 = singles(0.0)
    for r in range(16 * first, 16 * last, 16):
        x0 = load_singles(packed, p + r)
        x1 = load_singles(packed, p + r + 8)
        w = singles(weighted[q + r])
        a0 = multiply_add(x0, w, a0)
        a1 = multiply_add(x1, w, a1)
        w = singles(weighted[q + r + 1])
        b0 = multiply_add(x0, w, b0)
        b1 = multiply_add(x1, w, b1)
        w = singles(weighted[q + r + 2])
        c0 = multiply_add(x0, w, c0)
        c1 = multiply_add(x1, w, c1)
        w = singles(weighted[q + r + 3])
        d0 = multiply_add(x0, w, d0)
        d1 = multiply_add(x1, w, d1)
        w = singles(weighted[q + r + 4])
        e0 = multiply_add(x0, w, e0)
        e1 = multiply_add(x1, w, e1)
        w = singles(weighted[q + r + 5])
        f0 = multiply_add(x0, w, f0)
        f1 = multiply_add(x1, w, f1)
        w = singles(weighted[q + r + 6])
        g0 = multiply_add(x0, w, g0)
        g1 = multiply_add(x1, w, g1)
        w = singles(weighted[q + r + 7])
        h0 = multiply_add(x0, w, h0)
        h1 = multiply_add(x1, w, h1)
    store_singles(sums, at, a0)
    store_singles(sums, at + 8, a1)
    store_singles(sums, at + 16, b0)
    store_singles(sums, at + 24, b1)
    store_singles(sums, at + 32, c0)
    store_singles(sums, at + 40, c1)
    store_singles(sums, at + 48, d0)
    store_singles(sums, at + 56, d1)
    store_singles(sums, at + 64, e0)
    store_singles(sums, at + 72, e1)
    store_singles(sums, at + 80, f0)
    store_singles(sums, at + 88, f1)
    store_singles(sums, at + 96, g0)
    store_singles(sums, at + 104, g1)
    store_singles(sums, at + 112, h0)
    store_singles(sums, at + 120, h1)


@compiled
def add_exact_products(
    matrix: FloatArray, packed: SingleArray, capacity: int, first: int, last: int
) -> None:
    """Add Σ_r φ_r φ_rᵀ of packed rows first … last − 1 to the matrix, exactly.

    Entries are multiples of 1/128 of 12 bits, and rows are 512 at most: products are
    summed as integers of 32 bits, two rows at a time.
    """
    blocks = packed.shape[0] // (16 * capacity)
    pairs = (last - first + 1) // 2
    # [block of columns][pair of rows][16 columns][row of the pair]
    codes = np.empty(32 * pairs * blocks, np.int16)
    both = codes.view(np.int32)
    for b in range(blocks):
        for r in range(pairs):
            one = (b * capacity + first + 2 * r) * 16
            other = one + 16 if first + 2 * r + 1 < last else -1
            to = (b * pairs + r) * 16
            if other < 0:
                for i in range(16):
                    both[to + i] = np.int32(packed[one + i] * STEPS) & 0xFFFF
            else:
                for i in range(16):
                    low = np.int32(packed[one + i] * STEPS) & 0xFFFF
                    high = np.int32(packed[other + i] * STEPS) << 16
                    both[to + i] = low | high
    sums = np.empty(256, np.int32)
    at = 0
    for H in range(blocks):
        p = 32 * H * pairs
        for J in range(H + 1):
            q = 32 * J * pairs
            _eight_exact_columns(codes, p, q, pairs, sums, 0)
            _eight_exact_columns(codes, p, q + 16, pairs, sums, 128)
            for k in range(256):
                matrix[at + k] += sums[k] * _UNIT
            at += 256


@compiled_borrowing
def _eight_exact_columns(
    codes: CodeArray, p: int, q: int, pairs: int, sums: WordArray, at: int
) -> None:
    """Set 128 sums, from `at` on, to products of 16 columns at p and 8 at q."""
    a0 = zero_sums(codes)
    a1 = zero_sums(codes)
    b0 = zero_sums(codes)
    b1 = zero_sums(codes)
    c0 = zero_sums(codes)
    c1 = zero_sums(codes)
    d0 = zero_sums(codes)
    d1 = zero_sums(codes)
    e0 = zero_sums(codes)
    e1 = zero_sums(codes)
    f0 = zero_sums(codes)
    f1 = zero_sums(codes)
    g0 = zero_sums(codes)
    g1 = zero_sums(codes)
    h0 = zero_sums(codes)
    h1 = zero_sums(codes)
    for r in range(0, 32 * pairs, 32):
        x0 = load_pairs(codes, p + r)
        x1 = load_pairs(codes, p + r + 16)
        w = repeat_pair(codes, q + r)
        a0 = add_pair_products(x0, w, a0)
        a1 = add_pair_products(x1, w, a1)
        w = repeat_pair(codes, q + r + 2)
        b0 = add_pair_products(x0, w, b0)
        b1 = add_pair_products(x1, w, b1)
        w = repeat_pair(codes, q + r + 4)
        c0 = add_pair_products(x0, w, c0)
        c1 = add_pair_products(x1, w, c1)
        w = repeat_pair(codes, q + r + 6)
        d0 = add_pair_products(x0, w, d0)
        d1 = add_pair_products(x1, w, d1)
        w = repeat_pair(codes, q + r + 8)
        e0 = add_pair_products(x0, w, e0)
        e1 = add_pair_products(x1, w, e1)
        w = repeat_pair(codes, q + r + 10)
        f0 = add_pair_products(x0, w, f0)
        f1 = add_pair_products(x1, w, f1)
        w = repeat_pair(codes, q + r + 12)
        g0 = add_pair_products(x0, w, g0)
        g1 = add_pair_products(x1, w, g1)
        w = repeat_pair(codes, q + r + 14)
        h0 = add_pair_products(x0, w, h0)
        h1 = add_pair_products(x1, w, h1)
    store_sums(sums, at, a0)
    store_sums(sums, at + 8, a1)
    store_sums(sums, at + 16, b0)
    store_sums(sums, at + 24, b1)
    store_sums(sums, at + 32, c0)
    store_sums(sums, at + 40, c1)
    store_sums(sums, at + 48, d0)
    store_sums(sums, at + 56, d1)
    store_sums(sums, at + 64, e0)
    store_sums(sums, at + 72, e1)
    store_sums(sums, at + 80, f0)
    store_sums(sums, at + 88, f1)
    store_sums(sums, at + 96, g0)
    store_sums(sums, at + 104, g1)
    store_sums(sums, at + 112, h0)
    store_sums(sums, at + 120, h1)
