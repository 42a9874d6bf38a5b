r"""Online Bayes with a full covariance for each class.

After Nguyen et al., "Online Bayes classifier" (DICTA 2016), as described by the RPNB
paper. Each class has a weight n, a mean μ and a covariance S, starting from one
pseudo-observation with μ = 0 and S = I. An observation x of weight w changes them by
the matrix form of the paper's Theorem 1: with n' = n + w and δ = x − μ,

.. math:: S' = \frac{n}{n'}\Bigl(S + \frac{w}{n'} δδ^T\Bigr), \quad
          μ' = μ + \frac{w}{n'} δ

Scores need S⁻¹ and log det S, and both follow a change of rank one in O(p²) operations.
Kept is a triangular U with U·Uᵀ = S⁻¹, updated as in square-root Kalman filters
(Carlson, "Fast triangular formulation of the square root filter", AIAA Journal 11,
1973): a distance is then a sum of squares. The Sherman-Morrison formula for S⁻¹ itself
ends in negative distances where the deviations of two directions differ by 1e9.
"""

from math import hypot, log, sqrt
from typing import Final, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from rpnb.core.bayes.state import LEARN_ALL, LEARN_NOTHING
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.compiling.compiled import compiled

# Sums of squares from here on are not added up.
_HUGE: Final = 1e300
# Distances beyond are taken as this: scores stay finite.
_FARTHEST: Final = 1e300
# What rounding may make of a scatter, relative to the largest entry.
_ROUNDING: Final = 1e-9
# The least ratio of two eigenvalues of a scatter that is told from zero.
_RESOLVED: Final = 1e-13


class ClassCovariances(NamedTuple):
    """Weight, mean and covariance of M classes: the whole state of the learner."""

    weight: FloatArray
    """(M,) n: 1 plus the weight of the rows learnt"""
    mean: FloatArray
    """(M, p) μ"""
    root: FloatArray
    """(M, p, p) U, upper triangular, with U·Uᵀ = S⁻¹"""
    log_volume: FloatArray
    """(M,) log det S"""


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


@compiled
def _whiten(classes: ClassCovariances, m: int, x: FloatArray, v: FloatArray) -> float:
    """Set v (p,) to Uᵀ(x − μ); return |v|², the squared Mahalanobis distance of x."""
    p = x.shape[0]
    for j in range(p):
        v[j] = 0.0
    for i in range(p):
        delta = x[i] - classes.mean[m, i]
        for j in range(i, p):
            v[j] += delta * classes.root[m, i, j]
    distance = 0.0
    for j in range(p):
        distance += v[j] * v[j]
    return distance


@compiled
def add_to_covariance(
    classes: ClassCovariances, m: int, x: FloatArray, weight: float, work: FloatArray
) -> None:
    """Update class m's weight, mean and covariance by x (p,).

    `work` (3, p) is working space.

    With v = Uᵀδ, α₀ = n'/w and α_j = α₀ + v₁² + … + v_j², entry (i, j) of U becomes
    √(n'/n)·(U_ij·√(α_{j−1}/α_j) − v_j/√(α_{j−1}·α_j)·Σ_{h<j} v_h·U_ih).
    """
    p = x.shape[0]
    v = work[0]
    kept = work[1]
    removed = work[2]
    _whiten(classes, m, x, v)
    before = classes.weight[m]
    total = before + weight
    inflation = sqrt(total / before)
    root = sqrt(total / weight)
    alpha = total / weight
    for j in range(p):
        alpha += v[j] * v[j]
        # Beyond, squares overflow; within, the root of the sum is rounded once less.
        grown = sqrt(alpha) if alpha < _HUGE else hypot(root, v[j])
        kept[j] = inflation * (root / grown)
        removed[j] = inflation * (v[j] / grown / root)
        root = grown
    for i in range(p):
        partial = 0.0
        for j in range(i, p):
            old = classes.root[m, i, j]
            classes.root[m, i, j] = kept[j] * old - removed[j] * partial
            partial += v[j] * old
        classes.mean[m, i] += (x[i] - classes.mean[m, i]) * (weight / total)
    share = weight / total
    grown_by = log(alpha * share) if alpha < _HUGE else 2.0 * log(root) + log(share)
    classes.log_volume[m] += grown_by - p * log(total / before)
    classes.weight[m] = total


def covariance_without(
    classes: ClassCovariances, m: int, X: FloatArray, weight: FloatArray
) -> ClassCovariances | None:
    """Return class m, as the only one, without rows X (r, p) of these weights (r,).

    The update read backwards, for all rows at once: with n' the weight, S' and μ' the
    covariance and mean now, w, μ_r and C the rows' weight, mean and scatter, and
    n = n' − w, it is μ = (n'μ' − wμ_r)/n and
    nS = n'S' − C − (nw/n')(μ − μ_r)(μ − μ_r)ᵀ. The pseudo-observation stays, so that
    n ≥ 1 and nS − I has no negative eigenvalue: None if that does not hold, since then
    the rows cannot all have been learnt, or if rounding leaves it open.
    """
    p = X.shape[1]
    total, removed = float(classes.weight[m]), float(weight.sum())
    rest = total - removed
    # Weights that were added up in another order may differ in the last bits.
    all_of_them = abs(rest - 1.0) <= _ROUNDING * total
    if rest < 1.0 and not all_of_them:
        return None
    rest = max(rest, 1.0)
    inverse = solve_triangular(classes.root[m], np.eye(p))
    scatter = total * (inverse.T @ inverse)
    centre = (weight @ X) / removed
    centred = X - centre
    mean = (total * classes.mean[m] - removed * centre) / rest
    away = mean - centre
    left = scatter - (centred.T * weight) @ centred
    left -= rest * (removed / total) * np.outer(away, away)
    size = max(float(np.diag(scatter).max()), removed * float(centre @ centre))
    slack = _ROUNDING * size
    if all_of_them:
        wrong = max(float(np.abs(left - np.eye(p)).max()), float(mean @ mean))
        return None if wrong > slack else new_covariances(1, p)
    values = np.linalg.eigvalsh(left)
    # Where deviations differ so much that rounding hides the smallest, it is unknown.
    if not values[0] >= max(1.0 - slack, _RESOLVED * values[-1]):
        return None
    lower = np.linalg.cholesky(left / rest)
    root = solve_triangular(lower, np.eye(p), lower=True).T
    volume = 2.0 * np.log(np.diag(lower)).sum()
    return ClassCovariances(
        np.array([rest]), mean[None, :], root[None, :, :].copy(), np.array([volume])
    )


@compiled
def pass_online_bayes(
    classes: ClassCovariances,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    scores: FloatArray,
    labels: IntArray,
) -> int:
    """Score each row of X (n, p), then learn it; return the number of updates.

    `scores` (n, M) is set to log P(m) + log N(x; μ_m, S_m) up to a constant, where
    P(m) = n_m/Σn, that is (c_m + 1)/(Σc + M) with c the weight learnt; `labels` (n,) is
    set to the class with the highest, the lowest of equals. `learn` is LEARN_NOTHING,
    LEARN_MISTAKES or LEARN_ALL of `core.bayes.state`. `y` (n,) and `weight`, (n,) or
    (1,) where all rows weigh the same, are not read by LEARN_NOTHING. A row of class
    −1, or whose weight is not above 0, is scored but not learnt.
    """
    M = classes.weight.shape[0]
    work = np.empty((3, X.shape[1]))
    updates = 0
    for i in range(X.shape[0]):
        x = X[i]
        total = classes.weight.sum()
        labels[i] = 0
        for m in range(M):
            distance = min(_whiten(classes, m, x, work[0]), _FARTHEST)
            prior = log(classes.weight[m] / total)
            scores[i, m] = prior - 0.5 * (classes.log_volume[m] + distance)
            if scores[i, m] > scores[i, labels[i]]:
                labels[i] = m
        if learn == LEARN_NOTHING or y[i] < 0:
            continue
        w = weight[i % weight.shape[0]]
        if w > 0.0 and (learn == LEARN_ALL or labels[i] != y[i]):
            add_to_covariance(classes, y[i], x, w, work)
            updates += 1
    return updates
