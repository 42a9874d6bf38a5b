"""The parameter `class_weight`: weights of the classes.

One implementation for all learners that accept weights: the class weights multiply the
weights of the rows before a learner sees them.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.checks.labels import LabelArray, as_labels, join_classes
from rpnb.estimators.checks.parameters import check_real
from rpnb.estimators.saving.schema import MOST_COUNTED, ArraySchema

ClassWeight: TypeAlias = Mapping[Any, float] | Literal["balanced"] | None

BALANCED: Final = "balanced"
#: Name in model files of how many rows of each class were seen.
COUNTS: Final = "class_counts"
# Weights further apart would be lost to rounding in sums.
_LIGHTEST, _HEAVIEST = 1e-6, 1e6


def is_balanced(given: Any) -> bool:
    """Return whether weights depend on the numbers of rows."""
    return isinstance(given, str) and given == BALANCED


def check_class_weight(given: Any, classes: LabelArray, *, whole: bool) -> None:
    """Refuse invalid class weights; with `whole`, also those of unknown classes.

    On a stream, a named class may appear later.
    """
    if given is None or is_balanced(given):
        return
    if not isinstance(given, Mapping) or not given:
        raise ValueError(
            "class_weight must be None, 'balanced' or a dictionary of labels and "
            f"weights, got {given!r}"
        )
    for label, weight in given.items():
        name = f"class_weight of {label!r}"
        check_real(name, weight, _LIGHTEST, high=_HEAVIEST)
    # Labels of another kind, such as "1" for 1, would never match.
    join_classes(classes, as_labels(list(given), "class_weight"), "class_weight")
    known = set(classes.tolist())
    unknown = [label for label in given if label not in known]
    if whole and unknown:
        raise ValueError(
            f"class_weight names the class {unknown[0]!r}, which is not in y; there "
            f"are {classes.tolist()}"
        )


def weigh_rows(
    given: Any,
    classes: LabelArray,
    y: IntArray,
    weight: FloatArray,
    counts: IntArray | None,
    *,
    whole: bool = False,
) -> FloatArray:
    """Return the weights of rows of classes y, multiplied by their class weights.

    `counts` (M,) are the rows of each class so far, which balanced weights need and to
    which they add the rows. `whole` means that there are no other rows.
    """
    if given is None:
        return weight
    if not isinstance(given, str):
        of_class = fixed_weights(given, classes)
        return weight * np.where(y >= 0, of_class[y], 1.0)
    assert counts is not None  # noqa: S101 - balanced weights come with counts
    weights = whole_weights if whole else balanced_weights
    return weight * weights(y, counts)


def fixed_weights(given: Mapping[Any, float], classes: LabelArray) -> FloatArray:
    """Return the weight of each class (M,), 1 where none is given."""
    return np.array([float(given.get(label, 1.0)) for label in classes.tolist()])


def balanced_weights(y: IntArray, counts: IntArray) -> FloatArray:
    """Return each row's weight n/(M·n_y), and add the rows to `counts` (M,).

    n, M and n_y are the numbers of rows, of classes and of rows of the same class so
    far, the row itself included. A row of class −1 weighs 1 and is not counted.
    """
    labelled = np.flatnonzero(y >= 0)
    numbers = y[labelled]
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    first = np.searchsorted(ordered, ordered)
    of_class = np.empty_like(numbers)
    of_class[order] = np.arange(1, numbers.shape[0] + 1) - first
    of_class += counts[numbers]
    rows = counts.sum() + np.arange(1, numbers.shape[0] + 1)
    classes = np.count_nonzero(counts) + np.cumsum(of_class == 1)
    weight = np.ones(y.shape[0])
    weight[labelled] = rows / (classes * of_class)
    counts += np.bincount(numbers, minlength=counts.shape[0])
    return weight


def whole_weights(y: IntArray, counts: IntArray) -> FloatArray:
    """Do what `balanced_weights` does, with the counts of all rows for every row."""
    counts += np.bincount(y, minlength=counts.shape[0])
    result: FloatArray = counts.sum() / (np.count_nonzero(counts) * counts[y])
    return result


def counts_schema(M: int) -> ArraySchema:
    """Return the schema of the array of counts in a model file."""
    return ArraySchema(np.int64, (M,), 0, MOST_COUNTED)


def class_weight_to_json(given: Any) -> Any:
    """Return the parameter as a JSON value."""
    if not isinstance(given, Mapping):
        return given
    return {
        "labels": as_labels(list(given)).tolist(),
        "weights": [float(weight) for weight in given.values()],
    }


def class_weight_from_json(held: Any) -> Any:
    """Return the parameter from the JSON value of `class_weight_to_json`."""
    if isinstance(held, dict):
        return dict(zip(held["labels"], held["weights"], strict=True))
    return held
