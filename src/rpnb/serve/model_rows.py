"""The table of models in the log."""

import sqlite3
from typing import NamedTuple

from rpnb.estimators.registry import learners
from rpnb.serve.log import DAMAGE, LogError, checksum_of
from rpnb.serve.specs import ModelSpec, check_name


class ModelRow(NamedTuple):
    """A row of the table of models."""

    id: int
    name: str
    spec: str
    """specification as JSON"""
    created: float
    """time in seconds since 1970"""
    expired: int
    """rows that were dropped before their label arrived"""


def stored_models(
    connection: sqlite3.Connection, unsound: list[str] | None = None
) -> list[ModelRow]:
    """Return the rows of the table of models.

    Damaged ones are left out, and a line on each is appended to `unsound`.
    """
    found: list[ModelRow] = []
    try:
        rows = connection.execute(
            "SELECT id, name, spec, created, expired, checksum FROM models ORDER BY id"
        ).fetchall()
    except DAMAGE as error:
        raise LogError(f"the table of models cannot be read: {error}") from error
    for number, name, spec, created, expired, checksum in rows:
        dropped = expired if isinstance(expired, int) else 0
        row = ModelRow(number, name, spec, created, dropped)
        problem = _problem_of(row, checksum)
        if not problem:
            found.append(row)
        elif unsound is not None:
            unsound.append(f"model {number} is damaged: {problem}")
    if unsound is not None:
        known = {row[0] for row in rows}
        for number in sorted(_numbers_in_use(connection) - known):
            unsound.append(f"model {number} is damaged: the table of models lacks it")
    return found


def _problem_of(row: ModelRow, checksum: int) -> str:
    """Return the problem of a row of the table of models, "" if there is none."""
    if checksum != checksum_of(row.id, row.name, row.spec, row.created):
        return "its checksum does not match"
    try:
        check_name(row.name)
        if ModelSpec.from_json(row.spec).learner not in learners():
            return "its learner is unknown"
    except Exception as error:
        return f"its specification cannot be read: {error}"
    return ""


def model_row(connection: sqlite3.Connection, number: int) -> ModelRow:
    """Return the row of a model in the table of models.

    Raises
    ------
    LogError
        If the model was deleted.
    """
    for row in stored_models(connection):
        if row.id == number:
            return row
    raise LogError("the model was deleted")


def _numbers_in_use(connection: sqlite3.Connection) -> set[int]:
    """Return the numbers of models with events or snapshots, by the tables' indices."""
    found: set[int] = set()
    for table in ("events", "snapshots"):
        after = -1
        try:
            while True:
                (after,) = connection.execute(
                    f"SELECT min(model) FROM {table} WHERE model>?",  # noqa: S608 - our own words
                    (after,),
                ).fetchone()
                if not isinstance(after, int):
                    break
                found.add(after)
        except DAMAGE:
            continue  # restoring the models reports that
    return found
