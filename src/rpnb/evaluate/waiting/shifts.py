"""Columns watched for change: a window of rows against a reference, again and again.

The first 1,000 rows are the reference, from which the cells of each column follow. Then
every window of 500 rows is compared with it: the distance of each column is recorded,
and where a column has changed by more than chance, and by at least 0.1 of its
distribution, there is an alarm. After an alarm its window and the next one become the
reference.

Windows do not overlap. Each gives a false alarm with probability 0.001 at most, however
many columns there are, if rows are independent: one in 500,000 rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, final

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.evaluate.waiting.changes import (
    Change,
    ColumnCounts,
    Kind,
    distance_of,
    find_changes,
)
from rpnb.evaluate.waiting.columns import Cells

#: Rows of a window, and windows of a reference.
WINDOW: Final = 500
REFERENCE: Final = 2
#: Probability of a false alarm in a window.
ALPHA: Final = 0.001
#: The least distance that is worth an alarm.
LEAST: Final = 0.1
# Alarms, and looks at the windows, that are kept.
_ALARMS, _LOOKS = 100, 256


@dataclass(frozen=True, slots=True)
class Alarm:
    """Where inputs, predicted classes or errors changed, and what did.

    Attributes
    ----------
    row
        Rows predicted when it was given.
    what
        "inputs", "predictions" or "errors".
    changes
        The columns that moved, the largest change first.
    """

    row: int
    what: Literal["inputs", "predictions", "errors"]
    changes: tuple[Change, ...]

    def __str__(self) -> str:
        told = "; ".join(map(str, self.changes[:3])) or "no column stands out"
        return f"row {self.row:,}, {self.what}: {told}"


@final
class ShiftWatch:
    """Watches columns of numbers; see the module's text.

    Parameters
    ----------
    what
        What the columns are, for alarms.
    kind
        What a column is.
    window
        Rows of a window.
    alpha
        Probability of a false alarm in a window.
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
        self.alarms: list[Alarm] = []
        self.names: tuple[str, ...] = ()
        self.cells: list[Cells] = []
        """of the columns, empty until there is a reference"""
        self._what, self._kind = what, kind
        self.window, self._alpha = window, alpha
        self._buffer: list[FloatArray] = []
        self._held = 0
        self._last: FloatArray = np.zeros((0, 0))
        self._reference: list[IntArray] = []
        self._labels: list[Sequence[Any] | None] = []
        self._wait_for = REFERENCE * window
        self._step = 1
        self._looks: list[tuple[int, FloatArray]] = []

    def room(self) -> int:
        """Return how many rows may be added until the next look."""
        return self._wait_for - self._held

    def add(
        self,
        rows: FloatArray,
        names: Sequence[str],
        categorical: Sequence[bool],
        labels: Sequence[Sequence[Any] | None],
    ) -> None:
        """Add rows (n, p), whose columns have names; `labels` are their categories."""
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
            # Nothing was predicted yet: that is no class to compare with.
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
        self._record(distances)
        changes = find_changes(columns, alpha=self._alpha)
        if any(change.distance >= LEAST for change in changes):
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
        self._wait_for = self.window

    def recent(self) -> FloatArray:
        """Return the rows of the last window; call it at the end of one."""
        if self._held >= self.window:
            return np.concatenate(self._buffer)[-self.window :]
        return self._last

    def counts(self, rows: FloatArray) -> list[IntArray]:
        """Return how many rows each cell of each column has."""
        return [cells.count(rows[:, j]) for j, cells in enumerate(self.cells)]

    def _compared(self, after: FloatArray) -> list[ColumnCounts]:
        """Return the counts of rows beside those of the reference."""
        lists = (self.names, self.cells, self._reference, self.counts(after))
        return [
            ColumnCounts(self._kind, *each)
            for each in zip(*lists, self._labels, strict=True)
        ]

    def _record(self, distances: FloatArray) -> None:
        """Keep the distances; every other look is dropped if there are too many."""
        number = self.rows // self.window
        if number % self._step == 0:
            self._looks.append((self.rows, distances))
        if len(self._looks) > _LOOKS:
            self._step *= 2
            every = self._step * self.window
            self._looks = [look for look in self._looks if look[0] % every == 0]

    def series(self) -> tuple[IntArray, FloatArray]:
        """Return rows (t,), and distances (t, p) of the windows that ended there."""
        rows = np.array([row for row, _ in self._looks], np.int64)
        if not self._looks:
            return rows, np.zeros((0, len(self.names)))
        return rows, np.stack([distances for _, distances in self._looks])
