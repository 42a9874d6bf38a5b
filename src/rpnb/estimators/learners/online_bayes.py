"""OnlineBayes: a normal density with full covariance per class, as an estimator."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rpnb.core.bayes.online_bayes import (
    ClassCovariances,
    covariance_without,
    insert_covariance,
    new_covariances,
    pass_online_bayes,
)
from rpnb.core.bayes.state import LEARN_ALL, LEARN_MISTAKES, LEARN_NOTHING
from rpnb.core.kernels.arrays import FloatArray, IntArray, as_block
from rpnb.core.kernels.elementary import exp
from rpnb.core.kernels.rows import row_blocks
from rpnb.core.passes.blocks import weights_of
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.parameters import check_choice
from rpnb.estimators.posteriors import log_posteriors
from rpnb.estimators.saving.files import ModelFileError
from rpnb.estimators.saving.schema import COUNT, StateSchema, reals
from rpnb.estimators.stream.class_weights import ClassWeight
from rpnb.estimators.stream.learner import LEARNERS_OF_BLOCKS, Shapes
from rpnb.estimators.stream.weighted import WeightedStreamClassifier
from rpnb.estimators.trust.unlearning import rows_to_unlearn

__all__ = ["OnlineBayes"]

_UPDATES = {"all": LEARN_ALL, "mistakes": LEARN_MISTAKES}
_ONE = np.ones(1)
_NO_LABELS = np.zeros(0, np.int64)


@dataclass(slots=True)
class OnlineBayesState:
    """The densities of the classes, and the rows counted."""

    classes: ClassCovariances
    seen: int = 0
    updates: int = 0


@final
@dataclass(kw_only=True, eq=False, repr=False)
class OnlineBayes(WeightedStreamClassifier[OnlineBayesState]):
    """Bayes classifier with a mean and a full covariance per class, learned online.

    Follows the description of the online Bayes classifier of Nguyen et al. (DICTA 2016)
    in the RPNB paper, with the matrix form of that paper's Theorem 1; the article
    itself was not available. A row costs M·p².

    Parameters
    ----------
    update : {"all", "mistakes"}, default="all"
        Which rows are learned.
    {class_weight}

    {attributes}

    References
    ----------
    T. T. Nguyen, T. T. T. Nguyen, X. C. Pham, A. W.-C. Liew and J. C. Bezdek, "An
    ensemble-based online learning algorithm for streaming data", 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rpnb.baselines import OnlineBayes
    >>> X, y = load_digits(return_X_y=True)
    >>> predicted = OnlineBayes().predict_then_learn(X, y, classes=range(10))
    >>> bool((predicted == y).mean() > 0.7)
    True
    """

    _accepts_unlabelled = True
    _requires_seen_classes = True

    update: Literal["all", "mistakes"] = "all"
    class_weight: ClassWeight = None

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the log posterior of each class for each row (n, M)."""
        rows = self._rows_to_predict(X)
        return self._log_posteriors(self._state, rows)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the posterior of each class for each row (n, M)."""
        rows = self._rows_to_predict(X)
        return self._probabilities(self._state, rows)

    def _probabilities(self, state: OnlineBayesState, X: NDArray[Any]) -> FloatArray:
        return exp(self._log_posteriors(state, X))

    def _log_posteriors(self, state: OnlineBayesState, X: NDArray[Any]) -> FloatArray:
        labels = np.empty(X.shape[0], np.int64)
        scores = self._pass(state, X, _NO_LABELS, _ONE, LEARN_NOTHING, labels)
        return log_posteriors(scores)

    def unlearn(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Take learned rows out again; see `RPNBClassifier.unlearn`.

        With update="all" the model is then as if it had never seen them, to rounding,
        which grows with the spread of the features. With update="mistakes" the rows
        must be ones that changed the model. Classes stay known. Refuses rows that
        cannot all have been learned, where that can be told, and changes nothing then.
        """
        labelled, numbers = rows_to_unlearn(self, X, y, sample_weight)
        state = self._copy(self._state)
        rows = as_block(labelled.rows)
        weight = np.broadcast_to(labelled.weight, numbers.shape)
        for m in np.unique(numbers).tolist():
            its = numbers == m
            left = covariance_without(state.classes, m, rows[its], weight[its])
            if left is None:
                raise ValueError(
                    f"rows of class {self.classes_[m]!r} cannot be unlearned: they "
                    "weigh more than what was learned of it, or would leave a negative "
                    "variance, so they cannot all have been learned"
                )
            for mine, value in zip(state.classes, left, strict=True):
                mine[m] = value[0]
        state.seen = max(state.seen - numbers.shape[0], 0)
        state.updates = max(state.updates - numbers.shape[0], 0)
        self._state = state
        return self

    def _pass(
        self,
        state: OnlineBayesState,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        learn: int,
        labels: IntArray,
    ) -> FloatArray:
        """Predict rows into `labels`, learn as `learn` says; return scores (n, M)."""
        scores = np.empty((X.shape[0], state.classes.weight.shape[0]))
        for rows in row_blocks(X.shape[0]):
            updates = pass_online_bayes(
                state.classes,
                as_block(X[rows]),
                y[rows],
                weights_of(weight, rows),
                learn,
                scores[rows],
                labels[rows],
            )
            if learn:
                state.seen += int(np.count_nonzero(y[rows] >= 0))
                state.updates += updates
        return scores

    def _new_state(
        self, p: int, classes: LabelArray, declared: IntArray
    ) -> OnlineBayesState:
        check_choice("update", self.update, tuple(_UPDATES))
        return OnlineBayesState(new_covariances(classes.shape[0], p))

    def _rearrange_classes(
        self,
        state: OnlineBayesState,
        source: IntArray,
        classes: LabelArray,
        declared: IntArray,
    ) -> OnlineBayesState:
        state = self._copy(state)
        for m in np.flatnonzero(source < 0).tolist():
            state.classes = insert_covariance(state.classes, m)
        return state

    def _learn(
        self,
        state: OnlineBayesState,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        if labels is None:
            labels = np.empty(y.shape[0], np.int64)
        self._pass(state, X, y, weight, _UPDATES[self.update], labels)

    def _classify(self, state: OnlineBayesState, X: NDArray[Any]) -> IntArray:
        labels = np.empty(X.shape[0], np.int64)
        self._pass(state, X, _NO_LABELS, _ONE, LEARN_NOTHING, labels)
        return labels

    def _check_learns_blocks(self) -> None:
        raise TypeError(
            "OnlineBayes learns row by row: it keeps a root of each inverse "
            "covariance, which every row changes in turn, and roots learned from parts "
            "of a mini-batch do not add up, so the parts cannot be shared out. "
            "PooledClassifier(members=['class_covariance']) has a covariance for each "
            f"class as well, in sums. {LEARNERS_OF_BLOCKS}"
        )

    def _row_counts(self, state: OnlineBayesState) -> tuple[int, int]:
        return state.seen, state.updates

    def _copy(self, state: OnlineBayesState) -> OnlineBayesState:
        return replace(
            state, classes=ClassCovariances(*(a.copy() for a in state.classes))
        )

    def _export_state(
        self, state: OnlineBayesState
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {"seen": state.seen, "updates": state.updates}, state.classes._asdict()

    def _state_schema(
        self, state: Mapping[str, Any], shapes: Shapes, M: int, p: int
    ) -> StateSchema:
        check_choice("update", self.update, tuple(_UPDATES))
        arrays = {
            "weight": reals(M, low=1.0),
            "mean": reals(M, p),
            "root": reals(M, p, p),
            "log_volume": reals(M),
        }
        return StateSchema(arrays, {"seen": COUNT, "updates": COUNT})

    def _import_state(
        self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]], M: int, p: int
    ) -> OnlineBayesState:
        classes = ClassCovariances(**arrays)
        if (np.diagonal(classes.root, axis1=1, axis2=2) < 0.0).any():
            raise ModelFileError(
                "the model file is damaged: array 'root' has a negative diagonal entry"
            )
        return OnlineBayesState(classes, metadata["seen"], metadata["updates"])
