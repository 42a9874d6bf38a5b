"""A challenger beside the learner that answers: the difference of their errors.

The sums are those of `rpnb.evaluate.differences`, kept as numbers that a snapshot can
hold, so that a restart goes on with them.
"""

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from rpnb.evaluate.differences import LARGEST, boundary
from rpnb.serve.http.tables import Label

_POINTS = 200
CONFIDENCE = 0.95


@final
class Comparison:
    """Errors of a challenger less those of the answers that clients got."""

    def __init__(self, since: int = 0) -> None:
        self.since = since
        """the event after which it counts"""
        self.rows = 0
        """rows that both have predicted, and whose labels came"""
        self._total = 0
        self._square = 0.0
        self._points: list[list[float]] = []
        self._step = 1

    def add(
        self,
        labels: Sequence[Label],
        own: Sequence[Label | None],
        served: Sequence[Label | None],
    ) -> None:
        """Add rows; those that either has not predicted do not count."""
        for label, guess, answer in zip(labels, own, served, strict=True):
            if guess is None or answer is None:
                continue
            difference = int(guess != label) - int(answer != label)
            expected = self._total / max(self.rows, 1)
            self._square += (difference - expected) ** 2
            self._total += difference
            self.rows += 1
            if self.rows % self._step == 0:
                self._points.append([self.rows, self._total, self._square])
                if len(self._points) > _POINTS:
                    self._step *= 2
                    self._points = [p for p in self._points if p[0] % self._step == 0]

    def summary(self, confidence: float = CONFIDENCE) -> dict[str, Any]:
        """Return the difference and its interval, and the same at some rows before."""
        points = list(self._points)
        if self.rows and (not points or points[-1][0] != self.rows):
            points.append([self.rows, self._total, self._square])
        found: dict[str, Any] = {"rows": self.rows, "confidence": confidence}
        if not points:
            return found | {
                "mean": None,
                "low": None,
                "high": None,
                "better": None,
                "curve": [],
            }
        rows, total, square = np.array(points, dtype=np.float64).T
        mean = total / rows
        top = LARGEST["error"]
        wide = boundary(square, (1.0 - confidence) / 2.0, top) / rows
        low, high = np.maximum(mean - wide, -top), np.minimum(mean + wide, top)
        better = None
        if low[-1] > 0.0 or high[-1] < 0.0:
            better = "challenger" if high[-1] < 0.0 else "champion"
        curve = np.column_stack([rows, mean, low, high]).tolist()
        return found | {
            "mean": mean[-1].item(),
            "low": low[-1].item(),
            "high": high[-1].item(),
            "better": better,
            "curve": curve,
        }

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "since": self.since,
            "rows": self.rows,
            "total": self._total,
            "square": self._square,
            "points": self._points,
            "step": self._step,
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "Comparison":
        """Return what `to_json` made JSON values of."""
        found = cls(saved["since"])
        found.rows, found._total = saved["rows"], saved["total"]
        found._square, found._points = saved["square"], saved["points"]
        found._step = saved["step"]
        return found
