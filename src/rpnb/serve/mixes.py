"""Correction of probabilities for class mixes that change before labels arrive.

Probabilities of rows that wait are corrected by `rpnb.evaluate.waiting.PriorCorrection`
if that has lowered the log-loss on the labels so far. The correction is a function of
the log: of the rows in the order in which they were written, with their probabilities
before the correction, and of the labels in between. Only the writer changes it. Its
state is a row of the table `mixes`, written with snapshots and before rows are deleted;
a restart continues from there.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, final

from rpnb.core.kernels.arrays import FloatArray
from rpnb.evaluate.waiting.class_mix import ClassMix, NumberedRows
from rpnb.serve.label_rules import Label
from rpnb.serve.log import (
    checksum_of,
    unpack_checked,
    unpack_probabilities,
)

#: Models with more classes are not corrected.
MOST_CLASSES: Final = 100


@final
class MixCorrection:
    """Correction of the probabilities of one learner."""

    def __init__(self) -> None:
        self._mix = ClassMix()
        self.row = 0
        """last row of the log that it includes"""
        self.event = 0
        """last event of the log that it includes"""

    @property
    def share(self) -> float:
        """Share of the correction that is applied, from 0 to 1."""
        return self._mix.share

    def describe(self) -> dict[str, Any]:
        """Return the description for clients."""
        shares = [[*each] for each in self._mix.shares.items()]
        return {"share": self.share, "mix": shares}

    def apply(self, classes: Sequence[Label], P: FloatArray) -> FloatArray:
        """Return probabilities corrected by the current class mix."""
        return self._mix.apply(classes, P)

    def correct(self, classes: Sequence[Label], P: FloatArray) -> NumberedRows:
        """Correct the probabilities of new rows that will wait for labels."""
        return self._mix.correct(classes, P)

    def note_row(self, seq: int, number: int) -> None:
        """Record the number of a row of the log."""
        self._mix.name_row(seq, number)
        self.row = seq

    def add_labelled(
        self, event: int, rows: Sequence[int], labels: Sequence[Label]
    ) -> None:
        """Add the labels of an event; labels of unknown rows are ignored."""
        self.event = event
        self._mix.add_labelled(rows, labels)

    def to_json(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return {"row": self.row, "event": self.event, **self._mix.to_json()}

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "MixCorrection":
        """Return the correction whose state `to_json` returned."""
        found = cls()
        found.row, found.event = saved["row"], saved["event"]
        found._mix = ClassMix.from_json(saved)
        return found


def write_mix(
    connection: sqlite3.Connection, model: int, contender: int, mix: MixCorrection
) -> None:
    """Write the state of a correction; the caller has a transaction."""
    text = json.dumps(mix.to_json())
    connection.execute(
        "INSERT OR REPLACE INTO mixes(model, contender, state, checksum) "
        "VALUES(?,?,?,?)",
        (model, contender, text, checksum_of(model, contender, text)),
    )


def read_mix(
    connection: sqlite3.Connection, model: int, contender: int
) -> MixCorrection:
    """Restore a correction from its state and the rows and labels after it."""
    found = MixCorrection()
    line = connection.execute(
        "SELECT state, checksum FROM mixes WHERE model=? AND contender=?",
        (model, contender),
    ).fetchone()
    if line is not None and line[1] == checksum_of(model, contender, line[0]):
        found = MixCorrection.from_json(json.loads(line[0]))
    rows = _rows(connection, model, contender, found.row)
    waiting = next(rows, None)
    events = connection.execute(
        "SELECT id, body FROM events WHERE model=? AND id>? AND kind='labels' "
        "ORDER BY id",
        (model, found.event),
    )
    for event, body in events:
        while waiting is not None and waiting[1] < event:
            _add(found, waiting)
            waiting = next(rows, None)
        with suppress(ValueError, TypeError, KeyError):  # others report the damage
            content = json.loads(body)
            found.add_labelled(event, content["rows"], content["labels"])
    while waiting is not None:
        _add(found, waiting)
        waiting = next(rows, None)
    return found


def _rows(
    connection: sqlite3.Connection, model: int, contender: int, after: int
) -> Iterator[tuple[int, int, bytes]]:
    """Yield corrected rows as (number, last event before, packed probabilities)."""
    for seq, position, stored in connection.execute(
        "SELECT seq, after, given FROM rows WHERE model=? AND contender=? AND seq>? "
        "AND given IS NOT NULL ORDER BY seq",
        (model, contender, after),
    ):
        try:
            content = unpack_checked(stored)
        except ValueError:
            continue
        if content is not None:
            yield seq, position, content


def _add(mix: MixCorrection, row: tuple[int, int, bytes]) -> None:
    seq, _, content = row
    (number,) = mix.correct(*unpack_probabilities(content)).numbers
    mix.note_row(seq, number)
