r"""Linear discriminants from sums of products, with a shrunken shared covariance.

From the weight n_c and the sum B_c of each class, and A = Σφφᵀ:

.. math::
    N = Σ n_c, \quad m = Σ B_c/N, \quad S = A - Σ_c B_c B_c^T/n_c, \quad
    u_c = \frac{B_c + 0.1 m}{n_c + 0.1} - m

    V = N_{\mathrm{eff}} (S + λI)^{-1} U, \qquad
    \mathrm{score}_c = (φ - m)^T V_c - ½ u_c^T V_c + \log π_c

This is linear discriminant analysis (Fisher 1936; Hastie, Tibshirani & Friedman, "The
elements of statistical learning", section 4.3). The amount of shrinkage follows the
oracle approximating shrinkage estimator (Chen, Wiesel, Eldar & Hero, "Shrinkage
algorithms for MMSE covariance estimation", 2010, equation 23): with df the degrees of
freedom of S and the moments T₁ = tr S/df, T₂ = |S|²/df² of the covariance S/df,

.. math::
    ρ = \min\Bigl(0.999, \frac{(1 - 2/E) T_2 + T_1^2}
                              {(df + 1 - 2/E)(T_2 - T_1^2/E)}\Bigr), \quad
    N_{\mathrm{eff}} = \frac{df}{1 - ρ}, \quad
    λ = \max\Bigl(1, \frac{ρ\,T_1}{E} N_{\mathrm{eff}}\Bigr)

Departures: λ is at least 1, ρ = 0.999 where S is zero but for rounding, and class means
are drawn to the common mean by 0.1 rows.
"""

from typing import Final

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray, SingleArray
from rpnb.core.kernels.compiling.compiled import compiled, compiled_borrowing
from rpnb.core.pooled.algebra.blocks import (
    cholesky,
    place,
    solve,
    subtract_outer,
)
from rpnb.core.pooled.algebra.outer_products import add_exact_products, add_products
from rpnb.core.pooled.algebra.row_products import multiply_rows

#: Weight of the common mean in the mean of each class.
MEAN_WEIGHT: Final = 0.1
_MOST_SHRUNK: Final = 0.999
_LEAST_RIDGE: Final = 1.0
_ROUNDING: Final = 1e-5
_MOST_ATTEMPTS: Final = 30
_SUMMED: Final = 128


@compiled_borrowing
def shrinkage(
    T1: float, T2: float, df: float, E: int, total: float
) -> tuple[float, float]:
    """Return λ and the effective number of rows, from the moments of S/df.

    `total` is the trace of A/df: beside it, S may be zero but for rounding.
    """
    below = (df + 1.0 - 2.0 / E) * (T2 - T1 * T1 / E)
    rho = _MOST_SHRUNK
    if below > 0.0 and _ROUNDING * total < T1:
        rho = min(rho, ((1.0 - 2.0 / E) * T2 + T1 * T1) / below)
    effective = df / (1.0 - rho)
    return max(_LEAST_RIDGE, rho * T1 / E * effective), effective


@compiled
def common_mean(count: FloatArray, B: FloatArray, m: FloatArray) -> float:
    """Set m (E,) to the mean of all rows; return their weight."""
    total = 0.0
    m[:] = 0.0
    for c in range(count.shape[0]):
        if count[c] > 0.0:
            total += count[c]
            for f in range(m.shape[0]):
                m[f] += B[c, f]
    if total > 0.0:
        m /= total
    return total


@compiled_borrowing
def class_offsets(
    count: FloatArray, B: FloatArray, m: FloatArray, U: FloatArray
) -> None:
    """Set U (E, C) to the columns u_c; 0 for classes without rows."""
    U[:] = 0.0
    for c in range(count.shape[0]):
        if count[c] > 0.0:
            n = count[c] + MEAN_WEIGHT
            for f in range(m.shape[0]):
                U[f, c] = (B[c, f] + MEAN_WEIGHT * m[f]) / n - m[f]


@compiled
def store_directions(
    count: FloatArray,
    m: FloatArray,
    U: FloatArray,
    directions: FloatArray,
    factor: float,
    V: SingleArray,
    offset: SingleArray,
) -> None:
    """Set V (E, C) to factor · directions, and each class's offset to fit."""
    E, C = V.shape
    constant = np.zeros(C)
    for f in range(E):
        for c in range(C):
            v = factor * directions[f, c]
            V[f, c] = v
            constant[c] -= (m[f] + 0.5 * U[f, c]) * v
    for c in range(C):
        offset[c] = constant[c]


@compiled_borrowing
def degrees(count: FloatArray, total: float) -> float:
    """Return the degrees of freedom of S."""
    seen = 0
    for c in range(count.shape[0]):
        seen += count[c] > 0.0
    return max(1.0, total - seen)


@compiled
def discriminants(
    count: FloatArray,
    B: FloatArray,
    A: FloatArray,
    dimension: int,
    V: SingleArray,
    offset: SingleArray,
) -> None:
    """Make V and the offsets from the sums; `dimension` columns are not padding."""
    E, C = V.shape
    m = np.empty(E)
    total = common_mean(count, B, m)
    if total <= 0.0:
        return
    seen = np.empty(count.shape[0], np.int64)
    K = 0
    for c in range(count.shape[0]):
        if count[c] > 0.0:
            seen[K] = c
            K += 1
    left = np.empty(E * K)
    right = np.empty(E * K)
    for k in range(K):
        n = count[seen[k]]
        for f in range(E):
            at = ((f // 16) * K + k) * 16 + f % 16
            left[at] = B[seen[k], f]
            right[at] = B[seen[k], f] / n
    S = A.copy()
    subtract_outer(S, left, right, K)
    df = degrees(count, total)
    trace = 0.0
    whole = 0.0
    for f in range(E):
        trace += S[place(f, f)]
        whole += A[place(f, f)]
    square = _squared_norm(S, E)
    ridge, effective = shrinkage(
        trace / df, square / (df * df), df, dimension, whole / df
    )
    _add_ridge(S, E, ridge)
    attempts = 0
    while not cholesky(S, E):
        # Rounding left S with a negative eigenvalue; or its sums are no sums of
        # products, and no ridge will help.
        attempts += 1
        if attempts > _MOST_ATTEMPTS:
            return
        ridge *= 10.0
        S = A.copy()
        subtract_outer(S, left, right, K)
        _add_ridge(S, E, ridge)
    U = np.empty((E, C))
    class_offsets(count, B, m, U)
    X = U.copy()
    solve(S, E, X)
    store_directions(count, m, U, X, effective, V, offset)


@compiled_borrowing
def _add_ridge(matrix: FloatArray, E: int, ridge: float) -> None:
    for f in range(E):
        matrix[place(f, f)] += ridge


@compiled
def _squared_norm(matrix: FloatArray, E: int) -> float:
    """Return the sum of squares of all entries; of two equal ones both count."""
    total = 0.0
    lanes = np.empty(16)
    at = 0
    for H in range(E // 16):
        for J in range(H + 1):
            lanes[:] = 0.0
            for k in range(at, at + 256, 16):
                for i in range(16):
                    lanes[i] += matrix[k + i] * matrix[k + i]
            part = 0.0
            for i in range(16):
                part += lanes[i]
            total += part if H == J else 2.0 * part
            at += 256
    return total


@compiled
def add_rows(
    A: FloatArray, packed: SingleArray, weight: FloatArray, capacity: int, n: int
) -> None:
    """Add the products of the first n packed rows, times their weights, to A.

    Where weights differ, products of up to 128 rows are summed at once.
    """
    equal = True
    for r in range(n):
        equal = equal and weight[r] == 1.0
    if equal:
        add_exact_products(A, packed, capacity, 0, n)
        return
    weighted = np.empty_like(packed)
    for b in range(packed.shape[0] // (16 * capacity)):
        for r in range(n):
            at = (b * capacity + r) * 16
            for i in range(at, at + 16):
                weighted[i] = packed[i] * weight[r]
    for first in range(0, n, _SUMMED):
        add_products(A, packed, weighted, capacity, first, min(first + _SUMMED, n))


@compiled
def write_scores(
    rows: SingleArray,
    V: SingleArray,
    offset: SingleArray,
    y: IntArray,
    weight: FloatArray,
    count: FloatArray,
    log_count: FloatArray,
    scores: FloatArray,
) -> None:
    """Write each row's scores, and count its class before the next row.

    With y of length 0 nothing is counted. `log_count` (M,) is log(n_c + ½).
    """
    n = rows.shape[0]
    M = count.shape[0]
    wanted = scores.shape[0] > 0
    out = np.empty((n if wanted else 0, V.shape[1]), np.float32)
    if wanted:
        multiply_rows(rows, V, offset, out)
    for i in range(n):
        if wanted:
            for c in range(M):
                scores[i, 0, c] = out[i, c] + log_count[c]
        if y.shape[0] > 0 and y[i] >= 0:
            count[y[i]] += weight[i]
            log_count[y[i]] = np.log(count[y[i]] + 0.5)
