"""What every classifier of this package does with data, labels, classes and files.

A learner is a state and a few functions on it, named in the abstract methods below.
This module turns them into a scikit-learn estimator: it checks the input, gives labels
their numbers, lets new classes in, and changes the state only when nothing can fail any
more.
"""

from abc import abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from rpnb.core.arrays import FloatArray, IntArray
from rpnb.estimators.labels import (
    LabelArray,
    as_labels,
    decode,
    encode,
    join_classes,
    same_family,
)
from rpnb.estimators.rows import accept_rows, check_rows
from rpnb.estimators.saving import SavedEstimator, State
from rpnb.estimators.weights import check_weight

_NO_CLASSES: LabelArray = np.zeros(0, np.int64)
_EQUAL_WEIGHTS = np.ones(1)


class StreamClassifier(ClassifierMixin, SavedEstimator[State]):  # type: ignore[misc]
    """Abstract: a classifier that learns from a stream, row by row or by mini-batch."""

    _takes_sparse = False
    """Whether rows may come as a SciPy sparse matrix; never made dense."""
    _class_by_class = False
    """Whether a class must not be there before its first row, not even idle."""
    _free_parameters: tuple[str, ...] = ()
    """Parameters that may be changed between calls; the others shape the state."""

    @abstractmethod
    def _begin(self, p: int, classes: LabelArray, declared: IntArray) -> State:
        """Check the parameters and return the state that has seen nothing.

        The classes numbered in `declared` take part from the start, the others from
        their first row on.
        """

    @abstractmethod
    def _arrange(
        self, state: State, source: IntArray, classes: LabelArray, declared: IntArray
    ) -> State:
        """Return a state whose class m is class source[m] of `state`, or new if −1.

        The classes numbered in `declared` take part from now on, the other new ones
        from their first row on. `state` itself stays as it is.
        """

    @abstractmethod
    def _learn(
        self,
        state: State,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        """Learn from rows of classes y, and predict each beforehand into `labels`."""

    @abstractmethod
    def _classify(self, state: State, X: NDArray[Any]) -> IntArray:
        """Return the number of each row's class."""

    @abstractmethod
    def _tally(self, state: State) -> tuple[int, int]:
        """Return how many rows were seen, and how many of them changed the model."""

    @abstractmethod
    def _copy(self, state: State) -> State:
        """Return a state with arrays of its own, free to be written to."""

    def _renew(
        self, state: State, p: int, classes: LabelArray, declared: IntArray
    ) -> State:
        """Return the state that has seen nothing, for more rows of the same stream."""
        return self._begin(p, classes, declared)

    def _check_free(self) -> None:
        """Check the parameters that may be changed between calls."""

    # Parameters

    def _note_parameters(self) -> None:
        self._began_with = {
            name: getattr(self, name) for name in _parameter_names(type(self))
        }

    def _check_unchanged(self) -> None:
        """Check what was changed since; what shaped the state must stand."""
        for name, value in self._began_with.items():
            now = getattr(self, name)
            if now is value or _same(now, value):
                continue
            if name not in self._free_parameters:
                raise ValueError(
                    f"{name} was {value!r} when learning began and is {now!r} now: "
                    "use fit, or a clone, to start anew with other parameters"
                )
            self._check_free()

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
        self._take(X, y, y, None, first=True, predict=False)
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
        self._take(X, y, classes, None, first=first, predict=False)
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
        numbers = self._take(X, y, classes, None, first=first, predict=True)
        return decode(numbers, self.classes_)

    def _take(
        self,
        X: Any,
        y: Any,
        classes: Any,
        sample_weight: Any,
        *,
        first: bool,
        predict: bool,
    ) -> IntArray:
        """Check everything, then commit, then learn; return the predictions."""
        if not first:
            self._check_unchanged()
        rows = check_rows(self, X, sparse=self._takes_sparse)
        labels = as_labels(y)
        if labels.shape[0] != rows.shape[0]:
            raise ValueError(
                f"X has {rows.shape[0]} rows and y has {labels.shape[0]} labels: they "
                "must be as many (inconsistent numbers of samples)"
            )
        weight = _EQUAL_WEIGHTS
        if sample_weight is not None:
            weight = check_weight(sample_weight, labels.shape[0])
            if not weight.all():
                kept = weight > 0.0
                rows, labels, weight = rows[kept], labels[kept], weight[kept]
        known = _NO_CLASSES if first else self.classes_
        joined, numbers = self._number(known, labels, classes, first=first)
        if self._class_by_class and joined is not known:
            return self._take_class_by_class(X, rows, labels, classes, weight, first)
        if joined is known:
            state = self._state
        else:
            index = {label: m for m, label in enumerate(joined.tolist())}
            named = [] if classes is None else as_labels(classes, "classes").tolist()
            declared = np.unique(np.array([index[label] for label in named], np.int64))
            if first:
                state = self._begin(rows.shape[1], joined, declared)
            else:
                state = self._joined(self._state, joined, declared)
        accept_rows(self, X, first=first)
        if first:
            self._note_parameters()
        if joined is not known:
            self._set_classes(joined)
        self._state = state
        predicted = np.empty(labels.shape[0], np.int64) if predict else None
        self._learn(state, rows, numbers, weight, predicted)
        return numbers if predicted is None else predicted

    def _take_class_by_class(
        self,
        X: Any,
        rows: Any,
        labels: LabelArray,
        classes: Any,
        weight: FloatArray,
        first: bool,
    ) -> IntArray:
        """Take rows of which some are of new classes; each class joins at its row.

        For learners whose answers depend on how many classes there are. The row itself
        is predicted before its class joins.
        """
        competing = _NO_CLASSES if first else self.classes_
        if classes is not None:
            named = as_labels(classes, "classes")
            competing = join_classes(competing, named, "classes")
        unknown = competing.shape[0] == 0
        start = labels[:1] if unknown else competing
        everything = np.arange(start.shape[0])
        if first:
            declared = everything[:0] if unknown else everything
            state = self._begin(rows.shape[1], start, declared)
        else:
            state = self._joined(self._state, start, everything)
        accept_rows(self, X, first=first)
        if first:
            self._note_parameters()
        self._set_classes(start)
        self._state = state
        predicted = np.full(labels.shape[0], -1)
        done = 0
        while done < labels.shape[0]:
            numbers = encode(labels[done:], self.classes_, self._index)
            new = np.flatnonzero(numbers < 0)
            stop = done + (int(new[0]) if new.shape[0] > 0 else numbers.shape[0])
            part = slice(done, stop)
            if done < stop:
                w = weight if weight.shape[0] == 1 else weight[part]
                self._learn(
                    self._state, rows[part], numbers[: stop - done], w, predicted[part]
                )
            done = stop
            if stop < labels.shape[0]:
                row = slice(stop, stop + 1)
                predicted[stop] = self._classify(self._state, rows[row])[0]
                self._join(labels[row], predicted)
                number = encode(labels[row], self.classes_, self._index)
                w = weight if weight.shape[0] == 1 else weight[row]
                self._learn(self._state, rows[row], number, w, None)
                done = stop + 1
        if unknown:
            predicted[0] = -1
        return predicted

    def _joined(self, state: State, classes: LabelArray, declared: IntArray) -> State:
        """Return the state of all `classes`, known ones and new ones."""
        before = [self._index.get(label, -1) for label in classes.tolist()]
        return self._arrange(state, np.array(before, np.int64), classes, declared)

    def _join(self, label: LabelArray, predicted: IntArray) -> None:
        """Let one more class in; give classes predicted so far their new numbers."""
        before = self.classes_
        classes = join_classes(before, label, "y")
        self._state = self._joined(self._state, classes, np.zeros(0, np.int64))
        self._set_classes(classes)
        moved = np.searchsorted(classes, before)
        answered = predicted >= 0
        predicted[answered] = moved[predicted[answered]]

    def _number(
        self, known: LabelArray, labels: LabelArray, declared: Any, *, first: bool
    ) -> tuple[LabelArray, IntArray]:
        """Return the classes, `known` itself if none is new, and labels' numbers."""
        joined = known
        if declared is not None:
            named = as_labels(declared, "classes")
            if named.shape[0] == 0:
                raise ValueError("classes must name at least one class, got none")
            joined = join_classes(known, named, "classes")
        elif not first and same_family(known, labels):
            numbers = encode(labels, known, self._index)
            if numbers.min(initial=0) >= 0:
                return known, numbers
        joined = join_classes(joined, labels, "y")
        if joined.shape == known.shape:
            return known, encode(labels, known, self._index)
        index = {label: m for m, label in enumerate(joined.tolist())}
        return joined, encode(labels, joined, index)

    def _set_classes(self, classes: LabelArray) -> None:
        self.classes_ = classes
        self._index = {label: m for m, label in enumerate(classes.tolist())}

    # Predicting

    def predict(self, X: Any) -> LabelArray:
        """Return the label of each row of X (n, p); changes nothing."""
        rows = self._rows_to_predict(X)
        return decode(self._classify(self._state, rows), self.classes_)

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet: call fit, "
                "partial_fit or predict_then_learn first."
            )

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

    def _fitted_state(self, attribute: str) -> State:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(
                f"{type(self).__name__} has no {attribute} before it has seen data"
            )
        return self._state

    def __sklearn_is_fitted__(self) -> bool:
        return "_state" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        return tags

    # Keeping

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        super().__setstate__(attributes)
        if self.__sklearn_is_fitted__():
            # joblib may have handed out arrays mapped from a file, for reading only.
            self._state = self._copy(self._state)


@cache
def _parameter_names(estimator: type[BaseEstimator]) -> tuple[str, ...]:
    # A seed is used once: what becomes of it afterwards does not matter.
    names = estimator._get_param_names()
    return tuple(name for name in names if name != "random_state")


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Mapping) or isinstance(b, Mapping):
        return bool(a == b)
    return bool(np.array_equal(a, b))


class WeightedStreamClassifier(StreamClassifier[State]):
    """Abstract: a stream classifier whose rows may weigh differently."""

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything and learn from the rows of X, in their order, once.

        All classes in `y` take part from the first row on, as in the paper.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Observations.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), optional
            A row of weight w is learnt as w equal rows in one update. Rows of weight 0
            are left out.

        Returns
        -------
        self
        """
        self._take(X, y, y, sample_weight, first=True, predict=False)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
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
        sample_weight : array-like of shape (n,), optional
            A row of weight w is learnt as w equal rows in one update. Rows of weight 0
            are left out.

        Returns
        -------
        self
        """
        first = not self.__sklearn_is_fitted__()
        self._take(X, y, classes, sample_weight, first=first, predict=False)
        return self
