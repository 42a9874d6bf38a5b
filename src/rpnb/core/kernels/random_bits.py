"""Counter-based random numbers: functions of a seed and a counter, without state.

Entry (feature, member, column) of a projection is computed from the seed and these
three numbers only. A model therefore needs to keep only the seed, member k is the same
whatever the number of members, and a feature that appears late gets its row without
changing the others. The bits are those of Philox-4x32 with ten rounds (Salmon, Moraes,
Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011). Everything here uses
only integer operations and correctly rounded floating-point ones (+, ×, ÷, √), so that
every machine gets the same numbers to the bit.
"""

from math import sqrt

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, UIntArray, WordArray
from rpnb.core.kernels.compiling.compiled import compiled

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
# The multipliers and key increments of Philox-4x32.
MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
KEY_STEPS = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_M0, _M1 = MULTIPLIERS
_W0, _W1 = KEY_STEPS


@compiled
def philox(counters: UIntArray, seed: np.uint64) -> None:
    """Replace each counter, a column of four 32-bit words, by 128 random bits.

    `counters` is (4, number of counters), 32 bits in use of each word.
    """
    for t in range(counters.shape[1]):
        c0 = counters[0, t]
        c1 = counters[1, t]
        c2 = counters[2, t]
        c3 = counters[3, t]
        k0 = seed & LOW
        k1 = seed >> HALF
        for _ in range(10):
            product0 = _M0 * c0
            product1 = _M1 * c2
            c0 = (product1 >> HALF) ^ c1 ^ k0
            c2 = (product0 >> HALF) ^ c3 ^ k1
            c1 = product1 & LOW
            c3 = product0 & LOW
            k0 = (k0 + _W0) & LOW
            k1 = (k1 + _W1) & LOW
        counters[0, t] = c0
        counters[1, t] = c1
        counters[2, t] = c2
        counters[3, t] = c3


@compiled
def fill_feature_words(
    seed: np.uint64, feature: np.uint64, q: int, counters: UIntArray, words: WordArray
) -> None:
    """Fill `words` (F,) with 32 random bits for each column's entry for `feature`.

    Column f = k·q + j belongs to member k. One counter serves four columns of a member,
    so an entry depends on (seed, feature, k, j) only. The bits are given as a signed
    number, −2³¹ … 2³¹ − 1. `counters` is working space of (4, K·⌈q/4⌉).
    """
    per_member = (q + 3) // 4
    K = words.shape[0] // q
    for k in range(K):
        for block in range(per_member):
            counters[0, k * per_member + block] = block
            counters[1, k * per_member + block] = k
    counters[2] = feature & LOW
    counters[3] = feature >> HALF
    philox(counters, seed)
    for k in range(K):
        for j in range(q):
            word = np.int64(counters[j % 4, k * per_member + j // 4])
            words[k * q + j] = word - ((word >> 31) << 32)


# PPND7 of Wichura, "Algorithm AS 241: the percentage points of the normal
# distribution", Applied Statistics 37 (1988) 477-484: ratios of polynomials, with
# coefficients from the highest power down, accurate to about 1e-7 relative, which is
# what a single-precision entry can hold. The third ratio of the algorithm serves
# probabilities below 1e-11, which 32 bits cannot name.
CENTRE = (5.9109374720e1, 1.5929113202e2, 5.0434271938e1, 3.3871327179e0)
CENTRE_BELOW = (6.7187563600e1, 7.8757757664e1, 1.7895169469e1, 1.0)
SHOULDER = (1.7023821103e-1, 1.3067284816e0, 2.7568153900e0, 1.4234372777e0)
SHOULDER_BELOW = (1.2021132975e-1, 7.3700164250e-1, 1.0)
ARTANH = tuple(1.0 / k for k in range(15, 0, -2))
LOG_TWO = 0.6931471805599453
ROOT_HALF = 0.7071067811865476
CELL = 2.0**-32


@compiled
def _horner(coefficients: tuple[float, ...], x: float) -> float:
    """Evaluate a polynomial by Horner's scheme, from the highest power down."""
    value = 0.0
    for coefficient in coefficients:
        value = value * x + coefficient
    return value


@compiled
def fill_logs(values: FloatArray, power: WordArray) -> None:
    """Replace each of the values, which are positive and normal, by its logarithm.

    A library's `log` may differ in its last bit from one machine to the next. Here,
    with a value m·2ᵉ and m near 1, log m = 2·artanh((m − 1)/(m + 1)), as a series. The
    loops are separate so that each is free of branches and of conversions that would
    stop the compiler from vectorising it. `power` is working space.
    """
    bits = values.view(np.int64)
    n = values.shape[0]
    mantissa = np.empty(n)
    mantissa_bits = mantissa.view(np.int64)
    for i in range(n):
        power[i] = (bits[i] >> 52) - 1022
        mantissa_bits[i] = (bits[i] & 0x000FFFFFFFFFFFFF) | 0x3FE0000000000000
    for i in range(n):
        m = mantissa[i]
        e = power[i] - (1 if m < ROOT_HALF else 0)
        m = m * 2.0 if m < ROOT_HALF else m
        s = (m - 1.0) / (m + 1.0)
        values[i] = e * LOG_TWO + 2.0 * s * _horner(ARTANH, s * s)


@compiled
def _quantile_outside(below: FloatArray, power: WordArray) -> None:
    """Replace each probability, 1e-11 … 0.075, by its normal quantile's absolute value.

    The quantile is a ratio of polynomials in √(−log below). `power` is working space.
    """
    fill_logs(below, power)
    for i in range(below.shape[0]):
        r = sqrt(-below[i]) - 1.6
        below[i] = _horner(SHOULDER, r) / _horner(SHOULDER_BELOW, r)


@compiled
def fill_normal(words: WordArray, out: FloatArray) -> None:
    """Turn 32 random bits per entry into standard normal numbers, by inversion.

    The bits select one of 2³² equal cells of (−½, ½), whose middle, never 0 or ±½, is
    u: out = Φ⁻¹(½ + u).
    """
    F = words.shape[0]
    outside = np.empty(F, np.int64)
    below = np.empty(F)
    count = 0
    for f in range(F):
        u = (words[f] + 0.5) * CELL
        r = 0.180625 - u * u
        out[f] = u * _horner(CENTRE, r) / _horner(CENTRE_BELOW, r)
    for f in range(F):
        u = (words[f] + 0.5) * CELL
        outside[count] = f
        below[count] = 0.5 - abs(u)
        count += abs(u) > 0.425
    _quantile_outside(below[:count], np.empty(count, np.int32))
    for i in range(count):
        f = outside[i]
        out[f] = below[i] if words[f] >= 0 else -below[i]
