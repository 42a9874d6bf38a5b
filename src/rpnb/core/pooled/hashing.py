"""Rows of very many features, hashed to few columns: where they go. See hashing.h."""

from typing import Final

import numpy as np

from rpnb._core.numbers import philox
from rpnb.core.kernels.arrays import IntArray

#: Features up to which rows are taken as they are.
MOST_FEATURES: Final = 4096
#: Columns to which rows of more features are hashed.
HASHED: Final = 1024


def columns_after_hashing(p: int) -> int:
    """Return how many columns rows of p features have for the model."""
    return p if p <= MOST_FEATURES else HASHED


def draw_places(p: int, seed: int) -> IntArray:
    """Return 1 + the column of each feature, negative where it is subtracted."""
    counters = np.zeros((4, p), np.uint64)
    counters[0] = np.arange(p, dtype=np.uint64)
    counters[1] = 1  # apart from the counters of projections
    counters[3] = 0xFFFFFFFF
    philox(counters, seed)
    column = (counters[0] % np.uint64(HASHED)).astype(np.int64) + 1
    return np.where(counters[1] & np.uint64(1) == 0, column, -column)
