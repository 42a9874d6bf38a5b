"""Retention: old events of the log are deleted once a snapshot includes them all.

A model's replay then begins with that snapshot, its base. All events after the base
are kept, so that the replay, and forgetting a row, are exact for all that is left.
"""

import sqlite3

from rpnb.serve.history import read_history


def delete_events(connection: sqlite3.Connection, model: int, before: float) -> None:
    """Delete the events of a model that a snapshot from before a time includes.

    Within a transaction. Each learner of the model has such a snapshot: the events are
    deleted that none of them needs. The latest snapshot never becomes the base, so that
    it may be damaged and nothing is lost.
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
        # What is older than its start, a learner does not need.
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
