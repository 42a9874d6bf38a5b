"""Exponentials and logarithms of arrays, with the same bits on every machine.

The bits of NumPy's depend on the processor and the C library.
"""

import numpy as np
from numpy.typing import ArrayLike

from rpnb._core.numbers import fill_exponentials, fill_logs
from rpnb.core.kernels.arrays import FloatArray


def exp(values: ArrayLike) -> FloatArray:
    """Return the exponential of each value, in a new array."""
    out = np.array(values, dtype=np.float64, order="C")
    fill_exponentials(out.reshape(-1), -np.inf)
    return out[()]


def log(values: ArrayLike) -> FloatArray:
    """Return the logarithm of each value, in a new array; −∞ for 0."""
    out = np.array(values, dtype=np.float64, order="C")
    fill_logs(out.reshape(-1))
    return out[()]
