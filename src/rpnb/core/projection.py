"""Random projections: drawing the K matrices and applying them, equation (2).

The K matrices stand side by side as one (p, F) matrix of 32-bit floats, unscaled: the
factor 1/√q goes to the observation, which is shorter. Single precision loses nothing,
since a projection is *any* draw from its law, and halves the memory to be read.
"""

from math import floor, log2
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from rpnb.core.arrays import (
    FloatArray,
    IntArray,
    SingleArray,
    UIntArray,
    WordArray,
)
from rpnb.core.compiled import compiled, fused_multiply_add
from rpnb.core.random_bits import fill_normal, fill_words

MatrixLaw: TypeAlias = Literal["gaussian", "bernoulli", "achlioptas"]
Law: TypeAlias = MatrixLaw | Literal["very_sparse", "hadamard"]
# Laws whose entries are independent of each other and of p: any row can be drawn alone.
MATRIX_LAWS: Final[tuple[MatrixLaw, ...]] = get_args(MatrixLaw)
LAWS: Final[tuple[Law, ...]] = (*MATRIX_LAWS, "very_sparse", "hadamard")

_ROOT_THREE: Final = np.float32(1.7320508)
# A sixth and a third of the 2³² values of a word, counted from the lowest.
_SIXTH: Final = -(2**31) + 2**32 // 6
_THIRD: Final = -(2**31) + 2**32 // 3

# Columns handled together: the sums of four rows then stay in the second-level cache.
_PANEL: Final = 4096


def down_space_dimension(p: int) -> int:
    """Return q = ⌊2·log₂ p⌋, at least 1 and at most p (section 3.1 of the paper)."""
    return max(1, min(p, floor(2.0 * log2(p))))


def draw(law: Law, seed: int, features: UIntArray, K: int, q: int) -> SingleArray:
    """Draw the rows of the K projections that belong to `features`, side by side.

    Parameters
    ----------
    law : {"gaussian", "bernoulli", "achlioptas"}
        The laws whose rows can be drawn one without the other:
        N(0, 1); ±1 with probability ½ each; or −√3, 0, √3 with probabilities 1/6, 2/3,
        1/6 (section 2.1 of the paper). All have mean 0 and variance 1.
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
    if law not in MATRIX_LAWS:
        raise ValueError(
            f"the rows of a projection by the law {law!r} depend on how many features "
            f"there are; rows can be drawn alone by {', '.join(MATRIX_LAWS)}"
        )
    R = np.empty((features.shape[0], K * q), np.float32)
    _draw(MATRIX_LAWS.index(law), np.uint64(seed), features, q, R)
    return R


@compiled
def _draw(
    law: int, seed: np.uint64, features: UIntArray, q: int, R: SingleArray
) -> None:
    F = R.shape[1]
    counters = np.empty((4, (F // q) * ((q + 3) // 4)), np.uint64)
    words = np.empty(F, np.int32)
    normal = np.empty(F)
    for i in range(features.shape[0]):
        fill_words(seed, features[i], q, counters, words)
        if law == 0:
            fill_normal(words, normal)
            _copy(normal, R[i])
        elif law == 1:
            _fill_bernoulli(words, R[i])
        else:
            _fill_achlioptas(words, R[i])


@compiled
def _copy(values: FloatArray, row: SingleArray) -> None:
    for f in range(row.shape[0]):
        row[f] = values[f]


@compiled
def _fill_bernoulli(words: WordArray, row: SingleArray) -> None:
    for f in range(row.shape[0]):
        row[f] = 1.0 if words[f] >= 0 else -1.0


@compiled
def _fill_achlioptas(words: WordArray, row: SingleArray) -> None:
    for f in range(row.shape[0]):
        if words[f] < _SIXTH:
            row[f] = -_ROOT_THREE
        elif words[f] < _THIRD:
            row[f] = _ROOT_THREE
        else:
            row[f] = 0.0


@compiled
def project(
    X: FloatArray, rows: IntArray, scale: float, R: SingleArray, Z: FloatArray
) -> None:
    """Project the named rows of X (n, p): Z[b] = scale · X[rows[b]] R, equation (2).

    Every entry is one chain of fused multiply-adds in the order of the features, so
    a row's projection has the same bits whatever other rows are projected with it,
    and a zero leaves no trace. Features are taken four at a time, to load and store a
    sum once for four; rows likewise, to load and widen the matrix once for four.

    A matrix without rows stands for one that has been applied already: X holds the
    projections (n, F), and they are copied.
    """
    p, F = R.shape
    n = rows.shape[0]
    if p == 0:
        for b in range(n):
            Z[b] = X[rows[b]]
        return
    fours = p - p % 4
    for start in range(0, F, _PANEL):
        stop = min(start + _PANEL, F)
        for b in range(n):
            Z[b, start:stop] = 0.0
        for i in range(0, fours, 4):
            r0 = R[i, start:stop]
            r1 = R[i + 1, start:stop]
            r2 = R[i + 2, start:stop]
            r3 = R[i + 3, start:stop]
            b = 0
            while b + 4 <= n:
                _four_by_four(
                    X[rows[b], i : i + 4],
                    X[rows[b + 1], i : i + 4],
                    X[rows[b + 2], i : i + 4],
                    X[rows[b + 3], i : i + 4],
                    scale,
                    r0,
                    r1,
                    r2,
                    r3,
                    Z[b, start:stop],
                    Z[b + 1, start:stop],
                    Z[b + 2, start:stop],
                    Z[b + 3, start:stop],
                )
                b += 4
            while b < n:
                x = X[rows[b], i : i + 4]
                add_four(x, scale, r0, r1, r2, r3, Z[b, start:stop])
                b += 1
        for i in range(fours, p):
            for b in range(n):
                add_one(X[rows[b], i] * scale, R[i, start:stop], Z[b, start:stop])


@compiled
def add_one(x: float, r: SingleArray, z: FloatArray) -> None:
    """Add x times a row of the matrix to the sums z, rounding once."""
    for f in range(z.shape[0]):
        z[f] = fused_multiply_add(x, np.float64(r[f]), z[f])


@compiled
def add_four(
    x: FloatArray,
    scale: float,
    r0: SingleArray,
    r1: SingleArray,
    r2: SingleArray,
    r3: SingleArray,
    z: FloatArray,
) -> None:
    """Do what four calls of `add_one` do, one feature after the other."""
    x0 = x[0] * scale
    x1 = x[1] * scale
    x2 = x[2] * scale
    x3 = x[3] * scale
    for f in range(z.shape[0]):
        t = fused_multiply_add(x0, np.float64(r0[f]), z[f])
        t = fused_multiply_add(x1, np.float64(r1[f]), t)
        t = fused_multiply_add(x2, np.float64(r2[f]), t)
        z[f] = fused_multiply_add(x3, np.float64(r3[f]), t)


@compiled
def _four_by_four(
    xa: FloatArray,
    xb: FloatArray,
    xc: FloatArray,
    xd: FloatArray,
    scale: float,
    r0: SingleArray,
    r1: SingleArray,
    r2: SingleArray,
    r3: SingleArray,
    za: FloatArray,
    zb: FloatArray,
    zc: FloatArray,
    zd: FloatArray,
) -> None:
    a0, a1, a2, a3 = xa[0] * scale, xa[1] * scale, xa[2] * scale, xa[3] * scale
    b0, b1, b2, b3 = xb[0] * scale, xb[1] * scale, xb[2] * scale, xb[3] * scale
    c0, c1, c2, c3 = xc[0] * scale, xc[1] * scale, xc[2] * scale, xc[3] * scale
    d0, d1, d2, d3 = xd[0] * scale, xd[1] * scale, xd[2] * scale, xd[3] * scale
    for f in range(za.shape[0]):
        s0 = np.float64(r0[f])
        s1 = np.float64(r1[f])
        s2 = np.float64(r2[f])
        s3 = np.float64(r3[f])
        ta = fused_multiply_add(a1, s1, fused_multiply_add(a0, s0, za[f]))
        tb = fused_multiply_add(b1, s1, fused_multiply_add(b0, s0, zb[f]))
        tc = fused_multiply_add(c1, s1, fused_multiply_add(c0, s0, zc[f]))
        td = fused_multiply_add(d1, s1, fused_multiply_add(d0, s0, zd[f]))
        za[f] = fused_multiply_add(a3, s3, fused_multiply_add(a2, s2, ta))
        zb[f] = fused_multiply_add(b3, s3, fused_multiply_add(b2, s2, tb))
        zc[f] = fused_multiply_add(c3, s3, fused_multiply_add(c2, s2, tc))
        zd[f] = fused_multiply_add(d3, s3, fused_multiply_add(d2, s2, td))
