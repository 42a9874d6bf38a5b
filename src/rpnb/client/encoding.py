"""Encoding of rows and labels in batches, as JSON or Arrow."""

import importlib.util
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rpnb.client.results import Label

Rows = ArrayLike | Sequence[Mapping[str, float | str | None]]

JSON = "application/json"
_ARROW = "application/vnd.apache.arrow.stream"
_FEW_ROWS = 16


def to_json(value: Any) -> bytes:
    """Return a value as JSON."""
    try:
        return json.dumps(value, allow_nan=False).encode()
    except ValueError as error:
        raise ValueError(
            f"a request must not contain infinity, NaN as a label, or itself ({error})"
        ) from error


def plain(value: Any) -> Any:
    """Return a NumPy scalar as a Python value."""
    return value.item() if isinstance(value, np.generic) else value


def _plain_cell(value: Any) -> Any:
    """Return a value of a row as a Python value, None for NaN."""
    found = plain(value)
    return None if isinstance(found, float) and found != found else found


def plain_labels(y: Any) -> list[Label]:
    """Return labels as Python values."""
    if isinstance(y, np.ndarray):
        found: list[Label] = y.tolist()
        return found
    return [plain(label) for label in (y.tolist() if hasattr(y, "tolist") else y)]


def batches(n: int, size: int) -> Iterator[slice]:
    """Yield slices of n rows, with at most `size` rows each."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def encode_batches(
    rows: Any, labels: list[Label] | None, ids: Sequence[str] | None, size: int
) -> Iterator[tuple[int, bytes, str]]:
    """Yield the first row, the body and the media type of each batch of rows."""
    names = column_names(rows)
    rows = _plain_rows(rows)
    objects = not hasattr(rows, "shape") and len(rows) and isinstance(rows[0], dict)
    if objects:
        rows = [
            {name: _plain_cell(each) for name, each in row.items()}
            if isinstance(row, Mapping)
            else row
            for row in rows
        ]
    if not objects and _has_text(rows):  # columns of categories or text
        rows, objects = [[_plain_cell(each) for each in row] for row in rows], True
    X = rows if objects else np.asarray(rows, dtype=np.float64)
    if not objects and X.ndim != 2:
        raise ValueError(f"rows must be a table, got {X.ndim} dimensions")
    n = len(X)
    for name, values in (("labels", labels), ("ids", ids)):
        if values is not None and len(values) != n:
            raise ValueError(f"got {n} rows but {len(values)} {name}")
    as_arrow = not objects and (names or n > _FEW_ROWS) and _has_arrow()
    taken = names and not {"label", "id"}.isdisjoint(names)  # separate columns
    if names and not objects and (taken or not as_arrow):
        X = [dict(zip(names, row, strict=True)) for row in _json_rows(X)]
        objects, as_arrow = True, False
    for part in batches(n, size):
        some_labels = None if labels is None else labels[part]
        some_ids = None if ids is None else list(ids[part])
        if as_arrow:
            body = _arrow_table(X[part], names, some_labels, some_ids)
            yield part.start, body, _ARROW
            continue
        table: dict[str, Any] = {
            "rows": list(X[part]) if objects else _json_rows(X[part])
        }
        if some_labels is not None:
            table["labels"] = some_labels
        if some_ids is not None:
            table["ids"] = some_ids
        yield part.start, to_json(table), JSON


def column_names(rows: Any) -> list[str] | None:
    """Return the names of a frame's columns; None for rows without names."""
    found = getattr(rows, "column_names", None)
    if found is None:
        found = getattr(rows, "columns", None) if hasattr(rows, "dtypes") else None
    names = [] if found is None else list(found)
    return names if names and all(isinstance(each, str) for each in names) else None


def _plain_rows(rows: Any) -> Any:
    """Return the rows of a frame that has more than numbers as dicts by name."""
    if isinstance(rows, np.ndarray | list | tuple):
        return rows
    from rpnb.estimators.checks.columns import plain_table

    found = plain_table(rows)
    if found is None:
        return rows
    names, lists = found
    return [dict(zip(names, map(plain, row), strict=True)) for row in lists]


def plain_columns(
    frame: Any, parameters: Mapping[str, Any]
) -> tuple[list[str], dict[str, list[str]]]:
    """Return the names of all columns of a frame, and of the columns of each kind."""
    from rpnb.estimators.checks.columns import AUTO, FROM_DTYPE, find_columns

    names = [str(name) for name in getattr(frame, "column_names", frame.columns)]
    categorical = parameters.get("categorical_features", FROM_DTYPE)
    columns = find_columns(frame, categorical, parameters.get("text_features", AUTO))
    found: dict[str, list[str]] = {}
    if columns is not None:
        for name, kind in zip(names, columns.kinds, strict=True):
            found.setdefault(kind, []).append(name)
    return names, found


def _has_text(rows: Any) -> bool:
    """Return whether rows in lists or an array have values that are text."""
    if isinstance(rows, np.ndarray):
        return rows.dtype.kind in "OUS"
    return isinstance(rows, list | tuple) and any(
        isinstance(row, list | tuple) and any(isinstance(each, str) for each in row)
        for row in rows
    )


def _has_arrow() -> bool:
    return importlib.util.find_spec("pyarrow") is not None


def _json_rows(X: NDArray[np.float64]) -> list[list[float | None]]:
    """Return rows as lists, with None for missing values."""
    lists: list[list[float | None]] = X.tolist()
    if np.isnan(X).any():
        return [[None if v != v else v for v in row] for row in lists]
    return lists


def _arrow_table(
    X: NDArray[np.float64],
    names: list[str] | None,
    labels: list[Label] | None,
    ids: list[str] | None,
) -> bytes:
    """Return rows as an Arrow IPC stream; without names, columns are numbered."""
    import pyarrow as pa
    import pyarrow.ipc

    names = names or [f"x{j}" for j in range(X.shape[1])]
    columns = {
        name: pa.array(np.ascontiguousarray(X[:, j])) for j, name in enumerate(names)
    }
    if labels is not None:
        columns["label"] = pa.array(labels)
    if ids is not None:
        columns["id"] = pa.array(ids)
    table = pa.table(columns)
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
