"""Random projections: drawing the K matrices and applying them, equation (2).

The K matrices stand side by side as one (p, F) matrix of 32-bit floats, unscaled: the
factor 1/√q goes to the observation, which is shorter. Single precision loses nothing,
since a projection is *any* draw from its law, and halves the memory to be read.
"""

from math import floor, log2
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from rpnb.core.arrays import FloatArray, IntArray, SingleArray, UIntArray
from rpnb.core.compiled import compiled, fused_multiply_add
from rpnb.core.random_bits import fill_normal, fill_words

Law: TypeAlias = Literal["gaussian", "bernoulli", "achlioptas"]
LAWS: Final[tuple[Law, ...]] = get_args(Law)

_ROOT_THREE: Final = np.float32(1.7320508)
# A sixth and a third of the 2³² values of a word, counted from the lowest.
_SIXTH: Final = -(2**31) + 2**32 // 6
_THIRD: Final = -(2**31) + 2**32 // 3

# Columns handled together, so that a panel of sums stays in the first-level cache.
_PANEL: Final = 512


def down_space_dimension(p: int) -> int:
    """Return q = ⌊2·log₂ p⌋, at least 1 and at most p (section 3.1 of the paper)."""
    return max(1, min(p, floor(2.0 * log2(p))))


def draw(law: Law, seed: int, features: UIntArray, K: int, q: int) -> SingleArray:
    """Draw the rows of the K projections that belong to `features`, side by side.

    Parameters
    ----------
    law : {"gaussian", "bernoulli", "achlioptas"}
        N(0, 1); ±1 with probability ½ each; or −√3, 0, √3 with probabilities 1/6, 2/3,
        1/6 (section 2.1 of the paper). All have mean 0 and variance 1.
    seed : int
        64 bits.
    features : array of shape (p,)
        The features' numbers, 64 bits each. A row depends on its own number only.
    K, q : int
        Number of projections, and columns of each.

    Returns
    -------
    array of shape (p, K·q)
        Column k·q + j is column j of matrix k; not yet divided by √q.
    """
    R = np.empty((features.shape[0], K * q), np.float32)
    _draw(LAWS.index(law), np.uint64(seed), features, q, R)
    return R


@compiled
def _draw(
    law: int, seed: np.uint64, features: UIntArray, q: int, R: SingleArray
) -> None:
    F = R.shape[1]
    counters = np.empty((4, (F // q) * ((q + 3) // 4)), np.uint64)
    words = np.empty(F, np.int32)
    normal = np.empty(F)
    for i in range(features.shape[0]):
        fill_words(seed, features[i], q, counters, words)
        if law == 0:
            fill_normal(words, normal)
            R[i] = normal
        elif law == 1:
            for f in range(F):
                R[i, f] = 1.0 if words[f] >= 0 else -1.0
        else:
            for f in range(F):
                if words[f] < _SIXTH:
                    R[i, f] = -_ROOT_THREE
                elif words[f] < _THIRD:
                    R[i, f] = _ROOT_THREE
                else:
                    R[i, f] = 0.0


@compiled
def project(
    X: FloatArray, rows: IntArray, scale: float, R: SingleArray, Z: FloatArray
) -> None:
    """Project the named rows of X (n, p): Z[b] = scale · X[rows[b]] R, equation (2).

    Every entry is one chain of fused multiply-adds in the order of the features, so
    a row's projection has the same bits whatever other rows are projected with it,
    and a zero leaves no trace.
    """
    p, F = R.shape
    for start in range(0, F, _PANEL):
        stop = min(start + _PANEL, F)
        for b in range(rows.shape[0]):
            Z[b, start:stop] = 0.0
        i = 0
        while i + 4 <= p:
            for b in range(rows.shape[0]):
                x = X[rows[b]]
                _add_four(
                    x[i] * scale,
                    x[i + 1] * scale,
                    x[i + 2] * scale,
                    x[i + 3] * scale,
                    R[i, start:stop],
                    R[i + 1, start:stop],
                    R[i + 2, start:stop],
                    R[i + 3, start:stop],
                    Z[b, start:stop],
                )
            i += 4
        while i < p:
            for b in range(rows.shape[0]):
                _add_one(X[rows[b], i] * scale, R[i, start:stop], Z[b, start:stop])
            i += 1


@compiled
def _add_one(x: float, r: SingleArray, z: FloatArray) -> None:
    for f in range(z.shape[0]):
        z[f] = fused_multiply_add(x, np.float64(r[f]), z[f])


@compiled
def _add_four(
    x0: float,
    x1: float,
    x2: float,
    x3: float,
    r0: SingleArray,
    r1: SingleArray,
    r2: SingleArray,
    r3: SingleArray,
    z: FloatArray,
) -> None:
    """Four steps of the chain at once, so that a sum is loaded and stored once."""
    for f in range(z.shape[0]):
        t = fused_multiply_add(x0, np.float64(r0[f]), z[f])
        t = fused_multiply_add(x1, np.float64(r1[f]), t)
        t = fused_multiply_add(x2, np.float64(r2[f]), t)
        z[f] = fused_multiply_add(x3, np.float64(r3[f]), t)
