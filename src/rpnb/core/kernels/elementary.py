"""Elementary functions of arrays, with the same bits on every machine.

The bits of NumPy's depend on the processor and the C library.
"""

from math import inf, pi, sqrt

import numpy as np
from numpy.typing import ArrayLike

from rpnb._core.numbers import erfc, fill_circle, fill_exponentials, fill_logs
from rpnb.core.kernels.arrays import FloatArray, IntArray


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


def circle(k: IntArray, period: int) -> tuple[FloatArray, FloatArray]:
    """Return the sines and the cosines of 2πk/period, for whole numbers k (n,)."""
    sine, cosine = np.empty(len(k)), np.empty(len(k))
    fill_circle(np.ascontiguousarray(k), period, sine, cosine)
    return sine, cosine


def normal_quantile(p: float) -> float:
    """Return the z with Φ(z) = p, where Φ is the standard normal distribution.

    By Newton's method, in the upper half: as Φ is concave there, every step from 0 ends
    before the solution, until rounding ends them. ±∞ for 0 and 1.
    """
    if p < 0.5:
        return -normal_quantile(1.0 - p)
    if p == 1.0:
        return inf
    z, last = 0.0, -1.0
    while z > last:
        last = z
        beyond = 0.5 * erfc(z * sqrt(0.5)) - (1.0 - p)
        z += beyond * sqrt(2.0 * pi) * float(exp(0.5 * z * z))
    return last
