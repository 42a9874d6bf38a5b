"""Buffered reads and writes of one transaction, in few statements of many rows.

Every statement releases the interpreter's lock and waits for it again, which takes
longer than the statement itself while requests are being parsed. So the rows and keys
that a group of commands needs are read before it runs, and new rows are buffered until
`flush`; later commands of the group find them here.
"""

import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, final

from rpnb.serve.log import ROW, checksum_of, row_checksum, sound_row

_LARGEST_STATEMENT = 64
_ROWS = (
    "INSERT INTO rows(seq, model, id, time, x, predicted, confidence, after, "
    "contender, checksum, scores, proba, given) VALUES"
)
_EVENTS = "INSERT INTO events(id, model, kind, time, n, body, checksum, header) VALUES"
_KEYS = "INSERT INTO keys(model, key, digest, time, event, answer) VALUES"
_ANSWERS = (
    "UPDATE keys SET answer=new.column1 FROM (VALUES",
    ") AS new WHERE keys.model=new.column2 AND keys.key=new.column3",
)


@dataclass(slots=True)
class StoredRow:
    """A predicted row of the log."""

    seq: int
    """number of the row in the log"""
    event: int | None
    """id of the event that labelled it, if any"""
    x: bytes
    predicted: str
    """predicted label as JSON"""
    confidence: float | None
    contender: int = 0
    """number of the learner that predicted it"""


class StoredKey(NamedTuple):
    """The request that a client's key stands for."""

    digest: bytes
    event: int | None
    answer: str | None
    """as JSON; None if it follows from the event"""


@cache
def _statement(head: str, tail: str, width: int, n: int) -> str:
    row = "(" + ",".join("?" * width) + ")"
    return head + ",".join([row] * n) + tail


def execute_all(
    connection: sqlite3.Connection,
    head: str,
    rows: Sequence[tuple[Any, ...]],
    tail: str = "",
) -> None:
    """Execute a statement with many rows of VALUES at a time."""
    for start in range(0, len(rows), _LARGEST_STATEMENT):
        some = rows[start : start + _LARGEST_STATEMENT]
        statement = _statement(head, tail, len(some[0]), len(some))
        connection.execute(statement, [value for row in some for value in row])


def _batches(values: Sequence[Any]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield some values at a time, with as many question marks for a statement."""
    for start in range(0, len(values), _LARGEST_STATEMENT):
        some = values[start : start + _LARGEST_STATEMENT]
        yield ",".join("?" * len(some)), some


def save_answers(
    connection: sqlite3.Connection, answers: dict[tuple[int, str], str]
) -> None:
    """Write answers to keys that were written without one."""
    rows = [(answer, model, key) for (model, key), answer in answers.items()]
    execute_all(connection, _ANSWERS[0], rows, _ANSWERS[1])


def _largest_numbers(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the largest row and event numbers ever used."""
    found = {}
    for table, column in (("rows", "seq"), ("events", "id"), ("aside", "id")):
        most = f"SELECT max({column}) FROM {table}"  # noqa: S608 - our own words
        found[table] = connection.execute(most).fetchone()[0] or 0
    kept = connection.execute("SELECT name, seq FROM sqlite_sequence").fetchall()
    for table, number in kept:
        if isinstance(number, int):
            found[table] = max(found.get(table, 0), number)
    return {"rows": found["rows"], "events": max(found["events"], found["aside"])}


@final
class BufferedTables:
    """The tables of the log within one transaction.

    Parameters
    ----------
    connection
        Connection to the log, in a transaction.
    numbers
        Largest row and event numbers ever used, kept by the writer between
        transactions; read from the log if empty.
    """

    def __init__(
        self, connection: sqlite3.Connection, numbers: dict[str, int] | None = None
    ) -> None:
        self.connection = connection
        self._numbers = {} if numbers is None else numbers
        self._rows: dict[tuple[int, str], StoredRow | None] = {}
        self.damaged: set[tuple[int, str]] = set()
        """rows whose checksums do not match"""
        self._keys: dict[tuple[int, str], StoredKey | None] = {}
        self._new_rows: list[tuple[Any, ...]] = []
        self._new_events: list[tuple[Any, ...]] = []
        self._new_keys: list[tuple[Any, ...]] = []
        self._labelled: list[tuple[int, list[int]]] = []
        self._before: int | None = None
        """id of the last event before this transaction"""

    def _next_number(self, table: str) -> int:
        """Return the next number of a table; none is ever used twice."""
        if not self._numbers:
            self._numbers.update(_largest_numbers(self.connection))
        if self._before is None:
            self._before = self._numbers["events"]
        self._numbers[table] += 1
        return self._numbers[table]

    # Rows

    def read_rows(self, model: int, ids: Iterable[str]) -> None:
        """Read rows, for `row` to return."""
        wanted = [
            each for each in dict.fromkeys(ids) if (model, each) not in self._rows
        ]
        self._rows |= dict.fromkeys((model, each) for each in wanted)
        for marks, some in _batches(wanted):
            for seq, event, *row in self.connection.execute(
                f"SELECT seq, event, {ROW} FROM rows "  # noqa: S608 - question marks
                f"WHERE model=? AND id IN ({marks})",
                (model, *some),
            ).fetchall():
                if sound_row(*row):
                    _, name, _, x, predicted, confidence, _, contender, _ = row
                    self._rows[model, name] = StoredRow(
                        seq, event, x, predicted, confidence, contender
                    )
                else:
                    self.damaged.add((model, row[1]))

    def row(self, model: int, name: str) -> StoredRow | None:
        """Return the row with an id; None if there is none."""
        if (model, name) not in self._rows:
            self.read_rows(model, [name])
        return self._rows[model, name]

    def add_row(
        self,
        model: int,
        name: str,
        when: float,
        x: bytes,
        predicted: str,
        confidence: float | None,
        contender: int = 0,
        scores: bytes | None = None,
        proba: bytes | None = None,
        given: bytes | None = None,
    ) -> int:
        """Add a row that waits for its label; return its number."""
        seq = self._next_number("rows")
        stored = StoredRow(seq, None, x, predicted, confidence, contender)
        self._rows[model, name] = stored
        # Rows of a transaction were predicted before its events were applied.
        before = self._before or 0
        row = (model, name, when, x, predicted, confidence, before, contender)
        self._new_rows.append((seq, *row, row_checksum(*row), scores, proba, given))
        return seq

    # Events

    def next_event(self) -> int:
        """Return the id of a new event."""
        return self._next_number("events")

    def add_event(
        self, model: int, kind: str, n: int, body: bytes
    ) -> tuple[int, float]:
        """Append an event; return its id and its time."""
        number, now = self.next_event(), time.time()
        self._add_event(number, model, kind, now, n, body)
        return number, now

    def add_labels(
        self, number: int, when: float, model: int, rows: list[int], body: bytes
    ) -> None:
        """Append an event that labels rows, with an id of `next_event`."""
        self._add_event(number, model, "labels", when, len(rows), body)
        self._labelled.append((number, rows))

    def _add_event(
        self, number: int, model: int, kind: str, when: float, n: int, body: bytes
    ) -> None:
        header = checksum_of(model, kind, when, n)
        event = (number, model, kind, when, n, body, zlib.crc32(body), header)
        self._new_events.append(event)

    # Keys

    def read_keys(self, model: int, keys: Iterable[str]) -> None:
        """Read keys, for `key` to return."""
        wanted = [
            each for each in dict.fromkeys(keys) if (model, each) not in self._keys
        ]
        self._keys |= dict.fromkeys((model, each) for each in wanted)
        for marks, some in _batches(wanted):
            for name, *stored in self.connection.execute(
                "SELECT key, digest, event, answer FROM keys "  # noqa: S608 - question marks
                f"WHERE model=? AND key IN ({marks})",
                (model, *some),
            ).fetchall():
                self._keys[model, name] = StoredKey(*stored)

    def key(self, model: int, name: str) -> StoredKey | None:
        """Return what a key stands for; None if it is new."""
        if (model, name) not in self._keys:
            self.read_keys(model, [name])
        return self._keys[model, name]

    def add_key(self, model: int, name: str, stored: StoredKey) -> None:
        """Add a key with what it stands for."""
        self._keys[model, name] = stored
        self._new_keys.append((model, name, stored.digest, time.time(), *stored[1:]))

    # All of them

    def flush(self) -> None:
        """Write everything that was added, and empty the buffers."""
        execute_all(self.connection, _ROWS, self._new_rows)
        execute_all(self.connection, _EVENTS, self._new_events)
        for event, seqs in self._labelled:
            for marks, some in _batches(seqs):
                self.connection.execute(
                    f"UPDATE rows SET event=? WHERE seq IN ({marks})",  # noqa: S608 - question marks
                    (event, *some),
                )
        execute_all(self.connection, _KEYS, self._new_keys)
        self.clear()

    def clear(self) -> None:
        """Empty the buffers."""
        for each in (self._new_rows, self._new_events, self._labelled, self._new_keys):
            each.clear()
        self._rows.clear()
        self._keys.clear()
