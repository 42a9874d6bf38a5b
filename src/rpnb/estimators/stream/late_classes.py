"""Classes that join at their first row, for learners that must not know them before.

The answers of some learners depend on how many classes there are. Rows that bring new
classes are learnt up to each of them, the class joins, and its row is learnt.
"""

from typing import Any

import numpy as np

from rpnb.core.kernels.arrays import IntArray
from rpnb.estimators.checks.labels import LabelArray, encode, join_classes
from rpnb.estimators.checks.weights import weight_of
from rpnb.estimators.stream.learner import StreamLearner
from rpnb.estimators.stream.lessons import LabelledRows

_NONE_DECLARED = np.zeros(0, np.int64)


def classes_before(
    labels: LabelArray, known: LabelArray, declared: LabelArray | None
) -> LabelArray:
    """Return the classes that are there before the first row.

    A learner cannot do without any: if there is none, that of the first row.
    """
    if declared is not None:
        return join_classes(known, declared, "classes")
    return known if known.shape[0] > 0 else labels[:1]


def learn_class_by_class(learner: StreamLearner[Any], lesson: LabelledRows) -> IntArray:
    """Let a learner predict and learn all rows, and take new classes in on the way.

    A row of a new class is predicted before the class joins. Returns the numbers of the
    predicted classes, among those known in the end.
    """
    rows, labels, weight = lesson
    n = labels.shape[0]
    predicted = np.full(n, -1)
    done = 0
    while done < n:
        numbers = encode(labels[done:], learner.classes_, learner._index)
        new = np.flatnonzero(numbers < 0)
        stop = done + int(new[0]) if new.shape[0] > 0 else n
        if done < stop:
            part = slice(done, stop)
            learner._learn(
                learner._state,
                rows[part],
                numbers[: stop - done],
                weight_of(weight, part),
                predicted[part],
            )
        if stop < n:
            row = slice(stop, stop + 1)
            predicted[row] = learner._classify(learner._state, rows[row])
            _join(learner, labels[row], predicted)
            number = encode(labels[row], learner.classes_, learner._index)
            w = weight_of(weight, row)
            learner._learn(learner._state, rows[row], number, w, None)
        done = stop + 1
    return predicted


def _join(learner: StreamLearner[Any], label: LabelArray, predicted: IntArray) -> None:
    """Let one more class in; give classes predicted so far their new numbers."""
    before = learner.classes_
    classes = join_classes(before, label, "y")
    learner._state = learner._joined(classes, _NONE_DECLARED)
    learner._set_classes(classes)
    moved = np.searchsorted(classes, before)
    answered = predicted >= 0
    predicted[answered] = moved[predicted[answered]]
