"""Figures of a served model: errors, baselines, calibration, drift alarms.

A prediction is scored when its label arrives. Two baselines are scored as well: the
most frequent class so far, and the class of the previous label. Drift alarms are those
of `DriftAware` with the detector "ddm", except that one error after none gives no
alarm. Like the model's state, the figures are a function of the log.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any, final

import numpy as np

from rpnb.estimators.drift.sequential_tests import DDM
from rpnb.serve.label_rules import Label

WINDOW = 1000
_POINTS = 400
_BINS = 10
_ALARMS = 100
# Classes in the confusion matrix and in the list of classes, at most.
_MATRIX, _LISTED = 30, 50


@final
class Scores:
    """Running figures of one model's predictions, in the order of their labels."""

    def __init__(self) -> None:
        self.learned = 0
        """number of rows with labels"""
        self.scored = 0
        """number of these rows that were predicted"""
        self.mistakes = [0, 0, 0]
        """errors of the model, of the most frequent class, of the previous class"""
        self.balance: Counter[Label] = Counter()
        """number of rows by label"""
        self.confusion: Counter[tuple[Label, Label | None]] = Counter()
        """number of predicted rows by label and prediction"""
        self.calibration = [[0, 0.0, 0] for _ in range(_BINS)]
        """for each bin of confidence: rows, sum of confidences, correct predictions"""
        self.raised = 0
        """number of drift alarms"""
        self.alarms: list[list[float]] = []
        """row number and time of the latest drift alarms"""
        self._detector = DDM(from_first_error=True)
        self._majority: Label | None = None
        self._last: Label | None = None
        self._window: deque[tuple[bool, bool, bool]] = deque(maxlen=WINDOW)
        self._window_mistakes = [0, 0, 0]
        self._curve: list[list[float]] = []
        self._step = 1

    def add_learned(self, labels: Sequence[Label]) -> None:
        """Count rows that were learned without a prediction."""
        self.learned += len(labels)
        self.balance.update(labels)
        if labels:
            self._last = labels[-1]
            self._majority = self.balance.most_common(1)[0][0]

    def add(
        self,
        labels: Sequence[Label],
        predicted: Sequence[Label | None],
        confidence: Iterable[float | None] | None,
        time: float,
    ) -> None:
        """Score predictions whose labels have arrived.

        Rows without a prediction, from before the first label, count as learned only.

        Parameters
        ----------
        labels, predicted
            True and predicted labels.
        confidence
            Probabilities of the predicted labels, where known.
        time
            Time of the labels, in seconds since 1970.
        """
        # This loop runs for every learned row: local variables are faster.
        balance, window, detector = self.balance, self._window, self._detector
        majority, last, scored = self._majority, self._last, self.scored
        largest = balance[majority] if majority is not None else 0
        all_0, all_1, all_2 = self.mistakes
        new_0, new_1, new_2 = self._window_mistakes
        for label, prediction, p in zip(
            labels, predicted, confidence or repeat(None), strict=False
        ):
            if prediction is None:
                count = balance[label] = balance[label] + 1
                if label == majority or count > largest:
                    majority, largest = label, count
                last = label
                continue
            wrong_0, wrong_1, wrong_2 = wrong = (
                prediction != label,
                majority != label,
                last != label,
            )
            scored += 1
            all_0 += wrong_0
            all_1 += wrong_1
            all_2 += wrong_2
            new_0 += wrong_0
            new_1 += wrong_1
            new_2 += wrong_2
            if len(window) == WINDOW:
                wrong_0, wrong_1, wrong_2 = window[0]
                new_0 -= wrong_0
                new_1 -= wrong_1
                new_2 -= wrong_2
            window.append(wrong)
            count = balance[label] = balance[label] + 1
            if label == majority:
                largest = count
            elif count > largest:
                majority, largest = label, count
            last = label
            if p is not None:
                cell = self.calibration[min(int(p * _BINS), _BINS - 1)]
                cell[0] += 1
                cell[1] += p
                cell[2] += not wrong[0]
            detector.update(wrong[0])
            if detector.drift_detected:
                self.raised += 1
                self.alarms = [*self.alarms[1 - _ALARMS :], [scored, time]]
            if scored % self._step == 0:
                self.scored, self.mistakes = scored, [all_0, all_1, all_2]
                self._window_mistakes = [new_0, new_1, new_2]
                self._add_point()
        self.scored, self.mistakes = scored, [all_0, all_1, all_2]
        self._window_mistakes = [new_0, new_1, new_2]
        self._majority, self._last = majority, last
        pairs = zip(labels, predicted, strict=True)
        self.confusion.update(pair for pair in pairs if pair[1] is not None)
        self.learned += len(labels)

    def _add_point(self) -> None:
        """Add a point to the curves; if there are too many, drop every other one."""
        self._curve.append([self.scored, *self.errors(), *self.window_errors()])
        if len(self._curve) > _POINTS:
            self._step *= 2
            self._curve = [p for p in self._curve if p[0] % self._step == 0]

    def errors(self) -> list[float]:
        """Return the error rates of the model and of the two baselines."""
        return [each / max(self.scored, 1) for each in self.mistakes]

    def window_errors(self) -> list[float]:
        """Return the error rates of the last `WINDOW` predictions."""
        n = max(len(self._window), 1)
        return [each / n for each in self._window_mistakes]

    def curve(self) -> list[list[float]]:
        """Return points (row, error rates, error rates of the window) of the curves."""
        last = [float(self.scored), *self.errors(), *self.window_errors()]
        if self.scored and (not self._curve or self._curve[-1][0] != self.scored):
            return [*self._curve, last]
        return self._curve

    def summary(self) -> dict[str, Any]:
        """Return the main figures."""
        error, majority, no_change = self.errors()
        recent, recent_majority, recent_no_change = self.window_errors()
        return {
            "learned": self.learned,
            "scored": self.scored,
            "error": error if self.scored else None,
            "window_error": recent if self.scored else None,
            "references": {
                "majority": majority if self.scored else None,
                "no_change": no_change if self.scored else None,
                "window_majority": recent_majority if self.scored else None,
                "window_no_change": recent_no_change if self.scored else None,
            },
            "alarms": self.raised,
        }

    def details(self) -> dict[str, Any]:
        """Return all figures, as the page shows them."""
        classes = sorted(
            self.balance, key=lambda each: (-self.balance[each], str(each))
        )
        shown = sorted(classes[:_MATRIX], key=_by_value)
        scored = self._scored_by_class()
        return {
            **self.summary(),
            "balanced_accuracy": self._balanced_accuracy(scored),
            "curve": self.curve(),
            "balance": [[label, self.balance[label]] for label in classes[:_LISTED]],
            "confusion": {
                "classes": shown,
                "counts": [
                    [self.confusion.get((truth, guess), 0) for guess in shown]
                    for truth in shown
                ],
                "scored": [scored[label] for label in shown],
                "left_out": len(classes) - len(shown),
            },
            "calibration": [
                [n, total / n if n else None, right / n if n else None]
                for n, total, right in self.calibration
            ],
            "alarm_rows": self.alarms[-10:],
        }

    def _scored_by_class(self) -> Counter[Label]:
        """Return the number of scored predictions by true class."""
        scored: Counter[Label] = Counter()
        for (truth, _), n in self.confusion.items():
            scored[truth] += n
        return scored

    def _balanced_accuracy(self, scored: Counter[Label]) -> float | None:
        """Return the mean over the classes of their shares of correct predictions."""
        if not scored:
            return None
        recalls = [self.confusion[label, label] / n for label, n in scored.items()]
        return sum(recalls) / len(recalls)

    # In snapshots

    def to_json(self) -> dict[str, Any]:
        """Return all figures as JSON values, for a snapshot."""
        return {
            "learned": self.learned,
            "scored": self.scored,
            "mistakes": self.mistakes,
            "balance": [[label, n] for label, n in self.balance.items()],
            "confusion": [[*pair, n] for pair, n in self.confusion.items()],
            "calibration": self.calibration,
            "alarms": self.alarms,
            "raised": self.raised,
            "detector": self._detector.to_arrays()["numbers"].tolist(),
            "majority": self._majority,
            "last": self._last,
            "window": [sum(bit << k for k, bit in enumerate(w)) for w in self._window],
            "curve": self._curve,
            "step": self._step,
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "Scores":
        """Return the figures that `to_json` described."""
        scores = cls()
        scores.learned, scores.scored = saved["learned"], saved["scored"]
        scores.mistakes = saved["mistakes"]
        scores.balance = Counter(dict(saved["balance"]))
        scores.confusion = Counter({(a, b): n for a, b, n in saved["confusion"]})
        scores.calibration, scores.alarms = saved["calibration"], saved["alarms"]
        scores.raised = saved["raised"]
        scores._detector = DDM.from_arrays(
            {"numbers": np.array(saved["detector"], np.float64)},
            from_first_error=True,
        )
        scores._majority, scores._last = saved["majority"], saved["last"]
        for bits in saved["window"]:
            wrong = (bool(bits & 1), bool(bits & 2), bool(bits & 4))
            scores._window.append(wrong)
            for k in range(3):
                scores._window_mistakes[k] += wrong[k]
        scores._curve, scores._step = saved["curve"], saved["step"]
        return scores


def _by_value(label: Label) -> tuple[float, str]:
    """Return a key that sorts numbers by value, before text."""
    return (float("inf"), label) if isinstance(label, str) else (float(label), "")
