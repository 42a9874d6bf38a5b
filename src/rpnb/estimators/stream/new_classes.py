"""New classes, for learners whose predictions depend on how many classes there are.

A class must not be in their state before its first row. Rows are learned up to the
first row of a new class, the class is added to the state, and its row is learned.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.row_blocks import weights_of
from rpnb.estimators.checks.labels import LabelArray, join_classes
from rpnb.estimators.stream.labelled_rows import LabelledRows
from rpnb.labels import LabelIndex

_NONE_DECLARED = np.zeros(0, np.int64)


class ScoredPart(NamedTuple):
    """Rows that were predicted with the same classes."""

    classes: LabelArray
    """(M,) the classes then"""
    P: FloatArray
    """(n, M) the probabilities before each row"""


class ScoredRows(NamedTuple):
    """Rows that were predicted, then learned."""

    truth: IntArray
    """(n,) numbers of their classes"""
    predicted: IntArray
    """(n,) numbers of the predicted classes, −1 for none"""
    P: FloatArray
    """(n, M) the probabilities before each row, of the classes afterwards"""


def join_scored(parts: Sequence[ScoredPart], index: LabelIndex) -> FloatArray:
    """Join parts over the classes of the index; 0 for a class not known yet."""
    if len(parts) == 1 and parts[0].classes.shape[0] == len(index):
        return parts[0].P
    sizes = [part.P.shape[0] for part in parts]
    P = np.zeros((sum(sizes), len(index)))
    for part, stop in zip(parts, np.cumsum(sizes), strict=True):
        own = part.P
        columns = index.find_all(part.classes.tolist())
        P[stop - own.shape[0] : stop, columns] = own
    return P


def initial_classes(
    first: LabelArray, known: LabelArray, declared: LabelArray | None
) -> LabelArray:
    """Return the classes before the first row: those known and those declared.

    A state needs at least one class: if there is none, `first`, that of the first row,
    is used.
    """
    if declared is not None:
        return join_classes(known, declared, "classes")
    return known if known.shape[0] > 0 else first


def learn_adding_classes(
    model: Any,
    labelled: LabelledRows,
    classes: LabelArray,
    numbers: IntArray,
    *,
    whole: bool = False,
    scored: list[ScoredPart] | None = None,
) -> IntArray:
    """Predict and learn all rows, adding each new class at its first row.

    `numbers` (n,) are those of the rows' classes among `classes`, all that there are in
    the end. A row of a new class is predicted before the class is added. Returns the
    numbers of the predicted classes. The scores of the rows before they were learned
    are added to `scored`, if given.
    """
    rows, _, weight = labelled
    n = numbers.shape[0]
    index = LabelIndex(classes.tolist())
    known = np.zeros(classes.shape[0], np.bool_)
    known[index.find_all(model.classes_.tolist())] = True
    seen, first = np.unique(numbers, return_index=True)
    predicted = np.full(n, -1)
    done = 0
    for stop in [*np.sort(first[~known[seen]]).tolist(), n]:
        # Numbers of the classes known so far, and back; no prediction, −1, stays.
        own, back = np.cumsum(known) - 1, np.append(np.flatnonzero(known), -1)
        if done < stop:
            part = slice(done, stop)
            found = np.empty(stop - done, np.int64)
            w = weights_of(weight, part)
            model._learn_numbered(
                rows[part], own[numbers[part]], w, found, scored, whole=whole
            )
            predicted[part] = back[found]
        if stop < n:
            row = slice(stop, stop + 1)
            features = model._features(rows[row])
            found = model._learner().classify(model._state, features)
            predicted[row] = back[found]
            if scored is not None:
                P = model._learner().probabilities(model._state, features)
                scored.append(ScoredPart(model.classes_, P))
            known[numbers[stop]] = True
            _set_known(model, classes[known])
            own = np.cumsum(known) - 1
            w = weights_of(weight, row)
            model._learn_numbered(rows[row], own[numbers[row]], w, None)
        done = stop + 1
    return predicted


def _set_known(model: Any, classes: LabelArray) -> None:
    """Grow the state of a model to these classes, known and new ones."""
    source = model._index.find_all(classes.tolist())
    learner = model._learner()
    model._state = learner.grow_last(model._state, source, classes, _NONE_DECLARED)
    model._set_classes(classes)
