"""What a learner is: a state, a few functions on it, and the classes it knows.

`rpnb.estimators.stream.classifier` turns these into what users call.
"""

from abc import abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.saving.estimator import SavedEstimator, State
from rpnb.labels import LabelIndex


class StreamLearner(SavedEstimator[State]):
    """Abstract: the functions that a classifier of a stream is made of."""

    _takes_sparse = False
    """Whether rows may come as a SciPy sparse matrix; never made dense."""
    _class_by_class = False
    """Whether a class must not be there before its first row, not even idle."""
    _takes_unlabelled = False
    """Whether `_learn` takes the class −1, of a row that is to be predicted only."""
    _free_parameters: tuple[str, ...] = ()
    """Parameters that may be changed between calls; the others shape the state."""
    _index: LabelIndex
    """The number of each class"""

    # What each learner says

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
        """Learn from rows of classes y, and predict each beforehand into `labels`.

        There is one weight a row, or one for all. Where `_takes_unlabelled`, a row of
        class −1 is predicted and not even counted.
        """

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

    # Classes

    def _set_classes(self, classes: LabelArray) -> None:
        self.classes_ = classes
        self._index = LabelIndex(classes.tolist())

    def _joined(self, classes: LabelArray, declared: IntArray) -> State:
        """Return the state of all `classes`, known ones and new ones."""
        source = self._index.find_all(classes.tolist())
        return self._arrange(self._state, source, classes, declared)

    # Whether there is a state

    def __sklearn_is_fitted__(self) -> bool:
        return "_state" in self.__dict__

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet: call fit, "
                "partial_fit or predict_then_learn first."
            )

    def _fitted_state(self, attribute: str) -> State:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(
                f"{type(self).__name__} has no {attribute} before it has seen data"
            )
        return self._state

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
