"""Checks that a sparse matrix is valid before any compiled code reads it.

SciPy trusts the index arrays of a matrix: converting a damaged one reads and writes
memory out of bounds. The checks here look at the arrays of each format and touch
nothing else.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


def check_sparse_form(X: Any) -> None:
    """Raise a ValueError if the arrays of a sparse matrix do not fit its shape.

    Parameters
    ----------
    X : SciPy sparse matrix or array
        Matrix in any format.
    """
    if X.ndim != 2:
        return  # nothing to convert: the next check refuses it by its shape
    fault = _FAULTS[X.format](X)
    if fault is not None:
        raise ValueError(
            f"X is a damaged sparse matrix in {X.format.upper()} format: {fault} (its "
            f"shape is {X.shape})"
        )


def is_canonical(X: Any) -> bool:
    """Return whether the columns of each row of a CSR matrix strictly increase.

    SciPy keeps flags for this, but they do not notice when an array is written to.
    """
    indices = X.indices[: X.indptr[-1]]
    increases = indices[1:] > indices[:-1]
    starts = X.indptr[1:-1]
    # Columns may decrease from one row to the next.
    increases[starts[(starts > 0) & (starts < indices.shape[0])] - 1] = True
    return bool(increases.all())


def _is_vector_of_integers(values: Any) -> bool:
    return (
        isinstance(values, np.ndarray)
        and values.ndim == 1
        and values.dtype.kind in "iu"
    )


def _outside(indices: NDArray[Any], limit: int) -> bool:
    return bool(indices.min(initial=0) < 0 or indices.max(initial=-1) >= limit)


def _compressed_fault(X: Any, n: int, across: int) -> str | None:
    """Return what is wrong with the index arrays of n compressed rows or columns."""
    indptr, indices = X.indptr, X.indices
    if not (_is_vector_of_integers(indptr) and _is_vector_of_integers(indices)):
        return "indptr and indices must be one-dimensional arrays of integers"
    if indptr.shape[0] != n + 1 or indptr[0] != 0:
        return f"indptr must have {n + 1} entries, the first of them 0"
    if (indptr[1:] < indptr[:-1]).any():
        return "indptr must not decrease"
    if indptr[-1] > min(indices.shape[0], X.data.shape[0]):
        return "indptr points past the end of indices or data"
    if _outside(indices[: indptr[-1]], across):
        return f"indices must be from 0 to {across - 1}"
    return None


def _bsr_fault(X: Any) -> str | None:
    if X.data.ndim != 3:
        return "data must have three dimensions"
    height, width = X.data.shape[1:]
    if min(height, width) < 1 or X.shape[0] % height or X.shape[1] % width:
        return f"its blocks of {height} by {width} do not divide its shape"
    return _compressed_fault(X, X.shape[0] // height, X.shape[1] // width)


def _coo_fault(X: Any) -> str | None:
    if not (_is_vector_of_integers(X.row) and _is_vector_of_integers(X.col)):
        return "row and col must be one-dimensional arrays of integers"
    if not X.row.shape == X.col.shape == X.data.shape:
        return "row, col and data must have the same length"
    if _outside(X.row, X.shape[0]):
        return f"rows must be from 0 to {X.shape[0] - 1}"
    if _outside(X.col, X.shape[1]):
        return f"columns must be from 0 to {X.shape[1] - 1}"
    return None


def _dia_fault(X: Any) -> str | None:
    if not _is_vector_of_integers(X.offsets) or X.data.ndim != 2:
        return "offsets must be a vector of integers, and data two-dimensional"
    if X.offsets.shape[0] != X.data.shape[0]:
        return "there must be one row of data for each offset"
    if np.unique(X.offsets).shape[0] != X.offsets.shape[0]:
        return "an offset occurs twice"
    return None


def _lil_fault(X: Any) -> str | None:
    if X.rows.shape != (X.shape[0],) or X.data.shape != (X.shape[0],):
        return "there must be one list of columns and one of values for each row"
    for row, (columns, values) in enumerate(zip(X.rows, X.data, strict=True)):
        if len(columns) != len(values):
            return f"row {row} has {len(columns)} columns and {len(values)} values"
        inside = all(
            isinstance(column, int | np.integer) and 0 <= column < X.shape[1]
            for column in columns
        )
        if not inside:
            return f"columns of row {row} must be from 0 to {X.shape[1] - 1}"
        if any(a >= b for a, b in pairwise(columns)):
            return f"columns of row {row} must increase"
    return None


def _dok_fault(X: Any) -> str | None:
    for key in X.keys():  # noqa: SIM118  a sparse matrix is not iterated by its keys
        if not (0 <= key[0] < X.shape[0] and 0 <= key[1] < X.shape[1]):
            return f"the entry {key} is outside the matrix"
    return None


#: By format: a function that returns what is wrong with a matrix, or None.
_FAULTS: Mapping[str, Callable[[Any], str | None]] = {
    "csr": lambda X: _compressed_fault(X, *X.shape),
    "csc": lambda X: _compressed_fault(X, *X.shape[::-1]),
    "bsr": _bsr_fault,
    "coo": _coo_fault,
    "dia": _dia_fault,
    "lil": _lil_fault,
    "dok": _dok_fault,
}
