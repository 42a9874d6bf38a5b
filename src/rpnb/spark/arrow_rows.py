"""Conversion of Arrow columns to arrays, and checks of rows.

These functions run on the executors and need no Spark session.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.rows import LARGEST
from rpnb.estimators.checks.weights import ANY_WEIGHT

BoolArray = NDArray[np.bool_]
Rows = FloatArray | Any
"""an array (n, p), or a SciPy CSR matrix"""


class RowRules(NamedTuple):
    """Rules for the features of a row."""

    p: int
    """number of features"""
    allow_nan: bool
    """whether NaN is a missing value; null never is"""


def good_features(column: pa.Array, rules: RowRules) -> BoolArray:
    """Return which rows (n,) have features that may be learned or predicted.

    The column holds lists or Spark vectors: see `as_table`.
    """
    column = _storage(column)
    good: BoolArray = column.is_valid().to_numpy(zero_copy_only=False)
    values = column
    widths = None
    if pa.types.is_struct(column.type):
        values = column.field("values")
        sizes = column.field("size").fill_null(0).to_numpy(zero_copy_only=False)
        kinds = column.field("type").fill_null(1).to_numpy(zero_copy_only=False)
        widths = np.where(kinds == 1, _lengths(values), sizes)
    lengths = _lengths(values)
    good = good & ((lengths if widths is None else widths) == rules.p)
    flat = values.flatten()
    numbers = _as_doubles(flat)
    fine = np.abs(numbers) <= LARGEST
    if rules.allow_nan:
        fine |= np.isnan(numbers)
    if flat.null_count:
        fine &= flat.is_valid().to_numpy(zero_copy_only=False)
    if not fine.all():
        good[np.searchsorted(np.cumsum(lengths), np.flatnonzero(~fine), "right")] = (
            False
        )
    return good


def good_labels(column: pa.Array) -> BoolArray:
    """Return which labels (n,) are neither null nor NaN."""
    good: BoolArray = column.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_floating(column.type):
        good = good & ~np.isnan(_as_doubles(column))
    return good


def good_weights(column: pa.Array) -> BoolArray:
    """Return which weights (n,) are valid."""
    low, high = ANY_WEIGHT
    weight = _as_doubles(column)
    return (weight >= low) & (weight <= high)


def as_table(column: pa.Array, p: int) -> Rows:
    """Return a column of lists or Spark vectors as rows of p features.

    Spark vectors are records of type (0 sparse, 1 dense), size, indices and values. The
    result is sparse if any row is.
    """
    column = _storage(column)
    n = len(column)
    if not pa.types.is_struct(column.type):
        return _as_doubles(column.flatten()).reshape(n, p)
    kinds = column.field("type").to_numpy(zero_copy_only=False)
    values = column.field("values")
    if (kinds == 1).all():
        return _as_doubles(values.flatten()).reshape(n, p)
    lengths = _lengths(values)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    columns = np.empty(starts[-1], np.int64)
    sparse_columns = column.field("indices").flatten().to_numpy(zero_copy_only=False)
    at = 0
    for row, kind in enumerate(kinds.tolist()):
        here = slice(starts[row], starts[row + 1])
        size = here.stop - here.start
        if kind == 1:
            columns[here] = np.arange(size)
        else:
            columns[here] = sparse_columns[at : at + size]
            at += size
    # A copy, since Arrow's arrays are read-only.
    data = np.array(_as_doubles(values.flatten()))
    table = csr_array((data, columns, starts), shape=(n, p))
    table.sum_duplicates()
    table.eliminate_zeros()
    return table


def as_label_array(column: pa.Array) -> LabelArray:
    """Return labels as an array."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return np.array(column.to_pylist(), dtype=np.str_)
    labels: LabelArray = column.to_numpy(zero_copy_only=False)
    return labels


def as_lists(rows: FloatArray) -> pa.Array:
    """Return rows as an Arrow array of lists."""
    n, M = rows.shape
    flat = pa.array(np.ascontiguousarray(rows).reshape(-1))
    return pa.ListArray.from_arrays(np.arange(0, n * M + 1, M, dtype=np.int32), flat)


def label_type(classes: LabelArray) -> pa.DataType:
    """Return the Arrow type of labels."""
    kinds = {"b": pa.bool_(), "f": pa.float64(), "U": pa.string(), "O": pa.string()}
    return kinds.get(classes.dtype.kind, pa.int64())


def _storage(column: pa.Array) -> pa.Array:
    return column.storage if isinstance(column, pa.ExtensionArray) else column


def _lengths(lists: pa.Array) -> IntArray:
    """Return the lengths of lists, 0 for null."""
    lengths: IntArray = lists.value_lengths().fill_null(0).to_numpy()
    return lengths


def _as_doubles(column: pa.Array) -> FloatArray:
    """Return numbers in double precision, with NaN for null."""
    values: FloatArray = column.to_numpy(zero_copy_only=False)
    return values.astype(np.float64, copy=False)
