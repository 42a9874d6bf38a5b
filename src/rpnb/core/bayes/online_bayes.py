"""Online Bayes with a full covariance for each class.

The formulas are in ``cpp/rpnb/online_bayes.h``.
"""

from typing import Final

import numpy as np

from rpnb._core.bayes import ClassCovariances, add_to_covariance
from rpnb._core.bayes import run_online_bayes as pass_online_bayes
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.elementary import log
from rpnb.core.kernels.fixed_order import cholesky, invert_lower, product

__all__ = [
    "ClassCovariances",
    "add_to_covariance",
    "covariance_without",
    "insert_covariance",
    "new_covariances",
    "pass_online_bayes",
]

# Rounding error of a scatter, relative to its largest entry.
_ROUNDING: Final = 1e-9
# Ratio of two eigenvalues of a scatter below which the smaller cannot be told from 0.
_RESOLVED: Final = 1e-13


def new_covariances(M: int, p: int) -> ClassCovariances:
    """Return M classes without observations: n = 1, μ = 0, S = I."""
    root = np.tile(np.eye(p), (M, 1, 1))
    return ClassCovariances(np.ones(M), np.zeros((M, p)), root, np.zeros(M))


def insert_covariance(classes: ClassCovariances, m: int) -> ClassCovariances:
    """Return the classes with a new one inserted before class m, last if m = M."""
    one = new_covariances(1, classes.mean.shape[1])
    fields = zip(classes, one, strict=True)
    return ClassCovariances(
        *[np.insert(field, m, new[0], axis=0) for field, new in fields]
    )


def covariance_without(
    classes: ClassCovariances, m: int, X: FloatArray, weight: FloatArray
) -> ClassCovariances | None:
    """Return a state of class m alone, without rows X (r, p) of these weights (r,).

    This inverts the update, for all rows at once. With n', μ' and S' the present
    weight, mean and covariance, w, μ_r and C the rows' weight, mean and scatter, and
    n = n' − w,

        μ = (n'μ' − wμ_r)/n,    nS = n'S' − C − (nw/n')(μ − μ_r)(μ − μ_r)ᵀ.

    The pseudo-observation stays, so n ≥ 1 and nS − I has no negative eigenvalue. If
    this does not hold, the rows cannot all have been learned: the result is then None,
    as it is where rounding leaves the question open.
    """
    p = X.shape[1]
    total, removed = float(classes.weight[m]), float(weight.sum())
    rest = total - removed
    # Weights summed in another order may differ in the last bits.
    nothing_left = abs(rest - 1.0) <= _ROUNDING * total
    if rest < 1.0 and not nothing_left:
        return None
    rest = max(rest, 1.0)
    lower = invert_lower(classes.root[m].T)
    scatter = total * product(lower, lower.T)
    centre = (weight[:, None] * X).sum(axis=0) / removed
    centred = X - centre
    mean = (total * classes.mean[m] - removed * centre) / rest
    away = mean - centre
    left = scatter - product(centred.T * weight, centred)
    left -= rest * (removed / total) * np.outer(away, away)
    squared = float((centre * centre).sum())
    size = max(float(np.diag(scatter).max()), removed * squared)
    slack = _ROUNDING * size
    if nothing_left:
        wrong = max(float(np.abs(left - np.eye(p)).max()), float((mean * mean).sum()))
        return None if wrong > slack else new_covariances(1, p)
    values = np.linalg.eigvalsh(left)
    # The smallest eigenvalue may be lost in the rounding error of the largest. LAPACK's
    # are used for this check only.
    if not values[0] >= max(1.0 - slack, _RESOLVED * values[-1]):
        return None
    lower = cholesky(left / rest)
    root = invert_lower(lower).T
    volume = 2.0 * log(np.diag(lower)).sum()
    return ClassCovariances(
        np.array([rest]), mean[None, :], root[None, :, :].copy(), np.array([volume])
    )
