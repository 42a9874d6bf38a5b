"""Scores of the classes as log posteriors and decision values."""

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.elementary import exp, log


def log_posteriors(scores: FloatArray) -> FloatArray:
    """Normalise scores (n, M) to log posteriors: each row's exponentials add up to 1.

    A row whose scores are all minus infinity, as after a reset before any class is seen
    again, gets equal posteriors. Writes into `scores`.
    """
    highest = scores.max(axis=1, keepdims=True)
    scores[highest[:, 0] == -np.inf] = 0.0
    scores -= np.where(highest == -np.inf, 0.0, highest)
    scores -= log(exp(scores).sum(axis=1, keepdims=True))
    return scores


def decisions(scores: FloatArray) -> FloatArray:
    """Return scikit-learn's decision values: scores (n, M), or (n,) for two classes.

    For two classes they are the second's score minus the first's.
    """
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores
