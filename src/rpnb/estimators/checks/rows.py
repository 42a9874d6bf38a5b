"""Checks of samples, with a fast path for plain numeric arrays.

scikit-learn's checks take about a hundred microseconds per call, whatever the size of
the data: little for a file, but a lot for a stream that arrives row by row. Plain
numeric arrays are therefore checked by a faster function with the same rules.
"""

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array, validate_data

from rpnb._core.streams import LARGEST as _LARGEST
from rpnb._core.streams import first_bad
from rpnb.core.kernels.arrays import FloatArray
from rpnb.estimators.checks.frames import column_names, refuse_columns
from rpnb.estimators.checks.masks import refuse_masked
from rpnb.estimators.checks.sparse import check_sparse_form, is_canonical

# Beyond this a square may overflow, and with it every statistic. A float64, so that
# arrays of lower precision are compared in double precision, not with infinity.
LARGEST = np.float64(_LARGEST)

# Number types that the core accepts without conversion.
_DOUBLE = np.dtype(np.float64)
_PLAIN = (_DOUBLE, np.dtype(np.float32))


def check_rows(
    estimator: BaseEstimator,
    X: Any,
    *,
    sparse: bool,
    names: Sequence[Any] | None = None,
) -> Any:
    """Return X as an array (n, p) of finite numbers, or raise an error.

    Does not compare X with the estimator; `accept_rows` does. The dtype may be any real
    one: kernels convert to double precision block by block. With `sparse`, sparse
    matrices are accepted and returned as CSR in double precision. Messages name columns
    by `names`, by default those of a frame.
    """
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "fiu" and X.size > 0:
        rows: NDArray[Any] = X
    else:
        refuse_masked(X, "X")
        refuse_columns(X, estimator)
        if sparse:
            _check_form(X)
        try:
            rows = check_array(
                X,
                dtype="numeric",
                estimator=estimator,
                input_name="X",
                ensure_all_finite=False,
                accept_sparse="csr" if sparse else False,
            )
        except OverflowError as error:
            raise ValueError(f"X must hold numbers of 64 bits: {error}") from error
        except ValueError as error:
            _refuse_text(X, error)
            raise
        if issparse(rows):
            return _check_sparse(estimator, rows)
        if rows.dtype.kind not in "fiub":
            raise ValueError(
                f"X must hold real numbers, got an array of dtype {rows.dtype}; turn "
                "categories into codes"
            )
    if rows.dtype.kind == "f":
        refuse_bad_values(estimator, rows, names or column_names(X))
    elif rows.dtype.kind == "b":
        rows = rows.astype(np.float64)
    return rows


def _refuse_text(X: Any, error: ValueError) -> None:
    """Raise an error with the position of the first text among numbers."""
    texts = ("could not convert string to float", "dtype='numeric' is not compatible")
    if not str(error).startswith(texts):
        return
    for i, row in enumerate(np.asarray(X, dtype=object)):
        for j, value in enumerate(row):
            if isinstance(value, str) and not _is_number(value):
                raise ValueError(
                    f"X must hold numbers, but row {i} has {str(value)!r:.60} in "
                    f"column {j}: PooledClassifier learns categories from a frame, or "
                    f"with categorical_features=[{j}]"
                ) from error


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_form(X: Any) -> None:
    """Refuse invalid sparse data before anything reads it."""
    if issparse(X):
        check_sparse_form(X)
    elif hasattr(X, "dtypes") and hasattr(X, "iloc") and X.ndim == 2:
        # A pandas frame, of which some, none or all columns may be sparse.
        fills = [getattr(dtype, "fill_value", None) for dtype in X.dtypes]
        dense = [name for name, fill in zip(X, fills, strict=True) if fill is None]
        if 0 < len(dense) < len(fills):
            raise ValueError(
                f"X has sparse columns and dense ones, such as {dense[0]!r}: make all "
                "columns sparse by X.astype(pandas.SparseDtype(float, 0.0)), or dense "
                "by X[columns].sparse.to_dense()"
            )
        for name, fill in zip(X, fills, strict=True):
            if fill is not None and fill != 0:
                raise ValueError(
                    f"X has a sparse column, {name!r}, with fill value {fill}: the "
                    "fill value must be 0"
                )


def _check_sparse(estimator: BaseEstimator, X: Any) -> Any:
    """Return a CSR matrix of finite float64 without duplicate entries."""
    X = X.astype(np.float64, copy=False)
    if not is_canonical(X):
        X = X.copy()
        # The flags may be stale: they hold what was last found, or set.
        X.has_sorted_indices = X.has_canonical_format = False
        X.sum_duplicates()
    values = X.data[: X.indptr[-1]]
    bad = first_bad(values)
    if bad >= 0 and get_tags(estimator).input_tags.allow_nan:
        bad = first_bad(values, missing=True)
    if bad >= 0:
        row = int(np.searchsorted(X.indptr, bad, side="right")) - 1
        _refuse(estimator, float(X.data[bad]), row, int(X.indices[bad]))
    return X


def accept_rows(estimator: BaseEstimator, X: Any, *, first: bool) -> None:
    """Compare number and names of the columns with the known ones, or record them.

    Must be the last check of a call, since the first call changes the estimator.
    """
    if (
        not first
        and type(X) is np.ndarray
        and not hasattr(estimator, "feature_names_in_")
        and X.shape[1] == estimator.n_features_in_
    ):
        return
    validate_data(estimator, X, y="no_validation", reset=first, skip_check_array=True)


def refuse_bad_values(
    estimator: BaseEstimator, X: NDArray[Any], names: Sequence[Any] | None = None
) -> None:
    """Raise an error with row and column if a value of X (n, p) is invalid.

    Invalid values are not finite or too large. Columns are named by `names`, if given.
    """
    bad = _first_bad(X)
    # Most rows hold no bad value, and finding out whether NaN is allowed takes longer.
    if bad >= 0 and get_tags(estimator).input_tags.allow_nan:
        bad = _first_bad(X, missing=True)
    if bad < 0:
        return
    row, column = divmod(bad, X.shape[1])
    shown = column if names is None else repr(names[column])
    _refuse(estimator, float(X[row, column]), row, shown)


def as_table_of_one(x: Any) -> NDArray[Any]:
    """Return one row x (p,) as a table (1, p), checking only its dimensions."""
    row = np.asarray(x)
    if row.ndim != 1:
        raise TypeError(
            "x must be a one-dimensional NumPy array of float64, got "
            f"{type(x).__name__} with {row.ndim} dimensions"
        )
    return row[None, :]


def check_row(estimator: BaseEstimator, x: Any) -> FloatArray:
    """Return one plain row (p,) as a table (1, p), or raise an error.

    The equivalent of `check_rows` and `accept_rows` for streams that arrive row by row.
    """
    if type(x) is not np.ndarray or x.dtype != _DOUBLE or x.ndim != 1:
        raise TypeError(
            "x must be a one-dimensional NumPy array of float64, got "
            f"{type(x).__name__}"
        )
    if x.shape[0] != estimator.n_features_in_:
        raise ValueError(
            f"x has {x.shape[0]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    row = x[None, :]
    if not row.flags.c_contiguous or first_bad(row) >= 0:
        refuse_bad_values(estimator, row)
    return row


def _refuse(
    estimator: BaseEstimator, value: float, row: int, column: int | str
) -> NoReturn:
    """Raise ValueError for a bad value in this row and column."""
    what, hint = why_bad(value)
    raise ValueError(
        f"Input X contains {what} (row {row}, column {column}); "
        f"{type(estimator).__name__} takes finite numbers only: {hint}"
    )


def why_bad(value: float) -> tuple[str, str]:
    """Return what is wrong with a value that `first_bad` found, and how to fix it."""
    if np.isnan(value):
        return "NaN", "impute or drop missing values first"
    if np.isinf(value):
        return "infinity", "replace it by a finite number"
    return (
        f"the value {value!r}, too large: beyond ±{LARGEST:.0e} squares overflow",
        "scale the column",
    )


def _first_bad(X: NDArray[Any], *, missing: bool = False) -> int:
    """Do what `first_bad` does for an array of any real type and order."""
    if X.dtype in _PLAIN and X.flags.c_contiguous:
        return first_bad(X, missing)
    good = np.abs(X) <= LARGEST
    if missing:
        good |= np.isnan(X)
    return -1 if good.all() else int(np.argmin(good))
