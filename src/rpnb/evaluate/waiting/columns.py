"""Columns of a table as numbers, and the cells that their values are counted in."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from scipy.sparse import issparse

from rpnb.core.kernels.arrays import FloatArray, IntArray

#: Cells between quantiles, and values with a cell of their own, at most.
N_QUANTILES: Final = 10
#: Categories that have a cell of their own, at most.
N_CATEGORIES: Final = 30
# Values of a category that are told apart; all others are one.
_MOST_VALUES: Final = 1000


@final
@dataclass(frozen=True)
class Cells:
    """Cells of one column, chosen from the values of a reference window.

    With `values`, each of them has a cell, in this order, then come other values, then
    missing ones. Otherwise cells lie between `edges`, an edge belonging to the cell
    below it, then come values below `low` and above `high`, then missing ones.
    """

    values: FloatArray | None
    edges: FloatArray
    low: float
    high: float

    @classmethod
    def of(cls, column: FloatArray, categorical: bool) -> "Cells":
        """Choose cells: the most frequent values, or quantiles where there are many."""
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
        """Return how many values each cell has."""
        return np.bincount(self.find(column), minlength=len(self))

    def text(self, cell: int, labels: Sequence[Any] | None = None) -> str:
        """Describe a cell; `labels` are the categories by their number."""
        if cell == len(self) - 1:
            return "missing"
        if self.values is not None:
            if cell == len(self.values):
                return "other values"
            value = float(self.values[cell])
            return f"{value:g}" if labels is None else str(labels[int(value)])
        k = len(self.edges)
        if cell > k:
            return f"below {self.low:g}" if cell == k + 1 else f"above {self.high:g}"
        if cell == 0:
            return f"up to {self.edges[0]:g}"
        if cell == k:
            return f"over {self.edges[-1]:g}"
        return f"{self.edges[cell - 1]:g} to {self.edges[cell]:g}"


@final
class TableColumns:
    """Turns tables of any kind into numbers; values that are none are categories.

    Parameters
    ----------
    names : sequence of str, optional
        Names of the features; those of the first table by default, or x1, x2, …
    categorical : collection of int
        Columns whose numbers are categories.
    """

    def __init__(
        self, names: Sequence[str] | None = None, categorical: Collection[int] = ()
    ) -> None:
        self.names: tuple[str, ...] | None = None if names is None else tuple(names)
        self.categorical: list[bool] | None = None
        self._given = frozenset(categorical)
        self._codes: dict[int, dict[Hashable, int]] = {}

    def labels(self, j: int) -> list[Any] | None:
        """Return the categories of a column by number, None where they are numbers."""
        if j not in self._codes:
            return None
        return [*self._codes[j], "other values"]

    def numbers(self, X: Any) -> FloatArray:
        """Return a table's rows (n, p) as numbers, NaN where a value is missing.

        Columns whose first values are no numbers are categories from then on. In other
        columns, what is no number is missing.
        """
        columns = _columns(X)
        if self.categorical is None:
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
                out[:, j] = _encoded(values, self._codes[j])
            else:
                out[:, j] = values if _is_numeric(values) else np.nan
        return out


def _encoded(values: Any, codes: dict[Hashable, int]) -> list[float]:
    """Return the numbers of categories; new ones get the next, while there is room."""
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
    return values.dtype.kind in "biuf"


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
    """Return values as an array of numbers if they are, else of objects."""
    found = np.asarray(values)
    if found.dtype.kind in "mM":
        return np.where(np.isnat(found), np.nan, found.astype(np.int64).astype(float))
    if found.dtype.kind == "O":
        try:
            return np.array([np.nan if v is None else v for v in values], np.float64)
        except (TypeError, ValueError):
            return found
    return found if found.dtype.kind in "biuf" else found.astype(object)
