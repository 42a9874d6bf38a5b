"""Rows that are checked once, and then predicted and learnt in an order of their own.

Where labels come late, predictions and lessons alternate row by row. Checking each of
these calls would take longer than the work itself.
"""

from collections.abc import Iterable
from typing import Any, TypeAlias, final

import numpy as np

from rpnb.core.arrays import IntArray
from rpnb.estimators.labels import as_labels, decode, encode
from rpnb.estimators.rows import accept_rows, check_rows
from rpnb.estimators.streaming import StreamClassifier

_EQUAL_WEIGHTS = np.ones(1)
_NOTHING = np.zeros(0, np.int64)

#: Whether to predict, whether to learn, and which rows.
Step: TypeAlias = tuple[bool, bool, IntArray]


@final
class CheckedRows:
    """Rows with their labels, for one learner that has begun to learn.

    Answers and state are those of `predict`, `partial_fit` and `predict_then_learn`
    with the same rows. The learner must not be given other parameters meanwhile.

    Parameters
    ----------
    model
        The learner.
    X : array-like of shape (n, p)
        Observations; what is wrong with them is said here.
    y : array-like of shape (n,)
        Their labels.
    """

    def __init__(self, model: StreamClassifier[Any], X: Any, y: Any) -> None:
        model._require_fitted()
        model._check_unchanged()
        self._model = model
        self._rows = check_rows(model, X, sparse=model._takes_sparse)
        self._labels = as_labels(y)
        accept_rows(model, X, first=False)

    def play(self, steps: Iterable[Step]) -> tuple[int, list[Any]]:
        """Take steps until one brings a class that the learner does not know.

        Returns
        -------
        tuple
            How many steps were taken, and the labels of all rows predicted in them.
        """
        model, rows = self._model, self._rows
        state, classes = model._state, model.classes_
        numbers = encode(self._labels, classes, model._index)
        answers: list[IntArray] = [_NOTHING]
        taken = 0
        for predict, learn, part in steps:
            if learn and numbers[part].min() < 0:
                break
            if not learn:
                answers.append(model._classify(state, rows[part]))
            elif not predict:
                model._learn(state, rows[part], numbers[part], _EQUAL_WEIGHTS, None)
            else:
                said = np.empty(len(part), np.int64)
                model._learn(state, rows[part], numbers[part], _EQUAL_WEIGHTS, said)
                answers.append(said)
            taken += 1
        labels: list[Any] = decode(np.concatenate(answers), classes).tolist()
        return taken, labels
