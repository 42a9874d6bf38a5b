"""Rows, labels and ids of a request: checked and collected part by part.

Whatever format they come in, they are decoded some at a time, so that no more than a
small part of a request is ever there as Python objects, and limits hold before anything
is allocated.
"""

import sys
from collections.abc import Sequence
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple, NoReturn, final

import numpy as np

from rpnb.core.columns.coding import (
    LONGEST_READ,
    WIDTHS,
    ColumnKind,
    category_numbers,
    date_numbers,
    text_numbers,
)
from rpnb.core.kernels.arrays import FloatArray
from rpnb.serve.http.memory import MemoryCharge
from rpnb.serve.limits import Limits, beyond, invalid

Label = str | int | bool
#: The body of a request.
Bytes = bytes | bytearray

LARGEST = 1e150
#: Bytes that a character of UTF-8 has at most.
LONGEST_CHARACTER = 4
LONGEST_TEXT = 200
# Copies of the rows: joined, in the log's transaction, in the learner.
_COPIES = 4


class RequestColumns(NamedTuple):
    """What the rows of a request must look like."""

    p: int
    """number of features"""
    names: tuple[str, ...] | None
    """their names, if the model has names"""
    missing: bool
    """whether values may be missing"""
    kinds: tuple[ColumnKind, ...] = ()
    """what each column holds; nothing if all are numbers"""

    @property
    def width(self) -> int:
        """Number of columns of the rows as numbers, in which text is hashed."""
        return sum(WIDTHS[kind] for kind in self.kinds) or self.p

    @property
    def longest_text(self) -> int:
        """Bytes that the texts of a row may have in all."""
        return self.kinds.count("text") * LONGEST_CHARACTER * LONGEST_READ

    def places(self, kind: ColumnKind) -> list[int]:
        """Return the columns of a kind."""
        return [j for j, each in enumerate(self.kinds) if each == kind]

    def origin(self, place: int) -> int:
        """Return the column that a column of the rows as numbers comes from."""
        for j, kind in enumerate(self.kinds):
            place -= WIDTHS[kind]
            if place < 0:
                return j
        return place

    def column(self, j: int) -> str | int:
        """Return how a column is called in messages."""
        return j if self.names is None else self.names[j]


class Table(NamedTuple):
    """The rows of a request."""

    X: FloatArray
    """(n, p), empty if there are none"""
    labels: list[Label]
    ids: list[str] | None


@final
class TableParts:
    """The parts "rows", "labels" and "ids" of a request, as they are decoded.

    Parameters
    ----------
    wanted, optional
        The parts that must be there, and those that may be.
    columns
        The model's features.
    limits
        Of rows and values.
    memory
        What is decoded is charged to it.
    """

    def __init__(
        self,
        wanted: Sequence[str],
        optional: Sequence[str],
        columns: RequestColumns,
        limits: Limits,
        memory: MemoryCharge,
    ) -> None:
        self.wanted, self.allowed = tuple(wanted), (*wanted, *optional)
        self.columns, self.limits, self.memory = columns, limits, memory
        self.counts: dict[str, int] = {}
        """Values so far, by part."""
        self._rows: list[FloatArray] = []
        self._by_name: bool | None = None
        self._texts: dict[str, list[Any]] = {"labels": [], "ids": []}
        self._kind: type | None = None

    def expect(self, part: str, more: int) -> None:
        """Refuse more values of a part than a request may have, before they are made.

        Of rows also those that have too many values together.
        """
        n, limits = self.counts.get(part, 0) + more, self.limits
        if n > limits.max_rows:
            raise beyond(
                "max_rows", limits.max_rows, f"the request has too many {part}"
            )
        if part == "rows" and n * self.columns.width > limits.max_values:
            raise beyond(
                "max_values", limits.max_values, "the request has too many values"
            )

    def reserve_rows(self, n: int) -> None:
        """Charge the memory of more rows, before they are a matrix."""
        self.expect("rows", n)
        self.memory.add(8 * n * self.columns.width * _COPIES)

    def add(self, part: str, values: Any) -> None:
        """Check some values of a part, and keep them.

        Rows are lists, objects by feature name, or a matrix for which memory was
        reserved.
        """
        if not isinstance(values, list | np.ndarray):
            raise invalid(f"{part} must be a list")
        n = len(values)
        self.expect(part, n)
        start = self.counts.setdefault(part, 0)
        if n == 0:
            return
        if part == "rows":
            if isinstance(values, list):
                self.reserve_rows(n)
                if self._by_name is None:
                    self._by_name = isinstance(values[0], dict)
                X = _matrix_of_lists(values, self.columns, start, self._by_name)
            else:
                X = values
            _check_values(X, self.columns, start)
            self._rows.append(X)
        else:
            self.memory.add(sum(map(sys.getsizeof, values)) + 16 * n)
            if part == "labels":
                self._kind = self._kind or type(values[0])
                check_labels(values, start, self._kind)
            else:
                check_ids(values, start)
            self._texts[part] += values
        self.counts[part] = start + n

    def table(self) -> Table:
        """Return the whole, if the parts fit each other."""
        for part in self.wanted:
            if part not in self.counts:
                raise invalid(f"{part} are missing: send a list of them")
        if len(set(self.counts.values())) > 1:
            parts = " and ".join(f"{n} {part}" for part, n in self.counts.items())
            raise invalid(f"the request has {parts}: there must be as many of each")
        if 0 in self.counts.values():
            raise invalid("the request has no rows")
        rows = self._rows
        return Table(
            np.zeros((0, 0))
            if not rows
            else rows[0]
            if len(rows) == 1
            else np.concatenate(rows),
            self._texts["labels"],
            self._texts["ids"] if "ids" in self.counts else None,
        )


# Rows


def _check_values(X: FloatArray, columns: RequestColumns, start: int) -> None:
    """Refuse numbers that no learner accepts; X begins with row `start`."""
    bad = ~(np.abs(X) <= LARGEST)
    if columns.missing:
        bad &= ~np.isnan(X)
    if bad.any():
        row, j = divmod(int(np.argmax(bad)), X.shape[1])
        column = columns.column(columns.origin(j) if columns.kinds else j)
        rule = "must be a finite number, at most 1e150 in size"
        if np.isnan(X[row, j]):
            rule = "is missing (NaN or null), which this learner does not accept"
        row += start
        raise invalid(f"row {row}, column {column} {rule}", row=row, column=column)


def _matrix_of_lists(
    rows: list[Any], columns: RequestColumns, start: int, by_name: bool
) -> FloatArray:
    """Return rows that are lists of numbers, or objects by feature name."""
    if by_name:
        rows = _lists_of_objects(rows, columns, start)
    for i, row in enumerate(rows, start):
        if not isinstance(row, list):
            raise invalid(
                f"row {i} must be a list of numbers" + _or_object(columns), row=i
            )
        if len(row) != columns.p:
            raise invalid(
                f"row {i} has {len(row)} values; the model has {columns.p} features",
                row=i,
            )
    if columns.kinds:
        categories = columns.places("category")
        rows = [_with_numbers(row, categories) for row in rows]
    wide = {
        j: _coded(rows, j, kind, columns, start)
        for j, kind in enumerate(columns.kinds)
        if WIDTHS[kind] > 1
    }
    X = _numbers_of_lists(rows, columns, start)
    if not wide:
        return X
    return np.concatenate(
        [wide.get(j, X[:, j : j + 1]) for j in range(columns.p)], axis=1
    )


def _coded(
    rows: list[Any], j: int, kind: ColumnKind, columns: RequestColumns, start: int
) -> FloatArray:
    """Return a column of text or dates as numbers; rows have zeros in its place."""
    values = [row[j] for row in rows]
    for row in rows:
        row[j] = 0
    if kind == "text":
        _refuse_unless(values, str, "text or null", j, columns, start)
        return text_numbers(values)
    what = "a date such as 2026-01-31T12:00:00" + (" or null" * columns.missing)
    _refuse_unless(values, str, what, j, columns, start, missing=columns.missing)
    times: list[datetime | None] = []
    for i, value in enumerate(values, start):
        try:
            times.append(None if value is None else read_time(value))
        except ValueError:
            _refuse_value(i, j, what, columns)
    return date_numbers(np.array(times, "M8[us]"))


def read_time(text: str) -> datetime:
    """Return the date and time of a text of ISO 8601, local if it has a zone."""
    return datetime.fromisoformat(text).replace(tzinfo=None)


def _refuse_unless(
    values: list[Any],
    kind: type,
    what: str,
    j: int,
    columns: RequestColumns,
    start: int,
    *,
    missing: bool = True,
) -> None:
    """Refuse the first value of another type; missing ones may be accepted."""
    for i, value in enumerate(values, start):
        if not (type(value) is kind or (value is None and missing)):
            _refuse_value(i, j, what, columns)


def _refuse_value(i: int, j: int, what: str, columns: RequestColumns) -> NoReturn:
    column = columns.column(j)
    raise invalid(f"row {i}, column {column} must be {what}", row=i, column=column)


def _numbers_of_lists(
    rows: list[Any], columns: RequestColumns, start: int
) -> FloatArray:
    """Return rows of numbers (n, p)."""
    kinds = set(map(type, chain.from_iterable(rows)))
    if not kinds <= {float, int}:
        _refuse_values(rows, columns, start)
    try:
        return np.array(rows, dtype=np.float64)
    except OverflowError:
        _refuse_values(rows, columns, start)
        raise


def _with_numbers(row: list[Any], categories: list[int]) -> list[Any]:
    """Return a row whose categories are numbers: of text, that of its hash."""
    row = list(row)
    for j in categories:
        if type(row[j]) in (str, bool):
            row[j] = float(category_numbers(row[j : j + 1])[0])
    return row


def _or_object(columns: RequestColumns) -> str:
    return "" if columns.names is None else ", or an object like row 0"


def _lists_of_objects(
    rows: list[Any], columns: RequestColumns, start: int
) -> list[Any]:
    if columns.names is None:
        raise invalid("the model's features have no names: rows must be lists", row=0)
    names, known = columns.names, set(columns.names)
    lists = []
    for i, row in enumerate(rows, start):
        if not isinstance(row, dict):
            raise invalid(f"row {i} must be an object, as row 0 is", row=i)
        if row.keys() != known:
            missing = next((name for name in names if name not in row), None)
            if missing is None:
                raise invalid(f"row {i} has a column that the model has not", row=i)
            raise invalid(f"row {i} has no column {missing}", row=i, column=missing)
        lists.append([row[name] for name in names])
    return lists


def _refuse_values(rows: list[Any], columns: RequestColumns, start: int) -> None:
    """Make missing values NaN where they are accepted; refuse the first bad value."""
    for i, row in enumerate(rows, start):
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
                if columns.kinds and columns.kinds[j] == "category":
                    what = f"text, {what}"
                raise invalid(
                    f"row {i}, column {column} must be {what}, at most 1e150 in size",
                    row=i,
                    column=column,
                )


# Labels and ids


def check_labels(labels: Any, start: int = 0, kind: Any = None) -> list[Label]:
    """Return labels that are all text, all integers or all booleans.

    They are those from number `start` on; the first of all is of type `kind`.
    """
    kind = kind or type(labels[0])
    for i, label in enumerate(labels, start):
        if type(label) not in (str, int, bool):
            raise invalid(f"label {i} must be text, an integer or a boolean", row=i)
        if type(label) is not kind:
            raise invalid(f"label {i} is of another type than label 0", row=i)
        if kind is str and not _plain(label):
            raise invalid(f"label {i} {_PLAIN_RULE}", row=i)
        if kind is int and not -(2**63) <= label < 2**63:
            raise invalid(f"label {i} must fit into 64 bits", row=i)
    found: list[Label] = labels
    return found


_PLAIN_RULE = f"must be 1 to {LONGEST_TEXT} printable characters"


def _plain(text: str) -> bool:
    """Return whether a text is short and printable: it fits a log, a page, a file."""
    return 0 < len(text) <= LONGEST_TEXT and text.isprintable()


def check_ids(ids: Any, start: int = 0) -> list[str]:
    """Return ids from number `start` on, which are texts."""
    for i, each in enumerate(ids, start):
        if type(each) is not str or not _plain(each):
            raise invalid(f"id {i} {_PLAIN_RULE}", row=i)
    found: list[str] = ids
    return found


def check_names(names: list[Any], what: str) -> tuple[str, ...]:
    """Return different names, which are texts."""
    for i, each in enumerate(names):
        if type(each) is not str or not _plain(each):
            raise invalid(f"{what} {i} {_PLAIN_RULE}", row=i)
    if len(set(names)) < len(names):
        raise invalid(f"each name in {what}s must be there only once")
    return tuple(names)
