"""How good predictions are: counts of answers, and measures of these counts."""

from rpnb.evaluate.metrics import (
    ClassScores,
    class_scores,
    confusion_counts,
    error_rate,
    macro_f1,
)

__all__ = [
    "ClassScores",
    "class_scores",
    "confusion_counts",
    "error_rate",
    "macro_f1",
]
