"""How good predictions are: measures of answers, and learners along a stream."""

from rpnb.evaluate.metrics import (
    ClassScores,
    accuracy,
    balanced_accuracy,
    class_scores,
    confusion_counts,
    error_rate,
    kappa,
    kappa_temporal,
    macro_f1,
)
from rpnb.evaluate.prequential import prequential
from rpnb.evaluate.result import LearnerResult, PrequentialResult

__all__ = [
    "ClassScores",
    "LearnerResult",
    "PrequentialResult",
    "accuracy",
    "balanced_accuracy",
    "class_scores",
    "confusion_counts",
    "error_rate",
    "kappa",
    "kappa_temporal",
    "macro_f1",
    "prequential",
]
