"""Classifiers of a stream whose rows may weigh differently."""

from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from rpnb.core.kernels.arrays import FloatArray
from rpnb.estimators.checks.costs import Costs
from rpnb.estimators.checks.labels import LabelArray, as_labels, decode
from rpnb.estimators.checks.weights import check_weight
from rpnb.estimators.stream.classifier import StreamClassifier
from rpnb.estimators.stream.learner import State


class WeightedStreamClassifier(StreamClassifier[State]):
    """Abstract: a stream classifier whose rows may weigh differently."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        shuffle: bool = True,
    ) -> Self:
        """Forget everything and learn from the rows of X, once, in a random order.

        Rows that are sorted, by class for instance, are a stream that no learner can
        follow; here they are a set. `partial_fit` keeps the order given. All classes in
        `y` may be predicted from the first row on, as in the paper.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Observations.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), optional
            A row of weight w is learned as w equal rows in one update. Rows of weight 0
            are left out.
        shuffle : bool, default=True
            Whether the order of the rows is drawn, from `random_state` if the learner
            has one and from a fixed seed otherwise; if not, they are learned in the
            order given.

        Returns
        -------
        self
        """
        self._learn_all(X, y, sample_weight, shuffle)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Observations.
        y : array-like of shape (n,)
            Their labels. A label never seen before becomes a new class.
        classes : array-like, optional
            Classes that may be predicted from now on, seen or not. Allowed on any
            call, never required.
        sample_weight : array-like of shape (n,), optional
            A row of weight w is learned as w equal rows in one update. Rows of weight 0
            are left out.

        Returns
        -------
        self
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
        """Predict each row with what was known before it, then learn it.

        This is the protocol of the paper and of prequential evaluation. The result is
        what a loop over `predict` and `partial_fit` of one row at a time would give,
        however rows are cut into calls.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Observations, in the order of their arrival.
        y : array-like of shape (n,)
            Their labels. A label that was not declared may be predicted from the row
            after its first.
        classes : array-like, optional
            Classes that may be predicted from the first of these rows on.
        sample_weight : array-like of shape (n,), optional
            A row of weight w is learned as w equal rows in one update; above 0.
        return_proba : bool, default=False
            Whether to return the probabilities of each row before it was learned, too,
            for learners with `predict_proba`. They change neither labels nor what is
            learned. `RPNBClassifier` and `PooledClassifier` compute them in one pass,
            others row by row.
        costs : array-like of shape (M, M) or mapping, optional
            What predictions cost, by true class (row) and predicted class (column), in
            the order of `classes_` as they are afterwards, or by true class. Labels are
            then those with the least expected cost by the probabilities before each
            row; see `predict`. Costs do not change what is learned.

        Returns
        -------
        array of shape (n,)
            The predicted labels. A row for which no class was known yet counts as a
            mistake and has None; only then is the array of dtype object. It does not
            happen where `classes` are declared on the first call.
        array of shape (n, M)
            With `return_proba`: the probabilities of `classes_` as they are afterwards,
            0 for a class that was not known yet.
        """
        if sample_weight is None:
            # For mypy: a boolean fits neither of the two signatures.
            if return_proba:
                return super().predict_then_learn(
                    X, y, classes, return_proba=True, costs=costs
                )
            return super().predict_then_learn(X, y, classes, costs=costs)
        n = as_labels(y).shape[0]
        weight = check_weight(sample_weight, n, self._weight_limits)
        if not weight.all():
            row = int(np.argmin(weight))
            raise ValueError(
                f"sample_weight must be above 0 here, got 0 in row {row}: rows that "
                "are not to be learned are for predict"
            )
        if costs is not None:
            labels, P = self._decided_then_learned(X, y, classes, costs, weight)
            return (labels, P) if return_proba else labels
        if return_proba:
            labels, scored = self._scored_then_learned(X, y, classes, weight)
            return labels, scored.probabilities
        first = not self.__sklearn_is_fitted__()
        numbers = self._learn_batch(X, y, classes, weight, first=first, predict=True)
        return decode(numbers, self.classes_)
