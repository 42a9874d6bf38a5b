"""a·b + c of arrays in NumPy, rounded once, as compiled kernels have it.

Processors have an instruction for it and NumPy has not. Boldo & Melquiond, "Emulation
of FMA and correctly rounded sums: proved algorithms using rounding to odd" (2008): the
product and the sum are split into a rounded value and its error, without loss, and the
errors are added with rounding to odd, after which the last rounding is right.
"""

import platform
from functools import cache
from typing import Any

import llvmlite.binding
import numpy as np

from rpnb.core.kernels.arrays import FloatArray, SingleArray

# Splits 53 bits into two halves (Dekker 1971).
_SPLITTER = 2.0**27 + 1.0


@cache
def has_fused_instruction() -> bool:
    """Say whether this processor multiplies and adds in one instruction.

    Where it does not, compiled code rounds single precision twice.
    """
    if platform.machine().lower() in ("arm64", "aarch64"):
        return True
    features: Any = llvmlite.binding.get_host_cpu_features
    return bool(features().get("fma", False))


def _sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rounded sum and its error (Knuth's TwoSum)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _odd_sum(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a + b; if it is not exact, that of the two neighbours whose bits are odd.

    Neighbours are numbers next to each other in double precision.
    """
    s, error = _sum(a, b)
    bits = s.view(np.int64)
    step = np.where((error > 0.0) == (s > 0.0), 1, -1)
    inexact = (error != 0.0) & (bits & 1 == 0)
    odd: FloatArray = (bits + np.where(inexact, step, 0)).view(np.float64)
    return odd


def fused_doubles(a: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """Return a·b + c, rounded once."""
    product = a * b
    big = _SPLITTER * a
    a1 = big - (big - a)
    big = _SPLITTER * b
    b1 = big - (big - b)
    a2, b2 = a - a1, b - b1
    error = a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)
    high, low = _sum(c, error)
    value, rest = _sum(product, high)
    simple = product + c
    return np.where(np.isfinite(simple), value + _odd_sum(low, rest), simple)


def fused_singles(a: SingleArray, b: SingleArray, c: SingleArray) -> SingleArray:
    """Return a·b + c in single precision, rounded as compiled code does."""
    if not has_fused_instruction():
        return a * b + c
    # In double precision the product is exact.
    product, term = a.astype(np.float64) * b, c.astype(np.float64)
    simple = product + term
    found = np.where(np.isfinite(simple), _odd_sum(product, term), simple)
    return found.astype(np.float32)
