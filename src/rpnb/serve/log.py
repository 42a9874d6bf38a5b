"""The log: an SQLite database to which every change of a model is written first.

| table | rows |
|---|---|
| `events` | the truth: a model's state follows from them, in the order of their ids |
| `rows` | predicted rows that wait for their labels, or got them by an event |
| `observed` | predictions for events "observe", which challengers are compared with |
| `categories` | names of the numbers by which categories are coded |
| `mixes` | states of the corrections of class mixes |
| `keys` | clients' idempotency keys, with the answers for retries |
| `snapshots` | states of models, so that a restart need not replay everything |
| `aside` | events that could not be replayed, set aside by a command |

Events without rows are about the learners of a model: see `history`.
"""

import json
import math
import os
import sqlite3
import struct
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.serve.label_rules import Label

FILE = "log.sqlite"
#: Version of the tables.
SCHEMA_VERSION = 1
_APPLICATION_ID = 0x52504E42  # "RPNB"
_CACHE_KB = 32 * 1024
_CHECKPOINT_PAGES = 4000

# In `rows`: `after` is the last event before the row, and `contender` the learner that
# predicted it, 0 for the first. `weight` is set if the row's label is asked for.
# `scores`, `proba` and `given` (probabilities before the class mix was corrected) begin
# with a checksum.
_SCHEMA = """
CREATE TABLE models(
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, spec TEXT NOT NULL,
  created REAL NOT NULL, expired INTEGER NOT NULL DEFAULT 0, checksum INTEGER);
CREATE TABLE events(
  id INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL, kind TEXT NOT NULL,
  time REAL NOT NULL, n INTEGER NOT NULL, body BLOB NOT NULL,
  checksum INTEGER NOT NULL, header INTEGER NOT NULL);
CREATE INDEX events_of_model ON events(model, id);
CREATE INDEX events_without_rows ON events(model, id) WHERE n=0;
CREATE TABLE aside(
  id INTEGER PRIMARY KEY, model INTEGER NOT NULL, kind TEXT NOT NULL,
  time REAL NOT NULL, n INTEGER NOT NULL, body BLOB NOT NULL,
  checksum INTEGER NOT NULL, header INTEGER NOT NULL, reason TEXT NOT NULL,
  since REAL NOT NULL);
CREATE INDEX aside_of_model ON aside(model, id);
CREATE TABLE rows(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL, id TEXT NOT NULL,
  time REAL NOT NULL, x BLOB NOT NULL, predicted TEXT NOT NULL, confidence REAL,
  after INTEGER NOT NULL, contender INTEGER NOT NULL, checksum INTEGER NOT NULL,
  event INTEGER, weight REAL, scores BLOB, proba BLOB, given BLOB, UNIQUE(model, id));
CREATE INDEX rows_waiting ON rows(model, seq) WHERE event IS NULL;
CREATE INDEX rows_labelled ON rows(model, event) WHERE event IS NOT NULL;
CREATE INDEX rows_asked ON rows(model, seq) WHERE event IS NULL AND weight IS NOT NULL;
CREATE TABLE observed(
  event INTEGER PRIMARY KEY, model INTEGER NOT NULL, predicted TEXT NOT NULL,
  truth TEXT, checksum INTEGER NOT NULL);
CREATE TABLE asking(
  model INTEGER PRIMARY KEY, rows REAL NOT NULL, asked REAL NOT NULL,
  balance REAL NOT NULL, mean REAL NOT NULL);
CREATE TABLE mixes(
  model INTEGER PRIMARY KEY, contender INTEGER NOT NULL, state TEXT NOT NULL,
  checksum INTEGER NOT NULL);
CREATE TABLE categories(
  model INTEGER NOT NULL, number REAL NOT NULL, name TEXT NOT NULL,
  PRIMARY KEY(model, number)) WITHOUT ROWID;
CREATE TABLE keys(
  model INTEGER NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL, time REAL NOT NULL,
  event INTEGER, answer TEXT, PRIMARY KEY(model, key)) WITHOUT ROWID;
CREATE INDEX keys_by_time ON keys(time);
CREATE TABLE snapshots(
  model INTEGER NOT NULL, event INTEGER NOT NULL, time REAL NOT NULL,
  file BLOB NOT NULL, scores TEXT NOT NULL, digest BLOB NOT NULL,
  base INTEGER NOT NULL DEFAULT 0, header INTEGER NOT NULL, PRIMARY KEY(model, event));
"""


def checksum_of(*values: Any, data: bytes = b"") -> int:
    """Return a checksum of the values of a table row."""
    return zlib.crc32(data, zlib.crc32(repr(values).encode("utf-8", "replace")))


#: Errors of reading a damaged database; even its messages may not be valid text.
DAMAGE = (sqlite3.Error, UnicodeDecodeError)


class LogError(Exception):
    """The log cannot be used; the message is a single line."""

    def __init__(self, message: str) -> None:
        # SQLite quotes statements of a damaged file with their line breaks.
        super().__init__(" ".join(message.split()))


class EventError(LogError):
    """An event that cannot be applied.

    Parameters
    ----------
    event
        Id of the event.
    problem
        What is wrong with it, without data from clients.
    reason
        More detail, for operators.
    """

    def __init__(self, event: int, problem: str, reason: str | None = None) -> None:
        super().__init__(f"event {event} {problem}")
        self.event, self.reason = event, reason or problem


class LabelledEvent(NamedTuple):
    """An event of the log with labelled rows."""

    event: int
    kind: str
    """"learn", "observe" or "labels\""""
    time: float
    X: FloatArray
    labels: list[Label]
    predicted: list[Label | None] | None
    """of "labels": predictions made when the rows arrived"""
    confidence: list[float | None] | None
    rows: list[int] | None = None
    """of "labels": numbers of the rows in the log"""
    contenders: list[int] | None = None
    """of "labels": numbers of the learners that predicted the rows"""
    scores: list[bytes | None] | None = None
    """of "labels": packed scores of the predictions, if the learner keeps them"""
    truth: list[float] | None = None
    """of "labels": predicted probabilities of the labels, NaN if unknown"""


def make_private_folder(folder: Path) -> None:
    """Create a folder that only its owner can read, or restrict an existing one.

    An existing folder without a log but with other files is not changed.
    """
    new = not folder.exists()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if new or (folder / FILE).exists() or not any(folder.iterdir()):
        with suppress(PermissionError):
            folder.chmod(0o700)


def make_private_file(path: Path) -> None:
    """Create an empty file that only its owner can read, or restrict a present one."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    for each in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
        with suppress(FileNotFoundError, PermissionError):
            each.chmod(0o600)


def _has_tables(connection: sqlite3.Connection) -> bool:
    """Return whether a database has any tables."""
    (count,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return bool(count)


def open_log(folder: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open the log in a folder; it is created if there is none, unless read-only."""
    path = folder / FILE
    mode = "ro" if read_only else "rwc"
    if read_only and not path.exists():
        raise LogError(f"{folder} has no {FILE}: it is not a folder of rpnb serve")
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
        # Damaged text decodes to other text, which its checksum reveals.
        connection.text_factory = _decode
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        # The schema is read only where it may be missing: a damaged one must not keep
        # `--check` from opening the log.
        if version != SCHEMA_VERSION and (
            version != 0 or read_only or _has_tables(connection)
        ):
            raise LogError(
                f"{path} cannot be read: its tables have version {version}, this "
                f"rpnb reads version {SCHEMA_VERSION}"
            )
        if read_only:
            return connection
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        # Rows that are labelled soon are still in memory, and pages that change often
        # are copied to the database file less often.
        connection.execute(f"PRAGMA cache_size=-{_CACHE_KB}")
        connection.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}")
        # Forgotten rows must not stay in free pages of the file.
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute(f"PRAGMA application_id={_APPLICATION_ID}")
        if version == 0:
            _make_tables(connection)
    except DAMAGE as error:
        raise LogError(f"{path} cannot be opened: {error}") from error
    return connection


@contextmanager
def read_log(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the log in a folder for reading, as it is now: a service may be running."""
    with closing(open_log(folder, read_only=True)) as connection:
        connection.execute("BEGIN")
        yield connection


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _make_tables(connection: sqlite3.Connection) -> None:
    """Create the tables of a new log, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


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
    """Return one row as bytes, as stored while it waits for its label."""
    return np.ascontiguousarray(x, "<f8").tobytes()


def pack_labels(rows: list[int], labels: list[Label]) -> bytes:
    """Return the body of an event that labels rows, given by their numbers."""
    return json.dumps({"rows": rows, "labels": labels}).encode()


def pack_checked(content: bytes) -> bytes:
    """Return scores or probabilities of a row, with their checksum in front."""
    return struct.pack("<I", zlib.crc32(content)) + content


def unpack_checked(stored: Any) -> bytes | None:
    """Return what `pack_checked` packed, None for None; refuse damaged bytes."""
    if stored is None:
        return None
    content = bytes(stored[4:])
    if struct.unpack_from("<I", stored)[0] != zlib.crc32(content):
        raise ValueError("the checksum of its scores or probabilities does not match")
    return content


def read_scores(connection: sqlite3.Connection, rows: list[int]) -> list[bytes | None]:
    """Return the packed scores of rows, None for rows without."""
    one = "SELECT scores FROM rows WHERE seq=?"
    found = [connection.execute(one, (seq,)).fetchone() for seq in rows]
    return [None if each is None else unpack_checked(each[0]) for each in found]


def pack_probabilities(classes: list[Label], P: FloatArray) -> list[bytes]:
    """Return the probabilities of each row of P (n, M) as bytes, with the classes."""
    header = json.dumps(classes).encode()
    head = struct.pack("<I", len(header)) + header
    return [head + row.tobytes() for row in np.ascontiguousarray(P, "<f8")]


def unpack_probabilities(content: bytes) -> tuple[list[Label], FloatArray]:
    """Return the classes and the probabilities (1, M) of a packed row."""
    size = struct.unpack_from("<I", content)[0]
    P = np.frombuffer(content, "<f8", offset=4 + size).astype(np.float64)
    return json.loads(content[4 : 4 + size]), P[None]


def probability_of(content: bytes | None, label: Label) -> float:
    """Return the probability of a label in what `pack_probabilities` packed.

    Returns 0 if the label was not yet a class, NaN if nothing was packed.
    """
    if content is None:
        return math.nan
    size = struct.unpack_from("<I", content)[0]
    classes = json.loads(content[4 : 4 + size])
    if label not in classes:
        return 0.0
    place = 4 + size + 8 * classes.index(label)
    return float(struct.unpack_from("<d", content, place)[0])


#: Columns that the checksum of a row covers, and the checksum.
ROW = "model, id, time, x, predicted, confidence, after, contender, checksum"


def row_checksum(
    model: int,
    name: str,
    when: float,
    x: bytes,
    predicted: str,
    confidence: Any,
    after: int,
    contender: int,
) -> int:
    """Return the checksum of a predicted row."""
    return checksum_of(
        model, name, when, predicted, confidence, after, contender, data=x
    )


def sound_row(
    model: int,
    name: str,
    when: float,
    x: Any,
    predicted: str,
    confidence: Any,
    after: int,
    contender: int,
    checksum: int,
) -> bool:
    """Return whether a row matches its checksum."""
    row = (model, name, when, x, predicted, confidence, after, contender)
    return isinstance(x, bytes) and checksum == row_checksum(*row)


#: Condition for all snapshots of a model. Those of its first learner have the model's
#: number; those of challengers and versions the negative id of the event that added
#: them.
OWNED = "(model=? OR -model IN (SELECT id FROM events WHERE model=? AND n=0))"


def remove_labels(
    connection: sqlite3.Connection, model: int, rows: dict[int, set[int]]
) -> None:
    """Remove rows, given by event, from the events that labelled them.

    The caller has begun a transaction. Snapshots that include these events are deleted,
    too. No state includes an event that was set aside.
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
        delete_snapshots(connection, model, min(learned))


def delete_snapshots(connection: sqlite3.Connection, model: int, event: int) -> None:
    """Delete the snapshots of all learners of a model from an event on, but no base."""
    connection.execute(
        f"DELETE FROM snapshots WHERE {OWNED} AND event>=? AND base=0",  # noqa: S608 - our own words
        (model, model, event),
    )


def _remove_from_event(
    connection: sqlite3.Connection,
    table: str,
    found: tuple[int, int, bytes, float],
    gone: set[int],
) -> None:
    """Remove rows from the body of an event in the table `events` or `aside`."""
    model, event, body, when = found
    try:
        content = json.loads(body)
        pairs = list(zip(content["rows"], content["labels"], strict=True))
    except (ValueError, KeyError, TypeError):
        if table == "events":
            raise
        pairs = []  # damaged, and set aside for that: delete all of it
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
        If an event is damaged, after those before it have been yielded.
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
    """Return the error for the first event after `after`, which cannot be read."""
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
    header: int,
) -> LabelledEvent:
    """Return the event of a table row; any problem is raised with its id."""
    try:
        about = checksum_of(model, kind, when, n)
        if zlib.crc32(body) != checksum or header != about:
            raise EventError(number, "is damaged: its checksum does not match")
        return _event(connection, number, kind, when, body)
    except EventError:
        raise
    except Exception as error:
        # Its body, or a row that it labels, may hold anything.
        problem = f"is damaged: it cannot be read ({type(error).__name__})"
        raise EventError(number, problem, f"{problem}: {error}") from error


def _event(
    connection: sqlite3.Connection, number: int, kind: str, when: float, body: bytes
) -> LabelledEvent:
    """Return an event; labels that arrived late are joined with their rows."""
    if kind != "labels":
        X, labels = unpack_rows(body)
        return LabelledEvent(number, kind, when, X, labels, None, None)
    content = json.loads(body)
    values: list[bytes] = []
    predicted: list[Any] = []
    confidence: list[float | None] = []
    contenders: list[int] = []
    scores: list[bytes | None] = []
    truth: list[float] = []
    for seq, label in zip(content["rows"], content["labels"], strict=True):
        line = connection.execute(
            f"SELECT scores, proba, {ROW} FROM rows WHERE seq=?",  # noqa: S608 - our own words
            (seq,),
        ).fetchone()
        if line is None:
            raise EventError(number, f"labels row {seq}, which is not in the log")
        kept, proba, *found = line
        if not sound_row(*found):
            raise EventError(number, f"labels row {seq}, which is damaged")
        scores.append(unpack_checked(kept))
        truth.append(probability_of(unpack_checked(proba), label))
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
        scores,
        truth,
    )
