"""Differences between the losses of a challenger and those of the serving learner.

They are computed as in `rpnb.evaluate.differences`, from sums that a snapshot stores,
so that a restart continues with them.
"""

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.evaluate.confusion import log_losses
from rpnb.evaluate.differences import LARGEST, Loss, boundary
from rpnb.serve.label_rules import Label

_POINTS = 200
CONFIDENCE = 0.95


@final
class LossDifference:
    """Mean difference of two losses, with its confidence sequence.

    Parameters
    ----------
    loss
        Name of the loss.
    """

    def __init__(self, loss: Loss) -> None:
        self._largest = LARGEST[loss]
        self.rows = 0
        """number of labelled rows that both have predicted"""
        self._total = self._square = 0.0
        self._points: list[list[float]] = []
        self._step = 1

    def add(self, own: FloatArray, served: FloatArray) -> None:
        """Add losses of rows; rows where either loss is NaN do not count."""
        most = self._largest
        for difference in (np.minimum(own, most) - np.minimum(served, most)).tolist():
            if difference != difference:  # NaN
                continue
            expected = self._total / max(self.rows, 1)
            self._square += (difference - expected) ** 2
            self._total += difference
            self.rows += 1
            if self.rows % self._step == 0:
                self._points.append([self.rows, self._total, self._square])
                if len(self._points) > _POINTS:
                    self._step *= 2
                    self._points = [p for p in self._points if p[0] % self._step == 0]

    def summary(
        self, confidence: float = CONFIDENCE, intervals: int = 1
    ) -> dict[str, Any]:
        """Return the mean difference with its interval, now and at earlier rows.

        `confidence` is that of several intervals together (Bonferroni).
        """
        points = list(self._points)
        if self.rows and (not points or points[-1][0] != self.rows):
            points.append([self.rows, self._total, self._square])
        found: dict[str, Any] = {"rows": self.rows, "confidence": confidence}
        if not points:
            nothing = dict.fromkeys(("mean", "low", "high", "better"))
            return found | nothing | {"curve": []}
        rows, total, square = np.array(points, dtype=np.float64).T
        mean, top = total / rows, self._largest
        alpha = (1.0 - confidence) / intervals
        wide = boundary(square, alpha / 2.0, top) / rows
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

    def to_json(self) -> list[Any]:
        """Return all sums as JSON values."""
        return [self.rows, self._total, self._square, self._points, self._step]

    def restore(self, saved: list[Any]) -> None:
        """Continue with the sums that `to_json` returned."""
        self.rows, self._total, self._square, self._points, self._step = saved


@final
class Comparison:
    """Losses of a challenger minus those of the predictions that clients got."""

    def __init__(self, since: int = 0) -> None:
        self.since = since
        """id of the event after which rows count"""
        self.error = LossDifference("error")
        self.log_loss = LossDifference("log_loss")
        """of rows for which both have probabilities"""

    def add(
        self,
        labels: Sequence[Label],
        own: Sequence[Label | None],
        served: Sequence[Label | None],
        own_truth: FloatArray,
        served_truth: FloatArray,
    ) -> None:
        """Add predictions of rows, and probabilities of their true labels or NaN.

        Rows that either learner has not predicted do not count.
        """
        self.error.add(errors_of(labels, own), errors_of(labels, served))
        unknown = np.array([label is None for label in served]) | np.isnan(own_truth)
        unknown |= np.isnan(served_truth)
        losses = [
            np.where(unknown, np.nan, log_losses(each, len(labels)))
            for each in (own_truth, served_truth)
        ]
        self.log_loss.add(*losses)

    def to_json(self) -> dict[str, Any]:
        """Return all sums as JSON values."""
        return {
            "since": self.since,
            "error": self.error.to_json(),
            "log_loss": self.log_loss.to_json(),
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "Comparison":
        """Return the comparison that `to_json` described."""
        found = cls(saved["since"])
        found.error.restore(saved["error"])
        found.log_loss.restore(saved["log_loss"])
        return found


def errors_of(labels: Sequence[Label], predicted: Sequence[Label | None]) -> FloatArray:
    """Return 1 for each wrong prediction, 0 for a correct one, NaN for None."""
    return np.array(
        [
            np.nan if guess is None else float(guess != label)
            for label, guess in zip(labels, predicted, strict=True)
        ]
    )
