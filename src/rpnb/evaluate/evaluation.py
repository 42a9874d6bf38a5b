"""The loop of prequential evaluation: all learners predict and learn the same rows.

`prequential`, `rpnb run` and the study all evaluate through `Evaluation.step`.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, IntArray
from rpnb.evaluate.arrival_times import ArrivalTimes
from rpnb.evaluate.confusion import (
    Confusion,
    CountHistory,
    ScoredRows,
    Span,
    log_losses,
)
from rpnb.evaluate.delays import Events, WaitingRows
from rpnb.evaluate.differences import Difference, DifferenceTracker, Loss
from rpnb.evaluate.drivers.driver import Driver, Predictions, Probabilities
from rpnb.evaluate.drivers.native import NativeDriver
from rpnb.evaluate.metrics import Metric
from rpnb.evaluate.stream_blocks import Block, gather
from rpnb.labels import NO_LABEL, LabelIndex

if TYPE_CHECKING:
    from rpnb.evaluate.waiting.stream_watch import StreamWatch

# Largest number of rows per call of a learner, by default.
_ROWS_PER_CALL = 1000
_IMMEDIATE = ArrivalTimes()


class Checkpoint(NamedTuple):
    """Metrics of a learner after some rows."""

    row: int
    updates: int
    seconds: float
    mistakes: int
    measures: Mapping[Span, Mapping[Metric, float]]


class Participant:
    """A learner in an evaluation, with the counts of its predictions.

    `name` appears in errors and results, and `metrics` are computed at checkpoints. A
    reference is a simple rule that learners are compared with. With `keep`, all
    predictions are kept.
    """

    def __init__(
        self,
        name: str,
        driver: Driver,
        confusion: Confusion,
        *,
        metrics: Sequence[Metric] = (),
        reference: bool = False,
        keep: bool = False,
    ) -> None:
        self.name = name
        self.driver = driver
        self.confusion = confusion
        self.reference = reference
        self.seconds = 0.0
        """time spent predicting and learning"""
        self.checkpoints: list[Checkpoint] = []
        self.predictions: list[Any] | None = [] if keep else None
        """the predicted labels, if they are kept"""
        self.view: Callable[[Any], Any] | None = None
        """how the learner sees the features, where others get them in another form"""
        self._metrics = metrics

    @property
    def model(self) -> Any:
        """The learner."""
        return self.driver.model

    def seen(self, X: Any) -> Any:
        """Return features as the learner gets them."""
        return X if self.view is None else self.view(X)

    def predict_then_learn(self, block: Block) -> Predictions:
        """Predict each row of a block, then learn it."""
        try:
            block = self._prepare(block)
            start = time.perf_counter()
            predictions = self.driver.predict_then_learn(block)
        except Exception as error:
            self._locate(error, block.start, block.stop - 1)
            raise
        self.seconds += time.perf_counter() - start
        return predictions

    def process(self, kept: Sequence[Block], events: Events) -> Predictions:
        """Predict and learn rows of the kept blocks in the order of the events."""
        rows, places = np.unique(events.rows, return_inverse=True)
        try:
            block = self._prepare(gather(kept, rows))
            start = time.perf_counter()
            predictions = self.driver.process(block, replace(events, rows=places))
        except Exception as error:
            self._locate(error, int(rows[0]), int(rows[-1]))
            raise
        self.seconds += time.perf_counter() - start
        return predictions

    def _prepare(self, block: Block) -> Block:
        """Return a block in the form that the learner takes."""
        if self.view is not None:
            block = replace(block, X=self.view(block.X))
        return self.driver.prepare(block)

    def _locate(self, error: Exception, first: int, last: int) -> None:
        """Add the learner and the rows to an error."""
        error.add_note(
            f"{self.name}, in rows {first} to {last} of the stream; row numbers above "
            "may count from the first row of a call"
        )

    def finish(self) -> None:
        """Learn the rows that are still held back at the end of the stream."""
        start = time.perf_counter()
        self.driver.finish()
        self.seconds += time.perf_counter() - start

    def add_checkpoint(self, row: int) -> None:
        """Record the results after a number of rows, once."""
        if self.checkpoints and self.checkpoints[-1].row == row:
            self.checkpoints.pop()
        self.checkpoints.append(
            Checkpoint(
                row,
                self.driver.updates(),
                self.seconds,
                self.confusion.mistakes,
                self.confusion.measure(self._metrics),
            )
        )


class Evaluation:
    """Evaluation of learners on one stream; `labels` is shared with their drivers.

    With `compare`, the differences of all pairs of learners are tracked.
    """

    def __init__(
        self,
        participants: Sequence[Participant],
        labels: LabelIndex,
        *,
        compare: bool = False,
    ) -> None:
        self.participants = list(participants)
        self.labels = labels
        names = [each.name for each in participants] if compare else []
        references = [each.name for each in participants if each.reference]
        self.errors = DifferenceTracker(names, references, "error")
        """differences of errors"""
        self.losses = DifferenceTracker(names, references, "log_loss")
        """differences of log-losses, for learners with probabilities"""
        self._compare = compare
        self.watch: StreamWatch | None = None
        """monitors rows until their labels arrive, if requested"""
        self.class_history = CountHistory()
        """how often each label has occurred, at some rows of the stream"""
        self.unlabelled = 0
        """rows without a label so far: predicted, but neither learned nor scored"""
        self._last = NO_LABEL

    @property
    def rows(self) -> int:
        """Number of labelled rows so far."""
        return self.class_history.rows

    def step(
        self,
        block: Block,
        events: Events | None = None,
        kept: Sequence[Block] = (),
        needed: int | None = None,
    ) -> list[Predictions]:
        """Let every learner predict and learn the rows of a block; count the results.

        The block has the next rows of the stream, with the numbers of their labels.
        Rows without a label, −1, are predicted and not learned. `events` is the order
        in which these rows are predicted and rows of the blocks in `kept` are learned;
        by default each row is learned right after its prediction. `needed` is the first
        row whose label is still to arrive, by default none. Returns the predictions of
        each participant.
        """
        truth = block.numbers
        labelled = truth >= 0
        if events is None and not labelled.all():
            rows = np.arange(block.start, block.stop)
            events, kept = Events(rows, np.ones_like(labelled), labelled), [block]
        if events is None:
            found = [each.predict_then_learn(block) for each in self.participants]
        else:
            found = [each.process(kept, events) for each in self.participants]
        first = block.stop if needed is None else needed
        for each in self.participants:
            each.driver.forget(first)
        if self.watch is not None:
            self.watch.step(block, events, kept, found, first)
        self.unlabelled += int((~labelled).sum())
        if labelled.all():
            self._score(truth, found)
        elif labelled.any():
            self._score(truth[labelled], [each.some(labelled) for each in found])
        for participant, predictions in zip(self.participants, found, strict=True):
            if participant.predictions is not None:
                participant.predictions += self.labels.labels_of(predictions.numbers)
        return found

    def _score(self, truth: IntArray, found: Sequence[Predictions]) -> None:
        """Count the predictions of all participants for rows with these labels."""
        repeats = self._repeats(truth)
        M, n = len(self.labels), truth.shape[0]
        if self._compare:
            wrong = np.array([each.numbers != truth for each in found], np.float64)
            self.errors.add(wrong)
            self.losses.add(
                np.array([log_losses(each.probability, n) for each in found])
            )
        for participant, predictions in zip(self.participants, found, strict=True):
            loss = log_losses(predictions.probability, n)
            numbers, details = predictions.numbers, predictions.details
            rows = ScoredRows(truth, numbers, repeats, loss, details)
            participant.confusion.add(rows, M)
        self.class_history.add(truth, M)

    def _repeats(self, truth: IntArray) -> BoolArray:
        """Return whether each row has the same label as the previous row."""
        repeats = np.empty(truth.shape[0], np.bool_)
        repeats[0] = truth[0] == self._last
        np.equal(truth[1:], truth[:-1], out=repeats[1:])
        self._last = int(truth[-1])
        return repeats

    def run(
        self,
        blocks: Iterable[Block],
        checkpoints: Iterable[int],
        times: ArrivalTimes = _IMMEDIATE,
        *,
        rows_per_call: int = _ROWS_PER_CALL,
        learn_leftover: bool = True,
    ) -> None:
        """Evaluate on a whole stream, with a checkpoint at the end.

        `checkpoints` are ascending numbers of rows; `times` are the arrival times of
        labels, by default those of their rows; `learn_leftover` decides whether labels
        that have not arrived at the end are learned then.
        """
        late = not times.immediate
        places = iter(checkpoints)
        place = next(places, None)
        waiting = WaitingRows.none()
        kept: list[Block] = []
        last_moment = None
        for given in blocks:
            block = given
            if late:
                moment, arrival = times.read(block, last_moment)
                last_moment = moment[-1]
                block = times.features(block)
                kept = [*needed_blocks(kept, waiting), block]
            begin = block.start
            while begin < block.stop:
                end = min(begin + rows_per_call, block.stop)
                end = end if place is None else min(end, place)
                piece, events, needed = block.part(begin, end), None, None
                if late:
                    part = slice(begin - block.start, end - block.start)
                    events = waiting.advance(begin, moment[part], arrival[part])
                    needed = int(waiting.rows.min()) if len(waiting.rows) else None
                self.step(piece, events, kept, needed)
                if end == place:
                    self._add_checkpoints()
                    place = next(places, None)
                begin = end
        if self.rows == 0:
            raise ValueError("the stream must have at least one row, got none")
        leftover = waiting.rest()
        for participant in self.participants:
            if learn_leftover and len(leftover) > 0:
                participant.process(kept, leftover)
            participant.finish()
        self._add_checkpoints()

    def _add_checkpoints(self) -> None:
        self.errors.add_checkpoint()
        self.losses.add_checkpoint()
        for participant in self.participants:
            participant.add_checkpoint(self.rows)

    def compare_with_best(
        self,
        losses: Mapping[str, float],
        confidence: float = 0.95,
        *,
        loss: Loss = "error",
    ) -> list[Difference]:
        """Return the differences between the best learner and all others in a loss.

        `losses` are their mean losses. The data choose the best, so any pair might have
        been compared: the confidence of each interval is such that those of all pairs
        hold together (Bonferroni). The list is empty if differences are not tracked.
        """
        if not self._compare or not losses:
            return []
        tracker = self.errors if loss == "error" else self.losses
        tracker.add_checkpoint()
        best = min(losses, key=lambda name: losses[name])
        n_pairs = max(len(losses) * (len(losses) - 1) // 2, 1)
        single = 1.0 - (1.0 - confidence) / n_pairs
        others = [name for name in losses if name != best]
        found = [tracker.difference(best, name, single) for name in others]
        return [each for each in found if each is not None]

    def log_losses(self) -> dict[str, float]:
        """Return the mean log-loss of each learner that has one, references left out.

        It needs the probabilities of the true labels.
        """
        return {
            each.name: each.confusion.measure(("log_loss",))["cumulative"]["log_loss"]
            for each in self.participants
            if not each.reference and each.driver.probabilities == "truth"
        }

    def sorted_labels(self) -> list[int]:
        """Return the numbers of the labels, sorted by label."""
        labels: Sequence[Any] = self.labels.labels
        return sorted(range(len(labels)), key=lambda number: labels[number])

    def class_counts(self) -> IntArray:
        """Return the number of rows of each label so far, by its number."""
        counts: IntArray = self.class_history.places()[1][-1]
        return counts

    def frequent_labels(self) -> list[int]:
        """Return the numbers of the true labels so far, the most frequent first."""
        totals = self.class_counts()
        frequent = np.argsort(-totals, kind="stable")
        return [int(number) for number in frequent if totals[number] > 0]


def needed_blocks(kept: Sequence[Block], waiting: WaitingRows) -> list[Block]:
    """Return the blocks with rows whose labels are still to arrive."""
    if len(waiting.rows) == 0:
        return []
    first = int(waiting.rows.min())
    return [block for block in kept if block.stop > first]


def native_evaluation(
    models: Mapping[str, Any],
    references: Mapping[str, Any] | None = None,
    *,
    labels: LabelIndex | None = None,
    classes: Sequence[Any] | IntArray | None = None,
    window: int = 1000,
    probabilities: Probabilities = "none",
    compare: bool = False,
    late: bool = False,
    budget: float | None = None,
) -> Evaluation:
    """Return an evaluation of learners of this package, which it trains in place.

    References see labels only. `classes` are declared before the first row, and
    `window` is the number of rows of the windowed error. `probabilities` decides which
    probabilities are computed: none, those of the predictions, or, for metrics, also
    those of the true labels. With `compare`, differences of learners are tracked.
    `late` is whether labels arrive late, and with a `budget` each learner gets only the
    labels that it asks for.
    """
    from rpnb.evaluate.drivers.asked_labels import AskingDriver
    from rpnb.evaluate.drivers.later import LaterDriver, remembers

    index = LabelIndex() if labels is None else labels
    declared = None if classes is None else np.asarray(classes)
    participants = []
    for name, model in {**models, **(references or {})}.items():
        reference = name not in models
        silent = reference or not hasattr(model, "predict_proba")
        needed: Probabilities = "none" if silent else probabilities
        shown = needed != "none"
        if budget is not None and not silent and not shown:
            needed = "prediction"
        native = NativeDriver(
            model,
            index,
            needed,
            classes=declared,
            late=late or budget is not None,
            labels_only=reference,
        )
        driver: Driver = native
        if late and remembers(model):
            driver = LaterDriver(native)
        if budget is not None:
            driver = AskingDriver(driver, budget, shown=shown)
        participants.append(
            Participant(name, driver, Confusion(window), reference=reference)
        )
    return Evaluation(participants, index, compare=compare)
