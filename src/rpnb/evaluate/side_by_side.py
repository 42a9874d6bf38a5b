"""Several learners over the same rows in one pass: each predicts, then learns."""

import time
from collections.abc import Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rpnb.core.arrays import FloatArray, IntArray
from rpnb.evaluate.metrics import NO_ANSWER
from rpnb.evaluate.stepping import chances_too
from rpnb.evaluate.tally import Tally, Track


class Learner(Protocol):
    """What the pass asks of a learner."""

    @property
    def n_updates_(self) -> int:
        """Rows that changed the model."""

    def predict_then_learn(self, X: Any, y: Any, classes: Any = None) -> NDArray[Any]:
        """Predict each row with what was known before it, then learn it."""


class Rows(Protocol):
    """What the pass looks at: a `rpnb.files.Chunk`."""

    @property
    def X(self) -> Any:
        """(n, p) features."""

    @property
    def y(self) -> NDArray[Any]:
        """(n,) labels."""

    @property
    def codes(self) -> IntArray:
        """(n,) the labels' numbers in first-seen order."""


@dataclass(slots=True)
class Entrant:
    """A learner in the pass, its counts, and the time it took."""

    name: str
    model: Learner
    tally: Tally
    reference: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Answers:
    """What a learner answered to rows, and the probabilities it gave its answers."""

    labels: NDArray[Any]
    chances: FloatArray | None = field(default=None)


class SideBySide:
    """Learners that go through one stream together.

    Parameters
    ----------
    models, references
        Learners by name.
    classes
        Labels that take part from the first row on; None for none.
    window
        Rows of the windowed error.
    """

    def __init__(
        self,
        models: dict[str, Any],
        references: dict[str, Any],
        classes: Sequence[Any] | None = None,
        window: int = 1000,
    ) -> None:
        self.entrants = [Entrant(n, m, Tally(window)) for n, m in models.items()]
        self.entrants += [
            Entrant(n, m, Tally(window), reference=True) for n, m in references.items()
        ]
        self._classes = classes
        self.labels: list[Any] = []
        """all labels met, as truth or as an answer, in that order"""
        self._number: dict[Hashable, int] = {}
        self._of_code: list[int] = []
        self._aside = ThreadPoolExecutor(max_workers=1)
        self._growing = Lock()
        self.balance = Track()
        """how often each label had occurred, along the stream"""

    @property
    def rows(self) -> int:
        """Rows so far."""
        return self.balance.rows

    def take(self, rows: Rows, *, chances: bool = False) -> list[Answers]:
        """Let every learner predict, then learn, the rows; return what they answered.

        Parameters
        ----------
        rows
            The next rows of the stream.
        chances
            Whether to find the probability of each answer, which takes longer.
        """
        truth = self._numbers_of_codes(rows)
        references = [e for e in self.entrants if e.reference]
        learners = [e for e in self.entrants if not e.reference]
        # References look at labels only, and are done while learners are at work.
        labels_only = np.zeros((truth.shape[0], 1))
        done = self._aside.submit(
            lambda: [self._step(e, labels_only, rows.y, truth) for e in references]
        )
        try:
            found = [self._step(e, rows.X, rows.y, truth, chances) for e in learners]
        finally:
            wait([done])
        found += done.result()
        self._classes = None  # declared once
        for entrant in self.entrants:  # one may have met a label that others have not
            entrant.tally.grow(len(self.labels))
        self.balance.add(truth, len(self.labels))
        return found

    def _step(
        self,
        entrant: Entrant,
        X: Any,
        y: NDArray[Any],
        truth: IntArray,
        chances: bool = False,
    ) -> Answers:
        start = time.perf_counter()
        given: FloatArray | None = None
        if chances and hasattr(entrant.model, "predict_proba"):
            labels, given = chances_too(entrant.model, X, y, self._classes)
        else:
            labels = entrant.model.predict_then_learn(X, y, self._classes)
        entrant.seconds += time.perf_counter() - start
        answers = self._numbers_of_answers(labels, y, truth)
        entrant.tally.add(truth, answers, len(self.labels))
        return Answers(labels, given)

    def _know(self, label: Any) -> int:
        with self._growing:
            number = self._number.setdefault(label, len(self.labels))
            if number == len(self.labels):
                self.labels.append(label)
        return number

    def _numbers_of_codes(self, rows: Rows) -> IntArray:
        highest = int(rows.codes.max(initial=-1))
        for code in range(len(self._of_code), highest + 1):
            at = np.flatnonzero(rows.codes == code)[:1]
            # A code that does not occur here was seen by an earlier run.
            self._of_code.append(self._know(rows.y[at[0]].item()) if at.size else -1)
        table = np.array(self._of_code, np.int64)
        numbers = table[rows.codes]
        if numbers.min(initial=0) < 0:
            for code in np.unique(rows.codes[numbers < 0]).tolist():
                at = np.flatnonzero(rows.codes == code)[:1]
                self._of_code[code] = self._know(rows.y[at[0]].item())
            numbers = np.array(self._of_code, np.int64)[rows.codes]
        return numbers

    def _numbers_of_answers(
        self, labels: NDArray[Any], y: NDArray[Any], truth: IntArray
    ) -> IntArray:
        at = np.flatnonzero(labels != y)
        answers = truth.copy()
        wrong = labels[at]
        if wrong.dtype == object:
            answers[at] = [
                NO_ANSWER if label is None else self._know(label) for label in wrong
            ]
        elif at.shape[0]:
            answers[at] = self._looked_up(wrong)
        return answers

    def _looked_up(self, wrong: NDArray[Any]) -> IntArray:
        """Return the numbers of labels, which may be new."""
        known = np.array(self.labels)
        order = np.argsort(known)
        place = np.searchsorted(known, wrong, sorter=order)
        place[place == known.shape[0]] = 0
        numbers = order[place]
        if np.array_equal(known[numbers], wrong):
            return numbers
        # Declared and predicted, but never seen.
        distinct, place = np.unique(wrong, return_inverse=True)
        numbers = np.array([self._know(label) for label in distinct.tolist()])
        return numbers[place.reshape(-1)]
