"""The numbers of `random_bits` by NumPy: the same to the bit, without compiling.

Integer operations and correctly rounded ones (+, ×, ÷, √) have one result each, here
and in compiled code. For small matrices, which NumPy draws in milliseconds.
"""

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, UIntArray, WordArray
from rpnb.core.kernels.random_bits import (
    ARTANH,
    CELL,
    CENTRE,
    CENTRE_BELOW,
    HALF,
    KEY_STEPS,
    LOG_TWO,
    LOW,
    MULTIPLIERS,
    ROOT_HALF,
    SHOULDER,
    SHOULDER_BELOW,
)


def random_words(seed: int, features: UIntArray, K: int, q: int) -> WordArray:
    """Return (p, K·q) words, each row as `fill_feature_words` fills it."""
    blocks = (q + 3) // 4
    p = features.shape[0]
    shape = p, K, blocks
    c0 = np.broadcast_to(np.arange(blocks, dtype=np.uint64), shape)
    c1 = np.broadcast_to(np.arange(K, dtype=np.uint64)[:, None], shape)
    c2 = np.broadcast_to((features & LOW)[:, None, None], shape)
    c3 = np.broadcast_to((features >> HALF)[:, None, None], shape)
    m0, m1 = MULTIPLIERS
    low = int(LOW)
    k0, k1 = seed & low, seed >> 32
    for _ in range(10):
        product0, product1 = m0 * c0, m1 * c2
        c0 = (product1 >> HALF) ^ c1 ^ np.uint64(k0)
        c2 = (product0 >> HALF) ^ c3 ^ np.uint64(k1)
        c1, c3 = product1 & LOW, product0 & LOW
        k0, k1 = (k0 + int(KEY_STEPS[0])) & low, (k1 + int(KEY_STEPS[1])) & low
    words = np.stack([c0, c1, c2, c3], axis=-1).reshape(p, K, 4 * blocks)[:, :, :q]
    return words.astype(np.uint32).view(np.int32).reshape(p, K * q)


def normal_numbers(words: WordArray) -> FloatArray:
    """Return standard normal numbers, as `fill_normal` makes them."""
    u = (words + 0.5) * CELL
    r = 0.180625 - u * u
    out = u * _horner(CENTRE, r) / _horner(CENTRE_BELOW, r)
    outside = np.abs(u) > 0.425
    r = np.sqrt(-_logarithms(0.5 - np.abs(u[outside]))) - 1.6
    size = _horner(SHOULDER, r) / _horner(SHOULDER_BELOW, r)
    out[outside] = np.where(words[outside] >= 0, size, -size)
    return out


def _logarithms(values: FloatArray) -> FloatArray:
    """Return the logarithms of positive, normal values, as `fill_logs` does."""
    m, e = np.frexp(values)
    small = m < ROOT_HALF
    m = np.where(small, m * 2.0, m)
    s = (m - 1.0) / (m + 1.0)
    return (e - small) * LOG_TWO + 2.0 * s * _horner(ARTANH, s * s)


def _horner(coefficients: tuple[float, ...], x: FloatArray) -> FloatArray:
    """Evaluate a polynomial by Horner's scheme, from the highest power down."""
    value = np.zeros_like(x)
    for coefficient in coefficients:
        value = value * x + coefficient
    return value
