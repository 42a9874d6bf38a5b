"""Slow running scale: the moments of all earlier rows, recomputed for each row."""

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray


def moments(X: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weighted mean and variance (p,) of the columns, NaN left out."""
    p = X.shape[1]
    mean, variance = np.zeros(p), np.zeros(p)
    for j in range(p):
        there = ~np.isnan(X[:, j])
        if there.any():
            x, w = X[there, j], weight[there]
            mean[j] = np.average(x, weights=w)
            variance[j] = np.average((x - mean[j]) ** 2, weights=w)
            if (x == x[0]).all():
                mean[j], variance[j] = x[0], 0.0
    return mean, variance


def scale(
    X: FloatArray,
    weight: FloatArray,
    learned: BoolArray,
    size: int,
    clip: float,
    *,
    centred: bool,
) -> FloatArray:
    """Return all rows, each scaled by the learned rows before its mini-batch."""
    Z = np.empty_like(X)
    for i in range(X.shape[0]):
        before = np.flatnonzero(learned[: i - i % size])
        for j in range(X.shape[1]):
            mean, variance = moments(X[before], weight[before])
            if not centred:
                squares, _ = moments(X[before] ** 2, weight[before])
                mean, variance = np.zeros_like(mean), squares
            if np.isnan(X[i, j]):
                Z[i, j] = np.nan
            elif variance[j] == 0.0:
                Z[i, j] = 0.0
            else:
                z = (X[i, j] - mean[j]) / np.sqrt(variance[j])
                Z[i, j] = min(max(z, -clip), clip)
    return Z
