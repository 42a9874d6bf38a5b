"""Random numbers and matrices of projections in plain NumPy, the same to the bit.

Integer operations and correctly rounded ones (+, ×, ÷, √) have one result each, here
and in compiled code.
"""

from typing import Final

import numpy as np

from oracles.elementary import logarithms
from rpnb.core.kernels.arrays import FloatArray, SingleArray, UIntArray, WordArray
from rpnb.core.projection.matrices import MatrixDistribution

LOW: Final = np.uint64(0xFFFFFFFF)
HALF: Final = np.uint64(32)
# The multipliers and key increments of Philox-4x32 (Salmon, Moraes, Dror & Shaw 2011).
MULTIPLIERS: Final = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
KEY_STEPS: Final = 0x9E3779B9, 0xBB67AE85

# PPND7 of Wichura, "Algorithm AS 241" (1988): coefficients from the highest power down.
CENTRE: Final = (5.9109374720e1, 1.5929113202e2, 5.0434271938e1, 3.3871327179e0)
CENTRE_BELOW: Final = (6.7187563600e1, 7.8757757664e1, 1.7895169469e1, 1.0)
SHOULDER: Final = (1.7023821103e-1, 1.3067284816e0, 2.7568153900e0, 1.4234372777e0)
SHOULDER_BELOW: Final = (1.2021132975e-1, 7.3700164250e-1, 1.0)


def draw_matrix(
    distribution: MatrixDistribution, seed: int, features: UIntArray, K: int, q: int
) -> SingleArray:
    """Return the rows (p, K·q) of the projections that belong to the features."""
    words = random_words(seed, features, K, q)
    if distribution == "gaussian":
        return normal_numbers(words).astype(np.float32)
    if distribution == "bernoulli":
        return np.where(words >= 0, np.float32(1.0), np.float32(-1.0))
    root = np.float32(np.sqrt(3.0))
    sides = np.where(words < 2**32 // 6 - 2**31, -root, root)
    return np.where(words < 2**32 // 3 - 2**31, sides, np.float32(0.0))


def random_words(seed: int, features: UIntArray, K: int, q: int) -> WordArray:
    """Return (p, K·q) signed words: one counter for four columns of a member."""
    blocks = (q + 3) // 4
    p = features.shape[0]
    shape = p, K, blocks
    c0 = np.broadcast_to(np.arange(blocks, dtype=np.uint64), shape)
    c1 = np.broadcast_to(np.arange(K, dtype=np.uint64)[:, None], shape)
    c2 = np.broadcast_to((features & LOW)[:, None, None], shape)
    c3 = np.broadcast_to((features >> HALF)[:, None, None], shape)
    m0, m1 = MULTIPLIERS
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        product0, product1 = m0 * c0, m1 * c2
        c0 = (product1 >> HALF) ^ c1 ^ np.uint64(k0)
        c2 = (product0 >> HALF) ^ c3 ^ np.uint64(k1)
        c1, c3 = product1 & LOW, product0 & LOW
        k0 = (k0 + KEY_STEPS[0]) & 0xFFFFFFFF
        k1 = (k1 + KEY_STEPS[1]) & 0xFFFFFFFF
    words = np.stack([c0, c1, c2, c3], axis=-1).reshape(p, K, 4 * blocks)[:, :, :q]
    return words.astype(np.uint32).view(np.int32).reshape(p, K * q)


def normal_numbers(words: WordArray) -> FloatArray:
    """Return Φ⁻¹(½ + u) with u the middle of the cell that a word names."""
    u = (words + 0.5) * 2.0**-32
    r = 0.180625 - u * u
    out = u * _horner(CENTRE, r) / _horner(CENTRE_BELOW, r)
    outside = np.abs(u) > 0.425
    r = np.sqrt(-logarithms(0.5 - np.abs(u[outside]))) - 1.6
    size = _horner(SHOULDER, r) / _horner(SHOULDER_BELOW, r)
    out[outside] = np.where(words[outside] >= 0, size, -size)
    return out


def _horner(coefficients: tuple[float, ...], x: FloatArray) -> FloatArray:
    """Evaluate a polynomial by Horner's scheme, from the highest power down."""
    value = np.zeros_like(x)
    for coefficient in coefficients:
        value = value * x + coefficient
    return value
