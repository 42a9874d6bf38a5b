"""Tables with non-numeric columns: the kind of each column, and rows as numbers.

Accepts pandas and polars frames, Arrow tables, and arrays or lists of Python values.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from rpnb.core.columns.categories import MOST_CATEGORIES
from rpnb.core.columns.coding import (
    MISSING_CATEGORY,
    MOST_WIDTH,
    WIDTHS,
    ColumnKind,
    category_numbers,
    date_numbers,
    is_missing,
    is_words,
    local_time,
    text_numbers,
)
from rpnb.core.kernels.arrays import FloatArray

#: Columns by their names, their numbers from 0 on, or a mask; None for none.
NamedColumns: TypeAlias = Sequence[str | int] | None
#: Parameters that name columns.
CATEGORICAL: Final = "categorical_features"
TEXT: Final = "text_features"
#: Values of `categorical_features` and `text_features` that name no column.
FROM_DTYPE: Final = "from_dtype"
AUTO: Final = "auto"


#: Largest number of values in a column of text that are examined.
_EXAMINED: Final = 20_000


@dataclass(frozen=True, slots=True)
class Columns:
    """Kinds of the columns of a table; created by `find_columns`."""

    kinds: tuple[ColumnKind, ...]
    orders: tuple[tuple[float, ...], ...] = ()
    """for each column its categories in ascending order, empty if they have none; or
    nothing, if no column has an order"""

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if kind not in WIDTHS:
                raise ValueError(f"a column must hold one of {list(WIDTHS)}")
        if self.width > max(MOST_WIDTH, len(self.kinds)):
            raise ValueError(
                f"columns of text and of dates become {self.width} columns of "
                f"numbers: at most {MOST_WIDTH} are possible"
            )
        if self.orders and len(self.orders) != len(self.kinds):
            raise ValueError("there must be an order for each column, or none at all")
        for kind, order in zip(self.kinds, self.orders, strict=False):
            if order and (
                kind != "category"
                or len(set(order)) != len(order)
                or len(order) > MOST_CATEGORIES
                or not np.isfinite(order).all()
            ):
                raise ValueError(
                    f"an order must have up to {MOST_CATEGORIES} different categories"
                )

    @property
    def orders_of_categories(self) -> tuple[tuple[float, ...], ...]:
        """The orders of the columns of categories, empty where there is none."""
        orders = self.orders or ((),) * len(self.kinds)
        pairs = zip(self.kinds, orders, strict=True)
        return tuple(order for kind, order in pairs if kind == "category")

    @property
    def width(self) -> int:
        """Number of columns of the rows as numbers."""
        return sum(WIDTHS[kind] for kind in self.kinds)

    @property
    def categories(self) -> list[int]:
        """Places of categories among the columns of the rows as numbers."""
        places, at = [], 0
        for kind in self.kinds:
            if kind == "category":
                places.append(at)
            at += WIDTHS[kind]
        return places

    def names_of(self, X: Any) -> list[Any] | None:
        """Return the name of each column of X as numbers, None if X has no names."""
        if not _is_frame(X):
            return None
        names = _Table(X).names
        pairs = zip(names, self.kinds, strict=True)
        return [name for name, kind in pairs for _ in range(WIDTHS[kind])]

    def with_missing(self, rows: Any) -> Any:
        """Return rows as numbers whose missing categories are a number, not NaN."""
        places = self.categories
        if not places or rows.dtype.kind != "f":
            return rows
        some = rows[:, places]
        missing = np.isnan(some)
        if not missing.any():
            return rows
        rows = rows.copy()
        rows[:, places] = np.where(missing, MISSING_CATEGORY, some)
        return rows

    def is_coded(self, X: Any) -> bool:
        """Return whether X is an array that `code` returned, with more columns."""
        more = self.width != len(self.kinds)
        return more and _is_numeric(X) and bool(X.shape[1:] == (self.width,))

    def code(self, X: Any) -> Any:
        """Return a table as rows of numbers (n, width), in which text is hashed.

        Numeric arrays are returned unchanged if each column becomes one column, or if
        they are already encoded: their categories are numbers already.
        """
        if _is_numeric(X):
            if self.width == len(self.kinds) or self.is_coded(X):
                return X
            j = next(j for j, kind in enumerate(self.kinds) if WIDTHS[kind] > 1)
            raise ValueError(
                f"X must be a table such as a frame of pandas: its column {j} held "
                f"{_CONTENT[self.kinds[j]]} when learning began, got an array of "
                "numbers"
            )
        table = _Table(X)
        if len(table.names) != len(self.kinds):
            raise ValueError(
                f"X has {len(table.names)} features, but the model is expecting "
                f"{len(self.kinds)} features as input"
            )
        parts = [_coded(table, j, kind) for j, kind in enumerate(self.kinds)]
        return np.concatenate(parts, axis=1)

    def refuse_numbers(self, X: Any, known: Sequence[Collection[int]]) -> None:
        """Refuse numbers in a frame's column whose categories were text.

        `known` are the keys of the categories of each such column. Numbers as text are
        other categories than the numbers.
        """
        if not _is_frame(X):
            return
        table = _Table(X)
        places = [j for j, kind in enumerate(self.kinds) if kind == "category"]
        for j, keys in zip(places, known, strict=True):
            kind = str(table.type(j)).lower()
            if not keys or not kind.startswith(("int", "uint", "float", "double")):
                continue
            numbers = np.array([*keys], np.int64).view(np.float64)
            if (np.isnan(numbers) | (numbers >= -MISSING_CATEGORY)).all():
                name = table.names[j]
                raise ValueError(
                    f"X must hold text in column {name!r}, as when learning began, got "
                    f"numbers ({table.type(j)}): use X[{name!r}].astype(str)"
                )


_CONTENT: Final[dict[ColumnKind, str]] = {
    "number": "numbers",
    "category": "categories",
    "text": "text",
    "date": "dates or times",
}


def find_columns(X: Any, categorical: Any, text: Any) -> Columns | None:
    """Return the kinds of the columns of X; None if all are numbers.

    Parameters
    ----------
    X
        The first rows.
    categorical
        "from_dtype" for columns of frames with a categorical or text type; column names
        or positions; or None for no column.
    text
        "auto" for columns of text, more than half of whose values have five words or
        more; column names or positions; or None for no column.
    """
    named = _is_named(categorical, CATEGORICAL, FROM_DTYPE)
    words = _is_named(text, TEXT, AUTO)
    if issparse(X):
        if named or words:
            raise ValueError(
                "categorical_features and text_features name columns, but X is "
                "sparse, and holds numbers only"
            )
        return None
    if _is_numeric(X) and not named and not words:
        return None
    if not named and not words and not _is_mixed(X):
        return None
    table = _Table(X)
    kinds = [_kind(table, j, categorical, text) for j in range(len(table.names))]
    of_categories = _places(categorical if named else (), CATEGORICAL, table.names)
    of_words = _places(text if words else (), TEXT, table.names)
    both = set(of_categories) & set(of_words)
    if both:
        name = table.names[min(both)]
        raise ValueError(f"column {name!r} is in {CATEGORICAL} and in {TEXT}")
    orders = [() if each == "text" else table.order(j) for j, each in enumerate(kinds)]
    for j in of_categories:
        kinds[j] = "category"
        orders[j] = ()  # a column that the user lists has no order
    for j in of_words:
        kinds[j] = "text"
        orders[j] = ()
    if all(kind == "number" for kind in kinds):
        return None
    return Columns(tuple(kinds), tuple(orders) if any(orders) else ())


def unnamed_texts(
    X: Any, columns: Columns, categorical: Any, text: Any
) -> dict[Any, list[str]]:
    """Return the first texts of a frame's columns of text that no parameter names."""
    if not _is_frame(X):
        return {}
    table = _Table(X)
    named = _is_named(categorical, CATEGORICAL, FROM_DTYPE)
    listed = _places(categorical if named else (), CATEGORICAL, table.names)
    named = _is_named(text, TEXT, AUTO)
    listed += _places(text if named else (), TEXT, table.names)
    return {
        table.names[j]: table.texts(j)
        for j, kind in enumerate(columns.kinds)
        if kind in ("category", "text") and j not in listed
    }


def plain_table(X: Any) -> tuple[list[str], list[list[Any]]] | None:
    """Return the names of a frame's columns and its rows as plain Python values.

    Missing values are None, and dates are ISO 8601 strings. Returns None for anything
    but a frame, and for a frame of numbers, which is equivalent to an array.
    """
    if not _is_frame(X) or not _is_mixed(X):
        return None
    table = _Table(X)
    columns = []
    for j in range(len(table.names)):
        kind = _natural_kind(table, j)
        values = table.objects(j)
        if kind == "date":
            values = table.times(j).tolist()
            columns.append([each and each.isoformat() for each in values])
        elif kind == "number":
            numbers = table.numbers(j).tolist()
            columns.append([None if each != each else each for each in numbers])
        else:
            columns.append([None if is_missing(each) else each for each in values])
    return [str(name) for name in table.names], [
        list(row) for row in zip(*columns, strict=True)
    ]


def named_to_json(categorical: Any, text: Any) -> dict[str, Any]:
    """Return the parameters that name columns as JSON values."""
    return {
        name: None if given is None else np.asarray(given).tolist()
        for name, given in ((CATEGORICAL, categorical), (TEXT, text))
    }


def names_columns(categorical: Any, text: Any) -> bool:
    """Return whether one of the two parameters names columns."""
    named = _is_named(categorical, CATEGORICAL, FROM_DTYPE)
    return _is_named(text, TEXT, AUTO) or named


def _is_named(given: Any, name: str, word: str) -> bool:
    """Return whether a parameter names columns; refuse invalid values."""
    if given is None or (isinstance(given, str) and given == word):
        return False
    sequence = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
    if not sequence or not all(
        isinstance(each, str | int | np.integer | bool | np.bool_) for each in given
    ):
        raise ValueError(
            f"{name} must be {word!r}, None, or a list of the names or numbers of "
            f"columns, got {given!r}"
        )
    return True


def _places(given: Any, name: str, names: Sequence[Any]) -> list[int]:
    """Return the columns that names, numbers or a mask stand for."""
    listed = list(given)
    if listed and all(isinstance(each, bool | np.bool_) for each in listed):
        if len(listed) != len(names):
            raise ValueError(
                f"{name} is a mask of {len(listed)} columns, but X has {len(names)}"
            )
        return [j for j, chosen in enumerate(listed) if chosen]
    found = []
    for each in listed:
        if isinstance(each, str):
            if each not in names:
                raise ValueError(f"{name} names {each!r}, which is not a column of X")
            found.append(list(names).index(each))
        elif 0 <= int(each) < len(names):
            found.append(int(each))
        else:
            raise ValueError(
                f"{name} must have numbers from 0 to {len(names) - 1}, got {each!r}"
            )
    return found


def _is_numeric(X: Any) -> bool:
    """Return whether X is an array of numbers."""
    return isinstance(X, np.ndarray) and X.dtype.kind in "fiub"


def _is_mixed(X: Any) -> bool:
    """Return whether X is a frame with a column that holds no numbers."""
    if not _is_frame(X) or len(X.shape) != 2:
        return False
    table = _Table(X)
    return any(_natural_kind(table, j) != "number" for j in range(len(table.names)))


def _is_frame(X: Any) -> bool:
    return hasattr(X, "column_names") or (
        hasattr(X, "columns") and hasattr(X, "dtypes")
    )


def _kind(table: "_Table", j: int, categorical: Any, text: Any) -> ColumnKind:
    """Return the kind of a column that no parameter names."""
    kind = _natural_kind(table, j)
    if kind == "text":
        is_text = isinstance(text, str) and text == AUTO and table.holds_words(j)
        kind = "text" if is_text else "category"
    if kind == "category" and categorical is None:
        raise ValueError(
            f"column {table.names[j]!r} holds categories or text, and "
            "categorical_features is None: set categorical_features='from_dtype', or "
            "leave the column out"
        )
    return kind


def _natural_kind(table: "_Table", j: int) -> ColumnKind:
    """Return the kind of a column by its type; "text" for any text."""
    kind = table.type(j)
    words = str(kind).lower()
    if hasattr(kind, "categories") or words.startswith(
        ("categorical", "enum", "dictionary")
    ):
        return "category"
    if words.startswith(("string", "str", "utf8", "large_string", "<u")):
        return "text"
    if words.startswith(("datetime", "date", "timestamp", "<m8", "m8")):
        return "date"
    if words == "object":
        for value in table.objects(j):
            if isinstance(value, str):
                return "text"
            if isinstance(value, date):
                return "date"
    return "number"


class _Table:
    """A frame of pandas or polars, a table of Arrow, or rows of Python values."""

    def __init__(self, X: Any) -> None:
        if not _is_frame(X):
            X = _as_objects(X)
            self.names: list[Any] = list(range(X.shape[1]))
        else:
            names = getattr(X, "column_names", None)
            self.names = list(X.columns if names is None else names)
        self._X = X

    def column(self, j: int) -> Any:
        """Return a column by its position, since names may occur twice."""
        X = self._X
        if isinstance(X, np.ndarray):
            return X[:, j]
        if hasattr(X, "iloc"):
            return X.iloc[:, j]
        return X.to_series(j) if hasattr(X, "to_series") else X.column(j)

    def type(self, j: int) -> Any:
        """Return the type of a column."""
        column = self.column(j)
        return column.type if hasattr(column, "type") else column.dtype

    def order(self, j: int) -> tuple[float, ...]:
        """Return the numbers of a column's categories in order; () without an order."""
        kind = self.type(j)
        if not getattr(kind, "ordered", False):
            return ()
        listed = getattr(kind, "categories", None)  # pandas has them in the type
        if listed is None:
            chunks = getattr(self.column(j), "chunks", [])
            if not chunks or any(c.dictionary != chunks[0].dictionary for c in chunks):
                return ()
            listed = chunks[0].dictionary.to_pylist()
        numbers = category_numbers(listed)
        if (
            not 2 < numbers.shape[0] <= MOST_CATEGORIES
            or not np.isfinite(numbers).all()
        ):
            return ()
        return tuple(numbers.tolist())

    def texts(self, j: int) -> list[str]:
        """Return the first values of a column that are not missing, if it is text."""
        if _natural_kind(self, j) != "text":
            return []
        there = (each for each in self.objects(j) if not is_missing(each))
        return [str(each) for each in islice(there, _EXAMINED)]

    def holds_words(self, j: int) -> bool:
        """Return whether more than half of the first values of a column are text."""
        texts = self.texts(j)
        return 2 * sum(map(is_words, texts)) > len(texts)

    def objects(self, j: int) -> list[Any]:
        """Return the values of a column as Python objects."""
        column = self.column(j)
        for name in ("to_pylist", "to_list", "tolist"):
            if hasattr(column, name):
                values: list[Any] = getattr(column, name)()
                return values
        return list(column)

    def numbers(self, j: int) -> FloatArray:
        """Return a column of numbers, missing ones as NaN."""
        kind = str(self.type(j)).lower()
        column = self.column(j)
        plain = getattr(self.type(j), "kind", "O") in "fiub"
        if plain and isinstance(getattr(column, "dtype", None), np.dtype):
            return np.asarray(column, np.float64)
        numeric = kind.startswith(("int", "uint", "float", "double"))
        if numeric and not hasattr(column, "iloc"):
            return np.array(column.to_numpy(), np.float64)
        return np.array([_as_number(value) for value in self.objects(j)], np.float64)

    def times(self, j: int) -> NDArray[np.datetime64]:
        """Return a column of dates and times, in local time if it has a time zone."""
        values = [
            None if is_missing(value) else _without_zone(value)
            for value in self.objects(j)
        ]
        return np.array(values, "M8[us]")


def _without_zone(value: Any) -> Any:
    if isinstance(value, str):
        return local_time(value.strip())
    if hasattr(value, "to_pydatetime"):
        value = value.to_pydatetime(warn=False)
    return value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value


def _as_number(value: Any) -> float:
    return np.nan if is_missing(value) else float(value)


def _as_objects(X: Any) -> NDArray[Any]:
    """Return rows of Python values, or of numbers, as an array (n, p)."""
    if isinstance(X, np.ndarray):
        rows = X
    else:
        listed = [list(row) for row in X]
        rows = np.empty((len(listed), len(listed[0]) if listed else 0), object)
        for i, row in enumerate(listed):
            if len(row) != rows.shape[1]:
                raise ValueError(
                    "all rows of X must have the same number of values, got "
                    f"{len(row)} in row {i} and {rows.shape[1]} in row 0"
                )
            rows[i] = row
    if rows.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {rows.ndim}")
    return rows


def _coded(table: _Table, j: int, kind: ColumnKind) -> FloatArray:
    """Return a column as numbers (n, WIDTHS[kind]), or raise an error that names it."""
    name = table.names[j]
    try:
        if kind == "number":
            return table.numbers(j)[:, None]
        if kind == "category":
            return _category_numbers(table, j)[:, None]
        if kind == "text":
            return text_numbers(table.objects(j))
        return date_numbers(table.times(j))
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        row = _first_bad(table.objects(j), kind)
        value = table.objects(j)[row]
        raise ValueError(
            f"X must hold {_CONTENT[kind]} in column {name!r}, "
            f"{_reason(value, kind)}, got {value!r:.80} in row {row}"
        ) from error


def _reason(value: Any, kind: ColumnKind) -> str:
    """Return why a value is refused in a column of this kind, and what to do."""
    if kind != "number" or isinstance(value, str | bytes | date):
        return "as in the first rows"
    if isinstance(value, timedelta | np.timedelta64):
        return "so convert durations, for example to seconds"
    return "text, categories or dates"


def _category_numbers(table: _Table, j: int) -> FloatArray:
    """Return the numbers of categories; listed ones are numbered by their list."""
    column = table.column(j)
    listed = getattr(column, "cat", None)
    if listed is not None and hasattr(listed, "codes"):  # pandas
        numbers = category_numbers([*listed.categories, None])
        return numbers[np.asarray(listed.codes)]
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        return column.astype(np.float64)
    return category_numbers(table.objects(j))


def _first_bad(values: list[Any], kind: ColumnKind) -> int:
    """Return the first row whose value is not of the column's kind."""
    for row, value in enumerate(values):
        try:
            if kind == "number":
                _as_number(value)
            elif kind == "category":
                category_numbers([value])
            elif not is_missing(value):
                np.array([_without_zone(value)], "M8[us]")
                if not isinstance(value, date | np.datetime64):
                    return row
        except (TypeError, ValueError, AttributeError, OverflowError):
            return row
    return 0
