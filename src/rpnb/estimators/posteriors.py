"""From scores of the classes to what scikit-learn's methods return."""

import numpy as np

from rpnb.core.kernels.arrays import FloatArray


def log_posteriors(scores: FloatArray) -> FloatArray:
    """Return scores (n, M), up to a constant a row log posteriors, as such.

    Writes into `scores`.
    """
    scores -= scores.max(axis=1, keepdims=True)
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return scores


def decisions(scores: FloatArray) -> FloatArray:
    """Return scores (n, M); for two classes the second's minus the first's (n,)."""
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores
