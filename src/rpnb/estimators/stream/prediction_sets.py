"""Prediction sets of any classifier with probabilities."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rpnb.core.conformal import COVERAGES, new_thresholds
from rpnb.core.kernels.arrays import BoolArray, FloatArray
from rpnb.estimators.checks.labels import LabelArray, decode
from rpnb.estimators.saving.estimator import SavedEstimator
from rpnb.estimators.saving.schema import StateSchema, check_arrays, reals
from rpnb.estimators.stream.learner import TracksSets
from rpnb.estimators.stream.new_classes import ScoredRows
from rpnb.estimators.trust.sets import (
    LEAST_PROBABILITY,
    following_sets,
    past_sets,
)

#: Entry of the thresholds in a model file.
ENTRY = "prediction_sets"


def has_probabilities(model: Any) -> bool:
    """Return whether a learner gives probabilities."""
    return hasattr(model, "predict_proba")


def tracker_of(model: Any) -> TracksSets[Any] | None:
    """Return the learner that moves thresholds as it learns, None if there is none."""
    learner, _ = model._learner().innermost()
    return learner if isinstance(learner, TracksSets) else None


def has_sets(model: Any) -> bool:
    """Return whether a model has prediction sets, or raise an error saying why not."""
    tracker = tracker_of(model)
    if tracker is not None:
        tracker.check_sets()
    return has_probabilities(model)


def predict_sets(model: Any, X: Any, coverage: float) -> BoolArray:
    """Return the prediction set of each row with the current thresholds."""
    P = model.predict_proba(X)
    if tracker_of(model) is None:
        P = np.maximum(P, LEAST_PROBABILITY)
    return past_sets(P, current_thresholds(model)[None, :], coverage)


def predict_sets_then_learn(
    model: Any, X: Any, y: Any, coverage: float, classes: ArrayLike | None
) -> tuple[LabelArray, BoolArray]:
    """Predict label and set of each row before it is learned, then learn it."""
    thresholds = current_thresholds(model)
    scored, sets = follow_sets(model, X, y, classes, coverage, thresholds)
    model._set_thresholds = thresholds
    return decode(scored.predicted, model.classes_), sets


def follow_sets(
    model: Any,
    X: Any,
    y: Any,
    classes: ArrayLike | None,
    coverage: float,
    thresholds: FloatArray,
) -> tuple[ScoredRows, BoolArray]:
    """Predict label, probabilities and set of each row, then learn it.

    The thresholds move with every row; those of the model stay as they are.
    """
    known = model.classes_ if model.__sklearn_is_fitted__() else None
    scored: ScoredRows = model._scored_then_learned(X, y, classes)
    numbers, P = scored.truth, scored.P
    tracker = tracker_of(model)
    likely, together = P, 1 if tracker is None else tracker.rows_together
    if tracker is None:
        # The first row at which each class is known.
        since = np.full(model.classes_.shape[0], numbers.shape[0])
        np.minimum.at(since, numbers, np.arange(numbers.shape[0]))
        for given in (known, classes):
            if given is not None:
                since[model._index.find_all(np.asarray(given).tolist())] = -1
        was_known = np.arange(numbers.shape[0])[:, None] > since
        likely = np.where(was_known, np.maximum(P, LEAST_PROBABILITY), P)
    return scored, following_sets(likely, numbers, thresholds, coverage, together)


def current_thresholds(model: Any) -> FloatArray:
    """Return a copy of the thresholds that the next prediction sets use."""
    if not model.__sklearn_is_fitted__():
        return new_thresholds()
    if model._set_thresholds is not None:
        return np.array(model._set_thresholds)
    learner, state = model._learner().innermost(model._state)
    if not isinstance(learner, TracksSets):
        return new_thresholds()
    return np.array(learner.set_thresholds(state))


def with_thresholds(
    saved: SavedEstimator, thresholds: FloatArray | None
) -> SavedEstimator:
    """Return the content of a model file with these thresholds added."""
    if thresholds is None:
        return saved
    return saved._replace(
        state={**saved.state, ENTRY: True}, arrays={**saved.arrays, ENTRY: thresholds}
    )


def has_thresholds(saved: SavedEstimator) -> bool:
    """Return whether a model file has thresholds of prediction sets."""
    return saved.state.get(ENTRY) is True


def check_thresholds(saved: SavedEstimator) -> FloatArray | None:
    """Return the thresholds of a model file, None if it has none."""
    if not has_thresholds(saved):
        return None
    schema = StateSchema({ENTRY: reals(COVERAGES.shape[0])})
    return check_arrays({ENTRY: saved.arrays[ENTRY]}, schema)[ENTRY]


def without_thresholds(saved: SavedEstimator) -> SavedEstimator:
    """Return the content of a model file without thresholds."""
    if not has_thresholds(saved):
        return saved
    return saved._replace(
        state={name: value for name, value in saved.state.items() if name != ENTRY},
        arrays={name: array for name, array in saved.arrays.items() if name != ENTRY},
    )
