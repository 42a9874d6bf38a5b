"""Monitoring of an evaluation as if labels were unknown before they arrive."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.evaluate.delays import Events
from rpnb.evaluate.drivers.driver import Driver, Predictions
from rpnb.evaluate.stream_blocks import Block, gather, take
from rpnb.evaluate.waiting.forecast import ExpectedError
from rpnb.evaluate.waiting.shifts import WINDOW, Alarm
from rpnb.evaluate.waiting.table_columns import column_distances
from rpnb.evaluate.waiting.watch import InputWatch, LearnerWatch
from rpnb.labels import LabelIndex


@dataclass(frozen=True, slots=True)
class WaitingResult:
    """Estimates for a learner's predictions, made before their labels arrived.

    Attributes
    ----------
    rows
        Number of rows predicted at each look, one per 500 rows.
    waiting
        Number of predictions that waited for a label at each look.
    expected, low, high
        Expected error rate of these predictions, and the ends of its band.
    known
        Whether there was a forecast; see `ExpectedError`.
    true
        True error rate of these predictions, known only later; NaN if none waited.
    outside
        Share of rows whose inputs were unlike those with labels.
    last
        Expected error at the end of the stream.
    distance_rows
        Number of rows predicted at each comparison of inputs with the reference.
    distances
        Distance of the last 500 rows from the reference, for each feature and for
        "predicted class".
    alarms
        Alarms about inputs, predicted classes and errors, with what changed.

    Examples
    --------
    >>> from rpnb.baselines import GaussianNB
    >>> from rpnb.datasets import streams
    >>> from rpnb.evaluate import prequential
    >>> X, y = next(streams.mixture(6000, chunk=6000, seed=0))
    >>> X[3000:, 0] += 4.0
    >>> result = prequential(GaussianNB(), X, y, delay=500, labels="late")
    >>> waiting = result.waiting["GaussianNB"]
    >>> waiting.rows[:3].tolist()
    [500, 1000, 1500]
    >>> print(waiting.last)
    expected error 0.087 (0.000 to 0.179) of 500 rows
    """

    rows: IntArray
    waiting: IntArray
    expected: FloatArray
    low: FloatArray
    high: FloatArray
    known: BoolArray
    true: FloatArray
    outside: FloatArray
    last: ExpectedError
    distance_rows: IntArray
    distances: Mapping[str, FloatArray]
    alarms: tuple[Alarm, ...]

    @property
    def difference(self) -> float:
        """Mean of |expected − true| over the looks.

        Examples
        --------
        >>> from rpnb.baselines import GaussianNB
        >>> from rpnb.datasets import streams
        >>> from rpnb.evaluate import prequential
        >>> stream = streams.mixture(4000, seed=0)
        >>> result = prequential(GaussianNB(), stream, delay=200, labels="late")
        >>> result.waiting["GaussianNB"].difference < 0.05
        True
        """
        return float(np.nanmean(np.abs(self.expected - self.true)))

    @property
    def coverage(self) -> float:
        """Share of the looks whose band contained the true error rate.

        Examples
        --------
        >>> from rpnb.baselines import GaussianNB
        >>> from rpnb.datasets import streams
        >>> from rpnb.evaluate import prequential
        >>> stream = streams.mixture(4000, seed=0)
        >>> result = prequential(GaussianNB(), stream, delay=200, labels="late")
        >>> result.waiting["GaussianNB"].coverage
        1.0
        """
        there = ~np.isnan(self.true)
        held = (self.low <= self.true) & (self.true <= self.high)
        return float(held[there].mean())


class _Pending(NamedTuple):
    """Predictions of a learner for the rows from `first` on."""

    predicted: IntArray
    confidence: FloatArray


@final
class StreamWatch:
    """Watches the learners of an evaluation between predictions and labels.

    Parameters
    ----------
    learners
        Position among the participants, and driver, of each learner, by name.
    labels
        Label index of the evaluation.
    inputs
        Watch of the rows; a new one by default.
    """

    def __init__(
        self,
        learners: Mapping[str, tuple[int, Driver]],
        labels: LabelIndex,
        inputs: InputWatch | None = None,
    ) -> None:
        self.inputs = InputWatch() if inputs is None else inputs
        self.learners = {
            name: LearnerWatch(self.inputs, own_alarms=_detects(driver))
            for name, (_, driver) in learners.items()
        }
        self._places = dict(learners)
        self._labels = labels
        self._before = {
            name: getattr(driver.model, "n_samples_seen_", 0)
            for name, (_, driver) in learners.items()
        }
        self._first = 0
        self._truth: IntArray = np.zeros(0, np.int64)
        none = _Pending(np.zeros(0, np.int64), np.zeros(0))
        self._pending = dict.fromkeys(learners, none)

    def step(
        self,
        block: Block,
        events: Events | None,
        kept: Sequence[Block],
        found: Sequence[Predictions],
        needed: int,
    ) -> None:
        """Follow the events of a block of predicted rows.

        `found` are the predictions of all participants, and `needed` is the first row
        whose label is still to arrive.
        """
        if events is None:
            numbers = np.arange(block.start, block.stop)
            labelled = np.asarray(block.numbers) >= 0
            events, kept = Events(numbers, np.ones_like(labelled), labelled), [block]
        self._remember(block, found)
        own = {name: self._own_alarms(name) for name in self.learners}
        # A row that is predicted and learned at once is split into two events.
        times = events.predict.astype(np.int64) + events.learn
        rows = np.repeat(events.rows, times)
        predict = np.repeat(events.predict, times)
        second = np.zeros(len(rows), np.bool_)
        second[np.cumsum(times)[times == 2] - 1] = True
        predict &= ~second
        done = 0
        while done < len(rows):
            ahead = np.cumsum(predict[done:])
            full = int(np.searchsorted(ahead, self.inputs.room())) + done + 1
            end = min(full, len(rows))
            part = slice(done, end)
            self._follow(block, kept, rows[part], predict[part], own)
            if full == end:
                for watch in self.learners.values():
                    watch.look()
            done = end
        self._trim(min(needed, block.stop))

    def _remember(self, block: Block, found: Sequence[Predictions]) -> None:
        """Keep predictions until their labels arrive."""
        self._truth = np.concatenate([self._truth, np.asarray(block.numbers)])
        for name, (place, _) in self._places.items():
            numbers, _, details = found[place]
            confidence = (
                np.zeros(len(numbers)) if details is None else details.confidence
            )
            old = self._pending[name]
            self._pending[name] = _Pending(
                np.concatenate([old.predicted, numbers]),
                np.concatenate([old.confidence, confidence]),
            )

    def _own_alarms(self, name: str) -> list[int]:
        """Return the labelled rows at which a learner's own detector gave an alarm."""
        model, before = self._places[name][1].model, self._before[name]
        return [row - before for row in getattr(model, "drifts_", ())]

    def _follow(
        self,
        block: Block,
        kept: Sequence[Block],
        rows: IntArray,
        predict: BoolArray,
        own: Mapping[str, Sequence[int]],
    ) -> None:
        """Add predicted rows and arriving labels, before the next look."""
        labels, inputs = self._labels.labels, self.inputs
        at = inputs.rows + np.cumsum(predict)[~predict]
        learned = rows[~predict]
        for start in range(0, len(learned), WINDOW):
            some = learned[start : start + WINDOW]
            distinct, places = np.unique(some, return_inverse=True)
            inputs.add_labelled(
                take(gather(kept, distinct).X, places), int(distinct[-1])
            )
            i = some - self._first
            first = inputs.labelled_rows - len(some)
            for name, watch in self.learners.items():
                pending = self._pending[name]
                watch.add_labelled(
                    self._truth[i],
                    pending.predicted[i],
                    pending.confidence[i],
                    labels,
                    at[start : start + WINDOW],
                    [a - first for a in own[name] if 0 <= a - first < len(some)],
                )
        predicted = rows[predict]
        if len(predicted):
            begin, end = int(predicted[0]), int(predicted[-1]) + 1
            i = predicted - self._first
            for name, watch in self.learners.items():
                pending = self._pending[name]
                watch.add_predicted(
                    pending.predicted[i], pending.confidence[i], labels, self._truth[i]
                )
            inputs.add_predicted(block.part(begin, end).X, end - 1)

    def _trim(self, needed: int) -> None:
        """Forget predictions whose labels have arrived, or never will."""
        gone = max(needed - self._first, 0)
        self._first += gone
        self._truth = self._truth[gone:]
        for name, pending in self._pending.items():
            self._pending[name] = _Pending(
                pending.predicted[gone:], pending.confidence[gone:]
            )

    def results(self) -> dict[str, WaitingResult]:
        """Return the estimates for each learner."""
        return {name: self._result(watch) for name, watch in self.learners.items()}

    def _result(self, watch: LearnerWatch) -> WaitingResult:
        errors = [look.error for look in watch.looks]
        rows, distances = self.inputs.shifts.series()
        class_rows, of_classes = watch.classes.series()
        found = column_distances(self.inputs.shifts.names, distances)
        if self.inputs.skipped is not None:
            rows, found = class_rows, {}
        if len(rows):
            found["predicted class"] = of_classes[:, 0]
        alarms = sorted([*self.inputs.shifts.alarms, *watch.alarms], key=_row)
        return WaitingResult(
            rows=np.array([look.row for look in watch.looks], np.int64),
            waiting=np.array([each.waiting for each in errors], np.int64),
            expected=np.array([each.expected for each in errors]),
            low=np.array([each.low for each in errors]),
            high=np.array([each.high for each in errors]),
            known=np.array([each.known for each in errors], np.bool_),
            true=np.array([look.true for look in watch.looks]),
            outside=np.array([each.outside for each in errors]),
            last=watch.expected(),
            distance_rows=rows,
            distances=found,
            alarms=tuple(alarms),
        )


def _detects(driver: Driver) -> bool:
    """Return whether the learner has its own drift detector."""
    return hasattr(driver.model, "detector")


def _row(alarm: Alarm) -> int:
    return alarm.row
