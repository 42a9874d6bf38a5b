"""How the learners of this package are driven along a stream.

Rows are handed over with the numbers of their classes wherever the learner knows all of
them, so that labels are looked up once for all learners.
"""

from bisect import bisect_right
from dataclasses import replace
from typing import Any, final

import numpy as np

from rpnb.core.kernels.arrays import IntArray
from rpnb.estimators.checks.labels import LabelArray, decode
from rpnb.estimators.stream.checked_rows import CheckedRows
from rpnb.estimators.stream.classifier import StreamClassifier
from rpnb.evaluate.blocks import Block
from rpnb.evaluate.delays import Events
from rpnb.evaluate.drivers.driver import (
    Chances,
    Driver,
    Predictions,
    chances_of,
    join_answers,
    silence,
)
from rpnb.evaluate.drivers.stepping import chances_too
from rpnb.evaluate.metrics import NO_ANSWER
from rpnb.labels import LabelIndex

# Edges of so many runs of events, on which checking their rows once is worth while.
_MANY = 4
# The number of a class that is neither the truth nor an answer of any row so far.
_UNMET = -2


@final
class NativeDriver(Driver):
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
        numbering: LabelIndex,
        chances: Chances,
        *,
        classes: LabelArray | None,
        late: bool,
        blind: bool = False,
    ) -> None:
        super().__init__(model, numbering, chances)
        self._classes = classes
        self._late = late
        self._blind = blind
        self._before = model.n_updates_ if self._begun else 0
        # The learner's numbers of the numbered labels, and the other way round, for
        # the classes that it had then and as many labels as there were.
        self._to_own = self._from_own = np.zeros(0, np.int64)
        self._all_met = False
        self._known: LabelArray | None = None

    @property
    def _begun(self) -> bool:
        return bool(self.model.__sklearn_is_fitted__())

    def prepare(self, block: Block) -> Block:
        """Return rows as a table, without features for the blind."""
        if self._blind:
            return replace(block, X=np.zeros((len(block), 1)), checked=True)
        return block.tabled

    def predict(self, block: Block) -> Predictions:
        """Answer rows by `predict`; in silence before the first is learnt."""
        if not self._begun:
            return silence(block, self.chances)
        labels, chance = self.model.predict(block.X), None
        if self.chances != "none":
            asked = block.y if self.chances == "truth" else labels
            chance = chances_of(self.model, block.X, asked)
        return Predictions(self.numbering.of(labels), chance)

    def learn(self, block: Block) -> None:
        """Learn rows by `partial_fit`."""
        self.model.partial_fit(block.X, block.y, self._declared())

    def predict_then_learn(self, block: Block) -> Predictions:
        """Predict, then learn, a whole block in one call."""
        if not self._begun and (self._late or self.chances == "truth"):
            first = block.part(block.start, block.start + 1)
            silent = silence(first, self.chances)
            self.learn(first)
            if len(block) == 1:
                return silent
            rest = block.part(block.start + 1, block.stop)
            return join_answers([silent, self.predict_then_learn(rest)])
        if self.chances != "none":
            labels, chance = chances_too(
                self.model, block.X, block.y, self._declared(), self.chances
            )
            return Predictions(self.numbering.of(labels), chance)
        return Predictions(self._answered(block), None)

    def _answered(self, block: Block) -> IntArray:
        own = None
        if self._begun and self._classes is None:
            own = self._own_numbers(block)
        if own is None or own.min() < 0:
            labels = self.model.predict_then_learn(block.X, block.y, self._declared())
            return self.numbering.of(labels)
        rows = CheckedRows(self.model, block.X, checked=block.checked)
        return self._translated(rows.predict_then_learn(own))

    def play(self, block: Block, events: Events) -> Predictions:
        """Predict and learn rows of a block, in one call where they alternate."""
        edges = events.edges()
        if len(edges) < _MANY or self.chances != "none":
            return super().play(block, events)
        parts, done = [], 0
        while done < len(events):
            if self._begun and self._classes is None:
                part = self._play_known(block, events[done:])
                parts.append(Predictions(part[1], None))
                done += part[0]
            if done < len(events):
                # What brings the first class, or a new one, goes the long way.
                end = edges[bisect_right(edges, done)]
                for event in events[done:end]:
                    answers = self.play_one(block.take(event.rows), event)
                    if answers is not None:
                        parts.append(answers)
                done = end
        return join_answers(parts)

    def _play_known(self, block: Block, events: Events) -> tuple[int, IntArray]:
        """Play events until one brings a new class; return how many, and answers."""
        own = self._own_numbers(block)[events.rows]
        new = np.flatnonzero(events.learn & (own < 0))
        n = int(new[0]) if new.shape[0] > 0 else len(events)
        if n == 0:
            return 0, own[:0]
        rows = CheckedRows(self.model, block.X, checked=block.checked)
        numbers = np.where(events.learn, own, -1)[:n]
        answers = rows.play(events.rows[:n], numbers)[events.predict[:n]]
        return n, self._translated(answers)

    def _own_numbers(self, block: Block) -> IntArray:
        """Return the learner's numbers of a block's labels, −1 for those it has not."""
        self._look_up()
        return self._to_own[block.numbers]

    def _look_up(self) -> None:
        classes = self.model.classes_
        if classes is self._known and len(self.numbering) == self._to_own.shape[0]:
            return
        labels = self.numbering.labels
        index = {label: m for m, label in enumerate(classes.tolist())}
        met = [self.numbering.find(label) for label in index]
        self._to_own = np.array([index.get(label, -1) for label in labels], np.int64)
        # No answer, −1, is looked up in the last place.
        there = [_UNMET if number is None else number for number in met]
        self._from_own = np.array([*there, NO_ANSWER], np.int64)
        self._all_met = _UNMET not in there
        self._known = classes

    def _translated(self, own: IntArray) -> IntArray:
        """Return the numbers of answers that are the learner's own numbers."""
        numbers = self._from_own[own]
        if not self._all_met and _UNMET in numbers:
            return self.numbering.of(decode(own, self.model.classes_))
        return numbers

    def _declared(self) -> LabelArray | None:
        classes, self._classes = self._classes, None
        return classes

    def updates(self) -> int:
        """Return how many rows have changed the model."""
        return int(self.model.n_updates_) - self._before if self._begun else 0
