"""Rows with their labels and weights, checked before anything is learned from them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.checks.labels import as_labels
from rpnb.estimators.checks.parameters import draw_seed
from rpnb.estimators.checks.rows import check_rows
from rpnb.estimators.checks.weights import ANY_WEIGHT, check_weight
from rpnb.labels import CodedLabels

_EQUAL_WEIGHTS = np.ones(1)


class LabelledRows(NamedTuple):
    """Rows, labels and weights of one call."""

    rows: Any
    """(n, p) observations, dense or sparse"""
    labels: Any
    """(n,) an array, or `CodedLabels`"""
    weight: FloatArray
    """(n,) or, if all rows weigh the same, (1,)"""


def check_labelled_rows(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    sparse: bool,
    limits: tuple[float, float] = ANY_WEIGHT,
    names: Sequence[Any] | None = None,
    checked: bool = False,
) -> LabelledRows:
    """Return the rows of positive weight, or raise an error.

    Nothing is compared with the estimator's classes and features. Messages name columns
    by `names`, or by the names in X. `checked` means that X has already passed
    `check_rows`.
    """
    rows = X if checked else check_rows(estimator, X, sparse=sparse, names=names)
    labels = y if isinstance(y, CodedLabels) else as_labels(y)
    if len(labels) != rows.shape[0]:
        raise ValueError(
            f"X has {rows.shape[0]} rows and y has {len(labels)} labels: inconsistent "
            "numbers of samples"
        )
    if sample_weight is None:
        return LabelledRows(rows, labels, _EQUAL_WEIGHTS)
    weight = check_weight(sample_weight, len(labels), limits)
    if weight.all():
        return LabelledRows(rows, labels, weight)
    kept = weight > 0.0
    return LabelledRows(rows[kept], labels[kept], weight[kept])


def drawn_order(random_state: Any, n: int) -> IntArray:
    """Return a random order of n rows, determined by `random_state`."""
    return np.random.default_rng([draw_seed(random_state), 1]).permutation(n)


def reorder(labelled: LabelledRows, order: IntArray) -> LabelledRows:
    """Return the rows in another order."""
    rows, labels, weight = labelled
    some = weight if weight.shape[0] == 1 else weight[order]
    return LabelledRows(rows[order], labels[order], some)
