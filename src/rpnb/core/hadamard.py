"""Projections by randomised Walsh-Hadamard transforms: p·log p additions, no matrix.

Features are padded by zeros to a power of two, p₂, given random signs, and transformed
by the Hadamard matrix H of that order, whose entries are ±1 (Ailon & Chazelle 2006;
Tropp 2011). A transform gives p₂ columns; F columns take T = ⌈F/p₂⌉ transforms with
signs of their own, and each takes its columns in a random order. So every entry of the
projection is ±1 with probability ½, as under the law "bernoulli"; but the columns of
one transform are orthogonal where p is a power of two, and not independent.
"""

from typing import Final, NamedTuple

import numpy as np

from rpnb.core.arrays import FloatArray, IntArray, SingleArray, UIntArray
from rpnb.core.compiled import compiled
from rpnb.core.projection import draw
from rpnb.core.rows import Rows, row_at

# Makes the words that order columns other than those that give signs.
_COLUMNS: Final = 0x486164616D617264


class Hadamard(NamedTuple):
    """What is random in T transforms, and their order p₂."""

    order: int
    signs: SingleArray
    """(T, p) of each feature in each transform: ±1"""
    columns: IntArray
    """(F,) which column of its transform's H each column is; p₂ of each transform"""


def draw_hadamard(seed: int, features: UIntArray, F: int) -> Hadamard:
    """Draw signs for `features` (p,), and the order of columns.

    The sign of a feature in a transform is a function of (seed, feature, transform),
    the order of a transform's columns one of (seed, transform, p₂). Hence a column does
    not depend on how many there are.
    """
    order = 1 << (features.shape[0] - 1).bit_length()
    T = -(-F // order)
    signs = np.ascontiguousarray(draw("bernoulli", seed, features, 1, T).T)
    numbers = np.arange(order, dtype=np.uint64)
    keys = draw("gaussian", seed ^ _COLUMNS, numbers, 1, T)
    columns = np.argsort(keys, axis=0, kind="stable").T.reshape(-1)[:F].copy()
    return Hadamard(order, signs, columns)


@compiled
def project_hadamard(
    rows: Rows, scale: float, hadamard: Hadamard, Z: FloatArray
) -> None:
    """Project a block of rows into Z (n, F): equation (2).

    The additions are those of the fast transform, in a fixed order. A zero enters as
    +0, whatever its sign and that of its feature, so that a sparse row has the bits of
    the same row dense.
    """
    order = hadamard.order
    T, p = hadamard.signs.shape
    F = Z.shape[1]
    # Where the transforms, made side by side, leave each column.
    place = np.empty(F, np.int64)
    for f in range(F):
        place[f] = hadamard.columns[f] * T + f // order
    v = np.zeros(T * order)
    w = np.zeros(T * order)
    for b in range(Z.shape[0]):
        values, columns = row_at(rows, b)
        v[:] = 0.0
        for t in range(T):
            part = v[t * order : t * order + p]
            if columns.shape[0] > 0:
                _scatter(values, columns, scale, hadamard.signs[t], part)
            elif values.shape[0] > 0:
                _load(values, scale, hadamard.signs[t], part)
        v, w = _transform(v, w, order)
        _gather(v, place, Z[b])


@compiled
def _load(x: FloatArray, scale: float, signs: SingleArray, v: FloatArray) -> None:
    for i in range(v.shape[0]):
        v[i] = x[i] * scale * np.float64(signs[i]) + 0.0


@compiled
def _scatter(
    values: FloatArray,
    columns: IntArray,
    scale: float,
    signs: SingleArray,
    v: FloatArray,
) -> None:
    for j in range(values.shape[0]):
        i = columns[j]
        v[i] = values[j] * scale * np.float64(signs[i]) + 0.0


@compiled
def _gather(v: FloatArray, place: IntArray, z: FloatArray) -> None:
    for f in range(z.shape[0]):
        z[f] = v[place[f]]


@compiled
def _transform(
    v: FloatArray, w: FloatArray, order: int
) -> tuple[FloatArray, FloatArray]:
    """Transform T vectors of length `order`, which stand in v one after the other.

    A stage adds and subtracts neighbours, the sums to the lower half of the other
    array, the differences to its upper half: every stage is the same loop over
    contiguous numbers, whatever the order. Entry i = Σ b_l·2ˡ of vector t moves from
    t·order + i, bit by bit of i, to i·T + t. Two stages are made at a time. Returns the
    array that holds the result, and the other.
    """
    N = v.shape[0]
    quarter = N // 4
    left = order
    while left >= 4:
        _two_stages(
            v,
            w[:quarter],
            w[quarter : 2 * quarter],
            w[2 * quarter : 3 * quarter],
            w[3 * quarter :],
        )
        v, w = w, v
        left //= 4
    if left == 2:
        _one_stage(v, w[: N // 2], w[N // 2 :])
        v, w = w, v
    return v, w


@compiled
def _one_stage(v: FloatArray, low: FloatArray, high: FloatArray) -> None:
    for i in range(low.shape[0]):
        low[i] = v[2 * i] + v[2 * i + 1]
        high[i] = v[2 * i] - v[2 * i + 1]


@compiled
def _two_stages(
    v: FloatArray, w0: FloatArray, w1: FloatArray, w2: FloatArray, w3: FloatArray
) -> None:
    for i in range(w0.shape[0]):
        sum0 = v[4 * i] + v[4 * i + 1]
        sum1 = v[4 * i + 2] + v[4 * i + 3]
        difference0 = v[4 * i] - v[4 * i + 1]
        difference1 = v[4 * i + 2] - v[4 * i + 3]
        w0[i] = sum0 + sum1
        w1[i] = difference0 + difference1
        w2[i] = sum0 - sum1
        w3[i] = difference0 - difference1
