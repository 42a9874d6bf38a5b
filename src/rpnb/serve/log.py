"""The log: an SQLite database that every change of a model goes through first.

`events` are the truth: a model's state is what its first state becomes by its events,
in the order of their ids. Events without rows are about its learners, see `history`.
`rows` are rows that were predicted and wait for their labels, or have got them by an
event. `observed` has what was predicted for the rows of events "observe", for
challengers. `keys` are clients' keys with the answers that a retry gets. `snapshots`
are states of models, so that a start need not replay all.
`aside` are events that could not be replayed, taken out of `events` by a command.
"""

import json
import os
import sqlite3
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.serve.events import LabelledEvent
from rpnb.serve.http.tables import Label

FILE = "log.sqlite"
#: Of the tables; `_UPGRADES` has the statements that lead to the next version.
SCHEMA_VERSION = 6
_APPLICATION_ID = 0x52504E42  # "RPNB"
_CACHE_KB = 32 * 1024
_CHECKPOINT_PAGES = 4000

_SCHEMA_1 = """
CREATE TABLE models(
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, spec TEXT NOT NULL,
  created REAL NOT NULL, expired INTEGER NOT NULL DEFAULT 0);
CREATE TABLE events(
  id INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL, kind TEXT NOT NULL,
  time REAL NOT NULL, n INTEGER NOT NULL, body BLOB NOT NULL,
  checksum INTEGER NOT NULL);
CREATE INDEX events_of_model ON events(model, id);
CREATE TABLE rows(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL, id TEXT NOT NULL,
  time REAL NOT NULL, x BLOB NOT NULL, predicted TEXT NOT NULL, confidence REAL,
  event INTEGER, UNIQUE(model, id));
CREATE INDEX rows_waiting ON rows(model, seq) WHERE event IS NULL;
CREATE TABLE keys(
  model INTEGER NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL, time REAL NOT NULL,
  event INTEGER, answer TEXT, PRIMARY KEY(model, key)) WITHOUT ROWID;
CREATE TABLE snapshots(
  model INTEGER NOT NULL, event INTEGER NOT NULL, time REAL NOT NULL,
  file BLOB NOT NULL, scores TEXT NOT NULL, digest BLOB NOT NULL,
  base INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(model, event));
"""
_UPGRADES = {
    0: _SCHEMA_1,
    # Retention looks for old events and old keys.
    1: """
CREATE INDEX keys_by_time ON keys(time);
CREATE INDEX rows_labelled ON rows(model, event) WHERE event IS NOT NULL;
""",
    # Columns of `events`, the reason, and when it was set aside.
    2: """
CREATE TABLE aside(
  id INTEGER PRIMARY KEY, model INTEGER NOT NULL, kind TEXT NOT NULL,
  time REAL NOT NULL, n INTEGER NOT NULL, body BLOB NOT NULL,
  checksum INTEGER NOT NULL, reason TEXT NOT NULL, since REAL NOT NULL);
CREATE INDEX aside_of_model ON aside(model, id);
""",
    # Checksums of what else a line of a table holds; none in those that are older.
    3: """
ALTER TABLE models ADD COLUMN checksum INTEGER;
ALTER TABLE rows ADD COLUMN checksum INTEGER;
ALTER TABLE events ADD COLUMN header INTEGER;
ALTER TABLE aside ADD COLUMN header INTEGER;
ALTER TABLE snapshots ADD COLUMN header INTEGER;
""",
    # Where in the order of events a row came (older rows have only a time), and which
    # of the learners that a model has had predicted it: 0 is the first. What was
    # predicted for the rows of events "observe".
    4: """
ALTER TABLE rows ADD COLUMN after INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rows ADD COLUMN contender INTEGER NOT NULL DEFAULT 0;
CREATE TABLE IF NOT EXISTS observed(
  event INTEGER PRIMARY KEY, model INTEGER NOT NULL, predicted TEXT NOT NULL,
  checksum INTEGER NOT NULL);
CREATE INDEX events_by_time ON events(model, time);
UPDATE rows SET after=coalesce((SELECT id FROM events WHERE events.model=rows.model AND
  events.time<=rows.time ORDER BY events.time DESC, id DESC LIMIT 1), 0);
DROP INDEX events_by_time;
CREATE INDEX IF NOT EXISTS events_without_rows ON events(model, id) WHERE n=0;
""",
    # Weights of rows whose labels are asked for, and how many rows were asked for;
    # scores by which rows were predicted, with their checksum.
    5: """
ALTER TABLE rows ADD COLUMN weight REAL;
ALTER TABLE rows ADD COLUMN scores BLOB;
CREATE INDEX IF NOT EXISTS rows_asked ON rows(model, seq)
  WHERE event IS NULL AND weight IS NOT NULL;
CREATE TABLE IF NOT EXISTS asking(
  model INTEGER PRIMARY KEY, rows REAL NOT NULL, asked REAL NOT NULL,
  balance REAL NOT NULL, mean REAL NOT NULL);
""",
}


def checksum_of(*values: Any, data: bytes = b"") -> int:
    """Return a checksum of values that a line of a table holds."""
    return zlib.crc32(data, zlib.crc32(repr(values).encode("utf-8", "replace")))


#: What reading a damaged database raises; its own messages may be no text.
DAMAGE = (sqlite3.Error, UnicodeDecodeError)


class LogError(Exception):
    """The log cannot be used; the message, a single line, says why."""

    def __init__(self, message: str) -> None:
        # SQLite quotes statements of a damaged file, line breaks and all.
        super().__init__(" ".join(message.split()))


class EventError(LogError):
    """An event that cannot be applied.

    Parameters
    ----------
    event
        Its id.
    problem
        What is wrong with it, without anything that a client sent.
    reason
        More, for those who run the service.
    """

    def __init__(self, event: int, problem: str, reason: str | None = None) -> None:
        super().__init__(f"event {event} {problem}")
        self.event, self.reason = event, reason or problem


def make_private_folder(folder: Path) -> None:
    """Make a folder that only its owner can read, or make it such a one.

    A folder of others, in which other files are, stays as it is.
    """
    new = not folder.exists()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if new or (folder / FILE).exists() or not any(folder.iterdir()):
        with suppress(PermissionError):
            folder.chmod(0o700)


def make_private_file(path: Path) -> None:
    """Make an empty file that only its owner can read, or make it such a one."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    for each in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
        with suppress(FileNotFoundError, PermissionError):
            each.chmod(0o600)


def open_log(folder: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open the log in a folder; made where there is none, upgraded if it is older."""
    path = folder / FILE
    mode = "ro" if read_only else "rwc"
    if read_only and not path.exists():
        raise LogError(f"{folder} has no {FILE}: it is no folder of rpnb serve")
    if not read_only:
        make_private_file(path)  # SQLite's other files get the same permissions
    address = f"{path.absolute().as_uri()}?mode={mode}"
    try:
        connection = sqlite3.connect(
            address,
            uri=True,
            timeout=2.0,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=512,
        )
        # Text that is damaged is another text, which its checksum does not fit.
        connection.text_factory = _decode
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version > SCHEMA_VERSION:
            raise LogError(
                f"{path} was written by a later version of rpnb: its tables are of "
                f"version {version}, this rpnb knows versions up to {SCHEMA_VERSION}"
            )
        if version < 0:
            raise LogError(f"{path} is damaged: its tables have no version")
        if read_only:
            if version < SCHEMA_VERSION:
                raise LogError(f"{path} is of an older version: run rpnb serve once")
            return connection
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        # Pages of rows that are labelled soon after are found in memory, and pages that
        # change again and again are copied into the database's file less often.
        connection.execute(f"PRAGMA cache_size=-{_CACHE_KB}")
        connection.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}")
        # Rows that are to be forgotten do not stay in free pages of the file.
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute(f"PRAGMA application_id={_APPLICATION_ID}")
        _upgrade(connection, version)
    except DAMAGE as error:
        raise LogError(f"{path} cannot be opened: {error}") from error
    return connection


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _upgrade(connection: sqlite3.Connection, version: int) -> None:
    """Bring the tables up to date, each step in a transaction of its own."""
    while version < SCHEMA_VERSION:
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in _UPGRADES[version].split(";"):
                words = statement.split()
                if words and not _has_column(connection, words):
                    connection.execute(statement)
            version += 1
            connection.execute(f"PRAGMA user_version={version}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


def _has_column(connection: sqlite3.Connection, words: list[str]) -> bool:
    """Return whether a statement, in words, would add a column that is there."""
    if words[:2] != ["ALTER", "TABLE"]:
        return False
    columns = connection.execute("SELECT name FROM pragma_table_info(?)", (words[2],))
    return words[5] in [name for (name,) in columns]


# Bodies of events


def pack_rows(X: FloatArray, labels: list[Label]) -> bytes:
    """Return the body of an event with rows and labels."""
    header = json.dumps({"p": X.shape[1], "labels": labels}).encode()
    values = np.ascontiguousarray(X, "<f8").tobytes()
    return struct.pack("<I", len(header)) + header + values


def unpack_rows(body: bytes) -> tuple[FloatArray, list[Label]]:
    """Return what `pack_rows` packed."""
    size = struct.unpack_from("<I", body)[0]
    header = json.loads(body[4 : 4 + size])
    values = np.frombuffer(body, "<f8", offset=4 + size)
    X: FloatArray = values.reshape(-1, header["p"]).astype(np.float64)
    return X, header["labels"]


def pack_row(x: FloatArray) -> bytes:
    """Return one row as it is kept while it waits for its label."""
    return np.ascontiguousarray(x, "<f8").tobytes()


def pack_labels(rows: list[int], labels: list[Label]) -> bytes:
    """Return the body of an event that labels rows, named by their numbers."""
    return json.dumps({"rows": rows, "labels": labels}).encode()


def pack_scores(content: bytes) -> bytes:
    """Return the scores of a row as the log keeps them, with a checksum."""
    return struct.pack("<I", zlib.crc32(content)) + content


def unpack_scores(stored: Any) -> bytes | None:
    """Return what `pack_scores` packed, None if there is nothing; refuse damage."""
    if stored is None:
        return None
    content = bytes(stored[4:])
    if struct.unpack_from("<I", stored)[0] != zlib.crc32(content):
        raise ValueError("the checksum of its scores is another")
    return content


def read_scores(connection: sqlite3.Connection, rows: list[int]) -> list[bytes | None]:
    """Return the scores by which rows were predicted, None for those without."""
    one = "SELECT scores FROM rows WHERE seq=?"
    found = [connection.execute(one, (seq,)).fetchone() for seq in rows]
    return [None if each is None else unpack_scores(each[0]) for each in found]


#: Columns of a row that its checksum is about, and the checksum.
ROW = "model, id, time, x, predicted, confidence, after, contender, checksum"


def row_checksum(
    model: int,
    name: str,
    when: float,
    x: bytes,
    predicted: str,
    confidence: Any,
    *more: int,
) -> int:
    """Return the checksum of a row that was predicted."""
    return checksum_of(model, name, when, predicted, confidence, *more, data=x)


def sound_row(
    model: int,
    name: str,
    when: float,
    x: Any,
    predicted: str,
    confidence: Any,
    after: int,
    contender: int,
    checksum: int | None,
) -> bool:
    """Return whether a row is as it was written.

    Those of the first versions have no checksum, and that of later ones is not about
    `after` and `contender`.
    """
    if not isinstance(x, bytes):
        return False
    row = (model, name, when, x, predicted, confidence)
    return (
        checksum is None
        or checksum == row_checksum(*row, after, contender)
        or checksum == row_checksum(*row)
    )


#: Snapshots of a model: those of its first learner, and, by the negative number of the
#: event that added or named them, of its challengers and versions.
OWNED = "(model=? OR -model IN (SELECT id FROM events WHERE model=? AND n=0))"


def remove_labels(
    connection: sqlite3.Connection, model: int, rows: dict[int, set[int]]
) -> None:
    """Remove rows from events that labelled them, by event; within a transaction.

    Snapshots that include these events are deleted, too. Events that were set aside are
    in no state.
    """
    learned = []
    for event, gone in rows.items():
        for table in ("events", "aside"):
            found = connection.execute(
                f"SELECT body, time FROM {table} WHERE id=?",  # noqa: S608 - our own words
                (event,),
            ).fetchone()
            if found is not None:
                _remove_from_event(connection, table, (model, event, *found), gone)
                learned += [event] if table == "events" else []
    if learned:
        connection.execute(
            f"DELETE FROM snapshots WHERE {OWNED} AND event>=? AND base=0",  # noqa: S608 - our own words
            (model, model, min(learned)),
        )


def _remove_from_event(
    connection: sqlite3.Connection,
    table: str,
    found: tuple[int, int, bytes, float],
    gone: set[int],
) -> None:
    """Remove rows from the body of an event in one of the two tables."""
    model, event, body, when = found
    try:
        content = json.loads(body)
        pairs = list(zip(content["rows"], content["labels"], strict=True))
    except (ValueError, KeyError, TypeError):
        if table == "events":
            raise
        pairs = []  # damaged, and set aside because of it: nothing of it is kept
    left = [(seq, label) for seq, label in pairs if seq not in gone]
    if not left:
        connection.execute(
            f"DELETE FROM {table} WHERE id=?",  # noqa: S608 - our own words
            (event,),
        )
        return
    body = pack_labels([seq for seq, _ in left], [label for _, label in left])
    connection.execute(
        f"UPDATE {table} SET body=?, n=?, checksum=?, header=? WHERE id=?",  # noqa: S608 - our own words
        (
            *(body, len(left), zlib.crc32(body)),
            *(checksum_of(model, "labels", when, len(left)), event),
        ),
    )


def read_events(
    connection: sqlite3.Connection,
    model: int,
    after: int,
    chunk: int = 20_000,
    before: int = 2**62,
) -> Iterator[list[LabelledEvent]]:
    """Yield a model's events between two ids, in order, about `chunk` rows at a time.

    Raises
    ------
    EventError
        At an event that is damaged, once those before it were yielded.
    """
    cursor = connection.execute(
        "SELECT id, kind, time, n, body, checksum, header FROM events "
        "WHERE model=? AND id>? AND id<? AND n>0 ORDER BY id",
        (model, after, before),
    )
    events: list[LabelledEvent] = []
    rows, number = 0, after
    while True:
        try:
            try:
                line = cursor.fetchone()
            except DAMAGE as error:
                raise _unreadable(connection, model, number, error) from error
            if line is None:
                break
            number = line[0]
            events.append(_sound_event(connection, model, *line))
        except EventError:
            if events:
                yield events
            raise
        rows += len(events[-1].labels)
        if rows >= chunk:
            yield events
            events, rows = [], 0
    if events:
        yield events


def _unreadable(
    connection: sqlite3.Connection, model: int, after: int, error: Exception
) -> EventError:
    """Return the error of the first event after another one that cannot be read."""
    number = after + 1
    with suppress(*DAMAGE):
        (found,) = connection.execute(
            "SELECT min(id) FROM events INDEXED BY events_of_model "
            "WHERE model=? AND id>?",
            (model, after),
        ).fetchone()
        number = found or number
    return EventError(number, f"is damaged: it cannot be read: {error}")


def _sound_event(
    connection: sqlite3.Connection,
    model: int,
    number: int,
    kind: str,
    when: float,
    n: int,
    body: bytes,
    checksum: int,
    header: int | None,
) -> LabelledEvent:
    """Return an event of a line of the table; whatever is wrong with it has its id."""
    try:
        about = checksum_of(model, kind, when, n)
        if zlib.crc32(body) != checksum or header not in (None, about):
            raise EventError(number, "is damaged: its checksum is another")
        return _event(connection, number, kind, when, body)
    except EventError:
        raise
    except Exception as error:
        # Whatever its body holds, a text that is no JSON, too few numbers, …, or a row
        # that it labels.
        problem = f"is damaged: it cannot be read ({type(error).__name__})"
        raise EventError(number, problem, f"{problem}: {error}") from error


def _event(
    connection: sqlite3.Connection, number: int, kind: str, when: float, body: bytes
) -> LabelledEvent:
    if kind != "labels":
        X, labels = unpack_rows(body)
        return LabelledEvent(number, kind, when, X, labels, None, None)
    content = json.loads(body)
    values: list[bytes] = []
    predicted: list[Any] = []
    confidence: list[float | None] = []
    contenders: list[int] = []
    for seq in content["rows"]:
        found = connection.execute(
            f"SELECT {ROW} FROM rows WHERE seq=?",  # noqa: S608 - our own words
            (seq,),
        ).fetchone()
        if found is None:
            raise EventError(number, f"labels row {seq}, which is not in the log")
        if not sound_row(*found):
            raise EventError(number, f"labels row {seq}, which is damaged")
        _, _, _, x, text, confident, _, contender, _ = found
        values.append(x)
        predicted.append(json.loads(text))
        confidence.append(confident)
        contenders.append(contender)
    X = np.frombuffer(b"".join(values), "<f8").reshape(len(values), -1)
    return LabelledEvent(
        number,
        kind,
        when,
        X.astype(np.float64),
        content["labels"],
        predicted,
        confidence,
        content["rows"],
        contenders,
        scores=read_scores(connection, content["rows"]),
    )
