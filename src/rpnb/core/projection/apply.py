"""Projecting rows before a pass: sparse rows, and distributions without a matrix.

The cost of projecting a sparse row depends on its non-zeros only, and a fast transform
takes few additions, so screening by a single-precision projection would save nothing.
Such rows are projected in double precision, block by block, before the pass. A sparse
row gets the same bits as the same row dense, since zeros change no sum.
"""

from math import sqrt
from typing import Final

import numpy as np
from scipy.sparse import issparse

from rpnb._core import projection as kernels
from rpnb.core.kernels.arrays import FloatArray, as_block
from rpnb.core.kernels.row_blocks import RowTable, as_rows
from rpnb.core.projection.record import Projection

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


def projects_in_advance(projection: Projection, X: RowTable) -> bool:
    """Whether rows of X are projected before the passes rather than by them."""
    return projection.R.shape[0] == 0 or issparse(X)


def rows_for_passes(projection: Projection, X: RowTable) -> FloatArray:
    """Return rows as the passes take them: unchanged (n, p), or projected (n, F)."""
    if projects_in_advance(projection, X):
        return project_rows(projection, X)
    return as_block(X)


def project_rows(projection: Projection, X: RowTable) -> FloatArray:
    """Return the double-precision projections (n, F) of dense or sparse rows."""
    rows = as_rows(X) if issparse(X) else as_block(X)
    Z = np.empty((X.shape[0], projection.K * projection.q))
    scale = 1.0 / sqrt(projection.q)
    if projection.structure is not None:
        projection.structure.project(rows, scale, Z)
    elif projection.R.shape[0] > 0:
        kernels.project_rows(rows, scale, projection.R, Z)
    else:
        # The matrix is too large to keep: its rows are drawn on demand.
        kernels.draw_and_project_rows(
            rows,
            scale,
            projection.distribution,
            projection.seed,
            projection.features,
            projection.q,
            Z,
        )
    return Z
