"""Reference learners for every comparison: the majority class, and no change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

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
    LearnsBlocks,
    Shapes,
)

__all__ = ["MajorityClass", "NoChange"]


@final
@dataclass
class LabelLearner(LearnsBlocks[IntArray]):
    """A learner that ignores features. Its state has one number per class.

    For the majority class it is the number of rows of the class. For no change, the
    class seen last has the number of all rows, and the others have 0. A class that has
    been neither seen nor declared has −1.
    """

    given: Any
    majority: bool
    """whether the class seen most often is predicted, or else the one seen last"""

    accepts_sparse = True
    accepts_unlabelled = True

    def begin(self, p: int, classes: LabelArray, declared: IntArray) -> IntArray:
        state = np.full(classes.shape[0], -1)
        state[declared] = 0
        return state

    def grow(
        self,
        state: IntArray,
        source: IntArray,
        classes: LabelArray,
        declared: IntArray,
    ) -> IntArray:
        arranged = np.where(source >= 0, state[source], -1)
        arranged[declared] = np.maximum(arranged[declared], 0)
        return arranged

    def active_classes(self, state: IntArray) -> IntArray:
        return np.flatnonzero(state >= 0)

    def learn(
        self,
        state: IntArray,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        observe = count_majority if self.majority else repeat_last
        observe(state, y, np.empty_like(y) if labels is None else labels)

    def classify(self, state: IntArray, X: NDArray[Any]) -> IntArray:
        return np.full(X.shape[0], np.argmax(state))

    def copy(self, state: IntArray) -> IntArray:
        return state.copy()

    def export(self, state: IntArray) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {}, {"state": state}

    def schema(
        self, state: Mapping[str, Any], shapes: Shapes, M: int, p: int
    ) -> StateSchema:
        return StateSchema({"state": indices(M, low=-1, below=MOST_COUNTED // M)})

    def restore(
        self,
        metadata: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        classes: LabelArray,
        p: int,
    ) -> IntArray:
        return arrays["state"]

    def tag(self, tags: Any) -> Any:
        tags.classifier_tags.poor_score = True
        return tags

    def row_counts(self, state: IntArray) -> tuple[int, int]:
        counts = np.maximum(state, 0)
        seen = int(counts.sum() if self.majority else counts.max())
        return seen, seen

    def check_learns_blocks(self) -> None:
        if not self.majority:
            raise TypeError(
                f"{type(self.given).__name__} predicts the class of the row before, "
                "which is learned only with its mini-batch, so rows cannot be "
                f"distributed: evaluate it in one process. {LEARNERS_OF_BLOCKS}"
            )

    def observe_block(
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

    def learn_blocks(
        self, state: IntArray, blocks: Sequence[BlockStatistics]
    ) -> IntArray:
        for block in blocks:
            counts = np.bincount(block.y, minlength=state.shape[0])
            state[counts > 0] = np.maximum(state, 0)[counts > 0]
            state += counts
        return state


@final
class MajorityClass(StreamClassifier):
    """Predicts the most frequent class so far; ties go to the first class.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels known so far, sorted.
    n_features_in_ : int
        Number of features of the first data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the first data had column names that are all strings.
    n_samples_seen_ : int
        Number of samples seen so far.
    n_updates_ : int
        Number of samples that changed the model.

    Examples
    --------
    >>> from rpnb.baselines import MajorityClass
    >>> X, y = [[0.0]] * 5, ["a", "b", "b", "b", "a"]
    >>> MajorityClass().predict_then_learn(X, y, classes=["a", "b"]).tolist()
    ['a', 'a', 'a', 'b', 'b']
    """

    def _learner(self) -> LabelLearner:
        return LabelLearner(self, majority=True)


@final
class NoChange(StreamClassifier):
    """Predicts the class of the previous sample; at first, the first class.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels known so far, sorted.
    n_features_in_ : int
        Number of features of the first data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the first data had column names that are all strings.
    n_samples_seen_ : int
        Number of samples seen so far.
    n_updates_ : int
        Number of samples that changed the model.

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

    def _learner(self) -> LabelLearner:
        return LabelLearner(self, majority=False)
