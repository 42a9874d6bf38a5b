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
from rpnb.core.bayes.statistics import LEARN_ALL, LEARN_MISTAKES, LEARN_NOTHING
from rpnb.core.kernels.arrays import FloatArray, IntArray, as_block
from rpnb.core.kernels.row_blocks import row_blocks, weights_of
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.parameters import check_choice
from rpnb.estimators.posteriors import log_posteriors
from rpnb.estimators.saving.files import ModelFileError
from rpnb.estimators.saving.schema import COUNT, StateSchema, reals
from rpnb.estimators.stream.class_weights import ClassWeight
from rpnb.estimators.stream.learner import LEARNERS_OF_BLOCKS, Learner, Shapes
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
class OnlineBayes(WeightedStreamClassifier):
    """Bayes classifier with a mean and a full covariance per class, learned online.

    The online Bayes classifier of Nguyen et al. (DICTA 2016) as described in the RPNB
    paper, with the matrix form of that paper's Theorem 1; the article itself was not
    available. A sample takes time proportional to n_classes · n_features².

    Parameters
    ----------
    update : {"all", "mistakes"}, default="all"
        Which samples are learned.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the sample weights. A dictionary maps
        labels to weights from 1e-6 to 1e6; a class that is not in it has weight 1.
        "balanced" weights a sample of class y by n / (M * n_y), where n counts the
        samples, n_y those of class y and M the classes. In `fit` all samples are
        counted, as in scikit-learn; in `partial_fit` and `predict_then_learn`, those up
        to and including the sample itself, however the data is split into calls.
    shuffle : bool, default=True
        Whether `fit` learns the samples in a random order instead of the order given.
        `partial_fit` and `predict_then_learn` always keep the order.

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

    def __init__(
        self,
        *,
        update: Literal["all", "mistakes"] = "all",
        class_weight: ClassWeight = None,
        shuffle: bool = True,
    ) -> None:
        self.update = update
        self.class_weight = class_weight
        self.shuffle = shuffle

    def _learner(self) -> "OnlineBayesLearner":
        return OnlineBayesLearner(self)

    def unlearn(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Remove learned samples from the statistics.

        The model is then as if it had never seen them, up to rounding, which grows with
        the spread of the features. With update="mistakes" the samples must be ones that
        changed the model. Classes stay known.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples that were learned.
        y : array-like of shape (n_samples,)
            Labels with which they were learned.
        sample_weight : array-like of shape (n_samples,), optional
            Weights with which they were learned.

        Returns
        -------
        self
            The model without the samples.

        Raises
        ------
        ValueError
            If the samples cannot all have been learned, where that can be detected. The
            model is then unchanged.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb.baselines import OnlineBayes
        >>> X, y = load_iris(return_X_y=True)
        >>> model = OnlineBayes().partial_fit(X, y)
        >>> twin = OnlineBayes().partial_fit(X[1:], y[1:])
        >>> model = model.unlearn(X[:1], y[:1])
        >>> bool((model.predict(X) == twin.predict(X)).all())
        True
        """
        labelled, numbers = rows_to_unlearn(self, X, y, sample_weight)
        state = self._learner().copy(self._state)
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


@final
@dataclass
class OnlineBayesLearner(Learner[OnlineBayesState]):
    """A mean and a full covariance per class."""

    given: OnlineBayes

    accepts_unlabelled = True
    requires_seen_classes = True

    def log_probabilities(
        self, state: OnlineBayesState, X: NDArray[Any], *, ordered: bool
    ) -> FloatArray:
        labels = np.empty(X.shape[0], np.int64)
        scores = self._pass(state, X, _NO_LABELS, _ONE, LEARN_NOTHING, labels)
        return log_posteriors(scores)

    def _pass(
        self,
        state: OnlineBayesState,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        learn: int,
        labels: IntArray,
    ) -> FloatArray:
        """Predict rows into `labels`, learn them in mode `learn`; return scores."""
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

    def begin(
        self, p: int, classes: LabelArray, declared: IntArray
    ) -> OnlineBayesState:
        check_choice("update", self.given.update, tuple(_UPDATES))
        return OnlineBayesState(new_covariances(classes.shape[0], p))

    def grow(
        self,
        state: OnlineBayesState,
        source: IntArray,
        classes: LabelArray,
        declared: IntArray,
    ) -> OnlineBayesState:
        state = self.copy(state)
        for m in np.flatnonzero(source < 0).tolist():
            state.classes = insert_covariance(state.classes, m)
        return state

    def learn(
        self,
        state: OnlineBayesState,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        if labels is None:
            labels = np.empty(y.shape[0], np.int64)
        self._pass(state, X, y, weight, _UPDATES[self.given.update], labels)

    def classify(self, state: OnlineBayesState, X: NDArray[Any]) -> IntArray:
        labels = np.empty(X.shape[0], np.int64)
        self._pass(state, X, _NO_LABELS, _ONE, LEARN_NOTHING, labels)
        return labels

    def check_learns_blocks(self) -> None:
        raise TypeError(
            "OnlineBayes learns row by row: it keeps a root of each inverse "
            "covariance, which every row changes in turn, and roots learned from parts "
            "of a mini-batch do not add up, so the parts cannot be distributed. "
            "PooledClassifier(members=['class_covariance']) has a covariance for each "
            f"class as well, in sums. {LEARNERS_OF_BLOCKS}"
        )

    def row_counts(self, state: OnlineBayesState) -> tuple[int, int]:
        return state.seen, state.updates

    def copy(self, state: OnlineBayesState) -> OnlineBayesState:
        return replace(
            state, classes=ClassCovariances(*(a.copy() for a in state.classes))
        )

    def export(
        self, state: OnlineBayesState
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {"seen": state.seen, "updates": state.updates}, state.classes._asdict()

    def schema(
        self, state: Mapping[str, Any], shapes: Shapes, M: int, p: int
    ) -> StateSchema:
        check_choice("update", self.given.update, tuple(_UPDATES))
        arrays = {
            "weight": reals(M, low=1.0),
            "mean": reals(M, p),
            "root": reals(M, p, p),
            "log_volume": reals(M),
        }
        return StateSchema(arrays, {"seen": COUNT, "updates": COUNT})

    def restore(
        self,
        metadata: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        classes: LabelArray,
        p: int,
    ) -> OnlineBayesState:
        held = ClassCovariances(**arrays)
        if (np.diagonal(held.root, axis1=1, axis2=2) < 0.0).any():
            raise ModelFileError(
                "the model file is damaged: array 'root' has a negative diagonal entry"
            )
        return OnlineBayesState(held, metadata["seen"], metadata["updates"])
