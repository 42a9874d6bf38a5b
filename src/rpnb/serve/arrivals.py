"""A model's rows and events in the order in which the log has them.

A row that was predicted came after the event that `after` names, and before the next
one: what a learner would have predicted for it is what it predicts in between.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.serve.comparison import Comparison
from rpnb.serve.events import LabelledEvent
from rpnb.serve.http.tables import Label
from rpnb.serve.log import ROW, checksum_of, read_events, sound_row
from rpnb.serve.models import ScoredEvent, ServedModel


class ArrivedRow(NamedTuple):
    """A row that was predicted, and where it came."""

    seq: int
    after: int
    """the last event before it"""
    contender: int
    """the learner that answered it"""
    labelled: bool
    x: bytes


class ArrivedRows(NamedTuple):
    """Rows that came between two events."""

    rows: list[ArrivedRow]

    @property
    def X(self) -> FloatArray:
        """Their features, (n, p)."""
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
    """Yield rows and events after an event and before another, in their order.

    Rows with numbers up to `seen` are left out.

    Raises
    ------
    EventError
        At an event that is damaged, once those before it were yielded.
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
    """Yield the rows of a model that are sound, in the order in which they came."""
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
) -> Iterator[dict[int, list[Label | None]]]:
    """Let a model learn the events before an id; yield predictions of observed rows.

    Where another learner answers, it predicts the rows that come, and is compared with
    the answers once their labels come.
    """
    history, number = model.history, model.contender
    if number == 0 and history.alone:
        for events in read_events(connection, model.id, model.applied, chunk, before):
            yield model.apply(events)
        return
    since = history.since(number)
    answers = history.serving.number == number
    compared = None if model.comparison is None else model.comparison.since
    if answers:
        model.comparison = None
    elif compared != since:
        model.comparison = Comparison(since)
    model.watch = None if answers else partial(_compare, connection, model)
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
                predict_beside(model, ArrivedRows(rows))
        else:
            yield model.apply(some)
    model.watch = None


def predict_beside(model: ServedModel, rows: ArrivedRows) -> None:
    """Predict rows that another learner answers, until their labels come."""
    with model.turn():
        found = model.predict_locked(rows.X, confidence=True, probabilities=False)
    guesses = zip(found.labels, found.confidence, strict=True)
    numbers = [each.seq for each in rows.rows]
    model.pending.update(zip(numbers, guesses, strict=True))


def _compare(
    connection: sqlite3.Connection, model: ServedModel, scored: ScoredEvent
) -> None:
    """Compare predictions with the answers that clients got."""
    event, own, _ = scored
    comparison = model.comparison
    if comparison is None or event.event <= comparison.since:
        return
    served: Sequence[Label | None]
    if event.kind == "observe":
        served = read_observed(connection, event.event) or [None] * len(own)
    else:
        served = [
            None if contender == model.contender else label
            for label, contender in zip(
                event.predicted or (), event.contenders or (), strict=True
            )
        ]
    comparison.add(event.labels, own, served)


def read_observed(
    connection: sqlite3.Connection, event: int
) -> list[Label | None] | None:
    """Return what was answered to an event "observe"; None if that is not known."""
    found = connection.execute(
        "SELECT predicted, checksum FROM observed WHERE event=?", (event,)
    ).fetchone()
    if found is None or found[1] != checksum_of(event, found[0]):
        return None
    labels: list[Label | None] = json.loads(found[0])
    return labels


def write_observed(
    connection: sqlite3.Connection, answers: list[tuple[int, int, str]]
) -> None:
    """Keep what was answered to events "observe": (event, model, labels in JSON)."""
    connection.executemany(
        "INSERT OR IGNORE INTO observed(event, model, predicted, checksum) "
        "VALUES(?,?,?,?)",
        [(*each, checksum_of(each[0], each[2])) for each in answers],
    )
