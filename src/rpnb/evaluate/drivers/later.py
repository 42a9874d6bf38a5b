"""Driver of a learner that keeps its predictions until their labels arrive."""

from typing import Any, final

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.pooled import PooledClassifier
from rpnb.estimators.protocol import predict_later
from rpnb.evaluate.drivers.driver import (
    Predictions,
    TableDriver,
    no_predictions,
    predictions_with,
)
from rpnb.evaluate.drivers.native import NativeDriver
from rpnb.evaluate.stream_blocks import Block


def remembers(model: Any) -> bool:
    """Return whether a learner takes labels through `learn_later`."""
    return isinstance(model, PooledClassifier) and model.delays == "varying"


@final
class LaterDriver(TableDriver):
    """Drives a learner by `predict_later` and `learn_later`, for late labels.

    `native` is its driver when labels are not late.
    """

    def __init__(self, native: NativeDriver) -> None:
        super().__init__(native.model, native.labels, native.probabilities)
        self._native = native
        self._ids: dict[int, int] = {}

    def prepare(self, block: Block) -> Block:
        """Return rows as a table."""
        return self._native.prepare(block)

    def predict(self, block: Block) -> Predictions:
        """Predict rows by `predict_later`; −1 before the first label."""
        found = self.predict_table(block)
        if found is None:
            return no_predictions(self, block)
        if self.probabilities == "none":
            return Predictions(self.labels.of(found[0]), None)
        return predictions_with(self, block, *found)

    def predict_table(self, block: Block) -> tuple[LabelArray, FloatArray] | None:
        """Predict rows by `predict_later`."""
        if not self.model.__sklearn_is_fitted__():
            return None
        labels, P, ids = predict_later(self.model, block.X)
        self._ids |= zip(block.rows.tolist(), ids.tolist(), strict=True)
        if len(self._ids) > 2 * len(self.model.waiting_) + 1000:
            waiting = set(self.model.waiting_.tolist())
            self._ids = {row: i for row, i in self._ids.items() if i in waiting}
        return labels, P

    def learn(self, block: Block) -> None:
        """Learn rows by `learn_later`, those without prediction by `partial_fit`."""
        ids = [self._ids.pop(row, None) for row in block.rows.tolist()]
        begin, n = 0, len(ids)
        while begin < n:
            end = begin + 1
            while end < n and (ids[end] is None) is (ids[begin] is None):
                end += 1
            if ids[begin] is None:
                self._native.learn(block.take(np.arange(begin, end)))
            else:
                self.model.learn_later(ids[begin:end], block.y[begin:end])
            begin = end

    def predict_then_learn(self, block: Block) -> Predictions:
        """Predict, then learn, rows whose labels come with them."""
        return self._native.predict_then_learn(block)

    def updates(self) -> int:
        """Return how many rows have changed the model."""
        return self._native.updates()
