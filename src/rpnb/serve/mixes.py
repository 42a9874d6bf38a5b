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
from typing import Any, Final, NamedTuple, final

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.evaluate.waiting.priors import PriorCorrection
from rpnb.serve.label_rules import Label
from rpnb.serve.log import (
    checksum_of,
    pack_probabilities,
    unpack_checked,
    unpack_probabilities,
)

#: Models with more classes are not corrected.
MOST_CLASSES: Final = 100


class CorrectedRows(NamedTuple):
    """Corrected probabilities of rows."""

    P: FloatArray
    numbers: list[int]
    """numbers of the rows, in the order in which they were corrected"""
    given: list[bytes]
    """probabilities before the correction, packed"""


@final
class MixCorrection:
    """Correction of the probabilities of one learner."""

    def __init__(self) -> None:
        self._priors = PriorCorrection()
        self._places: dict[Label, int] = {}
        self._numbers: dict[int, int] = {}
        self.row = 0
        """last row of the log that it includes"""
        self.event = 0
        """last event of the log that it includes"""

    @property
    def share(self) -> float:
        """Share of the correction that is applied, from 0 to 1."""
        return self._priors.share

    def describe(self) -> dict[str, Any]:
        """Return the description for clients."""
        mix = self._priors.mix
        known = [] if mix is None else mix.tolist()
        pairs = zip(list(self._places), known, strict=False)
        return {"share": self.share, "mix": [[*each] for each in pairs]}

    def _columns_of(self, classes: Sequence[Label]) -> list[int]:
        """Return the columns of classes; a new class gets the next column."""
        return [self._places.setdefault(each, len(self._places)) for each in classes]

    def apply(self, classes: Sequence[Label], P: FloatArray) -> FloatArray:
        """Return probabilities corrected by the current class mix."""
        known = [each in self._places for each in classes]
        if not self.share or not all(known) or len(classes) < len(self._places):
            return P
        columns = [self._places[each] for each in classes]
        whole = np.zeros((len(P), len(self._places)))
        whole[:, columns] = P
        return self._priors.apply(whole)[:, columns]

    def correct(self, classes: Sequence[Label], P: FloatArray) -> CorrectedRows:
        """Correct the probabilities of new rows that will wait for labels."""
        given = pack_probabilities([*classes], P)
        columns = self._columns_of(classes)
        whole = np.zeros((len(P), len(self._places)))
        whole[:, columns] = P
        first = self._priors.rows
        found = self._priors.correct(whole)[:, columns]
        return CorrectedRows(found, [*range(first, first + len(P))], given)

    def note_row(self, seq: int, number: int) -> None:
        """Record the number of a row of the log."""
        self._numbers[seq] = number
        self.row = seq
        while len(self._numbers) > self._priors.most_waiting:
            del self._numbers[next(iter(self._numbers))]

    def add_labelled(
        self, event: int, rows: Sequence[int], labels: Sequence[Label]
    ) -> None:
        """Add the labels of an event; labels of unknown rows are ignored."""
        self.event = event
        pairs = [
            (self._numbers.pop(seq), self._places[label])
            for seq, label in zip(rows, labels, strict=True)
            # A class that was unknown when the row arrived has no probability.
            if seq in self._numbers and label in self._places
        ]
        if pairs:
            self._priors.add_labelled(*np.array(pairs).T)

    def to_text(self) -> str:
        """Return the state as JSON."""
        return json.dumps(
            {
                "row": self.row,
                "event": self.event,
                "classes": [*self._places],
                "numbers": [[*each] for each in self._numbers.items()],
                "priors": self._priors.to_json(),
            }
        )

    @classmethod
    def from_text(cls, text: str) -> "MixCorrection":
        """Return what `to_text` wrote."""
        saved, found = json.loads(text), cls()
        found.row, found.event = saved["row"], saved["event"]
        found._columns_of(saved["classes"])
        found._numbers = dict(saved["numbers"])
        found._priors = PriorCorrection.from_json(saved["priors"])
        return found


def write_mix(
    connection: sqlite3.Connection, model: int, contender: int, mix: MixCorrection
) -> None:
    """Write the state of a correction; the caller has a transaction."""
    text = mix.to_text()
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
        found = MixCorrection.from_text(line[0])
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
