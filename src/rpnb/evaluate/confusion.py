r"""Counts of a stream's rows by true class and prediction, in bounded memory.

`Confusion` keeps counts for three spans of rows. After i rows, with loss L(k) of row k,
as in Gama, Sebastião & Rodrigues, "On evaluating stream learning algorithms" (Machine
Learning 90, 2013):

* cumulative, all rows with equal weight: $P(i) = \frac1i \sum_{k=1}^i L(k)$;
* window, the last w rows: $P_w(i) = \frac1w \sum_{k=i-w+1}^i L(k)$;
* fading, with a factor α: $P_α(i) = \sum_k α^{i-k} L(k) \big/ \sum_k α^{i-k}$.

Metrics other than the error are computed from the counts of the same rows with the same
weights.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import nan
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from rpnb._core.streams import count_rows
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.kernels.elementary import exp, log
from rpnb.evaluate.metrics import (
    METRICS,
    N_BINS,
    Counts,
    Metric,
    Totals,
    occurring,
)
from rpnb.evaluate.ranking import NO_BINS, BinnedScores, join_scores
from rpnb.labels import NO_LABEL

Span: TypeAlias = Literal["cumulative", "window", "fading"]
SPANS: tuple[Span, ...] = get_args(Span)

# Largest number of places at which counts are recorded.
_PLACES = 256
# Replacement of a probability of 0 in logarithms, as in scikit-learn.
_SMALLEST = float(np.finfo(np.float64).eps)


def confusion_counts(truth: IntArray, answers: IntArray, M: int) -> IntArray:
    """Return the confusion matrix: rows counted by true class and prediction.

    Parameters
    ----------
    truth : array of shape (n,)
        Numbers 0 .. M-1 of the true classes.
    answers : array of shape (n,)
        Numbers of the predicted classes, or -1 for a row without a prediction.
    M : int
        Number of classes.

    Returns
    -------
    array of shape (M, M + 1)
        Entry (i, j) is the number of rows of class i predicted as j. The last column
        counts the rows without a prediction: they are mistakes, but not false positives
        of any class.

    Examples
    --------
    >>> import numpy as np
    >>> confusion_counts(np.array([0, 0, 1]), np.array([0, 1, -1]), M=2)
    array([[1, 1, 0],
           [0, 0, 1]])
    """
    truth, answers = np.asarray(truth), np.asarray(answers)
    if truth.ndim != 1 or truth.shape != answers.shape:
        raise ValueError(
            "truth and answers must be one-dimensional and of equal length, got "
            f"shapes {truth.shape} and {answers.shape}"
        )
    _check_numbers("truth", truth, 0, M)
    _check_numbers("answers", answers, NO_LABEL, M)
    return _count(truth, answers, M).astype(np.int64)


def _check_numbers(name: str, values: IntArray, low: int, M: int) -> None:
    if not np.issubdtype(values.dtype, np.integer):
        raise TypeError(f"{name} must be integers, got {values.dtype}")
    wrong = (values < low) | (values >= M)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{name} must be from {low} to {M - 1}, got {values[row]} in row {row}"
        )


def _count(
    truth: IntArray, predicted: IntArray, M: int, weight: FloatArray | None = None
) -> Counts:
    """Return the number, or the weight, of rows by true and predicted class."""
    column = np.where(predicted == NO_LABEL, M, predicted)
    cell = truth * (M + 1) + column
    return np.bincount(cell, weight, minlength=M * (M + 1)).reshape(M, M + 1)


def log_losses(probability: FloatArray | None, n: int) -> FloatArray:
    """Return the log-loss of n rows: −log of the probability of the true class.

    Probabilities are clipped from below at the spacing of floats at 1, as in
    scikit-learn, and so is NaN, which some learners return by mistake. Without
    probabilities, all losses are NaN.
    """
    if probability is None:
        return np.broadcast_to(np.float64(nan), n)
    return -log(np.fmax(probability, _SMALLEST))


class ProbabilityDetails(NamedTuple):
    """Further statistics of the probabilities of rows."""

    brier: FloatArray
    """(n,) Brier scores"""
    confidence: FloatArray
    """(n,) probabilities of the predicted classes"""
    covered: FloatArray
    """(n,) 1 where the true class was in the prediction set, NaN without sets"""
    scores: BinnedScores
    """bins of the probabilities of all classes"""

    def some(self, rows: Any) -> "ProbabilityDetails":
        """Return the details of rows selected by a mask, an index or a slice."""
        brier, confidence, covered, scores = self
        return ProbabilityDetails(
            brier[rows], confidence[rows], covered[rows], scores.some(rows)
        )


def join_details(parts: Sequence[ProbabilityDetails]) -> ProbabilityDetails:
    """Return the details of several groups of rows, one after the other."""
    return ProbabilityDetails(
        np.concatenate([each.brier for each in parts]),
        np.concatenate([each.confidence for each in parts]),
        np.concatenate([each.covered for each in parts]),
        join_scores([each.scores for each in parts]),
    )


class ScoredRows(NamedTuple):
    """Rows of a stream with their true and predicted classes."""

    truth: IntArray
    """(n,) numbers of the true classes"""
    predicted: IntArray
    """(n,) numbers of the predicted classes, −1 for none"""
    repeats: BoolArray
    """(n,) whether the true class is the same as in the previous row"""
    loss: FloatArray
    """(n,) log-loss; NaN if probabilities are unknown"""
    details: ProbabilityDetails | None = None
    """None if probabilities are unknown"""

    def last(self, n: int) -> "ScoredRows":
        """Return the last n rows, or all if there are fewer."""
        part = slice(-n, None)
        columns: list[Any] = [column[part] for column in self[:4]]
        if self.details is not None:
            columns.append(self.details.some(part))
        return ScoredRows(*columns)

    def followed_by(self, rows: "ScoredRows") -> "ScoredRows":
        """Return these rows followed by others."""
        pairs = zip(self[:4], rows[:4], strict=True)
        columns: list[Any] = [np.concatenate(pair) for pair in pairs]
        if self.details is not None and rows.details is not None:
            columns.append(join_details([self.details, rows.details]))
        return ScoredRows(*columns)

    def reliability(
        self, weight: FloatArray, before: FloatArray | None = None
    ) -> FloatArray | None:
        """Return sums of weight, confidence and correctness by bin of confidence.

        If given, the sums `before` are continued row by row.
        """
        if self.details is None:
            return None
        confidence = np.nan_to_num(self.details.confidence)
        bins = np.minimum((confidence * N_BINS).astype(np.int64), N_BINS - 1)
        weight = weight * (self.predicted != NO_LABEL)
        right = weight * (self.predicted == self.truth)
        columns = (weight, weight * confidence, right)
        sums = np.zeros((N_BINS, 3)) if before is None else before.copy()
        np.add.at(sums, bins, np.stack(columns, axis=1))
        return sums

    def totals(self, counts: Counts, weight: FloatArray | None = None) -> Totals:
        """Return the sums over these rows, whose `counts` are known."""
        w = np.ones(len(self.truth)) if weight is None else weight
        details = self.details
        return Totals(
            counts,
            counts.sum().item(),
            float(w @ self.repeats),
            float(w @ self.loss),
            nan if details is None else float(w @ details.brier),
            self.reliability(w),
            nan if details is None else float(w @ details.covered),
            None if details is None else details.scores.counts(weight),
        )


class Confusion:
    """Counts of one learner's predictions on a stream.

    `window` is the number of rows w; `fading` is α, or None to leave that span out.
    """

    def __init__(self, window: int = 1000, fading: float | None = None) -> None:
        self.counts: IntArray = np.zeros((0, 1), np.int64)
        """(M, M + 1) rows by true and predicted class: see `confusion_counts`"""
        self.mistakes = 0
        self.history = CountHistory()
        """correct (0) and wrong (1) predictions so far, at some rows of the stream"""
        self._window, self._fading = window, fading
        self._last: ScoredRows | None = None
        none = np.zeros((N_BINS, 3))
        self._all = Totals(self.counts, 0, 0.0, 0.0, 0.0, none, 0.0, NO_BINS)
        self._faded = self._all._replace(counts=np.zeros((0, 1)))

    def add(self, rows: ScoredRows, M: int) -> None:
        """Count more rows, whose class numbers are below M."""
        wrong = rows.predicted != rows.truth
        self.counts = _grown(self.counts, M)
        count_rows(rows.truth, rows.predicted, self.counts)
        self.mistakes += int(np.count_nonzero(wrong))
        self.history.add(wrong, 2)
        self._all = _extended(self._all, rows, self.counts)
        recent = rows.last(self._window)
        if self._last is not None:
            recent = self._last.followed_by(recent).last(self._window)
        self._last = recent
        if self._fading is not None:
            self._fade(rows, M, self._fading)

    def _fade(self, rows: ScoredRows, M: int, fading: float) -> None:
        """Add rows to the fading sums, which decay with each row."""
        n = len(rows.truth)
        weight = exp(np.arange(n - 1.0, -1.0, -1.0) * log(fading))
        keep = float(exp(n * log(fading)))
        counts = _count(rows.truth, rows.predicted, M, weight)
        counts = counts + keep * _grown(self._faded.counts, M)
        self._faded = _joined(self._faded, rows.totals(counts, weight), keep)

    @property
    def rows(self) -> int:
        """Number of rows so far."""
        return self.history.rows

    @property
    def error(self) -> float:
        """Error rate over all rows so far."""
        return self.mistakes / max(self.rows, 1)

    @property
    def window_error(self) -> float:
        """Error rate over the window."""
        if self._last is None:
            return 0.0
        return float((self._last.predicted != self._last.truth).mean())

    def totals(self) -> dict[Span, Totals]:
        """Return the sums that metrics are computed from, for each span."""
        found: dict[Span, Totals] = {
            "cumulative": self._all,
            "window": Totals(self.counts, 0.0, 0.0, 0.0),
        }
        if (last := self._last) is not None:
            counts = _count(last.truth, last.predicted, len(self.counts))
            found["window"] = last.totals(counts)
        if self._fading is not None:
            found["fading"] = self._faded
        return found

    def measure(
        self, metrics: Sequence[Metric]
    ) -> Mapping[Span, Mapping[Metric, float]]:
        """Return metrics by span and name; NaN where undefined."""
        return {
            span: _measure(totals, metrics) for span, totals in self.totals().items()
        }


def _measure(totals: Totals, metrics: Sequence[Metric]) -> dict[Metric, float]:
    """Return metrics by name; NaN without rows."""
    if totals.weight == 0.0:
        return dict.fromkeys(metrics, nan)
    totals = totals._replace(counts=occurring(totals.counts))
    return {name: METRICS[name](totals) for name in metrics}


def _joined(before: Totals, new: Totals, keep: float = 1) -> Totals:
    """Return the sums over earlier rows, at reduced weight, and new rows.

    A sum that is unknown for either part is unknown. The counts of `new` already
    include the earlier rows.
    """
    reliability = ranks = None
    if before.reliability is not None and new.reliability is not None:
        reliability = keep * before.reliability + new.reliability
    if before.ranks is not None and new.ranks is not None:
        ranks = before.ranks.add(new.ranks, before.weight, keep)
    return Totals(
        new.counts,
        new.weight,
        keep * before.repeats + new.repeats,
        keep * before.loss + new.loss,
        keep * before.brier + new.brier,
        reliability,
        keep * before.covered + new.covered,
        ranks,
    )


def _extended(before: Totals, rows: ScoredRows, counts: Counts) -> Totals:
    """Return the sums over earlier and new rows, added one by one.

    To the last bit, they do not depend on how rows are divided into blocks.
    """
    totals = _joined(before, rows.totals(counts))._replace(
        loss=_continued(before.loss, rows.loss)
    )
    if (details := rows.details) is None or before.reliability is None:
        return totals
    ones = np.ones(len(rows.truth))
    return totals._replace(
        brier=_continued(before.brier, details.brier),
        reliability=rows.reliability(ones, before.reliability),
    )


def _continued(total: float, values: FloatArray) -> float:
    """Add values to a total, from the first to the last."""
    return float(np.add.accumulate(np.concatenate([[total], values]))[-1])


def _grown(counts: Counts, M: int) -> Counts:
    """Return the counts with room for M classes; the last column stays the last."""
    known = counts.shape[0]
    if known == M:
        return counts
    grown = np.zeros((M, M + 1), counts.dtype)
    grown[:known, :known] = counts[:, :-1]
    grown[:known, -1] = counts[:, -1]
    return grown


class CountHistory:
    """How often each number has occurred, at evenly spaced rows of the stream.

    The rows are multiples of a step that doubles whenever there would be too many, so
    that the result does not depend on the chunking.
    """

    def __init__(self) -> None:
        self.rows = 0
        self._step = 1
        self._totals: IntArray = np.zeros(0, np.int64)
        self._kept: list[tuple[int, IntArray]] = []

    def add(self, numbers: IntArray | BoolArray, k: int) -> None:
        """Count more numbers, all of them below k; true is 1."""
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

    def places(self) -> tuple[IntArray, IntArray]:
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
