"""Online classification of streams by random projections and naive Bayes."""

from rpnb.estimators.classifier import RPNBClassifier
from rpnb.estimators.frozen import FrozenRPNB

__version__ = "0.1.0"

__all__ = ["FrozenRPNB", "RPNBClassifier", "__version__"]
