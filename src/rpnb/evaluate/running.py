r"""Measures that run along a stream: over all rows, over the last ones, and fading.

Three spans of rows after i rows, for a loss L(k) of row k, as in Gama, Sebastião &
Rodrigues, "On evaluating stream learning algorithms" (Machine Learning 90, 2013):

* cumulative, every row alike: $P(i) = \frac1i \sum_{k=1}^i L(k)$;
* window, the last w: $P_w(i) = \frac1w \sum_{k=i-w+1}^i L(k)$;
* fading, by a factor α: $P_α(i) = \sum_k α^{i-k} L(k) \big/ \sum_k α^{i-k}$.

Measures other than the error come from the table of counts, true class by answer, of
the same rows with the same weights.
"""

from collections.abc import Mapping, Sequence
from math import nan
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.evaluate import metrics
from rpnb.evaluate.metrics import Counts, confusion_counts

Metric: TypeAlias = Literal[
    "accuracy",
    "error",
    "macro_f1",
    "balanced_accuracy",
    "kappa",
    "kappa_temporal",
    "log_loss",
]
Span: TypeAlias = Literal["cumulative", "window", "fading"]

METRICS: tuple[Metric, ...] = get_args(Metric)
SPANS: tuple[Span, ...] = get_args(Span)
#: Measures of which less is better.
LOSSES: tuple[Metric, ...] = ("error", "log_loss")

# What the logarithm of a probability of 0 is replaced by, as in scikit-learn.
_SMALLEST = float(np.finfo(np.float64).eps)


class ScoredRows(NamedTuple):
    """What measures look at: rows with their truth and what was answered."""

    truth: IntArray
    """(n,) numbers of the true classes"""
    answers: IntArray
    """(n,) numbers of the answers, −1 for none"""
    repeats: BoolArray
    """(n,) whether the truth is that of the row before"""
    loss: FloatArray
    """(n,) minus the log of the true class's probability; NaN where not known"""


def log_losses(chance: FloatArray | None, n: int) -> FloatArray:
    """Return −log of the probabilities that n true classes were given.

    A probability below the spacing of floats at 1 counts as that, as in scikit-learn.
    So does NaN, which some learners give where they should not. NaN where there are no
    probabilities.
    """
    if chance is None:
        return np.broadcast_to(np.float64(nan), n)
    return -np.log(np.fmax(chance, _SMALLEST))


class ConfusionTotals:
    """Sums over rows, with a weight for each; the classes may grow in number."""

    def __init__(self) -> None:
        self.counts: Counts = np.zeros((0, 1))
        self.repeats = 0.0
        self.loss = 0.0

    def add(
        self, rows: ScoredRows, M: int, weight: FloatArray | None, keep: float
    ) -> None:
        """Multiply what is there by `keep`, then add rows of M classes."""
        counts = _weighted_counts(rows, M, weight)
        known = len(self.counts)
        # The last column, of rows without an answer, moves as classes join.
        counts[:known, :known] += keep * self.counts[:, :-1]
        counts[:known, -1] += keep * self.counts[:, -1]
        w = np.ones(len(rows.truth)) if weight is None else weight
        self.counts = counts
        self.repeats = keep * self.repeats + float(w @ rows.repeats)
        self.loss = keep * self.loss + float(w @ rows.loss)

    def measure(self, names: Sequence[Metric]) -> dict[Metric, float]:
        """Return measures by name; NaN where one is not defined."""
        total = float(self.counts.sum())
        if total == 0.0:
            return dict.fromkeys(names, nan)
        counts = metrics.occurring(self.counts)
        right = metrics.accuracy(counts)
        values: dict[Metric, float] = {}
        for name in names:
            if name == "accuracy":
                value = right
            elif name == "error":
                value = metrics.error_rate(counts)
            elif name == "macro_f1":
                value = metrics.macro_f1(counts)
            elif name == "balanced_accuracy":
                value = metrics.balanced_accuracy(counts)
            elif name == "kappa":
                value = metrics.kappa(counts)
            elif name == "kappa_temporal":
                value = metrics.kappa_temporal(right, self.repeats / total)
            else:
                value = self.loss / total
            values[name] = value
        return values


class RunningMetrics:
    """The measures of one learner along a stream, in memory that does not grow.

    Parameters
    ----------
    names
        Which measures.
    window
        w, how many rows the window has.
    fading
        α, what a row's weight is multiplied by with each row after it.
    """

    def __init__(self, names: Sequence[Metric], window: int, fading: float) -> None:
        self._names = tuple(names)
        self._window = window
        self._fading = fading
        self._all, self._faded = ConfusionTotals(), ConfusionTotals()
        self._last: ScoredRows | None = None
        self._M = 0

    def add(self, rows: ScoredRows, M: int) -> None:
        """Take in more rows, whose numbers are below M."""
        n = len(rows.truth)
        self._M = M
        self._all.add(rows, M, None, 1.0)
        weight: FloatArray = np.power(self._fading, np.arange(n - 1.0, -1.0, -1.0))
        self._faded.add(rows, M, weight, self._fading**n)
        self._last = _last(self._window, self._last, rows)

    def measure(self) -> Mapping[Span, Mapping[Metric, float]]:
        """Return each measure over each span, as of now."""
        recent = ConfusionTotals()
        if self._last is not None:
            recent.add(self._last, self._M, None, 1.0)
        spans = zip(SPANS, (self._all, recent, self._faded), strict=True)
        return {span: totals.measure(self._names) for span, totals in spans}


def _last(window: int, before: ScoredRows | None, rows: ScoredRows) -> ScoredRows:
    """Return the last rows of those before and those that follow."""
    if before is None:
        before = ScoredRows(*(part[:0] for part in rows))  # type: ignore[arg-type]
    both = [np.concatenate(pair)[-window:] for pair in zip(before, rows, strict=True)]
    return ScoredRows(*both)


def _weighted_counts(rows: ScoredRows, M: int, weight: FloatArray | None) -> Counts:
    if weight is None:
        return confusion_counts(rows.truth, rows.answers, M).astype(np.float64)
    column = np.where(rows.answers == metrics.NO_ANSWER, M, rows.answers)
    place = rows.truth * (M + 1) + column
    flat = np.bincount(place, weights=weight, minlength=M * (M + 1))
    return flat.reshape(M, M + 1)
