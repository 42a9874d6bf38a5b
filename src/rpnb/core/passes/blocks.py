"""How many rows a pass handles at once, and their weights and labels."""

from typing import Final

from rpnb.core.kernels.arrays import FloatArray, IntArray

# Rows with more features than this are projected by BLAS, which is efficient for many
# rows at once; the number of projected entries in such a block; the most rows of any
# block.
WIDE_FEATURES: Final = 64
_WIDE_ENTRIES: Final = 1 << 22
MOST_ROWS: Final = 1024


def block_rows(p: int, F: int) -> int:
    """Return how many rows of p features and F columns to handle at once."""
    if p <= WIDE_FEATURES:
        return MOST_ROWS
    return min(max(_WIDE_ENTRIES // F, 64), MOST_ROWS) // 4 * 4


def weights_of(weight: FloatArray, rows: slice | IntArray) -> FloatArray:
    """Return the weights of some rows; an array of one weight is for all rows."""
    return weight if weight.shape[0] == 1 else weight[rows]
