"""Prequential evaluation of learners on a stream, and metrics of predictions."""

from rpnb.evaluate.confusion import confusion_counts
from rpnb.evaluate.differences import Difference
from rpnb.evaluate.estimates import ErrorEstimate, estimate_error
from rpnb.evaluate.metrics import (
    CalibrationCurve,
    ClassScores,
    accuracy,
    balanced_accuracy,
    class_scores,
    error_rate,
    kappa,
    kappa_temporal,
    macro_f1,
)
from rpnb.evaluate.prequential_run import prequential
from rpnb.evaluate.result import LearnerResult, PrequentialResult

__all__ = [
    "CalibrationCurve",
    "ClassScores",
    "Difference",
    "ErrorEstimate",
    "LearnerResult",
    "PrequentialResult",
    "accuracy",
    "balanced_accuracy",
    "class_scores",
    "confusion_counts",
    "error_rate",
    "estimate_error",
    "kappa",
    "kappa_temporal",
    "macro_f1",
    "prequential",
]
