"""Symmetric matrices in blocks: where their entries are.

A symmetric E × E matrix, E a multiple of 16, is kept as its lower triangle of 16 × 16
blocks in one flat array, as `cpp/pooled/algebra/blocks.h` describes.
"""

import numpy as np

from rpnb.core.kernels.arrays import FloatArray

SIDE = 16


def padded(size: int, to: int = SIDE) -> int:
    """Return the next multiple of `to`."""
    return -(-size // to) * to


def blank_matrix(E: int) -> FloatArray:
    """Return the zero matrix of E rows, a multiple of 16."""
    blocks = E // SIDE
    return np.zeros(SIDE * SIDE * (blocks * (blocks + 1) // 2))


def place(i: int, j: int) -> int:
    """Return where entry (i, j) is, j not in a later block than i."""
    H, J = i // SIDE, j // SIDE
    return SIDE * (SIDE * (H * (H + 1) // 2 + J) + j % SIDE) + i % SIDE
