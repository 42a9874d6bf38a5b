"""Observations as mappings from names to numbers, for the pooled classifier.

The features of a pooled classifier are columns that are fixed from the first row on.
During the first 256 observations, from which the scale is estimated, a new name
restarts the classifier with one more column, and it learns the earlier observations, at
most 255, again. An absent feature is a missing value.

Columns are ordered by the numbers of their names, so the result is that of the
classifier on a table of the features of the first 256 observations, in this order, with
NaN where a feature is absent: to the bit, whichever feature appeared first.

Names that appear later become columns as well, once `_OFTEN` observations contain one:
a new classifier with all names learns the most recent observations, as many as its
window forest would keep, and replaces the old one. It learns the last 256 of them
first, and again at the end, since these contain the new features, whose scale it
estimates from them. Everything learned from older observations is lost, and relearning
takes time; so it happens only if half as many observations were learned since the last
time, or an eighth if a new feature is present in most observations since it appeared.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.pooled.features import LAST_REPLAY
from rpnb.estimators.checks.named_values import (
    check_column,
    check_values,
    values_of,
)
from rpnb.estimators.checks.parameters import draw_seed
from rpnb.estimators.named.feature_numbers import feature_number
from rpnb.estimators.pooled import PooledClassifier

_LEARNER: Final = PooledClassifier.__name__
# Number of observations with a new feature before it becomes a column.
_OFTEN: Final = 16
# Limits of the observations kept, and of their values, as in the window forest.
_MOST_RECENT: Final = 4000
_MOST_VALUES: Final = 1 << 19
# Largest number of names waiting to become columns; others are not counted.
_MOST_WAITING: Final = 65_536


class _Part(NamedTuple):
    """Observations with the same features."""

    names: tuple[Hashable, ...]
    rows: FloatArray
    labels: list[Any]


class _Waiting(NamedTuple):
    """A feature that has no column yet."""

    since: int
    """number of observations between the last change of columns and its appearance"""
    seen: int
    """number of observations that contain it"""


class NamedColumns:
    """A pooled classifier and the names of its columns.

    Parameters
    ----------
    parameters : mapping
        Parameters of the classifier.
    """

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self._parameters = dict(parameters)
        if self._parameters["random_state"] is None:
            # All classifiers that replace each other have the same seed.
            self._parameters["random_state"] = draw_seed(None)
        self.classifier = PooledClassifier(**self._parameters)
        self._columns: dict[Hashable, int] = {}
        self._names: tuple[Hashable, ...] = ()
        self._values: Callable[[Any], tuple[Any, ...]] = values_of(())
        self._recent: deque[_Part] = deque()
        self._n_recent = 0
        self._since = 0
        self._waiting: dict[Hashable, _Waiting] = {}

    @property
    def names(self) -> list[Hashable]:
        """Features that have a column, in the order of the columns."""
        return list(self._columns)

    def row(self, x: Mapping[Hashable, Any]) -> FloatArray:
        """Return an observation as a row (p,) of the known columns."""
        complete = self._complete_row(x)
        if complete is not None:
            return complete
        values = check_values(tuple(x), tuple(x.values()), _LEARNER, missing=True)
        return _arrange(tuple(x), values[None, :], self._columns)[0]

    def _complete_row(self, x: Mapping[Hashable, Any]) -> FloatArray | None:
        """Return the row (p,) of an observation with exactly the known features.

        Returns None for any other observation.
        """
        if len(x) != len(self._columns) or not self._columns:
            return None
        try:
            values = self._values(x)
        except KeyError:
            return None
        return check_values(self._names, values, _LEARNER, missing=True)

    def table(self, columns: Mapping[Hashable, NDArray[Any]], n: int) -> FloatArray:
        """Return columns of n rows as a table (n, p) of the known columns."""
        return _arrange(tuple(columns), _stack(columns, n), self._columns)

    def learn_one(self, x: Mapping[Hashable, Any], y: Any) -> None:
        """Learn an observation; new names become columns, at once or later."""
        complete = self._complete_row(x)
        if complete is not None:
            part = _Part(self._names, complete[None, :], [y])
        else:
            names = tuple(x)
            values = check_values(names, tuple(x.values()), _LEARNER, missing=True)
            part = _Part(self._same_names(names), values[None, :], [y])
        if self._is_open():
            self._learn_first(part)
        else:
            self._learn_late(part)

    def learn_many(
        self, columns: Mapping[Hashable, NDArray[Any]], n: int, y: NDArray[Any]
    ) -> None:
        """Learn n observations, given as columns."""
        part = _Part(tuple(columns), _stack(columns, n), list(y))
        if self._is_open():
            self._learn_first(part)
        elif self._columns.keys() >= set(part.names):
            rows = self._arranged(part)
            self.classifier.partial_fit(rows, y)
            self._keep(part)
        else:
            # When names become columns must not depend on how rows are split into
            # calls.
            for i in range(n):
                self._learn_late(_some(part, slice(i, i + 1)))

    def _arranged(self, part: _Part) -> FloatArray:
        """Return observations as rows of the known columns."""
        if part.names is self._names:  # each of them has all columns, in their order
            return part.rows
        return _arrange(part.names, part.rows, self._columns)

    def _is_open(self) -> bool:
        """Return whether a new name becomes a column at once."""
        classifier = self.classifier
        fitted = classifier.__sklearn_is_fitted__()
        return not fitted or classifier.n_samples_seen_ < LAST_REPLAY

    def _learn_first(self, part: _Part) -> None:
        """Learn rows, of which at least the first may have new columns."""
        if self._n_recent and self._columns.keys() >= set(part.names):
            rows = self._arranged(part)
            self.classifier.partial_fit(rows, part.labels)
        else:
            self._begin_again([*self._recent, part], part.names)
        self._keep(part)

    def _begin_again(
        self,
        parts: Sequence[_Part],
        names: Iterable[Hashable],
        classes: NDArray[Any] | None = None,
    ) -> None:
        """Replace the classifier by one with more columns that learns them again."""
        numbers = {name: feature_number(name) for name in (*self._columns, *names)}
        columns = {name: at for at, name in enumerate(_ordered(numbers))}
        begun = PooledClassifier(**self._parameters)
        tables = [_arrange(one.names, one.rows, columns) for one in parts]
        labels = [label for one in parts for label in one.labels]
        begun.partial_fit(np.concatenate(tables), labels, classes)
        self.classifier, self._columns = begun, columns
        self._names = tuple(columns)
        self._values = values_of(self._names)

    # Features that appear late

    def _learn_late(self, part: _Part) -> None:
        """Learn one observation, which may have names without a column."""
        self.classifier.learn_one(self._arranged(part)[0], part.labels[0])
        self._keep(part)
        if self._waiting or part.names is not self._names:
            self._grow(part)

    def _same_names(self, names: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
        """Return the names object of the last observation if these are equal to it."""
        if self._recent and self._recent[-1].names == names:
            return self._recent[-1].names
        return names

    def _keep(self, part: _Part) -> None:
        """Keep an observation among the most recent ones."""
        self._recent.append(part)
        self._n_recent += len(part.labels)
        self._since += len(part.labels)
        most = max(_MOST_VALUES // max(len(self._columns), 1), LAST_REPLAY)
        most = min(most, _MOST_RECENT)
        while self._n_recent > most:
            oldest = self._recent.popleft()
            kept = len(oldest.labels) - (self._n_recent - most)
            if kept > 0:
                self._recent.appendleft(_some(oldest, slice(-kept, None)))
            self._n_recent -= len(oldest.labels) - max(kept, 0)

    def _grow(self, part: _Part) -> None:
        """Count names that have no column yet; add columns for frequent ones."""
        for name, value in zip(part.names, part.rows[0].tolist(), strict=True):
            if name in self._columns or np.isnan(value):
                continue
            if name in self._waiting or len(self._waiting) < _MOST_WAITING:
                before = self._waiting.get(name, _Waiting(self._since - 1, 0))
                self._waiting[name] = before._replace(seen=before.seen + 1)
        often = [name for name, one in self._waiting.items() if one.seen >= _OFTEN]
        if not often or self._since < self._n_recent // self._part_to_wait(often):
            return
        recent = list(self._recent)
        first = _last_rows(recent, LAST_REPLAY)
        self._begin_again([*first, *recent], often, self.classifier.classes_)
        self._waiting, self._since = {}, 0

    def _part_to_wait(self, often: Iterable[Hashable]) -> int:
        """Return k: one in k of the kept observations must have been learned since."""
        shares = (
            self._waiting[name].seen / max(self._since - self._waiting[name].since, 1)
            for name in often
        )
        return 8 if max(shares) >= 0.5 else 2


def _some(part: _Part, rows: slice) -> _Part:
    """Return some observations of a part."""
    return _Part(part.names, part.rows[rows], part.labels[rows])


def _last_rows(parts: Sequence[_Part], n: int) -> list[_Part]:
    """Return the last n observations of the parts, or all if there are fewer."""
    found: list[_Part] = []
    for part in reversed(parts):
        if n <= 0:
            break
        found.insert(0, _some(part, slice(-n, None)))
        n -= len(part.labels)
    return found


def _ordered(numbers: Mapping[Hashable, int]) -> list[Hashable]:
    """Return names by their numbers; refuse two names with one number."""
    ordered = sorted(numbers, key=lambda name: numbers[name])
    for one, other in pairwise(ordered):
        if numbers[one] == numbers[other]:
            raise ValueError(
                f"the features {one!r} and {other!r} have the same 64-bit hash (very "
                "rare): rename one of them"
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
    """Return columns of n values as a table, or raise an error naming a bad value."""
    table = np.empty((n, len(columns)))
    for j, (name, values) in enumerate(columns.items()):
        table[:, j] = check_column(name, values, _LEARNER, missing=True)
    return table
