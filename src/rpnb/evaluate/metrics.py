"""Measures of a stream's predictions, all of them functions of one table of counts.

Counts are whole numbers, or sums of weights where old rows count less than new ones.
"""

from math import nan
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray, IntArray

#: What stands in place of a class's number where a row got no answer.
NO_ANSWER = -1

#: Rows, or weights of rows, by true class and answer: (M, M + 1).
Counts: TypeAlias = NDArray[Any]


class ClassScores(NamedTuple):
    """Precision, recall and F1 of each class, (M,) each; 0 where undefined."""

    precision: FloatArray
    recall: FloatArray
    f1: FloatArray


def confusion_counts(truth: IntArray, answers: IntArray, M: int) -> IntArray:
    """Count the rows of each true class by the answer they got.

    Parameters
    ----------
    truth : (n,)
        Numbers 0 .. M-1 of the true classes.
    answers : (n,)
        Numbers of the predicted classes, or -1 for a row that got no answer.
    M
        Number of classes.

    Returns
    -------
    (M, M + 1)
        Entry (i, j): rows of class i answered j. The last column has the rows that
        got no answer; they are mistakes, but no class's false positives.

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
            "truth and answers must be as long as each other and one-dimensional, got "
            f"shapes {truth.shape} and {answers.shape}"
        )
    _require_numbers("truth", truth, 0, M)
    _require_numbers("answers", answers, NO_ANSWER, M)
    column = np.where(answers == NO_ANSWER, M, answers)
    flat = np.bincount(truth * (M + 1) + column, minlength=M * (M + 1))
    return flat.reshape(M, M + 1).astype(np.int64)


def occurring(counts: Counts) -> Counts:
    """Return the counts without classes that are neither the truth nor an answer."""
    there = (counts.sum(axis=1) > 0) | (counts[:, :-1].sum(axis=0) > 0)
    return counts[there][:, np.append(there, True)]


def accuracy(counts: Counts) -> float:
    """Return the share of rows with the right answer."""
    return float(np.trace(counts) / _total(counts))


def error_rate(counts: Counts) -> float:
    """Return the share of rows with a wrong answer or none."""
    total = _total(counts)
    return float((total - np.trace(counts)) / total)


def class_scores(counts: Counts) -> ClassScores:
    r"""Return precision, recall and F1 of each class.

    Of class c with its true positives TP, false positives FP and false negatives FN:
    precision TP / (TP + FP), recall TP / (TP + FN), and F1, their harmonic mean
    2 TP / (2 TP + FP + FN). What would be 0 / 0 is 0.
    """
    hits = np.diagonal(counts).astype(np.float64)
    answered = counts[:, :-1].sum(axis=0)
    rows = counts.sum(axis=1)
    return ClassScores(
        precision=_ratio(hits, answered),
        recall=_ratio(hits, rows),
        f1=_ratio(2.0 * hits, answered + rows),
    )


def macro_f1(counts: Counts) -> float:
    """Return the unweighted mean of the M classes' F1: the paper's F1 score.

    A class without a true positive counts as 0, also one that never occurs.
    """
    _total(counts)
    return float(class_scores(counts).f1.mean())


def balanced_accuracy(counts: Counts) -> float:
    """Return the mean recall of the classes that occur as the truth."""
    _total(counts)
    return float(class_scores(counts).recall[counts.sum(axis=1) > 0].mean())


def kappa(counts: Counts) -> float:
    r"""Return Cohen's kappa: how much better than chance, from −1 to 1.

    $$\kappa = \frac{p - p_c}{1 - p_c}, \qquad
      p_c = \sum_m \frac{n_{m\cdot}}{n} \frac{n_{\cdot m}}{n}$$
    (Cohen, 1960) with p the accuracy and $p_c$ that of answers drawn by lot, each as
    often as it was given. A row without an answer agrees with no class. NaN where one
    class is all the truth and all the answers: then $p_c = 1$.
    """
    total = _total(counts)
    truth, answers = counts.sum(axis=1) / total, counts[:, :-1].sum(axis=0) / total
    return _beyond(accuracy(counts), float(truth @ answers))


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


def _beyond(share: float, plain: float) -> float:
    """Return how far `share` is on the way from `plain` to 1."""
    return (share - plain) / (1.0 - plain) if plain < 1.0 else nan


def _ratio(part: FloatArray, whole: Counts) -> FloatArray:
    out: FloatArray = np.zeros(part.shape)
    return np.divide(part, whole, out=out, where=whole > 0)


def _total(counts: Counts) -> float:
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


def _require_numbers(name: str, values: IntArray, low: int, M: int) -> None:
    if not np.issubdtype(values.dtype, np.integer):
        raise TypeError(f"{name} must be integers, got {values.dtype}")
    wrong = (values < low) | (values >= M)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{name} must be from {low} to {M - 1}, got {values[row]} in row {row}"
        )
