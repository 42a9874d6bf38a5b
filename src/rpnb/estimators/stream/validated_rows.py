"""Rows that are checked once and then predicted and learned in any order.

When labels arrive late, rows to predict and rows to learn alternate. A learner that
accepts rows without labels processes them in one call; others need many calls, and
checking the rows in each call would take longer than the work itself.
"""

from itertools import pairwise
from typing import Any, final

import numpy as np

from rpnb.core.kernels.arrays import IntArray
from rpnb.estimators.stream.classifier import StreamClassifier

_EQUAL_WEIGHTS = np.ones(1)


@final
class ValidatedRows:
    """Rows for one fitted learner, checked on construction.

    Predictions and state are those of `predict`, `partial_fit` and `predict_then_learn`
    with the same rows. The learner's parameters must not change in between, and its
    classes must include those of all rows to learn. `checked` means that X has already
    passed `check_rows`.
    """

    def __init__(
        self, model: StreamClassifier, X: Any, *, checked: bool = False
    ) -> None:
        model._require_fitted()
        model._check_unchanged()
        self._model = model
        self._rows = X if checked and model._frame is None else model._coded_rows(X)
        model._accept_rows(X, model._frame, first=False)

    def predict_and_learn(self, rows: IntArray, numbers: IntArray) -> IntArray:
        """Predict rows in the given order, and learn those whose class is given.

        A row (e,) may come again; the number (e,) of its class is −1 if it is only
        predicted. Returns the numbers (e,) of the predicted classes.
        """
        model, n = self._model, numbers.shape[0]
        labels = np.empty(n, np.int64)
        edges = [0, n]
        if not model._learner().accepts_unlabelled:
            learn = numbers >= 0
            inner = np.flatnonzero(learn[1:] != learn[:-1]) + 1
            edges = [0, *inner.tolist(), n]
        for begin, end in pairwise(edges):
            part = slice(begin, end)
            self._run_part(rows[part], numbers[part], labels[part])
        return labels

    def _run_part(self, rows: IntArray, numbers: IntArray, labels: IntArray) -> None:
        """Predict rows; learn all or none of them, or any where that is accepted."""
        model, X = self._model, self._rows[rows]
        if numbers[0] < 0 and not model._learner().accepts_unlabelled:
            labels[:] = model._learner().classify(model._state, model._features(X))
        else:
            model._learn_numbered(X, numbers, _EQUAL_WEIGHTS, labels)
