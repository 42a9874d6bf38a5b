"""Monitors of rows between prediction and label: inputs, classes and errors.

An `InputWatch` is shared by the learners that predict the same rows; a `LearnerWatch`
belongs to one of them. Both look at multiples of 500 predicted rows, so that figures do
not depend on how rows are divided into calls.

**Inputs unlike those with labels.** At each look, the last 500 rows are compared with
the last 1,000 labelled ones. From the distance of each column, its largest distance at
looks whose rows are labelled by now is subtracted, because usual distances are already
part of the residuals of past forecasts. The largest excess over all columns is the
share of rows outside.
"""

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple, final

import numpy as np

from rpnb.core.columns.coding import ColumnKind
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.drift.adwin import Adwin
from rpnb.estimators.drift.detectors import first_alarm
from rpnb.evaluate.waiting.changes import (
    Change,
    ColumnCounts,
    ErrorCounts,
    distance_of,
    find_changes,
)
from rpnb.evaluate.waiting.forecast import (
    ErrorForecast,
    ExpectedError,
    WaitingCounts,
)
from rpnb.evaluate.waiting.shifts import ALPHA, WINDOW, Alarm, ShiftWatch
from rpnb.evaluate.waiting.table_columns import (
    CategoryNames,
    Cells,
    TableColumns,
    unnamed,
)

#: Number of windows of labelled rows before a change.
_BEFORE: Final = 2
#: Labelled rows after a change of errors: without a detector's estimate, and fewest.
_AFTER, _FEWEST_AFTER = 200, 50
# Largest number of features that are watched.
_MOST_FEATURES: Final = 1000
# Largest number of looks whose distances wait for labels, and of alarms.
_PENDING, _ALARMS = 1000, 100
# Largest number of looks that are kept.
_LOOKS: Final = 1024


@final
class InputWatch:
    """Watches the inputs of a stream, and whether they are like those with labels.

    Parameters
    ----------
    names : sequence of str, optional
        Names of the features; by default those of the first table, or x1, x2, …
    categorical : collection of int
        Positions of columns whose numbers stand for categories.
    category_names : mapping from number to name, optional
        Names of these categories; the mapping may grow.
    kinds : sequence of str, optional
        Kinds of the named columns, if rows are encoded for a learner; see
        `TableColumns`.
    """

    def __init__(
        self,
        names: Sequence[str] | None = None,
        categorical: Collection[int] = (),
        category_names: Mapping[float, str] | None = None,
        kinds: Sequence[ColumnKind] | None = None,
    ) -> None:
        self.columns = TableColumns(names, categorical, category_names, kinds)
        self.shifts = ShiftWatch()
        self.labelled_rows = 0
        self.outside = 0.0
        """share of the last rows whose inputs are unlike those with labels"""
        self.outside_column: str | None = None
        """the column with the largest such share"""
        self.skipped: str | None = None
        """why inputs are not watched; None if they are"""
        self._labelled: FloatArray = np.zeros((0, 0))
        self._newest = -1
        self._usual: Any = 0.0
        self._pending: deque[tuple[int, FloatArray]] = deque(maxlen=_PENDING)

    @property
    def rows(self) -> int:
        """Number of predicted rows so far."""
        return self.shifts.rows

    def room(self) -> int:
        """Return the number of predicted rows until the next look."""
        return WINDOW - self.rows % WINDOW

    def add_predicted(self, X: Any, newest: int) -> None:
        """Add predicted rows, at most `room()` of them.

        `newest` is the number of the last row; numbers ascend.
        """
        if _width(X) > _MOST_FEATURES:
            self.skipped = f"only up to {_MOST_FEATURES:,} features are watched"
            self.shifts.rows += _length(X)
            return
        self.shifts.add(self.columns.numbers(X), *self._about())
        if self.rows % WINDOW == 0:
            self._look(newest)

    def _about(self) -> tuple[Sequence[str], Sequence[bool], list[Any]]:
        columns = self.columns
        names, kinds = columns.names or (), columns.categorical or ()
        return names, kinds, [columns.labels(j) for j in range(len(kinds))]

    def add_labelled(self, X: Any, newest: int) -> None:
        """Add rows whose labels have arrived, at most 500 in one call.

        `newest` is the largest of their numbers.
        """
        if self.skipped is None:
            rows = self.columns.numbers(X)
            kept = [self._labelled] if len(self._labelled) else []
            self._labelled = np.concatenate([*kept, rows])[-(_BEFORE + 2) * WINDOW :]
        self.labelled_rows += _length(X)
        self._newest = max(self._newest, newest)

    def _look(self, number: int) -> None:
        """Compare the last window, which ends at row `number`, with labelled rows."""
        known = self._labelled[-_BEFORE * WINDOW :]
        self.outside, self.outside_column = 0.0, None
        if len(known) < WINDOW:
            return
        names, kinds, _ = self._about()
        last = self.shifts.recent()
        distances = np.array(
            [_apart(known[:, j], last[:, j], kind) for j, kind in enumerate(kinds)]
        )
        while self._pending and self._pending[0][0] <= self._newest:
            self._usual = np.maximum(self._usual, self._pending.popleft()[1])
        self._pending.append((number, distances))
        beyond = distances - self._usual
        if len(beyond) and beyond.max() > 0.0:
            worst = int(beyond.argmax())
            self.outside, self.outside_column = float(beyond[worst]), names[worst]

    def labelled_until(self, end: int) -> FloatArray:
        """Return the last labelled rows up to the row number `end`.

        `end` counts labelled rows, and is at most 500 smaller than their number.
        """
        return self._labelled[: len(self._labelled) - (self.labelled_rows - end)]

    def feature_changes(
        self, before: FloatArray, after: FloatArray
    ) -> dict[int, ColumnCounts]:
        """Return the counts of features in two windows; the first defines cells.

        Features that only move with time are left out.
        """
        names, kinds, labels = self._about()
        found = {}
        for j, (name, kind) in enumerate(zip(names, kinds, strict=True)):
            if name in self.shifts.clocks:
                continue
            cells = Cells.of(before[:, j], kind)
            counts = cells.count(before[:, j]), cells.count(after[:, j])
            other = cells.main_other(after[:, j])
            found[j] = ColumnCounts("feature", name, cells, *counts, labels[j], other)
        return found


def _windows(rows: Any, last: int) -> tuple[Any, Any]:
    """Return the rows before the last ones, and these last ones."""
    split = max(len(rows) - last, 0)
    return rows[max(split - _BEFORE * WINDOW, 0) : split], rows[split:]


def _width(X: Any) -> int:
    """Return the number of columns of a table, or of features in dicts."""
    return X.shape[1] if hasattr(X, "shape") else len(X[0]) if len(X) else 0


def _length(X: Any) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)


def _apart(known: FloatArray, last: FloatArray, categorical: bool) -> float:
    """Return the distance of a column in two windows; the first defines cells."""
    cells = Cells.of(known, categorical)
    return distance_of(cells.count(known), cells.count(last))


class Look(NamedTuple):
    """Expected and true error of the rows that waited, after some rows."""

    row: int
    error: ExpectedError
    true: float
    """true error rate of these rows; NaN if unknown"""


@final
class LearnerWatch:
    """Watches the predictions of a learner until their labels arrive.

    Parameters
    ----------
    inputs
        Watch of the rows.
    own_alarms
        Whether the learner has its own drift detector, whose alarms are passed on;
        otherwise ADWIN watches its errors.
    """

    def __init__(self, inputs: InputWatch, *, own_alarms: bool = False) -> None:
        self.inputs = inputs
        self.forecast = ErrorForecast()
        self.classes = ShiftWatch("predictions", "class")
        self.waiting = WaitingCounts.of(np.zeros(0))
        self.looks: list[Look] = []
        self.error_alarms: list[Alarm] = []
        self._errors_raised = 0
        self._unseen = self._scorable = 0
        self._step = 1
        self._detector = None if own_alarms else Adwin()
        self._labelled: IntArray = np.zeros((0, 3), np.int64)

    def add_predicted(
        self,
        predicted: IntArray,
        confidence: FloatArray,
        labels: Sequence[Any],
        truth: IntArray | None = None,
    ) -> None:
        """Add predictions: numbers of labels, −1 for none, and their probabilities.

        Rows with probability NaN are left out of the forecast. `truth` are the true
        labels, if an evaluation knows them already.
        """
        there = predicted >= 0
        if truth is not None:
            self._unseen += int(((predicted != truth) & (truth >= 0) & there).sum())
            self._scorable += int((there & (truth >= 0)).sum())
        column = np.where(there, predicted, np.nan)[:, None]
        self.classes.add(column, ("predicted class",), (True,), (list(labels),))
        self.add_waiting(confidence[there])

    def add_waiting(self, confidence: FloatArray) -> None:
        """Add rows that wait, given the probabilities of their predictions."""
        known = confidence[~np.isnan(confidence)]
        self.waiting = self.waiting.plus(WaitingCounts.of(known))

    def remove_waiting(self, confidence: FloatArray) -> None:
        """Remove rows that no longer wait, given their probabilities."""
        known = confidence[~np.isnan(confidence)]
        self.waiting = self.waiting.plus(WaitingCounts.of(known), -1)

    def add_labelled(
        self,
        truth: IntArray,
        predicted: IntArray,
        confidence: FloatArray,
        labels: Sequence[Any],
        at: IntArray,
        alarms: Collection[int] = (),
    ) -> None:
        """Add labels that have arrived, of the rows last added to `inputs`.

        `at` is the number of rows predicted when each label arrived; `alarms` are the
        labels at which the learner's own detector gave an alarm.
        """
        there = predicted >= 0
        # A row without a prediction is not a mistake.
        wrong = there & (predicted != truth)
        known = there & ~np.isnan(confidence)
        self.forecast.add_labelled(confidence[known], wrong[known])
        self.remove_waiting(confidence[there])
        self._unseen -= int(wrong[there].sum())
        self._scorable -= int(there.sum())
        rows = np.stack([truth, predicted, wrong.astype(np.int64)], axis=1)
        kept = (_BEFORE + 2) * WINDOW
        self._labelled = np.concatenate([self._labelled, rows])[-kept:]
        start = self.inputs.labelled_rows - len(truth)
        found = [(i, _AFTER) for i in sorted(alarms)]
        if self._detector is not None:
            places = np.flatnonzero(there).tolist()
            alarmed = self._detected(self._detector, wrong[there])
            found = [(places[i], new) for i, new in alarmed]
        for i, after in found:
            windows = start + i + 1, len(truth) - i - 1, after
            changes = self._changes(*windows, labels)
            alarm = Alarm(int(at[i]), "errors", changes)
            self._errors_raised += 1
            self.error_alarms = [*self.error_alarms[1 - _ALARMS :], alarm]

    def _detected(self, detector: Adwin, wrong: Any) -> list[tuple[int, int]]:
        """Return where ADWIN gives alarms, and the number of rows since each change."""
        found: list[tuple[int, int]] = []
        done, errors = 0, wrong.tolist()
        while (alarm := first_alarm(detector, errors[done:])) >= 0:
            done += alarm + 1
            new = min(max(detector.width, _FEWEST_AFTER), WINDOW)
            found.append((done - 1, new))
        return found

    def _changes(
        self, end: int, later: int, last: int, labels: Sequence[Any]
    ) -> tuple[Change, ...]:
        """Compare the last labelled rows up to `end` with those before.

        Rows without a prediction are in neither window: they have no errors.
        """
        rows = self._labelled[: len(self._labelled) - later]
        there = rows[:, 1] >= 0
        before, after = _windows(rows[there], last)
        if len(before) < _AFTER:
            return ()
        columns: list[ColumnCounts] = []
        errors: list[ErrorCounts] = []
        for j, name in enumerate(("true class", "predicted class")):
            pair = before[:, j].astype(float), after[:, j].astype(float)
            cells = Cells.of(pair[0], categorical=True)
            counts = cells.count(pair[0]), cells.count(pair[1])
            columns.append(ColumnCounts("class", name, cells, *counts, labels))
            errors.append(_errors(name, cells, pair, before, after, labels))
        if self.inputs.skipped is None:
            inputs = self.inputs.labelled_until(end)
            was, now = _windows(inputs[there[len(there) - len(inputs) :]], last)
            features = self.inputs.feature_changes(was, now)
            columns += features.values()
            errors += [
                _errors(
                    c.name, c.cells, (was[:, j], now[:, j]), before, after, c.labels
                )
                for j, c in features.items()
                if c.labels is not unnamed
            ]
        return find_changes(columns, errors, alpha=ALPHA)

    def expected(self) -> ExpectedError:
        """Return the expected error of the rows that wait for labels."""
        return self.forecast.expected(self.waiting, outside=self.inputs.outside)

    def look(self) -> None:
        """Record the expected error; call it whenever the inputs are compared."""
        true = self._unseen / self._scorable if self._scorable else float("nan")
        if (self.inputs.rows // WINDOW) % self._step == 0:
            self.looks.append(Look(self.inputs.rows, self.expected(), true))
        if len(self.looks) > _LOOKS:
            self._step *= 2
            every = self._step * WINDOW
            self.looks = [look for look in self.looks if look.row % every == 0]

    @property
    def raised(self) -> int:
        """Number of alarms about predicted classes and errors."""
        return self.classes.raised + self._errors_raised

    @property
    def alarms(self) -> list[Alarm]:
        """Latest alarms about predicted classes and errors, in order."""
        found = [*self.classes.alarms, *self.error_alarms]
        return sorted(found, key=lambda alarm: alarm.row)


def _errors(
    name: str,
    cells: Cells,
    values: tuple[FloatArray, FloatArray],
    before: IntArray,
    after: IntArray,
    labels: CategoryNames | None,
) -> ErrorCounts:
    """Return the rows and the mistakes by cell of a column, in two windows."""
    windows = []
    for column, rows in zip(values, (before, after), strict=True):
        at = cells.find(column)
        wrong = np.bincount(at, rows[:, 2], len(cells)).astype(np.int64)
        windows.append((np.bincount(at, minlength=len(cells)), wrong))
    return ErrorCounts(name, cells, windows[0], windows[1], labels)
