"""Drivers of the learners of this package.

Labels are passed and predicted as indices into a table, so none is looked up per row.
"""

from bisect import bisect_right
from dataclasses import replace
from typing import final

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.protocol import (
    predicted_then_learned,
    scored_then_learned,
    set_thresholds,
    sets_then_learned,
)
from rpnb.estimators.stream.classifier import StreamClassifier
from rpnb.estimators.stream.validated_rows import ValidatedRows
from rpnb.evaluate.delays import Events
from rpnb.evaluate.drivers.driver import (
    Predictions,
    Probabilities,
    TableDriver,
    join_predictions,
    no_predictions,
    places_of,
    predict_labels,
    predicted_table,
    predictions_with,
)
from rpnb.evaluate.stream_blocks import Block
from rpnb.labels import CodedLabels, LabelIndex

# From this many runs of equal events on, checking their rows once saves time.
_MANY_RUNS = 4
#: Coverage of the prediction sets that the metric "coverage" looks at.
COVERAGE = 0.9


@final
class NativeDriver(TableDriver):
    """Drives the learners of this package, whose results do not depend on the chunking.

    `classes` are declared with the first rows learned. If labels may come `late`, there
    is no prediction before the first label is learned, even if classes are declared:
    otherwise it would matter whether a row and an earlier label happen to come in one
    call. With `labels_only` the learner gets no features.
    """

    def __init__(
        self,
        model: StreamClassifier,
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
        # Thresholds of prediction sets: the evaluation moves its own, not the model's.
        self._thresholds: FloatArray | None = None

    @property
    def _fitted(self) -> bool:
        return bool(self.model.__sklearn_is_fitted__())

    def prepare(self, block: Block) -> Block:
        """Return rows as a table, without features if the learner needs only labels."""
        if self._labels_only:
            return replace(block, X=np.zeros((len(block), 1)), checked=True)
        return block.tabled

    def predict(self, block: Block) -> Predictions:
        """Predict rows by `predict`; before the first is learned there is none."""
        if not self._fitted:
            return no_predictions(self, block)
        return predict_labels(self, block)

    def predict_table(self, block: Block) -> tuple[LabelArray, FloatArray] | None:
        """Predict rows by `predict` and `predict_proba`."""
        return predicted_table(self.model, block) if self._fitted else None

    def learn(self, block: Block) -> None:
        """Learn rows by `partial_fit`."""
        self.model.partial_fit(block.X, block.labels, self._declared())

    def predict_then_learn(self, block: Block) -> Predictions:
        """Predict, then learn, a whole block in one call."""
        unknown = self.probabilities == "truth" and self._classes is None
        if not self._fitted and (self._late or unknown):
            # A mini-batch is not split, so no row of the first one has a prediction.
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
        labels = predicted_then_learned(
            *(self.model, block.X, block.labels, self._declared()),
            checked=block.checked,
        )
        return Predictions(self.labels.of(labels), None)

    def _predict_proba_then_learn(self, block: Block) -> Predictions:
        """Predict, then learn, a whole block; return the probabilities before."""
        model, fitted = self.model, self._fitted
        rows = (model, block.X, block.labels, self._declared())
        if self._thresholds is None:
            self._thresholds = set_thresholds(model)
        sets = None
        if self._thresholds is None:
            labels, P = scored_then_learned(*rows)
        else:
            labels, P, sets = sets_then_learned(*rows, COVERAGE, self._thresholds)
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
        numbers = places_of(self)[block.numbers][events.rows]
        new = np.flatnonzero(events.learn & (numbers < 0))
        n = int(new[0]) if new.shape[0] > 0 else len(events)
        if n == 0:
            return 0, numbers[:0]
        rows = ValidatedRows(self.model, block.X, checked=block.checked)
        learned = np.where(events.learn, numbers, -1)[:n]
        predicted = rows.predict_and_learn(events.rows[:n], learned)[events.predict[:n]]
        return n, self.labels.of(CodedLabels(predicted, self.model.classes_))

    def _declared(self) -> LabelArray | None:
        """Return the classes to declare, on the first call only."""
        classes, self._classes = self._classes, None
        return classes

    def updates(self) -> int:
        """Return how many rows have changed the model."""
        return int(self.model.n_updates_) - self._before if self._fitted else 0
