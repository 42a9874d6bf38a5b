"""Observations as mappings from names to numbers, for the pooled classifier.

The features of a pooled classifier are columns that its members know from the first row
on. As long as the scale is not found, that is for the first 256 observations learned, a
new name begins the classifier again with one more column, and it learns the
observations again, which are at most 255. A feature that is absent is missing.

Columns are ordered by the numbers of their names, so the result is that of the
classifier on a table of the features of the first 256 observations, in this order, with
NaN where a feature is absent: to the bit, whichever feature came first.

Names that appear later become columns too, once `_OFTEN` observations had one of them:
a classifier with all names learns the most recent observations, as many as its window
forest would keep, and takes over. It learns the last 256 of them first, and again at
the end: these have the new features, whose scale it finds there. What was learned
before the observations that are kept is lost, and learning them takes time; so it
happens only if half as many were learned since the last time, or an eighth where a new
feature is in most of the observations since it appeared.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
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
# Observations that must have a new feature before it becomes a column.
_OFTEN: Final = 16
# Observations that are kept, and their values, at most: those of the window forest.
_MOST_RECENT: Final = 4000
_MOST_VALUES: Final = 1 << 19
# Names that are waiting to become columns, at most: more are not counted.
_MOST_WAITING: Final = 65_536


class _Part(NamedTuple):
    """Observations with the same features."""

    names: tuple[Hashable, ...]
    rows: FloatArray
    labels: list[Any]


class _Waiting(NamedTuple):
    """A feature that has no column yet."""

    since: int
    """observations learned since the last columns when it appeared"""
    seen: int
    """observations that had it"""


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
        self._recent: deque[_Part] = deque()
        self._n_recent = 0
        self._since = 0
        self._waiting: dict[Hashable, _Waiting] = {}

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
        """Learn an observation; new names become columns, at once or later."""
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
            rows = _arrange(part.names, part.rows, self._columns)
            self.classifier.partial_fit(rows, y)
            self._keep(part)
        else:
            # The row after which names become columns must not depend on the calls.
            for i in range(n):
                self._learn_late(_some(part, slice(i, i + 1)))

    def _is_open(self) -> bool:
        """Say whether a new name becomes a column."""
        classifier = self.classifier
        fitted = classifier.__sklearn_is_fitted__()
        return not fitted or classifier.n_seen_ < LAST_REPLAY

    def _learn_first(self, part: _Part) -> None:
        """Learn rows of which at least the first may bring new columns."""
        if self._n_recent and self._columns.keys() >= set(part.names):
            rows = _arrange(part.names, part.rows, self._columns)
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
        """Let a new classifier, with more columns, learn observations again."""
        numbers = {name: feature_number(name) for name in (*self._columns, *names)}
        columns = {name: at for at, name in enumerate(_ordered(numbers))}
        begun = PooledClassifier(**self._parameters)
        tables = [_arrange(one.names, one.rows, columns) for one in parts]
        labels = [label for one in parts for label in one.labels]
        begun.partial_fit(np.concatenate(tables), labels, classes)
        self.classifier, self._columns = begun, columns

    # Features that appear late

    def _learn_late(self, part: _Part) -> None:
        """Learn one observation, which may have names without a column."""
        row = _arrange(part.names, part.rows, self._columns)[0]
        self.classifier.learn_one(row, part.labels[0])
        self._keep(part)
        self._grow(part)

    def _same_names(self, names: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
        """Return the names of the last observation if these are the same."""
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
        """Count names that have no column yet; give them one if they come often."""
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
        """Return of how many observations that are kept one must have been learned."""
        shares = (
            self._waiting[name].seen / max(self._since - self._waiting[name].since, 1)
            for name in often
        )
        return 8 if max(shares) >= 0.5 else 2


def _some(part: _Part, rows: slice) -> _Part:
    """Return some observations of a part."""
    return _Part(part.names, part.rows[rows], part.labels[rows])


def _last_rows(parts: Sequence[_Part], n: int) -> list[_Part]:
    """Return the last n observations of some parts, or all if there are fewer."""
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
