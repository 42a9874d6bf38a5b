"""Online classification of data streams: accurate by default, fast on request.

`PooledClassifier` is the accurate learner, `RPNBClassifier` the fast one.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rpnb._version import __version__

if TYPE_CHECKING:
    from rpnb.estimators.expected_failures import expected_failed_checks
    from rpnb.estimators.frozen.frozen_rpnb import FrozenRPNB
    from rpnb.estimators.pooled import MemberHistory, PooledClassifier
    from rpnb.estimators.rpnb import RPNBClassifier
    from rpnb.estimators.saving.files import ModelFileError
    from rpnb.estimators.trust.contributions import Waterfall
    from rpnb.estimators.trust.reasons import Explanation
    from rpnb.loading import load

__all__ = [
    "Explanation",
    "FrozenRPNB",
    "MemberHistory",
    "ModelFileError",
    "PooledClassifier",
    "RPNBClassifier",
    "Waterfall",
    "__version__",
    "expected_failed_checks",
    "load",
]

# Imported on first use: the command line starts without them.
_MODULES = {
    "Explanation": "rpnb.estimators.trust.reasons",
    "FrozenRPNB": "rpnb.estimators.frozen.frozen_rpnb",
    "MemberHistory": "rpnb.estimators.pooled",
    "ModelFileError": "rpnb.estimators.saving.files",
    "PooledClassifier": "rpnb.estimators.pooled",
    "RPNBClassifier": "rpnb.estimators.rpnb",
    "Waterfall": "rpnb.estimators.trust.contributions",
    "expected_failed_checks": "rpnb.estimators.expected_failures",
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
