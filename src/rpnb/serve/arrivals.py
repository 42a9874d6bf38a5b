"""A model's rows and events in the order in which the log has them.

A row that was predicted came after the event that `after` names, and before the next
one: what a learner would have predicted for it is what it predicts in between.
"""

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.serve.log import ROW, read_events, sound_row
from rpnb.serve.models import LabelledEvent


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
) -> Iterator[ArrivedRows | list[LabelledEvent]]:
    """Yield rows and events after an event and before another, in their order.

    Raises
    ------
    EventError
        At an event that is damaged, once those before it were yielded.
    """
    rows = _read_rows(connection, model, after, before)
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
    if waiting is not None:
        yield ArrivedRows([waiting, *rows])


def _read_rows(
    connection: sqlite3.Connection, model: int, after: int, before: int
) -> Iterator[ArrivedRow]:
    """Yield the rows of a model that are sound, in the order in which they came."""
    for seq, event, *stored in connection.execute(
        f"SELECT seq, event, {ROW} FROM rows WHERE model=? AND after>=? AND after<? "  # noqa: S608 - our own words
        "ORDER BY seq",
        (model, after, before),
    ):
        if sound_row(*stored):
            _, _, _, x, _, _, position, contender, _ = stored
            yield ArrivedRow(seq, position, contender, event is not None, x)
