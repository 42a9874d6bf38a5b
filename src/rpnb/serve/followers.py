"""Expected error and drift of a model while labels are missing, for the page.

Followers read kept rows and their labels from the log, in the order of time. They write
nothing, the writer does not wait for them, and they read only on request. The figures
are those of `rpnb.evaluate.waiting`, a function of the last 20,000 rows of the log at
the start and of all rows since.
"""

import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from heapq import merge
from pathlib import Path
from typing import Any, Final, NamedTuple, final

import numpy as np

from rpnb.core.columns.coding import ColumnKind
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.evaluate.waiting.changes import Change
from rpnb.evaluate.waiting.forecast import ExpectedError, WaitingCounts
from rpnb.evaluate.waiting.shifts import WINDOW, Alarm
from rpnb.evaluate.waiting.table_columns import column_distances
from rpnb.evaluate.waiting.watch import InputWatch, LearnerWatch
from rpnb.labels import LabelIndex
from rpnb.serve.asked_error import asked_error
from rpnb.serve.log import DAMAGE, read_log
from rpnb.serve.served_model import ServedModel

#: Rows, and labels, of the log with which a follower begins.
MOST: Final = 20_000
# Seconds for which figures are reused, and the error of rows that were asked for.
_FRESH: Final = 1.0
_ASKED_FRESH: Final = 10.0
# Most columns, alarms, changes of an alarm, and points of a curve that are shown.
_COLUMNS, _ALARMS, _CHANGES, _POINTS = 8, 10, 6, 200


class _Row(NamedTuple):
    """A predicted row that waits, or waited, for its label."""

    time: float
    order: int
    """0: rows come before labels of the same time"""
    seq: int
    x: FloatArray
    predicted: Any
    confidence: float


class _Labels(NamedTuple):
    """Labels that arrived together."""

    time: float
    order: int
    event: int
    rows: list[_Row]
    labels: list[Any]


@final
class Followers:
    """Followers of the models in a folder, created on the first request.

    Parameters
    ----------
    folder
        Folder of the log.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._found: dict[int, ModelFollower] = {}

    def details(self, model: ServedModel) -> dict[str, Any]:
        """Return the figures of a model for the page."""
        follower = self._of(model)
        with follower.lock:
            self._refresh(follower)
            return follower.details()

    def has_read(self, model: ServedModel) -> bool:
        """Return whether the log was read once, which may take seconds."""
        return self._of(model).read_at > float("-inf")

    def figures(self, models: list[ServedModel]) -> dict[str, dict[str, Any]]:
        """Return the figures for Prometheus, by the name of the model."""
        with self._lock:
            numbers = {model.id for model in models}
            for gone in self._found.keys() - numbers:
                del self._found[gone]
        found = {}
        for model in models:
            follower = self._of(model)
            with follower.lock:
                self._refresh(follower)
                found[model.name] = follower.figures()
        return found

    def _of(self, model: ServedModel) -> "ModelFollower":
        """Return the follower of a model."""
        with self._lock:
            follower = self._found.get(model.id)
            if follower is None or follower.state != _state(model):
                # Rows were forgotten, and with them all figures; or another learner
                # serves, which has no figures yet.
                follower = self._found[model.id] = ModelFollower(model)
            return follower

    def _refresh(self, follower: "ModelFollower") -> None:
        """Read new entries of the log, unless that was done a moment ago."""
        if time.monotonic() - follower.read_at < _FRESH:
            return
        try:
            with read_log(self._folder) as connection:
                follower.read(connection)
        except (*DAMAGE, ValueError, TypeError) as error:
            # Other parts of the service report the damage and continue.
            follower.problem = f"the log cannot be read: {error}"
            follower.read_at = time.monotonic()


@final
class ModelFollower:
    """Follows the rows and labels of one model."""

    def __init__(self, model: ServedModel) -> None:
        self.lock = threading.Lock()
        """held while it reads, and while its figures are read"""
        self.state = _state(model)
        self.read_at = float("-inf")
        self.problem: str | None = None
        self._model = model
        self._begin()

    def _begin(self) -> None:
        spec, model = self._model.spec, self._model
        plain: list[ColumnKind] = ["number"] * spec.n_features
        kinds = model.columns.kinds or plain
        names = spec.features or [f"x{j + 1}" for j in range(len(kinds))]
        self._inputs = InputWatch(names, (), model.categories, kinds)
        self._watch = LearnerWatch(self._inputs)
        self._labels = LabelIndex()
        self._seq = self._event = -1
        self._waiting: dict[int, float] = {}
        self._now = self._watch.forecast.expected([])
        self._asked: dict[str, Any] | None = None
        self._asked_at = float("-inf")

    # Reading

    def read(self, connection: sqlite3.Connection) -> None:
        """Read new entries of the log; the caller has a transaction."""
        first = self._first_row(connection)
        if self._seq < first:
            self._begin()
            self._seq, self._event = first, self._first_event(connection)
        items: Iterator[_Row | _Labels] = merge(
            _rows(connection, self._model, self._seq),
            _labels(connection, self._model, self._event),
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
        if time.monotonic() - self._asked_at >= _ASKED_FRESH:
            self._asked = _read_asked(connection, self._model)
            self._asked_at = time.monotonic()
        self.problem, self.read_at = None, time.monotonic()

    def _first_row(self, connection: sqlite3.Connection) -> int:
        """Return the row after which a new follower would begin."""
        found = connection.execute(
            "SELECT seq FROM rows WHERE model=? ORDER BY seq DESC LIMIT 1 OFFSET ?",
            (self._model.id, MOST),
        ).fetchone()
        return 0 if found is None else int(found[0])

    def _first_event(self, connection: sqlite3.Connection) -> int:
        """Return the event after which a new follower would begin."""
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
        """Add predicted rows, at most up to the next evaluation of the windows."""
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
        """Add labels that arrived together."""
        self._event = event.event
        for start in range(0, len(event.rows), WINDOW):
            rows = event.rows[start : start + WINDOW]
            confidence = np.array([row.confidence for row in rows])
            # Rows from before the first one read were not counted as waiting.
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
        """Return the expected error of the latest waiting rows."""
        found = connection.execute(
            "SELECT confidence FROM rows WHERE model=? AND event IS NULL "
            "AND contender=? ORDER BY seq DESC LIMIT ?",
            (self._model.id, self._model.contender, MOST),
        ).fetchall()
        waiting = [each for (each,) in found if isinstance(each, float)]
        counts = WaitingCounts.of(np.array(waiting))
        return self._watch.forecast.expected(counts, outside=self._inputs.outside)

    # Figures

    def _columns(self) -> tuple[IntArray, dict[str, FloatArray]]:
        """Return rows, and the distances of the windows that end there, by column.

        Columns that only move with time are left out.
        """
        shifts = self._inputs.shifts
        rows, distances = shifts.series()
        if len(rows) == 0:
            return rows, {}
        found = column_distances(shifts.names, distances)
        return rows, {k: v for k, v in found.items() if k not in shifts.clocks}

    def figures(self) -> dict[str, Any]:
        """Return the current figures."""
        now, (_, columns) = self._now, self._columns()
        last = [(name, float(column[-1])) for name, column in columns.items()]
        most = sorted(last, key=lambda pair: -pair[1])
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
            "predicted_moved": self._predicted_moved(),
            "alarms": self._inputs.shifts.raised + self._watch.raised,
            "alarms_by_kind": self._alarms(),
        }

    def _predicted_moved(self) -> float | None:
        """Return the latest distance of the predicted classes from the reference."""
        rows, distances = self._watch.classes.series()
        return float(distances[-1, 0]) if len(rows) else None

    def _alarms(self) -> dict[str, int]:
        """Return the number of alarms by kind."""
        predictions = self._watch.classes.raised
        return {
            "inputs": self._inputs.shifts.raised,
            "predictions": predictions,
            "errors": self._watch.raised - predictions,
        }

    def details(self) -> dict[str, Any]:
        """Return the current figures, curves and alarms."""
        rows, columns = self._columns()
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
            "asked": self._asked,
            "skipped": self._inputs.skipped,
            "clocks": sorted(self._inputs.shifts.clocks),
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


def _state(model: ServedModel) -> tuple[int, int]:
    """Return a value that changes when the figures must start again."""
    return model.generation, model.contender


# Reading the log

_ROW = "SELECT seq, time, x, predicted, confidence, contender FROM rows WHERE "


def _rows(
    connection: sqlite3.Connection, model: ServedModel, after: int
) -> Iterator[_Row]:
    """Yield the rows of a model after a row, in order."""
    found = connection.execute(
        f"{_ROW}seq>? AND model=? ORDER BY seq",
        (after, model.id),
    )
    for line in found:
        row = _sound(model.contender, *line)
        if row is not None:
            yield row


def _sound(
    learner: int,
    seq: int,
    when: float,
    x: Any,
    predicted: Any,
    confidence: Any,
    contender: Any,
) -> _Row | None:
    """Return a row of the table; None if it is damaged, which `--check` reports.

    Predictions of other learners of the model are left out.
    """
    try:
        values = np.frombuffer(x, "<f8").astype(np.float64)
        own = contender == learner
        label = json.loads(predicted) if own else None
        sure = confidence if own and isinstance(confidence, float) else float("nan")
        return _Row(float(when), 0, seq, values, label, sure)
    except (ValueError, TypeError):
        return None


def _read_asked(
    connection: sqlite3.Connection, model: ServedModel
) -> dict[str, Any] | None:
    """Return how many rows were asked for, and the error that their labels estimate.

    None if the model was never asked.
    """
    drawn = connection.execute(
        "SELECT rows, asked FROM asking WHERE model=?", (model.id,)
    ).fetchone()
    if drawn is None or drawn[0] == 0:
        return None
    (waiting,) = connection.execute(
        "SELECT count(*) FROM rows WHERE model=? AND event IS NULL AND weight IS NOT "
        "NULL",
        (model.id,),
    ).fetchone()
    found = {"offered": int(drawn[0]), "drawn": int(drawn[1]), "open": waiting}
    return found | asked_error(connection, model.id, model.contender)


def _labels(
    connection: sqlite3.Connection, model: ServedModel, after: int
) -> Iterator[_Labels]:
    """Yield the labels of a model after an event, in order."""
    found = connection.execute(
        "SELECT id, time, body FROM events WHERE model=? AND id>? AND kind='labels' "
        "ORDER BY id",
        (model.id, after),
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
            row = None if line is None else _sound(model.contender, *line)
            if row is not None:
                rows.append(row)
                labels.append(label)
        if rows:
            yield _Labels(float(when), 1, event, rows, labels)
