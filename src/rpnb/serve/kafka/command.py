"""What messages of a topic change, and how far the topic is read: one transaction.

Offsets are kept in the log, not in Kafka: either the event of a message and the offset
after it are both on the disk, or neither is. So a message is learned once, whatever is
killed when.
"""

import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from rpnb.serve.commands import Command, Group, LabelRows, Remember
from rpnb.serve.http.tables import Label
from rpnb.serve.limits import ApiError

# Made where a topic is read first: other logs have no such tables.
_TABLES = (
    """CREATE TABLE IF NOT EXISTS kafka_offsets(
  topic TEXT NOT NULL, partition INTEGER NOT NULL, next INTEGER NOT NULL,
  PRIMARY KEY(topic, partition)) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS kafka_labels(
  model INTEGER NOT NULL, id TEXT NOT NULL, label TEXT NOT NULL, time REAL NOT NULL,
  PRIMARY KEY(model, id)) WITHOUT ROWID""",
)
# Labels that came before their rows: looked for at a time.
_AT_ONCE: Final = 1_000


def stored_offsets(connection: sqlite3.Connection) -> dict[tuple[str, int], int]:
    """Return the offset after the last message of each partition that was read."""
    made = "SELECT 1 FROM sqlite_master WHERE name='kafka_offsets'"
    if connection.execute(made).fetchone() is None:
        return {}
    rows = connection.execute("SELECT topic, partition, next FROM kafka_offsets")
    return {(topic, partition): offset for topic, partition, offset in rows}


@final
@dataclass(slots=True, kw_only=True)
class FromTopic(Command):
    """Messages of a partition, one after the other, and what they ask for."""

    inner: Command | None
    """None for messages that are passed over"""
    topic: str
    partition: int
    first: int
    """offset of the first message"""
    following: int
    """offset after the last message"""

    @property
    def rows(self) -> int:
        """The number of rows."""
        return 1 if self.inner is None else self.inner.rows

    @property
    def rows_to_read(self) -> Sequence[str]:
        """Ids of the rows of the log that it will ask for."""
        return () if self.inner is None else self.inner.rows_to_read

    @property
    def digest(self) -> bytes:
        """What tells it from others: its place."""
        return repr((self.topic, self.partition, self.first, self.following)).encode()

    def write(self, group: Group) -> dict[str, Any]:
        """Write what the messages ask for, and the offset after them."""
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
            # An error of this leaves nothing behind: all checks come first.
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
        """Keep labels whose rows have not come: topics have no common order."""
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
        """Label rows whose labels came before them."""
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
            (model.id, _AT_ONCE),
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
                return  # they are tried again
        self.number, self.event = model.id, late.event or self.event
        group.connection.executemany(
            "DELETE FROM kafka_labels WHERE model=? AND id=?",
            [(model.id, each) for each in ids],
        )
