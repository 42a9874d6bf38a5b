"""Labels that arrive at any time, in any order, for a pool with delays="varying".

Rows are predicted, kept with the scores of all members, and learned when their labels
arrive (core/pooled/recorded.py). They are kept by the model (`WaitingRows`), or by the
caller, as bytes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from rpnb.core.columns.categories import LOOKS
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.elementary import exp
from rpnb.core.pooled.recorded import learn_recorded, predict_recorded
from rpnb.estimators.checks.labels import LabelArray, as_labels, decode, number_labels
from rpnb.estimators.checks.parameters import threads_for
from rpnb.estimators.checks.rows import accept_rows
from rpnb.estimators.checks.weights import check_weight
from rpnb.estimators.pooled_learner import PooledLearner, weight_of_each
from rpnb.estimators.stream.class_weights import check_class_weight
from rpnb.estimators.stream.locks import lock_of
from rpnb.estimators.waiting_rows import WaitingRows, rows_waiting

_ONE = np.ones(1)


def keeps_scores(model: Any) -> bool:
    """Return whether a model learns labels from the scores of their predictions."""
    return getattr(model, "delays", None) == "varying"


def predict_later(model: Any, X: Any) -> tuple[LabelArray, FloatArray, IntArray]:
    """Predict rows and keep them; return labels, probabilities (n, M) and numbers."""
    require_varying(model, "predict_later")
    model._require_fitted()
    model._check_unchanged()
    if issparse(X):
        raise TypeError("predict_later takes dense rows only, got a sparse matrix")
    rows = model._coded_rows(X)
    accept_rows(model, X, first=False)
    with lock_of(model):
        features = model._features(rows)
        numbers, log_P, scores = predict_recorded(model._state, features)
        ids = rows_waiting(model).add(rows, scores)
    return decode(numbers, model.classes_), exp(log_P), ids


def learn_later(
    model: Any, ids: ArrayLike, y: Any, sample_weight: ArrayLike | None
) -> None:
    """Learn rows that `predict_later` has kept, by their numbers."""
    require_varying(model, "learn_later")
    model._require_fitted()
    model._check_unchanged()
    found = rows_waiting(model).check(ids)
    labels = as_labels(y)
    if len(found) != labels.shape[0]:
        raise ValueError(
            f"ids has {len(found)} rows and y has {labels.shape[0]} labels: give one "
            "label for each id"
        )
    weight = _ONE
    if sample_weight is not None:
        weight = check_weight(sample_weight, len(found), PooledLearner.weight_limits)
        if not weight.all():
            raise ValueError("sample_weight must be above 0 in learn_later")
    if not found:
        return
    joined, numbers = number_labels(labels, model.classes_, model._index, None)
    with lock_of(model):
        _add_classes(model, joined)
        _learn_waiting(model, rows_waiting(model), found, numbers, weight)


def predict_kept(model: Any, X: Any) -> tuple[LabelArray, FloatArray, list[bytes]]:
    """Predict the next rows; return labels, probabilities, and scores as bytes.

    For callers that keep rows until their labels arrive, for `learn_kept`.
    """
    require_varying(model, "predict_later")
    rows = model._rows_to_predict(X)
    numbers, log_P, scores = predict_recorded(model._state, rows)
    past = WaitingRows(model.classes_, tuple(model._state.outputs))
    return decode(numbers, model.classes_), exp(log_P), past.pack(scores)


def learn_kept(model: Any, X: Any, y: Any, kept: Sequence[bytes]) -> None:
    """Learn rows with their labels and the scores of `predict_kept`."""
    require_varying(model, "learn_later")
    model._check_unchanged()
    rows, labels = model._coded_rows(X), as_labels(y)
    accept_rows(model, X, first=False)
    joined, numbers = number_labels(labels, model.classes_, model._index, None)
    with lock_of(model):
        _add_classes(model, joined)
        past = WaitingRows(model.classes_, tuple(model._state.outputs))
        ids = past.add_packed(rows, kept)
        _learn_waiting(model, past, ids, numbers, _ONE)


def _learn_waiting(
    model: Any, past: WaitingRows, ids: list[int], y: IntArray, weight: FloatArray
) -> None:
    """Learn rows that were predicted in the past, of known classes y."""
    past.align(model.classes_, model._state.outputs)
    X, _ = past.get(ids)
    n = y.shape[0]
    each = weight_of_each(model._row_weights(y, weight), n)
    jobs = threads_for(model.n_jobs, n)
    whole = [slice(0, n)]
    for part in whole if model._categories is None else model._parts_of_layouts(y):
        # A new layout may have other members.
        past.align(model.classes_, model._state.outputs)
        _, scores = past.get(ids[part])
        features, w = X[part], each[part]
        if model._categories is not None:
            features = model._categories.learn(features, y[part], w)
        learn_recorded(model._state, features, y[part], w, scores, jobs)
        if model._categories is not None and model._categories.seen in LOOKS:
            model._look_at_categories()
    past.remove(ids)


def _add_classes(model: Any, joined: LabelArray) -> None:
    """Add the classes that are new among all classes, sorted."""
    if joined is model.classes_:
        return
    check_class_weight(model._class_weight, joined, whole=False)
    state = model._state_with_classes(joined, np.zeros(0, np.int64))
    model._set_classes(joined)
    model._state = state


def require_varying(model: Any, method: str) -> None:
    """Refuse a method to models with constant delays."""
    if not keeps_scores(model):
        raise ValueError(
            f"{method} needs delays='varying', got delays={model.delays!r}"
        )
