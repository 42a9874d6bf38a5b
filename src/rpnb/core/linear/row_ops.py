"""Operations of the linear learners on rows: products, weight and covariance updates.

Sums run over the columns in ascending order, one by one, so that a dense row and the
same row without its zeros give the same bits.
"""

from typing import Final

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.kernels.rows import RowValues

_LARGEST: Final = float(np.finfo(np.float64).max)
# A step leaves at least this share of the variance along x. A smaller difference would
# be only rounding error.
_REMAINDER: Final = 2.0**-40


@compiled
def dot(row: RowValues, w: FloatArray) -> float:
    """Product of a row with w (p,)."""
    values, columns = row.values, row.columns
    total = 0.0
    if columns.shape[0] == 0:
        for j in range(values.shape[0]):
            total += values[j] * w[j]
    else:
        for j in range(values.shape[0]):
            total += values[j] * w[columns[j]]
    return total


@compiled
def products(row: RowValues, W: FloatArray, scores: FloatArray) -> None:
    """Write the products of a row with the rows of W (M, p) to `scores` (M,)."""
    M = W.shape[0]
    whole = M - M % 4
    for m in range(0, whole, 4):
        scores[m], scores[m + 1], scores[m + 2], scores[m + 3] = _dot_four(row, W, m)
    for m in range(whole, M):
        scores[m] = dot(row, W[m])


@compiled
def _dot_four(
    row: RowValues, W: FloatArray, m: int
) -> tuple[float, float, float, float]:
    # Four sums at a time, since each must wait for its last addition. Taking W's rows
    # out as arrays of their own would cost more than the sums of a short row.
    values, columns = row.values, row.columns
    s0 = s1 = s2 = s3 = 0.0
    if columns.shape[0] == 0:
        for j in range(values.shape[0]):
            s0 += values[j] * W[m, j]
            s1 += values[j] * W[m + 1, j]
            s2 += values[j] * W[m + 2, j]
            s3 += values[j] * W[m + 3, j]
    else:
        for j in range(values.shape[0]):
            k = columns[j]
            s0 += values[j] * W[m, k]
            s1 += values[j] * W[m + 1, k]
            s2 += values[j] * W[m + 2, k]
            s3 += values[j] * W[m + 3, k]
    return s0, s1, s2, s3


@compiled
def square_norm(values: FloatArray) -> float:
    """Sum of squares."""
    total = 0.0
    for j in range(values.shape[0]):
        total += values[j] * values[j]
    return total


@compiled
def project_to_ball(w: FloatArray) -> None:
    """Scale w (p,) to length 1 if it is longer, without overflow on the way."""
    top = 1.0
    for j in range(w.shape[0]):
        top = max(top, abs(w[j]))
    total = 0.0
    for j in range(w.shape[0]):
        total += (w[j] / top) * (w[j] / top)
    length = top * np.sqrt(total)
    if length > 1.0:
        for j in range(w.shape[0]):
            w[j] /= length


@compiled
def stays_finite(w: FloatArray, row: RowValues, keep: float, step: float) -> bool:
    """Whether keep·w + step·row is finite in every column."""
    values, columns = row.values, row.columns
    beyond = 0
    if keep != 1.0:
        for j in range(w.shape[0]):
            beyond += 0 if abs(keep * w[j]) <= _LARGEST else 1
    if columns.shape[0] == 0:
        for j in range(values.shape[0]):
            beyond += 0 if abs(keep * w[j] + step * values[j]) <= _LARGEST else 1
    else:
        for j in range(values.shape[0]):
            value = keep * w[columns[j]] + step * values[j]
            beyond += 0 if abs(value) <= _LARGEST else 1
    return beyond == 0


@compiled
def update_weights(w: FloatArray, row: RowValues, keep: float, step: float) -> None:
    """Set w (p,) to keep·w + step·row."""
    values, columns = row.values, row.columns
    if keep != 1.0:
        for j in range(w.shape[0]):
            w[j] *= keep
    if columns.shape[0] == 0:
        _add(w, values, step)
    else:
        for j in range(values.shape[0]):
            w[columns[j]] += step * values[j]


@compiled
def _add(w: FloatArray, values: FloatArray, step: float) -> None:
    """Add step·values to w (p,)."""
    for j in range(values.shape[0]):
        w[j] += step * values[j]


@compiled
def covariance_product(
    row: RowValues, S: FloatArray, g: FloatArray
) -> tuple[RowValues, float]:
    """Return Σx of a row x, stored in g (p,), and v = xᵀΣx.

    S is Σ (p, p), or its diagonal (1, p). With a diagonal, Σx has the columns of x;
    otherwise it is dense.
    """
    values, columns = row.values, row.columns
    used = values.shape[0]
    sparse = columns.shape[0] > 0
    if S.shape[0] == 1:
        diagonal = S[0]
        for j in range(used):
            g[j] = diagonal[columns[j] if sparse else j] * values[j]
        return RowValues(g[:used], columns), dot(RowValues(values, columns[:0]), g)
    g[:] = 0.0
    # Σ is symmetric to the bit, so its rows can be used as its columns.
    whole = used - used % 4
    for j in range(0, whole, 4):
        k0, k1, k2, k3 = j, j + 1, j + 2, j + 3
        if sparse:
            k0, k1, k2, k3 = columns[k0], columns[k1], columns[k2], columns[k3]
        _add_four(g, values[j : j + 4], S[k0], S[k1], S[k2], S[k3])
    for j in range(whole, used):
        _add(g, S[columns[j] if sparse else j], values[j])
    return RowValues(g, columns[:0]), dot(row, g)


@compiled
def _add_four(
    g: FloatArray,
    x: FloatArray,
    s0: FloatArray,
    s1: FloatArray,
    s2: FloatArray,
    s3: FloatArray,
) -> None:
    """Add four rows of Σ, each times a number of x, to g (p,)."""
    # The order of additions is that of one row after the other.
    x0, x1, x2, x3 = x[0], x[1], x[2], x[3]
    for j in range(g.shape[0]):
        g[j] = (((g[j] + x0 * s0[j]) + x1 * s1[j]) + x2 * s2[j]) + x3 * s3[j]


@compiled
def is_credible(S: FloatArray, direction: RowValues, v: float) -> bool:
    """Whether g and v can be Σx and xᵀΣx: g_j² ≤ Σ_jj·v by Cauchy and Schwarz.

    Where Σ has nearly vanished along x, both are differences of large numbers and may
    be only rounding error. A factor of two is allowed.
    """
    if not (v >= 0.0 and v <= _LARGEST):
        return False
    g, columns = direction.values, direction.columns
    beyond = 0
    for j in range(g.shape[0]):
        k = columns[j] if columns.shape[0] > 0 else j
        variance = S[0, k] if S.shape[0] == 1 else S[k, k]
        beyond += 0 if g[j] * g[j] <= 2.0 * variance * v else 1
    return beyond == 0


@compiled
def shrink_covariance(
    S: FloatArray, direction: RowValues, v: float, beta: float, libol: bool
) -> None:
    """Subtract β·g·gᵀ from Σ, with g = Σx and v = xᵀΣx; g is overwritten.

    Σ stays symmetric to the bit. In exact arithmetic β·v < 1 and every variance stays
    positive. Departures, not made if `libol`: β·v is at most 1 − 2⁻⁴⁰, and a step that
    would leave a variance ≤ 0 by rounding is not taken.
    """
    if not libol and beta * v > 1.0 - _REMAINDER:
        beta = (1.0 - _REMAINDER) / v
    root = np.sqrt(beta)
    g, columns = direction.values, direction.columns
    below = 0
    for j in range(g.shape[0]):
        g[j] *= root
        k = columns[j] if columns.shape[0] > 0 else j
        variance = S[0, k] if S.shape[0] == 1 else S[k, k]
        below += 0 if variance - g[j] * g[j] > 0.0 else 1
    if below > 0 and not libol:
        return
    if S.shape[0] == 1:
        diagonal = S[0]
        for j in range(g.shape[0]):
            diagonal[columns[j] if columns.shape[0] > 0 else j] -= g[j] * g[j]
    else:
        for j in range(g.shape[0]):
            _add(S[j], g, -g[j])


@compiled
def divide_covariance(S: FloatArray, divisor: float) -> None:
    """Divide Σ, or its diagonal, by `divisor`."""
    for k in range(S.shape[0]):
        row = S[k]
        for j in range(row.shape[0]):
            row[j] /= divisor
