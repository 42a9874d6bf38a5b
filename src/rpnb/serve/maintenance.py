"""Maintenance of a log by `rpnb serve DIR --check`, `--set-aside` and `--backup`.

An event that cannot be replayed is moved to its own table, with the reason and the
time, so that the events after it can be applied. It can be put back, for instance for
a later version that can apply it.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from rpnb.serve.history import Contender
from rpnb.serve.log import (
    DAMAGE,
    FILE,
    OWNED,
    ROW,
    EventError,
    LogError,
    make_private_file,
    make_private_folder,
    open_log,
    read_log,
    sound_row,
)
from rpnb.serve.model_rows import ModelRow, stored_models
from rpnb.serve.restoring import history_of, replay_from_base, restore, same_state
from rpnb.serve.served_model import ServedModel

_COLUMNS = "id, model, kind, time, n, body, checksum, header"


def check(folder: Path) -> Iterator[tuple[bool, str]]:
    """Verify the log and the snapshots in a folder; yield (is sound, finding) pairs."""
    with read_log(folder) as connection:
        try:
            for (line,) in connection.execute("PRAGMA integrity_check(5)").fetchall():
                yield line == "ok", f"database: {_one_line(line)}"
            unsound: list[str] = []
            rows = stored_models(connection, unsound)
            for line in unsound:
                yield False, line
            for row in rows:
                try:
                    yield from _check_model(connection, row)
                except Exception as error:
                    yield False, f"model {row.name}: {_describe_error(error)}"
        except (LogError, *DAMAGE) as error:
            yield False, f"database: {_describe_error(error)}"


def _check_model(
    connection: sqlite3.Connection, row: ModelRow
) -> Iterator[tuple[bool, str]]:
    """Check the waiting rows of a model, and replay all its events."""
    prefix = f"model {row.name}: "
    waiting = connection.execute(
        f"SELECT seq, {ROW} FROM rows WHERE model=? AND event IS NULL",  # noqa: S608 - our own words
        (row.id,),
    )
    damaged = [seq for seq, *stored in waiting if not sound_row(*stored)]
    if damaged:
        yield False, f"{prefix}{len(damaged)} rows that wait are damaged"
    try:
        for contender in history_of(connection, row).challengers:
            yield from _check_challenger(connection, row, contender)
        for problem, model in replay_from_base(connection, row):
            yield not problem, prefix + (problem or f"sound at event {model.applied}")
    except Exception as error:
        yield False, prefix + _describe_error(error)
        failed = restore(connection, row).failed
        if failed is not None:
            yield (
                False,
                f"{prefix}a restart ends before event {failed.event}; --check "
                "--set-aside sets it aside",
            )
        return
    yield from _list_set_aside(connection, row)
    yield _compare_with_restart(connection, row, model)


def _compare_with_restart(
    connection: sqlite3.Connection, row: ModelRow, replayed: ServedModel
) -> tuple[bool, str]:
    """Compare the state after a restart with that of a replay of the whole log."""
    restored = restore(connection, row).model
    content = replayed.to_bytes()
    same = content is None or same_state(content, restored.to_bytes() or b"")
    what = "the state" if same else "another state than that"
    return (
        same,
        f"model {row.name}: a restart gives {what} of a replay of the whole log, "
        f"{replayed.scores.learned} rows",
    )


def _check_challenger(
    connection: sqlite3.Connection, row: ModelRow, contender: Contender
) -> Iterator[tuple[bool, str]]:
    """Replay all events of a challenger; one that it cannot learn is no damage."""
    prefix = f"model {row.name}: challenger {contender.name}: "
    try:
        for problem, model in replay_from_base(connection, row, contender.number):
            yield not problem, prefix + (problem or f"sound at event {model.applied}")
    except LogError:
        raise
    except Exception as error:
        yield True, f"{prefix}it cannot learn the log: {_describe_error(error)}"


def _list_set_aside(
    connection: sqlite3.Connection, row: ModelRow
) -> Iterator[tuple[bool, str]]:
    """Yield a line for each event of a model that was set aside."""
    for event, n, since, reason in connection.execute(
        "SELECT id, n, since, reason FROM aside WHERE model=? ORDER BY id", (row.id,)
    ).fetchall():
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(since))
        yield (
            True,
            f"model {row.name}: event {event} ({n} rows) has been set aside since "
            f"{when}: {_one_line(reason)}",
        )


def _describe_error(error: Exception) -> str:
    """Return an error in one line, with its type unless it is our own."""
    kind = "" if isinstance(error, LogError) else f"{type(error).__name__}: "
    return _one_line(f"{kind}{error}")


def _one_line(text: object) -> str:
    return " ".join(str(text).split())


def backup(folder: Path, target: Path) -> None:
    """Copy the log of a folder to another one, consistent even if a service runs."""
    with closing(open_log(folder, read_only=True)) as source:
        make_private_folder(target)
        if (target / FILE).exists():
            raise LogError(f"{target / FILE} exists already")
        make_private_file(target / FILE)
        copy = sqlite3.connect(target / FILE, isolation_level=None)
        with closing(copy):
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=WAL")


# Events that cannot be replayed


def set_aside(folder: Path) -> Iterator[str]:
    """Set aside every event at which a replay ends; yield a line for each.

    The caller holds the lock of the folder.
    """
    _check_folder(folder)
    with closing(open_log(folder)) as connection:
        for row in stored_models(connection):
            while (failed := restore(connection, row).failed) is not None:
                _move_aside(connection, failed)
                yield (
                    f"model {row.name}: event {failed.event} was set aside; --put-back "
                    f"{failed.event} puts it back"
                )


def _move_aside(connection: sqlite3.Connection, failed: EventError) -> None:
    """Move an event from the table `events` to the table `aside`."""
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(
        f"INSERT INTO aside({_COLUMNS}, reason, since) SELECT {_COLUMNS}, ?, ? "  # noqa: S608 - our own words
        "FROM events WHERE id=?",
        (failed.reason, time.time(), failed.event),
    )
    deleted = connection.execute("DELETE FROM events WHERE id=?", (failed.event,))
    if deleted.rowcount == 0:
        raise LogError(f"{failed}: it cannot be set aside")
    connection.execute("COMMIT")


def put_back(folder: Path, event: int) -> str:
    """Put back an event that was set aside; return a line for the user.

    Snapshots after the event lack it, and are deleted.
    """
    _check_folder(folder)
    with closing(open_log(folder)) as connection:
        found = connection.execute(
            "SELECT models.id, models.name FROM aside, models WHERE aside.id=? AND "
            "models.id=aside.model",
            (event,),
        ).fetchone()
        if found is None:
            raise LogError(f"no event {event} is set aside in {folder}")
        model, name = found
        later = "SELECT 1 FROM snapshots WHERE model=? AND event>=? AND base=1"
        if connection.execute(later, (model, event)).fetchone() is not None:
            raise LogError(f"the log of model {name} begins after event {event}")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(
            f"INSERT INTO events({_COLUMNS}) SELECT {_COLUMNS} FROM aside WHERE id=?",  # noqa: S608 - our own words
            (event,),
        )
        connection.execute("DELETE FROM aside WHERE id=?", (event,))
        connection.execute(
            f"DELETE FROM snapshots WHERE {OWNED} AND event>=?",  # noqa: S608 - our own words
            (model, model, event),
        )
        connection.execute("COMMIT")
    return f"model {name}: event {event} was put back"


def _check_folder(folder: Path) -> None:
    if not (folder / FILE).exists():
        raise LogError(f"{folder} has no {FILE}: it is not a folder of rpnb serve")
