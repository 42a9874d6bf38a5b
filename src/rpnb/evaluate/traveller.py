"""A learner along a stream, with checkpoints and, if asked for, all its answers."""

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rpnb.evaluate.drivers.driver import Driver, Predictions
from rpnb.evaluate.drivers.selection import size_of
from rpnb.evaluate.player import Participant
from rpnb.evaluate.result import LearnerResult
from rpnb.evaluate.running import SPANS, Metric, RunningMetrics, Span


class Checkpoint(NamedTuple):
    """Where a learner stands at a checkpoint."""

    updates: int
    seconds: float
    measures: Mapping[Span, Mapping[Metric, float]]


class TrackedParticipant(Participant[RunningMetrics]):
    """A player that writes down where it stands at checkpoints.

    Parameters
    ----------
    keep
        Whether all answers are kept.
    """

    def __init__(
        self, name: str, driver: Driver, record: RunningMetrics, *, keep: bool
    ) -> None:
        super().__init__(name, driver, record)
        self._answers: list[Any] | None = [] if keep else None
        self._notes: dict[int, Checkpoint] = {}

    def keep(self, answers: Predictions) -> None:
        """Keep the labels of answers, if that is wanted."""
        if self._answers is not None:
            self._answers += self.driver.numbering.labels_of(answers.numbers)

    def note(self, row: int) -> None:
        """Write down where the learner stands after so many rows."""
        updates = self.driver.updates()
        self._notes[row] = Checkpoint(updates, self.seconds, self.record.measure())

    def finish(self, row: int) -> None:
        """Learn what is held back, and write down where the learner ends."""
        start = time.perf_counter()
        self.driver.finish()
        self.seconds += time.perf_counter() - start
        self.note(row)

    def course(self) -> LearnerResult:
        """Return the learner's way along the stream."""
        notes = list(self._notes.values())
        figures = {
            span: {
                name: np.array([note.measures[span][name] for note in notes])
                for name in notes[0].measures[span]
            }
            for span in SPANS
        }
        return LearnerResult(
            name=self.name,
            rows=np.array(list(self._notes)),
            updates=np.array([note.updates for note in notes]),
            seconds=np.array([note.seconds for note in notes]),
            figures=figures,
            size=size_of(self.model),
            answers=None if self._answers is None else tuple(self._answers),
        )
