"""Checks of sample weights."""

from typing import Any, Final

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.estimators.checks.masks import refuse_masked
from rpnb.estimators.checks.parameters import check_real

#: Smallest and largest weight above 0: sums of larger ones might overflow.
ANY_WEIGHT: Final = (0.0, 1e100)


def check_weight(
    sample_weight: Any, n: int, limits: tuple[float, float] = ANY_WEIGHT
) -> FloatArray:
    """Return the weights of n rows as a new array, or raise an error."""
    refuse_masked(sample_weight, "sample_weight")
    try:
        # A copy, since the core needs writable arrays.
        weight = np.array(sample_weight, dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold real numbers: {error}") from error
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight must have one weight for each of the {n} rows, got shape "
            f"{weight.shape}"
        )
    low, high = limits
    bad = ~((weight >= low) & (weight <= high) | (weight == 0.0))
    if bad.any():
        row = int(np.argmax(bad))
        rule = "finite, not negative" if low == 0.0 else f"0, or at least {low:.0e}"
        raise ValueError(
            f"sample_weight must be {rule} and at most {high:.0e}, got "
            f"{float(weight[row])!r} in row {row}"
        )
    if not weight.any():
        raise ValueError("sample_weight must not be zero for every row")
    return weight


def one_weight(
    sample_weight: Any, limits: tuple[float, float] = ANY_WEIGHT
) -> FloatArray:
    """Return the weight of a single row as an array, or raise an error."""
    low, high = limits
    if type(sample_weight) is float and max(low, 1e-320) <= sample_weight <= high:
        return np.array([sample_weight])
    value = check_real("sample_weight", sample_weight, low, above=low == 0.0, high=high)
    return np.array([value])
