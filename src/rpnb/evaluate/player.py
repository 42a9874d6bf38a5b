"""One learner on its way along a stream: its answers and the time they took."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from rpnb.evaluate.blocks import Block, gather
from rpnb.evaluate.delays import Events
from rpnb.evaluate.drivers.driver import Driver, Predictions
from rpnb.evaluate.running import ScoredRows


class Recorder(Protocol):
    """What is written down of a learner's answers."""

    def add(self, rows: ScoredRows, M: int) -> None:
        """Take in answered rows, whose numbers are below M."""


Kept = TypeVar("Kept", bound=Recorder)


class Participant(Generic[Kept]):
    """A learner, what is kept of its answers, and what these have cost.

    Parameters
    ----------
    name
        The learner's name in errors and in the result.
    driver
        Of the learner.
    record
        Of its answers.
    reference
        Whether the others are compared with it.
    """

    def __init__(
        self, name: str, driver: Driver, record: Kept, *, reference: bool = False
    ) -> None:
        self.name = name
        self.driver = driver
        self.record = record
        self.reference = reference
        self.seconds = 0.0

    @property
    def model(self) -> Any:
        """The learner."""
        return self.driver.model

    def step(self, block: Block) -> Predictions:
        """Predict each row of a block, then learn it; return the answers."""
        try:
            block = self.driver.prepare(block)
            start = time.perf_counter()
            answers = self.driver.predict_then_learn(block)
        except Exception as error:
            self._locate(error, block.start, block.stop - 1)
            raise
        self.seconds += time.perf_counter() - start
        return answers

    def play(self, kept: Sequence[Block], events: Events) -> Predictions:
        """Predict and learn rows of the blocks kept; return all answers in order."""
        rows, places = np.unique(events.rows, return_inverse=True)
        try:
            block = self.driver.prepare(gather(kept, rows))
            start = time.perf_counter()
            answers = self.driver.play(block, replace(events, rows=places))
        except Exception as error:
            self._locate(error, int(rows[0]), int(rows[-1]))
            raise
        self.seconds += time.perf_counter() - start
        return answers

    def _locate(self, error: Exception, first: int, last: int) -> None:
        error.add_note(
            f"{self.name}, among the rows {first} to {last} of the stream; a row's "
            "number above may count from the first row of a call"
        )
