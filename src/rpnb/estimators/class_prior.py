"""The parameter `class_prior`: prior probabilities of the classes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rpnb.core.bayes.model import Model
from rpnb.core.bayes.statistics import set_bias_from_counts
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.elementary import log
from rpnb.estimators.checks.labels import LabelArray, as_labels
from rpnb.estimators.checks.parameters import check_choice


def follows_counts(given: Any) -> bool:
    """Return whether the prior follows the labels seen."""
    return isinstance(given, str) and given == "frequency"


def fixed_prior(given: Any, classes: LabelArray | None) -> FloatArray | None:
    """Return the given P(y) of the classes; None if none is given.

    Without classes, checks only what does not depend on them.
    """
    if isinstance(given, str):
        check_choice("class_prior", given, ("uniform", "frequency"))
        return None
    listed: Any = list(given.values()) if isinstance(given, Mapping) else given
    try:
        values = np.asarray(listed, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.ndim != 1 or not (values > 0.0).all() or abs(values.sum() - 1) > 1e-6:
        raise ValueError(
            f"class_prior must hold positive probabilities that sum to 1, got {given!r}"
        )
    if classes is None:
        return None
    if isinstance(given, Mapping):
        for label in classes.tolist():
            if label not in given:
                raise ValueError(
                    f"class_prior has no probability for the class {label!r}"
                )
        return np.array([given[label] for label in classes.tolist()])
    if values.shape[0] != classes.shape[0]:
        raise ValueError(
            f"class_prior has {values.shape[0]} probabilities, but there are "
            f"{classes.shape[0]} classes: {classes.tolist()}"
        )
    return values


def set_class_prior(model: Model, given: Any, classes: LabelArray) -> None:
    """Set a model's log P(y), which each of its K members adds to a class's score."""
    fixed = fixed_prior(given, classes)
    if fixed is not None:
        model.classes.bias[:] = model.projection.K * log(fixed)
    elif model.count_factor > 0.0:
        set_bias_from_counts(model.classes, model.count_factor)


def prior_to_json(given: Any) -> Any:
    """Return the parameter `class_prior` as a JSON value."""
    if isinstance(given, Mapping):
        return {
            "labels": as_labels(list(given)).tolist(),
            "probabilities": [float(given[label]) for label in given],
        }
    return given if isinstance(given, str) else np.asarray(given, float).tolist()


def prior_from_json(held: Any) -> Any:
    """Return the parameter from the JSON value of `prior_to_json`."""
    if isinstance(held, dict):
        return dict(zip(held["labels"], held["probabilities"], strict=True))
    return held
