"""Drift of columns: windows of rows are compared with a reference.

The first 1,000 rows are the reference, which also defines the cells of each column.
Then every window of 500 rows is compared with it: the distance of each column is
recorded, and there is an alarm if a column has changed significantly and by at least
0.1 of its distribution. After an alarm, its window and the next one become the
reference.

A column that rises with the row number throughout the reference (or falls), such as a
date or a running number, is a clock: it would be outside the reference in every window,
so it is not compared while it keeps rising or falling.

Windows do not overlap. If rows are independent, each gives a false alarm with
probability 0.001 at most, however many columns there are: one in 500,000 rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, final

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.evaluate.waiting.changes import (
    Change,
    ColumnCounts,
    Kind,
    distance_of,
    find_changes,
)
from rpnb.evaluate.waiting.table_columns import N_QUANTILES, CategoryNames, Cells

#: Number of rows of a window, and of windows of a reference.
WINDOW: Final = 500
REFERENCE: Final = 2
#: Probability of a false alarm in a window.
ALPHA: Final = 0.001
#: Smallest distance that causes an alarm.
LEAST: Final = 0.1
# A clock: correlation of its ranks with the row number, in the reference and since.
_CLOCK, _STILL = 0.95, 0.5
# Largest number of alarms, and of looks, that are kept.
_ALARMS, _LOOKS = 100, 256


@dataclass(frozen=True, slots=True)
class Alarm:
    """Alarm about changed inputs, predicted classes or errors, with what changed.

    Attributes
    ----------
    row
        Number of rows predicted before the alarm.
    what
        Kind of the alarm: "inputs", "predictions" or "errors".
    changes
        Columns that moved, the largest change first.

    Examples
    --------
    >>> from rpnb.baselines import GaussianNB
    >>> from rpnb.datasets import streams
    >>> from rpnb.evaluate import prequential
    >>> X, y = next(streams.mixture(6000, chunk=6000, seed=0))
    >>> X[3000:, 0] += 4.0
    >>> result = prequential(GaussianNB(), X, y, delay=500, labels="late")
    >>> alarm = result.waiting["GaussianNB"].alarms[0]
    >>> alarm.row, alarm.what, alarm.changes[0].name
    (3500, 'inputs', 'x1')
    """

    row: int
    what: Literal["inputs", "predictions", "errors"]
    changes: tuple[Change, ...]

    def __str__(self) -> str:
        changes = "; ".join(map(str, self.changes[:3])) or "no column stands out"
        return f"row {self.row:,}, {self.what}: {changes}"


@final
class ShiftWatch:
    """Watches columns of numbers for drift: see the docstring of the module.

    Parameters
    ----------
    what
        Kind of the alarms.
    kind
        Kind of the changes of a column.
    window
        Number of rows of a window.
    alpha
        Largest probability of a false alarm in a window.
    """

    def __init__(
        self,
        what: Literal["inputs", "predictions"] = "inputs",
        kind: Kind = "feature",
        *,
        window: int = WINDOW,
        alpha: float = ALPHA,
    ) -> None:
        self.rows = 0
        """rows so far"""
        self.raised = 0
        """number of alarms"""
        self.alarms: list[Alarm] = []
        """latest alarms"""
        self.names: tuple[str, ...] = ()
        self.cells: list[Cells] = []
        """cells of the columns; empty until there is a reference"""
        self.clocks: frozenset[str] = frozenset()
        """names of columns that only move with time"""
        self._clock: FloatArray = np.zeros(0)
        self._what, self._kind = what, kind
        self.window, self._alpha = window, alpha
        self._buffer: list[FloatArray] = []
        self._held = 0
        self._last: FloatArray = np.zeros((0, 0))
        self._reference: list[IntArray] = []
        self._labels: list[CategoryNames | None] = []
        self._wait_for = REFERENCE * window
        self._step = 1
        self._looks: list[tuple[int, FloatArray]] = []

    def room(self) -> int:
        """Return the number of rows until the next look."""
        return self._wait_for - self._held

    def add(
        self,
        rows: FloatArray,
        names: Sequence[str],
        categorical: Sequence[bool],
        labels: Sequence[CategoryNames | None],
    ) -> None:
        """Add rows (n, p), with the names and the categories of their columns."""
        self.names, self._labels = tuple(names), list(labels)
        done = 0
        while done < len(rows):
            part = rows[done : done + self.room()]
            self._buffer.append(part)
            self._held += len(part)
            self.rows += len(part)
            done += len(part)
            if self._held == self._wait_for:
                whole = np.concatenate(self._buffer)
                self._buffer, self._held = [], 0
                self._last = whole[-self.window :]
                self._look(whole, categorical)

    def _look(self, whole: FloatArray, categorical: Sequence[bool]) -> None:
        """Make a reference of rows, or compare them with it."""
        if not self.cells and self._kind == "class" and np.isnan(whole).any():
            # Rows without a prediction are not a class to compare with.
            self._buffer, self._held = [self._last], len(self._last)
            self._wait_for = REFERENCE * self.window
            self._record(np.zeros(whole.shape[1]))
            return
        if not self.cells:
            self._refer(whole, categorical)
            self._record(np.zeros(len(self.cells)))
            return
        columns = self._compared(whole)
        distances = np.array([distance_of(c.before, c.after) for c in columns])
        going = np.abs(self._clock) >= _CLOCK
        going[going] = _trends(whole[:, going]) * self._clock[going] >= _STILL
        distances[going] = 0.0
        self._record(distances)
        compared = [c for c, skip in zip(columns, going, strict=True) if not skip]
        changes = find_changes(compared, alpha=self._alpha)
        if any(change.distance >= LEAST for change in changes):
            self.raised += 1
            self.alarms = [
                *self.alarms[1 - _ALARMS :],
                Alarm(self.rows, self._what, changes),
            ]
            # The next window completes the new reference.
            self.cells, self._reference = [], []
            self._buffer, self._held = [whole], len(whole)
            self._wait_for = REFERENCE * self.window

    def _refer(self, whole: FloatArray, categorical: Sequence[bool]) -> None:
        self.cells = [Cells.of(whole[:, j], each) for j, each in enumerate(categorical)]
        self._reference = self.counts(whole)
        self._clock = np.where(categorical, 0.0, _trends(whole))
        self.clocks = frozenset(
            name
            for name, trend in zip(self.names, self._clock.tolist(), strict=True)
            if abs(trend) >= _CLOCK
        )
        self._wait_for = self.window

    def recent(self) -> FloatArray:
        """Return the rows of the last window; to be called at the end of one."""
        if self._held >= self.window:
            return np.concatenate(self._buffer)[-self.window :]
        return self._last

    def counts(self, rows: FloatArray) -> list[IntArray]:
        """Return the number of rows in each cell of each column."""
        return [cells.count(rows[:, j]) for j, cells in enumerate(self.cells)]

    def _compared(self, after: FloatArray) -> list[ColumnCounts]:
        """Return the counts of rows beside those of the reference."""
        others = [cells.main_other(after[:, j]) for j, cells in enumerate(self.cells)]
        lists = (self.names, self.cells, self._reference, self.counts(after))
        return [
            ColumnCounts(self._kind, *each)
            for each in zip(*lists, self._labels, others, strict=True)
        ]

    def _record(self, distances: FloatArray) -> None:
        """Record distances; if there are too many looks, drop every other one."""
        number = self.rows // self.window
        if number % self._step == 0:
            self._looks.append((self.rows, distances))
        if len(self._looks) > _LOOKS:
            self._step *= 2
            every = self._step * self.window
            self._looks = [look for look in self._looks if look[0] % every == 0]

    def series(self) -> tuple[IntArray, FloatArray]:
        """Return rows (t,), and the distances (t, p) of the windows that end there."""
        rows = np.array([row for row, _ in self._looks], np.int64)
        if not self._looks:
            return rows, np.zeros((0, len(self.names)))
        return rows, np.stack([distances for _, distances in self._looks])


def _trends(rows: FloatArray) -> FloatArray:
    """Return the correlation of the ranks of each column (n, p) with the row number.

    It is 0 for columns with few values, which are not clocks, and for missing values.
    """
    found = np.zeros(rows.shape[1])
    numbers = np.arange(len(rows)) - (len(rows) - 1) / 2
    for j, column in enumerate(rows.T):
        values, ranks = np.unique(column, return_inverse=True)
        if len(values) > N_QUANTILES and not np.isnan(values[-1]):
            apart = ranks - ranks.mean()
            found[j] = float(apart @ numbers) / np.sqrt(
                float(apart @ apart) * float(numbers @ numbers)
            )
    return found
