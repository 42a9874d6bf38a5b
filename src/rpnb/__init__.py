"""Online classification of data streams: accurate by default, fast on request.

`PooledClassifier` is the accurate learner, `RPNBClassifier` the fast one.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rpnb._version import __version__

if TYPE_CHECKING:
    from rpnb.estimators.classifier import RPNBClassifier
    from rpnb.estimators.frozen.model import FrozenRPNB
    from rpnb.estimators.pooled import PooledClassifier
    from rpnb.loading import load

__all__ = ["FrozenRPNB", "PooledClassifier", "RPNBClassifier", "__version__", "load"]

# Imported on first use: the command line starts without them.
_MODULES = {
    "FrozenRPNB": "rpnb.estimators.frozen.model",
    "PooledClassifier": "rpnb.estimators.pooled",
    "RPNBClassifier": "rpnb.estimators.classifier",
    "load": "rpnb.loading",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
