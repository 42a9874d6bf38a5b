"""Events that cannot be replayed: setting them aside, and putting them back.

An event that ends a model's replay is moved to a table of its own, with the reason and
the time, so that the events after it can be applied. It can be put back, for instance
for a later version that can apply it.
"""

import time
from collections.abc import Iterator
from pathlib import Path

from rpnb.serve.log import FILE, OWNED, LogError, open_log
from rpnb.serve.snapshots import restore, stored_models

_COLUMNS = "id, model, kind, time, n, body, checksum, header"


def set_aside(folder: Path) -> Iterator[str]:
    """Set aside every event that ends a replay at a start; yield what was done.

    Nobody else may use the folder meanwhile.
    """
    _check_folder(folder)
    connection = open_log(folder)
    try:
        for row in stored_models(connection):
            while (failed := restore(connection, row).failed) is not None:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(
                    f"INSERT INTO aside({_COLUMNS}, reason, since) SELECT {_COLUMNS}, "  # noqa: S608 - our own words
                    "?, ? FROM events WHERE id=?",
                    (failed.reason, time.time(), failed.event),
                )
                gone = connection.execute(
                    "DELETE FROM events WHERE id=?", (failed.event,)
                )
                if gone.rowcount == 0:
                    raise LogError(f"{failed}: it cannot be set aside")
                connection.execute("COMMIT")
                yield (
                    f"model {row[1]}: event {failed.event} was set aside; --put-back "
                    f"{failed.event} puts it back"
                )
    finally:
        connection.close()


def put_back(folder: Path, event: int) -> str:
    """Put an event back that was set aside; return what was done.

    Snapshots that do not include it, and should, are deleted.
    """
    _check_folder(folder)
    connection = open_log(folder)
    try:
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
    finally:
        connection.close()
    return f"model {name}: event {event} was put back"


def _check_folder(folder: Path) -> None:
    if not (folder / FILE).exists():
        raise LogError(f"{folder} has no {FILE}: it is no folder of rpnb serve")
