r"""Rectified random projections of scaled rows, and a short projection of them.

.. math:: φ(z) = [z \text{ if } p \le 64;\ \max(0, ⟨w_f, z⟩ + b_f),\ f = 1 … D],
          \quad b_f ∼ U(-1, 1)

A quarter of the w_f is dense, N(0, I/p), or half of them where p > 64. Each of the
others reads k features, k uniform in {1 … 4}, with entries N(0, 1/k): such columns
contain interactions of a few features. Random rectified features go back to Cho & Saul,
"Kernel methods for deep learning" (2009), of whose arc-cosine kernel they are samples,
and to random-weight networks (Huang, Zhu & Siew, "Extreme learning machine", 2006).

All of φ is rounded to multiples of 1/128 and is at most 2,047/128: an integer of 12
bits, so that sums of products are exact, in any order.

Columns of φ, in this order: z, the dense ones, the sparse ones, zeros up to a multiple
of 16. `low` is z itself where p ≤ 32 and z·P else, with P (p, 32) of random orthonormal
columns.

All numbers are functions of the seed and of their address
(`rpnb.core.kernels.random_bits`).
"""

from typing import Final, NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray, SingleArray, WordArray
from rpnb.core.kernels.compiling.compiled import compiled, compiled_borrowing
from rpnb.core.kernels.random_bits import fill_feature_words, fill_normal
from rpnb.core.pooled.algebra.blocks import padded
from rpnb.core.pooled.algebra.outer_products import STEPS
from rpnb.core.pooled.algebra.row_products import multiply_rows

#: Features up to which φ holds z itself.
MOST_RAW: Final = 64
#: φ is at most so many times 1/128.
MOST_STEPS: Final = np.float32(2047.0)
#: Features up to which `low` is z itself, and its dimension beyond.
MOST_LOW: Final = 32
#: Features that a sparse column reads at most.
MOST_READ: Final = 4
# Up to this many features, sparse columns are multiplied as if they were dense: with
# the entries in the order of the features, that gives the same bits.
_MOST_DENSE = 64

# Addresses of the draws, where a projection has the number of a feature.
_BIASES = 1 << 40
_CHOICES = 2 << 40
_ENTRIES = 3 << 40
_LOW_ROWS = 4 << 40


class Features(NamedTuple):
    """The projections of a model; they follow from p, D, how many are dense, seed."""

    dense: SingleArray
    """(p, columns) the dense columns, and the sparse ones too where p is small"""
    dense_bias: SingleArray
    """(columns,)"""
    reads: IntArray
    """(4, sparse) which features sparse columns read; (4, 0) if they are in `dense`"""
    entry: SingleArray
    """(4, sparse) with which entries"""
    sparse_bias: SingleArray
    """(sparse,)"""
    low: SingleArray
    """(p, 32) orthonormal columns; (p, 0) where `low` is z itself"""


def raw_columns(p: int) -> int:
    """Return how many columns of φ are features as they are."""
    return p if p <= MOST_RAW else 0


def columns_of(p: int, D: int) -> int:
    """Return the number E of columns of φ, zeros at the end included."""
    return padded(raw_columns(p) + D)


def dense_columns(p: int, D: int) -> int:
    """Return how many of D projections of p features are dense, a multiple of 8."""
    return padded(D // 4 if p <= MOST_RAW else D // 2, 8)


def low_columns(p: int) -> int:
    """Return the number d of columns of `low`."""
    return min(p, MOST_LOW)


def draw_features(p: int, D: int, n_dense: int, seed: int) -> Features:
    """Draw D projections for rows of p features, the first `n_dense` of them dense.

    D is a multiple of 16, `n_dense` one of 8.
    """
    n_sparse = D - n_dense
    bias = np.empty(D, np.float32)
    bias[:] = _words(seed, _BIASES, D) * 2.0**-31
    dense = np.empty((p, n_dense), np.float32)
    _draw_dense(np.uint64(seed), dense)
    index, entry = _draw_sparse(seed, p, n_sparse)
    nothing = np.zeros((MOST_READ, 0))
    if p <= _MOST_DENSE:
        sparse = np.zeros((p, n_sparse), np.float32)
        for k in range(MOST_READ):
            sparse[index[k], np.arange(n_sparse)] += entry[k]
        dense = np.ascontiguousarray(np.hstack([dense, sparse]))
        index, entry = nothing.astype(np.int64), nothing.astype(np.float32)
    low = np.zeros((p, 0), np.float32)
    if p > MOST_LOW:
        drawn = np.empty((p, MOST_LOW))
        _draw_low(np.uint64(seed), drawn)
        _orthonormalise(drawn)
        low = drawn.astype(np.float32)
    C = dense.shape[1]
    return Features(dense, bias[:C].copy(), index, entry, bias[C:].copy(), low)


def _words(seed: int, address: int, count: int) -> WordArray:
    words = np.empty(count, np.int32)
    counters = np.empty((4, -(-count // 4)), np.uint64)
    fill_feature_words(np.uint64(seed), np.uint64(address), count, counters, words)
    return words


def _draw_sparse(seed: int, p: int, columns: int) -> tuple[IntArray, SingleArray]:
    """Draw features, in increasing order and none twice, and entries of each column."""
    slots = MOST_READ + 1
    words = _words(seed, _CHOICES, slots * columns).reshape(columns, slots)
    uniform = (words.astype(np.float64) + (2.0**31 + 0.5)) * 2.0**-32
    normal = np.empty(MOST_READ * columns)
    fill_normal(_words(seed, _ENTRIES, MOST_READ * columns), normal)
    index = np.zeros((MOST_READ, columns), np.int64)
    entry = np.zeros((MOST_READ, columns), np.float32)
    for f in range(columns):
        k = min(1 + int(MOST_READ * uniform[f, 0]), p)
        chosen: list[int] = []
        for slot in range(k):
            # The slot-th draw without replacement: count past those already drawn.
            feature = int(uniform[f, 1 + slot] * (p - slot))
            for earlier in sorted(chosen):
                feature += feature >= earlier
            chosen.append(feature)
        index[:k, f] = sorted(chosen)
        entry[:k, f] = normal[MOST_READ * f : MOST_READ * f + k] / np.sqrt(k)
    return index, entry


@compiled
def _draw_dense(seed: np.uint64, dense: SingleArray) -> None:
    p, columns = dense.shape
    counters = np.empty((4, (columns + 3) // 4), np.uint64)
    words = np.empty(columns, np.int32)
    normal = np.empty(columns)
    root = np.sqrt(np.float64(p))
    for i in range(p):
        fill_feature_words(seed, np.uint64(i), columns, counters, words)
        fill_normal(words, normal)
        for f in range(columns):
            dense[i, f] = normal[f] / root


@compiled
def _draw_low(seed: np.uint64, low: FloatArray) -> None:
    p, columns = low.shape
    counters = np.empty((4, (columns + 3) // 4), np.uint64)
    words = np.empty(columns, np.int32)
    for i in range(p):
        fill_feature_words(seed, np.uint64(_LOW_ROWS + i), columns, counters, words)
        fill_normal(words, low[i])


@compiled_borrowing
def _orthonormalise(P: FloatArray) -> None:
    """Make the columns orthonormal: modified Gram-Schmidt, twice for rounding."""
    p, columns = P.shape
    for _ in range(2):
        for c in range(columns):
            for b in range(c):
                product = 0.0
                for i in range(p):
                    product += P[i, b] * P[i, c]
                for i in range(p):
                    P[i, c] -= product * P[i, b]
            square = 0.0
            for i in range(p):
                square += P[i, c] * P[i, c]
            for i in range(p):
                P[i, c] /= np.sqrt(square)


@compiled
def fill_features(
    features: Features, z: SingleArray, phi: SingleArray, low: SingleArray
) -> None:
    """Fill φ (n, E) and `low` (n, d) of scaled rows z (n, p)."""
    n, p = z.shape
    dense = features.dense
    C = dense.shape[1]
    n_sparse = features.reads.shape[1]
    raw = p if p <= MOST_RAW else 0
    products = np.empty((n, C), np.float32)
    multiply_rows(z, dense, features.dense_bias, products)
    zero = np.float32(0.0)
    for r in range(n):
        row = phi[r]
        for i in range(raw):
            row[i] = z[r, i]
        part = row[raw : raw + C]
        for f in range(C):
            part[f] = products[r, f] if products[r, f] > zero else zero
        if n_sparse > 0:
            _fill_sparse(features, z[r], row[raw + C : raw + C + n_sparse])
        row[raw + C + n_sparse :] = zero
        _round(row)
    if features.low.shape[1] == 0:
        for r in range(n):
            for i in range(p):
                low[r, i] = z[r, i]
    else:
        nothing = np.zeros(features.low.shape[1], np.float32)
        multiply_rows(z, features.low, nothing, low)


@compiled_borrowing
def _round(row: SingleArray) -> None:
    """Round φ to multiples of 1/128, halves up; what is too large is as far as it goes.

    z is within ±6, so only rectified columns can be too large.
    """
    for f in range(row.shape[0]):
        steps = np.floor(row[f] * STEPS + np.float32(0.5))
        row[f] = min(steps, MOST_STEPS) / STEPS


@compiled_borrowing
def _fill_sparse(features: Features, z: SingleArray, part: SingleArray) -> None:
    zero = np.float32(0.0)
    index, entry = features.reads, features.entry
    for f in range(part.shape[0]):
        value = features.sparse_bias[f]
        for k in range(4):
            value += entry[k, f] * z[index[k, f]]
        part[f] = value if value > zero else zero
