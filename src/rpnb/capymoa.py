"""Classifiers of CapyMOA: observations are instances of a schema.

Needs the extra: ``pip install 'rpnb[capymoa]'``, and Java.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, final

import numpy as np
from numpy.typing import ArrayLike

try:
    from capymoa.base import Classifier
    from capymoa.core import Instance, LabeledInstance
    from capymoa.stream import Schema
except ImportError as error:
    raise ImportError(
        "rpnb.capymoa needs CapyMOA: pip install 'rpnb[capymoa]'"
    ) from error

from rpnb.core.bayes.combining import Combiner
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.projection.matrices import Distribution
from rpnb.estimators import classifier, pooled
from rpnb.estimators.stream.class_weights import ClassWeight

__all__ = ["PooledClassifier", "RPNBClassifier"]


class _SchemaClassifier(Classifier):  # type: ignore[misc]
    """Abstract: a classifier of this package for the attributes of a schema."""

    _model: classifier.RPNBClassifier | pooled.PooledClassifier

    def _begin(self) -> None:
        """Let the model know the number of attributes and the classes."""
        self._model._initialise(
            self.schema.get_num_attributes(), np.arange(self.schema.get_num_classes())
        )

    def train(self, instance: LabeledInstance) -> None:
        """Learn from an instance; from one without a label there is nothing to learn.

        After `predict` of the same instance, what was found out then is used again.
        """
        label = instance.y_index
        if label >= 0:
            self._model.learn_one(instance.x, label)

    def predict(self, instance: Instance) -> int:
        """Return the index of the predicted class."""
        return int(self._model.predict_one(instance.x))

    def predict_proba(self, instance: Instance) -> FloatArray:
        """Return the probability of each class of the schema (M,)."""
        rows = instance.x[None, :]
        probabilities: FloatArray = self._model.predict_next_proba(rows)[0]
        return probabilities


@final
class RPNBClassifier(_SchemaClassifier):
    """Online classifier: random projections, naive Bayes, learning from mistakes.

    The estimator `rpnb.RPNBClassifier` with the interface of CapyMOA. The parameters
    are the same, except that the seed has the name and the default that it has in
    CapyMOA, and that there is no `batch_size`: instances come one by one.

    The classes are those of the schema, and all of them may be predicted from the
    start, as in the paper. Nominal attributes are their values' indices, as CapyMOA
    gives them. Instances without a label are not learned, as in MOA; missing attributes
    are refused.

    Parameters
    ----------
    schema : Schema
        The attributes and classes of the stream.
    n_estimators : int, default=200
        K, the number of projections and classifiers.
    n_components : int or "auto", default="auto"
        q, the dimension of the projections. "auto" is ⌊2·log₂ p⌋ for
        p attributes, at least 1 and at most p.
    projection : {"gaussian", "bernoulli", "achlioptas", "very_sparse", "hadamard"}, \
default="gaussian"
        Distribution of the projections' entries: N(0, 1); ±1; or −√3, 0, √3 with
        probabilities 1/6, 2/3, 1/6; "very_sparse" and "hadamard" are for wide data. All
        are divided by √q.
    combiner : {"log_sum", "sum", "product", "vote", "max", "min", "median"}, \
default="log_sum"
        How the members' posteriors become one score: equation (6) of the paper, or a
        rule of Kittler et al. (1998) on normalised posteriors.
    update : {"mistakes", "all"}, default="mistakes"
        Which observations are learned.
    prior_mean : float, default=0.0
        Mean of each column of each class before the first observation.
    prior_variance : float, default=1.0
        Variance of each column of each class before the first observation.
    prior_weight : float, default=1.0
        How many observations the prior mean and variance count as.
    forgetting : float or None, default=None
        W > 1, for streams that drift: each class remembers about the last W rows that
        it has learned. None forgets nothing.
    class_prior : "uniform", "frequency", mapping or array-like, default="uniform"
        P(y). "frequency" follows the labels seen; an array, or a mapping, from the
        index of each class to its probability fixes it.
    var_floor : float, default=1e-9
        Smallest variance that is ever used.
    scale : "running" or None, default=None
        "running" scales each column by its mean and deviation in the rows before; None,
        the paper's, takes values as they are.
    temperature : "auto", float or None, default="auto"
        How scores become probabilities, for "log_sum" and "product": "auto" learns it
        along the stream, a number divides them, None is K.
    random_seed : int, default=1
        Seed of the projections.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes: given, or n/(M·n_y) by the observations so far.

    References
    ----------
    T. T. Nguyen, T. T. T. Nguyen, X. C. Pham, A. W.-C. Liew and J. C. Bezdek, "An
    ensemble-based online learning algorithm for streaming data", 2017.

    Examples
    --------
    >>> from capymoa.evaluation import prequential_evaluation
    >>> from capymoa.stream.generator import SEA
    >>> from rpnb.capymoa import RPNBClassifier
    >>> stream = SEA()
    >>> model = RPNBClassifier(stream.get_schema())
    >>> result = prequential_evaluation(stream, model, max_instances=2000)
    >>> result.cumulative.accuracy() > 70.0
    True
    """

    def __init__(
        self,
        schema: Schema,
        n_estimators: int = 200,
        n_components: int | Literal["auto"] = "auto",
        projection: Distribution = "gaussian",
        combiner: Combiner = "log_sum",
        update: Literal["mistakes", "all"] = "mistakes",
        prior_mean: float = 0.0,
        prior_variance: float = 1.0,
        prior_weight: float = 1.0,
        forgetting: float | None = None,
        class_prior: str | Mapping[int, float] | ArrayLike = "uniform",
        var_floor: float = 1e-9,
        scale: Literal["running"] | None = None,
        temperature: float | Literal["auto"] | None = "auto",
        random_seed: int = 1,
        class_weight: ClassWeight = None,
    ) -> None:
        _check_schema(schema)
        super().__init__(schema=schema, random_seed=random_seed)
        self._model = classifier.RPNBClassifier(
            n_estimators,
            n_components=n_components,
            projection=projection,
            combiner=combiner,
            update=update,
            prior_mean=prior_mean,
            prior_variance=prior_variance,
            prior_weight=prior_weight,
            forgetting=forgetting,
            class_prior=class_prior,
            var_floor=var_floor,
            scale=scale,
            temperature=temperature,
            class_weight=class_weight,
            random_state=random_seed,
        )
        self._begin()


@final
class PooledClassifier(_SchemaClassifier):
    """Online classifier: several classifiers of one family, pooled along the stream.

    The estimator `rpnb.PooledClassifier` with the interface of CapyMOA. The parameters
    are the same, except that the seed has the name and the default that it has in
    CapyMOA.

    The classes are those of the schema, and all of them may be predicted from the
    start. Nominal attributes are their values' indices, as CapyMOA gives them. Missing
    attributes are missing values. Instances without a label are not learned, as in MOA.

    Parameters
    ----------
    schema : Schema
        The attributes and classes of the stream.
    members : "all", "mergeable" or sequence of str, default="all"
        The members of the pool.
    n_projections : int, default=512
        Rectified random projections of a row, a multiple of 16.
    window : int or None, default=None
        Rows that the window forest keeps at most. None is min(4000, max(256, 2¹⁹/p))
        for p attributes.
    delay : int, default=0
        How late labels come, in rows: that of a row is learned before the row `delay`
        rows later is predicted.
    random_seed : int, default=1
        Seed of the projections and trees.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes: given, or n/(M·n_y) by the observations so far.

    Examples
    --------
    >>> from capymoa.evaluation import prequential_evaluation
    >>> from capymoa.stream.generator import SEA
    >>> from rpnb.capymoa import PooledClassifier
    >>> stream = SEA()
    >>> model = PooledClassifier(stream.get_schema())
    >>> result = prequential_evaluation(stream, model, max_instances=2000)
    >>> result.cumulative.accuracy() > 80.0
    True
    """

    def __init__(
        self,
        schema: Schema,
        members: Literal["all", "mergeable"] | Sequence[str] = "all",
        n_projections: int = 512,
        window: int | None = None,
        delay: int = 0,
        random_seed: int = 1,
        class_weight: ClassWeight = None,
    ) -> None:
        _check_schema(schema)
        super().__init__(schema=schema, random_seed=random_seed)
        self._model = pooled.PooledClassifier(
            members,
            n_projections=n_projections,
            window=window,
            delay=delay,
            class_weight=class_weight,
            random_state=random_seed,
        )
        self._begin()


def _check_schema(schema: Schema) -> None:
    """Refuse a schema without classes."""
    if not schema.is_classification():
        raise ValueError(
            "the schema must be one of classification, got one of regression"
        )
