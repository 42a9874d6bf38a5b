"""New classes, for learners whose predictions depend on how many classes there are.

They must not know a class before its first row. Rows are learned up to the first row of
a new class, the class is added to the state, and its row is learned.
"""

from typing import Any

import numpy as np

from rpnb.core.kernels.arrays import IntArray
from rpnb.core.passes.blocks import weights_of
from rpnb.estimators.checks.labels import LabelArray, encode, join_classes
from rpnb.estimators.stream.labelled_rows import LabelledRows
from rpnb.estimators.stream.learner import ScoredRows, StreamLearner
from rpnb.estimators.stream.scored_parts import ScoredPart

_NONE_DECLARED = np.zeros(0, np.int64)


def initial_classes(
    labels: LabelArray, known: LabelArray, declared: LabelArray | None
) -> LabelArray:
    """Return the classes before the first row: those known and those declared.

    A state has at least one class: if there is none, that of the first row.
    """
    if declared is not None:
        return join_classes(known, declared, "classes")
    return known if known.shape[0] > 0 else labels[:1]


def learn_adding_classes(
    learner: Any,
    labelled: LabelledRows,
    *,
    whole: bool = False,
    scored: list[ScoredPart] | None = None,
) -> IntArray:
    """Predict and learn all rows, adding each new class at its first row.

    A row of a new class is predicted before the class is added. Returns the numbers of
    the predicted classes, among those known in the end. What was known of the rows
    before is added to `scored`, if given.
    """
    rows, labels, weight = labelled
    n = labels.shape[0]
    predicted = np.full(n, -1)
    done = 0
    while done < n:
        numbers = encode(labels[done:], learner.classes_, learner._index)
        new = np.flatnonzero(numbers < 0)
        stop = done + int(new[0]) if new.shape[0] > 0 else n
        if done < stop:
            part = slice(done, stop)
            some = numbers[: stop - done]
            w = weights_of(weight, part)
            learner._learn_numbered(
                rows[part], some, w, predicted[part], scored, whole=whole
            )
        if stop < n:
            row = slice(stop, stop + 1)
            features = learner._features(rows[row])
            predicted[row] = learner._classify(learner._state, features)
            if scored is not None:
                P = learner._probabilities(learner._state, features)
                scored.append(ScoredPart(learner.classes_, ScoredRows(P)))
            _add_class(learner, labels[row], predicted)
            number = encode(labels[row], learner.classes_, learner._index)
            learner._learn_numbered(rows[row], number, weights_of(weight, row), None)
        done = stop + 1
    return predicted


def _add_class(
    learner: StreamLearner[Any], label: LabelArray, predicted: IntArray
) -> None:
    """Add a class to the state; give classes predicted so far their new numbers."""
    before = learner.classes_
    classes = join_classes(before, label, "y")
    learner._state = learner._state_with_classes(classes, _NONE_DECLARED)
    learner._set_classes(classes)
    new_number = np.searchsorted(classes, before)
    done = predicted >= 0
    predicted[done] = new_number[predicted[done]]
