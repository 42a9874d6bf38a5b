"""How many rows a pass handles at once, and their weights."""

from typing import Final

from rpnb.core.kernels.arrays import FloatArray, IntArray

# Rows with more features than this are projected by BLAS, many at once.
WIDE_FEATURES: Final = 64
# Projected entries in a block of wide rows.
_WIDE_ENTRIES: Final = 1 << 22
# Most rows of any block.
MOST_ROWS: Final = 1024


def block_rows(p: int, F: int) -> int:
    """Return how many rows of p features and F columns to handle at once."""
    if p <= WIDE_FEATURES:
        return MOST_ROWS
    return min(max(_WIDE_ENTRIES // F, 64), MOST_ROWS) // 4 * 4


def weights_of(weight: FloatArray, rows: slice | IntArray) -> FloatArray:
    """Return the weights of some rows; a single weight applies to all rows."""
    return weight if weight.shape[0] == 1 else weight[rows]
