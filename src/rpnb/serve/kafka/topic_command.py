"""The command that writes messages of a Kafka topic together with their offset.

Offsets are stored in the log, in the transaction of the messages, and not in Kafka. So
each message is learned exactly once, whichever process is killed at whatever moment.
"""

import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from rpnb.serve.commands import Command, Group, LabelRows, Remember
from rpnb.serve.label_rules import Label
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
        ids = [each for each, _ in found]
        labels: list[Label] = [json.loads(label) for _, label in found]
        late = LabelRows(name=self.name, number=model.id, ids=ids, labels=labels)
        try:
            late.write(group)
        except ApiError as error:
            if error.status == 503:
                return  # tried again with later messages
        self.number, self.event = model.id, late.event or self.event
        group.connection.executemany(
            "DELETE FROM kafka_labels WHERE model=? AND id=?",
            [(model.id, each) for each in ids],
        )
