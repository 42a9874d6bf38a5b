"""Gaussian naive Bayes, learned online, as a scikit-learn estimator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rpnb.core.bayes.moments import Moments, add_observation, empty_moments
from rpnb.core.bayes.naive_bayes import (
    NaiveBayes,
    arrange_naive_bayes,
    blank_naive_bayes,
    block_moments,
    derive_naive_bayes,
    merge_moments,
    naive_bayes_pass,
    naive_bayes_scores,
)
from rpnb.core.kernels.arrays import FloatArray, IntArray, as_block
from rpnb.core.kernels.elementary import exp
from rpnb.core.kernels.rows import row_blocks
from rpnb.core.passes.blocks import weights_of
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.parameters import check_real
from rpnb.estimators.posteriors import log_posteriors
from rpnb.estimators.saving.schema import COUNT, StateSchema, flags, reals
from rpnb.estimators.stream.class_weights import ClassWeight
from rpnb.estimators.stream.learner import BlockStatistics, Shapes
from rpnb.estimators.stream.weighted import WeightedStreamClassifier
from rpnb.estimators.trust.reasons import Explained, QuadraticScores
from rpnb.estimators.trust.unlearning import moments_without, rows_to_unlearn

__all__ = ["GaussianNB"]

_ONE = np.ones(1)
_NO_LABELS = np.zeros(0, np.int64)


@dataclass(slots=True)
class GaussianNBState:
    """The densities of the classes, and the number of rows seen."""

    state: NaiveBayes
    seen: int = 0


@final
@dataclass(kw_only=True, eq=False, repr=False)
class GaussianNB(Explained[GaussianNBState], WeightedStreamClassifier[GaussianNBState]):
    """Gaussian naive Bayes: one normal density per class and feature, learned online.

    Every row is learned, and the result does not depend on how rows are cut into calls.
    Class priors are the frequencies seen; a class that was declared and never seen is
    never predicted.

    Parameters
    ----------
    var_floor : float, default=1e-9
        Smallest variance that is ever used.
    {class_weight}

    {attributes}

    References
    ----------
    T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms for computing the sample
    variance: analysis and recommendations", The American Statistician 37, 1983.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rpnb.baselines import GaussianNB
    >>> X, y = load_digits(return_X_y=True)
    >>> predicted = GaussianNB().predict_then_learn(X, y, classes=range(10))
    >>> bool((predicted == y).mean() > 0.7)
    True
    """

    _accepts_unlabelled = True

    var_floor: float = 1e-9
    class_weight: ClassWeight = None

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the log posterior of each class for each row (n, M)."""
        rows = self._rows_to_predict(X)
        return _log_posteriors(self._state, rows)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the posterior of each class for each row (n, M)."""
        rows = self._rows_to_predict(X)
        return self._probabilities(self._state, rows)

    def _probabilities(self, state: GaussianNBState, X: NDArray[Any]) -> FloatArray:
        return exp(_log_posteriors(state, X))

    def unlearn(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Take learned rows out again: the model is as if it had never seen them.

        To rounding; classes stay known. Refuses rows that cannot all have been learned,
        where that can be told, and changes nothing then. See `RPNBClassifier.unlearn`.
        """
        labelled, numbers = rows_to_unlearn(self, X, y, sample_weight)
        state = self._copy(self._state)
        part = empty_moments(self.classes_.shape[0], labelled.rows.shape[1])
        block = as_block(labelled.rows)
        for i, m in enumerate(numbers.tolist()):
            w = labelled.weight[i % labelled.weight.shape[0]]
            add_observation(part, m, block[i], w)
        left = moments_without(state.state.moments, part, self.classes_)
        for mine, value in zip(state.state.moments, left, strict=True):
            mine[:] = value
        derive_naive_bayes(state.state)
        state.seen -= numbers.shape[0]
        self._state = state
        return self

    def _quadratic_scores(self) -> QuadraticScores:
        state = self._state.state
        seen = state.moments.weight > 0.0
        return QuadraticScores(
            np.eye(state.moments.mean.shape[1]),
            state.gaussians.mean,
            state.gaussians.precision,
            state.gaussians.constant + state.log_seen,
            state.eligible & seen,
            state.moments.weight,
        )

    def _project_for_reasons(self, X: Any) -> FloatArray:
        return as_block(X)

    def _new_state(
        self, p: int, classes: LabelArray, declared: IntArray
    ) -> GaussianNBState:
        floor = check_real("var_floor", self.var_floor, 1e-300, high=1e300)
        state = blank_naive_bayes(classes.shape[0], p, floor)
        state.eligible[declared] = True
        return GaussianNBState(state)

    def _rearrange_classes(
        self,
        state: GaussianNBState,
        source: IntArray,
        classes: LabelArray,
        declared: IntArray,
    ) -> GaussianNBState:
        arranged = arrange_naive_bayes(state.state, source)
        arranged.eligible[declared] = True
        return replace(state, state=arranged)

    def _active_classes(self, state: GaussianNBState) -> IntArray:
        return np.flatnonzero(state.state.eligible)

    def _learn(
        self,
        state: GaussianNBState,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        if labels is None:
            labels = np.empty(y.shape[0], np.int64)
        for rows in row_blocks(y.shape[0]):
            part = weights_of(weight, rows)
            block = as_block(X[rows])
            naive_bayes_pass(state.state, block, y[rows], part, True, labels[rows])
            state.seen += int(np.count_nonzero(y[rows] >= 0))

    def _classify(self, state: GaussianNBState, X: NDArray[Any]) -> IntArray:
        labels = np.empty(X.shape[0], np.int64)
        for rows in row_blocks(X.shape[0]):
            block = as_block(X[rows])
            naive_bayes_pass(state.state, block, _NO_LABELS, _ONE, False, labels[rows])
        return labels

    def _check_learns_blocks(self) -> None:
        """Allow blocks: counts, means and variances of parts add up."""

    def _observe_block(
        self,
        state: GaussianNBState,
        X: NDArray[Any],
        y: IntArray,
        labels: IntArray,
        weight: FloatArray,
        start: int,
    ) -> BlockStatistics:
        moments = block_moments(state.state, as_block(X), y, weight)
        return BlockStatistics(y, labels, moments._asdict(), weight)

    def _block_probabilities(
        self, state: GaussianNBState, X: NDArray[Any]
    ) -> FloatArray:
        out = np.empty((X.shape[0], state.state.eligible.shape[0]))
        if not state.state.eligible.any():
            return np.zeros_like(out)
        for part in row_blocks(X.shape[0]):
            naive_bayes_scores(state.state, as_block(X[part]), out[part])
        return exp(log_posteriors(out))

    def _learn_blocks(
        self, state: GaussianNBState, blocks: Sequence[BlockStatistics]
    ) -> GaussianNBState:
        for block in blocks:
            moments = Moments(*(block.arrays[name] for name in Moments._fields))
            merge_moments(state.state, moments)
            state.seen += block.y.shape[0]
        return state

    def _row_counts(self, state: GaussianNBState) -> tuple[int, int]:
        return state.seen, state.seen

    def _copy(self, state: GaussianNBState) -> GaussianNBState:
        everything = np.arange(state.state.eligible.shape[0])
        return replace(state, state=arrange_naive_bayes(state.state, everything))

    def _export_state(
        self, state: GaussianNBState
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays = {**state.state.moments._asdict(), "eligible": state.state.eligible}
        return {"seen": state.seen}, arrays

    def _state_schema(
        self, state: Mapping[str, Any], shapes: Shapes, M: int, p: int
    ) -> StateSchema:
        arrays = {
            "weight": reals(M, low=0.0),
            "mean": reals(M, p),
            # Squares of large values, times large weights, exceed double precision.
            "scatter": reals(M, p, low=0.0, infinite=True),
            "eligible": flags(M),
        }
        return StateSchema(arrays, {"seen": COUNT})

    def _import_state(
        self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]], M: int, p: int
    ) -> GaussianNBState:
        state = self._new_state(p, np.zeros(M), np.zeros(0, np.int64)).state
        for name, part in state.moments._asdict().items():
            part[...] = arrays[name]
        state.eligible[:] = arrays["eligible"]
        derive_naive_bayes(state)
        return GaussianNBState(state, metadata["seen"])


def _log_posteriors(state: GaussianNBState, X: NDArray[Any]) -> FloatArray:
    """Return the log posterior of each class for each row (n, M)."""
    out = np.empty((X.shape[0], state.state.eligible.shape[0]))
    for part in row_blocks(X.shape[0]):
        naive_bayes_scores(state.state, as_block(X[part]), out[part])
    return log_posteriors(out)
