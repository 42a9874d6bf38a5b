"""Commands about rows: learn them, let them wait, label them, forget them."""

import json
import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from itertools import islice
from typing import Any, ClassVar, final

from rpnb.core.kernels.arrays import FloatArray
from rpnb.serve.commands.command import Command, digest_of
from rpnb.serve.commands.group import Group
from rpnb.serve.commands.questions import Budget, ask_for_rows
from rpnb.serve.commands.tables import StoredRow
from rpnb.serve.events import LabelledEvent
from rpnb.serve.http.tables import Label
from rpnb.serve.limits import ApiError, invalid, unavailable
from rpnb.serve.log import pack_row, pack_rows, pack_scores, remove_labels
from rpnb.serve.models import PredictedLabels


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
        return digest_of(
            "observe" if self.observe else "learn", self.X.tobytes(), self.labels
        )

    def write(self, group: Group) -> dict[str, Any] | None:
        """Append the event."""
        model = group.model(self.name, self.number)
        self.number = model.id
        group.check_new_labels(model, self.labels, range(len(self.labels)))
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
    """Keep rows that were predicted until their labels come."""

    X: FloatArray
    ids: list[str] | None
    probabilities: bool
    """whether to answer with the probabilities of all classes"""
    found: PredictedLabels | None = None
    """what was predicted; left to the writer for few rows"""
    budget: Budget | None = None
    """how many of the rows are asked for, if any"""

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.X.shape[0]

    @property
    def rows_to_read(self) -> Sequence[str]:
        """Ids that the client gave: they may be there already."""
        return self.ids or ()

    @property
    def digest(self) -> bytes:
        """A digest of rows and ids; what was predicted is the answer."""
        asked = () if self.budget is None else (list(astuple(self.budget)),)
        return digest_of("remember", self.X.tobytes(), self.ids, *asked)

    def write(self, group: Group) -> dict[str, Any]:
        """Insert the rows; those that are there already keep their predictions."""
        # Rows are no events: they may wait while a model accepts no labels.
        model = group.model(self.name, self.number, changing=False)
        if not model.predicts:
            raise unavailable(model.broken or "the model has no state")
        found = self.found
        if found is None:
            raise unavailable("the rows could not be predicted")
        labels, confidence = list(found.labels), list(found.confidence)
        if self.ids is not None and len(set(self.ids)) < len(self.ids):
            raise invalid("two rows have the same id")
        ids = self.ids or list(islice(group.row_ids, len(labels)))
        now = time.time()
        new = []
        for i, (each, label) in enumerate(zip(ids, labels, strict=True)):
            x = pack_row(self.X[i])
            if self.ids is not None:
                before = group.tables.row(model.id, each)
                if (model.id, each) in group.tables.damaged:
                    raise ApiError(
                        409, "damaged", f"row {i} is damaged in the log", row=i
                    )
                if before is not None:
                    if before.x != x:
                        raise ApiError(
                            *(409, "id_taken"),
                            f"the id of row {i} belongs to another row",
                            row=i,
                        )
                    labels[i] = json.loads(before.predicted)
                    confidence[i] = before.confidence
                    continue
            new.append((model.id, each, now, x, json.dumps(label), confidence[i]))
        for row in new:
            group.tables.add_row(*row, found.contender)
        if found.scores is not None:
            kept = dict(zip(ids, found.scores, strict=True))
            for row in new:
                group.scores[model.id, row[1]] = pack_scores(kept[row[1]])
        asked: dict[str, Any] = {}
        if self.budget is not None:
            names = {row[1] for row in new}
            there = [each in names for each in ids]
            asked = ask_for_rows(group, model, ids, confidence, there, self.budget)
        group.changes(model).waiting += len(new)
        answer: dict[str, Any] = {
            "ids": ids,
            "labels": labels,
            "confidence": confidence,
            **asked,
        }
        if self.probabilities and found.probabilities is not None:
            answer |= {"probabilities": found.probabilities, "classes": found.classes}
        return answer


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
    def rows_to_read(self) -> Sequence[str]:
        """The rows that are labelled."""
        return self.ids

    @property
    def digest(self) -> bytes:
        """A digest of ids and labels."""
        return digest_of("labels", self.ids, self.labels)

    def write(self, group: Group) -> dict[str, Any]:
        """Append an event of those rows that were waiting."""
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
    """Rows that are removed from the log, and from the state, as if never seen.

    The state becomes that of a replay of the log without them, to the bit, whatever the
    learner. Snapshots that include them are deleted.
    """

    ids: list[str]
    alone: ClassVar[bool] = True
    replays: ClassVar[bool] = True

    @property
    def digest(self) -> bytes:
        """A digest of the ids."""
        return digest_of("forget", self.ids)

    def write(self, group: Group) -> dict[str, Any]:
        """Delete the rows; the log is replayed once that is on the disk."""
        model = group.model(self.name, self.number)
        self.number = model.id
        group.flush()
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
        group.forgetful.append(model)
        if labelled:
            remove_labels(group.connection, model.id, labelled)
            group.replays[model.id] = model
        totals = {name: results.count(name) for name in ("forgotten", "unknown")}
        return {"results": results, **totals}
