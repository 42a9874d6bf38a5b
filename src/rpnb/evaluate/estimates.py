"""Error on all rows, estimated from the rows whose labels were requested."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rpnb.core.kernels.arrays import BoolArray, FloatArray
from rpnb.estimators.checks.labels import as_labels


class ErrorEstimate(NamedTuple):
    """An error rate estimated from some of the rows.

    Attributes
    ----------
    error : float
        Estimated error rate on all rows; NaN without labels.
    standard_error : float
        Standard error of the estimate; NaN below two labels.
    labels : int
        Number of labels behind the estimate.

    Examples
    --------
    >>> from rpnb.evaluate import estimate_error
    >>> found = estimate_error(["a", "b", "b"], ["a", "a", "b"], [10.0, 2.0, 8.0])
    >>> print(f"{found.error:.2f} ± {found.standard_error:.2f}, {found.labels} labels")
    0.10 ± 0.09, 3 labels
    """

    error: float
    standard_error: float
    labels: int


def estimate_error(y_true: Any, y_pred: Any, weights: ArrayLike) -> ErrorEstimate:
    r"""Estimate the error on a whole stream from the labels that `ask` requested.

    `ask` requests the labels of uncertain rows more often, and these are wrong more
    often: their plain average would be too high. Weights correct this: each row counts
    with the inverse of the probability of its request.

    Parameters
    ----------
    y_true : array-like of shape (k,)
        Labels of the rows that were requested.
    y_pred : array-like of shape (k,)
        Predictions for these rows, made before learning them.
    weights : array-like of shape (k,)
        Importance weights of the rows, as returned by `ask`; at least 1.

    Returns
    -------
    ErrorEstimate
        The error, its standard error, and the number of labels.

    Notes
    -----
    With e the mistakes (0 or 1) and w the weights, the ratio estimator of Hájek (1971)
    and its linearised variance for independent draws are

    .. math:: ê = \frac{Σ w e}{Σ w}, \qquad s² = \frac{Σ w (w − 1)(e − ê)²}{(Σ w)²}.

    Rows of weight 1, which were certain to be requested, add nothing to the variance.

    Examples
    --------
    >>> from rpnb.evaluate import estimate_error
    >>> found = estimate_error(["a", "b", "b"], ["a", "a", "b"], [10.0, 2.0, 8.0])
    >>> found.error, found.labels
    (0.1, 3)
    """
    truth, predicted = as_labels(y_true), np.asarray(y_pred)
    given = np.asarray(weights, dtype=np.float64)
    if predicted.shape != truth.shape or given.shape != truth.shape:
        raise ValueError(
            "y_true, y_pred and weights must have the same length, got "
            f"{truth.shape}, {predicted.shape} and {given.shape}"
        )
    if not (np.isfinite(given).all() and (given >= 1.0).all()):
        raise ValueError("weights must be finite and at least 1, as `ask` returns them")
    sums = WeightedMistakes()
    sums.add(truth != predicted, given)
    return sums.estimate()


class WeightedMistakes:
    """Sums over requested rows, from which the error on all rows is estimated."""

    def __init__(self) -> None:
        self._labels = 0
        # Σ w, Σ w e, Σ w (w − 1) and Σ w (w − 1) e.
        self._sums = np.zeros(4)

    def add(self, wrong: BoolArray, weights: FloatArray) -> None:
        """Add k requested rows: whether each was wrong, and its weight."""
        self._labels += wrong.shape[0]
        # Added one by one, so that the sums do not depend on the calls.
        for e, w in zip(wrong.tolist(), weights.tolist(), strict=True):
            self._sums += np.array([w, w * e, w * (w - 1.0), w * (w - 1.0) * e])

    def estimate(self) -> ErrorEstimate:
        """Return the estimate from all rows so far."""
        n, (total, mistakes, spread, of_mistakes) = self._labels, self._sums.tolist()
        if n == 0:
            return ErrorEstimate(np.nan, np.nan, 0)
        error = mistakes / total
        if n < 2:
            return ErrorEstimate(error, np.nan, n)
        # e² = e, so that (e − ê)² = e (1 − 2 ê) + ê².
        variance = max(of_mistakes * (1.0 - 2.0 * error) + spread * error**2, 0.0)
        return ErrorEstimate(error, float(np.sqrt(variance)) / total, n)
