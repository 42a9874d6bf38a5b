"""One learner on its way along a stream: its answers, its time, its checkpoints."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rpnb.evaluate.delays import Events
from rpnb.evaluate.drivers import Answers, Driver
from rpnb.evaluate.feed import Block, gather
from rpnb.evaluate.learners import size_of
from rpnb.evaluate.result import Course
from rpnb.evaluate.running import SPANS, Metric, Rows, Running, Span


class Note(NamedTuple):
    """Where a learner stands at a checkpoint."""

    updates: int
    seconds: float
    measures: Mapping[Span, Mapping[Metric, float]]


class Player:
    """A learner, what it has answered, and what that has cost.

    Parameters
    ----------
    name
        The learner's name in errors and in the result.
    driver
        Of the learner.
    running
        The measures of its answers.
    keep
        Whether all answers are kept.
    """

    def __init__(
        self, name: str, driver: Driver, running: Running, *, keep: bool
    ) -> None:
        self.name = name
        self._driver = driver
        self._running = running
        self._seconds = 0.0
        self._answers: list[Any] | None = [] if keep else None
        self._notes: dict[int, Note] = {}

    def play(self, kept: Sequence[Block], events: Events) -> Answers:
        """Predict and learn rows of the blocks kept; return all answers in order."""
        if len(events) == 0:
            return Answers([], None)
        rows, places = np.unique(events.rows, return_inverse=True)
        events = replace(events, rows=places)
        try:
            block = self._driver.prepare(gather(kept, rows))
            start = time.perf_counter()
            answers = self._driver.play(block, events)
            self._seconds += time.perf_counter() - start
        except Exception as error:
            error.add_note(
                f"{self.name}, among the rows {rows[0]} to {rows[-1]} of the stream; "
                "a row's number above may count from the first row of a call"
            )
            raise
        return answers

    def count(self, rows: Rows, M: int, labels: Sequence[Any]) -> None:
        """Count answered rows, whose numbers are below M."""
        self._running.add(rows, M)
        if self._answers is not None:
            self._answers.extend(labels)

    def note(self, row: int) -> None:
        """Write down where the learner stands after so many rows."""
        updates = self._driver.updates()
        self._notes[row] = Note(updates, self._seconds, self._running.measure())

    def finish(self, row: int) -> None:
        """Learn what is held back, and write down where the learner ends."""
        start = time.perf_counter()
        self._driver.finish()
        self._seconds += time.perf_counter() - start
        self.note(row)

    def course(self) -> Course:
        """Return the learner's way along the stream."""
        notes = list(self._notes.values())
        figures = {
            span: {
                name: np.array([note.measures[span][name] for note in notes])
                for name in notes[0].measures[span]
            }
            for span in SPANS
        }
        return Course(
            name=self.name,
            rows=np.array(list(self._notes)),
            updates=np.array([note.updates for note in notes]),
            seconds=np.array([note.seconds for note in notes]),
            figures=figures,
            size=size_of(self._driver.model),
            answers=None if self._answers is None else tuple(self._answers),
        )
