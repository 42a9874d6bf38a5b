"""Prediction sets of any classifier with probabilities."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from rpnb.core.conformal import COVERAGES, new_thresholds, track_thresholds
from rpnb.core.kernels.arrays import BoolArray, FloatArray
from rpnb.estimators.checks.labels import LabelArray, as_labels, encode
from rpnb.estimators.saving.estimator import SavedEstimator
from rpnb.estimators.saving.schema import StateSchema, check_arrays, reals
from rpnb.estimators.trust.sets import (
    LEAST_PROBABILITY,
    check_coverage,
    past_sets,
)

#: What a model file calls thresholds, and says that it has them.
ENTRY = "prediction_sets"


def has_probabilities(model: Any) -> bool:
    """Return whether a learner gives probabilities."""
    return hasattr(model, "predict_proba")


class PredictsSets:
    """Abstract: prediction sets, for learners with `predict_proba`."""

    _set_thresholds: FloatArray | None = None
    """of all coverages; None as long as none was learned"""

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_set(self, X: Any, coverage: float = 0.9) -> BoolArray:
        """Return a set of classes for each row that holds the true one so often.

        Adaptive conformal inference: the probability that a class needs to be in a set
        rises with each row whose class was in its set and falls with each other one, so
        that in the long run the share of rows whose class is in the set is `coverage`,
        whatever the stream and however it drifts. A set may be empty, where the model
        is right more often than that, and may hold all classes. The better the
        probabilities, the smaller the sets.

        `predict_set_then_learn` learns it; before that, a set holds what has a
        probability of a half or more. `RPNBClassifier` learns it from every row, and
        needs temperature="auto" and the combiner "log_sum" or "product".

        Parameters
        ----------
        X : array-like of shape (n, p)
            Observations.
        coverage : float, default=0.9
            From 0.5 to 0.99.

        Returns
        -------
        array of bool of shape (n, M)
            Whether each of `classes_` is in the set of each row.

        References
        ----------
        I. Gibbs and E. Candès, "Adaptive conformal inference under distribution shift",
        NeurIPS 2021.

        A. N. Angelopoulos, E. J. Candès and R. J. Tibshirani, "Conformal PID control
        for time series prediction", NeurIPS 2023.
        """
        return self._sets(X, check_coverage(coverage))

    def _sets(self, X: Any, coverage: float) -> BoolArray:
        model: Any = self
        P = np.maximum(model.predict_proba(X), LEAST_PROBABILITY)
        return past_sets(P, self._thresholds()[None, :], coverage)

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_set_then_learn(
        self, X: Any, y: Any, coverage: float = 0.9, classes: ArrayLike | None = None
    ) -> tuple[LabelArray, BoolArray]:
        """Predict label and set of each row before it is learned, then learn it.

        The thresholds of all coverages follow every row; a row whose class was not
        known yet counts as one that was not covered.

        Parameters
        ----------
        X, y, classes
            Those of `predict_then_learn`.
        coverage : float, default=0.9
            That of `predict_set`.

        Returns
        -------
        array of shape (n,)
            The labels that `predict_then_learn` returns.
        array of bool of shape (n, M)
            Whether each of `classes_`, as they are afterwards, is in the row's set.
        """
        return self._sets_then_learn(X, y, check_coverage(coverage), classes)

    def _sets_then_learn(
        self, X: Any, y: Any, coverage: float, classes: ArrayLike | None
    ) -> tuple[LabelArray, BoolArray]:
        model: Any = self
        fitted = model.__sklearn_is_fitted__()
        known = model.classes_ if fitted else None
        thresholds = self._thresholds() if fitted else new_thresholds()
        labels, scored = model._scored_then_learned(X, y, classes)
        P = scored.probabilities
        numbers = encode(as_labels(y), model.classes_, model._index)
        # The row from which on each class is known.
        since = np.full(model.classes_.shape[0], numbers.shape[0])
        np.minimum.at(since, numbers, np.arange(numbers.shape[0]))
        for given in (known, classes):
            if given is not None:
                since[model._index.find_all(np.asarray(given).tolist())] = -1
        was_known = np.arange(numbers.shape[0])[:, None] > since
        P = np.where(was_known, np.maximum(P, LEAST_PROBABILITY), P)
        before = np.empty((numbers.shape[0], COVERAGES.shape[0]))
        track_thresholds(thresholds, P, numbers, before)
        self._set_thresholds = thresholds
        return labels, past_sets(P, before, coverage)

    def _thresholds(self) -> FloatArray:
        """Return a copy of the thresholds."""
        learned = self._set_thresholds
        return new_thresholds() if learned is None else learned.copy()


def with_thresholds(
    saved: SavedEstimator, thresholds: FloatArray | None
) -> SavedEstimator:
    """Return what a model file holds of a model with these thresholds."""
    if thresholds is None:
        return saved
    return saved._replace(
        state={**saved.state, ENTRY: True}, arrays={**saved.arrays, ENTRY: thresholds}
    )


def has_thresholds(saved: SavedEstimator) -> bool:
    """Whether a model file says that it has thresholds of prediction sets."""
    return saved.state.get(ENTRY) is True


def check_thresholds(saved: SavedEstimator) -> FloatArray | None:
    """Return the thresholds of a model file, None if it has none."""
    if not has_thresholds(saved):
        return None
    schema = StateSchema({ENTRY: reals(COVERAGES.shape[0])})
    return check_arrays({ENTRY: saved.arrays[ENTRY]}, schema)[ENTRY]


def without_thresholds(saved: SavedEstimator) -> SavedEstimator:
    """Return what a model file holds besides thresholds."""
    if not has_thresholds(saved):
        return saved
    return saved._replace(
        state={name: value for name, value in saved.state.items() if name != ENTRY},
        arrays={name: array for name, array in saved.arrays.items() if name != ENTRY},
    )
