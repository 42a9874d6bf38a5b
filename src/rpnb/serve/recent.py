"""The latest predictions of a model, and the reasons for them, for the page."""

from dataclasses import dataclass
from typing import Any

from rpnb.core.kernels.arrays import FloatArray
from rpnb.serve.http.tables import Label

#: Predictions that are kept.
KEPT = 20
#: Features that are named in a reason.
_NAMED = 3


@dataclass(slots=True)
class RecentPrediction:
    """The last row of a request for predictions."""

    time: float
    label: Label | None
    confidence: float | None
    rows: int
    """of the request"""
    id: str | None
    """of the row, if it waits for its label"""
    x: FloatArray
    reason: dict[str, Any] | None = None
    """once the page has asked for it"""

    def to_json(self) -> dict[str, Any]:
        """Return what the page shows."""
        return {
            "time": self.time,
            "label": self.label,
            "confidence": self.confidence,
            "rows": self.rows,
            "id": self.id,
            "reason": self.reason,
        }


def reason_of(explained: dict[str, Any], i: int) -> dict[str, Any]:
    """Return the features that contribute most to the score of an explained row."""
    values, names = explained["contributions"][i], explained["features"]
    order = sorted(range(len(values)), key=lambda j: -abs(values[j]))
    return {
        "label": explained["labels"][i],
        "against": explained["against"][i],
        "features": [[names[j], values[j]] for j in order[:_NAMED]],
        "others": len(values) - min(_NAMED, len(values)),
    }
