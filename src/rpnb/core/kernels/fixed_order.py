"""Products, solutions and factors of matrices, with the same bits on every machine.

BLAS and LAPACK choose the order of sums, and fused operations, by the processor. Here
each entry is one chain of additions and multiplications, which every processor rounds
in the same way. They are for saved states that are computed infrequently.
"""

import numpy as np

from rpnb.core.kernels.arrays import FloatArray


def product(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return A·B, matrices or stacks of them; terms are added in order."""
    shape = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    out = np.zeros((*shape, A.shape[-2], B.shape[-1]))
    for k in range(A.shape[-1]):
        out += A[..., :, k, None] * B[..., None, k, :]
    return out


def solve_semidefinite(A: FloatArray, b: FloatArray) -> FloatArray:
    """Return an x (p,) that solves A·x = b for a positive semidefinite A (p, p).

    By Gauss–Jordan elimination with the largest diagonal entry as the next pivot.
    Unknowns that the others determine, up to rounding, are 0.
    """
    p = len(b)
    rows = np.column_stack([A, b])
    is_solved = np.zeros(p, np.bool_)
    least = p * np.finfo(np.float64).eps * A.diagonal().max(initial=0.0)
    for _ in range(p):
        pivots = np.where(is_solved, -np.inf, rows.diagonal())
        i = int(pivots.argmax())
        if not pivots[i] > least:
            break
        is_solved[i] = True
        rows[i] /= rows[i, i]
        factor = rows[:, i].copy()
        factor[i] = 0.0
        rows -= factor[:, None] * rows[i]
    return np.where(is_solved, rows[:, -1], 0.0)


def cholesky(A: FloatArray) -> FloatArray:
    """Return the lower triangular L with L·Lᵀ = A, positive definite."""
    L, rest = np.zeros_like(A), A.copy()
    for k in range(len(A)):
        L[k:, k] = rest[k:, k] / np.sqrt(rest[k, k])
        rest[k:, k:] -= L[k:, k, None] * L[None, k:, k]
    return L


def invert_lower(L: FloatArray) -> FloatArray:
    """Return the inverse of a lower triangular matrix, by forward substitution."""
    out, rest = np.zeros_like(L), np.eye(len(L))
    for k in range(len(L)):
        out[k] = rest[k] / L[k, k]
        rest[k + 1 :] -= L[k + 1 :, k, None] * out[k]
    return out
