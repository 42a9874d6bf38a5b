r"""Symmetric matrices in blocks: Cholesky factors and triangular solves.

A symmetric E × E matrix, E a multiple of 16, is kept as its lower triangle of 16 × 16
blocks in one flat array. Block (H, J), J ≤ H, has the number H(H + 1)/2 + J; entry
(i, j) of the matrix, i in H and j in J, is at 256·number + 16·(j mod 16) + (i mod 16).
The blocks (H, 0), (H, 1), … lie one behind the other, so that all inner loops read
straight ahead, and lanes of a vector are rows i.

Sums have one order, whatever the machine: each entry is one chain of fused operations.
"""

from math import sqrt

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.compiling.compiled import compiled_borrowing
from rpnb.core.kernels.vectors import (
    doubles,
    fused,
    load_doubles,
    store_doubles,
)

SIDE = 16


def padded(size: int, to: int = SIDE) -> int:
    """Return the next multiple of `to`."""
    return -(-size // to) * to


def blank_matrix(E: int) -> FloatArray:
    """Return the zero matrix of E rows, a multiple of 16."""
    blocks = E // SIDE
    return np.zeros(SIDE * SIDE * (blocks * (blocks + 1) // 2))


@compiled_borrowing
def place(i: int, j: int) -> int:
    """Return where entry (i, j) is, j not in a later block than i."""
    H, J = i // 16, j // 16
    return 256 * (H * (H + 1) // 2 + J) + 16 * (j % 16) + i % 16


@compiled_borrowing
def subtract_outer(
    matrix: FloatArray, left: FloatArray, right: FloatArray, count: int
) -> None:
    """Subtract Σ_c left_c · right_cᵀ; both are `count` rows of E doubles, packed."""
    blocks = left.shape[0] // (16 * count)
    at = 0
    for H in range(blocks):
        for J in range(H + 1):
            for j in range(0, 16, 4):
                _subtract_products(
                    matrix,
                    at + 16 * j,
                    left,
                    16 * H * count,
                    right,
                    16 * J * count + j,
                    count,
                )
            at += 256


@compiled_borrowing
def cholesky(matrix: FloatArray, E: int) -> bool:
    """Replace a positive definite matrix by L with L·Lᵀ = matrix, lower triangular.

    Column by column of blocks (left-looking; Golub & Van Loan, "Matrix computations",
    4th edition, section 4.2.6). Returns False where a pivot is not positive.
    """
    blocks = E // 16
    for J in range(blocks):
        row_J = 256 * (J * (J + 1) // 2)
        diagonal = row_J + 256 * J
        for H in range(J, blocks):
            row_H = 256 * (H * (H + 1) // 2)
            at = row_H + 256 * J
            for j in range(0, 16, 4):
                _subtract_products(
                    matrix, at + 16 * j, matrix, row_H, matrix, row_J + j, 16 * J
                )
            if H == J:
                if not _factor_diagonal(matrix, diagonal):
                    return False
            else:
                _solve_block(matrix, at, diagonal)
    return True


@compiled_borrowing
def _subtract_products(
    matrix: FloatArray,
    at: int,
    left: FloatArray,
    x: int,
    right: FloatArray,
    y: int,
    K: int,
) -> None:
    """Subtract K products of 16 numbers of `left` and 4 of `right`, from x and y on."""
    a0 = doubles(0.0)
    a1 = doubles(0.0)
    a2 = doubles(0.0)
    a3 = doubles(0.0)
    b0 = doubles(0.0)
    b1 = doubles(0.0)
    b2 = doubles(0.0)
    b3 = doubles(0.0)
    c0 = doubles(0.0)
    c1 = doubles(0.0)
    c2 = doubles(0.0)
    c3 = doubles(0.0)
    d0 = doubles(0.0)
    d1 = doubles(0.0)
    d2 = doubles(0.0)
    d3 = doubles(0.0)
    for k in range(0, 16 * K, 16):
        x0 = load_doubles(left, x + k)
        x1 = load_doubles(left, x + k + 4)
        x2 = load_doubles(left, x + k + 8)
        x3 = load_doubles(left, x + k + 12)
        w = doubles(right[y + k])
        a0 = fused(x0, w, a0)
        a1 = fused(x1, w, a1)
        a2 = fused(x2, w, a2)
        a3 = fused(x3, w, a3)
        w = doubles(right[y + k + 1])
        b0 = fused(x0, w, b0)
        b1 = fused(x1, w, b1)
        b2 = fused(x2, w, b2)
        b3 = fused(x3, w, b3)
        w = doubles(right[y + k + 2])
        c0 = fused(x0, w, c0)
        c1 = fused(x1, w, c1)
        c2 = fused(x2, w, c2)
        c3 = fused(x3, w, c3)
        w = doubles(right[y + k + 3])
        d0 = fused(x0, w, d0)
        d1 = fused(x1, w, d1)
        d2 = fused(x2, w, d2)
        d3 = fused(x3, w, d3)
    store_doubles(matrix, at, load_doubles(matrix, at) - a0)
    store_doubles(matrix, at + 4, load_doubles(matrix, at + 4) - a1)
    store_doubles(matrix, at + 8, load_doubles(matrix, at + 8) - a2)
    store_doubles(matrix, at + 12, load_doubles(matrix, at + 12) - a3)
    store_doubles(matrix, at + 16, load_doubles(matrix, at + 16) - b0)
    store_doubles(matrix, at + 20, load_doubles(matrix, at + 20) - b1)
    store_doubles(matrix, at + 24, load_doubles(matrix, at + 24) - b2)
    store_doubles(matrix, at + 28, load_doubles(matrix, at + 28) - b3)
    store_doubles(matrix, at + 32, load_doubles(matrix, at + 32) - c0)
    store_doubles(matrix, at + 36, load_doubles(matrix, at + 36) - c1)
    store_doubles(matrix, at + 40, load_doubles(matrix, at + 40) - c2)
    store_doubles(matrix, at + 44, load_doubles(matrix, at + 44) - c3)
    store_doubles(matrix, at + 48, load_doubles(matrix, at + 48) - d0)
    store_doubles(matrix, at + 52, load_doubles(matrix, at + 52) - d1)
    store_doubles(matrix, at + 56, load_doubles(matrix, at + 56) - d2)
    store_doubles(matrix, at + 60, load_doubles(matrix, at + 60) - d3)


@compiled_borrowing
def _factor_diagonal(matrix: FloatArray, at: int) -> bool:
    """Factor a diagonal block; its upper triangle is set to zero."""
    for j in range(16):
        column = at + 16 * j
        for k in range(j):
            factor = matrix[at + 16 * k + j]
            for i in range(j, 16):
                matrix[column + i] -= factor * matrix[at + 16 * k + i]
        pivot = matrix[column + j]
        if not pivot > 0.0:
            return False
        root = sqrt(pivot)
        for i in range(j):
            matrix[column + i] = 0.0
        for i in range(j, 16):
            matrix[column + i] /= root
    return True


@compiled_borrowing
def _solve_block(matrix: FloatArray, at: int, diagonal: int) -> None:
    """Replace a block X below a factored diagonal block L by X·L⁻ᵀ."""
    for j in range(16):
        x0 = load_doubles(matrix, at + 16 * j)
        x1 = load_doubles(matrix, at + 16 * j + 4)
        x2 = load_doubles(matrix, at + 16 * j + 8)
        x3 = load_doubles(matrix, at + 16 * j + 12)
        for k in range(j):
            w = doubles(-matrix[diagonal + 16 * k + j])
            x0 = fused(w, load_doubles(matrix, at + 16 * k), x0)
            x1 = fused(w, load_doubles(matrix, at + 16 * k + 4), x1)
            x2 = fused(w, load_doubles(matrix, at + 16 * k + 8), x2)
            x3 = fused(w, load_doubles(matrix, at + 16 * k + 12), x3)
        w = doubles(matrix[diagonal + 16 * j + j])
        store_doubles(matrix, at + 16 * j, x0 / w)
        store_doubles(matrix, at + 16 * j + 4, x1 / w)
        store_doubles(matrix, at + 16 * j + 8, x2 / w)
        store_doubles(matrix, at + 16 * j + 12, x3 / w)


@compiled_borrowing
def solve(factor: FloatArray, E: int, X: FloatArray) -> None:
    """Replace X (E, C) by (L·Lᵀ)⁻¹ X; C is a multiple of 8."""
    C = X.shape[1]
    x = X.reshape(E * C)
    blocks = E // 16
    for H in range(blocks):
        row = 256 * (H * (H + 1) // 2)
        for c in range(0, C, 8):
            for i in (0, 8):
                _subtract_rows(
                    factor, row + i, 16, 1, x, c, (16 * H + i) * C + c, C, 16 * H
                )
            diagonal = row + 256 * H
            for i in range(16):
                at = (16 * H + i) * C + c
                s0 = load_doubles(x, at)
                s1 = load_doubles(x, at + 4)
                for k in range(i):
                    w = doubles(-factor[diagonal + 16 * k + i])
                    s0 = fused(w, load_doubles(x, (16 * H + k) * C + c), s0)
                    s1 = fused(w, load_doubles(x, (16 * H + k) * C + c + 4), s1)
                w = doubles(factor[diagonal + 16 * i + i])
                store_doubles(x, at, s0 / w)
                store_doubles(x, at + 4, s1 / w)
    for K in range(blocks - 1, -1, -1):
        for c in range(0, C, 8):
            for H in range(K + 1, blocks):
                block = 256 * (H * (H + 1) // 2 + K)
                for k in (0, 8):
                    _subtract_rows(
                        factor,
                        block + 16 * k,
                        1,
                        16,
                        x,
                        16 * H * C + c,
                        (16 * K + k) * C + c,
                        C,
                        16,
                    )
            diagonal = 256 * (K * (K + 1) // 2 + K)
            for k in range(15, -1, -1):
                at = (16 * K + k) * C + c
                s0 = load_doubles(x, at)
                s1 = load_doubles(x, at + 4)
                for i in range(k + 1, 16):
                    w = doubles(-factor[diagonal + 16 * k + i])
                    s0 = fused(w, load_doubles(x, (16 * K + i) * C + c), s0)
                    s1 = fused(w, load_doubles(x, (16 * K + i) * C + c + 4), s1)
                w = doubles(factor[diagonal + 16 * k + k])
                store_doubles(x, at, s0 / w)
                store_doubles(x, at + 4, s1 / w)


@compiled_borrowing
def _subtract_rows(
    factor: FloatArray,
    f: int,
    step: int,
    across: int,
    x: FloatArray,
    source: int,
    target: int,
    C: int,
    K: int,
) -> None:
    """Subtract from eight rows of x (8 columns each) products with K rows of x.

    Row t of the eight has the coefficients factor[f + across·t + step·k].
    """
    a0 = doubles(0.0)
    a1 = doubles(0.0)
    b0 = doubles(0.0)
    b1 = doubles(0.0)
    c0 = doubles(0.0)
    c1 = doubles(0.0)
    d0 = doubles(0.0)
    d1 = doubles(0.0)
    e0 = doubles(0.0)
    e1 = doubles(0.0)
    g0 = doubles(0.0)
    g1 = doubles(0.0)
    h0 = doubles(0.0)
    h1 = doubles(0.0)
    i0 = doubles(0.0)
    i1 = doubles(0.0)
    for k in range(K):
        x0 = load_doubles(x, source + k * C)
        x1 = load_doubles(x, source + k * C + 4)
        at = f + step * k
        w = doubles(factor[at])
        a0 = fused(x0, w, a0)
        a1 = fused(x1, w, a1)
        w = doubles(factor[at + across])
        b0 = fused(x0, w, b0)
        b1 = fused(x1, w, b1)
        w = doubles(factor[at + 2 * across])
        c0 = fused(x0, w, c0)
        c1 = fused(x1, w, c1)
        w = doubles(factor[at + 3 * across])
        d0 = fused(x0, w, d0)
        d1 = fused(x1, w, d1)
        w = doubles(factor[at + 4 * across])
        e0 = fused(x0, w, e0)
        e1 = fused(x1, w, e1)
        w = doubles(factor[at + 5 * across])
        g0 = fused(x0, w, g0)
        g1 = fused(x1, w, g1)
        w = doubles(factor[at + 6 * across])
        h0 = fused(x0, w, h0)
        h1 = fused(x1, w, h1)
        w = doubles(factor[at + 7 * across])
        i0 = fused(x0, w, i0)
        i1 = fused(x1, w, i1)
    store_doubles(x, target, load_doubles(x, target) - a0)
    store_doubles(x, target + 4, load_doubles(x, target + 4) - a1)
    target += C
    store_doubles(x, target, load_doubles(x, target) - b0)
    store_doubles(x, target + 4, load_doubles(x, target + 4) - b1)
    target += C
    store_doubles(x, target, load_doubles(x, target) - c0)
    store_doubles(x, target + 4, load_doubles(x, target + 4) - c1)
    target += C
    store_doubles(x, target, load_doubles(x, target) - d0)
    store_doubles(x, target + 4, load_doubles(x, target + 4) - d1)
    target += C
    store_doubles(x, target, load_doubles(x, target) - e0)
    store_doubles(x, target + 4, load_doubles(x, target + 4) - e1)
    target += C
    store_doubles(x, target, load_doubles(x, target) - g0)
    store_doubles(x, target + 4, load_doubles(x, target + 4) - g1)
    target += C
    store_doubles(x, target, load_doubles(x, target) - h0)
    store_doubles(x, target + 4, load_doubles(x, target + 4) - h1)
    target += C
    store_doubles(x, target, load_doubles(x, target) - i0)
    store_doubles(x, target + 4, load_doubles(x, target + 4) - i1)
