"""Random projections: drawing the K matrices and applying them, equation (2).

The K matrices are stored side by side as one (p, F) matrix of 32-bit floats, unscaled:
the factor 1/√q is applied to the observation, which is shorter. Single precision
halves the memory to be read and costs no accuracy, since a projection is *any* draw
from its distribution.
"""

from math import floor, log2
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from rpnb._core import projection as kernels
from rpnb.core.kernels.arrays import FloatArray, IntArray, SingleArray, UIntArray
from rpnb.core.kernels.compiling.compiled import compiled, fused_multiply_add
from rpnb.core.kernels.vectors import (
    Doubles,
    doubles,
    fused,
    load_doubles,
    load_singles,
    load_widened,
    multiply_add,
    singles,
    store_doubles,
    store_singles,
)

MatrixDistribution: TypeAlias = Literal["gaussian", "bernoulli", "achlioptas"]
Distribution: TypeAlias = MatrixDistribution | Literal["very_sparse", "hadamard"]
# Distributions whose entries are independent of each other and of p: any row can be
# drawn alone.
MATRIX_DISTRIBUTIONS: Final[tuple[MatrixDistribution, ...]] = get_args(
    MatrixDistribution
)
DISTRIBUTIONS: Final[tuple[Distribution, ...]] = (
    *MATRIX_DISTRIBUTIONS,
    "very_sparse",
    "hadamard",
)

# Entries of the matrix that are applied to all rows before the next ones, so that they
# stay in the second-level cache.
_ENTRIES: Final = 1 << 16


def down_space_dimension(p: int) -> int:
    """Return q = ⌊2·log₂ p⌋, at least 1 and at most p (section 3.1 of the paper)."""
    return max(1, min(p, floor(2.0 * log2(p))))


def draw_matrix(
    distribution: Distribution, seed: int, features: UIntArray, K: int, q: int
) -> SingleArray:
    """Draw the rows of the K projections that belong to `features`, side by side.

    Parameters
    ----------
    distribution : {"gaussian", "bernoulli", "achlioptas"}
        Distribution of the entries: N(0, 1); ±1 with probability ½ each; or −√3, 0, √3
        with probabilities 1/6, 2/3, 1/6 (section 2.1 of the paper). All have mean 0 and
        variance 1.
    seed : int
        64 bits.
    features : array of shape (p,)
        The features' numbers, 64 bits each. A row depends on its own number only.
    K, q : int
        Number of projections, and columns of each.

    Returns
    -------
    array of shape (p, K·q)
        Column k·q + j is column j of matrix k; not yet divided by √q.
    """
    if distribution not in MATRIX_DISTRIBUTIONS:
        raise ValueError(
            f"the rows of a {distribution!r} projection depend on how many features "
            "there are; rows can be drawn alone for " + ", ".join(MATRIX_DISTRIBUTIONS)
        )
    R = np.empty((features.shape[0], K * q), np.float32)
    kernels.draw_matrix(distribution, seed, np.ascontiguousarray(features), q, R)
    return R


@compiled
def project(
    X: FloatArray, rows: IntArray, scale: float, R: SingleArray, Z: FloatArray
) -> None:
    """Project the named rows of X (n, p): Z[b] = scale · X[rows[b]] R, equation (2).

    Every entry is one chain of fused multiply-adds in the order of the features, so
    a row's projection has the same bits whatever other rows are projected with it,
    and zeros change nothing. Rows are taken in pairs, because converting the matrix's
    entries to double precision costs as much as two multiplications by them.

    If R has no rows, X already holds the projections (n, F), and they are copied.
    """
    p, F = R.shape
    n = rows.shape[0]
    if p == 0:
        # Not Z[b] = X[rows[b]]: compiling its message on unequal shapes takes seconds.
        for b in range(n):
            for f in range(F):
                Z[b, f] = X[rows[b], f]
        return
    entries = R.reshape(p * F)
    x = np.empty((2, p))
    together = max(_ENTRIES // F, 8)
    for first in range(0, p, together):
        last = min(first + together, p)
        for b in range(0, n, 2):
            two = b + 1 < n
            for i in range(first, last):
                x[0, i] = X[rows[b], i] * scale
                x[1, i] = X[rows[b + 1], i] * scale if two else 0.0
            if two:
                done = _two_rows(x[0], x[1], entries, F, first, last, Z[b], Z[b + 1])
                _last_columns(x[1], entries, F, first, last, done, Z[b + 1])
            else:
                done = _one_row(x[0], entries, F, first, last, Z[b])
            _last_columns(x[0], entries, F, first, last, done, Z[b])


@compiled
def _two_rows(
    x: FloatArray,
    y: FloatArray,
    R: SingleArray,
    F: int,
    first: int,
    last: int,
    u: FloatArray,
    v: FloatArray,
) -> int:
    """Add the contributions of features first … last − 1 of x and y to u and v (F,).

    If `first` is 0, the sums start at zero. Sixteen columns at a time; returns the
    number of columns done.
    """
    whole = F - F % 16
    for f in range(0, whole, 16):
        u0 = _sum_so_far(u, f, first)
        u1 = _sum_so_far(u, f + 4, first)
        u2 = _sum_so_far(u, f + 8, first)
        u3 = _sum_so_far(u, f + 12, first)
        v0 = _sum_so_far(v, f, first)
        v1 = _sum_so_far(v, f + 4, first)
        v2 = _sum_so_far(v, f + 8, first)
        v3 = _sum_so_far(v, f + 12, first)
        for i in range(first, last):
            at = i * F + f
            a = doubles(x[i])
            b = doubles(y[i])
            r = load_widened(R, at)
            u0 = fused(a, r, u0)
            v0 = fused(b, r, v0)
            r = load_widened(R, at + 4)
            u1 = fused(a, r, u1)
            v1 = fused(b, r, v1)
            r = load_widened(R, at + 8)
            u2 = fused(a, r, u2)
            v2 = fused(b, r, v2)
            r = load_widened(R, at + 12)
            u3 = fused(a, r, u3)
            v3 = fused(b, r, v3)
        store_doubles(u, f, u0)
        store_doubles(u, f + 4, u1)
        store_doubles(u, f + 8, u2)
        store_doubles(u, f + 12, u3)
        store_doubles(v, f, v0)
        store_doubles(v, f + 4, v1)
        store_doubles(v, f + 8, v2)
        store_doubles(v, f + 12, v3)
    return whole


@compiled
def _sum_so_far(z: FloatArray, f: int, first: int) -> Doubles:
    """Return the sums of four columns over the features before `first`."""
    return load_doubles(z, f) if first > 0 else doubles(0.0)


@compiled
def _one_row(
    x: FloatArray, R: SingleArray, F: int, first: int, last: int, u: FloatArray
) -> int:
    """Do what `_two_rows` does, for one row, thirty-two columns at a time.

    Eight independent sums hide the latency of a multiply-add.
    """
    whole = F - F % 32
    for f in range(0, whole, 32):
        u0 = _sum_so_far(u, f, first)
        u1 = _sum_so_far(u, f + 4, first)
        u2 = _sum_so_far(u, f + 8, first)
        u3 = _sum_so_far(u, f + 12, first)
        u4 = _sum_so_far(u, f + 16, first)
        u5 = _sum_so_far(u, f + 20, first)
        u6 = _sum_so_far(u, f + 24, first)
        u7 = _sum_so_far(u, f + 28, first)
        for i in range(first, last):
            at = i * F + f
            a = doubles(x[i])
            u0 = fused(a, load_widened(R, at), u0)
            u1 = fused(a, load_widened(R, at + 4), u1)
            u2 = fused(a, load_widened(R, at + 8), u2)
            u3 = fused(a, load_widened(R, at + 12), u3)
            u4 = fused(a, load_widened(R, at + 16), u4)
            u5 = fused(a, load_widened(R, at + 20), u5)
            u6 = fused(a, load_widened(R, at + 24), u6)
            u7 = fused(a, load_widened(R, at + 28), u7)
        store_doubles(u, f, u0)
        store_doubles(u, f + 4, u1)
        store_doubles(u, f + 8, u2)
        store_doubles(u, f + 12, u3)
        store_doubles(u, f + 16, u4)
        store_doubles(u, f + 20, u5)
        store_doubles(u, f + 24, u6)
        store_doubles(u, f + 28, u7)
    # What is left, four at a time.
    fours = F - F % 4
    for f in range(whole, fours, 4):
        u0 = _sum_so_far(u, f, first)
        for i in range(first, last):
            u0 = fused(doubles(x[i]), load_widened(R, i * F + f), u0)
        store_doubles(u, f, u0)
    return fours


@compiled
def _last_columns(
    x: FloatArray,
    R: SingleArray,
    F: int,
    first: int,
    last: int,
    start: int,
    z: FloatArray,
) -> None:
    """Do what `_one_row` does for the columns from `start` on, which fill no tile."""
    for f in range(start, F):
        total = z[f] if first > 0 else 0.0
        for i in range(first, last):
            total = fused_multiply_add(x[i], np.float64(R[i * F + f]), total)
        z[f] = total


@compiled
def project_singles(X: SingleArray, R: SingleArray, Z: SingleArray) -> None:
    """Project rows of X (n, p) in single precision: Z = X R, n a multiple of four.

    Sums are taken in the order of the features, fused or not. Made for few features: a
    tile of four rows and sixteen columns reads the matrix without repacking it.
    """
    n, p = X.shape
    F = R.shape[1]
    entries = R.reshape(p * F)
    whole = F - F % 16
    for b in range(0, n, 4):
        _four_rows(X[b : b + 4], entries, F, Z[b : b + 4])
        for k in range(b, b + 4):
            for f in range(whole, F):
                total = np.float32(0.0)
                for i in range(p):
                    total += X[k, i] * R[i, f]
                Z[k, f] = total


@compiled
def _four_rows(X: SingleArray, R: SingleArray, F: int, Z: SingleArray) -> None:
    """Project four rows in single precision, but for the last F % 16 columns."""
    p = X.shape[1]
    x = X.reshape(4 * p)
    z = Z.reshape(4 * F)
    for f in range(0, F - F % 16, 16):
        a0 = singles(0.0)
        a1 = singles(0.0)
        b0 = singles(0.0)
        b1 = singles(0.0)
        c0 = singles(0.0)
        c1 = singles(0.0)
        d0 = singles(0.0)
        d1 = singles(0.0)
        for i in range(p):
            r0 = load_singles(R, i * F + f)
            r1 = load_singles(R, i * F + f + 8)
            xi = singles(x[i])
            a0 = multiply_add(xi, r0, a0)
            a1 = multiply_add(xi, r1, a1)
            xi = singles(x[p + i])
            b0 = multiply_add(xi, r0, b0)
            b1 = multiply_add(xi, r1, b1)
            xi = singles(x[2 * p + i])
            c0 = multiply_add(xi, r0, c0)
            c1 = multiply_add(xi, r1, c1)
            xi = singles(x[3 * p + i])
            d0 = multiply_add(xi, r0, d0)
            d1 = multiply_add(xi, r1, d1)
        store_singles(z, f, a0)
        store_singles(z, f + 8, a1)
        store_singles(z, F + f, b0)
        store_singles(z, F + f + 8, b1)
        store_singles(z, 2 * F + f, c0)
        store_singles(z, 2 * F + f + 8, c1)
        store_singles(z, 3 * F + f, d0)
        store_singles(z, 3 * F + f + 8, d1)
