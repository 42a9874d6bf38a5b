"""Elementary functions by the formulas of cpp/math.h and math.cpp, in Python."""

from itertools import accumulate
from math import factorial, pi, sqrt
from operator import truediv
from typing import Any, Final

import numpy as np

LOG_TWO: Final = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ROOT_HALF: Final = 0.7071067811865476
#: 1/13!, …, 1/2! and 2/21, …, 2/3.
FACTORIALS: Final = (6227020800, 479001600, 39916800, 3628800, 362880, 40320)
INVERSE_FACTORIALS: Final = [1 / f for f in (*FACTORIALS, 5040, 720, 120, 24, 6, 2)]
ARTANH: Final = [2 / k for k in range(21, 1, -2)]
#: B₂ᵢ/(2i(2i − 1)) for i = 7, …, 1, with Bernoulli's numbers.
STIRLING: Final = (
    1 / 156,
    -691 / 360360,
    1 / 1188,
    -1 / 1680,
    1 / 1260,
    -1 / 360,
    1 / 12,
)
ROOT_PI: Final = 1.772453850905516
#: 1/(2n + 1)!! for n = 35, …, 0, each divided by the next odd number.
ERROR_FUNCTION: Final = [*accumulate(range(1, 72, 2), truediv, initial=1.0)][:0:-1]


def exponentials(x: Any) -> Any:
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


def logarithms(x: Any) -> Any:
    """Return log x = k·log 2 + 2·artanh s for positive, finite x."""
    m, e = np.frexp(x)
    small = m < ROOT_HALF
    f = np.where(small, m * 2.0, m) - 1.0
    k = e - small.astype(float)
    s = f / (2.0 + f)
    half = 0.5 * f * f
    series = s * (half + s * s * _polynomial(ARTANH, s * s)) + k * LOG_TWO[1]
    return k * LOG_TWO[0] - ((half - series) - f)


def _polynomial(coefficients: list[float], x: Any) -> Any:
    """Evaluate odd and even powers by Horner's scheme, and add them."""
    square = x * x
    odd, even = np.zeros_like(x), np.zeros_like(x)
    for first, second in zip(coefficients[::2], coefficients[1::2], strict=True):
        odd, even = odd * square + first, even * square + second
    return odd * x + even


def exponential(x: float) -> float:
    """Return eˣ of one number."""
    return float(exponentials(np.float64(x)))


def logarithm(x: float) -> float:
    """Return log x of one positive number."""
    return float(logarithms(np.float64(x)))


def log1p(x: float) -> float:
    """Return log(1 + x), compensated for the rounding of the sum."""
    u = 1.0 + x
    return x if u == 1.0 else logarithm(u) * (x / (u - 1.0))


def power(x: float, y: float) -> float:
    """Return xʸ for x > 0."""
    return x if y == 1.0 else exponential(y * logarithm(x))


def hypot(x: float, y: float) -> float:
    """Return √(x² + y²), the larger side times √(1 + ratio²)."""
    smaller, larger = sorted((abs(x), abs(y)))
    if larger == 0.0:
        return 0.0
    ratio = smaller / larger
    return larger * sqrt(1.0 + ratio * ratio)


def lgamma(x: float) -> float:
    """Return log Γ(x) by Stirling's series at x + n ≥ 10, less log x(x + 1)…."""
    product = 1.0
    while x < 10.0:
        product, x = product * x, x + 1.0
    rest = 0.0
    for coefficient in STIRLING:
        rest = rest * (1.0 / x * (1.0 / x)) + coefficient
    series = (x - 0.5) * logarithm(x) - x + 0.9189385332046727 + 1.0 / x * rest
    return series - logarithm(product)


def erfc(x: float) -> float:
    """Return 1 − erf x: below 2 by a series, else by a continued fraction."""
    distance, square = abs(x), x * x
    if distance < 2.0:
        series = float(_polynomial(ERROR_FUNCTION, np.float64(2.0 * square)))
        return 1.0 - 2.0 * x / ROOT_PI * exponential(-square) * series
    fraction = distance
    for n in range(50 if distance < 3.0 else (24 if distance < 5.0 else 12), 0, -1):
        fraction = distance + 0.5 * n / fraction
    tail = exponential(-square) / (ROOT_PI * fraction)
    return tail if x > 0.0 else 2.0 - tail


def circle_point(k: int, period: int) -> tuple[float, float]:
    """Return the sine and cosine of 2πk/period, turned back by whole quarters."""
    k %= period
    quarter = (4 * k + period // 2) // period
    x = (4 * k - quarter * period) / period * (pi / 2.0)
    square = x * x
    sine, cosine = 0.0, 0.0
    for n in range(17, 1, -2):
        sine = sine * square + (-1.0) ** (n // 2) / factorial(n)
    for n in range(16, 2, -2):
        cosine = cosine * square + (-1.0) ** (n // 2) / factorial(n)
    sine = x + x * square * sine
    cosine = 1.0 - (0.5 * square - square * square * cosine)
    for _ in range(quarter % 4):  # a quarter turn takes (cos, sin) to (−sin, cos)
        sine, cosine = cosine, 0.0 - sine
    return sine, cosine
