"""The latest predictions of a model and their reasons, for the page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rpnb.core.kernels.arrays import FloatArray
from rpnb.serve.label_rules import Label

#: Number of predictions kept.
KEPT = 20
# Number of features, and of members of a pool, named in a reason.
_NAMED, _MEMBERS = 3, 2


@dataclass(slots=True)
class RecentPrediction:
    """The last row of a request for predictions."""

    time: float
    label: Label | None
    confidence: float | None
    rows: int
    """number of rows of the request"""
    id: str | None
    """id of the row, if it waits for its label"""
    x: FloatArray
    reason: dict[str, Any] | None = None
    """computed when the page first asks for it"""

    def to_json(self) -> dict[str, Any]:
        """Return the prediction as the page shows it."""
        return {
            "time": self.time,
            "label": self.label,
            "confidence": self.confidence,
            "rows": self.rows,
            "id": self.id,
            "reason": self.reason,
        }


def reason_of(explained: dict[str, Any], i: int) -> dict[str, Any]:
    """Return what contributes most to the score of row i: features, and members."""
    values = explained["contributions"][i]
    members = explained["members"][i] if "members" in explained else []
    return {
        "label": explained["labels"][i],
        "against": explained["against"][i],
        "features": _largest(explained["features"], values, _NAMED),
        "others": len(values) - min(_NAMED, len(values)),
        "members": _largest(explained.get("member_names", ()), members, _MEMBERS),
    }


def _largest(names: Sequence[str], values: Sequence[float], most: int) -> list[Any]:
    """Return the names and values that are largest, whatever their sign."""
    pairs = zip(names, values, strict=True)
    return [[*pair] for pair in sorted(pairs, key=lambda pair: -abs(pair[1]))[:most]]
