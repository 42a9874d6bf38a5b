"""The references that every table has: the majority class, and no change."""

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.compiled import compiled
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.saving.files import checked_array
from rpnb.estimators.stream.classifier import StreamClassifier

__all__ = ["MajorityClass", "NoChange"]


class LabelOnlyClassifier(StreamClassifier[IntArray]):
    """Abstract: a learner that looks at labels only. Its state has one number a class.

    A class not yet seen or declared has −1.
    """

    _accepts_sparse = True
    _accepts_unlabelled = True

    def _new_state(self, p: int, classes: LabelArray, declared: IntArray) -> IntArray:
        state = np.full(classes.shape[0], -1)
        state[declared] = 0
        return state

    def _rearrange_classes(
        self,
        state: IntArray,
        source: IntArray,
        classes: LabelArray,
        declared: IntArray,
    ) -> IntArray:
        arranged = np.where(source >= 0, state[source], -1)
        arranged[declared] = np.maximum(arranged[declared], 0)
        return arranged

    def _classify(self, state: IntArray, X: NDArray[Any]) -> IntArray:
        return np.full(X.shape[0], np.argmax(state))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def _copy(self, state: IntArray) -> IntArray:
        return state.copy()

    def _export_state(
        self, state: IntArray
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {}, {"state": state}

    def _import_state(
        self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]], M: int, p: int
    ) -> IntArray:
        return checked_array(arrays, "state", np.int64, (M,))


@final
class MajorityClass(LabelOnlyClassifier):
    """Predicts the class seen most often so far, the first of equals."""

    def _learn(
        self,
        state: IntArray,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        _count_majority(state, y, np.empty_like(y) if labels is None else labels)

    def _row_counts(self, state: IntArray) -> tuple[int, int]:
        seen = int(np.maximum(state, 0).sum())
        return seen, seen


@final
class NoChange(LabelOnlyClassifier):
    """Predicts the class of the row before; before the first row, the first class.

    The class last seen has the number of rows seen so far, the others 0.
    """

    def _learn(
        self,
        state: IntArray,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        _repeat_last(state, y, np.empty_like(y) if labels is None else labels)

    def _row_counts(self, state: IntArray) -> tuple[int, int]:
        seen = max(int(state.max()), 0)
        return seen, seen


@compiled
def _count_majority(state: IntArray, y: IntArray, labels: IntArray) -> None:
    """Label each row by the class counted most before it, then count its own."""
    best = np.argmax(state)
    for i in range(y.shape[0]):
        labels[i] = best if state[best] >= 0 else -1
        m = y[i]
        if m < 0:
            continue
        state[m] = max(state[m], 0) + 1
        if state[m] > state[best] or (state[m] == state[best] and m < best):
            best = m


@compiled
def _repeat_last(state: IntArray, y: IntArray, labels: IntArray) -> None:
    """Label each row by the class before it."""
    last = np.argmax(state)
    seen = max(state[last], 0)
    known = state[last] >= 0
    for i in range(y.shape[0]):
        labels[i] = last if known else -1
        m = y[i]
        if m < 0:
            continue
        state[last] = 0 if known else -1
        known = True
        seen += 1
        last = m
        state[m] = seen
