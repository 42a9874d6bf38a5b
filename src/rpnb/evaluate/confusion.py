"""Counts along a stream of unknown length, in memory that does not grow with it."""

from itertools import pairwise

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, IntArray
from rpnb.core.kernels.compiled import compiled
from rpnb.evaluate.metrics import class_scores
from rpnb.evaluate.running import ScoredRows

#: Places along the stream that are remembered.
_PLACES = 256


class CountHistory:
    """How often each number had occurred, at places evenly along the stream.

    Places are multiples of a step that doubles whenever there would be too many, so
    what is kept depends on the rows alone, not on how they are cut into calls.
    """

    def __init__(self) -> None:
        self.rows = 0
        self._step = 1
        self._totals: IntArray = np.zeros(0, np.int64)
        self._kept: list[tuple[int, IntArray]] = []

    def add(self, numbers: IntArray | BoolArray, k: int) -> None:
        """Take in more numbers, all of them below k; true is 1."""
        n = numbers.shape[0]
        end = self.rows + n
        while end // self._step > _PLACES:
            self._step *= 2
            self._kept = [kept for kept in self._kept if kept[0] % self._step == 0]
        totals = np.zeros(max(k, self._totals.shape[0]), np.int64)
        totals[: self._totals.shape[0]] = self._totals
        first = (self.rows // self._step + 1) * self._step
        places = range(first, end + 1, self._step)
        for start, stop in pairwise([self.rows, *places, end]):
            part = numbers[start - self.rows : stop - self.rows]
            totals += _occurrences(part, totals.shape[0])
            if stop % self._step == 0 and stop > start:
                self._kept.append((stop, totals.copy()))
        self.rows, self._totals = end, totals

    def course(self) -> tuple[IntArray, IntArray]:
        """Return the places (t,), the last row among them, and the counts (t, k)."""
        kept = self._kept
        if self.rows and (not kept or kept[-1][0] != self.rows):
            kept = [*kept, (self.rows, self._totals)]
        counts = np.zeros((len(kept), self._totals.shape[0]), np.int64)
        for line, (_, totals) in zip(counts, kept, strict=True):
            line[: totals.shape[0]] = totals
        return np.array([place for place, _ in kept], np.int64), counts


def _occurrences(numbers: IntArray | BoolArray, k: int) -> IntArray:
    """Return how often each of the numbers below k occurs."""
    if numbers.dtype == np.bool_:
        ones = np.count_nonzero(numbers)
        return np.array([numbers.shape[0] - ones, ones], np.int64)
    return np.bincount(numbers, minlength=k)


@compiled
def _count(truth: IntArray, answers: IntArray, counts: IntArray) -> None:
    """Count rows by truth and answer; −1, no answer, is the last column."""
    for i in range(truth.shape[0]):
        counts[truth[i], answers[i]] += 1


class ErrorCounts:
    """What a learner answered: counts by true class, mistakes along the stream.

    Parameters
    ----------
    window
        How many of the last rows the windowed error looks at.
    """

    def __init__(self, window: int) -> None:
        self.counts: IntArray = np.zeros((0, 1), np.int64)
        """(M, M + 1) rows of each true class by answer, the last column for none"""
        self.track = CountHistory()
        self._window = window
        self._last: BoolArray = np.zeros(0, np.bool_)
        self.mistakes = 0

    def add(self, rows: ScoredRows, M: int) -> None:
        """Take in more rows, whose numbers are below M."""
        truth, answers = rows.truth, rows.answers
        wrong = answers != truth
        self.grow(M)
        _count(truth, answers, self.counts)
        self.mistakes += int(np.count_nonzero(wrong))
        self.track.add(wrong, 2)
        recent = wrong[-self._window :]
        self._last = np.concatenate([self._last, recent])[-self._window :]

    def grow(self, M: int) -> None:
        """Make room for M classes."""
        known = self.counts.shape[0]
        if known < M:
            counts = np.zeros((M, M + 1), np.int64)
            counts[:known, :known] = self.counts[:, :-1]
            counts[:known, -1] = self.counts[:, -1]
            self.counts = counts

    @property
    def rows(self) -> int:
        """Rows so far."""
        return self.track.rows

    @property
    def error(self) -> float:
        """Share of mistakes among all rows so far."""
        return self.mistakes / max(self.rows, 1)

    @property
    def window_error(self) -> float:
        """Share of mistakes among the last rows."""
        return float(self._last.mean()) if self._last.shape[0] else 0.0

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the labels that occurred."""
        return float(class_scores(self.counts).f1[self.counts.sum(axis=1) > 0].mean())
