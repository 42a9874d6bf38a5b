"""Class labels: checks, and their numbers 0 … M−1 in sorted order."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from rpnb.core.kernels.arrays import IntArray
from rpnb.estimators.checks.masks import refuse_masked
from rpnb.labels import CodedLabels, LabelIndex

LabelArray = NDArray[Any]

# Up to this many labels a dictionary is faster than NumPy's search.
_FEW = 32


def as_labels(y: Any, name: str = "y") -> LabelArray:
    """Return y as a one-dimensional array of labels, or raise ValueError.

    Labels are text, integers, booleans, or floats with integer values.
    """
    if y is None:
        raise ValueError(
            f"Learning requires {name} to be passed, but the target {name} is None."
        )
    refuse_masked(y, name)
    labels = np.asarray(y)
    if labels.dtype.kind in "US" and not hasattr(y, "dtype"):
        # NumPy has converted everything else beside a string to a string.
        _check_objects(np.asarray(y, dtype=object), name)
    if labels.ndim != 1:
        labels = column_or_1d(labels, warn=True)
    kind = labels.dtype.kind
    if kind in "iubU":
        return labels
    if kind == "f":
        bad = ~np.isfinite(labels)
        if bad.any():
            row = int(np.argmax(bad))
            raise ValueError(
                f"Input {name} contains NaN or infinity (row {row}); labels must be "
                "text, integers or booleans"
            )
        if np.abs(labels).max(initial=0.0) >= 2.0**63:
            raise ValueError(f"Unknown label type: {name} holds numbers beyond 64 bits")
        check_classification_targets(labels)
        return labels
    if kind == "O":
        return _check_objects(labels, name)
    raise ValueError(
        f"Unknown label type: {name} has dtype {labels.dtype}; labels must be text, "
        "integers or booleans"
    )


def _check_objects(labels: LabelArray, name: str) -> LabelArray:
    """Return an array of Python objects that are all text, or all of one other kind."""
    if all(type(label) is str for label in labels):
        return labels
    for row, label in enumerate(labels):
        if not isinstance(label, str | int | float | np.generic):
            raise ValueError(
                f"Unknown label type: {name} holds {label!r} (row {row}); labels must "
                "be text, integers or booleans"
            )
    if any(isinstance(label, str) for label in labels):
        if all(isinstance(label, str) for label in labels):
            return labels
        for row, label in enumerate(labels):
            if isinstance(label, float) and label != label:
                raise ValueError(
                    f"Input {name} contains NaN (row {row}): its label is missing; "
                    "leave such rows out"
                )
        raise ValueError(f"Unknown label type: {name} mixes text and numbers")
    numbers = np.array(labels.tolist())
    if numbers.dtype.kind == "O":
        raise ValueError(f"Unknown label type: {name} holds numbers beyond 64 bits")
    return as_labels(numbers, name)


def _family(labels: LabelArray) -> str:
    """Return "booleans", "text" or "numbers": kinds of labels that do not mix."""
    kind = labels.dtype.kind
    return {"b": "booleans", "U": "text", "O": "text"}.get(kind, "numbers")


def join_classes(classes: LabelArray, labels: LabelArray, name: str) -> LabelArray:
    """Return the sorted union of the known classes and `labels`."""
    if classes.shape[0] == 0:
        return np.unique(labels)
    if _family(classes) != _family(labels):
        raise ValueError(
            f"{name} holds {_family(labels)}, but the classes known so far are "
            f"{_family(classes)}: {classes[:3].tolist()}"
            f"{' …' if classes.shape[0] > 3 else ''}"
        )
    new = np.unique(labels)
    if _family(new) == "numbers" and new.dtype.kind != classes.dtype.kind:
        # NumPy would join the two as floats, which cannot represent all large integers.
        classes, new = _as_int64(classes), _as_int64(new)
    return np.unique(np.concatenate([classes, new]))


def _as_int64(labels: LabelArray) -> LabelArray:
    """Return whole numbers of any type as int64, or refuse those that do not fit."""
    for label in (labels.max(), labels.min()):
        if not -(2**63) <= int(label) < 2**63:
            raise ValueError(
                f"the label {label} is too large to be combined with labels of another "
                "type: it must fit into a signed 64-bit integer"
            )
    return labels.astype(np.int64)


def encode(labels: LabelArray, classes: LabelArray, index: LabelIndex) -> IntArray:
    """Return each label's number among the sorted classes, −1 where there is none.

    `index` holds the same classes with the same numbers.
    """
    # NumPy would compare numbers of two kinds as floats, which cannot represent all
    # large integers.
    alike = labels.dtype.kind == classes.dtype.kind != "O"
    if labels.shape[0] <= _FEW or not alike:
        return index.find_all(labels.tolist())
    place = np.searchsorted(classes, labels)
    place[place == classes.shape[0]] = 0
    return np.where(classes[place] == labels, place, -1)


def number_labels(
    labels: LabelArray | CodedLabels,
    known: LabelArray,
    index: LabelIndex,
    declared: LabelArray | None,
) -> tuple[LabelArray, IntArray]:
    """Return all classes (`known` itself if none is new) and the labels' numbers.

    `index` holds the known classes; `declared` are further classes.
    """
    if isinstance(labels, CodedLabels):
        table = np.zeros(labels.values.shape[0], np.int64)
        there = np.flatnonzero(np.bincount(labels.codes))
        some = labels.values[there]
        joined, table[there] = number_labels(some, known, index, declared)
        return joined, table[labels.codes]
    joined = known
    if declared is not None:
        if declared.shape[0] == 0:
            raise ValueError("classes must name at least one class, got none")
        joined = join_classes(known, declared, "classes")
        if joined.shape != known.shape:
            index = LabelIndex(joined.tolist())
    if joined.shape[0] > 0 and _family(joined) == _family(labels):
        numbers = encode(labels, joined, index)
        if numbers.min(initial=0) >= 0:
            if declared is not None:
                # One label gives the classes the dtype that all labels would.
                joined = join_classes(joined, labels[:1], "y")
            return known if joined.shape == known.shape else joined, numbers
    joined = join_classes(joined, labels, "y")
    return joined, encode(labels, joined, LabelIndex(joined.tolist()))


def decode(numbers: IntArray, classes: LabelArray) -> LabelArray:
    """Return the labels of class numbers; −1, for no prediction, becomes None."""
    return CodedLabels(numbers, classes).decoded()
