"""How each kind of learner is driven along a stream: predict rows, learn rows.

A driver knows one kind's methods and nothing of streams, and gets blocks that it has
prepared. Answers are lists of labels, None for no answer; where it was asked for, each
comes with the probability that the learner gave to the true label.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, final

import numpy as np

from rpnb.core.arrays import FloatArray
from rpnb.estimators.checked_rows import CheckedRows
from rpnb.estimators.labels import LabelArray
from rpnb.estimators.streaming import StreamClassifier
from rpnb.evaluate.delays import Event, Events
from rpnb.evaluate.feed import Block, Table, join, join_labels

# From so many events on, checking their rows once is worth while.
_MANY = 4


class Answers(NamedTuple):
    """What a learner says of rows: a label each, or None."""

    labels: list[Any]
    chance: FloatArray | None
    """The probability of each true label; None where it is not asked for."""


class Driver(ABC):
    """Abstract: one learner, and how to make it predict and learn.

    Parameters
    ----------
    model
        The learner. It is changed.
    chances
        Whether the probabilities of the true labels are asked for.
    """

    def __init__(self, model: Any, *, chances: bool) -> None:
        self.model = model
        self.chances = chances

    @abstractmethod
    def predict(self, block: Block) -> Answers:
        """Answer rows with the model as it stands. Labels serve for chances only."""

    @abstractmethod
    def learn(self, block: Block) -> None:
        """Learn rows, one after the other."""

    def predict_then_learn(self, block: Block) -> Answers:
        """Predict each row, learn it, and go on to the next."""
        parts = []
        for row in range(block.start, block.stop):
            one = block.part(row, row + 1)
            parts.append(self.predict(one))
            self.learn(one)
        return join_answers(parts)

    def play(self, block: Block, events: Events) -> Answers:
        """Predict and learn rows of a block, which events count from its first."""
        parts = [self._play_one(block.take(event.rows), event) for event in events]
        return join_answers([part for part in parts if part is not None])

    def _play_one(self, block: Block, event: Event) -> Answers | None:
        if not event.predict:
            self.learn(block)
            return None
        if event.learn:
            return self.predict_then_learn(block)
        return self.predict(block)

    def finish(self) -> None:  # noqa: B027 - most hold nothing back
        """Learn what is held back at the end of the stream."""

    @abstractmethod
    def updates(self) -> int:
        """Return how many rows have changed the model since the driver began."""

    def prepare(self, block: Block) -> Block:
        """Bring rows into the form that the learner wants; done outside its time."""
        return block.tabled


@final
class OwnDriver(Driver):
    """Drives the learners of this package, whose answers no cut changes.

    Parameters
    ----------
    classes
        Classes to declare with the first rows learnt.
    late
        Whether labels may come late. Then there is no answer before the first label is
        learnt, although classes are declared: rows and labels that happen to meet must
        not make a difference.
    blind
        Whether the learner looks at labels only, and is shown no features.
    """

    def __init__(
        self,
        model: StreamClassifier[Any],
        *,
        chances: bool,
        classes: LabelArray | None,
        late: bool,
        blind: bool = False,
    ) -> None:
        super().__init__(model, chances=chances)
        self._classes = classes
        self._late = late
        self._blind = blind
        self._before = model.n_updates_ if self._begun else 0

    @property
    def _begun(self) -> bool:
        return bool(self.model.__sklearn_is_fitted__())

    def prepare(self, block: Block) -> Block:
        """Return rows as a table, without features for the blind."""
        if self._blind:
            return Block(block.start, np.zeros((len(block), 1)), block.y)
        return block.tabled

    def predict(self, block: Block) -> Answers:
        """Answer rows by `predict`; in silence before the first is learnt."""
        if not self._begun:
            return _silence(block, self.chances)
        X, chance = block.X, None
        if self.chances:
            chance = _chances(self.model, X, block.y)
        return Answers(self.model.predict(X).tolist(), chance)

    def learn(self, block: Block) -> None:
        """Learn rows by `partial_fit`."""
        self.model.partial_fit(block.X, block.y, self._declared())

    def predict_then_learn(self, block: Block) -> Answers:
        """Predict, then learn, a whole block in one call."""
        if self.chances or (self._late and not self._begun):
            # Row by row at the start only, or for the sake of probabilities.
            end = block.stop if self.chances else block.start + 1
            parts = [super().predict_then_learn(block.part(block.start, end))]
            if end < block.stop:
                parts.append(self.predict_then_learn(block.part(end, block.stop)))
            return join_answers(parts)
        labels = self.model.predict_then_learn(block.X, block.y, self._declared())
        return Answers(labels.tolist(), None)

    def play(self, block: Block, events: Events) -> Answers:
        """Predict and learn rows of a block, checked once where they alternate."""
        edges = events.edges()
        if len(edges) < _MANY or self.chances:
            return super().play(block, events)
        parts, done = [], 0
        while done < len(events):
            if self._begun and self._classes is None:
                left = events[done:]
                checked = CheckedRows(self.model, block.X, block.y)
                taken, labels = checked.play(left.rows, left.predict, left.learn)
                parts.append(Answers(labels, None))
                done += taken
            if done < len(events):
                # What brings the first class, or a new one, goes the long way.
                end = edges[bisect_right(edges, done)]
                for event in events[done:end]:
                    part = self._play_one(block.take(event.rows), event)
                    parts.append(part or Answers([], None))
                done = end
        return join_answers(parts)

    def _declared(self) -> LabelArray | None:
        classes, self._classes = self._classes, None
        return classes

    def updates(self) -> int:
        """Return how many rows have changed the model."""
        return int(self.model.n_updates_) - self._before if self._begun else 0


@final
class BatchDriver(Driver):
    """Drives what has `predict` and `partial_fit`: scikit-learn's, and mini-batches.

    Labelled rows are held until there are `batch_size` of them, and learnt at once.

    Parameters
    ----------
    classes
        All classes, for the first call of `partial_fit`; None for learners that do not
        need them.
    batch_size
        Rows learnt in one call.
    """

    def __init__(
        self, model: Any, *, chances: bool, classes: LabelArray | None, batch_size: int
    ) -> None:
        super().__init__(model, chances=chances)
        self._classes = classes
        self._size = batch_size
        self._held: list[Block] = []
        self._learnt = 0
        self._begun = hasattr(model, "classes_")

    def predict(self, block: Block) -> Answers:
        """Answer rows by `predict`; in silence before the first is learnt."""
        if not self._begun:
            return _silence(block, self.chances)
        X, chance = block.X, None
        if self.chances:
            chance = _chances(self.model, X, block.y)
        return Answers(np.asarray(self.model.predict(X)).tolist(), chance)

    def learn(self, block: Block) -> None:
        """Hold rows, and learn those of each full batch by `partial_fit`."""
        for begin, end in self._cuts(block):
            self._hold(block.part(begin, end))

    def predict_then_learn(self, block: Block) -> Answers:
        """Predict up to a batch's end, learn it, and go on."""
        parts = []
        for begin, end in self._cuts(block):
            part = block.part(begin, end)
            parts.append(self.predict(part))
            self._hold(part)
        return join_answers(parts)

    def _cuts(self, block: Block) -> list[tuple[int, int]]:
        """Return the parts of a block that end where a batch is full."""
        first = self._size - sum(map(len, self._held))
        edges = list(range(block.start + first, block.stop, self._size))
        edges = [block.start, *edges, block.stop]
        return list(pairwise(edges))

    def _hold(self, block: Block) -> None:
        self._held.append(block)
        if sum(map(len, self._held)) >= self._size:
            self.finish()

    def finish(self) -> None:
        """Learn the last batch, which may be short."""
        if not self._held:
            return
        X = join([block.X for block in self._held])
        y = join_labels([block.y for block in self._held])
        if self._begun or self._classes is None:
            self.model.partial_fit(X, y)
        else:
            self.model.partial_fit(X, y, classes=self._classes)
        self._begun = True
        self._learnt += len(y)
        self._held = []

    def updates(self) -> int:
        """Return how many rows were learnt."""
        return self._learnt


@final
class RiverDriver(Driver):
    """Drives River's classifiers, row by row."""

    def __init__(self, model: Any, *, chances: bool) -> None:
        super().__init__(model, chances=chances)
        self._learnt = 0

    def prepare(self, block: Block) -> Block:
        """Return rows as dicts."""
        return Block(block.start, block.records, block.y)

    def predict(self, block: Block) -> Answers:
        """Answer rows by `predict_one`."""
        rows, chance = block.X, None
        if self.chances:
            given = [self.model.predict_proba_one(x) for x in rows]
            pairs = zip(given, block.y.tolist(), strict=True)
            chance = np.array([p.get(y, 0.0) for p, y in pairs], dtype=np.float64)
        return Answers([self.model.predict_one(x) for x in rows], chance)

    def learn(self, block: Block) -> None:
        """Learn rows by `learn_one`."""
        for x, y in zip(block.X, block.y.tolist(), strict=True):
            self.model.learn_one(x, y)
            self._learnt += 1

    def predict_then_learn(self, block: Block) -> Answers:
        """Call `predict_one`, then `learn_one`, for each row."""
        if self.chances:
            return super().predict_then_learn(block)
        labels = []
        for x, y in zip(block.X, block.y.tolist(), strict=True):
            labels.append(self.model.predict_one(x))
            self.model.learn_one(x, y)
        self._learnt += len(block)
        return Answers(labels, None)

    def updates(self) -> int:
        """Return how many rows were learnt."""
        return self._learnt


def _silence(block: Block, chances: bool) -> Answers:
    """Return no answer to any row."""
    return Answers([None] * len(block), np.zeros(len(block)) if chances else None)


def _chances(model: Any, X: Table, y: LabelArray) -> FloatArray:
    """Return the probability of each row's true label; 0 of a class not known yet."""
    P = model.predict_proba(X)
    index: dict[Hashable, int] = {c: m for m, c in enumerate(model.classes_.tolist())}
    known = [index.get(label, -1) for label in y.tolist()]
    place = np.array(known, dtype=np.int64)
    return np.where(place >= 0, P[np.arange(len(place)), place], 0.0)


def join_answers(parts: Sequence[Answers]) -> Answers:
    """Return answers of several calls as one."""
    labels = [label for part in parts for label in part.labels]
    if not parts or parts[0].chance is None:
        return Answers(labels, None)
    return Answers(labels, np.concatenate([part.chance for part in parts]))
