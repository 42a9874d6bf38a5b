"""Online classification of streams by random projections and naive Bayes."""

from rpnb.estimators.classifier import RPNBClassifier

__version__ = "0.1.0"

__all__ = ["RPNBClassifier", "__version__"]
