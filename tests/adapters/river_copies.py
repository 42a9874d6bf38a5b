"""Ways to copy a model of River."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),  # noqa: S301 - our bytes
    "clone": lambda model: model.clone(include_attributes=True),
}
