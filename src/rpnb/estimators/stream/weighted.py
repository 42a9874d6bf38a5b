"""Stream classifiers that accept sample weights."""

from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from rpnb.core.kernels.arrays import FloatArray
from rpnb.estimators.checks.costs import Costs
from rpnb.estimators.checks.labels import LabelArray, as_labels, decode
from rpnb.estimators.checks.weights import check_weight
from rpnb.estimators.stream.classifier import StreamClassifier


class WeightedStreamClassifier(StreamClassifier):
    """Abstract base: a stream classifier that accepts sample weights."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the model to a table, in one pass.

        Discards whatever was learned before. Samples are learned in a random order
        unless `shuffle` is False, so tables sorted by class or time are learned well;
        `partial_fit` keeps the order given. All classes in `y` may be predicted from
        the first sample on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples: one of weight w counts as w equal samples in one
            update, and one of weight 0 is left out. By default all weigh 1.

        Returns
        -------
        self
            The fitted model.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from rpnb.baselines import GaussianNB
        >>> X, y = load_iris(return_X_y=True)
        >>> weights = np.where(y == 0, 2.0, 1.0)
        >>> GaussianNB().fit(X, y, sample_weight=weights).n_samples_seen_
        150
        """
        self._learn_all(X, y, sample_weight)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn more samples, in the order given.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Class labels. A label never seen before becomes a new class.
        classes : array-like of shape (n_classes,), optional
            Classes that may be predicted from now on, seen or not. Allowed on any
            call, never required.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples: one of weight w counts as w equal samples in one
            update, and one of weight 0 is left out. By default all weigh 1.

        Returns
        -------
        self
            The model.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from rpnb.baselines import GaussianNB
        >>> X, y = load_iris(return_X_y=True)
        >>> weights = np.where(y == 0, 2.0, 1.0)
        >>> model = GaussianNB().partial_fit(X, y, sample_weight=weights)
        >>> model.classes_.tolist()
        [0, 1, 2]
        """
        first = not self.__sklearn_is_fitted__()
        self._learn_batch(X, y, classes, sample_weight, first=first)
        return self

    @overload
    def predict_then_learn(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        return_proba: Literal[False] = False,
        costs: Costs | None = None,
    ) -> LabelArray: ...
    @overload
    def predict_then_learn(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        return_proba: Literal[True],
        costs: Costs | None = None,
    ) -> tuple[LabelArray, FloatArray]: ...
    def predict_then_learn(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        return_proba: bool = False,
        costs: Costs | None = None,
    ) -> LabelArray | tuple[LabelArray, FloatArray]:
        """Predict each sample with the model before it, then learn it.

        This is the protocol of prequential evaluation. The result is that of a loop
        over `predict_next` and `partial_fit` of one sample at a time, however the data
        is split into calls.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the order of their arrival.
        y : array-like of shape (n_samples,)
            Class labels. A label that was not declared may be predicted from the sample
            after its first.
        classes : array-like of shape (n_classes,), optional
            Classes that may be predicted from the first of these samples on.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples: one of weight w counts as w equal samples in one
            update; above 0. By default all weigh 1.
        return_proba : bool, default=False
            Whether to return the probabilities of each sample before it was learned as
            well, for learners with `predict_proba`. They change neither labels nor what
            is learned. `RPNBClassifier` and `PooledClassifier` compute them in one
            pass, others sample by sample.
        costs : array-like of shape (n_classes, n_classes) or mapping, optional
            Cost of each prediction by true class (row) and predicted class (column), in
            the order of `classes_` as they are afterwards, or by true class. The label
            with the lowest expected cost is predicted; see `predict`. Costs do not
            change what is learned.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted labels. A sample for which no class was known yet counts as a
            mistake and has None; only then is the array of dtype object. It does not
            happen where `classes` are declared on the first call.
        probabilities : ndarray of shape (n_samples, n_classes)
            With `return_proba`: probabilities of `classes_` as they are afterwards, 0
            for a class that was not known yet.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from rpnb.baselines import GaussianNB
        >>> X, y = load_iris(return_X_y=True)
        >>> weights = np.where(y == 0, 2.0, 1.0)
        >>> model = GaussianNB()
        >>> model.predict_then_learn(X, y, sample_weight=weights).shape
        (150,)
        """
        if sample_weight is None:
            # For mypy: a boolean matches neither of the two signatures.
            if return_proba:
                return super().predict_then_learn(
                    X, y, classes, return_proba=True, costs=costs
                )
            return super().predict_then_learn(X, y, classes, costs=costs)
        y = as_labels(y)
        limits = self._learner().weight_limits
        weight = check_weight(sample_weight, y.shape[0], limits)
        if not weight.all():
            row = int(np.argmin(weight))
            raise ValueError(
                f"sample_weight must be above 0 here, got 0 in row {row}: use predict "
                "for rows that should not be learned"
            )
        if costs is not None:
            labels, P = self._decided_then_learned(X, y, classes, costs, weight)
            return (labels, P) if return_proba else labels
        if return_proba:
            scored = self._scored_then_learned(X, y, classes, weight)
            return decode(scored.predicted, self.classes_), scored.P
        first = not self.__sklearn_is_fitted__()
        _, numbers = self._learn_batch(X, y, classes, weight, first=first, predict=True)
        return decode(numbers, self.classes_)
