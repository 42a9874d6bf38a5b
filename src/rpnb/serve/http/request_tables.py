"""Rows, labels and ids of a request, checked and collected part by part.

In every format they are decoded some at a time, so that only a small part of a request
exists as Python objects, and limits are checked before memory is allocated.
"""

import sys
from collections.abc import Sequence
from datetime import datetime
from itertools import chain, islice
from typing import Any, NamedTuple, NoReturn, final

import numpy as np

from rpnb._core.streams import LARGEST
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
from rpnb.serve.label_rules import (
    LONGEST_TEXT,
    Label,
    check_ids,
    check_label_values,
)
from rpnb.serve.limits import Limits, beyond, invalid

#: The body of a request.
Bytes = bytes | bytearray

#: Most bytes of a character in UTF-8.
LONGEST_CHARACTER = 4
# Most names of categories that are kept from a request.
_MOST_CATEGORIES = 1_000
# Copies of the rows: parts, joined, in the transaction, in the learner.
_COPIES = 4


class RequestColumns(NamedTuple):
    """Columns that the rows of a request must have."""

    p: int
    """number of features"""
    names: tuple[str, ...] | None
    """names of the features, if the model has names"""
    missing: bool
    """whether values may be missing"""
    kinds: tuple[ColumnKind, ...] = ()
    """kind of each column; empty if all are numbers"""

    @property
    def width(self) -> int:
        """Number of columns after coding: text and dates take several."""
        return sum(WIDTHS[kind] for kind in self.kinds) or self.p

    @property
    def longest_text(self) -> int:
        """Most bytes of all texts of a row."""
        return self.kinds.count("text") * LONGEST_CHARACTER * LONGEST_READ

    def places(self, kind: ColumnKind) -> list[int]:
        """Return the numbers of the columns of a kind."""
        return [j for j, each in enumerate(self.kinds) if each == kind]

    def origin(self, place: int) -> int:
        """Return the column from which a coded column comes."""
        for j, kind in enumerate(self.kinds):
            place -= WIDTHS[kind]
            if place < 0:
                return j
        return place

    def column(self, j: int) -> str | int:
        """Return the name of a column for messages, or its number."""
        return j if self.names is None else self.names[j]


class Table(NamedTuple):
    """Rows, labels and ids of a request."""

    X: FloatArray
    """(n, p); empty if there are none"""
    labels: list[Label]
    ids: list[str] | None
    categories: dict[float, str]
    """names of some categories, by their codes"""


@final
class TableParts:
    """Collects the parts "rows", "labels" and "ids" of a request.

    Parameters
    ----------
    wanted, optional
        Required and optional parts.
    columns
        Features of the model.
    limits
        Limits of the service.
    memory
        Memory charge of the request.
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
        """number of values so far, by part"""
        self._rows: list[FloatArray] = []
        self._categories: dict[float, str] = {}
        self._by_name: bool | None = None
        self._texts: dict[str, list[Any]] = {"labels": [], "ids": []}
        self._kind: type | None = None

    def expect(self, part: str, more: int) -> None:
        """Refuse too many values of a part before they are decoded.

        Rows are limited by the number of their values, too.
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
        """Charge the memory of more rows before they become a matrix."""
        self.expect("rows", n)
        self.memory.add(8 * n * self.columns.width * _COPIES)

    def add(self, part: str, values: Any) -> None:
        """Check and keep some values of a part.

        Rows are lists, objects by feature name, or a matrix for which memory has been
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
                X = _matrix_of_lists(values, self.columns, start, self._by_name, self)
            else:
                X = values
            _check_values(X, self.columns, start)
            self._rows.append(X)
        else:
            self.memory.add(sum(map(sys.getsizeof, values)) + 16 * n)
            if part == "labels":
                self._kind = self._kind or type(values[0])
                check_label_values(values, start, self._kind)
            else:
                check_ids(values, start)
            self._texts[part] += values
        self.counts[part] = start + n

    def note_categories(self, numbers: FloatArray, values: list[Any]) -> None:
        """Keep the names of categories that are text, up to a limit."""
        room = _MOST_CATEGORIES - len(self._categories)
        named = zip(numbers.tolist(), values, strict=True)
        new = ((n, name[:LONGEST_TEXT]) for n, name in named if type(name) is str)
        self._categories.update(islice(new, max(room, 0)))

    def table(self) -> Table:
        """Return all parts, which must have the same number of values."""
        for part in self.wanted:
            if part not in self.counts:
                raise invalid(f"{part} are missing: send a list")
        if len(set(self.counts.values())) > 1:
            parts = " and ".join(f"{n} {part}" for part, n in self.counts.items())
            raise invalid(f"the request has {parts}: the numbers must be equal")
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
            self._categories,
        )


# Rows


def _check_values(X: FloatArray, columns: RequestColumns, start: int) -> None:
    """Refuse values that no learner accepts; X begins with row `start`."""
    bad = ~(np.abs(X) <= LARGEST)
    if columns.missing:
        bad &= ~np.isnan(X)
    if bad.any():
        row, j = divmod(int(np.argmax(bad)), X.shape[1])
        column = columns.column(columns.origin(j) if columns.kinds else j)
        rule = f"must be a finite number, at most {LARGEST:.0e} in magnitude"
        if np.isnan(X[row, j]):
            rule = "is missing (NaN or null), which this learner does not accept"
        row += start
        raise invalid(f"row {row}, column {column} {rule}", row=row, column=column)


def _matrix_of_lists(
    rows: list[Any],
    columns: RequestColumns,
    start: int,
    by_name: bool,
    parts: TableParts,
) -> FloatArray:
    """Return the matrix of rows that are lists, or objects by feature name."""
    if by_name:
        rows = _lists_of_objects(rows, columns, start)
    for i, row in enumerate(rows, start):
        if not isinstance(row, list):
            raise invalid(
                f"row {i} must be a list of numbers" + _or_object(columns), row=i
            )
        if len(row) != columns.p:
            raise invalid(
                f"row {i} has {len(row)} values, but the model has {columns.p} "
                f"feature{'' if columns.p == 1 else 's'}",
                row=i,
            )
    if columns.kinds:
        rows = [list(row) for row in rows]
        for j in columns.places("category"):
            _number_categories(rows, j, parts)
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
    """Return the codes of a column of text or dates; in `rows` it becomes zeros."""
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
    """Return the local date and time of a text in ISO 8601."""
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
    """Refuse the first value of another type; null is accepted if `missing`."""
    for i, value in enumerate(values, start):
        if not (type(value) is kind or (value is None and missing)):
            _refuse_value(i, j, what, columns)


def _refuse_value(i: int, j: int, what: str, columns: RequestColumns) -> NoReturn:
    column = columns.column(j)
    raise invalid(f"row {i}, column {column} must be {what}", row=i, column=column)


def _numbers_of_lists(
    rows: list[Any], columns: RequestColumns, start: int
) -> FloatArray:
    """Return the matrix (n, p) of rows of numbers."""
    kinds = set(map(type, chain.from_iterable(rows)))
    if not kinds <= {float, int}:
        _refuse_values(rows, columns, start)
    try:
        return np.array(rows, dtype=np.float64)
    except OverflowError:
        _refuse_values(rows, columns, start)
        raise


def _number_categories(rows: list[list[Any]], j: int, parts: TableParts) -> None:
    """Replace the text categories of a column by their codes."""
    coded = [row for row in rows if type(row[j]) in (str, bool)]
    values = [row[j] for row in coded]
    numbers = category_numbers(values)
    parts.note_categories(numbers, values)
    for row, number in zip(coded, numbers.tolist(), strict=True):
        row[j] = number


def _or_object(columns: RequestColumns) -> str:
    return "" if columns.names is None else ", or an object like row 0"


def _lists_of_objects(
    rows: list[Any], columns: RequestColumns, start: int
) -> list[Any]:
    """Return rows as lists in the order of the columns; refuse other columns."""
    if columns.names is None:
        raise invalid(
            "the features of the model have no names: rows must be lists", row=0
        )
    names, known = columns.names, set(columns.names)
    lists = []
    for i, row in enumerate(rows, start):
        if not isinstance(row, dict):
            raise invalid(f"row {i} must be an object like row 0", row=i)
        if row.keys() != known:
            missing = next((name for name in names if name not in row), None)
            if missing is None:
                raise invalid(
                    f"row {i} has a column that the model does not have", row=i
                )
            raise invalid(f"row {i} has no column {missing}", row=i, column=missing)
        lists.append([row[name] for name in names])
    return lists


def _refuse_values(rows: list[Any], columns: RequestColumns, start: int) -> None:
    """Replace null by NaN if the model accepts it; refuse other bad values."""
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
                remedy = ""
                if columns.kinds and columns.kinds[j] == "category":
                    what = f"text, {what}"
                elif isinstance(value, str):
                    remedy = "; columns of text, categories or dates are named as such "
                    remedy += "when the model is created"
                raise invalid(
                    f"row {i}, column {column} must be {what}, at most {LARGEST:.0e} "
                    f"in magnitude{remedy}",
                    row=i,
                    column=column,
                )
