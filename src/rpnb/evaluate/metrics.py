"""Metrics of a stream's predictions, computed from one table of counts.

Counts are whole numbers, or sums of weights where old rows count less than new ones.
A new metric is a function here and an entry of `METRICS`.
"""

from collections.abc import Callable, Mapping
from math import nan
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import BoolArray, FloatArray
from rpnb.evaluate.ranking import BinCounts

#: Rows, or weights of rows, by true class and predicted class: (M, M + 1). The last
#: column has the rows without a prediction.
Counts: TypeAlias = NDArray[Any]

Metric: TypeAlias = Literal[
    "accuracy",
    "error",
    "macro_f1",
    "balanced_accuracy",
    "kappa",
    "kappa_temporal",
    "log_loss",
    "brier",
    "calibration_error",
    "coverage",
    "auc",
    "average_precision",
    "best_f1",
]
#: The metrics that need probabilities.
OF_PROBABILITIES: frozenset[Metric] = frozenset(
    (
        *("log_loss", "brier", "calibration_error", "coverage"),
        *("auc", "average_precision", "best_f1"),
    )
)
#: Groups of probabilities in the calibration error.
N_BINS = 10


class ClassScores(NamedTuple):
    """Precision, recall and F1 of each class, (M,) each; 0 where undefined."""

    precision: FloatArray
    recall: FloatArray
    f1: FloatArray


def occurring(counts: Counts) -> Counts:
    """Return the counts without classes that are neither true nor predicted."""
    there = (counts.sum(axis=1) > 0) | (counts[:, :-1].sum(axis=0) > 0)
    return counts[there][:, np.append(there, True)]


def accuracy(counts: Counts) -> float:
    """Return the share of rows that were predicted correctly."""
    return float(np.trace(counts) / _total(counts))


def error_rate(counts: Counts) -> float:
    """Return the share of rows with a wrong prediction or none."""
    total = _total(counts)
    return float((total - np.trace(counts)) / total)


def class_scores(counts: Counts) -> ClassScores:
    r"""Return precision, recall and F1 of each class.

    Of class c with its true positives TP, false positives FP and false negatives FN:
    precision TP / (TP + FP), recall TP / (TP + FN), and F1, their harmonic mean
    2 TP / (2 TP + FP + FN). What would be 0 / 0 is 0.
    """
    hits = np.diagonal(counts).astype(np.float64)
    predicted = counts[:, :-1].sum(axis=0)
    rows = counts.sum(axis=1)
    return ClassScores(
        precision=_ratio(hits, predicted),
        recall=_ratio(hits, rows),
        f1=_ratio(2.0 * hits, predicted + rows),
    )


def macro_f1(counts: Counts) -> float:
    """Return the unweighted mean of the M classes' F1: the paper's F1 score.

    A class without a true positive counts as 0, also one that never occurs.
    """
    _total(counts)
    return float(class_scores(counts).f1.mean())


def true_class_macro_f1(counts: Counts) -> float:
    """Return the unweighted mean F1 of the classes that occur as the truth."""
    return float(class_scores(counts).f1[counts.sum(axis=1) > 0].mean())


def balanced_accuracy(counts: Counts) -> float:
    """Return the mean recall of the classes that occur as the truth."""
    _total(counts)
    return float(class_scores(counts).recall[counts.sum(axis=1) > 0].mean())


def kappa(counts: Counts) -> float:
    r"""Return Cohen's kappa: how much better than chance, from −1 to 1.

    $$\kappa = \frac{p - p_c}{1 - p_c}, \qquad
      p_c = \sum_m \frac{n_{m\cdot}}{n} \frac{n_{\cdot m}}{n}$$
    (Cohen, 1960) with p the accuracy and $p_c$ that of predictions drawn at random,
    each class as often as it was predicted. A row without a prediction agrees with no
    class. NaN where all rows have one true class and all predictions are that class:
    then $p_c = 1$.
    """
    total = _total(counts)
    truth = counts.sum(axis=1) / total
    predicted = counts[:, :-1].sum(axis=0) / total
    return _beyond(accuracy(counts), float(truth @ predicted))


def kappa_temporal(accuracy: float, persistence: float) -> float:
    r"""Return the temporal kappa: how much better than repeating the last label.

    $$\kappa_{per} = \frac{p - p_{per}}{1 - p_{per}}$$
    (Žliobaitė, Bifet, Read, Pfahringer & Holmes, "Evaluation methods and decision
    theory for classification of streaming data with temporal dependence", Machine
    Learning 98, 2015) with p the `accuracy` and $p_{per}$ the share of rows that have
    the label of the row before. Negative where repeating would be better; NaN where
    repeating is always right.
    """
    return _beyond(accuracy, persistence)


class Totals(NamedTuple):
    """Sums over some rows of a stream, from which every metric is computed."""

    counts: Counts
    """rows by true and predicted class, without classes that did not occur"""
    weight: float
    """number of rows, or the sum of their weights"""
    repeats: float
    """rows whose true class is that of the row before"""
    loss: float
    """minus the log of the true class's probability; NaN if not known"""
    brier: float = nan
    """squared differences of the probabilities from 1 for the true class, else 0"""
    reliability: FloatArray | None = None
    """(bins, 3) by probability of the predicted class: rows, the sum of these
    probabilities, and rows that were right"""
    covered: float = nan
    """rows whose true class was in the prediction set of coverage 0.9"""
    ranks: BinCounts | None = None
    """rows by class and bin of the class's probability"""


def calibration_error(totals: Totals) -> float:
    r"""Return the expected calibration error of the predicted class.

    $$\sum_b \frac{n_b}{n} \, |\text{conf}_b - \text{acc}_b|$$
    over ten groups of rows by the probability of their predicted class, with their mean
    probability and their accuracy (Naeini, Cooper & Hauskrecht, AAAI 2015).
    """
    if totals.reliability is None:
        return nan
    _, confidence, right = totals.reliability.T
    return float(np.abs(confidence - right).sum() / totals.weight)


class CalibrationCurve(NamedTuple):
    """How often predictions were right, by the probability that they were given.

    A reliability diagram draws `accuracy` against `confidence`; of a learner whose
    probabilities come true the points are on the diagonal. One entry for each tenth of
    probabilities that has rows.
    """

    confidence: FloatArray
    """mean probability of the predicted class"""
    accuracy: FloatArray
    """share of the predictions that were right"""
    rows: FloatArray
    """number of rows"""

    def frequent(self) -> BoolArray:
        """Return which points have enough rows for a line to be drawn through them.

        They have at least ten rows, and one row in a hundred.
        """
        return self.rows >= max(10.0, 0.01 * float(self.rows.sum()))


def calibration_curve(totals: Totals) -> CalibrationCurve | None:
    """Return the curve behind `calibration_error`, None without probabilities."""
    if totals.reliability is None or np.isnan(totals.loss):
        return None
    there = totals.reliability[:, 0] > 0.0
    rows, confidence, right = totals.reliability[there].T
    return CalibrationCurve(confidence / rows, right / rows, rows)


#: How each metric is computed.
METRICS: Mapping[Metric, Callable[[Totals], float]] = {
    "accuracy": lambda totals: accuracy(totals.counts),
    "error": lambda totals: error_rate(totals.counts),
    "macro_f1": lambda totals: macro_f1(totals.counts),
    "balanced_accuracy": lambda totals: balanced_accuracy(totals.counts),
    "kappa": lambda totals: kappa(totals.counts),
    "kappa_temporal": lambda totals: kappa_temporal(
        accuracy(totals.counts), totals.repeats / totals.weight
    ),
    "log_loss": lambda totals: totals.loss / totals.weight,
    "brier": lambda totals: totals.brier / totals.weight,
    "calibration_error": calibration_error,
    "coverage": lambda totals: totals.covered / totals.weight,
    "auc": lambda totals: nan if totals.ranks is None else totals.ranks.auc(),
    "average_precision": lambda totals: (
        nan if totals.ranks is None else totals.ranks.average_precision()
    ),
    "best_f1": lambda totals: nan if totals.ranks is None else totals.ranks.best_f1(),
}

_TITLES: Mapping[str, str] = {
    "macro_f1": "macro F1",
    "kappa_temporal": "temporal kappa",
    "brier": "Brier score",
    "auc": "AUC",
    "best_f1": "best F1",
}


def title_of(metric: Metric) -> str:
    """Return the name of a metric for tables and axes.

    >>> title_of("balanced_accuracy"), title_of("macro_f1")
    ('balanced accuracy', 'macro F1')
    """
    return _TITLES.get(metric, metric.replace("_", " "))


def figure_text(value: float) -> str:
    """Return a metric with four decimals; a dash for NaN."""
    return "—" if value != value else f"{value:.4f}"


def _beyond(share: float, plain: float) -> float:
    """Return how far `share` is on the way from `plain` to 1."""
    return (share - plain) / (1.0 - plain) if plain < 1.0 else nan


def _ratio(part: FloatArray, whole: Counts) -> FloatArray:
    """Return part / whole, 0 where the whole is 0."""
    out: FloatArray = np.zeros(part.shape)
    return np.divide(part, whole, out=out, where=whole > 0)


def _total(counts: Counts) -> float:
    """Return the number or weight of all rows; refuse what are no counts."""
    M = counts.shape[0]
    if counts.shape != (M, M + 1) or M == 0:
        raise ValueError(
            "counts must have the shape (M, M + 1) that confusion_counts gives, got "
            f"{counts.shape}"
        )
    total = float(counts.sum())
    if total <= 0.0:
        raise ValueError("counts must hold at least one row, got none")
    return total
