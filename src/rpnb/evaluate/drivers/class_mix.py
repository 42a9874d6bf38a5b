"""Driver of a learner whose probabilities are corrected for a changing class mix."""

from typing import final

import numpy as np

from rpnb.evaluate.drivers.driver import (
    Driver,
    Predictions,
    TableDriver,
    no_predictions,
    predictions_with,
)
from rpnb.evaluate.stream_blocks import Block
from rpnb.evaluate.waiting.class_mix import ClassMix


@final
class ClassMixDriver(Driver):
    """Drives a learner through another driver, and corrects its probabilities.

    The predicted class is the most probable one after the correction. Where that
    changes no probability, it is the class that the learner predicts.
    """

    def __init__(self, inner: TableDriver) -> None:
        super().__init__(inner.model, inner.labels, inner.probabilities)
        self._inner = inner
        self._mix = ClassMix()

    def prepare(self, block: Block) -> Block:
        """Convert rows to the form that the learner takes."""
        return self._inner.prepare(block)

    def predict(self, block: Block) -> Predictions:
        """Predict rows, and correct their probabilities."""
        found = self._inner.predict_table(block)
        if found is None:
            return no_predictions(self, block)
        labels, given = found
        P = given.copy()
        # Without probabilities there is nothing to correct.
        known = np.flatnonzero(np.isfinite(P).all(axis=1) & (P.sum(axis=1) > 0.0))
        classes = self.model.classes_
        P[known], numbers = self._mix.correct(classes.tolist(), P[known])
        for row, number in zip(block.rows[known].tolist(), numbers, strict=True):
            self._mix.name_row(row, number)
        changed = known[(P[known] != given[known]).any(axis=1)]
        labels = np.array(labels, classes.dtype)
        labels[changed] = classes[P[changed].argmax(axis=1)]
        return predictions_with(self, block, labels, P)

    def learn(self, block: Block) -> None:
        """Learn rows, and add their labels to the correction."""
        self._mix.add_labelled(block.rows.tolist(), block.y.tolist())
        self._inner.learn(block)

    def finish(self) -> None:
        """Learn the rows that are held back at the end of the stream."""
        self._inner.finish()

    def updates(self) -> int:
        """Return how many rows have changed the model."""
        return self._inner.updates()
