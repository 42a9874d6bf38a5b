"""What clients ask the writer for: each command is checked and written in a group."""

import hashlib
import json
import secrets
import sqlite3
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar, final

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.serve.http.formats import Label
from rpnb.serve.limits import ApiError, Limits, beyond, invalid, unavailable
from rpnb.serve.log import (
    insert_event,
    pack_labels,
    pack_row,
    pack_rows,
    remove_labels,
)
from rpnb.serve.models import (
    LabelledEvent,
    Learner,
    ModelSpec,
    PredictedLabels,
    ServedModel,
)
from rpnb.serve.scores import Scores
from rpnb.serve.snapshots import insert_snapshot, replay_model

_KINDS = {str: "text", int: "integers", bool: "booleans"}
# Ids of rows are unique in the log, whatever process gave them.
_PREFIX = secrets.token_hex(5)
_NUMBERS = count()


@dataclass(slots=True)
class _Changes:
    """What a group changes of a model once it is on the disk."""

    model: ServedModel
    waiting: int
    expired: int
    kind: type | None
    new: set[Label] = field(default_factory=set)


@final
class Group:
    """The commands of one transaction.

    Parameters
    ----------
    connection
        The log, in a transaction.
    models
        The models by name.
    limits
        Of the service.
    answers
        Answers that are not in the log yet, by model and key.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        models: dict[str, ServedModel],
        limits: Limits,
        answers: dict[tuple[int, str], str],
    ) -> None:
        self.connection, self.models, self.limits = connection, models, limits
        self.events: list[tuple[ServedModel, LabelledEvent]] = []
        self.predictions: dict[int, list[Label | None]] = {}
        self.created: dict[str, ServedModel] = {}
        self.deleted: set[str] = set()
        self.replayed: dict[int, ServedModel] = {}
        self._changes: dict[int, _Changes] = {}
        self._answers = answers

    def run(self, command: "Command") -> dict[str, Any] | None:
        """Write a command; return its answer, None if that follows from its event."""
        if command.key is not None:
            known = self._known_answer(command)
            if known is not None:
                return known
        answer = None if command.repeats is not None else command.write(self)
        if command.key is not None and command.repeats is None:
            self.connection.execute(
                "INSERT INTO keys(model, key, digest, time, event, answer) "
                "VALUES(?,?,?,?,?,?)",
                (
                    command.namespace(self),
                    command.key,
                    command.digest,
                    time.time(),
                    command.event,
                    None if answer is None else json.dumps(answer),
                ),
            )
        return answer

    def _known_answer(self, command: "Command") -> dict[str, Any] | None:
        """Return the answer that a key has got before, if it is known already."""
        number = command.namespace(self)
        found = self.connection.execute(
            "SELECT digest, event, answer FROM keys WHERE model=? AND key=?",
            (number, command.key),
        ).fetchone()
        if found is None:
            return None
        digest, event, answer = found
        if digest != command.digest:
            raise ApiError(
                422, "key_reused", "the key was used for another request before"
            )
        if answer is None:
            answer = self._answers.get((number, str(command.key)))
        if answer is None:
            command.repeats = event
            return None
        value: dict[str, Any] = json.loads(answer)
        return value

    def model(
        self, name: str, number: int | None, *, changing: bool = True
    ) -> ServedModel:
        """Return a model that accepts changes.

        With its number, it must be the very model that a request was checked against,
        not a later one of the same name.
        """
        model = self.created.get(name) or self.models.get(name)
        if model is None or name in self.deleted:
            raise no_model()
        if number is not None and model.id != number:
            raise no_model()
        if changing and model.broken is not None:
            raise unavailable(model.broken)
        return model

    def changes(self, model: ServedModel) -> _Changes:
        """Return what the group changes of a model."""
        found = self._changes.get(model.id)
        if found is None:
            found = _Changes(model, model.waiting, model.expired, model.kind)
            self._changes[model.id] = found
        return found

    def check_new_labels(self, model: ServedModel, labels: list[Label]) -> None:
        """Refuse labels of another type than those known, and too many classes."""
        changes = self.changes(model)
        kind = type(labels[0])
        if changes.kind is not None and kind is not changes.kind:
            raise invalid(
                f"labels are {_KINDS[kind]}; those of this model are "
                f"{_KINDS[changes.kind]}",
                row=0,
            )
        new = set(labels) - model.known
        if new:
            if len(model.known | changes.new | new) > self.limits.max_classes:
                raise beyond("max_classes", self.limits.max_classes, "too many classes")
            changes.new |= new
        changes.kind = kind

    def drop_rows_beyond_limit(self, model: ServedModel) -> None:
        """Delete the oldest waiting rows beyond the limit, and count them."""
        changes = self.changes(model)
        excess = changes.waiting - self.limits.max_waiting
        if excess > 0:
            self.connection.execute(
                "DELETE FROM rows WHERE seq IN (SELECT seq FROM rows WHERE model=? AND "
                "event IS NULL ORDER BY seq LIMIT ?)",
                (model.id, excess),
            )
            self._count_expired(changes, excess)

    def drop_old_rows(self) -> None:
        """Delete rows that have waited too long, and count them."""
        for model in self.models.values():
            dropped = self.connection.execute(
                "DELETE FROM rows WHERE model=? AND event IS NULL AND time<?",
                (model.id, time.time() - self.limits.max_age),
            ).rowcount
            if dropped:
                self._count_expired(self.changes(model), dropped)

    def _count_expired(self, changes: _Changes, n: int) -> None:
        changes.waiting -= n
        changes.expired += n
        self.connection.execute(
            "UPDATE models SET expired=? WHERE id=?",
            (changes.expired, changes.model.id),
        )

    def finish(self) -> None:
        """Change what is kept in memory, once the transaction is on the disk."""
        for changes in self._changes.values():
            model = changes.model
            model.waiting, model.expired = changes.waiting, changes.expired
            model.kind = changes.kind
            model.known |= changes.new
        for number, new in self.replayed.items():
            self._changes[number].model.become(new)
        for name in self.deleted:
            self.models.pop(name, None)
        self.models.update(
            {n: m for n, m in self.created.items() if n not in self.deleted}
        )


def no_model() -> ApiError:
    """Return the error of a request for a model that is not there."""
    return ApiError(404, "no_model", "there is no model of this name")


@dataclass(slots=True, kw_only=True)
class Command(ABC):
    """Something that changes the log."""

    name: str
    """of the model"""
    number: int | None = None
    """of the model that the request was checked against"""
    key: str | None = None
    """of the client, for safe retries"""
    event: int | None = None
    """id of the event that the command has become"""
    repeats: int | None = None
    """id of the event that a retry repeats, whose answer is not known yet"""

    alone: ClassVar[bool] = False
    """whether it needs a transaction of its own"""

    @property
    def rows(self) -> int:
        """About how many rows it has."""
        return 1

    @property
    @abstractmethod
    def digest(self) -> bytes:
        """A digest of what is asked for: a key stands for one request only."""

    def namespace(self, group: Group) -> int:
        """Return the id of the model that the key belongs to."""
        return group.model(self.name, self.number, changing=False).id

    @abstractmethod
    def write(self, group: Group) -> dict[str, Any] | None:
        """Check and write it; return the answer, None if it follows from the event."""

    def answer(
        self, group: Group, answers: dict[tuple[int, str], str]
    ) -> dict[str, Any] | ApiError:
        """Return the answer that follows from the event, after it was applied."""
        event = self.event if self.repeats is None else self.repeats
        labels = group.predictions.get(event or 0)
        if labels is None:
            return unavailable("the rows are in the log, but could not be learnt")
        found = {"labels": labels, "learnt": len(labels)}
        if self.key is not None and self.repeats is None:
            answers[group.models[self.name].id, self.key] = json.dumps(found)
        return found


def _digest(*parts: Any) -> bytes:
    found = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else json.dumps(part).encode()
        found.update(len(data).to_bytes(8, "little") + data)
    return found.digest()


@final
@dataclass(slots=True, kw_only=True)
class Learn(Command):
    """Learn rows with their labels; with `observe`, predict each one before."""

    X: FloatArray
    labels: list[Label]
    observe: bool

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.labels)

    @property
    def digest(self) -> bytes:
        """A digest of rows and labels."""
        return _digest(
            "observe" if self.observe else "learn", self.X.tobytes(), self.labels
        )

    def write(self, group: Group) -> dict[str, Any] | None:
        """Append the event."""
        model = group.model(self.name, self.number)
        group.check_new_labels(model, self.labels)
        kind = "observe" if self.observe else "learn"
        n = len(self.labels)
        body = pack_rows(self.X, self.labels)
        self.event, now = insert_event(group.connection, model.id, kind, n, body)
        event = LabelledEvent(self.event, kind, now, self.X, self.labels, None, None)
        group.events.append((model, event))
        return None if self.observe else {"learnt": n}


@final
@dataclass(slots=True, kw_only=True)
class Remember(Command):
    """Keep rows that were predicted until their labels come."""

    X: FloatArray
    found: PredictedLabels
    ids: list[str] | None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.X.shape[0]

    @property
    def digest(self) -> bytes:
        """A digest of rows and ids; what was predicted is the answer."""
        return _digest("remember", self.X.tobytes(), self.ids)

    def write(self, group: Group) -> dict[str, Any]:
        """Insert the rows; those that are there already keep their predictions."""
        model = group.model(self.name, self.number)
        labels, confidence = list(self.found.labels), list(self.found.confidence)
        table = self.found.probabilities
        if self.ids is not None and len(set(self.ids)) < len(self.ids):
            raise invalid("two rows have the same id")
        ids = self.ids or [f"{_PREFIX}{next(_NUMBERS):07x}" for _ in labels]
        now = time.time()
        inserted = []
        for i, (each, label) in enumerate(zip(ids, labels, strict=True)):
            x = pack_row(self.X[i])
            if self.ids is not None:
                before = self._before(group, model, i, self.ids[i], x)
                if before is not None:
                    labels[i], confidence[i] = before
                    continue
            inserted.append((model.id, each, now, x, json.dumps(label), confidence[i]))
        group.connection.executemany(
            "INSERT INTO rows(model, id, time, x, predicted, confidence) "
            "VALUES(?,?,?,?,?,?)",
            inserted,
        )
        group.changes(model).waiting += len(inserted)
        group.drop_rows_beyond_limit(model)
        answer: dict[str, Any] = {
            "ids": ids,
            "labels": labels,
            "confidence": confidence,
        }
        if table is not None:
            answer |= {"probabilities": table, "classes": self.found.classes}
        return answer

    def _before(
        self, group: Group, model: ServedModel, i: int, row_id: str, x: bytes
    ) -> tuple[Label | None, float | None] | None:
        """Return what was predicted for an id before; it must be the same row."""
        found = group.connection.execute(
            "SELECT x, predicted, confidence FROM rows WHERE model=? AND id=?",
            (model.id, row_id),
        ).fetchone()
        if found is None:
            return None
        if found[0] != x:
            raise ApiError(
                409, "id_taken", f"the id of row {i} belongs to another row", row=i
            )
        return json.loads(found[1]), found[2]


@final
@dataclass(slots=True, kw_only=True)
class LabelRows(Command):
    """Labels of rows that wait for them."""

    ids: list[str]
    labels: list[Label]

    @property
    def rows(self) -> int:
        """The number of labels."""
        return len(self.ids)

    @property
    def digest(self) -> bytes:
        """A digest of ids and labels."""
        return _digest("labels", self.ids, self.labels)

    def write(self, group: Group) -> dict[str, Any]:
        """Append an event of those rows that were waiting."""
        model = group.model(self.name, self.number)
        results: list[str] = []
        rows: dict[int, tuple[Label, bytes, str, float | None]] = {}
        for each, label in zip(self.ids, self.labels, strict=True):
            found = group.connection.execute(
                "SELECT seq, event, x, predicted, confidence FROM rows "
                "WHERE model=? AND id=?",
                (model.id, each),
            ).fetchone()
            if found is None:
                results.append("unknown")
            elif found[1] is not None or found[0] in rows:
                results.append("duplicate")
            else:
                rows[found[0]] = (label, *found[2:])
                results.append("learnt")
        if rows:
            self._append(group, model, rows)
        totals = {
            name: results.count(name) for name in ("learnt", "duplicate", "unknown")
        }
        return {"results": results, **totals}

    def _append(
        self,
        group: Group,
        model: ServedModel,
        rows: dict[int, tuple[Label, bytes, str, float | None]],
    ) -> None:
        labels = [row[0] for row in rows.values()]
        group.check_new_labels(model, labels)
        body = pack_labels(list(rows), labels)
        n = len(labels)
        event, now = insert_event(group.connection, model.id, "labels", n, body)
        self.event = event
        group.connection.executemany(
            "UPDATE rows SET event=? WHERE seq=?", [(event, seq) for seq in rows]
        )
        values = b"".join(row[1] for row in rows.values())
        X = np.frombuffer(values, "<f8").reshape(n, -1).astype(np.float64)
        predicted = [json.loads(row[2]) for row in rows.values()]
        confidence = [row[3] for row in rows.values()]
        group.changes(model).waiting -= n
        group.events.append(
            (
                model,
                LabelledEvent(event, "labels", now, X, labels, predicted, confidence),
            )
        )


@final
@dataclass(slots=True, kw_only=True)
class Forget(Command):
    """Rows that are removed from the log, and from the state, as if never seen.

    The state becomes that of a replay of the log without them, to the bit, whatever the
    learner. Snapshots that include them are deleted.
    """

    ids: list[str]
    alone: ClassVar[bool] = True

    @property
    def digest(self) -> bytes:
        """A digest of the ids."""
        return _digest("forget", self.ids)

    def write(self, group: Group) -> dict[str, Any]:
        """Purge the rows and replay."""
        model = group.model(self.name, self.number)
        results: list[str] = []
        labelled: dict[int, set[int]] = {}
        waiting = 0
        for each in self.ids:
            found = group.connection.execute(
                "SELECT seq, event FROM rows WHERE model=? AND id=?", (model.id, each)
            ).fetchone()
            results.append("unknown" if found is None else "forgotten")
            if found is None:
                continue
            seq, event = found
            if event is None:
                waiting += 1
            else:
                labelled.setdefault(event, set()).add(seq)
            group.connection.execute("DELETE FROM rows WHERE seq=?", (seq,))
        group.changes(model).waiting -= waiting
        if labelled:
            remove_labels(group.connection, model.id, labelled)
            group.replayed[model.id] = replay_model(group.connection, model.id)
        totals = {name: results.count(name) for name in ("forgotten", "unknown")}
        return {"results": results, **totals}


@final
@dataclass(slots=True, kw_only=True)
class Create(Command):
    """A new model."""

    spec: ModelSpec
    learner: Learner
    file: bytes | None = None
    """its first state, if it does not follow from the specification"""
    given: bytes = b""
    """what the client sent"""

    CLIENT: ClassVar[int] = 0

    @property
    def digest(self) -> bytes:
        """A digest of what was sent."""
        return _digest("create", self.name, self.given)

    def namespace(self, group: Group) -> int:
        """Return 0: there is no model yet."""
        return self.CLIENT

    def write(self, group: Group) -> dict[str, Any]:
        """Insert the model, and its first state."""
        taken = self.name in group.models and self.name not in group.deleted
        if taken or self.name in group.created:
            raise ApiError(409, "name_taken", "there is a model of this name already")
        number = len(group.models) + len(group.created) - len(group.deleted)
        if number >= group.limits.max_models:
            raise beyond("max_models", group.limits.max_models, "too many models")
        now = time.time()
        cursor = group.connection.execute(
            "INSERT INTO models(name, spec, created) VALUES(?,?,?)",
            (self.name, self.spec.to_json(), now),
        )
        key = int(cursor.lastrowid or 0)
        model = ServedModel(key, self.name, self.spec, self.learner, now)
        if self.file is not None:
            insert_snapshot(group.connection, key, 0, self.file, Scores(), True)
        group.created[self.name] = model
        group.deleted.discard(self.name)
        return model.describe()


@final
@dataclass(slots=True, kw_only=True)
class Delete(Command):
    """A model and all its rows, removed."""

    @property
    def digest(self) -> bytes:
        """A digest of the name."""
        return _digest("delete", self.name)

    def write(self, group: Group) -> dict[str, Any]:
        """Delete it from all tables."""
        model = group.model(self.name, self.number, changing=False)
        for table in ("events", "rows", "keys", "snapshots"):
            group.connection.execute(
                f"DELETE FROM {table} WHERE model=?",  # noqa: S608 - our own words
                (model.id,),
            )
        group.connection.execute("DELETE FROM models WHERE id=?", (model.id,))
        group.created.pop(self.name, None)
        group.deleted.add(self.name)
        return {"deleted": True}
