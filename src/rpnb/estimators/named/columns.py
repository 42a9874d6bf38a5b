"""Observations as mappings from names to numbers, for the pooled classifier.

The features of a pooled classifier are columns that its members know from the first row
on. Names become columns as long as the scale is not found, that is for the first 256
observations learnt: a new name begins the classifier anew with one more column, and it
learns the observations again, which are at most 255. After that a name not known is
left out. A feature that is absent is missing.

Columns are ordered by the numbers of their names, so the result is that of the
classifier on a table of the features of the first 256 observations, in this order, with
NaN where a feature is absent: to the bit, whichever feature came first.
"""

from collections.abc import Hashable, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.pooled.scale import LAST_REPLAY
from rpnb.estimators.checks.feature_names import feature_number
from rpnb.estimators.checks.named_values import check_column, check_values
from rpnb.estimators.checks.parameters import draw_seed
from rpnb.estimators.pooled import PooledClassifier

_LEARNER: Final = PooledClassifier.__name__


class _Part(NamedTuple):
    """Observations with the same features."""

    names: tuple[Hashable, ...]
    rows: FloatArray
    labels: list[Any]


class NamedColumns:
    """A pooled classifier and the names of its columns.

    Parameters
    ----------
    parameters : mapping
        Those of the classifier.
    """

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self._parameters = dict(parameters)
        if self._parameters["random_state"] is None:
            # One seed for all that are begun.
            self._parameters["random_state"] = draw_seed(None)
        self.classifier = PooledClassifier(**self._parameters)
        self._columns: dict[Hashable, int] = {}
        self._first: list[_Part] = []

    @property
    def names(self) -> list[Hashable]:
        """The features that have a column, in the order of the columns."""
        return list(self._columns)

    def row(self, x: Mapping[Hashable, Any]) -> FloatArray:
        """Return an observation as a row (p,) of the columns known."""
        values = check_values(tuple(x), tuple(x.values()), _LEARNER, missing=True)
        return _arrange(tuple(x), values[None, :], self._columns)[0]

    def table(self, columns: Mapping[Hashable, NDArray[Any]], n: int) -> FloatArray:
        """Return columns of n rows as a table (n, p) of the columns known."""
        return _arrange(tuple(columns), _stack(columns, n), self._columns)

    def learn_one(self, x: Mapping[Hashable, Any], y: Any) -> None:
        """Learn an observation; while the scale is not found, names become columns."""
        if self._is_open():
            values = check_values(tuple(x), tuple(x.values()), _LEARNER, missing=True)
            self._learn_first(_Part(tuple(x), values[None, :], [y]))
        else:
            self.classifier.learn_one(self.row(x), y)

    def learn_many(
        self, columns: Mapping[Hashable, NDArray[Any]], n: int, y: NDArray[Any]
    ) -> None:
        """Learn n observations, given as columns."""
        if self._is_open():
            self._learn_first(_Part(tuple(columns), _stack(columns, n), list(y)))
        else:
            self.classifier.partial_fit(self.table(columns, n), y)

    def _is_open(self) -> bool:
        """Say whether a new name becomes a column."""
        classifier = self.classifier
        fitted = classifier.__sklearn_is_fitted__()
        return not fitted or classifier.n_seen_ < LAST_REPLAY

    def _learn_first(self, part: _Part) -> None:
        """Learn rows of which at least the first may bring new columns."""
        numbers = {name: feature_number(name) for name in part.names}
        if self._first and self._columns.keys() >= numbers.keys():
            rows = _arrange(part.names, part.rows, self._columns)
            self.classifier.partial_fit(rows, part.labels)
        else:
            numbers = {name: feature_number(name) for name in self._columns} | numbers
            columns = {name: at for at, name in enumerate(_ordered(numbers))}
            begun = PooledClassifier(**self._parameters)
            for one in (*self._first, part):
                begun.partial_fit(_arrange(one.names, one.rows, columns), one.labels)
            self.classifier = begun
            self._columns = columns
        self._first = [*self._first, part] if self._is_open() else []


def _ordered(numbers: Mapping[Hashable, int]) -> list[Hashable]:
    """Return names by their numbers; refuse two names with one number."""
    ordered = sorted(numbers, key=lambda name: numbers[name])
    for one, other in pairwise(ordered):
        if numbers[one] == numbers[other]:
            raise ValueError(
                f"the features {one!r} and {other!r} have the same 64-bit number, "
                "which happens once in many millions: rename one of them"
            )
    return ordered


def _arrange(
    names: tuple[Hashable, ...], rows: FloatArray, columns: Mapping[Hashable, int]
) -> FloatArray:
    """Return rows of named values as rows of the columns; what is absent is NaN."""
    arranged = np.full((rows.shape[0], max(len(columns), 1)), np.nan)
    for j, name in enumerate(names):
        at = columns.get(name)
        if at is not None:
            arranged[:, at] = rows[:, j]
    return arranged


def _stack(columns: Mapping[Hashable, NDArray[Any]], n: int) -> FloatArray:
    """Return columns of n values as a table, or name a bad value."""
    table = np.empty((n, len(columns)))
    for j, (name, values) in enumerate(columns.items()):
        table[:, j] = check_column(name, values, _LEARNER, missing=True)
    return table
