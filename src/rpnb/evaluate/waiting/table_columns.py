"""Columns of a table as numbers, and the cells in which values are counted."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

import numpy as np
from scipy.sparse import issparse

from rpnb.core.columns.coding import WIDTHS, ColumnKind
from rpnb.core.kernels.arrays import FloatArray, IntArray

#: Categories by their number, of which a mapping need not name all; or a function that
#: writes a number.
CategoryNames: TypeAlias = Sequence[Any] | Mapping[float, Any] | Callable[[float], str]
#: Number of cells between quantiles, and most values that have their own cell.
N_QUANTILES: Final = 10
#: Largest number of categories that have their own cell.
N_CATEGORIES: Final = 30
#: Name of the values that have no cell, or no number.
OTHERS: Final = "other values"
# Largest number of categories with a number; all others share one.
_MOST_VALUES: Final = 1000


@final
@dataclass(frozen=True)
class Cells:
    """Cells of one column, chosen from the values of a reference window.

    With `values`, there is one cell for each of them, in this order, then one for other
    values and one for missing ones. Otherwise cells lie between `edges`, where an edge
    belongs to the cell below it, followed by cells for values below `low`, for values
    above `high` and for missing ones.
    """

    values: FloatArray | None
    edges: FloatArray
    low: float
    high: float

    @classmethod
    def of(cls, column: FloatArray, categorical: bool) -> "Cells":
        """Choose cells: the most frequent values, or quantiles if there are many."""
        there = np.sort(column[~np.isnan(column)])
        values, counts = np.unique(there, return_counts=True)
        none = np.zeros(0)
        if categorical or len(values) <= N_QUANTILES:
            order = np.argsort(-counts, kind="stable")[:N_CATEGORIES]
            return cls(np.sort(values[order]), none, 0.0, 0.0)
        ranks = np.arange(1, N_QUANTILES) * len(there) // N_QUANTILES
        edges = np.unique(there[ranks])
        low, high = float(there[0]), float(there[-1])
        return cls(None, edges[edges < high], low, high)

    def __len__(self) -> int:
        return len(self.edges) + 4 if self.values is None else len(self.values) + 2

    def find(self, column: FloatArray) -> IntArray:
        """Return the number of the cell of each value."""
        missing = np.isnan(column)
        if self.values is not None:
            k = len(self.values)
            at = np.minimum(np.searchsorted(self.values, column), max(k - 1, 0))
            same = self.values[at] == column if k else np.zeros(len(column), np.bool_)
            cells = np.where(same, at, k)
        else:
            k = len(self.edges)
            cells = np.searchsorted(self.edges, column)
            cells = np.where(column < self.low, k + 1, cells)
            cells = np.where(column > self.high, k + 2, cells)
        return np.where(missing, len(self) - 1, cells)

    def count(self, column: FloatArray) -> IntArray:
        """Return the number of values in each cell."""
        return np.bincount(self.find(column), minlength=len(self))

    def main_other(self, column: FloatArray) -> float:
        """Return the value of more than half of the other values, NaN if none is."""
        if self.values is None:
            return np.nan
        others = column[self.find(column) == len(self.values)]
        values, counts = np.unique(others, return_counts=True)
        if 2 * counts.max(initial=0) <= len(others):
            return np.nan
        return float(values[counts.argmax()])

    def text(
        self, cell: int, labels: CategoryNames | None = None, other: float = np.nan
    ) -> str:
        """Describe a cell.

        `labels` are the categories by their number, `other` is the value of most of
        the other values.
        """
        if cell == len(self) - 1:
            return "missing"
        if self.values is not None:
            if cell < len(self.values):
                return _value_text(float(self.values[cell]), labels)
            name = "" if np.isnan(other) else _value_text(other, labels)
            return f"{OTHERS}, mostly {name}" if name not in ("", OTHERS) else OTHERS
        write = labels if callable(labels) else "{:g}".format
        k = len(self.edges)
        if cell > k:
            return (
                f"below {write(self.low)}"
                if cell == k + 1
                else f"above {write(self.high)}"
            )
        low = float(self.edges[cell - 1]) if cell else self.low
        high = float(self.edges[cell]) if cell < k else self.high
        return write(low) if low == high else f"{write(low)} to {write(high)}"


def _value_text(value: float, labels: CategoryNames | None) -> str:
    """Return the name of a value, or the value if it has no name."""
    if labels is None:
        return f"{value:g}"
    if callable(labels):
        return labels(value)
    if isinstance(labels, Mapping):
        return str(labels.get(value, f"{value:g}"))
    return str(labels[int(value)])


def date_text(days: float) -> str:
    """Return days since 1970 as a date, with the time unless it is midnight.

    >>> date_text(20454.0), date_text(20454.75)
    ('2026-01-01', '2026-01-01 18:00')
    """
    minutes = np.datetime64(round(days * 1440.0), "m")
    return str(minutes).replace("T", " ").removesuffix(" 00:00")


def unnamed(_value: float) -> str:
    """Return no text: the numbers of a hashed text are meaningless to a reader."""
    return ""


@final
class TableColumns:
    """Turns tables of any kind into numbers; other values become categories.

    Parameters
    ----------
    names : sequence of str, optional
        Names of the features; by default those of the first table, or x1, x2, …
    categorical : collection of int
        Positions of columns whose numbers stand for categories.
    category_names : mapping from number to name, optional
        Names of these categories; the mapping may grow.
    kinds : sequence of str, optional
        Kinds of the columns that `names` lists, if tables have them as encoded for a
        learner: a date is seven numbers, of which only the first, the days since 1970,
        is used; a text is 256 numbers, which all have its name.
    """

    def __init__(
        self,
        names: Sequence[str] | None = None,
        categorical: Collection[int] = (),
        category_names: Mapping[float, str] | None = None,
        kinds: Sequence[ColumnKind] | None = None,
    ) -> None:
        self._writers: dict[int, CategoryNames] = {}
        self._taken: list[int] | None = None
        if names is not None and kinds is not None:
            names, categorical = self._encoded(names, kinds)
        self.names: tuple[str, ...] | None = None if names is None else tuple(names)
        self._category_names = category_names
        self.categorical: list[bool] | None = None
        self._given = frozenset(categorical)
        self._codes: dict[int, dict[Hashable, int]] = {}

    def _encoded(
        self, names: Sequence[str], kinds: Sequence[ColumnKind]
    ) -> tuple[list[str], list[int]]:
        """Choose columns of encoded tables; return their names and the categories."""
        shown: list[str] = []
        categorical: list[int] = []
        taken: list[int] = []
        at = 0
        for name, kind in zip(names, kinds, strict=True):
            place, width = len(shown), 1 if kind == "date" else WIDTHS[kind]
            if kind == "category":
                categorical.append(place)
            elif kind != "number":
                write = date_text if kind == "date" else unnamed
                self._writers |= dict.fromkeys(range(place, place + width), write)
            shown += [name] * width
            taken += range(at, at + width)
            at += WIDTHS[kind]
        if len(taken) < at:
            self._taken = taken
        return shown, categorical

    def labels(self, j: int) -> CategoryNames | None:
        """Return the categories of a column by number; None for a numeric column."""
        if j in self._writers:
            return self._writers[j]
        if j not in self._codes:
            return self._category_names if j in self._given else None
        return [*self._codes[j], OTHERS]

    def numbers(self, X: Any) -> FloatArray:
        """Return the rows (n, p) of a table as numbers; missing values are NaN.

        Columns whose first values are not numbers hold categories from then on. In
        other columns, values that are not numbers count as missing.
        """
        if self._taken is not None:
            X = X[:, self._taken]
        columns = _columns(X)
        if self.categorical is None:
            dates = [j for j, (_, v) in enumerate(columns) if v.dtype.kind == "M"]
            self._writers |= dict.fromkeys(dates, date_text)
            self.categorical = [
                j in self._given or not _is_numeric(values)
                for j, (_, values) in enumerate(columns)
            ]
            self._codes = {
                j: {} for j, (_, v) in enumerate(columns) if not _is_numeric(v)
            }
            if self.names is None:
                self.names = tuple(name for name, _ in columns)
        out = np.empty((len(columns[0][1]) if columns else 0, len(columns)))
        for j, (_, values) in enumerate(columns):
            if j in self._codes:
                out[:, j] = _coded(values, self._codes[j])
            elif values.dtype.kind == "M":
                out[:, j] = _days(values)
            else:
                out[:, j] = values if _is_numeric(values) else np.nan
        return out


def column_distances(
    names: Sequence[str], distances: FloatArray
) -> dict[str, FloatArray]:
    """Return distances (t, p) by column: the largest where several have a name."""
    found: dict[str, FloatArray] = {}
    for name, column in zip(names, distances.T, strict=True):
        found[name] = np.maximum(found[name], column) if name in found else column
    return found


def _days(values: Any) -> FloatArray:
    """Return dates as days since 1970, NaN for missing ones."""
    days = values.astype("M8[us]").astype(np.int64) / 86_400e6
    return np.asarray(np.where(np.isnat(values), np.nan, days), np.float64)


def _coded(values: Any, codes: dict[Hashable, int]) -> list[float]:
    """Return the numbers of categories; new ones get the next free number, if any."""
    found = []
    for value in values.tolist():
        if value is None or value != value:
            found.append(np.nan)
            continue
        code = codes.get(value, len(codes))
        if code == len(codes) < _MOST_VALUES:
            codes[value] = code
        found.append(float(code))
    return found


def _is_numeric(values: Any) -> bool:
    return values.dtype.kind in "biufM"


def _columns(X: Any) -> list[tuple[str, Any]]:
    """Return the names and values of a table's columns."""
    if isinstance(X, list):
        if not X or not isinstance(X[0], Mapping):
            return _columns(np.asarray(X))
        return [(str(k), _array([row.get(k) for row in X])) for k in X[0]]
    if issparse(X):
        X = X.toarray()
    if hasattr(X, "columns"):
        return [(str(name), _array(X[name].to_numpy())) for name in X.columns]
    table = np.asarray(X)
    return [(f"x{j + 1}", _array(table[:, j])) for j in range(table.shape[1])]


def _array(values: Any) -> Any:
    """Return values as an array of numbers if possible, else of objects."""
    found = np.asarray(values)
    if found.dtype.kind == "m":
        return np.where(np.isnat(found), np.nan, found.astype(np.int64).astype(float))
    if found.dtype.kind == "O":
        try:
            return np.array([np.nan if v is None else v for v in values], np.float64)
        except (TypeError, ValueError):
            return found
    return found if found.dtype.kind in "biufM" else found.astype(object)
