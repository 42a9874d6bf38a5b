"""The functions that each learner defines, and what is known of its classes.

`rpnb.estimators.stream.classifier` turns them into scikit-learn's methods.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from rpnb.core.columns.categories import Categories
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.passes.blocks import weights_of
from rpnb.estimators.checks.columns import Columns
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.weights import ANY_WEIGHT
from rpnb.estimators.saving.schema import StateSchema
from rpnb.labels import LabelIndex

State = TypeVar("State")
Shapes: TypeAlias = Mapping[str, tuple[int, ...]]
_ONE = np.ones(1)

#: The end of a message that refuses a learner.
LEARNERS_OF_BLOCKS = (
    "Learners that can: RPNBClassifier with a batch_size other than 1, GaussianNB, "
    "PooledClassifier(members='mergeable') and MajorityClass"
)


class BlockStatistics(NamedTuple):
    """What a mini-batch learns from one of its blocks of rows."""

    y: IntArray
    """(n,) the classes of the rows"""
    labels: IntArray
    """(n,) the predicted ones"""
    arrays: Mapping[str, NDArray[Any]]
    """the statistics"""
    weight: FloatArray = _ONE
    """(n,) or (1,) weights of the rows"""
    probabilities: FloatArray | None = None
    """(n, M) of the predictions, where they were asked for"""


class ScoredRows(NamedTuple):
    """What was known of rows before each of them was learned."""

    probabilities: FloatArray
    """(n, M) of the classes"""
    thresholds: FloatArray | None = None
    """(n, coverages) of prediction sets, of learners that track them themselves"""


class StreamLearner(ABC, Generic[State]):
    """Interface: functions on a learner's state. Classes are numbers 0 … M−1 here.

    A class is active if it may be predicted: from the start if it was declared, from
    its first row on otherwise.
    """

    _accepts_sparse = False
    """Whether rows may come as a SciPy sparse matrix; they are never made dense."""
    _accepts_unlabelled = False
    """Whether `_learn` accepts the class −1, of a row that is only predicted."""
    _sensitive_to_scale = False
    """Whether features that differ much in spread are worth a warning."""
    _weight_limits = ANY_WEIGHT
    """The least and the largest weight that a row may have, if it is not 0."""
    _requires_seen_classes = False
    """Whether a class may be added to the state only when its first row is learned."""
    _predicts_blocks = False
    """Whether `_observe_block` predicts the rows itself, into `labels`."""

    _given_columns: Columns | None = None
    """what columns hold, said by a caller that codes rows itself, before the first"""
    _columns: Columns | None = None
    """what the columns of a table hold, where they are not all numbers"""
    _categories: Categories | None = None
    """what is known about categories, where some columns hold them"""
    _class_counts: IntArray | None = None
    """(M,) rows seen of each class, where weights of classes follow them"""
    classes_: LabelArray
    """(M,) the classes known so far, sorted."""
    n_features_in_: int
    """Number of features."""
    _index: LabelIndex
    """the numbers of the classes"""
    _state: State

    @abstractmethod
    def _new_state(self, p: int, classes: LabelArray, declared: IntArray) -> State:
        """Check the parameters and return the state before the first row.

        The classes numbered in `declared` are active from the start.
        """

    @abstractmethod
    def _rearrange_classes(
        self, state: State, source: IntArray, classes: LabelArray, declared: IntArray
    ) -> State:
        """Return a state whose class m is class source[m] of `state`, or new if −1.

        The classes numbered in `declared` are active from now on. `state` itself stays
        as it is.
        """

    def _check_classes(
        self, state: State | None, classes: LabelArray, declared: IntArray
    ) -> None:
        """Refuse classes that a state cannot have; change nothing, copy nothing.

        `state` is the present state, None for a first one. The functions that return
        a state of these classes must refuse the same.
        """

    @abstractmethod
    def _learn(
        self,
        state: State,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        """Learn from rows of classes y, and predict each beforehand into `labels`.

        There is one weight per row, or one for all. Where `_accepts_unlabelled`, a row
        of class −1 is predicted and not counted as seen.
        """

    def _learn_scored(
        self,
        state: State,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray,
    ) -> ScoredRows:
        """Do what `_learn` does, and return the probabilities before each row.

        Row by row, for learners that have no faster way.
        """
        found = []
        for i in range(y.shape[0]):
            one = slice(i, i + 1)
            found.append(self._probabilities(state, X[one]))
            self._learn(state, X[one], y[one], weights_of(weight, one), labels[one])
        return ScoredRows(np.concatenate(found))

    def _probabilities(self, state: State, X: NDArray[Any]) -> FloatArray:
        """Return the probabilities (n, M) of rows, for learners that have them."""
        raise NotImplementedError

    @abstractmethod
    def _classify(self, state: State, X: NDArray[Any]) -> IntArray:
        """Return the number of the class of each row, if it were the next."""

    def _classify_unordered(self, state: State, X: NDArray[Any]) -> IntArray:
        """Do what `_classify` does for rows that are not the next of the stream."""
        return self._classify(state, X)

    def _check_numbers(self, wrapper: str) -> None:
        """Refuse parameters that name columns: what a `wrapper` passes are numbers."""

    def _active_classes(self, state: State) -> IntArray:
        """Return the numbers of the active classes, declared ones and seen ones.

        None of a learner that knows a class from its first row on only.
        """
        return np.zeros(0, np.int64)

    def _restart(self, state: State, p: int, classes: LabelArray) -> State:
        """Return a state of p features before the first row, else like `state`.

        It has the same classes, of which the same are active, and the same seed.
        """
        return self._new_state(p, classes, self._active_classes(state))

    def _restarted(self, before: State, state: State) -> State:
        """Return a state whose rows `before` had learned, with its past."""
        return state

    @abstractmethod
    def _row_counts(self, state: State) -> tuple[int, int]:
        """Return how many rows were seen, and how many of them changed the model."""

    @abstractmethod
    def _copy(self, state: State) -> State:
        """Return a state with arrays of its own, free to be written to."""

    def _reset_state(
        self, state: State, p: int, classes: LabelArray, declared: IntArray
    ) -> State:
        """Return the state before the first row, for more rows of the same stream."""
        return self._new_state(p, classes, declared)

    @abstractmethod
    def _export_state(
        self, state: State
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the state as JSON values and arrays, for a model file."""

    @abstractmethod
    def _state_schema(
        self, state: Mapping[str, Any], shapes: Shapes, M: int, p: int
    ) -> StateSchema:
        """Return what a model file of M classes and p features must hold.

        `state` are the file's JSON values and `shapes` the shapes of its arrays, for
        sizes that follow from nothing else; neither has been checked, and there are no
        shapes yet where only names are asked for. The parameters are checked here.
        """

    @abstractmethod
    def _import_state(
        self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]], M: int, p: int
    ) -> State:
        """Return the state that `_export_state` made JSON values and arrays of.

        They are as `_state_schema` says; what it cannot say is checked here.
        """

    def _reload_state(
        self,
        state: State,
        metadata: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        M: int,
    ) -> State:
        """Do what `_import_state` does, given an earlier state of the same learner."""
        return self._import_state(metadata, arrays, M, self.n_features_in_)

    # Mini-batches in blocks, for learners whose statistics add up

    def _check_learns_blocks(self) -> None:
        """Refuse to learn from statistics of blocks of rows, unless it is possible."""
        raise TypeError(
            f"{type(self).__name__} learns row by row: what it learns from parts of a "
            "mini-batch does not add up, so the parts cannot be shared out. "
            f"{LEARNERS_OF_BLOCKS}"
        )

    def _begin_blocks(self, state: State) -> None:
        """Prepare a state for blocks of a mini-batch, if parameters have changed."""

    def _first_block_alone(self, state: State) -> bool:
        """Say whether a mini-batch's first block is learned before others are observed.

        For learners that need some rows before they can observe blocks.
        """
        return False

    def _observe_block(
        self,
        state: State,
        X: NDArray[Any],
        y: IntArray,
        labels: IntArray,
        weight: FloatArray,
        start: int,
    ) -> BlockStatistics:
        """Return what is to be learned of a block of rows, which were predicted.

        Changes nothing. There is one weight per row, or one for all; `start` is how
        many rows of the mini-batch come before the block.
        """
        raise NotImplementedError

    def _block_probabilities(self, state: State, X: NDArray[Any]) -> FloatArray:
        """Return the probabilities (n, M) of rows, 0 where no class is known yet."""
        raise NotImplementedError

    def _learn_blocks(self, state: State, blocks: Sequence[BlockStatistics]) -> State:
        """Return the state after a mini-batch, given all its blocks in order."""
        raise NotImplementedError

    # Classes

    def _set_classes(self, classes: LabelArray) -> None:
        """Set `classes_`, sorted labels, and their numbers; counts go along."""
        index = LabelIndex(classes.tolist())
        if self._class_counts is not None:
            counts = np.zeros(classes.shape[0], np.int64)
            counts[index.find_all(self.classes_.tolist())] = self._class_counts
            self._class_counts = counts
        if self._categories is not None:
            known = LabelIndex(self.classes_.tolist())
            self._categories.arrange_classes(known.find_all(classes.tolist()))
        self.classes_ = classes
        self._index = index

    def _state_with_classes(self, classes: LabelArray, declared: IntArray) -> State:
        """Return the state of all `classes`, known ones and new ones."""
        source = self._index.find_all(classes.tolist())
        return self._rearrange_classes(self._state, source, classes, declared)
