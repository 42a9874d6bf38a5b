"""Functions by which other packages of rpnb use a model beyond its public methods.

The service, Spark, adapters and commands call these functions instead of private
methods of an estimator, so that its internals can change.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.estimators.checks.columns import Columns
from rpnb.estimators.checks.labels import LabelArray, as_labels, number_labels
from rpnb.estimators.late_labels import keeps_scores as keeps_scores
from rpnb.estimators.late_labels import learn_kept as learn_kept
from rpnb.estimators.late_labels import predict_kept as predict_kept
from rpnb.estimators.late_labels import predict_later as predict_later
from rpnb.estimators.pooled_learner import PooledLearner
from rpnb.estimators.rpnb_learner import RPNBLearner
from rpnb.estimators.saving.estimator import write_estimator as write_estimator
from rpnb.estimators.saving.fitted import saved_model as saved_model
from rpnb.estimators.stream.asking import RANDOM_SHARE as RANDOM_SHARE
from rpnb.estimators.stream.class_weights import ClassWeight, check_class_weight
from rpnb.estimators.stream.class_weights import is_balanced as is_balanced
from rpnb.estimators.stream.classifier import StreamClassifier as StreamClassifier
from rpnb.estimators.stream.classifier import new_categories
from rpnb.estimators.stream.learner import BlockStatistics as BlockStatistics
from rpnb.estimators.stream.learner import Learner
from rpnb.estimators.stream.prediction_sets import (
    current_thresholds,
    follow_sets,
    tracker_of,
)
from rpnb.estimators.stream.prediction_sets import (
    has_probabilities as has_probabilities,
)
from rpnb.labels import CodedLabels, LabelIndex

_NO_CLASSES: LabelArray = np.zeros(0, np.int64)


def learner_of(model: StreamClassifier) -> Learner[Any]:
    """Return the learner of a model, with the model's current parameters."""
    return model._learner()


def accepts_sparse(model: Any) -> bool:
    """Whether a model, which may be a compiled one, takes sparse rows."""
    return isinstance(model, StreamClassifier) and model._learner().accepts_sparse


def predicts_most_probable(model: StreamClassifier) -> bool:
    """Whether `predict` returns the most probable class, unless two nearly tie.

    RPNB predicts the class with the largest score. With two of the combining rules,
    probabilities are an increasing function of the scores.
    """
    learner = model._learner()
    return isinstance(learner, RPNBLearner) and learner.given.combiner in (
        "log_sum",
        "product",
    )


def explains_by_sampling(model: StreamClassifier) -> bool:
    """Whether `explain` takes milliseconds per row, for it samples Shapley values."""
    return isinstance(model._learner(), PooledLearner)


def state_of(model: StreamClassifier) -> tuple[Any, IntArray | None]:
    """Return the state of a fitted model, and its counts of the classes, if any."""
    return model._state, model._class_counts


def columns_of(model: Any) -> Columns | None:
    """Return the kinds of a model's columns, None if all are numbers."""
    found: Columns | None = getattr(model, "_columns", None)
    return found


def class_weight_of(model: Any) -> ClassWeight:
    """Return the weights of the classes that a model was given, None without any."""
    found: ClassWeight = getattr(model, "_class_weight", None)
    return found


def parameters_of(model: StreamClassifier) -> dict[str, Any]:
    """Return the parameters of a model as JSON values, as its file holds them."""
    return model._parameters_to_json()


# Beginning


def set_columns(model: StreamClassifier, columns: Columns | None) -> None:
    """Set the kinds of the columns of a model that is given coded rows."""
    model._given_columns = columns


def blank_copy(model: StreamClassifier) -> StreamClassifier:
    """Return an unfitted copy of a model, for rows with the same columns."""
    copy: StreamClassifier = clone(model)
    copy._given_columns = model._given_columns or model._columns
    return copy


def declare(model: StreamClassifier, X: Any, classes: LabelArray) -> None:
    """Initialise a model for rows like X, without learning them, and these classes.

    For callers that may ask for a prediction before the first row is learned.
    """
    columns = model._find_columns(X)
    categories = new_categories(columns, classes.shape[0])
    p = X.shape[1] if categories is None else categories.width
    state = model._state_for(p, classes, classes, first=True)
    model._commit(X, classes, state, columns, categories, first=True)


def initialise(model: StreamClassifier, p: int, classes: LabelArray) -> None:
    """Initialise a model for p features and these classes, all of them active.

    For libraries that may ask for a prediction before the first row is learned.
    """
    state = model._learner().begin(p, classes, np.arange(classes.shape[0]))
    model._record_parameters()
    model._set_classes(classes)
    model.n_features_in_ = p
    model._state = state


def fitted_copy(
    learner: Learner[Any],
    state: Any,
    classes: LabelArray,
    p: int,
    counts: IntArray | None = None,
    names: LabelArray | None = None,
) -> StreamClassifier:
    """Return a copy of a learner's estimator with this state."""
    model: StreamClassifier = clone(learner.given)
    model.n_features_in_ = p
    model._set_classes(classes)
    model._state = state
    model._record_parameters()
    if counts is not None:
        model._class_counts = counts.copy()
    if names is not None:
        model.feature_names_in_ = names
    return model


def snapshot(model: StreamClassifier) -> dict[str, Any]:
    """Return the full state of a model, for `go_back`."""
    return model._copied_attributes()


def go_back(model: StreamClassifier, held: dict[str, Any]) -> None:
    """Restore the state of a model from `snapshot`."""
    model.__dict__.clear()
    model.__dict__.update(held)


# Learning


def check_labels(model: StreamClassifier, y: Any) -> None:
    """Refuse labels that learning would refuse, without changing anything.

    For callers that log rows before they are learned.
    """
    first = not model.__sklearn_is_fitted__()
    known = _NO_CLASSES if first else model.classes_
    index = LabelIndex() if first else model._index
    joined, _ = number_labels(as_labels(y), known, index, None)
    if joined is not known:
        check_class_weight(model._class_weight, joined, whole=False)
        state = None if first else model._state
        model._learner().check_classes(state, joined, _NO_CLASSES)


def predicted_then_learned(
    model: StreamClassifier,
    X: Any,
    y: CodedLabels,
    classes: ArrayLike | None,
    *,
    checked: bool,
) -> CodedLabels:
    """Predict rows, then learn them; `checked` means that X has passed `check_rows`."""
    first = not model.__sklearn_is_fitted__()
    _, predicted = model._learn_batch(
        X, y, classes, first=first, predict=True, checked=checked
    )
    return CodedLabels(predicted, model.classes_)


def scored_then_learned(
    model: StreamClassifier, X: Any, y: CodedLabels, classes: ArrayLike | None
) -> tuple[CodedLabels, FloatArray]:
    """Predict rows, then learn them; return labels, and probabilities before each."""
    scored = model._scored_then_learned(X, y, classes)
    return CodedLabels(scored.predicted, model.classes_), scored.P


def sets_then_learned(
    model: StreamClassifier,
    X: Any,
    y: CodedLabels,
    classes: ArrayLike | None,
    coverage: float,
    thresholds: FloatArray,
) -> tuple[CodedLabels, FloatArray, BoolArray]:
    """Predict rows, then learn them; return labels, probabilities and sets.

    The rows move the caller's thresholds, not those of the model.
    """
    scored, sets = follow_sets(model, X, y, classes, coverage, thresholds)
    return CodedLabels(scored.predicted, model.classes_), scored.P, sets


def set_thresholds(model: Any) -> FloatArray | None:
    """Return a copy of the current thresholds of a model's prediction sets.

    Returns None if learning does not move them: the metric "coverage" is then NaN.
    """
    if tracker_of(model) is None or not hasattr(model, "predict_set"):
        return None
    return current_thresholds(model)
