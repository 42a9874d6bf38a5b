"""The vector operations in NumPy: a vector is an array of eight or four numbers."""

from typing import Any, TypeAlias

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, SingleArray

# Lanes of the two kinds.
SINGLES = 8
DOUBLES = 4

# Compiled, a vector is a type of its own; and what takes vectors also takes a number.
Singles: TypeAlias = Any
Doubles: TypeAlias = Any

# Bits of a double: all places of the mantissa, and the number one.
MANTISSA = 0x000FFFFFFFFFFFFF
ONE = 0x3FF0000000000000


def singles(value: float) -> Singles:
    """Return a vector of the number, rounded to single precision."""
    return np.full(SINGLES, value, np.float32)


def load_singles(values: SingleArray, start: int) -> Singles:
    """Return the eight values from `start` on; there must be as many."""
    return values[start : start + SINGLES].copy()


def narrowed(first: Doubles, second: Doubles) -> Singles:
    """Return the lanes of two vectors, rounded to single precision, as one."""
    return np.concatenate([first, second]).astype(np.float32)


def store_singles(values: SingleArray, start: int, vector: Singles) -> None:
    """Write eight values from `start` on; there must be as many."""
    values[start : start + SINGLES] = vector


def multiply_add(a: Singles, b: Singles, c: Singles) -> Singles:
    """Return a·b + c, rounded once or twice, whichever is faster."""
    return a * b + c


def sum_singles(vector: Singles) -> float:
    """Return the sum of the lanes, taken in double precision."""
    wide = vector.astype(np.float64)
    return sum_doubles(wide[:DOUBLES] + wide[DOUBLES:])


def doubles(value: float) -> Doubles:
    """Return a vector of the number."""
    return np.full(DOUBLES, value)


def load_doubles(values: FloatArray, start: int) -> Doubles:
    """Return the four values from `start` on; there must be as many."""
    return values[start : start + DOUBLES].copy()


def load_widened(values: SingleArray, start: int) -> Doubles:
    """Return the four single-precision values from `start` on, as doubles."""
    return values[start : start + DOUBLES].astype(np.float64)


def store_doubles(values: FloatArray, start: int, vector: Doubles) -> None:
    """Write four values from `start` on; there must be as many."""
    values[start : start + DOUBLES] = vector


def fused(a: Doubles, b: Doubles, c: Doubles) -> Doubles:
    """Return a·b + c of three vectors, rounded once when compiled."""
    return a * b + c


def limit(value: Doubles, low: float, high: float) -> Doubles:
    """Return `value` where it is between `low` and `high`, else the nearer of them."""
    raised = np.where(value > low, value, low)
    return np.where(raised < high, raised, high)


def lesser(a: Doubles, b: Doubles) -> Doubles:
    """Return the smaller of each two lanes of two vectors."""
    return np.where(a < b, a, b)


def greater(a: Doubles, b: Doubles) -> Doubles:
    """Return the larger of each two lanes of two vectors."""
    return np.where(a > b, a, b)


def where_greater(a: Doubles, b: Doubles, x: Doubles, y: Doubles) -> Doubles:
    """Return x's lanes where a's are greater than b's, else y's."""
    return np.where(a > b, x, y)


def sum_doubles(vector: Doubles) -> float:
    """Return the sum of the lanes, one after the other."""
    return float(((vector[0] + vector[1]) + vector[2]) + vector[3])


def exponent(value: Doubles) -> Doubles:
    """Return 1023 + e of positive, normal values m·2ᵉ with 1 ≤ m < 2, as doubles."""
    bits = np.asarray(value, np.float64).view(np.int64)
    return (bits >> 52).astype(np.float64)


def mantissa(value: Doubles) -> Doubles:
    """Return m of positive, normal values m·2ᵉ with 1 ≤ m < 2."""
    bits = np.asarray(value, np.float64).view(np.int64)
    return ((bits & MANTISSA) | ONE).view(np.float64)
