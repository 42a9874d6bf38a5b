"""Metrics of predictions, computed from one table of counts.

Counts are whole numbers, or sums of weights where old rows count less than new ones. To
add a metric, write a function here and an entry of `METRICS`.
"""

from collections.abc import Callable, Mapping
from math import nan
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kappa import beyond, cohen
from rpnb.core.kernels.arrays import BoolArray, FloatArray
from rpnb.evaluate.ranking import BinCounts

#: Rows, or weights of rows, by true and predicted class: (M, M + 1). The last column
#: counts the rows without a prediction.
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
#: Metrics of which a lower value is better.
LOSSES: frozenset[Metric] = frozenset(
    {"error", "log_loss", "brier", "calibration_error"}
)
#: The metrics that need probabilities.
OF_PROBABILITIES: frozenset[Metric] = frozenset(
    (
        *("log_loss", "brier", "calibration_error", "coverage"),
        *("auc", "average_precision", "best_f1"),
    )
)
#: Number of bins of probabilities in the calibration error.
N_BINS = 10


class ClassScores(NamedTuple):
    """Precision, recall and F1 of each class; 0 where undefined.

    Attributes
    ----------
    precision : array of shape (n_classes,)
        Share of the rows predicted as this class that belong to it.
    recall : array of shape (n_classes,)
        Share of the rows of this class that were predicted as it.
    f1 : array of shape (n_classes,)
        Harmonic mean of precision and recall.

    Examples
    --------
    >>> from rpnb.evaluate import class_scores, confusion_counts
    >>> scores = class_scores(confusion_counts([0, 0, 0, 1], [0, 0, 1, 1], M=2))
    >>> scores.precision.tolist(), scores.f1.round(2).tolist()
    ([1.0, 0.5], [0.8, 0.67])
    """

    precision: FloatArray
    recall: FloatArray
    f1: FloatArray


def occurring(counts: Counts) -> Counts:
    """Return the counts without classes that never occur, as truth or prediction."""
    there = (counts.sum(axis=1) > 0) | (counts[:, :-1].sum(axis=0) > 0)
    return counts[there][:, np.append(there, True)]


def accuracy(counts: Counts) -> float:
    """Return the share of rows that were predicted correctly.

    Parameters
    ----------
    counts : array of shape (n_classes, n_classes + 1)
        Confusion matrix, as `confusion_counts` returns it.

    Returns
    -------
    float
        Accuracy, from 0 to 1.

    Examples
    --------
    >>> from rpnb.evaluate import accuracy, confusion_counts
    >>> counts = confusion_counts([0, 0, 0, 1], [0, 0, 1, 1], M=2)
    >>> accuracy(counts)
    0.75
    """
    return float(np.trace(counts) / _total(counts))


def error_rate(counts: Counts) -> float:
    """Return the share of rows with a wrong prediction or none.

    Parameters
    ----------
    counts : array of shape (n_classes, n_classes + 1)
        Confusion matrix, as `confusion_counts` returns it.

    Returns
    -------
    float
        Error rate, from 0 to 1.

    Examples
    --------
    >>> from rpnb.evaluate import confusion_counts, error_rate
    >>> counts = confusion_counts([0, 0, 0, 1], [0, 0, 1, 1], M=2)
    >>> error_rate(counts)
    0.25
    """
    total = _total(counts)
    return float((total - np.trace(counts)) / total)


def class_scores(counts: Counts) -> ClassScores:
    r"""Return precision, recall and F1 of each class.

    For a class with TP true positives, FP false positives and FN false negatives,
    precision is TP / (TP + FP), recall TP / (TP + FN), and F1, their harmonic mean,
    2 TP / (2 TP + FP + FN); 0 / 0 counts as 0.

    Parameters
    ----------
    counts : array of shape (n_classes, n_classes + 1)
        Confusion matrix, as `confusion_counts` returns it.

    Returns
    -------
    ClassScores
        The three scores, one value for each class.

    Examples
    --------
    >>> from rpnb.evaluate import class_scores, confusion_counts
    >>> counts = confusion_counts([0, 0, 0, 1], [0, 0, 1, 1], M=2)
    >>> class_scores(counts).recall.round(3).tolist()
    [0.667, 1.0]
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
    """Return the unweighted mean of the F1 of the M classes: the paper's F1 score.

    A class without a true positive counts as 0, even if it never occurs.

    Parameters
    ----------
    counts : array of shape (n_classes, n_classes + 1)
        Confusion matrix, as `confusion_counts` returns it.

    Returns
    -------
    float
        Macro F1, from 0 to 1.

    Examples
    --------
    >>> from rpnb.evaluate import confusion_counts, macro_f1
    >>> counts = confusion_counts([0, 0, 0, 1], [0, 0, 1, 1], M=2)
    >>> round(macro_f1(counts), 3)
    0.733
    """
    _total(counts)
    return float(class_scores(counts).f1.mean())


def true_class_macro_f1(counts: Counts) -> float:
    """Return the unweighted mean F1 of the classes that occur as the truth."""
    return float(class_scores(counts).f1[counts.sum(axis=1) > 0].mean())


def balanced_accuracy(counts: Counts) -> float:
    """Return the mean recall of the classes that occur as the truth.

    Parameters
    ----------
    counts : array of shape (n_classes, n_classes + 1)
        Confusion matrix, as `confusion_counts` returns it.

    Returns
    -------
    float
        Balanced accuracy, from 0 to 1.

    Examples
    --------
    >>> from rpnb.evaluate import balanced_accuracy, confusion_counts
    >>> counts = confusion_counts([0, 0, 0, 1], [0, 0, 1, 1], M=2)
    >>> round(balanced_accuracy(counts), 3)
    0.833
    """
    _total(counts)
    return float(class_scores(counts).recall[counts.sum(axis=1) > 0].mean())


def kappa(counts: Counts) -> float:
    r"""Return Cohen's kappa: how much better than chance, from −1 to 1.

    $$\kappa = \frac{p - p_c}{1 - p_c}, \qquad
      p_c = \sum_m \frac{n_{m\cdot}}{n} \frac{n_{\cdot m}}{n}$$
    (Cohen, 1960), where p is the accuracy and $p_c$ the accuracy of random predictions
    with the same class frequencies. A row without a prediction agrees with no class.
    The result is NaN if $p_c = 1$: all rows have one class, which was always predicted.

    Parameters
    ----------
    counts : array of shape (n_classes, n_classes + 1)
        Confusion matrix, as `confusion_counts` returns it.

    Returns
    -------
    float
        Kappa.

    Examples
    --------
    >>> from rpnb.evaluate import confusion_counts, kappa
    >>> counts = confusion_counts([0, 0, 0, 1], [0, 0, 1, 1], M=2)
    >>> kappa(counts)
    0.5
    """
    _total(counts)
    return cohen(accuracy(counts), counts.sum(axis=1), counts[:, :-1].sum(axis=0))


def kappa_temporal(accuracy: float, persistence: float) -> float:
    r"""Return the temporal kappa: how much better than repeating the last label.

    $$\kappa_{per} = \frac{p - p_{per}}{1 - p_{per}}$$
    (Žliobaitė, Bifet, Read, Pfahringer & Holmes, "Evaluation methods and decision
    theory for classification of streaming data with temporal dependence", Machine
    Learning 98, 2015), where p is the `accuracy` and $p_{per}$ the `persistence`: the
    share of rows with the same label as the previous row. It is negative if repeating
    the last label is better, and NaN if that is always correct.

    Parameters
    ----------
    accuracy : float
        Share of rows that were predicted correctly.
    persistence : float
        Share of rows with the same label as the previous row.

    Returns
    -------
    float
        Temporal kappa, at most 1.

    Examples
    --------
    Nine labels in ten equal the one before; an accuracy of 0.92 is hardly better:

    >>> from rpnb.evaluate import kappa_temporal
    >>> round(kappa_temporal(0.92, 0.9), 3)
    0.2
    """
    return beyond(accuracy, persistence)


class Totals(NamedTuple):
    """Sums over some rows of a stream, from which every metric is computed."""

    counts: Counts
    """rows by true and predicted class, without classes that did not occur"""
    weight: float
    """number of rows, or the sum of their weights"""
    repeats: float
    """rows whose true class is the same as in the previous row"""
    loss: float
    """log-loss; NaN if probabilities are unknown"""
    brier: float = nan
    """Brier score: squared differences of probabilities from 1 or 0"""
    reliability: FloatArray | None = None
    """(bins, 3) by probability of the predicted class: rows, the sum of these
    probabilities, and correct rows"""
    covered: float = nan
    """rows whose true class was in the 90 % prediction set"""
    ranks: BinCounts | None = None
    """rows by class and bin of the class's probability"""


def calibration_error(totals: Totals) -> float:
    r"""Return the expected calibration error of the predicted class.

    $$\sum_b \frac{n_b}{n} \, |\text{conf}_b - \text{acc}_b|$$
    over ten bins b of the probability of the predicted class, with $n_b$ rows, their
    mean probability and their accuracy (Naeini, Cooper & Hauskrecht, AAAI 2015).
    """
    if totals.reliability is None:
        return nan
    _, confidence, right = totals.reliability.T
    return float(np.abs(confidence - right).sum() / totals.weight)


class CalibrationCurve(NamedTuple):
    """Points of a reliability diagram: accuracy by predicted probability.

    The diagram draws `accuracy` against `confidence`; the points of a calibrated
    learner lie on the diagonal. There is one entry for each tenth of probabilities with
    rows.

    Attributes
    ----------
    confidence : array of shape (n_points,)
        Mean probability of the predicted class.
    accuracy : array of shape (n_points,)
        Share of correct predictions.
    rows : array of shape (n_points,)
        Number of rows.

    Examples
    --------
    >>> from rpnb.baselines import GaussianNB
    >>> from rpnb.datasets import streams
    >>> from rpnb.evaluate import prequential
    >>> stream = streams.mixture(2000, seed=0)
    >>> result = prequential(GaussianNB(), stream, metrics=["log_loss"])
    >>> curve = result["GaussianNB"].calibration
    >>> curve.confidence.round(2).tolist()
    [0.55, 0.65, 0.75, 0.86, 0.98]
    >>> curve.accuracy.round(2).tolist()
    [0.56, 0.54, 0.83, 0.84, 0.97]
    """

    confidence: FloatArray
    accuracy: FloatArray
    rows: FloatArray

    def frequent(self) -> BoolArray:
        """Return which points have enough rows to draw a line through them.

        These have at least ten rows, and at least 1 % of all rows.

        Examples
        --------
        >>> import numpy as np
        >>> from rpnb.evaluate import CalibrationCurve
        >>> values = np.array([0.5, 0.9])
        >>> CalibrationCurve(values, values, np.array([4.0, 200.0])).frequent().tolist()
        [False, True]
        """
        return self.rows >= max(10.0, 0.01 * float(self.rows.sum()))


def calibration_curve(totals: Totals) -> CalibrationCurve | None:
    """Return the curve behind `calibration_error`; None without probabilities."""
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


def _ratio(part: FloatArray, whole: Counts) -> FloatArray:
    """Return part / whole, 0 where the whole is 0."""
    out: FloatArray = np.zeros(part.shape)
    return np.divide(part, whole, out=out, where=whole > 0)


def _total(counts: Counts) -> float:
    """Return the number or weight of all rows; refuse invalid counts."""
    M = counts.shape[0]
    if counts.shape != (M, M + 1) or M == 0:
        raise ValueError(
            "counts must have shape (M, M + 1), as confusion_counts returns it, got "
            f"{counts.shape}"
        )
    total = float(counts.sum())
    if total <= 0.0:
        raise ValueError("counts must hold at least one row, got none")
    return total
