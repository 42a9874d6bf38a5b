"""The whole content of a model, to the bit, as comparable values."""

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from rpnb import RPNBClassifier
from rpnb.core.bayes.model import Model
from rpnb.core.pooled.model import PooledModel

# Caches: the last single row.
CACHES = {"memo"}


def frozen(value: Any) -> Any:
    """Return `value` with every array replaced by its dtype, shape and bytes."""
    if isinstance(value, np.ndarray):
        content = value.tolist() if value.dtype == object else value.tobytes()
        return value.dtype.str, value.shape, content
    if isinstance(value, Model | PooledModel):
        _, value = value.__reduce__()[:2]
    if is_dataclass(value):
        value = {f.name: getattr(value, f.name) for f in fields(value)}
    if isinstance(value, dict):
        return {k: frozen(item) for k, item in value.items() if k not in CACHES}
    if isinstance(value, tuple | list) or hasattr(value, "_fields"):  # or a record
        return [frozen(item) for item in value]
    return value


def snapshot(model: RPNBClassifier) -> Any:
    """Everything: parameters, attributes and state."""
    return frozen(vars(model))


def state_of(model: RPNBClassifier) -> Any:
    """The learned state: statistics, classes and counts."""
    return frozen([model._state, model.classes_.tolist()])


def moments_of(model: RPNBClassifier) -> Any:
    """The bits of the statistics alone."""
    return frozen(model._state.moments)
