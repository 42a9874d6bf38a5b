"""Retention: old events of the log are deleted once a snapshot includes them all.

A model's replay then begins with that snapshot, its base. All events after the base
are kept, so that the replay, and forgetting a row, are exact for all that is left.
"""

import sqlite3


def delete_events(connection: sqlite3.Connection, model: int, before: float) -> None:
    """Delete the events of a model that a snapshot from before a time includes.

    Within a transaction. The latest snapshot never becomes the base, so that it may be
    damaged and nothing is lost.
    """
    found = connection.execute(
        "SELECT event FROM snapshots WHERE model=? AND time<? AND event<(SELECT "
        "max(event) FROM snapshots WHERE model=?) ORDER BY event DESC LIMIT 1",
        (model, before, model),
    ).fetchone()
    if found is None:
        return
    base = found[0]
    connection.execute(
        "UPDATE snapshots SET base=1 WHERE model=? AND event=?", (model, base)
    )
    for statement in (
        "DELETE FROM snapshots WHERE model=? AND event<?",
        "DELETE FROM events WHERE model=? AND id<=?",
        "DELETE FROM rows WHERE model=? AND event<=?",
        "DELETE FROM aside WHERE model=? AND id<=?",
    ):
        connection.execute(statement, (model, base))
