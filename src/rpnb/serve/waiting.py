"""What is known of a model's predictions before their labels come, for the page.

Followers read the log as it grows, in the order of time: rows that were predicted and
kept, and the labels that came for them. They write nothing, the writer does not wait
for them, and they read only when somebody asks. The figures are those of
`rpnb.evaluate.waiting`, a function of the last 20,000 rows of the log at the start and
of all rows since.
"""

import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from heapq import merge
from pathlib import Path
from typing import Any, Final, NamedTuple, final

import numpy as np

from rpnb.core.columns.coding import WIDTHS, ColumnKind
from rpnb.core.kernels.arrays import FloatArray
from rpnb.evaluate.waiting.changes import Change
from rpnb.evaluate.waiting.forecast import ExpectedError, WaitingCounts
from rpnb.evaluate.waiting.shifts import WINDOW, Alarm
from rpnb.evaluate.waiting.watch import InputWatch, LearnerWatch
from rpnb.labels import LabelIndex
from rpnb.serve.log import DAMAGE, open_log
from rpnb.serve.models import ServedModel

#: Rows, and labels, of the log that a follower begins with, and that it lags behind.
MOST: Final = 20_000
# Seconds for which figures are not read again.
_FRESH: Final = 1.0
# Columns, alarms, and changes of an alarm, that are shown.
_COLUMNS, _ALARMS, _CHANGES, _POINTS = 8, 10, 6, 200


class _Row(NamedTuple):
    """A row that was predicted and kept."""

    time: float
    order: int
    """0: a row comes before labels of the same time"""
    seq: int
    x: FloatArray
    predicted: Any
    confidence: float


class _Labels(NamedTuple):
    """Labels that came together."""

    time: float
    order: int
    event: int
    rows: list[_Row]
    labels: list[Any]


@final
class Followers:
    """Followers of the models in a folder, each made when it is first asked for.

    Parameters
    ----------
    folder
        Where the log is.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._found: dict[int, ModelFollower] = {}

    def details(self, model: ServedModel) -> dict[str, Any]:
        """Return what the page shows of a model."""
        with self._lock:
            return self._fresh(model).details()

    def figures(self, models: list[ServedModel]) -> dict[str, dict[str, Any]]:
        """Return what Prometheus gets, by the name of the model."""
        with self._lock:
            numbers = {model.id for model in models}
            for gone in self._found.keys() - numbers:
                del self._found[gone]
            return {model.name: self._fresh(model).figures() for model in models}

    def _fresh(self, model: ServedModel) -> "ModelFollower":
        """Return the follower of a model, which has read the log."""
        follower = self._found.get(model.id)
        if follower is None or follower.generation != model.generation:
            # Rows were forgotten: nothing that came from them is kept.
            follower = self._found[model.id] = ModelFollower(model)
        if time.monotonic() - follower.read_at >= _FRESH:
            try:
                with closing(open_log(self._folder, read_only=True)) as connection:
                    connection.execute("BEGIN")
                    follower.read(connection)
            except (*DAMAGE, ValueError, TypeError) as error:
                # Other parts of the service say what is damaged, and go on.
                follower.problem = f"the log cannot be read: {error}"
                follower.read_at = time.monotonic()
        return follower


@final
class ModelFollower:
    """Follows the rows and labels of one model."""

    def __init__(self, model: ServedModel) -> None:
        self.generation = model.generation
        self.read_at = float("-inf")
        self.problem: str | None = None
        self._model = model
        self._begin()

    def _begin(self) -> None:
        spec, model = self._model.spec, self._model
        names: list[str] = []
        categorical: list[int] = []
        plain: list[ColumnKind] = ["number"] * spec.n_features
        for j, kind in enumerate(model.columns.kinds or plain):
            name = spec.features[j] if spec.features else f"x{j + 1}"
            if kind == "category":
                categorical.append(len(names))
            parts = [f"{name}, part {k + 1}" for k in range(WIDTHS[kind])]
            names += parts if len(parts) > 1 else [name]
        self._inputs = InputWatch(names, categorical)
        self._watch = LearnerWatch(self._inputs)
        self._labels = LabelIndex()
        self._seq = self._event = -1
        self._waiting: dict[int, float] = {}
        self._now = self._watch.forecast.expected([])

    # Reading

    def read(self, connection: sqlite3.Connection) -> None:
        """Follow what is new in the log, which is in a transaction."""
        number = self._model.id
        first = self._first_row(connection)
        if self._seq < first:
            self._begin()
            self._seq, self._event = first, self._first_event(connection)
        items: Iterator[_Row | _Labels] = merge(
            _rows(connection, number, self._seq),
            _labels(connection, number, self._event),
            key=lambda item: (item.time, item.order),
        )
        batch: list[_Row] = []
        for item in items:
            if isinstance(item, _Row):
                batch.append(item)
                if len(batch) == self._inputs.room():
                    self._predicted(batch)
                    batch = []
            else:
                self._predicted(batch)
                batch = []
                self._labelled(item)
        self._predicted(batch)
        self._now = self._expected(connection)
        self.problem, self.read_at = None, time.monotonic()

    def _first_row(self, connection: sqlite3.Connection) -> int:
        """Return the row after which a follower would begin now."""
        found = connection.execute(
            "SELECT seq FROM rows WHERE model=? ORDER BY seq DESC LIMIT 1 OFFSET ?",
            (self._model.id, MOST),
        ).fetchone()
        return 0 if found is None else int(found[0])

    def _first_event(self, connection: sqlite3.Connection) -> int:
        """Return the event after which a follower would begin now."""
        newest = connection.execute(
            "SELECT id, n FROM events WHERE model=? AND kind='labels' ORDER BY id DESC",
            (self._model.id,),
        )
        rows = 0
        for event, n in newest:
            rows += n
            if rows > MOST:
                return int(event)
        return 0

    def _predicted(self, rows: list[_Row]) -> None:
        """Add rows in the order of their predictions, at most up to the next look."""
        if not rows:
            return
        predicted = self._labels.of([row.predicted for row in rows])
        confidence = np.array([row.confidence for row in rows])
        self._watch.add_predicted(predicted, confidence, self._labels.labels)
        self._waiting |= {row.seq: row.confidence for row in rows}
        self._seq = rows[-1].seq
        self._inputs.add_predicted(np.stack([row.x for row in rows]), self._seq)
        while len(self._waiting) > MOST:
            first = next(iter(self._waiting))
            self._watch.remove_waiting(np.array([self._waiting.pop(first)]))
        if self._inputs.rows % WINDOW == 0:
            self._watch.look()

    def _labelled(self, event: _Labels) -> None:
        """Add labels in the order in which they came."""
        self._event = event.event
        for start in range(0, len(event.rows), WINDOW):
            rows = event.rows[start : start + WINDOW]
            confidence = np.array([row.confidence for row in rows])
            # Those of rows before the beginning do not count as waiting.
            known = np.array([row.seq in self._waiting for row in rows])
            self._watch.add_waiting(confidence[~known])
            for row in rows:
                self._waiting.pop(row.seq, None)
            newest = max(row.seq for row in rows)
            self._inputs.add_labelled(np.stack([row.x for row in rows]), newest)
            self._watch.add_labelled(
                self._labels.of(event.labels[start : start + WINDOW]),
                self._labels.of([row.predicted for row in rows]),
                confidence,
                self._labels.labels,
                np.full(len(rows), self._inputs.rows),
            )

    def _expected(self, connection: sqlite3.Connection) -> ExpectedError:
        """Return the expected error of the latest rows that wait in the log."""
        found = connection.execute(
            "SELECT confidence FROM rows WHERE model=? AND event IS NULL "
            "ORDER BY seq DESC LIMIT ?",
            (self._model.id, MOST),
        ).fetchall()
        waiting = [each for (each,) in found if isinstance(each, float)]
        counts = WaitingCounts.of(np.array(waiting))
        return self._watch.forecast.expected(counts, outside=self._inputs.outside)

    # Figures

    def figures(self) -> dict[str, Any]:
        """Return the figures of the present."""
        now, (_, distances) = self._now, self._inputs.shifts.series()
        last = distances[-1].tolist() if len(distances) else []
        names = self._inputs.shifts.names
        most = sorted(zip(names, last, strict=False), key=lambda pair: -pair[1])
        count = len(self._inputs.shifts.alarms) + len(self._watch.alarms)
        return {
            "waiting": now.waiting,
            "expected": now.expected if now.waiting else None,
            "low": now.low,
            "high": now.high,
            "known": now.known,
            "reason": self.problem or now.reason,
            "outside": self._inputs.outside,
            "outside_column": self._inputs.outside_column,
            "distances": most[:_COLUMNS],
            "alarms": count,
        }

    def details(self) -> dict[str, Any]:
        """Return the figures of the present, curves and alarms."""
        rows, distances = self._inputs.shifts.series()
        columns = dict(zip(self._inputs.shifts.names, distances.T, strict=False))
        if len(rows) == 0:
            columns = {}
        class_rows, classes = self._watch.classes.series()
        if len(class_rows) == len(rows) and len(rows):
            columns["predicted class"] = classes[:, 0]
        shown = sorted(columns, key=lambda name: -float(columns[name].max()))
        alarms = [*self._inputs.shifts.alarms, *self._watch.alarms]
        alarms.sort(key=lambda alarm: alarm.row)
        looks = self._watch.looks[-_POINTS:]
        return {
            **self.figures(),
            "rows": self._inputs.rows,
            "curve": [[look.row, *_figures(look.error)] for look in looks],
            "moved": {
                "rows": rows[-_POINTS:].tolist(),
                "columns": [
                    [name, columns[name][-_POINTS:].tolist()]
                    for name in shown[:_COLUMNS]
                ],
                "left_out": max(len(columns) - _COLUMNS, 0),
            },
            "skipped": self._inputs.skipped,
            "latest_alarms": [_alarm(each) for each in alarms[-_ALARMS:]],
        }


def _figures(error: ExpectedError) -> list[float | None]:
    known = error.known
    return [each if known else None for each in (error.expected, error.low, error.high)]


def _alarm(alarm: Alarm) -> dict[str, Any]:
    return {
        "row": alarm.row,
        "what": alarm.what,
        "changes": [_change(each) for each in alarm.changes[:_CHANGES]],
        "more": max(len(alarm.changes) - _CHANGES, 0),
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "name": change.name,
        "distance": change.distance,
        "p_value": change.p_value,
        "cells": [[each.cell, each.before, each.after] for each in change.cells],
    }


# Reading the log

_ROW = "SELECT seq, time, x, predicted, confidence FROM rows WHERE "


def _rows(connection: sqlite3.Connection, model: int, after: int) -> Iterator[_Row]:
    """Yield the rows of a model after one, in order."""
    found = connection.execute(
        f"{_ROW}seq>? AND model=? ORDER BY seq",
        (after, model),
    )
    for line in found:
        row = _sound(*line)
        if row is not None:
            yield row


def _sound(
    seq: int, when: float, x: Any, predicted: Any, confidence: Any
) -> _Row | None:
    """Return a row of the table; None if it is damaged, which others report."""
    try:
        values = np.frombuffer(x, "<f8").astype(np.float64)
        sure = confidence if isinstance(confidence, float) else float("nan")
        return _Row(float(when), 0, seq, values, json.loads(predicted), sure)
    except (ValueError, TypeError):
        return None


def _labels(
    connection: sqlite3.Connection, model: int, after: int
) -> Iterator[_Labels]:
    """Yield the labels of a model's rows after an event, in order."""
    found = connection.execute(
        "SELECT id, time, body FROM events WHERE model=? AND id>? AND kind='labels' "
        "ORDER BY id",
        (model, after),
    )
    for event, when, body in found:
        try:
            content = json.loads(body)
            pairs = list(zip(content["rows"], content["labels"], strict=True))
        except (ValueError, TypeError, KeyError):
            continue
        rows, labels = [], []
        for seq, label in pairs:
            line = connection.execute(f"{_ROW}seq=?", (seq,)).fetchone()
            row = None if line is None else _sound(*line)
            if row is not None:
                rows.append(row)
                labels.append(label)
        if rows:
            yield _Labels(float(when), 1, event, rows, labels)
