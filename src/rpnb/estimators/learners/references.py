"""The references that every table has: the majority class, and no change."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from rpnb._core.streams import count_majority, repeat_last
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.saving.schema import MOST_COUNTED, StateSchema, indices
from rpnb.estimators.stream.classifier import StreamClassifier
from rpnb.estimators.stream.learner import (
    LEARNERS_OF_BLOCKS,
    BlockStatistics,
    Shapes,
)

__all__ = ["MajorityClass", "NoChange"]


class LabelOnlyClassifier(StreamClassifier[IntArray]):
    """Abstract: a learner that ignores features. Its state has one number per class.

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

    def _active_classes(self, state: IntArray) -> IntArray:
        return np.flatnonzero(state >= 0)

    def _learn(
        self,
        state: IntArray,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        self._observe(state, y, np.empty_like(y) if labels is None else labels)

    @staticmethod
    @abstractmethod
    def _observe(state: IntArray, y: IntArray, labels: IntArray) -> None:
        """Predict each row from the state into `labels`, then learn its class."""

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

    def _state_schema(
        self, state: Mapping[str, Any], shapes: Shapes, M: int, p: int
    ) -> StateSchema:
        return StateSchema({"state": indices(M, low=-1, below=MOST_COUNTED // M)})

    def _import_state(
        self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]], M: int, p: int
    ) -> IntArray:
        return arrays["state"]


@final
class MajorityClass(LabelOnlyClassifier):
    """Predicts the class seen most often so far; of equals, the first.

    {attributes}

    Examples
    --------
    >>> from rpnb.baselines import MajorityClass
    >>> X, y = [[0.0]] * 5, ["a", "b", "b", "b", "a"]
    >>> MajorityClass().predict_then_learn(X, y, classes=["a", "b"]).tolist()
    ['a', 'a', 'a', 'b', 'b']
    """

    _observe = staticmethod(count_majority)

    def _check_learns_blocks(self) -> None:
        """Accept it: counts add up."""

    def _observe_block(
        self,
        state: IntArray,
        X: NDArray[Any],
        y: IntArray,
        labels: IntArray,
        weight: FloatArray,
        start: int,
    ) -> BlockStatistics:
        if state.max() < 0:
            labels[:] = -1
        return BlockStatistics(y, labels, {}, weight)

    def _learn_blocks(
        self, state: IntArray, blocks: Sequence[BlockStatistics]
    ) -> IntArray:
        for block in blocks:
            counts = np.bincount(block.y, minlength=state.shape[0])
            state[counts > 0] = np.maximum(state, 0)[counts > 0]
            state += counts
        return state

    def _row_counts(self, state: IntArray) -> tuple[int, int]:
        seen = int(np.maximum(state, 0).sum())
        return seen, seen


@final
class NoChange(LabelOnlyClassifier):
    """Predicts the class of the row before; before the first row, the first class.

    The state of the class seen last is the number of rows seen, that of others 0.

    {attributes}

    References
    ----------
    A. Bifet, J. Read, I. Žliobaitė, B. Pfahringer and G. Holmes, "Pitfalls in
    benchmarking data stream classification and how to avoid them", ECML PKDD 2013.

    Examples
    --------
    >>> from rpnb.baselines import NoChange
    >>> X, y = [[0.0]] * 5, ["a", "b", "b", "b", "a"]
    >>> NoChange().predict_then_learn(X, y, classes=["a", "b"]).tolist()
    ['a', 'a', 'b', 'b', 'b']
    """

    _observe = staticmethod(repeat_last)

    def fit(self, X: Any, y: Any, *, shuffle: bool = False) -> Self:
        """Forget everything and learn from the rows of X, once.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Observations.
        y : array-like of shape (n,)
            Their labels.
        shuffle : bool, default=False
            Whether the order of the rows is drawn. By default it is kept, unlike that
            of other learners: it is all that this one knows.

        Returns
        -------
        self
        """
        return super().fit(X, y, shuffle=shuffle)

    def _check_learns_blocks(self) -> None:
        raise TypeError(
            "NoChange predicts the class of the row before, which is learned only with "
            "its mini-batch, so rows cannot be shared out: evaluate it in one process. "
            f"{LEARNERS_OF_BLOCKS}"
        )

    def _row_counts(self, state: IntArray) -> tuple[int, int]:
        seen = max(int(state.max()), 0)
        return seen, seen
