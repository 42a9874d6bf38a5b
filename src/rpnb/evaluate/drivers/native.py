"""How the learners of this package are driven along a stream.

Rows are passed with the numbers of their classes wherever the learner knows all of
them, so that labels are looked up once for all learners.
"""

from bisect import bisect_right
from dataclasses import replace
from typing import Any, final

import numpy as np

from rpnb.core.kernels.arrays import IntArray
from rpnb.estimators.checks.labels import LabelArray, decode
from rpnb.estimators.stream.classifier import StreamClassifier
from rpnb.estimators.stream.validated_rows import ValidatedRows
from rpnb.estimators.trust.sets import past_sets
from rpnb.evaluate.blocks import Block
from rpnb.evaluate.delays import Events
from rpnb.evaluate.drivers.driver import (
    Driver,
    Predictions,
    Probabilities,
    join_predictions,
    no_predictions,
    predict_labels,
    predictions_with,
)
from rpnb.labels import NO_LABEL, LabelIndex

# From so many runs of equal events on, checking their rows once saves time.
_MANY_RUNS = 4
# The number of a class that is neither true nor predicted in any row so far.
_NOT_MET = -2
#: Coverage of the prediction sets that the metric "coverage" looks at.
COVERAGE = 0.9


@final
class NativeDriver(Driver):
    """Drives the learners of this package, whose predictions depend on no chunking.

    `classes` are declared with the first rows learned. Where labels may come `late`,
    there is no prediction before the first is learned, although classes are declared:
    whether a row and an earlier label happen to come in one call must not make a
    difference. With `labels_only` the learner gets no features.
    """

    def __init__(
        self,
        model: StreamClassifier[Any],
        labels: LabelIndex,
        probabilities: Probabilities = "none",
        *,
        classes: LabelArray | None = None,
        late: bool = False,
        labels_only: bool = False,
    ) -> None:
        super().__init__(model, labels, probabilities)
        self._classes = classes
        self._late = late
        self._labels_only = labels_only
        self._before = model.n_updates_ if self._fitted else 0
        # The model's numbers of the labels in the index, and the other way round, for
        # the classes that it had then and as many labels as there were.
        self._to_model = self._from_model = np.zeros(0, np.int64)
        self._all_met = False
        self._known: LabelArray | None = None

    @property
    def _fitted(self) -> bool:
        return bool(self.model.__sklearn_is_fitted__())

    def prepare(self, block: Block) -> Block:
        """Return rows as a table, without features where labels are enough."""
        if self._labels_only:
            return replace(block, X=np.zeros((len(block), 1)), checked=True)
        return block.tabled

    def predict(self, block: Block) -> Predictions:
        """Predict rows by `predict`; before the first is learned there is none."""
        if not self._fitted:
            return no_predictions(self, block)
        return predict_labels(self, block)

    def learn(self, block: Block) -> None:
        """Learn rows by `partial_fit`."""
        self.model.partial_fit(block.X, block.y, self._declared())

    def predict_then_learn(self, block: Block) -> Predictions:
        """Predict, then learn, a whole block in one call."""
        unknown = self.probabilities == "truth" and self._classes is None
        if not self._fitted and (self._late or unknown):
            # Mini-batches stay as they are: none of the first has a prediction.
            size = getattr(self.model, "batch_size", 1) or len(block)
            stop = min(block.start + int(size), block.stop)
            first = block.part(block.start, stop)
            none = no_predictions(self, first)
            self.learn(first)
            if stop == block.stop:
                return none
            rest = block.part(stop, block.stop)
            return join_predictions([none, self.predict_then_learn(rest)])
        if self.probabilities != "none":
            return self._predict_proba_then_learn(block)
        numbers = None
        if self._fitted and self._classes is None:
            numbers = self._model_numbers(block)
        if numbers is None or numbers.min() < 0:
            labels = self.model.predict_then_learn(block.X, block.y, self._declared())
            return Predictions(self.labels.of(labels), None)
        rows = ValidatedRows(self.model, block.X, checked=block.checked)
        return Predictions(self._numbers_of(rows.predict_then_learn(numbers)), None)

    def _predict_proba_then_learn(self, block: Block) -> Predictions:
        """Predict, then learn, a whole block; return the probabilities before."""
        model, fitted = self.model, self._fitted
        sets, declared = None, self._declared()
        labels, scored = model._scored_then_learned(block.X, block.y, declared)
        P = scored.probabilities
        if scored.thresholds is not None:
            sets = past_sets(P, scored.thresholds, COVERAGE)
        found = predictions_with(self, block, labels, P, sets)
        if not fitted and self.probabilities == "prediction":
            assert found.probability is not None  # noqa: S101 - asked for
            found.probability[0] = np.nan
        return found

    def process(self, block: Block, events: Events) -> Predictions:
        """Predict and learn rows of a block, in one call where they alternate."""
        edges = events.edges()
        if len(edges) < _MANY_RUNS or self.probabilities != "none":
            return super().process(block, events)
        parts, done = [], 0
        while done < len(events):
            if self._fitted and self._classes is None:
                n, numbers = self._process_known(block, events[done:])
                parts.append(Predictions(numbers, None))
                done += n
            if done < len(events):
                # Events with the first class, or a new one, are processed run by run.
                end = edges[bisect_right(edges, done)]
                for event in events[done:end]:
                    part = self.process_one(block.take(event.rows), event)
                    if part is not None:
                        parts.append(part)
                done = end
        return join_predictions(parts)

    def _process_known(self, block: Block, events: Events) -> tuple[int, IntArray]:
        """Process events up to the first of a new class; return how many, and results.

        The results are the numbers of the predicted labels.
        """
        numbers = self._model_numbers(block)[events.rows]
        new = np.flatnonzero(events.learn & (numbers < 0))
        n = int(new[0]) if new.shape[0] > 0 else len(events)
        if n == 0:
            return 0, numbers[:0]
        rows = ValidatedRows(self.model, block.X, checked=block.checked)
        learned = np.where(events.learn, numbers, -1)[:n]
        predicted = rows.predict_and_learn(events.rows[:n], learned)[events.predict[:n]]
        return n, self._numbers_of(predicted)

    def _model_numbers(self, block: Block) -> IntArray:
        """Return the model's numbers of a block's labels, −1 for unknown ones."""
        self._update_tables()
        return self._to_model[block.numbers]

    def _update_tables(self) -> None:
        """Translate between the model's numbers and the index, if either has grown."""
        classes = self.model.classes_
        if classes is self._known and len(self.labels) == self._to_model.shape[0]:
            return
        by_model = LabelIndex(classes.tolist())
        self._to_model = by_model.find_all(self.labels.labels)
        found = self.labels.find_all(by_model.labels)
        # No prediction, −1, is looked up in the last place.
        self._from_model = np.append(np.where(found < 0, _NOT_MET, found), NO_LABEL)
        self._all_met = bool((found >= 0).all())
        self._known = classes

    def _numbers_of(self, predicted: IntArray) -> IntArray:
        """Return the labels' numbers of predictions in the model's numbers."""
        numbers = self._from_model[predicted]
        if not self._all_met and _NOT_MET in numbers:
            return self.labels.of(decode(predicted, self.model.classes_))
        return numbers

    def _declared(self) -> LabelArray | None:
        """Return the classes to declare: once."""
        classes, self._classes = self._classes, None
        return classes

    def updates(self) -> int:
        """Return how many rows have changed the model."""
        return int(self.model.n_updates_) - self._before if self._fitted else 0
