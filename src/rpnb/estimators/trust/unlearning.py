"""Unlearning of rows: checks for all learners whose statistics are sums."""

from typing import Any

import numpy as np

from rpnb.core.bayes.model import Model, copy_model, refresh_all
from rpnb.core.bayes.statistics import Moments, without
from rpnb.core.kernels.arrays import IntArray
from rpnb.core.passes.engine import moments_of
from rpnb.estimators.checks.labels import LabelArray, encode
from rpnb.estimators.checks.rows import accept_rows
from rpnb.estimators.stream.class_weights import is_balanced
from rpnb.estimators.stream.classifier import StreamClassifier
from rpnb.estimators.stream.labelled_rows import LabelledRows, check_labelled_rows


def rows_to_unlearn(
    model: StreamClassifier, X: Any, y: Any, sample_weight: Any
) -> tuple[LabelledRows, IntArray]:
    """Check rows to unlearn; return them and the numbers of their classes.

    Unknown classes are refused: no row of them was learned.
    """
    model._require_fitted()
    model._check_unchanged()
    labelled = check_labelled_rows(
        model, X, y, sample_weight, sparse=model._learner().accepts_sparse
    )
    accept_rows(model, X, first=False)
    if is_balanced(model._class_weight):
        raise ValueError(
            "rows cannot be unlearned with class_weight='balanced': the weights with "
            "which they were learned are unknown"
        )
    numbers = encode(labelled.labels, model.classes_, model._index)
    unknown = np.flatnonzero(numbers < 0)
    if unknown.shape[0] > 0:
        raise ValueError(
            f"row {unknown[0]} cannot be unlearned: its label "
            f"{labelled.labels[unknown[0]]!r} was never learned"
        )
    weight = model._row_weights(numbers, labelled.weight)
    return labelled._replace(weight=weight), numbers


def model_without(
    state: Model, labelled: LabelledRows, numbers: IntArray, model: Any
) -> Model:
    """Return an RPNB model without rows that it has learned, or raise an error.

    `model` is the estimator, for its parameters and classes.
    """
    if state.keep < 1.0:
        raise ValueError(
            f"rows cannot be unlearned with forgetting={model.forgetting!r}: it is "
            "unknown how much of them is left"
        )
    if state.scale is not None:
        raise ValueError(
            f"rows cannot be unlearned with scale={model.scale!r}: the scale with "
            "which they were learned is unknown"
        )
    n = numbers.shape[0]
    if n > state.n_updates:
        raise ValueError(
            f"{n} rows cannot be unlearned: only {state.n_updates} were learned"
        )
    part = moments_of(state, labelled.rows, numbers, labelled.weight)
    left = moments_without(state.moments, part, model.classes_)
    new = copy_model(state)
    for mine, value in zip(new.moments, left, strict=True):
        mine[:] = value
    new.classes.seen[:] = np.maximum(new.classes.seen - part.weight, 0.0)
    new.n_seen -= n
    new.n_updates -= n
    refresh_all(new)
    return new


def moments_without(moments: Moments, part: Moments, classes: LabelArray) -> Moments:
    """Return the moments without a part, or raise an error naming the class."""
    left, heavy, strange = without(moments, part)
    if heavy.shape[0] > 0:
        m = int(heavy[0])
        raise ValueError(
            f"rows of class {classes[m]!r} cannot be unlearned: they weigh "
            f"{part.weight[m]:g}, but the learned rows of this class only "
            f"{moments.weight[m]:g}"
        )
    if strange.shape[0] > 0:
        raise ValueError(
            f"rows of class {classes[int(strange[0])]!r} cannot be unlearned: without "
            "them a variance would be negative, so they cannot all have been learned"
        )
    return left
