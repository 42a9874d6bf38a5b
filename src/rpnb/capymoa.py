"""Classifiers with the interface of CapyMOA: samples are instances of a schema.

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

from rpnb.core.bayes.statistics import Combiner
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.projection.matrices import Distribution
from rpnb.estimators.pooled import PooledClassifier as ScikitPooled
from rpnb.estimators.protocol import initialise
from rpnb.estimators.rpnb import RPNBClassifier as ScikitRPNB
from rpnb.estimators.stream.class_weights import ClassWeight

__all__ = ["PooledClassifier", "RPNBClassifier"]


class _SchemaClassifier(Classifier):  # type: ignore[misc]
    """Abstract base: a classifier of this package for the attributes of a schema."""

    _model: ScikitRPNB | ScikitPooled

    def _begin(self) -> None:
        """Initialise the model with the number of attributes and the classes."""
        classes = np.arange(self.schema.get_num_classes())
        initialise(self._model, self.schema.get_num_attributes(), classes)

    def train(self, instance: LabeledInstance) -> None:
        """Learn an instance; one without a label is ignored.

        After `predict` of the same instance, its scores are reused.

        Parameters
        ----------
        instance : LabeledInstance
            Instance to learn.

        Examples
        --------
        >>> from capymoa.stream.generator import SEA
        >>> from rpnb.capymoa import RPNBClassifier
        >>> stream = SEA()
        >>> model = RPNBClassifier(stream.get_schema())
        >>> for _ in range(100):
        ...     model.train(stream.next_instance())
        >>> model.predict(stream.next_instance()) in (0, 1)
        True
        """
        label = instance.y_index
        if label >= 0:
            self._model.learn_one(instance.x, label)

    def predict(self, instance: Instance) -> int:
        """Predict the class of an instance.

        Parameters
        ----------
        instance : Instance
            Instance to predict.

        Returns
        -------
        int
            Index of the predicted class in the schema.

        Examples
        --------
        >>> from capymoa.stream.generator import SEA
        >>> from rpnb.capymoa import RPNBClassifier
        >>> stream = SEA()
        >>> model = RPNBClassifier(stream.get_schema())
        >>> model.predict(stream.next_instance()) in (0, 1)
        True
        """
        return int(self._model.predict_one(instance.x))

    def predict_proba(self, instance: Instance) -> FloatArray:
        """Return the probability of each class.

        Parameters
        ----------
        instance : Instance
            Instance to predict.

        Returns
        -------
        ndarray of shape (n_classes,)
            Probabilities, in the order of the schema's classes.

        Examples
        --------
        >>> from capymoa.stream.generator import SEA
        >>> from rpnb.capymoa import RPNBClassifier
        >>> stream = SEA()
        >>> model = RPNBClassifier(stream.get_schema())
        >>> model.predict_proba(stream.next_instance()).shape
        (2,)
        """
        rows = instance.x[None, :]
        probabilities: FloatArray = self._model.predict_next_proba(rows)[0]
        return probabilities


@final
class RPNBClassifier(_SchemaClassifier):
    """Online classifier: random projections, naive Bayes, learning from mistakes.

    The estimator `rpnb.RPNBClassifier` with the interface of CapyMOA. The parameters
    are the same, except that the seed has CapyMOA's name and default, and that there is
    no `batch_size`: instances arrive one by one.

    The classes are those of the schema, and all of them may be predicted from the
    start, as in the paper. Nominal attributes are encoded as the indices of their
    values, as CapyMOA does. Instances without a label are not learned, as in MOA;
    missing attributes are refused.

    Parameters
    ----------
    schema : Schema
        The attributes and classes of the stream.
    n_estimators : int, default=200
        Number K of projections and classifiers.
    n_components : int or "auto", default="auto"
        Dimension q of the projections. "auto" is ⌊2·log₂ p⌋ for p attributes, at least
        1 and at most p.
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
        Whether to learn only misclassified instances, as in the paper, or all.
    prior_mean : float, default=0.0
        Mean of each projected dimension in each class before the first instance.
    prior_variance : float, default=1.0
        Variance of each projected dimension in each class before the first instance.
    prior_weight : float, default=1.0
        How many instances the prior mean and variance count as.
    forgetting : float or None, default=None
        Memory W > 1 for streams that drift: each class remembers about its last W
        learned instances. None: no forgetting.
    class_prior : "uniform", "frequency", mapping or array-like, default="uniform"
        Prior P(y) of the classes. "frequency" follows the labels seen; an array or a
        mapping from the index of each class to its probability fixes it.
    var_floor : float, default=1e-9
        Lower bound on every variance.
    scale : "running" or None, default=None
        "running" scales each attribute by the mean and standard deviation of the
        earlier instances; None leaves values as they are, as in the paper.
    temperature : "auto", float or None, default="auto"
        How scores become probabilities, for "log_sum" and "product": "auto" learns it
        online, a number divides them, None stands for the number of members.
    random_seed : int, default=1
        Seed of the projections.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by index; "balanced" weights an instance of class y by
        n / (M * n_y), where n counts the instances so far, n_y those of class y and M
        the classes.

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
        self._model = ScikitRPNB(
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
    """Online ensemble of up to nine models whose weights adapt as labels arrive.

    The estimator `rpnb.PooledClassifier` with the interface of CapyMOA. The parameters
    are the same, except that the seed has CapyMOA's name and default.

    The classes are those of the schema, and all of them may be predicted from the
    start. Nominal attributes are encoded as the indices of their values, as CapyMOA
    does. Missing attributes are missing values. Instances without a label are not
    learned, as in MOA.

    Parameters
    ----------
    schema : Schema
        The attributes and classes of the stream.
    members : "all", "mergeable" or sequence of str, default="all"
        Members of the pool; see `rpnb.PooledClassifier`.
    n_projections : int, default=512
        Number of rectified random projections, a multiple of 16.
    window : int or None, default=None
        Largest number of instances that window_forest keeps. None stands for min(4000,
        max(256, 2¹⁹ / p)) with p attributes.
    delay : int, default=0
        How many instances late the labels arrive: an instance is learned before the one
        `delay` instances later is predicted.
    random_seed : int, default=1
        Seed of the projections and trees.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by index; "balanced" weights an instance of class y by
        n / (M * n_y), where n counts the instances so far, n_y those of class y and M
        the classes.

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
        self._model = ScikitPooled(
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
            "the schema must describe classification, got one of regression"
        )
