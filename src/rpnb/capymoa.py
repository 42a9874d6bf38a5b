"""RPNB as a classifier of CapyMOA: observations are instances of a schema.

Needs the extra: ``pip install 'rpnb[capymoa]'``, and Java.
"""

from collections.abc import Mapping
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
from rpnb.estimators import classifier

__all__ = ["RPNBClassifier"]


@final
class RPNBClassifier(Classifier):  # type: ignore[misc]
    """Online classifier: random projections, naive Bayes, learning from mistakes.

    The estimator `rpnb.RPNBClassifier` with the interface of CapyMOA. The parameters
    are the same and explained there, except that the seed has the name and the default
    that it has in CapyMOA. A `batch_size` there is none: instances come one by one.

    The classes are those of the schema, and all of them take part from the start, as
    in the paper. Nominal attributes are their values' indices, as CapyMOA hands them
    out. Instances without a label are not learnt, as in MOA; missing attributes are
    refused.

    Parameters
    ----------
    schema : Schema
        The attributes and classes of the stream.
    n_estimators : int, default=200
        K, the number of projections and classifiers.
    n_components : int or "auto", default="auto"
        q, the dimension of the projections. "auto" is ⌊2·log₂ p⌋ for p attributes.
    projection, combiner, update
        See `rpnb.RPNBClassifier`.
    prior_mean, prior_variance, prior_weight, forgetting
        See `rpnb.RPNBClassifier`.
    class_prior : {"uniform", "frequency"}, mapping or array-like, default="uniform"
        P(y); an array or the keys of a mapping follow the indices of the classes.
    var_floor, temperature
        See `rpnb.RPNBClassifier`.
    random_seed : int, default=1
        Seed of the projections.
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
        temperature: float | None = None,
        random_seed: int = 1,
    ) -> None:
        super().__init__(schema=schema, random_seed=random_seed)
        if not schema.is_classification():
            raise ValueError(
                "the schema must be one of classification, got one of regression"
            )
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
            temperature=temperature,
            random_state=random_seed,
        )
        self._model._initialise(
            schema.get_num_attributes(), np.arange(schema.get_num_classes())
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
        probabilities: FloatArray = self._model.predict_proba(instance.x[None, :])[0]
        return probabilities
