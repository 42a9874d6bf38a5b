"""The command that writes messages of a Kafka topic together with their offset.

Offsets are stored in the log, in the transaction of the messages, and not in Kafka. So
each message is learned exactly once, whichever process is killed at whatever moment.
"""

import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

from rpnb.core.kernels.arrays import FloatArray
from rpnb.serve.commands import Command, Group, LabelRows, Learn, Remember
from rpnb.serve.commands.command import digest_of
from rpnb.serve.label_rules import Label, check_label_values
from rpnb.serve.limits import ApiError

# Created when the first topic is read; other logs do not have these tables.
_TABLES = (
    """CREATE TABLE IF NOT EXISTS kafka_offsets(
  topic TEXT NOT NULL, partition INTEGER NOT NULL, next INTEGER NOT NULL,
  PRIMARY KEY(topic, partition)) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS kafka_labels(
  model INTEGER NOT NULL, id TEXT NOT NULL, label TEXT NOT NULL, time REAL NOT NULL,
  PRIMARY KEY(model, id)) WITHOUT ROWID""",
)
# Largest number of early labels that are applied at a time.
_EARLY_LABELS: Final = 1_000


def stored_offsets(connection: sqlite3.Connection) -> dict[tuple[str, int], int]:
    """Return the offset after the last stored message of each partition."""
    exists = "SELECT 1 FROM sqlite_master WHERE name='kafka_offsets'"
    if connection.execute(exists).fetchone() is None:
        return {}
    rows = connection.execute("SELECT topic, partition, next FROM kafka_offsets")
    return {(topic, partition): offset for topic, partition, offset in rows}


@final
@dataclass(slots=True, kw_only=True)
class LearnNamed(Command):
    """Learn rows with labels and ids; rows that wait under these ids are labelled.

    A row that has waited is scored and learned once, as by `LabelRows`.
    """

    X: FloatArray
    ids: list[str]
    labels: list[Label]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.ids)

    @property
    def rows_to_read(self) -> Sequence[str]:
        """Ids of the rows, which may be in the log already."""
        return self.ids

    @property
    def digest(self) -> bytes:
        """Digest of the rows, ids and labels."""
        return digest_of("named", self.X.tobytes(), self.ids, self.labels)

    def write(self, group: Group) -> dict[str, Any]:
        """Append one event; refuse rows of which only some are in the log."""
        model = group.model(self.name, self.number)
        there = [group.tables.row(model.id, each) is not None for each in self.ids]
        about: dict[str, Any] = {"name": self.name, "number": model.id}
        inner: LabelRows | Learn
        if all(there):
            inner = LabelRows(**about, ids=self.ids, labels=self.labels)
        elif any(there):
            # The messages are then written one by one.
            raise ApiError(409, "mixed", "some rows wait for labels, others are new")
        else:
            inner = Learn(**about, X=self.X, labels=self.labels, observe=False)
        answer = inner.write(group) or {}
        self.number, self.event = model.id, inner.event
        _drop_early(group, model.id, self.ids)
        return answer


@final
@dataclass(slots=True, kw_only=True)
class FromTopic(Command):
    """Consecutive messages of a partition, and the command that they stand for."""

    inner: Command | None
    """None for messages that are skipped"""
    topic: str
    partition: int
    first: int
    """offset of the first message"""
    following: int
    """offset after the last message"""
    refused: list[tuple[str, str]] = field(default_factory=list)
    """ids of early labels that were refused, and the reasons"""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return 1 if self.inner is None else self.inner.rows

    @property
    def rows_to_read(self) -> Sequence[str]:
        """Ids of the rows that it will read from the log."""
        return () if self.inner is None else self.inner.rows_to_read

    @property
    def digest(self) -> bytes:
        """Position in the topic."""
        return repr((self.topic, self.partition, self.first, self.following)).encode()

    def write(self, group: Group) -> dict[str, Any]:
        """Write the command and the offset after its messages."""
        self.refused = []  # of an earlier transaction, which was rolled back
        for statement in _TABLES:
            group.connection.execute(statement)
        known = stored_offsets(group.connection).get((self.topic, self.partition), 0)
        if known >= self.following:
            return {"repeated": True}
        if known > self.first:
            raise ApiError(
                *(409, "offsets"),
                f"messages up to offset {known} of the partition were read before",
            )
        answer: dict[str, Any] = {}
        if self.inner is not None:
            # An error here leaves nothing behind: commands check before they write.
            answer = self.inner.write(group) or {}
            self.number, self.event = self.inner.number, self.inner.event
            self._keep_early(group, answer)
            self._label_early(group)
        group.connection.execute(
            "INSERT INTO kafka_offsets VALUES(?, ?, ?) "
            "ON CONFLICT DO UPDATE SET next=excluded.next",
            (self.topic, self.partition, self.following),
        )
        return answer

    def _keep_early(self, group: Group, answer: dict[str, Any]) -> None:
        """Keep labels whose rows have not arrived: topics have no common order."""
        if not isinstance(self.inner, LabelRows):
            return
        model, now = group.model(self.name, self.number), time.time()
        early = [
            (model.id, each, json.dumps(label), now)
            for each, label, result in zip(
                self.inner.ids, self.inner.labels, answer["results"], strict=True
            )
            if result == "unknown"
        ]
        insert = "INSERT OR IGNORE INTO kafka_labels VALUES(?, ?, ?, ?)"
        group.connection.executemany(insert, early)
        old = now - group.limits.max_age
        group.connection.execute("DELETE FROM kafka_labels WHERE time<?", (old,))
        group.connection.execute(
            "DELETE FROM kafka_labels WHERE model=? AND id NOT IN (SELECT id FROM "
            "kafka_labels WHERE model=? ORDER BY time DESC LIMIT ?)",
            (model.id, model.id, group.limits.max_waiting),
        )

    def _label_early(self, group: Group) -> None:
        """Label rows whose labels arrived first."""
        if not isinstance(self.inner, Remember | LabelRows):
            return
        any_label = "SELECT 1 FROM kafka_labels LIMIT 1"
        if group.connection.execute(any_label).fetchone() is None:
            return
        model = group.model(self.name, self.number, changing=False)
        group.flush()
        found = group.connection.execute(
            "SELECT id, label FROM kafka_labels JOIN rows USING(model, id) "
            "WHERE model=? LIMIT ?",
            (model.id, _EARLY_LABELS),
        ).fetchall()
        if not found:
            return
        labels = {each: json.loads(label) for each, label in found}
        try:
            self._label(group, model.id, labels)
        except ApiError:
            # One label may be the reason: the others do not depend on it.
            for each, label in labels.items():
                try:
                    self._label(group, model.id, {each: label})
                except ApiError as error:
                    if error.status == 503:
                        return  # tried again with later messages
                    self._refuse(group, model.id, each, error.message)

    def _label(self, group: Group, number: int, labels: dict[str, Label]) -> None:
        """Label rows; an error leaves everything as it was."""
        ids, values = [*labels], check_label_values([*labels.values()])
        late = LabelRows(name=self.name, number=number, ids=ids, labels=values)
        results = late.write(group)["results"]
        self.number, self.event = number, late.event or self.event
        for each, result in zip(ids, results, strict=True):
            if result == "unknown":
                self._refuse(group, number, each, "its row is damaged in the log")
        _drop_early(group, number, ids)

    def _refuse(self, group: Group, number: int, name: str, problem: str) -> None:
        self.refused.append((name, problem))
        _drop_early(group, number, [name])


def _drop_early(group: Group, model: int, ids: Sequence[str]) -> None:
    """Delete early labels of rows."""
    group.connection.executemany(
        "DELETE FROM kafka_labels WHERE model=? AND id=?",
        [(model, each) for each in ids],
    )
