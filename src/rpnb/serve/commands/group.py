"""The commands of one transaction, and the changes that they make."""

import json
import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, final

import numpy as np

from rpnb.core.asking import Asking
from rpnb.serve.commands.buffered_tables import BufferedTables, StoredKey, StoredRow
from rpnb.serve.history import check_sizes
from rpnb.serve.http.formats import dump_answer
from rpnb.serve.label_rules import KIND_NAMES, Label, kind_of
from rpnb.serve.limits import ApiError, Limits, beyond, invalid, unavailable
from rpnb.serve.log import LabelledEvent, pack_labels, read_scores
from rpnb.serve.mixes import MixCorrection, read_mix, write_mix
from rpnb.serve.served_model import ObservedAnswer, ServedModel

if TYPE_CHECKING:
    from rpnb.serve.commands.command import Command

# Most names of categories that a model keeps.
_MOST_CATEGORIES = 10_000


@dataclass(slots=True)
class _Changes:
    """Changes of a model in memory, made once the transaction is on disk."""

    model: ServedModel
    waiting: int
    expired: int
    new: set[Label] = field(default_factory=set)
    steps: float = 0.0
    categories: dict[float, str] = field(default_factory=dict)


@dataclass(slots=True)
class _LabelsEvent:
    """Labels of waiting rows of a model, from all commands of a group."""

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
        Connection to the log, in a transaction.
    models
        All models by name.
    limits
        Limits of the service.
    answers
        Answers that are not in the log yet, by model and key.
    ids
        Ids for rows that have none.
    numbers
        Largest number ever used in each table.
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
        self.tables = BufferedTables(connection, numbers)
        self.row_ids = row_ids() if ids is None else ids
        self.events: list[tuple[ServedModel, LabelledEvent]] = []
        self.predictions: dict[int, ObservedAnswer] = {}
        self.created: dict[str, ServedModel] = {}
        self.deleted: set[str] = set()
        self.replays: dict[int, ServedModel] = {}
        """models whose logs must be replayed"""
        self.changed: dict[int, ServedModel] = {}
        """models whose learners or versions have changed"""
        self.forgetful: list[ServedModel] = []
        """models of which rows were forgotten"""
        self.not_learned: set[int] = set()
        """events in the log that could not be applied"""
        self._changes: dict[int, _Changes] = {}
        self._labels: dict[int, _LabelsEvent] = {}
        self._answers = answers
        self.asking: dict[int, Asking] = {}
        """states of `ask`, of models for which the group asks for rows"""
        self.weights: dict[tuple[int, str], float] = {}
        """weights of rows that the group asks for, by model and id"""

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
        """Read all rows and keys that the commands will need, in few statements."""
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
        """Write a command; return its answer, or None if it follows from the event."""
        if command.key is not None:
            known = self._known_answer(command)
            if known is not None:
                return known
        answer = None if command.repeats is not None else command.write(self)
        if command.key is not None and command.repeats is None:
            text = None if answer is None else dump_answer(answer).decode()
            stored = StoredKey(command.digest, command.event, text)
            self.tables.add_key(command.namespace(self), command.key, stored)
        return answer

    def _known_answer(self, command: "Command") -> dict[str, Any] | None:
        """Return the earlier answer to the command's key, if there is one."""
        number, key = command.namespace(self), str(command.key)
        found = self.tables.key(number, key)
        if found is None:
            return None
        if found.digest != command.digest:
            raise ApiError(422, "key_reused", "the key was used for another request")
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
        """Return a model, which must accept changes if `changing`.

        With a number, it must be the model that the request was checked against, not a
        later one of the same name.
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
        """Return the changes that the group makes to a model."""
        found = self._changes.get(model.id)
        if found is None:
            found = _Changes(model, model.waiting, model.expired)
            self._changes[model.id] = found
        return found

    def mix_of(self, model: ServedModel) -> MixCorrection | None:
        """Return the correction of a model's class mix, up to date with the log."""
        if not model.corrects:
            return None
        if model.mix_stale:
            model.mix = read_mix(self.connection, model.id, model.contender)
            model.mix_stale = False
        self.changes(model)
        return model.mix

    def keep_mix(self, model: ServedModel) -> None:
        """Write the state of the correction, before its rows are deleted."""
        mix = self.mix_of(model)
        if mix is not None:
            write_mix(self.connection, model.id, model.contender, mix)
            model.mix_saved = mix.row

    def abandon(self) -> None:
        """Undo changes in memory after the transaction has failed."""
        for changes in self._changes.values():
            changes.model.mix_stale = True
            changes.model.mix_saved = 0

    def note_categories(self, model: ServedModel, named: Mapping[float, str]) -> None:
        """Write the names of new categories, up to a limit."""
        changes = self.changes(model)
        known = model.categories.keys() | changes.categories.keys()
        new = [each for each in named.items() if each[0] not in known]
        new = new[: max(_MOST_CATEGORIES - len(known), 0)]
        self.connection.executemany(
            "INSERT OR IGNORE INTO categories(model, number, name) VALUES(?,?,?)",
            [(model.id, *each) for each in new],
        )
        changes.categories.update(new)

    def accept_labels(
        self, model: ServedModel, labels: list[Label], places: Sequence[int]
    ) -> None:
        """Compare labels with the model's classes, and note those that are new.

        Labels of earlier commands of the group count as classes.

        Parameters
        ----------
        model, labels
            The model, and labels of one type for it.
        places
            Numbers of the labels in their request, for messages.
        """
        changes = self.changes(model)
        kind, known = type(labels[0]), model.label_kind or kind_of(changes.new)
        if known is not None and kind is not known:
            raise invalid(
                f"labels are {KIND_NAMES[kind]}; those of this model are "
                f"{KIND_NAMES[known]}",
                row=places[0],
            )
        new = set(labels) - model.known - changes.new
        if new:
            place = next(i for i, y in zip(places, labels, strict=True) if y in new)
            self._accept_classes(changes, new, place)
        self._check_cost(changes, len(labels), len(changes.new | new))
        changes.new |= new

    def _accept_classes(self, changes: _Changes, new: set[Label], place: int) -> None:
        """Refuse new classes that the model or its learner cannot have.

        `place` is the number of the first of them in its request.
        """
        model, limits = changes.model, self.limits
        if model.spec.new_classes == "refuse":
            raise invalid(
                f"label {place} is none of the model's classes, and its "
                "new_classes is 'refuse'",
                row=place,
            )
        if len(model.known | changes.new | new) > limits.max_classes:
            raise beyond("max_classes", limits.max_classes, "too many classes")
        try:
            model.check_learnable(changes.new | new)
        except (TypeError, ValueError):
            # The learner's message would repeat the label.
            raise invalid(
                f"label {place} is none of the model's classes, and "
                f"{model.spec.learner} cannot learn another one",
                row=place,
            ) from None

    def _check_cost(self, changes: _Changes, rows: int, new: int) -> None:
        """Refuse rows whose learning would take too much memory or time."""
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
            raise unavailable("the model has not learned earlier rows yet: try again")
        changes.steps += steps

    def add_labels(
        self,
        model: ServedModel,
        rows: list[StoredRow],
        labels: list[Label],
        places: Sequence[int],
    ) -> int:
        """Label waiting rows; return the id of the event, which later labels may share.

        `places` are the numbers of the labels in their request. All commands of a group
        are answered together, so labels may be moved behind other commands.
        """
        self.accept_labels(model, labels, places)
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
        """Write the event with the labels of a model, if there is one."""
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
        """Write everything collected so far to the transaction."""
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
        """Write the buffered rows, and the weights of rows that are asked for."""
        self.tables.flush()
        for key, value in self.weights.items():
            self.connection.execute(
                "UPDATE rows SET weight=? WHERE model=? AND id=?", (value, *key)
            )
        self.weights.clear()

    def _drop_rows_beyond_limit(self, changes: _Changes) -> None:
        """Delete the oldest waiting rows beyond the limit."""
        excess = changes.waiting - self.limits.max_waiting
        if excess > 0:
            if changes.model.mix is not None:
                (last,) = self.connection.execute(
                    "SELECT max(seq) FROM (SELECT seq FROM rows WHERE model=? AND "
                    "event IS NULL ORDER BY seq LIMIT ?)",
                    (changes.model.id, excess),
                ).fetchone()
                if last > changes.model.mix_saved:
                    self.keep_mix(changes.model)
            self.connection.execute(
                "DELETE FROM rows WHERE seq IN (SELECT seq FROM rows WHERE model=? AND "
                "event IS NULL ORDER BY seq LIMIT ?)",
                (changes.model.id, excess),
            )
            self._count_expired(changes, excess)

    def drop_old_rows(self) -> None:
        """Delete rows that have waited too long."""
        old = "FROM rows WHERE model=? AND event IS NULL AND time<?"
        for model in self.models.values():
            which = (model.id, time.time() - self.limits.max_age)
            if model.mix is not None:
                one = self.connection.execute(f"SELECT 1 {old} LIMIT 1", which)
                if one.fetchone() is not None:
                    self.keep_mix(model)
            dropped = self.connection.execute(f"DELETE {old}", which).rowcount
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
        """Change the models in memory, once the transaction is on disk."""
        for changes in self._changes.values():
            model = changes.model
            model.waiting, model.expired = changes.waiting, changes.expired
            model.known |= changes.new
            model.categories |= changes.categories
        for model in self.forgetful:
            model.generation += 1
            model.categories.clear()
            model.mix_stale = True
        for model, event in sorted(self.events, key=lambda each: each[1].event):
            if event.rows and model.mix is not None and not model.mix_stale:
                model.mix.add_labelled(event.event, event.rows, event.labels)
        for name in self.deleted:
            self.models.pop(name, None)
        self.models.update(
            {n: m for n, m in self.created.items() if n not in self.deleted}
        )
        for model in self.models.values():
            model.asking = self.asking.get(model.id, model.asking)


def row_ids() -> Iterator[str]:
    """Yield row ids that are unique across processes."""
    prefix = secrets.token_hex(5)
    for n in count():
        yield f"{prefix}{n:07x}"


def no_model() -> ApiError:
    """Return the error of a request for an unknown model."""
    return ApiError(404, "no_model", "there is no model of this name")
