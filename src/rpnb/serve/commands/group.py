"""The commands of one transaction, and what they change."""

import json
import secrets
import sqlite3
import time
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, final

import numpy as np

from rpnb.core.asking import Asking
from rpnb.serve.commands.tables import StoredKey, StoredRow, Tables
from rpnb.serve.events import LabelledEvent
from rpnb.serve.http.formats import dump_json
from rpnb.serve.http.tables import Label
from rpnb.serve.limits import ApiError, Limits, beyond, invalid, unavailable
from rpnb.serve.log import pack_labels, read_scores
from rpnb.serve.models import ServedModel
from rpnb.serve.sizes import check_sizes

if TYPE_CHECKING:
    from rpnb.serve.commands.command import Command

_KINDS = {str: "text", int: "integers", bool: "booleans"}


@dataclass(slots=True)
class _Changes:
    """What a group changes of a model once it is on the disk."""

    model: ServedModel
    waiting: int
    expired: int
    kind: type | None
    new: set[Label] = field(default_factory=set)
    steps: float = 0.0


@dataclass(slots=True)
class _LabelsEvent:
    """The labels of rows of a model that the commands of a group have brought."""

    model: ServedModel
    number: int
    time: float
    rows: list[StoredRow] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)


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
    ids
        Ids for rows that have none.
    numbers
        The largest numbers that tables have had.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        models: dict[str, ServedModel],
        limits: Limits,
        answers: dict[tuple[int, str], str],
        ids: Iterator[str] | None = None,
        numbers: dict[str, int] | None = None,
    ) -> None:
        self.connection, self.models, self.limits = connection, models, limits
        self.tables = Tables(connection, numbers)
        self.row_ids = row_ids() if ids is None else ids
        self.events: list[tuple[ServedModel, LabelledEvent]] = []
        self.predictions: dict[int, list[Label | None]] = {}
        self.created: dict[str, ServedModel] = {}
        self.deleted: set[str] = set()
        self.replays: dict[int, ServedModel] = {}
        """Models that become what their log leads to now."""
        self.changed: dict[int, ServedModel] = {}
        """Models whose learners have changed, or their versions."""
        self.forgetful: list[ServedModel] = []
        """Models that have lost rows, labelled or not."""
        self.not_learned: set[int] = set()
        """Events that are on the disk and could not be applied."""
        self._changes: dict[int, _Changes] = {}
        self._labels: dict[int, _LabelsEvent] = {}
        self._answers = answers
        self.asking: dict[int, Asking] = {}
        """What was drawn of models' rows, where the group draws more."""
        self.weights: dict[tuple[int, str], float] = {}
        """Weights of rows that the group asks for, by model and id."""
        self.scores: dict[tuple[int, str], bytes] = {}
        """Scores by which rows were predicted, by model and id."""

    def run_all(
        self, commands: "Sequence[Command]"
    ) -> list[dict[str, Any] | ApiError | None]:
        """Write commands; return their answers, None where they follow from events."""
        self._read_ahead(commands)
        found: list[dict[str, Any] | ApiError | None] = []
        for command in commands:
            try:
                found.append(self.run(command))
            except ApiError as error:
                found.append(error)
        self.flush()
        for changes in self._changes.values():
            if changes.model.name not in self.deleted:
                self._drop_rows_beyond_limit(changes)
        return found

    def _read_ahead(self, commands: "Sequence[Command]") -> None:
        """Read the rows and keys that commands will ask for, all together."""
        rows: dict[int, list[str]] = {}
        keys: dict[int, list[str]] = {}
        for command in commands:
            model = self.models.get(command.name)
            if model is not None:
                rows.setdefault(model.id, []).extend(command.rows_to_read)
                if command.key is not None:
                    keys.setdefault(model.id, []).append(command.key)
        for number, names in rows.items():
            self.tables.read_rows(number, names)
        for number, names in keys.items():
            self.tables.read_keys(number, names)

    def run(self, command: "Command") -> dict[str, Any] | None:
        """Write a command; return its answer, None if that follows from its event."""
        if command.key is not None:
            known = self._known_answer(command)
            if known is not None:
                return known
        answer = None if command.repeats is not None else command.write(self)
        if command.key is not None and command.repeats is None:
            text = None if answer is None else dump_json(answer).decode()
            stored = StoredKey(command.digest, command.event, text)
            self.tables.add_key(command.namespace(self), command.key, stored)
        return answer

    def _known_answer(self, command: "Command") -> dict[str, Any] | None:
        """Return the answer that a key has got before, if it is known already."""
        number, key = command.namespace(self), str(command.key)
        found = self.tables.key(number, key)
        if found is None:
            return None
        if found.digest != command.digest:
            raise ApiError(
                422, "key_reused", "the key was used for another request before"
            )
        answer = found.answer or self._answers.get((number, key))
        if answer is None:
            aside = "SELECT 1 FROM aside WHERE id=?"
            if self.connection.execute(aside, (found.event,)).fetchone() is not None:
                raise ApiError(
                    409,
                    "set_aside",
                    "the event of this key was set aside: it could not be learned",
                )
            command.repeats = found.event
            return None
        try:
            value: dict[str, Any] = json.loads(answer)
        except ValueError:
            raise ApiError(
                409, "damaged", "the answer to this key is damaged in the log"
            ) from None
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

    def check_new_labels(
        self, model: ServedModel, labels: list[Label], places: Sequence[int]
    ) -> None:
        """Refuse labels that the model's learner would refuse, and too many classes.

        `places` are the numbers of the labels in their request, for the message.
        """
        changes = self.changes(model)
        kind = type(labels[0])
        if changes.kind is not None and kind is not changes.kind:
            raise invalid(
                f"labels are {_KINDS[kind]}; those of this model are "
                f"{_KINDS[changes.kind]}",
                row=places[0],
            )
        new = set(labels) - model.known - changes.new
        if new:
            place = next(i for i, y in zip(places, labels, strict=True) if y in new)
            if model.spec.new_classes == "refuse":
                raise invalid(
                    f"label {place} is none of the model's classes, and its "
                    "new_classes is 'refuse'",
                    row=place,
                )
            if len(model.known | changes.new | new) > self.limits.max_classes:
                raise beyond("max_classes", self.limits.max_classes, "too many classes")
            try:
                model.check_labels([*changes.new, *new])
            except (TypeError, ValueError):
                # The learner's message would repeat the label.
                raise invalid(
                    f"label {place} is none of the model's classes, and "
                    f"{model.spec.learner} cannot learn another one",
                    row=place,
                ) from None
        self._check_cost(changes, len(labels), len(changes.new | new))
        changes.new |= new
        changes.kind = kind

    def _check_cost(self, changes: _Changes, rows: int, new: int) -> None:
        """Refuse rows that would take too much memory or time to learn."""
        model, limits = changes.model, self.limits
        if new:
            check_sizes(model.history, limits, len(model.known) + new)
        steps = model.steps(rows, new)
        if steps > limits.max_steps:
            raise beyond(
                *("max_steps", limits.max_steps),
                "learning these rows would take too long: send fewer at a time",
            )
        if model.backlog + changes.steps + steps > 2 * limits.max_steps:
            raise unavailable("the model has not learned the rows before these yet")
        changes.steps += steps

    def add_labels(
        self,
        model: ServedModel,
        rows: list[StoredRow],
        labels: list[Label],
        places: Sequence[int],
    ) -> int:
        """Label rows that wait; return the event, which later labels may share.

        `places` are the numbers of the labels in their request. Commands of a group are
        answered together, so their order is for us to choose.
        """
        self.check_new_labels(model, labels, places)
        if model.whole_events:
            self._end_labels(model.id)
        event = self._labels.get(model.id)
        if event is None:
            event = _LabelsEvent(model, self.tables.next_event(), time.time())
            self._labels[model.id] = event
        for row in rows:
            row.event = event.number
        event.rows += rows
        event.labels += labels
        self.changes(model).waiting -= len(rows)
        return event.number

    def _end_labels(self, number: int) -> None:
        """Write the event of a model's labels, if there is one."""
        event = self._labels.pop(number, None)
        if event is None:
            return
        rows, labels = event.rows, event.labels
        seqs = [row.seq for row in rows]
        body = pack_labels(seqs, labels)
        self.tables.add_labels(event.number, event.time, number, seqs, body)
        scores = None
        own = event.model.contender
        if event.model.keeps_scores or any(row.contender != own for row in rows):
            self._write_rows()
            scores = read_scores(self.connection, seqs)
        values = np.frombuffer(b"".join([row.x for row in rows]), "<f8")
        labelled = LabelledEvent(
            event.number,
            "labels",
            event.time,
            values.reshape(len(rows), -1).astype(np.float64),
            labels,
            [json.loads(row.predicted) for row in rows],
            [row.confidence for row in rows],
            seqs,
            [row.contender for row in rows],
            scores=scores,
        )
        self.events.append((event.model, labelled))

    def flush(self) -> None:
        """Write all that commands have brought so far to the transaction."""
        for number in list(self._labels):
            self._end_labels(number)
        self._write_rows()
        for number, state in self.asking.items():
            self.connection.execute(
                "INSERT OR REPLACE INTO asking(model, rows, asked, balance, mean) "
                "VALUES(?,?,?,?,?)",
                (number, *astuple(state)),
            )

    def _write_rows(self) -> None:
        """Write what the tables keep, and what else is known of rows."""
        self.tables.flush()
        for name, found in (("weight", self.weights), ("scores", self.scores)):
            for key, value in found.items():
                self.connection.execute(
                    f"UPDATE rows SET {name}=? WHERE model=? AND id=?",  # noqa: S608 - our own words
                    (value, *key),
                )
            found.clear()

    def _drop_rows_beyond_limit(self, changes: _Changes) -> None:
        """Delete the oldest waiting rows beyond the limit, and count them."""
        excess = changes.waiting - self.limits.max_waiting
        if excess > 0:
            self.connection.execute(
                "DELETE FROM rows WHERE seq IN (SELECT seq FROM rows WHERE model=? AND "
                "event IS NULL ORDER BY seq LIMIT ?)",
                (changes.model.id, excess),
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

    def by_model(self) -> dict[int, tuple[ServedModel, list[LabelledEvent]]]:
        """Return the events of each model, in order."""
        found: dict[int, tuple[ServedModel, list[LabelledEvent]]] = {}
        for model, event in self.events:
            found.setdefault(model.id, (model, []))[1].append(event)
        for _, events in found.values():
            events.sort(key=lambda each: each.event)
        return found

    def finish(self) -> None:
        """Change what is kept in memory, once the transaction is on the disk."""
        for changes in self._changes.values():
            model = changes.model
            model.waiting, model.expired = changes.waiting, changes.expired
            model.kind = changes.kind
            model.known |= changes.new
        for model in self.forgetful:
            model.generation += 1
        for name in self.deleted:
            self.models.pop(name, None)
        self.models.update(
            {n: m for n, m in self.created.items() if n not in self.deleted}
        )
        for model in self.models.values():
            model.asking = self.asking.get(model.id, model.asking)


def row_ids() -> Iterator[str]:
    """Yield ids of rows that are unique in the log, whatever process gives them."""
    prefix = secrets.token_hex(5)
    for n in count():
        yield f"{prefix}{n:07x}"


def no_model() -> ApiError:
    """Return the error of a request for a model that is not there."""
    return ApiError(404, "no_model", "there is no model of this name")
