r"""Metrics of how well probabilities rank rows, online and in bounded memory.

The AUC of a class is the probability that a row of the class gets a higher probability
of the class than a row of another class; a tie counts as a half (Hanley & McNeil,
1982). The exact AUC needs all probabilities. Here each is replaced by the number of its
bin, and two in one bin tie. Let s = min(p, 1 − p): each range of s from 2⁻ᵏ⁻¹ to 2⁻ᵏ
has 16 bins of equal width, k = 1 … 32, so a bin is at most 1/16 of s wide, and
probabilities near 0 and 1 are resolved as finely as those near ½. Those below 2⁻³³
share a bin, and so do those above 1 − 2⁻³³.

Bins are counted for each class: all rows, and the rows of the class. The counts, and so
the AUC, depend on the rows alone, not on how they are divided into calls. A class that
a learner has not seen yet has probability 0. The AUC of several classes is the mean
over the classes, each against the rest.

Average precision and F1 at the best threshold use the same counts. Both depend on which
class is the positive one: of two classes the rarer one, or the mean over both if they
are equally frequent; of more than two, the mean over all.
"""

from collections.abc import Hashable, Iterable, Sequence
from math import fsum, nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.labels import CodedLabels, LabelIndex

# Bins per halving of s, and the number of halvings.
_PER_HALVING, _HALVINGS = 16, 32
_HALF = 1 + _PER_HALVING * _HALVINGS
#: Number of bins: as many below ½ as above, and one for ½ itself.
N_SCORE_BINS = 2 * _HALF + 1


def bins_of(P: FloatArray) -> NDArray[np.uint16]:
    """Return the bins of probabilities, in ascending order; NaN counts as 0.

    >>> bins_of(np.array([0.0, 0.5, 1.0]))
    array([   0,  513, 1026], dtype=uint16)
    """
    p = np.clip(np.nan_to_num(P), 0.0, 1.0)
    # s = mantissa · 2^exponent, the mantissa from ½ to 1: exact, unlike a logarithm.
    mantissa, exponent = np.frexp(np.minimum(p, 1.0 - p))
    place = ((mantissa - 0.5) * (2 * _PER_HALVING)).astype(np.int64)
    low = 1 + (exponent + _HALVINGS) * _PER_HALVING + place
    low = np.where(mantissa > 0.0, np.maximum(low, 0), 0)
    return np.where(p > 0.5, N_SCORE_BINS - 1 - low, low).astype(np.uint16)


class BinnedScores(NamedTuple):
    """Probabilities of rows as bins, one column for each class."""

    bins: NDArray[np.uint16]
    """(n, S) the bin of each class's probability"""
    truth: IntArray
    """(n,) the column of the true class"""

    def some(self, rows: Any) -> "BinnedScores":
        """Return the rows selected by a mask, an index or a slice."""
        return BinnedScores(self.bins[rows], self.truth[rows])

    def counts(self, weight: FloatArray | None = None) -> "BinCounts":
        """Return the number, or the weight, of rows by class and bin."""
        n, S = self.bins.shape
        cell = self.bins + np.arange(S) * N_SCORE_BINS
        each = None if weight is None else np.repeat(weight, S)
        of_truth = cell[np.arange(n), self.truth]
        size = S * N_SCORE_BINS
        return BinCounts(
            np.bincount(cell.ravel(), each, size).reshape(S, -1),
            np.bincount(of_truth, weight, size).reshape(S, -1),
        )


def bin_scores(
    P: FloatArray,
    classes: Iterable[Hashable],
    truth: Iterable[Hashable] | NDArray[Any] | CodedLabels,
    columns: LabelIndex,
) -> BinnedScores:
    """Return the bins of probabilities P (n, M) of classes, with the true labels.

    `columns` maps labels to columns; new labels are added to it.
    """
    places = columns.of(list(classes))
    of_truth = columns.of(truth)
    bins = np.zeros((P.shape[0], len(columns)), np.uint16)
    bins[:, places] = bins_of(P)
    return BinnedScores(bins, of_truth)


def join_scores(parts: Sequence[BinnedScores]) -> BinnedScores:
    """Return the rows of all parts; a class has bin 0 before it first appears."""
    S = max(part.bins.shape[1] for part in parts)
    return BinnedScores(
        np.concatenate([_widened(part.bins, S) for part in parts]),
        np.concatenate([part.truth for part in parts]),
    )


def _widened(bins: NDArray[np.uint16], S: int) -> NDArray[np.uint16]:
    missing = S - bins.shape[1]
    return bins if missing == 0 else np.pad(bins, ((0, 0), (0, missing)))


class BinCounts(NamedTuple):
    """Rows, or weights of rows, by class and bin: (S, bins) each."""

    rows: NDArray[Any]
    """all rows"""
    positive: NDArray[Any]
    """the rows of the class itself"""

    def add(self, new: "BinCounts", before: float, keep: float = 1) -> "BinCounts":
        """Return the counts with more rows; earlier rows are weighted by `keep`.

        `before` is the weight of the earlier rows, whose probability is 0 for classes
        that are new here. Whole numbers stay whole numbers.
        """
        known = self.rows.shape[0]
        added = BinCounts(new.rows.copy(), new.positive.copy())
        added.rows[:known] += keep * self.rows
        added.positive[:known] += keep * self.positive
        added.rows[known:, 0] += keep * before
        return added

    def auc(self) -> float:
        """Return the mean AUC of the classes, each against all others.

        NaN if no class has both positive and negative rows.
        """
        negative = self.rows - self.positive
        own, others = self.positive.sum(axis=1), negative.sum(axis=1)
        below = np.cumsum(negative, axis=1) - 0.5 * negative
        wins = (self.positive * below).sum(axis=1)
        there = (own > 0) & (others > 0)
        return _mean(wins[there] / (1.0 * own[there] * others[there]))

    def average_precision(self) -> float:
        r"""Return the average precision of the positive class, or the mean of several.

        $$\sum_b (R_b - R_{b+1}) P_b$$
        with $P_b$ and $R_b$ the precision and recall if the rows of bin b and above are
        predicted positive, as in scikit-learn's `average_precision_score` of the bins.
        NaN if no class has both positive and negative rows.
        """
        own, found, predicted = self._thresholds()
        precision = found / np.maximum(predicted, _TINY)
        gained = np.diff(found, axis=1, prepend=0.0)
        return _mean((gained * precision).sum(axis=1) / own)

    def best_f1(self) -> float:
        """Return the largest F1 over all thresholds, or the mean of several classes.

        A threshold is a bin: its rows and those above are predicted positive. NaN if no
        class has both positive and negative rows.
        """
        own, found, predicted = self._thresholds()
        scores = 2.0 * found / (predicted + own[:, None])
        return _mean(scores.max(axis=1))

    def _thresholds(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the counts behind precision and recall, for each positive class.

        They are the rows of the class (s,); and the rows of the class, and all rows, in
        each bin and above (s, bins), the highest bin first.
        """
        own, rows = self.positive.sum(axis=1), self.rows.sum(axis=1)
        there = np.flatnonzero((own > 0) & (own < rows))
        if there.shape[0] == 2:
            there = there[own[there] == own[there].min()]
        found = np.cumsum(self.positive[there, ::-1], axis=1, dtype=np.float64)
        predicted = np.cumsum(self.rows[there, ::-1], axis=1, dtype=np.float64)
        return found[:, -1], found, predicted


# Positive, and smaller than the weight of any row.
_TINY = 1e-300


def _mean(values: FloatArray) -> float:
    """Return the mean, NaN for none; summed exactly, so that order does not matter."""
    return fsum(values.tolist()) / values.shape[0] if values.shape[0] > 0 else nan


#: No rows.
NO_BINS = BinCounts(
    np.zeros((0, N_SCORE_BINS), np.int64), np.zeros((0, N_SCORE_BINS), np.int64)
)
