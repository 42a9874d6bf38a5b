"""Rows and events of a model, in the order in which they arrived.

A predicted row arrived after the event with the id `after` and before the next one. A
replay predicts it at that point, so its prediction matches the original one.
"""

import json
import math
import sqlite3
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.serve.comparison import Comparison
from rpnb.serve.label_rules import Label
from rpnb.serve.log import ROW, LabelledEvent, checksum_of, read_events, sound_row
from rpnb.serve.served_model import (
    ObservedAnswer,
    ScoredEvent,
    ServedModel,
)


class ArrivedRow(NamedTuple):
    """A predicted row, and when it arrived."""

    seq: int
    after: int
    """id of the last event before it"""
    contender: int
    """number of the learner whose prediction the client got"""
    labelled: bool
    x: bytes


class ArrivedRows(NamedTuple):
    """Rows that arrived between two events."""

    rows: list[ArrivedRow]

    @property
    def X(self) -> FloatArray:
        """Features of the rows, of shape (n, p)."""
        values = np.frombuffer(b"".join([each.x for each in self.rows]), "<f8")
        return values.reshape(len(self.rows), -1).astype(np.float64)


def read_arrivals(
    connection: sqlite3.Connection,
    model: int,
    after: int,
    *,
    chunk: int = 20_000,
    before: int = 2**62,
    seen: int = 0,
) -> Iterator[ArrivedRows | list[LabelledEvent]]:
    """Yield the rows and events between two events, in order of arrival.

    Parameters
    ----------
    connection, model
        The log, and the number of the model.
    after, before
        Ids of the two events; both are left out.
    chunk
        Approximate number of rows to yield at a time.
    seen
        Rows with numbers up to this one are left out.

    Raises
    ------
    EventError
        If an event is damaged, after those before it have been yielded.
    """
    rows = _read_rows(connection, model, (after, before), seen)
    waiting = next(rows, None)
    for events in read_events(connection, model, after, chunk, before):
        start = 0
        for i, event in enumerate(events):
            if waiting is None or waiting.after >= event.event:
                continue
            if i > start:
                yield events[start:i]
            start = i
            some: list[ArrivedRow] = []
            while waiting is not None and waiting.after < event.event:
                some.append(waiting)
                waiting = next(rows, None)
                if len(some) == chunk:
                    yield ArrivedRows(some)
                    some = []
            if some:
                yield ArrivedRows(some)
        yield events[start:]
    while waiting is not None:
        yield ArrivedRows([waiting, *islice(rows, chunk)])
        waiting = next(rows, None)


def _read_rows(
    connection: sqlite3.Connection, model: int, between: tuple[int, int], seen: int
) -> Iterator[ArrivedRow]:
    """Yield the undamaged rows of a model, in order of arrival."""
    for seq, event, *stored in connection.execute(
        f"SELECT seq, event, {ROW} FROM rows WHERE model=? AND seq>? AND after>=? "  # noqa: S608 - our own words
        "AND after<? ORDER BY seq",
        (model, seen, *between),
    ):
        if sound_row(*stored):
            _, _, _, x, _, _, position, contender, _ = stored
            yield ArrivedRow(seq, position, contender, event is not None, x)


def advance(
    connection: sqlite3.Connection,
    model: ServedModel,
    *,
    chunk: int = 20_000,
    before: int = 2**62,
) -> Iterator[dict[int, ObservedAnswer]]:
    """Let a model learn the events before an id; yield predictions of observed rows.

    A challenger also predicts the rows that the serving learner answered, and is
    compared with it when their labels arrive.
    """
    history, number = model.history, model.contender
    if number == 0 and history.alone:
        for events in read_events(connection, model.id, model.applied, chunk, before):
            yield model.apply(events)
        return
    since = history.since
    answers = history.serving.number == number
    compared = None if model.comparison is None else model.comparison.since
    if answers:
        model.comparison = None
    elif compared != since:
        model.comparison = Comparison(since)
    model.on_scored = None if answers else partial(_compare, connection, model)
    model.scores_probabilities = not answers
    for some in read_arrivals(
        connection, model.id, model.applied, chunk=chunk, before=before, seen=model.seen
    ):
        if isinstance(some, ArrivedRows):
            model.seen = some.rows[-1].seq
            rows = [
                each
                for each in some.rows
                if each.contender != number and history.serving_at(each.after) != number
            ]
            if rows:
                predict_as_challenger(model, ArrivedRows(rows))
        else:
            yield model.apply(some)
    model.on_scored = None


def predict_as_challenger(model: ServedModel, rows: ArrivedRows) -> None:
    """Predict rows that another learner answers, and keep the predictions."""
    with model.turn():
        found = model.predict_locked(rows.X, confidence=True, probabilities=True)
    model.keep_guesses([each.seq for each in rows.rows], found)


def _compare(
    connection: sqlite3.Connection, model: ServedModel, scored: ScoredEvent
) -> None:
    """Compare a challenger's predictions with those that clients got."""
    event, own, own_truth = scored
    comparison = model.comparison
    if comparison is None or event.event <= comparison.since:
        return
    n = len(own)
    served: Sequence[Label | None]
    if event.kind == "observe":
        answer = read_observed(connection, event.event)
        served, truth = answer or ObservedAnswer([None] * n, None)
    else:
        truth = event.truth
        # Rows may have been predicted by a learner that served before.
        serving = model.history.serving.number
        served = [
            label if contender == serving else None
            for label, contender in zip(
                event.predicted or (), event.contenders or (), strict=True
            )
        ]
    served_truth = np.array(truth or [math.nan] * n)
    comparison.add(event.labels, own, served, own_truth, served_truth)


def read_observed(connection: sqlite3.Connection, event: int) -> ObservedAnswer | None:
    """Return the answer to an event "observe"; None if it is not in the log."""
    found = connection.execute(
        "SELECT predicted, truth, checksum FROM observed WHERE event=?", (event,)
    ).fetchone()
    if found is None or found[2] != checksum_of(event, *found[:2]):
        return None
    predicted, truth, _ = found
    return ObservedAnswer(
        json.loads(predicted), None if truth is None else json.loads(truth)
    )


def write_observed(
    connection: sqlite3.Connection, answers: list[tuple[int, int, ObservedAnswer]]
) -> None:
    """Write answers to events "observe", given as (event, model, answer)."""
    rows = []
    for event, model, (labels, truth) in answers:
        texts = json.dumps(labels), None if truth is None else json.dumps(truth)
        rows.append((event, model, *texts, checksum_of(event, *texts)))
    connection.executemany(
        "INSERT OR IGNORE INTO observed(event, model, predicted, truth, checksum) "
        "VALUES(?,?,?,?,?)",
        rows,
    )
