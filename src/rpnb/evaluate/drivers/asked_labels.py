"""Driver of a learner that gets only the labels that it asks for."""

from typing import final

import numpy as np

from rpnb.core.asking import Asking, draw_rows
from rpnb.core.kernels.arrays import FloatArray
from rpnb.estimators.stream.asking import RANDOM_SHARE
from rpnb.evaluate.drivers.driver import Driver, Predictions
from rpnb.evaluate.estimates import ErrorEstimate, WeightedMistakes
from rpnb.evaluate.stream_blocks import Block

_SEED = 0


@final
class AskingDriver(Driver):
    """Drives a learner through another driver, with only the labels it asks for.

    `ask` chooses the rows, within the budget; if `inner` has no probabilities, rows are
    chosen at random. `shown` is whether the caller needs the probabilities.
    """

    def __init__(self, inner: Driver, budget: float, *, shown: bool) -> None:
        super().__init__(inner.model, inner.labels, inner.probabilities)
        self._inner = inner
        self._budget = budget
        self._shown = shown
        self._state = Asking()
        self._mistakes = WeightedMistakes()
        # Weight and prediction of rows whose labels were asked for and have not
        # arrived.
        self._asked: dict[int, tuple[float, int]] = {}

    def prepare(self, block: Block) -> Block:
        """Convert rows to the form that the learner takes."""
        return self._inner.prepare(block)

    def predict(self, block: Block) -> Predictions:
        """Predict rows, and choose those whose labels are asked for."""
        found = self._inner.predict(block)
        share = 1.0 if self.probabilities == "none" else RANDOM_SHARE
        doubt = self._doubts(found)
        asked, p = draw_rows(self._state, doubt, self._budget, share, _SEED)
        rows, numbers = block.rows.tolist(), found.numbers.tolist()
        for i in np.flatnonzero(asked).tolist():
            self._asked[rows[i]] = (float(1.0 / p[i]), numbers[i])
        return found if self._shown else Predictions(found.numbers, None)

    def _doubts(self, found: Predictions) -> FloatArray:
        """Return 1 minus the probability of each prediction; 1 without one."""
        confidence = found.probability
        if found.details is not None:
            confidence = found.details.confidence
        if confidence is None:
            return np.ones(found.numbers.shape[0])
        known = np.isfinite(confidence) & (found.numbers >= 0)
        return np.where(known, np.clip(1.0 - confidence, 0.0, 1.0), 1.0)

    def learn(self, block: Block) -> None:
        """Learn the rows that were asked for, and count how many were wrong."""
        found = [self._asked.pop(row, None) for row in block.rows.tolist()]
        there = [i for i, each in enumerate(found) if each is not None]
        if not there:
            return
        some = block.take(np.array(there))
        pairs = [each for each in found if each is not None]
        weights, predicted = np.array(pairs).T
        self._mistakes.add(predicted != some.numbers, weights)
        self._inner.learn(some)

    def forget(self, before: int) -> None:
        """Forget rows that were asked for and whose labels never arrive."""
        while self._asked and (first := next(iter(self._asked))) < before:
            del self._asked[first]

    def finish(self) -> None:
        """Learn the rows that are held back at the end of the stream."""
        self._inner.finish()

    def updates(self) -> int:
        """Return how many rows have changed the model."""
        return self._inner.updates()

    def estimate(self) -> ErrorEstimate:
        """Return the error on all rows, estimated from the labels asked for."""
        return self._mistakes.estimate()
