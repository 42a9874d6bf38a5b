"""How each kind of learner is driven along a stream: predict rows, learn rows.

A driver knows one kind's methods and nothing of streams, and gets blocks that it has
prepared. Answers are numbers of labels; where it was asked for, each comes with the
probability that the learner gave to the true label, or to its answer.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias, final

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.checks.labels import LabelArray
from rpnb.evaluate.blocks import Block, Table, join, join_labels
from rpnb.evaluate.delays import Event, Events
from rpnb.evaluate.metrics import NO_ANSWER
from rpnb.labels import LabelIndex

_NOTHING = np.zeros(0, np.int64)

#: The probabilities that are asked for: none, of the true label, of the answer.
Chances: TypeAlias = Literal["none", "truth", "answer"]


class Predictions(NamedTuple):
    """What a learner says of rows."""

    numbers: IntArray
    """(n,) the number of each answer, −1 for none"""
    chance: FloatArray | None
    """(n,) the probabilities; None where they are not asked for"""


class Driver(ABC):
    """Abstract: one learner, and how to make it predict and learn.

    Parameters
    ----------
    model
        The learner. It is changed.
    numbering
        Of all labels.
    chances
        Which probabilities are asked for.
    """

    def __init__(self, model: Any, numbering: LabelIndex, chances: Chances) -> None:
        self.model = model
        self.numbering = numbering
        self.chances = chances

    @abstractmethod
    def predict(self, block: Block) -> Predictions:
        """Answer rows with the model as it stands. Labels serve for chances only."""

    @abstractmethod
    def learn(self, block: Block) -> None:
        """Learn rows, one after the other."""

    def predict_then_learn(self, block: Block) -> Predictions:
        """Predict each row, learn it, and go on to the next."""
        parts = []
        for row in range(block.start, block.stop):
            one = block.part(row, row + 1)
            parts.append(self.predict(one))
            self.learn(one)
        return join_answers(parts)

    def play(self, block: Block, events: Events) -> Predictions:
        """Predict and learn rows of a block, which events count from its first."""
        parts = [self.play_one(block.take(event.rows), event) for event in events]
        return join_answers([part for part in parts if part is not None])

    def play_one(self, block: Block, event: Event) -> Predictions | None:
        """Do with all rows of a block what an event says; None if that asks nothing."""
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
        self,
        model: Any,
        numbering: LabelIndex,
        chances: Chances,
        *,
        classes: LabelArray | None,
        batch_size: int,
    ) -> None:
        super().__init__(model, numbering, chances)
        self._classes = classes
        self._size = batch_size
        self._held: list[Block] = []
        self._learnt = 0
        self._begun = hasattr(model, "classes_")

    def predict(self, block: Block) -> Predictions:
        """Answer rows by `predict`; in silence before the first is learnt."""
        if not self._begun:
            return silence(block, self.chances)
        chance = None
        labels = np.asarray(self.model.predict(block.X))
        if self.chances != "none":
            asked = block.y if self.chances == "truth" else labels
            chance = chances_of(self.model, block.X, asked)
        return Predictions(self.numbering.of(labels), chance)

    def learn(self, block: Block) -> None:
        """Hold rows, and learn those of each full batch by `partial_fit`."""
        for begin, end in self._cuts(block):
            self._hold(block.part(begin, end))

    def predict_then_learn(self, block: Block) -> Predictions:
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

    def __init__(self, model: Any, numbering: LabelIndex, chances: Chances) -> None:
        super().__init__(model, numbering, chances)
        self._learnt = 0

    def prepare(self, block: Block) -> Block:
        """Return rows as dicts."""
        return replace(block, X=block.records)

    def predict(self, block: Block) -> Predictions:
        """Answer rows by `predict_one`."""
        rows, chance = block.X, None
        labels = [self.model.predict_one(x) for x in rows]
        if self.chances != "none":
            asked = block.y.tolist() if self.chances == "truth" else labels
            given = [self.model.predict_proba_one(x) for x in rows]
            pairs = zip(given, asked, strict=True)
            chance = np.array([p.get(y, 0.0) for p, y in pairs], dtype=np.float64)
        return Predictions(self.numbering.of(labels), chance)

    def learn(self, block: Block) -> None:
        """Learn rows by `learn_one`."""
        for x, y in zip(block.X, block.y.tolist(), strict=True):
            self.model.learn_one(x, y)
            self._learnt += 1

    def predict_then_learn(self, block: Block) -> Predictions:
        """Call `predict_one`, then `learn_one`, for each row."""
        if self.chances != "none":
            return super().predict_then_learn(block)
        labels = []
        for x, y in zip(block.X, block.y.tolist(), strict=True):
            labels.append(self.model.predict_one(x))
            self.model.learn_one(x, y)
        self._learnt += len(block)
        return Predictions(self.numbering.of(labels), None)

    def updates(self) -> int:
        """Return how many rows were learnt."""
        return self._learnt


def silence(block: Block, chances: Chances) -> Predictions:
    """Return no answer to any row."""
    none = np.full(len(block), NO_ANSWER)
    return Predictions(none, None if chances == "none" else np.zeros(len(block)))


def chances_of(model: Any, X: Table, labels: LabelArray) -> FloatArray:
    """Return the probability of a label for each row; 0 of a class not known yet."""
    P = model.predict_proba(X)
    index: dict[Hashable, int] = {c: m for m, c in enumerate(model.classes_.tolist())}
    known = [index.get(label, -1) for label in labels.tolist()]
    place = np.array(known, dtype=np.int64)
    return np.where(place >= 0, P[np.arange(len(place)), place], 0.0)


def join_answers(parts: Sequence[Predictions]) -> Predictions:
    """Return answers of several calls as one."""
    if len(parts) == 1:
        return parts[0]
    numbers = np.concatenate([_NOTHING, *(part.numbers for part in parts)])
    if not parts or parts[0].chance is None:
        return Predictions(numbers, None)
    return Predictions(numbers, np.concatenate([part.chance for part in parts]))
