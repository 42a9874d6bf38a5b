r"""Exact Shapley values of a quadratic score.

The value of a set S of features is the score of a row that has the values of x in S and
those of a background row b elsewhere. Let δ = x − b. For a polynomial f of degree two,
with gradient ∇f, this is

$$v(S) = f(b) + \sum_{i \in S} g_i δ_i + \tfrac12 \sum_{i, j \in S} H_{ij} δ_i δ_j,$$

with g the gradient at b and H the matrix of second derivatives. The Shapley value gives
each feature its own term and half of each pair:

$$φ_i = δ_i (g_i + \tfrac12 (Hδ)_i) = δ_i \, [∇f(\tfrac{x + b}2)]_i,$$

the gradient half-way between background and row, times the difference. The values sum
to f(x) − f(b). With several background rows they are means over these; with b̄ their
mean and b̃ = b − b̄,

$$φ_i = (x_i - \bar b_i) \, [∇f(\tfrac{x + \bar b}2)]_i
        - \tfrac12 \, \overline{\tilde b_i (H \tilde b)_i}.$$

Under "log_sum" the score of class m is −½ Σ_f w_mf (z_f − μ_mf)² plus a constant, with
z = xR the projected row: its gradient is −R (w_m (z − μ_m)), and H is −R diag(w_m) Rᵀ,
which is never formed.
"""

import numpy as np

from rpnb.core.kernels.arrays import FloatArray


def gradients(
    R: FloatArray, mean: FloatArray, precision: FloatArray, z: FloatArray
) -> FloatArray:
    """Return the gradients (n, p) of one class's score at projected rows z (n, F).

    R (p, F) is the scaled projection; `mean` and `precision` (F,) are the density's.
    """
    return -((z - mean) * precision) @ R.T


def shapley_values(
    R: FloatArray,
    mean: FloatArray,
    precision: FloatArray,
    X: FloatArray,
    background: FloatArray,
) -> FloatArray:
    """Return the Shapley values (n, p) of one class's score for rows X (n, p).

    `background` (k, p) are the background rows.
    """
    centre = background.mean(axis=0)
    spread = background - centre
    half_way = 0.5 * (X + centre) @ R
    values = (X - centre) * gradients(R, mean, precision, half_way)
    if background.shape[0] > 1:
        curved = -((spread @ R) * precision) @ R.T  # H b̃
        values -= 0.5 * (spread * curved).mean(axis=0)
    return values


def recovered_mean(R: FloatArray, z: FloatArray) -> FloatArray:
    """Return rows (p, M) whose projections are nearest to the columns of z (F, M).

    The projection of a mean is the mean of the projections. So with at least as many
    columns as features, the class means of the projections give those of the rows.
    """
    found = np.linalg.lstsq(R.T, z, rcond=None)[0]
    return np.asarray(found, dtype=np.float64)


def quadratic_scores(
    mean: FloatArray, precision: FloatArray, constant: FloatArray, z: FloatArray
) -> FloatArray:
    """Return constant − ½ Σ w (z − μ)² of all classes for projected rows z (n, F)."""
    out = np.empty((z.shape[0], mean.shape[0]))
    for m in range(mean.shape[0]):
        delta = z - mean[m]
        out[:, m] = constant[m] - 0.5 * np.einsum(
            "nf,f,nf->n", delta, precision[m], delta
        )
    return out
