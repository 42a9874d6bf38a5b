"""The interface of a learner: parameters, and a handful of functions on a state.

`rpnb.estimators.stream.classifier` turns a learner into a scikit-learn estimator: it
checks input, numbers labels, and keeps the state. Wrappers, mini-batches and files call
the same functions.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.elementary import exp
from rpnb.core.kernels.row_blocks import weights_of
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.weights import ANY_WEIGHT
from rpnb.estimators.saving.schema import StateSchema

State = TypeVar("State")
Shapes: TypeAlias = Mapping[str, tuple[int, ...]]
_ONE = np.ones(1)

#: The end of a message that refuses a learner.
LEARNERS_OF_BLOCKS = (
    "Learners that can: RPNBClassifier with a batch_size other than 1, GaussianNB, "
    "PooledClassifier(members='mergeable') and MajorityClass"
)


class BlockStatistics(NamedTuple):
    """Statistics of one block of rows of a mini-batch."""

    y: IntArray
    """(n,) the classes of the rows"""
    labels: IntArray
    """(n,) the predicted ones"""
    arrays: Mapping[str, NDArray[Any]]
    """the statistics"""
    weight: FloatArray = _ONE
    """(n,) or (1,) weights of the rows"""
    probabilities: FloatArray | None = None
    """(n, M) probabilities of the predictions, if requested"""


class Learner(ABC, Generic[State]):
    """Interface: functions on a learner's state. Classes are numbers 0 … M−1 here.

    A class is active if it may be predicted: from the start if it was declared, from
    its first row on otherwise.
    """

    given: Any
    """the estimator, whose attributes are the parameters"""
    changeable: tuple[str, ...] = ()
    """parameters that may be changed between calls; the others shape the state"""
    accepts_unlabelled: bool = False
    """whether `learn` accepts class −1, for a row that is only predicted"""
    accepts_sparse: bool = False
    """whether rows may come as a SciPy sparse matrix; they are never made dense"""
    sensitive_to_scale: bool = False
    """whether features that differ much in spread are worth a warning"""
    weight_limits: tuple[float, float] = ANY_WEIGHT
    """smallest and largest weight of a row, if it is not 0"""
    requires_seen_classes: bool = False
    """whether a class may be added to the state only when its first row is learned"""

    def tag(self, tags: Any) -> Any:
        """Return scikit-learn's tags of the estimator, adjusted to the learner."""
        return tags

    def provides(self, *functions: str) -> bool:
        """Return whether the learner defines one of these optional functions."""
        mine = type(self)
        return any(getattr(mine, f) is not getattr(Learner, f) for f in functions)

    def innermost(self, state: Any = None) -> "tuple[Learner[Any], Any]":
        """Return the learner that a wrapper wraps, or this one, and its state.

        Without a state, it is that with the current parameters.
        """
        return self, state

    # States

    @abstractmethod
    def begin(self, p: int, classes: LabelArray, declared: IntArray) -> State:
        """Check the parameters and return the state before the first row.

        The classes numbered in `declared` are active from the start.
        """

    @abstractmethod
    def grow(
        self, state: State, source: IntArray, classes: LabelArray, declared: IntArray
    ) -> State:
        """Return a state whose class m is class source[m] of `state`, or new if −1.

        The classes numbered in `declared` are active from now on. `state` itself is not
        changed.
        """

    def grow_last(
        self, state: State, source: IntArray, classes: LabelArray, declared: IntArray
    ) -> State:
        """Return what `grow` does, of a state that is not used any longer."""
        return self.grow(state, source, classes, declared)

    @abstractmethod
    def copy(self, state: State) -> State:
        """Return a copy of the state with its own arrays."""

    @abstractmethod
    def row_counts(self, state: State) -> tuple[int, int]:
        """Return how many rows were seen, and how many of them changed the model."""

    def check_classes(
        self, state: State | None, classes: LabelArray, declared: IntArray
    ) -> None:
        """Refuse classes that a state cannot have, without changing anything.

        `state` is the current state, None before the first. `begin` and `grow` must
        refuse the same classes.
        """

    def check_changeable(self) -> None:
        """Check the parameters that may be changed between calls."""

    def active_classes(self, state: State) -> IntArray:
        """Return the numbers of the active classes, declared ones and seen ones.

        There are none for a learner that adds a class with its first row.
        """
        return np.zeros(0, np.int64)

    def reset(
        self, state: State, p: int, classes: LabelArray, declared: IntArray
    ) -> State:
        """Return the state before the first row, for more rows of the same stream."""
        return self.begin(p, classes, declared)

    def restart(self, state: State, p: int, classes: LabelArray) -> State:
        """Return an initial state of p features that is otherwise like `state`.

        It has the same classes, the same active ones, and the same seed.
        """
        return self.begin(p, classes, self.active_classes(state))

    def restarted(self, before: State, state: State) -> State:
        """Return `state`, which relearned the rows of `before`, with its history."""
        return state

    # Rows

    @abstractmethod
    def learn(
        self,
        state: State,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        """Learn rows of classes y; predict each before it is learned, into `labels`.

        There is one weight per row, or one for all. Where `accepts_unlabelled`, a row
        of class −1 is predicted and not counted as seen.
        """

    @abstractmethod
    def classify(self, state: State, X: NDArray[Any]) -> IntArray:
        """Return the class number of each row as the next of the stream."""

    def classify_unordered(self, state: State, X: NDArray[Any]) -> IntArray:
        """Return the class number of each row, for rows in any order."""
        return self.classify(state, X)

    # Optional functions: see `provides`

    def decisions(self, state: State, X: NDArray[Any]) -> FloatArray:
        """Return scikit-learn's decision values of rows, (n, M) or (n,)."""
        raise NotImplementedError

    def log_probabilities(
        self, state: State, X: NDArray[Any], *, ordered: bool
    ) -> FloatArray:
        """Return the logarithms of the probabilities (n, M) of rows.

        Each row is the next of the stream, or none is if they are not `ordered`.
        """
        raise NotImplementedError

    def probabilities(
        self, state: State, X: NDArray[Any], *, ordered: bool = True
    ) -> FloatArray:
        """Return the probabilities (n, M) of rows, as `log_probabilities` does."""
        return exp(self.log_probabilities(state, X, ordered=ordered))

    def learn_scored(
        self,
        state: State,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray,
    ) -> FloatArray:
        """Learn rows as `learn` does; return the probabilities (n, M) before each.

        This default works row by row; learners may have a faster way.
        """
        found = []
        for i in range(y.shape[0]):
            one = slice(i, i + 1)
            found.append(self.probabilities(state, X[one]))
            self.learn(state, X[one], y[one], weights_of(weight, one), labels[one])
        return np.concatenate(found)

    # Files

    @abstractmethod
    def export(self, state: State) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the state as JSON values and arrays, for a model file."""

    @abstractmethod
    def schema(
        self, state: Mapping[str, Any], shapes: Shapes, M: int, p: int
    ) -> StateSchema:
        """Return the schema of a model file with M classes and p features.

        `state` are the file's JSON values and `shapes` the shapes of its arrays, for
        sizes that nothing else determines; neither has been checked, and `shapes` is
        empty if only names are needed. The parameters are checked here.
        """

    @abstractmethod
    def restore(
        self,
        metadata: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        classes: LabelArray,
        p: int,
    ) -> State:
        """Return the state from the JSON values and arrays of `export`.

        They follow the `schema`; what it cannot express is checked here.
        """

    def check_learns_blocks(self) -> None:
        """Raise an error if the learner cannot learn from statistics of blocks."""
        raise TypeError(
            f"{type(self.given).__name__} learns row by row: its statistics cannot be "
            "summed over parts of a mini-batch, so they cannot be distributed. "
            f"{LEARNERS_OF_BLOCKS}"
        )


class LearnsBlocks(Learner[State]):
    """Interface of a learner whose statistics of blocks of rows can be summed."""

    predicts_blocks: bool = False
    """whether `observe_block` predicts the rows itself, into `labels`"""

    def check_learns_blocks(self) -> None:
        """Refuse parameters with which the parts of a mini-batch do not add up."""

    def begin_blocks(self, state: State) -> None:
        """Prepare a state for blocks of a mini-batch, if parameters have changed."""

    def first_block_alone(self, state: State) -> bool:
        """Return whether the first block is learned before others are observed.

        For learners that need some rows before they can observe blocks.
        """
        return False

    @abstractmethod
    def observe_block(
        self,
        state: State,
        X: NDArray[Any],
        y: IntArray,
        labels: IntArray,
        weight: FloatArray,
        start: int,
    ) -> BlockStatistics:
        """Return the statistics of a block of rows that have been predicted.

        Changes nothing. There is one weight per row, or one for all; `start` is the
        number of rows of the mini-batch before the block.
        """

    @abstractmethod
    def learn_blocks(self, state: State, blocks: Sequence[BlockStatistics]) -> State:
        """Return the state after a mini-batch, given all its blocks in order."""

    def block_probabilities(self, state: State, X: NDArray[Any]) -> FloatArray:
        """Return the probabilities (n, M) of rows; all 0 if there is no class yet."""
        raise NotImplementedError


class TracksSets(ABC, Generic[State]):
    """Interface of a learner that moves thresholds of prediction sets as it learns.

    For other learners only `predict_set_then_learn` moves thresholds, which the
    estimator holds.
    """

    @property
    @abstractmethod
    def rows_together(self) -> int | None:
        """Number of rows predicted before any of them is learned, None for all."""

    @abstractmethod
    def check_sets(self) -> None:
        """Refuse parameters that do not allow prediction sets."""

    @abstractmethod
    def set_thresholds(self, state: State) -> FloatArray:
        """Return the thresholds of prediction sets."""
