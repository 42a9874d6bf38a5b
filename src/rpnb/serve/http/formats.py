"""Rows and labels in requests, and tables in answers: JSON, NDJSON and Arrow.

- JSON: ``{"rows": [...], "labels": [...], "ids": [...]}``, where a row is an array or
  an object by feature name.
- NDJSON: one line per row, ``{"row": ..., "label": ..., "id": ...}``.
- Arrow IPC stream: one column per feature, and columns for the label and the id.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from pydantic_core import from_json, to_json

from rpnb.core.kernels.arrays import FloatArray
from rpnb.serve.http.arrow import read_arrow, write_arrow
from rpnb.serve.limits import ApiError, Limits, beyond, invalid

JSON = "application/json"
NDJSON = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"
BINARY = "application/octet-stream"
#: Media types of a table of rows.
TABLES = (JSON, NDJSON, ARROW)

Label = str | int | bool

LARGEST = 1e150
_LONGEST_TEXT = 200
_SINGULAR = {
    "rows": "row",
    "labels": "label",
    "ids": "id",
    "results": "result",
    "probabilities": "probabilities",
    "expected": "expected",
    "contributions": "contributions",
}


class RequestColumns(NamedTuple):
    """What the rows of a request must look like."""

    p: int
    """number of features"""
    names: tuple[str, ...] | None
    """their names, if the model has names"""
    missing: bool
    """whether values may be missing"""

    def column(self, j: int) -> str | int:
        """Return how a column is called in messages."""
        return j if self.names is None else self.names[j]


class Table(NamedTuple):
    """The rows of a request."""

    X: FloatArray
    """(n, p), empty if there are none"""
    labels: list[Label]
    ids: list[str] | None


def media_type(header: str) -> str:
    """Return the media type of a Content-Type header."""
    return header.partition(";")[0].strip().lower()


def read_table(
    body: bytes,
    content_type: str,
    wanted: Sequence[str],
    columns: RequestColumns,
    limits: Limits,
    *,
    optional: Sequence[str] = (),
    label_column: str = "label",
    id_column: str = "id",
) -> Table:
    """Return the parts "rows", "labels" and "ids" of a request's body.

    Parameters
    ----------
    body, content_type
        As received.
    wanted, optional
        The parts that must be there, and those that may be.
    columns
        The model's features.
    limits
        Of rows.
    label_column, id_column
        Names of these columns in an Arrow table.
    """
    kind = media_type(content_type)
    allowed = (*wanted, *optional)
    if kind == JSON:
        found = _from_json(body, allowed)
    elif kind == NDJSON:
        found = _from_lines(body, allowed, limits)
    elif kind == ARROW:
        names = {"labels": label_column, "ids": id_column}
        found = read_arrow(
            body,
            {part: names[part] for part in allowed if part != "rows"},
            columns if "rows" in allowed else None,
            limits,
        )
    else:
        raise ApiError(
            415, "media_type", f"the body must be {JSON}, {NDJSON} or {ARROW}"
        )
    return _check_parts(found, wanted, columns, limits)


def _check_parts(
    found: dict[str, Any],
    wanted: Sequence[str],
    columns: RequestColumns,
    limits: Limits,
) -> Table:
    """Check the parts of a request against each other and the model."""
    for part in wanted:
        if found.get(part) is None:
            raise invalid(f"{part} are missing: send a list of them")
    sizes = {}
    for part, values in found.items():
        if values is None:
            continue
        if not isinstance(values, list | np.ndarray):
            raise invalid(f"{part} must be a list")
        sizes[part] = len(values)
        if sizes[part] > limits.max_rows:
            raise beyond(
                "max_rows", limits.max_rows, f"the request has too many {part}"
            )
    if len(set(sizes.values())) > 1:
        parts = " and ".join(f"{n} {part}" for part, n in sizes.items())
        raise invalid(f"the request has {parts}: there must be as many of each")
    if 0 in sizes.values():
        raise invalid("the request has no rows")
    rows, labels, ids = (found.get(part) for part in ("rows", "labels", "ids"))
    return Table(
        np.zeros((0, 0)) if rows is None else _as_matrix(rows, columns),
        [] if labels is None else check_labels(labels),
        None if ids is None else check_ids(ids),
    )


def parse_json(body: bytes) -> Any:
    """Return the value of a JSON text; NaN and infinities are no JSON."""
    try:
        return from_json(body, allow_inf_nan=False, cache_strings="keys")
    except ValueError as error:
        # The parser says what it expected and where, and repeats nothing.
        raise invalid(f"the body is not JSON: {error}") from None


def _from_json(body: bytes, allowed: Sequence[str]) -> dict[str, Any]:
    value = parse_json(body)
    if not isinstance(value, dict):
        raise invalid("the body must be a JSON object")
    if not value.keys() <= set(allowed):
        raise invalid(f"the body must have no other fields than {', '.join(allowed)}")
    return value


def _from_lines(body: bytes, allowed: Sequence[str], limits: Limits) -> dict[str, Any]:
    """Return the parts of a body of one JSON object per line."""
    fields = {_SINGULAR[part]: part for part in allowed}
    found: dict[str, list[Any]] = {}
    lines = [line for line in body.split(b"\n") if line.strip()]
    if len(lines) > limits.max_rows:
        raise beyond("max_rows", limits.max_rows, "the request has too many lines")
    for i, line in enumerate(lines):
        try:
            value = from_json(line, allow_inf_nan=False, cache_strings="keys")
        except ValueError:
            raise invalid(f"line {i} is not JSON", row=i) from None
        if not isinstance(value, dict) or not value.keys() <= fields.keys():
            raise invalid(
                f"line {i} must be an object with no other fields than "
                f"{', '.join(fields)}",
                row=i,
            )
        for name, part in fields.items():
            if (name in value) != (part in found) and i > 0:
                raise invalid(f"line {i} has other fields than line 0", row=i)
            if name in value:
                found.setdefault(part, []).append(value[name])
    return dict(found)


# Rows


def _as_matrix(rows: Any, columns: RequestColumns) -> FloatArray:
    """Return rows as a matrix (n, p) of numbers that a learner accepts."""
    if isinstance(rows, np.ndarray):
        X: FloatArray = rows
    else:
        X = _matrix_of_lists(rows, columns)
    bad = ~(np.abs(X) <= LARGEST)
    if columns.missing:
        bad &= ~np.isnan(X)
    if bad.any():
        row, j = divmod(int(np.argmax(bad)), columns.p)
        column = columns.column(j)
        rule = "must be a finite number, at most 1e150 in size"
        if np.isnan(X[row, j]):
            rule = "is missing (NaN or null), which this learner does not accept"
        raise invalid(f"row {row}, column {column} {rule}", row=row, column=column)
    return X


def _matrix_of_lists(rows: list[Any], columns: RequestColumns) -> FloatArray:
    """Return rows that are lists of numbers, or objects by feature name."""
    if isinstance(rows[0], dict):
        rows = _lists_of_objects(rows, columns)
    for i, row in enumerate(rows):
        if not isinstance(row, list):
            raise invalid(
                f"row {i} must be a list of numbers" + _or_object(columns), row=i
            )
        if len(row) != columns.p:
            raise invalid(
                f"row {i} has {len(row)} values; the model has {columns.p} features",
                row=i,
            )
    kinds = set(map(type, chain.from_iterable(rows)))
    if not kinds <= {float, int}:
        _refuse_values(rows, columns)
    try:
        return np.array(rows, dtype=np.float64)
    except OverflowError:
        _refuse_values(rows, columns)
        raise


def _or_object(columns: RequestColumns) -> str:
    return "" if columns.names is None else ", or an object like row 0"


def _lists_of_objects(rows: list[Any], columns: RequestColumns) -> list[Any]:
    if columns.names is None:
        raise invalid("the model's features have no names: rows must be lists", row=0)
    names, known = columns.names, set(columns.names)
    lists = []
    for i, row in enumerate(rows):
        if not isinstance(row, dict):
            raise invalid(f"row {i} must be an object, as row 0 is", row=i)
        if row.keys() != known:
            missing = next((name for name in names if name not in row), None)
            if missing is None:
                raise invalid(f"row {i} has a column that the model has not", row=i)
            raise invalid(f"row {i} has no column {missing}", row=i, column=missing)
        lists.append([row[name] for name in names])
    return lists


def _refuse_values(rows: list[Any], columns: RequestColumns) -> None:
    """Make missing values NaN where they are accepted; refuse the first bad value."""
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            if value is None and columns.missing:
                row[j] = np.nan
                continue
            wrong = type(value) not in (int, float)
            if not wrong and type(value) is int and abs(value) > LARGEST:
                wrong = True
            if wrong:
                column = columns.column(j)
                what = "a number or null" if columns.missing else "a number"
                raise invalid(
                    f"row {i}, column {column} must be {what}, at most 1e150 in size",
                    row=i,
                    column=column,
                )


# Labels and ids


def check_labels(labels: list[Any]) -> list[Label]:
    """Return labels that are all text, all integers or all booleans."""
    kind = type(labels[0])
    for i, label in enumerate(labels):
        if type(label) not in (str, int, bool):
            raise invalid(f"label {i} must be text, an integer or a boolean", row=i)
        if type(label) is not kind:
            raise invalid(f"label {i} is of another type than label 0", row=i)
        if kind is str and not _plain(label):
            raise invalid(f"label {i} {_PLAIN_RULE}", row=i)
        if kind is int and not -(2**63) <= label < 2**63:
            raise invalid(f"label {i} must fit into 64 bits", row=i)
    return labels


_PLAIN_RULE = f"must be 1 to {_LONGEST_TEXT} printable characters"


def _plain(text: str) -> bool:
    """Return whether a text is short and printable: it fits a log, a page, a file."""
    return 0 < len(text) <= _LONGEST_TEXT and text.isprintable()


def check_ids(ids: list[Any]) -> list[str]:
    """Return ids, which are texts."""
    for i, each in enumerate(ids):
        if type(each) is not str or not _plain(each):
            raise invalid(f"id {i} {_PLAIN_RULE}", row=i)
    return ids


def check_names(names: list[Any], what: str) -> tuple[str, ...]:
    """Return different names, which are texts."""
    for i, each in enumerate(names):
        if type(each) is not str or not _plain(each):
            raise invalid(f"{what} {i} {_PLAIN_RULE}", row=i)
    if len(set(names)) < len(names):
        raise invalid(f"each name in {what}s must be there only once")
    return tuple(names)


# Answers


def write_answer(answer: Mapping[str, Any], accept: str) -> tuple[bytes, str]:
    """Return an answer as bytes, and their media type, as the client prefers.

    Lists in the answer are columns of equal length; anything else is left out of
    NDJSON and Arrow answers.
    """
    writer: Callable[[dict[str, list[Any]]], bytes]
    if ARROW in accept:
        kind, writer = ARROW, write_arrow
    elif NDJSON in accept:
        kind, writer = NDJSON, _lines
    else:
        return to_json(answer), JSON
    lists = {name: value for name, value in answer.items() if isinstance(value, list)}
    for name in ("classes", "features"):
        lists.pop(name, None)
    return writer({_SINGULAR.get(name, name): lists[name] for name in lists}), kind


def _lines(columns: dict[str, list[Any]]) -> bytes:
    names = list(columns)
    rows = zip(*columns.values(), strict=True)
    lines = [to_json(dict(zip(names, row, strict=True))) for row in rows]
    return b"\n".join([*lines, b""])
