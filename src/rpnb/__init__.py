"""Online classification of streams by random projections and naive Bayes."""

from rpnb._version import __version__
from rpnb.estimators.classifier import RPNBClassifier
from rpnb.estimators.frozen import FrozenRPNB
from rpnb.estimators.pooled import PooledClassifier

__all__ = ["FrozenRPNB", "PooledClassifier", "RPNBClassifier", "__version__"]
