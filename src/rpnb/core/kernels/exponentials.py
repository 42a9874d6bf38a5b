"""Exponentials of many numbers, with the same bits on every machine."""

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.compiling.compiled import compiled

_LOG2_E = 1.4426950408889634
# log 2 in two parts; the first has 32 bits, so its multiples by integers are exact.
_LOG_TWO_HIGH = 6.93147180369123816490e-01
_LOG_TWO_LOW = 1.90821492927058770002e-10
_LEAST_EXPONENT = -700.0
_INVERSE_FACTORIALS = (
    1.0 / 6227020800.0,
    1.0 / 479001600.0,
    1.0 / 39916800.0,
    1.0 / 3628800.0,
    1.0 / 362880.0,
    1.0 / 40320.0,
    1.0 / 5040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
)


@compiled
def fill_exponentials(values: FloatArray, power: IntArray) -> None:
    """Replace each value, which is ≤ 0, by its exponential.

    A library's `exp` may differ in its last bit between machines, hence a series: with
    x = k·log 2 + r and |r| ≤ ½ log 2, exp x = 2ᵏ·exp r. `power` is working space.
    """
    scale = power.view(np.float64)
    for i in range(values.shape[0]):
        x = max(values[i], _LEAST_EXPONENT)
        k = np.floor(x * _LOG2_E + 0.5)
        r = (x - k * _LOG_TWO_HIGH) - k * _LOG_TWO_LOW
        total = 0.0
        for coefficient in _INVERSE_FACTORIALS:
            total = total * r + coefficient
        power[i] = (np.int64(k) + 1023) << 52
        values[i] = total * scale[i]
