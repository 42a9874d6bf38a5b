"""How much each row counts."""

from typing import Any

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.estimators.checks.masks import refuse_masked
from rpnb.estimators.checks.parameters import check_real

# Sums of heavier weights might overflow.
_HEAVIEST = 1e100


def check_weight(sample_weight: Any, n: int) -> FloatArray:
    """Return the weights of n rows as an array of their own, or say what is wrong."""
    refuse_masked(sample_weight, "sample_weight")
    try:
        # A copy: kernels would be compiled anew for an array that is read only.
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
    bad = ~((weight >= 0.0) & (weight <= _HEAVIEST))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            "sample_weight must be finite, not negative and at most "
            f"{_HEAVIEST:.0e}, got {weight[row]!r} in row {row}"
        )
    if not weight.any():
        raise ValueError("sample_weight must not be zero for every row")
    return weight


def weight_of(weight: FloatArray, rows: slice) -> FloatArray:
    """Return the weights of some rows, where there is one per row or one for all."""
    return weight if weight.shape[0] == 1 else weight[rows]


def one_weight(sample_weight: Any) -> FloatArray:
    """Return the weight of a single row as an array, or say what is wrong with it."""
    if type(sample_weight) is float and 0.0 < sample_weight <= _HEAVIEST:
        return np.array([sample_weight])
    value = check_real("sample_weight", sample_weight, 0.0, above=True, high=_HEAVIEST)
    return np.array([value])
