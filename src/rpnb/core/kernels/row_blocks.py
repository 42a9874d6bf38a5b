"""Blocks of rows, dense or sparse, in the form that the compiled core reads.

A dense row has no column indices; a sparse row has no zeros.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import issparse

from rpnb.core.kernels.arrays import FloatArray, IntArray, as_block

# Default number of rows of a block.
_BLOCK_ROWS: Final = 4096

# An array (n, p), or a SciPy CSR matrix with sorted indices and without duplicates.
# SciPy has no static types.
RowTable: TypeAlias = Any


class RowBlock(NamedTuple):
    """A block of n rows, dense or sparse; created by `as_rows`."""

    values: FloatArray
    """the values of all rows, row by row"""
    columns: IntArray
    """their columns; empty if the rows are dense"""
    starts: IntArray
    """(n + 1,) where the values of each row start, and where the last row ends"""


def dense_rows(X: FloatArray) -> RowBlock:
    """Return rows of an array X (n, p); no copy if X is in C order."""
    n, p = X.shape
    values = np.ascontiguousarray(X, np.float64).reshape(-1)
    return RowBlock(values, np.empty(0, np.int64), np.arange(n + 1, dtype=np.int64) * p)


def sparse_rows(indptr: IntArray, indices: IntArray, data: FloatArray) -> RowBlock:
    """Return CSR rows with sorted columns, none of them twice (`sum_duplicates`)."""
    return RowBlock(
        np.ascontiguousarray(data, np.float64),
        np.ascontiguousarray(indices, np.int64),
        np.ascontiguousarray(indptr, np.int64),
    )


def row_blocks(n: int, size: int = _BLOCK_ROWS) -> Iterator[slice]:
    """Cut rows 0 … n − 1 into consecutive blocks of `size` rows, the last shorter.

    Converting one block at a time to double precision limits the memory of a pass.
    """
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def as_rows(X: RowTable) -> RowBlock:
    """Return rows of a dense array or a CSR matrix as one record."""
    if issparse(X):
        return sparse_rows(X.indptr, X.indices, X.data)
    return dense_rows(as_block(X))


def weights_of(weight: FloatArray, rows: slice | IntArray) -> FloatArray:
    """Return the weights of some rows; a single weight applies to all rows."""
    return weight if weight.shape[0] == 1 else weight[rows]
