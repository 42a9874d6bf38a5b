"""Gaussian naive Bayes, learned online, as a scikit-learn estimator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
from rpnb.core.bayes.statistics import Moments, add_observation, empty_moments
from rpnb.core.kernels.arrays import FloatArray, IntArray, as_block
from rpnb.core.kernels.elementary import exp
from rpnb.core.kernels.row_blocks import row_blocks, weights_of
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.parameters import check_real
from rpnb.estimators.posteriors import log_posteriors
from rpnb.estimators.saving.schema import COUNT, StateSchema, flags, reals
from rpnb.estimators.stream.class_weights import ClassWeight
from rpnb.estimators.stream.learner import BlockStatistics, LearnsBlocks, Shapes
from rpnb.estimators.stream.weighted import WeightedStreamClassifier
from rpnb.estimators.trust.plots import draw_importance
from rpnb.estimators.trust.reasons import (
    Explanation,
    QuadraticReasons,
    QuadraticScores,
    feature_names,
)
from rpnb.estimators.trust.unlearning import moments_without, rows_to_unlearn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["GaussianNB"]

_ONE = np.ones(1)
_NO_LABELS = np.zeros(0, np.int64)


@dataclass(slots=True)
class GaussianNBState:
    """The densities of the classes, and the number of rows seen."""

    state: NaiveBayes
    seen: int = 0


@final
class GaussianNB(WeightedStreamClassifier):
    """Gaussian naive Bayes: one normal density per class and feature, learned online.

    Every sample is learned, and the result does not depend on how the data is split
    into calls. Class priors are the frequencies seen; a class that was declared but
    never seen is never predicted.

    Parameters
    ----------
    var_floor : float, default=1e-9
        Lower bound on every variance.
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

    def __init__(
        self,
        *,
        var_floor: float = 1e-9,
        class_weight: ClassWeight = None,
        shuffle: bool = True,
    ) -> None:
        self.var_floor = var_floor
        self.class_weight = class_weight
        self.shuffle = shuffle

    def _learner(self) -> "GaussianNBLearner":
        return GaussianNBLearner(self)

    def unlearn(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Remove learned samples from the statistics.

        The model is then as if it had never seen them, up to rounding. Classes stay
        known.

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
        >>> from rpnb.baselines import GaussianNB
        >>> X, y = load_iris(return_X_y=True)
        >>> model = GaussianNB().partial_fit(X, y)
        >>> twin = GaussianNB().partial_fit(X[1:], y[1:])
        >>> model = model.unlearn(X[:1], y[:1])
        >>> bool((model.predict(X) == twin.predict(X)).all())
        True
        """
        labelled, numbers = rows_to_unlearn(self, X, y, sample_weight)
        state = self._learner().copy(self._state)
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

    # Reasons

    def explain(
        self, X: Any, *, label: Any = None, against: Any = None, background: Any = None
    ) -> Explanation:
        """Explain predictions: the contribution of each feature to a class's score.

        Contributions are exact Shapley values in closed form. Up to rounding, they add
        up to the difference between the score of the sample and that of the background.
        The explained score is that of one class minus that of another,
        before it is turned into a probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples to explain.
        label : label, optional
            Class to explain; by default the predicted class of each sample.
        against : label, optional
            Class to compare with; by default the second best of each sample.
        background : array-like of shape (n_background, n_features), optional
            Samples whose values stand for features that are left out, averaged over
            the samples. By default the mean of what was learned: the means of the
            classes, weighted by how often each was seen.

        Returns
        -------
        Explanation
            Contributions, base values, scores, and the names of features and classes.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb.baselines import GaussianNB
        >>> X, y = load_iris(return_X_y=True)
        >>> model = GaussianNB().fit(X, y)
        >>> found = model.explain(X[:1])
        >>> rest = found.score - found.base - found.values.sum(axis=1)
        >>> bool(abs(rest[0]) < 1e-6)
        True
        """
        return QuadraticReasons(self).explain(X, label, against, background)

    def feature_importance(self, X: Any = None) -> FloatArray:
        """Return the current importance of each feature.

        Importance is the mean absolute Shapley value. Call it from time to time to see
        what changes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), optional
            Samples to average over. By default the means of the classes as learned,
            weighted by how often each was seen.

        Returns
        -------
        ndarray of shape (n_features,)
            Importance of each feature; adds up to 1.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb.baselines import GaussianNB
        >>> X, y = load_iris(return_X_y=True)
        >>> model = GaussianNB().fit(X, y)
        >>> model.feature_importance().shape
        (4,)
        """
        return QuadraticReasons(self).importance(X)

    def plot_importance(
        self, X: Any = None, *, top: int = 15, ax: "Axes | None" = None
    ) -> "Axes":
        """Draw `feature_importance` as a bar chart with matplotlib.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), optional
            Samples to average over; see `feature_importance`.
        top : int, default=15
            Number of features with their own bar; the others share one.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes drawn on.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb.baselines import GaussianNB
        >>> X, y = load_iris(return_X_y=True)
        >>> model = GaussianNB().fit(X, y)
        >>> axes = model.plot_importance()
        >>> len(axes.patches)
        4
        """
        found = self.feature_importance(X)
        return draw_importance(found, feature_names(self), top, ax)


@final
@dataclass
class GaussianNBLearner(LearnsBlocks[GaussianNBState]):
    """Gaussian naive Bayes: counts, means and variances, which can be summed."""

    given: GaussianNB

    accepts_unlabelled = True

    def log_probabilities(
        self, state: GaussianNBState, X: NDArray[Any], *, ordered: bool
    ) -> FloatArray:
        out = np.empty((X.shape[0], state.state.eligible.shape[0]))
        for part in row_blocks(X.shape[0]):
            naive_bayes_scores(state.state, as_block(X[part]), out[part])
        return log_posteriors(out)

    def quadratic_scores(self, held: GaussianNBState) -> QuadraticScores:
        """Return the scores as quadratic polynomials."""
        state = held.state
        seen = state.moments.weight > 0.0
        return QuadraticScores(
            np.eye(state.moments.mean.shape[1]),
            state.gaussians.mean,
            state.gaussians.precision,
            state.gaussians.constant + state.log_seen,
            state.eligible & seen,
            state.moments.weight,
        )

    def scaled(self, state: GaussianNBState, X: Any) -> Any:
        """Return rows as they are: nothing is scaled."""
        return X

    def projected(self, state: GaussianNBState, X: Any) -> FloatArray:
        """Return rows unchanged: there is no projection."""
        return as_block(X)

    def begin(self, p: int, classes: LabelArray, declared: IntArray) -> GaussianNBState:
        floor = check_real("var_floor", self.given.var_floor, 1e-300, high=1e300)
        state = blank_naive_bayes(classes.shape[0], p, floor)
        state.eligible[declared] = True
        return GaussianNBState(state)

    def grow(
        self,
        state: GaussianNBState,
        source: IntArray,
        classes: LabelArray,
        declared: IntArray,
    ) -> GaussianNBState:
        arranged = arrange_naive_bayes(state.state, source)
        arranged.eligible[declared] = True
        return replace(state, state=arranged)

    def active_classes(self, state: GaussianNBState) -> IntArray:
        return np.flatnonzero(state.state.eligible)

    def learn(
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

    def classify(self, state: GaussianNBState, X: NDArray[Any]) -> IntArray:
        labels = np.empty(X.shape[0], np.int64)
        for rows in row_blocks(X.shape[0]):
            block = as_block(X[rows])
            naive_bayes_pass(state.state, block, _NO_LABELS, _ONE, False, labels[rows])
        return labels

    def observe_block(
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

    def block_probabilities(
        self, state: GaussianNBState, X: NDArray[Any]
    ) -> FloatArray:
        if not state.state.eligible.any():
            return np.zeros((X.shape[0], state.state.eligible.shape[0]))
        return exp(self.log_probabilities(state, X, ordered=True))

    def learn_blocks(
        self, state: GaussianNBState, blocks: Sequence[BlockStatistics]
    ) -> GaussianNBState:
        for block in blocks:
            moments = Moments(*(block.arrays[name] for name in Moments._fields))
            merge_moments(state.state, moments)
            state.seen += block.y.shape[0]
        return state

    def row_counts(self, state: GaussianNBState) -> tuple[int, int]:
        return state.seen, state.seen

    def copy(self, state: GaussianNBState) -> GaussianNBState:
        everything = np.arange(state.state.eligible.shape[0])
        return replace(state, state=arrange_naive_bayes(state.state, everything))

    def export(
        self, state: GaussianNBState
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays = {**state.state.moments._asdict(), "eligible": state.state.eligible}
        return {"seen": state.seen}, arrays

    def schema(
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

    def restore(
        self,
        metadata: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        classes: LabelArray,
        p: int,
    ) -> GaussianNBState:
        state = self.begin(p, classes, np.zeros(0, np.int64)).state
        for name, part in state.moments._asdict().items():
            part[...] = arrays[name]
        state.eligible[:] = arrays["eligible"]
        derive_naive_bayes(state)
        return GaussianNBState(state, metadata["seen"])
