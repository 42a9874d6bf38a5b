"""Commands about rows: learn, keep for labels, label and forget them."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from itertools import islice
from typing import Any, ClassVar, final

from rpnb.core.kernels.arrays import FloatArray
from rpnb.serve.commands.buffered_tables import StoredRow
from rpnb.serve.commands.command import Command, digest_of
from rpnb.serve.commands.group import Group
from rpnb.serve.commands.questions import Budget, ask_for_rows
from rpnb.serve.label_rules import Label
from rpnb.serve.limits import ApiError, invalid, unavailable
from rpnb.serve.log import (
    LabelledEvent,
    delete_snapshots,
    pack_checked,
    pack_row,
    pack_rows,
    remove_labels,
)
from rpnb.serve.served_model import PredictedLabels, ServedModel


@final
@dataclass(slots=True, kw_only=True)
class Learn(Command):
    """Learn rows with their labels; with `observe`, predict each row first."""

    X: FloatArray
    labels: list[Label]
    observe: bool

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.labels)

    @property
    def digest(self) -> bytes:
        """Digest of the rows and labels."""
        return digest_of(
            "observe" if self.observe else "learn", self.X.tobytes(), self.labels
        )

    def write(self, group: Group) -> dict[str, Any] | None:
        """Append the event."""
        model = group.model(self.name, self.number)
        self.number = model.id
        group.accept_labels(model, self.labels, range(len(self.labels)))
        kind = "observe" if self.observe else "learn"
        n = len(self.labels)
        body = pack_rows(self.X, self.labels)
        self.event, now = group.tables.add_event(model.id, kind, n, body)
        event = LabelledEvent(self.event, kind, now, self.X, self.labels, None, None)
        group.events.append((model, event))
        return None if self.observe else {"learned": n}


@final
@dataclass(slots=True, kw_only=True)
class Remember(Command):
    """Keep predicted rows until their labels arrive."""

    X: FloatArray
    ids: list[str] | None
    probabilities: bool
    """whether to return the probabilities of all classes"""
    found: PredictedLabels | None = None
    """predictions; None if the writer makes them, for few rows"""
    budget: Budget | None = None
    """how many rows to ask for, if any"""
    categories: Mapping[float, str] = field(default_factory=dict)
    """names of categories in the rows, by their codes"""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    @property
    def rows_to_read(self) -> Sequence[str]:
        """Ids given by the client, which may be in the log already."""
        return self.ids or ()

    @property
    def digest(self) -> bytes:
        """Digest of the rows and ids."""
        asked = () if self.budget is None else (list(astuple(self.budget)),)
        return digest_of("remember", self.X.tobytes(), self.ids, *asked)

    def write(self, group: Group) -> dict[str, Any]:
        """Insert the rows; those in the log already keep their predictions."""
        # Rows are not events: they may wait while a model accepts no labels.
        model = group.model(self.name, self.number, changing=False)
        if not model.predicts:
            raise unavailable(model.broken or "the model has no state")
        found = self.found
        if found is None:
            raise unavailable("the rows could not be predicted")
        ids = self.ids or list(islice(group.row_ids, self.rows))
        stored = self._stored_rows(group, model)
        new = [i for i in range(self.rows) if i not in stored]
        found = self._add_rows(group, model, found, ids, new)
        labels, confidence = list(found.labels), list(found.confidence)
        for i, row in stored.items():
            labels[i], confidence[i] = json.loads(row.predicted), row.confidence
        asked: dict[str, Any] = {}
        if self.budget is not None:
            is_new = [i not in stored for i in range(self.rows)]
            asked = ask_for_rows(group, model, ids, confidence, is_new, self.budget)
        group.changes(model).waiting += len(new)
        group.note_categories(model, self.categories)
        answer: dict[str, Any] = {
            "ids": ids,
            "labels": labels,
            "confidence": confidence,
            **asked,
        }
        if self.probabilities and found.probabilities is not None:
            answer |= {
                "probabilities": found.probabilities.tolist(),
                "classes": found.classes,
            }
        return answer

    def _stored_rows(self, group: Group, model: ServedModel) -> dict[int, StoredRow]:
        """Return the rows that are in the log already, by their place in the request.

        An id of another row, or one that occurs twice, is refused.
        """
        if self.ids is None:
            return {}
        if len(set(self.ids)) < len(self.ids):
            raise invalid("two rows have the same id")
        stored: dict[int, StoredRow] = {}
        for i, each in enumerate(self.ids):
            row = group.tables.row(model.id, each)
            if (model.id, each) in group.tables.damaged:
                raise ApiError(409, "damaged", f"row {i} is damaged in the log", row=i)
            if row is None:
                continue
            if row.x != pack_row(self.X[i]):
                raise ApiError(
                    *(409, "id_taken"),
                    f"the id of row {i} belongs to another row",
                    row=i,
                )
            stored[i] = row
        return stored

    def _add_rows(
        self,
        group: Group,
        model: ServedModel,
        found: PredictedLabels,
        ids: list[str],
        new: list[int],
    ) -> PredictedLabels:
        """Insert the new rows; return the predictions that clients get."""
        n, now = len(ids), time.time()
        nothing: list[bytes | None] = [None] * n
        kept = found.probabilities is not None and model.keeps_probabilities(n)
        own = found.contender == model.contender
        mix = group.mix_of(model) if kept and own else None
        given, numbers = nothing, {}
        if mix is not None and new and found.probabilities is not None:
            given = [*(found.packed_probabilities() or nothing)]
            found, of_new = found.corrected_by(mix, new)
            numbers = dict(zip(new, of_new, strict=True))
        proba = (found.packed_probabilities() if kept else None) or nothing
        scores = found.scores or nothing
        for i in new:
            stored = [
                None if each is None else pack_checked(each)
                for each in (scores[i], proba[i], given[i])
            ]
            seq = group.tables.add_row(
                *(model.id, ids[i], now, pack_row(self.X[i])),
                *(json.dumps(found.labels[i]), found.confidence[i], found.contender),
                *stored,
            )
            if mix is not None and i in numbers:
                mix.note_row(seq, numbers[i])
        return found


@final
@dataclass(slots=True, kw_only=True)
class LabelRows(Command):
    """Label rows that wait."""

    ids: list[str]
    labels: list[Label]

    @property
    def rows(self) -> int:
        """Number of labels."""
        return len(self.ids)

    @property
    def rows_to_read(self) -> Sequence[str]:
        """Ids of the rows to label."""
        return self.ids

    @property
    def digest(self) -> bytes:
        """Digest of the ids and labels."""
        return digest_of("labels", self.ids, self.labels)

    def write(self, group: Group) -> dict[str, Any]:
        """Append an event with the labels of the rows that wait."""
        model = group.model(self.name, self.number)
        results: list[str] = []
        rows: dict[int, StoredRow] = {}
        labels: list[Label] = []
        places: list[int] = []
        for i, (each, label) in enumerate(zip(self.ids, self.labels, strict=True)):
            row = group.tables.row(model.id, each)
            if row is None:
                results.append("unknown")
            elif row.event is not None or row.seq in rows:
                results.append("duplicate")
            else:
                rows[row.seq] = row
                labels.append(label)
                places.append(i)
                results.append("learned")
        if rows:
            self.event = group.add_labels(model, [*rows.values()], labels, places)
        totals = {
            name: results.count(name) for name in ("learned", "duplicate", "unknown")
        }
        return {"results": results, **totals}


@final
@dataclass(slots=True, kw_only=True)
class Forget(Command):
    """Remove rows from the log and from the state, as if never seen.

    The state becomes that of a replay of the log without them, to the bit, for every
    learner. Snapshots that include them are deleted.
    """

    ids: list[str]
    alone: ClassVar[bool] = True
    replays: ClassVar[bool] = True

    @property
    def digest(self) -> bytes:
        """Digest of the ids."""
        return digest_of("forget", self.ids)

    def write(self, group: Group) -> dict[str, Any]:
        """Delete the rows; the log is replayed once that is on disk."""
        model = group.model(self.name, self.number)
        self.number = model.id
        group.flush()
        results: list[str] = []
        labelled: dict[int, set[int]] = {}
        positions: list[int] = []
        waiting = 0
        for each in self.ids:
            found = group.connection.execute(
                "SELECT seq, event, after FROM rows WHERE model=? AND id=?",
                (model.id, each),
            ).fetchone()
            results.append("unknown" if found is None else "forgotten")
            if found is None:
                continue
            seq, event, position = found
            positions.append(position)
            if event is None:
                waiting += 1
            else:
                labelled.setdefault(event, set()).add(seq)
            group.connection.execute("DELETE FROM rows WHERE seq=?", (seq,))
        group.changes(model).waiting -= waiting
        group.forgetful.append(model)
        # The names of categories may have come from these rows only.
        for table in ("categories", "mixes"):
            group.connection.execute(
                f"DELETE FROM {table} WHERE model=?",  # noqa: S608 - our own words
                (model.id,),
            )
        if labelled:
            remove_labels(group.connection, model.id, labelled)
        # Challengers guess a row, and count it for the class mix, when it arrives.
        guessed = positions and not model.history.only_one
        if guessed:
            delete_snapshots(group.connection, model.id, min(positions))
        if labelled or guessed:
            group.replays[model.id] = model
        totals = {name: results.count(name) for name in ("forgotten", "unknown")}
        return {"results": results, **totals}
