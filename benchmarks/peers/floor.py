"""A lower bound of the cost of scoring by columns: its matrix products by BLAS.

The projection of all rows, X (n, p) times R (p, F), and one pass of scoring, two
products of an (n, F) and an (F, M) matrix, for Z and for Z²: in single precision, block
by block. Squaring Z is not counted.
"""

from collections.abc import Callable

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.projection.matrices import down_space_dimension

# The fastest of 256, 1024 and 4096 rows on four of the paper's datasets.
_BLOCK = 1024


def products(X: FloatArray, M: int, K: int) -> Callable[[], None]:
    """Return a function that computes these products for rows X, without allocating."""
    n, p = X.shape
    F = K * down_space_dimension(p)
    rng = np.random.default_rng(0)
    rows = X.astype(np.float32)
    R = rng.normal(size=(p, F)).astype(np.float32)
    linear = rng.normal(size=(F, M)).astype(np.float32)
    square = rng.normal(size=(F, M)).astype(np.float32)
    block = min(_BLOCK, n)
    Z = np.empty((block, F), np.float32)
    out, more = (np.empty((block, M), np.float32) for _ in range(2))

    def multiply() -> None:
        for start in range(0, n, block):
            b = min(block, n - start)
            np.matmul(rows[start : start + b], R, out=Z[:b])
            np.matmul(Z[:b], linear, out=out[:b])
            np.matmul(Z[:b], square, out=more[:b])

    return multiply
