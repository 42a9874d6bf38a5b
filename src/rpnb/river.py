"""Classifiers of River: observations are dictionaries.

Needs the extra: ``pip install 'rpnb[river]'``.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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

from rpnb.core.bayes.combining import Combiner
from rpnb.core.conformal import learn_threshold, new_thresholds
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.projection.matrices import MatrixDistribution
from rpnb.estimators import classifier
from rpnb.estimators.named.columns import NamedColumns
from rpnb.estimators.named.features import NamedFeatures
from rpnb.estimators.stream.class_weights import ClassWeight
from rpnb.estimators.trust.sets import (
    LEAST_PROBABILITY,
    check_coverage,
    past_sets,
)

__all__ = ["PooledClassifier", "RPNBClassifier"]


_F = TypeVar("_F", NamedFeatures, NamedColumns)


class _NamedClassifier(base.MiniBatchClassifier, Generic[_F]):
    """Abstract: a classifier of this package whose features have names."""

    _features: _F | None = None
    _thresholds: FloatArray | None = None
    """of prediction sets; None as long as none was learned"""

    @abstractmethod
    def _begin(self, x: Iterable[FeatureName]) -> _F:
        """Return features of a classifier that has learned nothing.

        `x` are the names in the first observation.
        """

    @property
    def _multiclass(self) -> bool:
        return True

    # One observation

    def learn_one(self, x: Mapping[Any, Any], y: ClfTarget) -> None:
        """Learn from an observation `x` with label `y`.

        A label never seen before becomes a new class.
        """
        features = self._features or self._begin(x)
        features.learn_one(x, y)
        self._features = features

    def predict_one(self, x: Mapping[Any, Any], **kwargs: Any) -> ClfTarget | None:
        """Return the label of `x`; None before anything has been learned."""
        features = self._features
        if features is None:
            return None
        label = features.classifier.predict_one(features.row(x))
        return label.item() if isinstance(label, np.generic) else label

    def predict_proba_one(
        self, x: Mapping[Any, Any], **kwargs: Any
    ) -> dict[ClfTarget, float]:
        """Return the probability of each label; {} before anything has been learned."""
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
        """Return a set of labels that holds the true one in so many cases.

        Adaptive conformal inference, see `rpnb.RPNBClassifier.predict_set`, with
        thresholds that `predict_set_then_learn_one` moves; before that, a set holds
        what has a probability of a half or more. Empty before anything is learned.

        Parameters
        ----------
        x
            An observation.
        coverage
            The wished share, from 0.5 to 0.99.
        """
        return self._set_of(self.predict_proba_one(x), coverage)

    def predict_set_then_learn_one(
        self, x: Mapping[Any, Any], y: ClfTarget, coverage: float = 0.9
    ) -> set[ClfTarget]:
        """Return the set of `x` before it is learned with label `y`, then learn it.

        In the long run the sets hold the true label in the wished share of cases,
        whatever the stream and however it drifts.
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
        wished = check_coverage(coverage)
        learned = self._thresholds
        thresholds = new_thresholds() if learned is None else learned
        values = np.maximum([list(P.values())], LEAST_PROBABILITY)
        chosen = past_sets(values, thresholds[None, :], wished)[0]
        return {label for label, inside in zip(P, chosen, strict=True) if inside}

    # Many observations

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn from the rows of a data frame `X`, in their order, with labels `y`."""
        columns, n = _columns(X)
        labels = into_series(y).to_numpy()
        features = self._features or self._begin(columns)
        features.learn_many(columns, n, labels)
        self._features = features

    def predict_many(self, X: Any) -> Any:
        """Return the labels of the rows of a data frame, as a series of its kind."""
        frame = into_frame(X)
        features = self._features
        if features is None:
            return to_native_series([None] * len(frame), name=None, like=frame)
        labels = features.classifier.predict_next(features.table(*_columns(X)))
        return to_native_series(labels.tolist(), name=None, like=frame)

    def predict_proba_many(self, X: Any) -> Any:
        """Return the probabilities of all labels, one column each."""
        frame = into_frame(X)
        features = self._features
        if features is None:
            return frame.drop(frame.columns).to_native()
        values = features.classifier.predict_next_proba(features.table(*_columns(X)))
        labels = features.classifier.classes_.tolist()
        columns = dict(zip(labels, values.T, strict=True))
        return to_native_frame(columns, like=frame)


@final
@dataclass(eq=False, repr=False)
class RPNBClassifier(_NamedClassifier[NamedFeatures]):
    """Online classifier: random projections, naive Bayes, learning from mistakes.

    The estimator `rpnb.RPNBClassifier` with the interface of River. The parameters are
    the same, except that the seed has the name it has in River.

    Features may appear at any time, be absent, and come in any order: the row of a
    feature in the projections is drawn from the seed and the feature's name alone, and
    an absent feature is zero. Features must be numbers (booleans are 0 and 1), finite,
    and should be on similar scales: put a `preprocessing.StandardScaler` before.

    Parameters
    ----------
    n_estimators : int, default=200
        K, the number of projections and classifiers.
    n_components : int or "auto", default="auto"
        q, the dimension of the projections. "auto" is ⌊2·log₂ p⌋
        where p is the number of features of the *first* observation learned, at least 1
        and at most p. Set it where the first observation is not typical.
    projection : {"gaussian", "bernoulli", "achlioptas"}, default="gaussian"
        Distribution of the projections' entries: N(0, 1); ±1; or −√3, 0, √3 with
        probabilities 1/6, 2/3, 1/6. All are divided by √q.
    combiner : {"log_sum", "sum", "product", "vote", "max", "min", "median"}, \
default="log_sum"
        How the members' posteriors become one score: equation (6) of the paper, or a
        rule of Kittler et al. (1998) on normalised posteriors.
    update : {"mistakes", "all"}, default="mistakes"
        Which observations are learned.
    batch_size : int or None, default=1
        Rows that `learn_many` predicts before it learns any of them; None makes each
        call one mini-batch. With 1, `learn_many` leaves the model as a loop of
        `learn_one` would, to the bit.
    prior_mean : float, default=0.0
        Mean of each column of each class before the first observation.
    prior_variance : float, default=1.0
        Variance of each column of each class before the first observation.
    prior_weight : float, default=1.0
        How many observations the prior mean and variance count as.
    forgetting : float or None, default=None
        W > 1, for streams that drift: each class remembers about the last W rows that
        it has learned. None forgets nothing.
    class_prior : "uniform", "frequency" or mapping, default="uniform"
        P(y). "frequency" follows the labels seen; a mapping from each label to its
        probability fixes it.
    var_floor : float, default=1e-9
        Smallest variance that is ever used.
    temperature : "auto", float or None, default="auto"
        How scores become probabilities, for "log_sum" and "product": "auto" learns it
        along the stream, a number divides them, None is K.
    seed : int or None, default=None
        Seed of the projections.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes: given, or n/(M·n_y) by the observations so far.

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

    n_estimators: int = 200
    n_components: int | Literal["auto"] = "auto"
    projection: MatrixDistribution = "gaussian"
    combiner: Combiner = "log_sum"
    update: Literal["mistakes", "all"] = "mistakes"
    batch_size: int | None = 1
    prior_mean: float = 0.0
    prior_variance: float = 1.0
    prior_weight: float = 1.0
    forgetting: float | None = None
    class_prior: str | Mapping[Any, float] = "uniform"
    var_floor: float = 1e-9
    temperature: float | Literal["auto"] | None = "auto"
    seed: int | None = None
    class_weight: ClassWeight = None

    # Reasons, and taking back

    def explain_one(
        self, x: Mapping[Any, Any], label: Any = None, against: Any = None
    ) -> dict[Any, float]:
        """Return what each feature of `x` adds to a label's score against another's.

        Exact Shapley values, see `rpnb.RPNBClassifier.explain`, with an observation
        without features as the background: a feature that is absent is zero, and adds
        nothing.

        Parameters
        ----------
        x
            An observation.
        label
            The label that is explained; by default the prediction.
        against
            The label that it is compared with; by default the second best.
        """
        features = self._features
        if features is None:
            raise ValueError(
                "explain_one needs labels of two classes: none was learned"
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
        """Take an observation that was learned with label `y` out again.

        See `rpnb.RPNBClassifier.unlearn` for what that means with update="mistakes",
        and for when it is refused.
        """
        features = self._features
        if features is None:
            raise ValueError("nothing was learned that could be unlearned")
        features.classifier.unlearn(features.row(x)[None, :], np.array([y]))

    def _begin(self, x: Iterable[FeatureName]) -> NamedFeatures:
        parameters = self._get_params()
        seed = parameters.pop("seed")
        model = classifier.RPNBClassifier(**parameters, random_state=seed)
        return NamedFeatures(model, x)


@final
@dataclass(eq=False, repr=False)
class PooledClassifier(_NamedClassifier[NamedColumns]):
    """Online classifier: several classifiers of one family, pooled along the stream.

    The estimator `rpnb.PooledClassifier` with the interface of River. The parameters
    are the same, except that the seed has the name it has in River. Features need no
    scaling, and there is nothing to tune.

    Features may appear at any time. One that first appears after 256 observations is
    learned as soon as 16 observations had it: the pool then begins again, with all
    features, from up to 4,000 of the most recent observations. An absent feature is a
    missing value, and so is NaN. Features must be numbers (booleans are 0 and 1).

    Parameters
    ----------
    members : "all", "mergeable" or sequence of str, default="all"
        The members of the pool.
    n_projections : int, default=512
        Rectified random projections of a row, a multiple of 16.
    window : int or None, default=None
        Rows that the window forest keeps at most. None is min(4000, max(256, 2¹⁹/p))
        for p features.
    delay : int, default=0
        How late labels come, in rows: that of a row is learned before the row `delay`
        rows later is predicted.
    seed : int or None, default=None
        Seed of the projections and trees.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes: given, or n/(M·n_y) by the observations so far.

    Notes
    -----
    Parameters are read when the first observation is learned. Predictions and state are
    those of `rpnb.PooledClassifier` on a table of all features of the first 256
    observations, ordered by the numbers of their names, with NaN where a feature is
    absent: the same to the bit, whatever came first. A new feature among the first 256
    observations makes the classifier learn those before it again; a later one, the most
    recent ones.

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

    members: Literal["all", "mergeable"] | Sequence[str] = "all"
    n_projections: int = 512
    window: int | None = None
    delay: int = 0
    seed: int | None = None
    class_weight: ClassWeight = None

    def _begin(self, x: Iterable[FeatureName]) -> NamedColumns:
        parameters = self._get_params()
        parameters["random_state"] = parameters.pop("seed")
        return NamedColumns(parameters)

    @property
    def weights_(self) -> dict[str, float]:
        """The pool's weight of each member's scores; {} before anything is learned."""
        return {} if self._features is None else self._features.classifier.weights_

    @property
    def member_errors_(self) -> dict[str, float]:
        """The share of rows that each member predicted wrongly, and the pool.

        {} before anything is learned.
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
