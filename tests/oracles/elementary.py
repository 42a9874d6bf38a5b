"""Exponentials and logarithms by the formulas of cpp/math.h, in NumPy."""

from typing import Final

import numpy as np

from rpnb.core.kernels.arrays import FloatArray

LOG_TWO: Final = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ROOT_HALF: Final = 0.7071067811865476
#: 1/13!, …, 1/2! and 2/21, …, 2/3.
FACTORIALS: Final = (6227020800, 479001600, 39916800, 3628800, 362880, 40320)
INVERSE_FACTORIALS: Final = [1 / f for f in (*FACTORIALS, 5040, 720, 120, 24, 6, 2)]
ARTANH: Final = [2 / k for k in range(21, 1, -2)]


def exponentials(x: FloatArray) -> FloatArray:
    """Return eˣ = 2ᵏ·eʳ."""
    x = np.clip(x, -750.0, 710.0)
    k = np.rint(x * 1.4426950408889634)
    high, low = x - k * LOG_TWO[0], k * LOG_TWO[1]
    r = high - low
    lost = (high - r) - low
    series = r * r * _polynomial(INVERSE_FACTORIALS, r)
    value = 1.0 + (r + (series + lost))
    half = np.rint(0.5 * k)
    with np.errstate(over="ignore", under="ignore"):
        return (
            value
            * np.ldexp(1.0, half.astype(int))
            * np.ldexp(1.0, (k - half).astype(int))
        )


def logarithms(x: FloatArray) -> FloatArray:
    """Return log x = k·log 2 + 2·artanh s for positive, finite x."""
    m, e = np.frexp(x)
    small = m < ROOT_HALF
    f = np.where(small, m * 2.0, m) - 1.0
    k = e - small.astype(float)
    s = f / (2.0 + f)
    half = 0.5 * f * f
    series = s * (half + s * s * _polynomial(ARTANH, s * s)) + k * LOG_TWO[1]
    return k * LOG_TWO[0] - ((half - series) - f)


def _polynomial(coefficients: list[float], x: FloatArray) -> FloatArray:
    """Evaluate odd and even powers by Horner's scheme, and add them."""
    square = x * x
    odd, even = np.zeros_like(x), np.zeros_like(x)
    for first, second in zip(coefficients[::2], coefficients[1::2], strict=True):
        odd, even = odd * square + first, even * square + second
    return odd * x + even
