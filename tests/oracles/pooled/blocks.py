"""Where the entries of a symmetric matrix in blocks are: the layout of blocks.h."""

import numpy as np

from rpnb.core.kernels.arrays import FloatArray

SIDE = 16


def blank_matrix(E: int) -> FloatArray:
    """Return the zero matrix of E rows, a multiple of 16."""
    blocks = E // SIDE
    return np.zeros(SIDE * SIDE * (blocks * (blocks + 1) // 2))


def place(i: int, j: int) -> int:
    """Return the index of entry (i, j), where j is not in a later block than i."""
    H, J = i // SIDE, j // SIDE
    return SIDE * (SIDE * (H * (H + 1) // 2 + J) + j % SIDE) + i % SIDE
