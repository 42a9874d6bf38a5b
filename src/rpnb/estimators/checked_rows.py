"""Rows that are checked once, and then predicted and learnt in an order of their own.

Where labels come late, predictions and lessons alternate row by row. They are one call
of a learner that can tell them apart; and where they are many calls, checking each of
them would take longer than the work itself.
"""

from itertools import pairwise
from typing import Any, final

import numpy as np

from rpnb.core.arrays import BoolArray, IntArray
from rpnb.estimators.labels import as_labels, decode, encode
from rpnb.estimators.rows import accept_rows, check_rows
from rpnb.estimators.streaming import StreamClassifier

_EQUAL_WEIGHTS = np.ones(1)


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

    def play(
        self, rows: IntArray, predict: BoolArray, learn: BoolArray
    ) -> tuple[int, list[Any]]:
        """Predict and learn until a row brings a class that the learner does not know.

        Parameters
        ----------
        rows : (e,)
            The rows in the order in which they come; one may come again.
        predict, learn : (e,)
            Whether to predict the row, and whether to learn it then.

        Returns
        -------
        tuple
            How many of the rows were played, and the labels of those predicted.
        """
        model = self._model
        classes = model.classes_
        numbers = encode(self._labels, classes, model._index)[rows]
        new = np.flatnonzero(learn & (numbers < 0))
        done = int(new[0]) if new.shape[0] > 0 else rows.shape[0]
        if done == 0:
            return 0, []
        rows, predict, learn = rows[:done], predict[:done], learn[:done]
        y = np.where(learn, numbers[:done], -1)
        labels = np.empty(done, np.int64)
        if model._takes_unlabelled or learn.all():
            model._learn(model._state, self._rows[rows], y, _EQUAL_WEIGHTS, labels)
        else:
            edges = np.flatnonzero(learn[1:] != learn[:-1]) + 1
            for begin, end in pairwise([0, *edges.tolist(), done]):
                self._play_alike(rows[begin:end], y[begin:end], labels[begin:end])
        return done, decode(labels[predict], classes).tolist()

    def _play_alike(self, rows: IntArray, y: IntArray, labels: IntArray) -> None:
        """Predict rows that are all to be learnt, or none of them."""
        model, X = self._model, self._rows[rows]
        if y[0] < 0:
            labels[:] = model._classify(model._state, X)
        else:
            model._learn(model._state, X, y, _EQUAL_WEIGHTS, labels)
