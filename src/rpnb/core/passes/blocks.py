"""Cutting streams into blocks: memory does not grow with their length."""

from typing import Final

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray

# Features above which rows are projected by BLAS, which then needs many rows at once to
# be efficient; entries of such a block, and rows of any.
WIDE_FEATURES: Final = 64
_WIDE_ENTRIES: Final = 1 << 22
MOST_ROWS: Final = 1024


def block_rows(p: int, F: int) -> int:
    """Return how many rows to handle at once."""
    if p <= WIDE_FEATURES:
        return MOST_ROWS
    return min(max(_WIDE_ENTRIES // F, 64), MOST_ROWS) // 4 * 4


def weights_of(weight: FloatArray, rows: slice | IntArray) -> FloatArray:
    """Return the weights of some rows; one weight for all stays one."""
    return weight if weight.shape[0] == 1 else weight[rows]


def count_labelled(y: IntArray) -> int:
    """Return how many rows are not only predicted."""
    return int(np.count_nonzero(y >= 0))
