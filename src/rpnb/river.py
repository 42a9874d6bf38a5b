"""Classifiers with the interface of River: observations are dictionaries.

Needs the extra: ``pip install 'rpnb[river]'``.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar, final

import numpy as np
from numpy.typing import NDArray

try:
    from river import base
    from river.base.typing import ClfTarget, FeatureName
    from river.utils.dataframe import (
        into_frame,
        into_series,
        to_native_frame,
        to_native_series,
    )
except ImportError as error:
    raise ImportError("rpnb.river needs River: pip install 'rpnb[river]'") from error

from rpnb.core.bayes.statistics import Combiner
from rpnb.core.conformal import learn_threshold, new_thresholds
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.projection.matrices import MatrixDistribution
from rpnb.estimators.named.named_columns import NamedColumns
from rpnb.estimators.named.named_features import NamedFeatures
from rpnb.estimators.rpnb import RPNBClassifier as ScikitRPNB
from rpnb.estimators.stream.class_weights import ClassWeight
from rpnb.estimators.trust.sets import (
    LEAST_PROBABILITY,
    check_coverage,
    past_sets,
)

__all__ = ["PooledClassifier", "RPNBClassifier"]


_F = TypeVar("_F", NamedFeatures, NamedColumns)


class _NamedClassifier(base.MiniBatchClassifier, Generic[_F]):
    """Abstract base: a classifier of this package with named features."""

    _features: _F | None = None
    _thresholds: FloatArray | None = None
    """thresholds of prediction sets; None before the first is learned"""

    @abstractmethod
    def _begin(self, x: Iterable[FeatureName]) -> _F:
        """Return the features of a new classifier.

        `x` are the names in the first observation.
        """

    @property
    def _multiclass(self) -> bool:
        return True

    # One observation

    def learn_one(self, x: Mapping[Any, Any], y: ClfTarget) -> None:
        """Learn from an observation.

        Parameters
        ----------
        x : mapping
            Observation: the value of each feature by name.
        y : label
            Label of the observation. One never seen before becomes a new class.

        Examples
        --------
        >>> from rpnb.river import RPNBClassifier
        >>> model = RPNBClassifier(seed=0)
        >>> model.learn_one({"length": 2.5}, "apple")
        >>> model.learn_one({"length": 7.0}, "banana")
        >>> model.predict_one({"length": 6.5})
        'banana'
        """
        features = self._features or self._begin(x)
        features.learn_one(x, y)
        self._features = features

    def predict_one(self, x: Mapping[Any, Any], **kwargs: Any) -> ClfTarget | None:
        """Predict the label of an observation.

        Parameters
        ----------
        x : mapping
            Observation: the value of each feature by name.

        Returns
        -------
        label or None
            Predicted label; None before anything has been learned.

        Examples
        --------
        >>> from rpnb.river import RPNBClassifier
        >>> model = RPNBClassifier(seed=0)
        >>> model.learn_one({"length": 2.5}, "apple")
        >>> model.learn_one({"length": 7.0}, "banana")
        >>> model.predict_one({"length": 2.0})
        'apple'
        """
        features = self._features
        if features is None:
            return None
        label = features.classifier.predict_one(features.row(x))
        return label.item() if isinstance(label, np.generic) else label

    def predict_proba_one(
        self, x: Mapping[Any, Any], **kwargs: Any
    ) -> dict[ClfTarget, float]:
        """Return the probability of each label.

        Parameters
        ----------
        x : mapping
            Observation: the value of each feature by name.

        Returns
        -------
        dict
            Probabilities by label; {} before anything has been learned.

        Examples
        --------
        >>> from rpnb.river import RPNBClassifier
        >>> model = RPNBClassifier(seed=0)
        >>> model.learn_one({"length": 2.5}, "apple")
        >>> model.learn_one({"length": 7.0}, "banana")
        >>> found = model.predict_proba_one({"length": 2.0})
        >>> max(found, key=found.get), round(sum(found.values()), 6)
        ('apple', 1.0)
        """
        features = self._features
        if features is None:
            return {}
        row = features.row(x)
        model = features.classifier
        values = model.predict_next_proba(row[None, :])[0]
        return dict(zip(model.classes_.tolist(), values.tolist(), strict=True))

    # Prediction sets

    def predict_set_one(
        self, x: Mapping[Any, Any], coverage: float = 0.9
    ) -> set[ClfTarget]:
        """Return a set of labels that contains the true one with the given coverage.

        Adaptive conformal inference, as in `rpnb.RPNBClassifier.predict_set`, with
        thresholds that `predict_set_then_learn_one` updates. Before its first call, a
        set holds the labels with a probability of one half or more.

        Parameters
        ----------
        x : mapping
            Observation: the value of each feature by name.
        coverage : float, default=0.9
            Target coverage, from 0.5 to 0.99.

        Returns
        -------
        set
            Labels; empty before anything has been learned.

        Examples
        --------
        >>> from rpnb.river import RPNBClassifier
        >>> model = RPNBClassifier(seed=0)
        >>> model.learn_one({"length": 2.5}, "apple")
        >>> model.learn_one({"length": 7.0}, "banana")
        >>> model.predict_set_one({"length": 2.0}) <= {"apple", "banana"}
        True
        """
        return self._set_of(self.predict_proba_one(x), coverage)

    def predict_set_then_learn_one(
        self, x: Mapping[Any, Any], y: ClfTarget, coverage: float = 0.9
    ) -> set[ClfTarget]:
        """Predict a set of labels, then learn the observation with its label.

        In the long run the share of sets that contain the true label is the target
        coverage, whatever the stream and however it drifts.

        Parameters
        ----------
        x : mapping
            Observation: the value of each feature by name.
        y : label
            Label of the observation.
        coverage : float, default=0.9
            Target coverage, from 0.5 to 0.99.

        Returns
        -------
        set
            Labels as `predict_set_one` returns them before `y` is learned.

        Examples
        --------
        >>> from rpnb.river import RPNBClassifier
        >>> model = RPNBClassifier(seed=0)
        >>> model.learn_one({"length": 2.5}, "apple")
        >>> model.learn_one({"length": 7.0}, "banana")
        >>> found = model.predict_set_then_learn_one({"length": 2.0}, "apple")
        >>> found <= {"apple", "banana"}
        True
        """
        P = self.predict_proba_one(x)
        predicted = self._set_of(P, coverage)
        self.learn_one(x, y)
        if self._thresholds is None:
            self._thresholds = new_thresholds()
        learn_threshold(self._thresholds, P.get(y, 0.0))
        return predicted

    def _set_of(self, P: Mapping[ClfTarget, float], coverage: float) -> set[ClfTarget]:
        """Return the labels whose probability is large enough."""
        target = check_coverage(coverage)
        learned = self._thresholds
        thresholds = new_thresholds() if learned is None else learned
        values = np.maximum([list(P.values())], LEAST_PROBABILITY)
        chosen = past_sets(values, thresholds[None, :], target)[0]
        return {label for label, inside in zip(P, chosen, strict=True) if inside}

    # Many observations

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn from the rows of a data frame, in their order.

        Parameters
        ----------
        X : data frame
            Observations, one per row.
        y : series
            Labels of the observations.

        Examples
        --------
        >>> import pandas as pd
        >>> from rpnb.river import RPNBClassifier
        >>> model = RPNBClassifier(seed=0)
        >>> frame = pd.DataFrame({"length": [2.5, 7.0]})
        >>> model.learn_many(frame, pd.Series(["apple", "banana"]))
        >>> model.predict_one({"length": 6.5})
        'banana'
        """
        columns, n = _columns(X)
        labels = into_series(y).to_numpy()
        features = self._features or self._begin(columns)
        features.learn_many(columns, n, labels)
        self._features = features

    def predict_many(self, X: Any) -> Any:
        """Predict the labels of the rows of a data frame.

        Parameters
        ----------
        X : data frame
            Observations, one per row.

        Returns
        -------
        series
            Predicted labels, in a series of the data frame's library; None before
            anything has been learned.

        Examples
        --------
        >>> import pandas as pd
        >>> from rpnb.river import RPNBClassifier
        >>> model = RPNBClassifier(seed=0)
        >>> frame = pd.DataFrame({"length": [2.5, 7.0]})
        >>> model.learn_many(frame, pd.Series(["apple", "banana"]))
        >>> model.predict_many(frame).tolist()
        ['apple', 'banana']
        """
        frame = into_frame(X)
        features = self._features
        if features is None:
            return to_native_series([None] * len(frame), name=None, like=frame)
        labels = features.classifier.predict_next(features.table(*_columns(X)))
        return to_native_series(labels.tolist(), name=None, like=frame)

    def predict_proba_many(self, X: Any) -> Any:
        """Return the probabilities of all labels for the rows of a data frame.

        Parameters
        ----------
        X : data frame
            Observations, one per row.

        Returns
        -------
        data frame
            Probabilities, one column for each label; without columns before anything
            has been learned.

        Examples
        --------
        >>> import pandas as pd
        >>> from rpnb.river import RPNBClassifier
        >>> model = RPNBClassifier(seed=0)
        >>> frame = pd.DataFrame({"length": [2.5, 7.0]})
        >>> model.learn_many(frame, pd.Series(["apple", "banana"]))
        >>> model.predict_proba_many(frame).columns.tolist()
        ['apple', 'banana']
        """
        frame = into_frame(X)
        features = self._features
        if features is None:
            return frame.drop(frame.columns).to_native()
        values = features.classifier.predict_next_proba(features.table(*_columns(X)))
        labels = features.classifier.classes_.tolist()
        columns = dict(zip(labels, values.T, strict=True))
        return to_native_frame(columns, like=frame)


@final
class RPNBClassifier(_NamedClassifier[NamedFeatures]):
    """Online classifier: random projections, naive Bayes, learning from mistakes.

    The estimator `rpnb.RPNBClassifier` with the interface of River. The parameters are
    the same, except that the seed is called `seed`, as in River.

    Features may appear at any time, be absent, and come in any order: the row of a
    feature in the projections is drawn from the seed and the feature's name alone, and
    an absent feature is zero. Features must be numbers (booleans are 0 and 1), finite,
    and should be on similar scales: put a `preprocessing.StandardScaler` in front.

    Parameters
    ----------
    n_estimators : int, default=200
        Number K of projections and classifiers.
    n_components : int or "auto", default="auto"
        Dimension q of the projections. "auto" is ⌊2·log₂ p⌋ where p is the number of
        features of the *first* observation learned, at least 1 and at most p. Set it if
        the first observation is not typical.
    projection : {"gaussian", "bernoulli", "achlioptas"}, default="gaussian"
        Distribution of the projections' entries: N(0, 1); ±1; or −√3, 0, √3 with
        probabilities 1/6, 2/3, 1/6. All are divided by √q.
    combiner : {"log_sum", "sum", "product", "vote", "max", "min", "median"}, \
default="log_sum"
        How the members' posteriors become one score: equation (6) of the paper, or a
        rule of Kittler et al. (1998) on normalised posteriors.
    update : {"mistakes", "all"}, default="mistakes"
        Whether to learn only misclassified observations, as in the paper, or all.
    batch_size : int or None, default=1
        Number of rows that `learn_many` predicts before it learns any of them; None
        makes each call one mini-batch. With 1, `learn_many` leaves the model as a loop
        of `learn_one` would, to the bit.
    prior_mean : float, default=0.0
        Mean of each projected dimension in each class before the first observation.
    prior_variance : float, default=1.0
        Variance of each projected dimension in each class before the first observation.
    prior_weight : float, default=1.0
        How many observations the prior mean and variance count as.
    forgetting : float or None, default=None
        Memory W > 1 for streams that drift: each class remembers about its last W
        learned observations. None: no forgetting.
    class_prior : "uniform", "frequency" or mapping, default="uniform"
        Prior P(y) of the classes. "frequency" follows the labels seen; a mapping from
        each label to its probability fixes it.
    var_floor : float, default=1e-9
        Lower bound on every variance.
    temperature : "auto", float or None, default="auto"
        How scores become probabilities, for "log_sum" and "product": "auto" learns it
        online, a number divides them, None stands for the number of members.
    seed : int or None, default=None
        Seed of the projections.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by label; "balanced" weights an observation of class y
        by n / (M * n_y), where n counts the observations so far, n_y those of class y
        and M the classes.

    Notes
    -----
    Parameters are read when the first observation is learned. A feature's name is text,
    bytes, a number, None, or a tuple of these. Predictions and state are the same to
    the bit whatever the order of features within an observation, whatever features
    came before, and whatever was predicted in between.

    References
    ----------
    T. T. Nguyen, T. T. T. Nguyen, X. C. Pham, A. W.-C. Liew and J. C. Bezdek, "An
    ensemble-based online learning algorithm for streaming data", 2017.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from rpnb.river import RPNBClassifier
    >>> model = preprocessing.StandardScaler() | RPNBClassifier(seed=0)
    >>> metric = metrics.Accuracy()
    >>> _ = evaluate.progressive_val_score(datasets.Phishing(), model, metric)
    >>> metric.get() > 0.85
    True
    """

    def __init__(
        self,
        n_estimators: int = 200,
        n_components: int | Literal["auto"] = "auto",
        projection: MatrixDistribution = "gaussian",
        combiner: Combiner = "log_sum",
        update: Literal["mistakes", "all"] = "mistakes",
        batch_size: int | None = 1,
        prior_mean: float = 0.0,
        prior_variance: float = 1.0,
        prior_weight: float = 1.0,
        forgetting: float | None = None,
        class_prior: str | Mapping[Any, float] = "uniform",
        var_floor: float = 1e-9,
        temperature: float | Literal["auto"] | None = "auto",
        seed: int | None = None,
        class_weight: ClassWeight = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_components = n_components
        self.projection = projection
        self.combiner = combiner
        self.update = update
        self.batch_size = batch_size
        self.prior_mean = prior_mean
        self.prior_variance = prior_variance
        self.prior_weight = prior_weight
        self.forgetting = forgetting
        self.class_prior = class_prior
        self.var_floor = var_floor
        self.temperature = temperature
        self.seed = seed
        self.class_weight = class_weight

    # Explaining and unlearning

    def explain_one(
        self, x: Mapping[Any, Any], label: Any = None, against: Any = None
    ) -> dict[Any, float]:
        """Return the contribution of each feature of `x` to a label's score.

        Contributions are exact Shapley values of the label's score minus that of
        another label, as in `rpnb.RPNBClassifier.explain`. The background is an
        observation without features: an absent feature is zero and contributes nothing.

        Parameters
        ----------
        x : mapping
            Observation: the value of each feature by name.
        label : label, optional
            Label to explain; by default the predicted one.
        against : label, optional
            Label to compare with; by default the second best.

        Returns
        -------
        dict
            Contributions by feature.

        Examples
        --------
        >>> from rpnb.river import RPNBClassifier
        >>> model = RPNBClassifier(seed=0)
        >>> model.learn_one({"length": 2.5}, "apple")
        >>> model.learn_one({"length": 7.0}, "banana")
        >>> list(model.explain_one({"length": 6.5}))
        ['length']
        """
        features = self._features
        if features is None:
            raise ValueError(
                "explain_one needs two learned classes: nothing was learned yet"
            )
        row = features.row(x)
        found = features.classifier.explain(
            row[None, :],
            label=label,
            against=against,
            background=np.zeros((1, row.shape[0])),
        )
        return dict(zip(features.row_names, found.values[0].tolist(), strict=False))

    def unlearn_one(self, x: Mapping[Any, Any], y: ClfTarget) -> None:
        """Remove a learned observation from the statistics.

        See `rpnb.RPNBClassifier.unlearn` for what that means with update="mistakes",
        and for when it is refused.

        Parameters
        ----------
        x : mapping
            Observation that was learned.
        y : label
            Label with which it was learned.

        Examples
        --------
        >>> from rpnb.river import RPNBClassifier
        >>> model = RPNBClassifier(seed=0, update="all")
        >>> model.learn_one({"length": 2.5}, "apple")
        >>> model.learn_one({"length": 7.0}, "banana")
        >>> model.learn_one({"length": 7.5}, "apple")      # a wrong label
        >>> model.unlearn_one({"length": 7.5}, "apple")
        >>> model.predict_one({"length": 7.4})
        'banana'
        """
        features = self._features
        if features is None:
            raise ValueError("unlearn_one needs a learned observation: there is none")
        features.classifier.unlearn(features.row(x)[None, :], np.array([y]))

    def _begin(self, x: Iterable[FeatureName]) -> NamedFeatures:
        parameters = self._get_params()
        seed = parameters.pop("seed")
        model = ScikitRPNB(**parameters, random_state=seed)
        return NamedFeatures(model, x)


@final
class PooledClassifier(_NamedClassifier[NamedColumns]):
    """Online ensemble of up to nine models whose weights adapt as labels arrive.

    The estimator `rpnb.PooledClassifier` with the interface of River. The parameters
    are the same, except that the seed is called `seed`, as in River. Features need no
    scaling, and no parameter needs tuning.

    Features may appear at any time. One that first appears after 256 observations is
    used once 16 observations contain it: the pool is then relearned, with all features,
    from up to 4,000 of the most recent observations. A further one waits until an
    eighth as many observations have come since as are kept, or half as many if fewer
    than half of the observations since it appeared have it. An absent feature is a
    missing value, and so is NaN. Features must be numbers (booleans are 0 and 1).

    Parameters
    ----------
    members : "all", "mergeable" or sequence of str, default="all"
        Members of the pool; see `rpnb.PooledClassifier`.
    n_projections : int, default=512
        Number of rectified random projections, a multiple of 16.
    window : int or None, default=None
        Largest number of observations that window_forest keeps. None stands for
        min(4000, max(256, 2¹⁹ / p)) with p features.
    delay : int, default=0
        How many observations late the labels arrive: an observation is learned before
        the one `delay` observations later is predicted.
    seed : int or None, default=None
        Seed of the projections and trees.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by label; "balanced" weights an observation of class y
        by n / (M * n_y), where n counts the observations so far, n_y those of class y
        and M the classes.

    Notes
    -----
    Parameters are read when the first observation is learned. Predictions and state are
    those of `rpnb.PooledClassifier` on a table of all features of the first 256
    observations, ordered by the numbers of their names, with NaN where a feature is
    absent: the same to the bit, whichever feature came first. A new feature among the
    first 256 observations makes the classifier relearn those before it; a later one,
    the most recent ones.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from rpnb.river import PooledClassifier
    >>> model = PooledClassifier(seed=0)
    >>> metric = metrics.Accuracy()
    >>> _ = evaluate.progressive_val_score(datasets.Phishing(), model, metric)
    >>> metric.get() > 0.88
    True
    """

    def __init__(
        self,
        members: Literal["all", "mergeable"] | Sequence[str] = "all",
        n_projections: int = 512,
        window: int | None = None,
        delay: int = 0,
        seed: int | None = None,
        class_weight: ClassWeight = None,
    ) -> None:
        self.members = members
        self.n_projections = n_projections
        self.window = window
        self.delay = delay
        self.seed = seed
        self.class_weight = class_weight

    def _begin(self, x: Iterable[FeatureName]) -> NamedColumns:
        parameters = self._get_params()
        parameters["random_state"] = parameters.pop("seed")
        return NamedColumns(parameters)

    @property
    def weights_(self) -> dict[str, float]:
        """Weight of each member's scores in the pool; {} before anything is learned.

        Examples
        --------
        >>> from rpnb.river import PooledClassifier
        >>> model = PooledClassifier(seed=0)
        >>> for i in range(20):
        ...     model.learn_one({"length": i % 2 + 0.1 * i}, i % 2)
        >>> "shared_covariance" in model.weights_
        True
        """
        return {} if self._features is None else self._features.classifier.weights_

    @property
    def member_errors_(self) -> dict[str, float]:
        """Error rate of each member, and of the pool; {} before anything is learned.

        Examples
        --------
        >>> from rpnb.river import PooledClassifier
        >>> model = PooledClassifier(seed=0)
        >>> for i in range(20):
        ...     model.learn_one({"length": i % 2 + 0.1 * i}, i % 2)
        >>> 0.0 <= model.member_errors_["pool"] <= 1.0
        True
        """
        if self._features is None:
            return {}
        return self._features.classifier.member_errors_


def _columns(X: Any) -> tuple[dict[FeatureName, NDArray[Any]], int]:
    """Return the columns of a data frame by name, and the number of rows."""
    frame = into_frame(X)
    columns: dict[FeatureName, NDArray[Any]] = {
        name: frame.get_column(name).to_numpy() for name in frame.columns
    }
    return columns, len(frame)
