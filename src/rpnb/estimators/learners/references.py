"""The plain references that every table carries: naive Bayes, majority, no change."""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from rpnb.core.bayes.naive_bayes import (
    NaiveBayes,
    arrange_naive_bayes,
    blank_naive_bayes,
    derive_naive_bayes,
    naive_bayes_pass,
    naive_bayes_scores,
)
from rpnb.core.kernels.arrays import FloatArray, IntArray, as_block
from rpnb.core.kernels.compiled import compiled
from rpnb.core.kernels.rows import row_blocks
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.parameters import check_real
from rpnb.estimators.checks.weights import weight_of
from rpnb.estimators.posteriors import log_posteriors
from rpnb.estimators.saving.files import take_array
from rpnb.estimators.stream.classifier import StreamClassifier
from rpnb.estimators.stream.weighted import WeightedStreamClassifier

_ONE = np.ones(1)
_NO_LABELS = np.zeros(0, np.int64)


@dataclass(slots=True)
class _Counted:
    """A learner's state and the number of rows it has seen."""

    state: NaiveBayes
    seen: int = 0


@final
class GaussianNB(WeightedStreamClassifier[_Counted]):
    """Naive Bayes with one normal law a feature, learnt from every row.

    The result does not depend on how rows are cut into calls. Classes weigh as they
    have been seen; a class that was declared and never seen is never predicted.

    Parameters
    ----------
    var_floor : float, default=1e-9
        Smallest variance that is ever used.
    """

    _takes_unlabelled = True

    def __init__(self, *, var_floor: float = 1e-9) -> None:
        self.var_floor = var_floor

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the log posterior of each class for each row (n, M)."""
        rows = self._rows_to_predict(X)
        out = np.empty((rows.shape[0], self.classes_.shape[0]))
        for part in row_blocks(rows.shape[0]):
            naive_bayes_scores(self._state.state, as_block(rows[part]), out[part])
        return log_posteriors(out)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the posterior of each class for each row (n, M)."""
        return np.exp(self.predict_log_proba(X))

    def _begin(self, p: int, classes: LabelArray, declared: IntArray) -> _Counted:
        floor = check_real("var_floor", self.var_floor, 1e-300, high=1e300)
        state = blank_naive_bayes(classes.shape[0], p, floor)
        state.eligible[declared] = True
        return _Counted(state)

    def _arrange(
        self,
        state: _Counted,
        source: IntArray,
        classes: LabelArray,
        declared: IntArray,
    ) -> _Counted:
        arranged = arrange_naive_bayes(state.state, source)
        arranged.eligible[declared] = True
        return replace(state, state=arranged)

    def _learn(
        self,
        state: _Counted,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        if labels is None:
            labels = np.empty(y.shape[0], np.int64)
        for rows in row_blocks(y.shape[0]):
            part = weight_of(weight, rows)
            block = as_block(X[rows])
            naive_bayes_pass(state.state, block, y[rows], part, True, labels[rows])
            state.seen += int(np.count_nonzero(y[rows] >= 0))

    def _classify(self, state: _Counted, X: NDArray[Any]) -> IntArray:
        labels = np.empty(X.shape[0], np.int64)
        for rows in row_blocks(X.shape[0]):
            block = as_block(X[rows])
            naive_bayes_pass(state.state, block, _NO_LABELS, _ONE, False, labels[rows])
        return labels

    def _tally(self, state: _Counted) -> tuple[int, int]:
        return state.seen, state.seen

    def _copy(self, state: _Counted) -> _Counted:
        everything = np.arange(state.state.eligible.shape[0])
        return replace(state, state=arrange_naive_bayes(state.state, everything))

    def _dump(self, state: _Counted) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays = {**state.state.moments._asdict(), "eligible": state.state.eligible}
        return {"seen": state.seen}, arrays

    def _restore(
        self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]], M: int, p: int
    ) -> _Counted:
        state = self._begin(p, np.zeros(M), np.zeros(0, np.int64)).state
        for name, part in state.moments._asdict().items():
            part[...] = take_array(arrays, name, np.float64, part.shape)
        state.eligible[:] = take_array(arrays, "eligible", np.bool_, (M,))
        derive_naive_bayes(state)
        return _Counted(state, int(metadata["seen"]))


class _Constant(StreamClassifier[IntArray]):
    """Abstract: a learner that looks at labels only. Its state has one number a class.

    A class not yet seen or declared has −1.
    """

    _takes_sparse = True
    _takes_unlabelled = True

    def _begin(self, p: int, classes: LabelArray, declared: IntArray) -> IntArray:
        state = np.full(classes.shape[0], -1)
        state[declared] = 0
        return state

    def _arrange(
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

    def _dump(self, state: IntArray) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {}, {"state": state}

    def _restore(
        self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]], M: int, p: int
    ) -> IntArray:
        return take_array(arrays, "state", np.int64, (M,))


@final
class MajorityClass(_Constant):
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

    def _tally(self, state: IntArray) -> tuple[int, int]:
        seen = int(np.maximum(state, 0).sum())
        return seen, seen


@final
class NoChange(_Constant):
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

    def _tally(self, state: IntArray) -> tuple[int, int]:
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
