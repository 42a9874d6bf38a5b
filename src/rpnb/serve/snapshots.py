"""Snapshots: states of models in the log, written, read and deleted.

A snapshot is a model file with the figures of `scores`, the id of the last event that
it includes, and a checksum of both. It is one row of a table, written in one
transaction. Once old events have been deleted, a replay begins with the snapshot that
is marked as the base.
"""

import hashlib
import sqlite3
import time
from collections.abc import Iterator
from typing import NamedTuple

from rpnb.serve.history import read_history
from rpnb.serve.log import DAMAGE, LogError, checksum_of
from rpnb.serve.served_model import SavedState

#: Number of snapshots kept for each model, besides its base.
KEPT = 2


class Snapshot(NamedTuple):
    """A snapshot read from the log."""

    event: int
    base: bool
    state: SavedState | None
    """None if it is damaged"""
    problem: str = ""


def snapshots_of(connection: sqlite3.Connection, model: int) -> Iterator[Snapshot]:
    """Yield the snapshots of a model, latest first, after checking their checksums."""
    events = connection.execute(
        "SELECT event FROM snapshots WHERE model=? ORDER BY event DESC", (model,)
    ).fetchall()
    for (event,) in events:
        base = 1  # assumed if unreadable: earlier events may have been deleted
        try:
            one = "FROM snapshots WHERE model=? AND event=?"
            key = (model, event)
            (base,) = connection.execute(f"SELECT base {one}", key).fetchone()
            content, scores, checksum, header = connection.execute(
                f"SELECT file, scores, digest, header {one}", key
            ).fetchone()
            if not isinstance(content, bytes) or not isinstance(scores, str):
                raise LogError("it has another type")
            if _digest(content, scores) != checksum:
                raise LogError("its checksum does not match")
            if header != checksum_of(model, event):
                raise LogError("it belongs to another event")
        except (LogError, *DAMAGE) as error:
            yield Snapshot(event, bool(base), None, f"{error}")
        else:
            yield Snapshot(event, bool(base), SavedState(event, content, scores))


def take_snapshot(
    connection: sqlite3.Connection,
    model: int,
    state: SavedState,
    *,
    spacing: float | None = None,
) -> None:
    """Write a state of a model, and delete older ones; the caller has a transaction.

    With `spacing`, older snapshots at least that many seconds apart are kept, so that
    old events can be deleted.
    """
    insert_snapshot(connection, model, state, False)
    old = connection.execute(
        "SELECT event, time, base FROM snapshots WHERE model=? ORDER BY event",
        (model,),
    ).fetchall()
    kept_at = float("-inf")
    for event, when, base in old[:-KEPT]:
        if base or (spacing is not None and when - kept_at >= spacing):
            kept_at = when
            continue
        connection.execute(
            "DELETE FROM snapshots WHERE model=? AND event=?", (model, event)
        )


def insert_snapshot(
    connection: sqlite3.Connection, model: int, state: SavedState, base: bool
) -> None:
    """Insert a snapshot, or replace that of the same event; a base stays a base."""
    event, content, text, _ = state
    connection.execute(
        "INSERT INTO snapshots(model, event, time, file, scores, digest, base, header) "
        "VALUES(?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET file=excluded.file, "
        "scores=excluded.scores, digest=excluded.digest, time=excluded.time, "
        "base=max(base, excluded.base), header=excluded.header",
        (
            *(model, event, time.time(), content, text, _digest(content, text), base),
            checksum_of(model, event),
        ),
    )


def delete_events(connection: sqlite3.Connection, model: int, before: float) -> None:
    """Delete the events of a model that snapshots taken before a time include.

    The caller has a transaction. Events are deleted if no learner of the model needs
    them. A replay then begins with the snapshot before the remaining events, the base.
    All events after the base are kept, so a replay, and forgetting a row, stay exact.
    The latest snapshot never becomes the base: if it is damaged, nothing is lost.
    """
    found = connection.execute(
        "SELECT id, spec, created FROM models WHERE id=?", (model,)
    ).fetchone()
    bases: dict[int, int] = {}
    kept = []
    for each in read_history(connection, *found).live:
        owner = -each.number or model
        latest = connection.execute(
            "SELECT event FROM snapshots WHERE model=? AND time<? AND event<(SELECT "
            "max(event) FROM snapshots WHERE model=?) ORDER BY event DESC LIMIT 1",
            (owner, before, owner),
        ).fetchone()
        if latest is not None:
            bases[owner] = latest[0]
        # A learner does not need events from before its start.
        kept.append(each.start if latest is None else latest[0])
    last = min(kept)
    if last <= 0 or not bases:
        return
    for owner, base in bases.items():
        for statement in (
            "UPDATE snapshots SET base=1 WHERE model=? AND event=?",
            "DELETE FROM snapshots WHERE model=? AND event<?",
        ):
            connection.execute(statement, (owner, base))
    for statement in (
        "DELETE FROM events WHERE model=? AND id<=? AND n>0",
        "DELETE FROM rows WHERE model=? AND event<=?",
        "DELETE FROM observed WHERE model=? AND event<=?",
        "DELETE FROM aside WHERE model=? AND id<=?",
    ):
        connection.execute(statement, (model, last))


def _digest(content: bytes, scores: str) -> bytes:
    """Return the checksum of a snapshot."""
    return hashlib.sha256(content + scores.encode()).digest()
