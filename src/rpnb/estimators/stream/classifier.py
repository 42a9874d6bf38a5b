"""What every classifier of this package does with rows and labels that users give it.

It checks the input, gives labels their numbers, lets new classes in, and changes the
learner's state only when nothing can fail any more.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from rpnb.core.kernels.arrays import IntArray
from rpnb.estimators.checks.labels import (
    LabelArray,
    as_labels,
    decode,
    encode,
    number_labels,
)
from rpnb.estimators.checks.rows import accept_rows, check_rows
from rpnb.estimators.saving.estimator import State
from rpnb.estimators.stream.late_classes import classes_before, learn_class_by_class
from rpnb.estimators.stream.learner import StreamLearner
from rpnb.estimators.stream.lessons import check_lesson
from rpnb.labels import LabelIndex

_NO_CLASSES: LabelArray = np.zeros(0, np.int64)
_NONE_DECLARED = np.zeros(0, np.int64)


class StreamClassifier(ClassifierMixin, StreamLearner[State]):  # type: ignore[misc]
    """Abstract: a classifier that learns from a stream, row by row or by mini-batch."""

    # Learning

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything and learn from the rows of X, in their order, once.

        All classes in `y` take part from the first row on, as in the paper.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Observations.
        y : array-like of shape (n,)
            Their labels.

        Returns
        -------
        self
        """
        self._take(X, y, y, first=True)
        return self

    def partial_fit(self, X: Any, y: Any, classes: ArrayLike | None = None) -> Self:
        """Learn from more rows.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Observations.
        y : array-like of shape (n,)
            Their labels. A label never seen before joins the classes.
        classes : array-like, optional
            Classes that take part from now on, seen or not. Welcome on any call and
            never needed.

        Returns
        -------
        self
        """
        first = not self.__sklearn_is_fitted__()
        self._take(X, y, classes, first=first)
        return self

    def predict_then_learn(
        self, X: Any, y: Any, classes: ArrayLike | None = None
    ) -> LabelArray:
        """Predict each row with what was known before it, then learn it.

        This is the protocol of the paper and of prequential evaluation. The result is
        what a loop over `predict` and `partial_fit` of one row at a time would give,
        however rows are cut into calls.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Observations, in the order of their arrival.
        y : array-like of shape (n,)
            Their labels. A label that was not declared takes part from the row after
            its first.
        classes : array-like, optional
            Classes that take part from the first of these rows on.

        Returns
        -------
        array of shape (n,)
            The predicted labels. A row for which no class was known yet counts as a
            mistake and has None; only then is the array of dtype object. It does not
            happen where `classes` are declared on the first call.
        """
        first = not self.__sklearn_is_fitted__()
        numbers = self._take(X, y, classes, first=first, predict=True)
        return decode(numbers, self.classes_)

    def _take(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None = None,
        *,
        first: bool,
        predict: bool = False,
    ) -> IntArray:
        """Check everything, then commit, then learn; return the predictions."""
        if sample_weight is not None:
            self._check_weights_matter()
        if not first:
            self._check_unchanged()
        lesson = check_lesson(self, X, y, sample_weight, sparse=self._takes_sparse)
        declared = None if classes is None else as_labels(classes, "classes")
        known = _NO_CLASSES if first else self.classes_
        index = LabelIndex() if first else self._index
        joined, numbers = number_labels(lesson.labels, known, index, declared)
        by_and_by = self._class_by_class and joined is not known
        if by_and_by:
            joined = classes_before(lesson.labels, known, declared)
        state = self._state_for(lesson.rows.shape[1], joined, declared, first=first)
        self._commit(X, joined, state, first=first)
        if by_and_by:
            predicted = learn_class_by_class(self, lesson)
            if first and declared is None:
                predicted[0] = -1  # no class was known yet
            return predicted
        answers = np.empty(lesson.labels.shape[0], np.int64) if predict else None
        self._learn(state, lesson.rows, numbers, lesson.weight, answers)
        return numbers if answers is None else answers

    def _check_weights_matter(self) -> None:
        """Refuse weights where they would be of no use."""

    def _state_for(
        self, p: int, classes: LabelArray, declared: LabelArray | None, *, first: bool
    ) -> State:
        """Return the state to learn with: a first one, one of more classes, or this."""
        if not first and classes is self.classes_:
            return self._state
        part = _NONE_DECLARED
        if declared is not None:
            part = np.unique(encode(declared, classes, LabelIndex(classes.tolist())))
        return self._begin(p, classes, part) if first else self._joined(classes, part)

    def _commit(
        self, X: Any, classes: LabelArray, state: State, *, first: bool
    ) -> None:
        """Take note of all that is new; the last check is the first line."""
        accept_rows(self, X, first=first)
        if first:
            self._note_parameters()
        if first or classes is not self.classes_:
            self._set_classes(classes)
        self._state = state

    # Predicting

    def predict(self, X: Any) -> LabelArray:
        """Return the label of each row of X (n, p); changes nothing."""
        rows = self._rows_to_predict(X)
        return decode(self._classify(self._state, rows), self.classes_)

    def _rows_to_predict(self, X: Any) -> NDArray[Any]:
        self._require_fitted()
        rows = check_rows(self, X, sparse=self._takes_sparse)
        accept_rows(self, X, first=False)
        return rows

    # Looking

    @property
    def n_seen_(self) -> int:
        """Number of rows seen since the start."""
        return self._tally(self._fitted_state("n_seen_"))[0]

    @property
    def n_updates_(self) -> int:
        """Number of rows that changed the model."""
        return self._tally(self._fitted_state("n_updates_"))[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        return tags
