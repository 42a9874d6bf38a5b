"""What `rpnb run` counts: learners and references over the same rows in one pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import IntArray
from rpnb.evaluate.blocks import Block
from rpnb.evaluate.confusion import CountHistory, ErrorCounts
from rpnb.evaluate.drivers.driver import Predictions
from rpnb.evaluate.drivers.native import NativeDriver
from rpnb.evaluate.evaluation import Evaluation
from rpnb.evaluate.player import Participant
from rpnb.labels import LabelIndex


class RowChunk(Protocol):
    """What the pass looks at: a `rpnb.files.Chunk`."""

    @property
    def X(self) -> Any:
        """(n, p) features; an array holds finite numbers that are not too large."""

    @property
    def y(self) -> NDArray[Any]:
        """(n,) labels."""

    @property
    def codes(self) -> IntArray:
        """(n,) the labels' numbers in first-seen order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What is known of a pass besides its counts."""

    source: str
    p: int
    order: str
    """"file", or the seed of a random order"""
    seconds: float
    interrupted: bool
    loaded: str | None
    window: int
    written: tuple[str, ...]


class FileEvaluation:
    """Learners of this package that go through one stream together.

    Parameters
    ----------
    models, references
        Learners by name; references look at labels only.
    classes
        Labels that take part from the first row on; None for none.
    window
        Rows of the windowed error.
    chances
        Whether to find the probability of each answer, which takes longer.
    """

    def __init__(
        self,
        models: Mapping[str, Any],
        references: Mapping[str, Any],
        classes: Sequence[Any] | None = None,
        window: int = 1000,
        *,
        chances: bool = False,
    ) -> None:
        declared = None if classes is None else np.asarray(classes)
        self._numbering = LabelIndex()
        # Of each code that has occurred; an earlier run may have seen others.
        self._numbers: IntArray = np.zeros(0, np.int64)
        self.balance = CountHistory()
        """how often each label had occurred, along the stream"""
        players = []
        for name, model in {**models, **references}.items():
            reference = name not in models
            asked = chances and not reference and hasattr(model, "predict_proba")
            driver = NativeDriver(
                model,
                self._numbering,
                "answer" if asked else "none",
                classes=declared,
                late=False,
                blind=reference,
            )
            players.append(
                Participant(name, driver, ErrorCounts(window), reference=reference)
            )
        self._contest = Evaluation(players, self._numbering)

    @property
    def players(self) -> Sequence[Participant[ErrorCounts]]:
        """The learners, then the references."""
        return self._contest.players

    @property
    def labels(self) -> Sequence[Any]:
        """All labels met, as truth or as an answer, in that order."""
        return self._numbering.labels

    @property
    def rows(self) -> int:
        """Rows so far."""
        return self.balance.rows

    def sorted_labels(self) -> list[int]:
        """Return the numbers of the labels that were met, labels in order."""
        labels = self.labels
        return sorted(range(len(labels)), key=lambda number: labels[number])

    def occurring(self) -> list[int]:
        """Return the numbers of the labels that occurred, the most frequent first."""
        totals = self.balance.course()[1][-1]
        frequent = np.argsort(-totals, kind="stable")
        return [int(number) for number in frequent if totals[number] > 0]

    def take(self, rows: RowChunk) -> list[Predictions]:
        """Let every learner predict, then learn, the rows; return what they answered.

        Parameters
        ----------
        rows
            The next rows of the stream.
        """
        truth = self._truth(rows)
        dense = isinstance(rows.X, np.ndarray)
        found = self._contest.take(Block(self.rows, rows.X, rows.y, truth, dense))
        for player in self.players:  # one may have met a label that others have not
            player.record.grow(len(self._numbering))
        self.balance.add(truth, len(self._numbering))
        return found

    def spelt(self, answers: Predictions) -> list[Any]:
        """Return the labels of answers, None for no answer."""
        return self._numbering.labels_of(answers.numbers)

    def _truth(self, rows: RowChunk) -> IntArray:
        """Return the numbers of labels; each code is looked up when it first occurs."""
        new = int(rows.codes.max()) + 1 - self._numbers.shape[0]
        if new > 0:
            self._numbers = np.append(self._numbers, np.full(new, -1))
        numbers = self._numbers[rows.codes]
        if numbers.min() < 0:
            for code in np.unique(rows.codes[numbers < 0]).tolist():
                at = int(np.argmax(rows.codes == code))
                self._numbers[code] = self._numbering.of(rows.y[at : at + 1])[0]
            numbers = self._numbers[rows.codes]
        return numbers
