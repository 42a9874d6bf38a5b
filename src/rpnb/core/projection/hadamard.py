"""Projections by Walsh-Hadamard transforms: p·log p additions, no matrix.

A block of p₂ columns is R = D H Π E H / √p₂ (as the structured random features of Yu
and others, NIPS 2016, with a permutation): features are padded by zeros to a power of
two, p₂; D and E hold random signs; H is the Hadamard matrix of order p₂, whose entries
are ±1; Π is a random permutation. F columns take T = ⌈F/p₂⌉ blocks, each with its own Π
and E.

An entry is a sum of p₂ random signs over √p₂, nearly normal, of mean 0 and variance 1.
Entries of one column are uncorrelated, and the columns of a block are orthogonal where
p is a power of two, so that a whole block preserves all distances. One transform alone
would give entries ±1, and where one feature dominates, all columns would be alike.
"""

from typing import Final, NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import (
    FloatArray,
    IntArray,
    SingleArray,
    UIntArray,
    checksum,
)
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.kernels.rows import RowBlock, RowValues, row_at
from rpnb.core.projection.matrices import draw_matrix

# Changes of the seed, so that D, Π and E are independent.
_PERMUTATION: Final = 0x7065726D75746174
_SECOND: Final = 0x7365636F6E647369


class Hadamard(NamedTuple):
    """The signs and permutations of T blocks of p₂ columns."""

    signs: SingleArray
    """(p,) D: ±1"""
    places: IntArray
    """(T, p₂) Π: for each input of the second transform, which output of the first"""
    weights: FloatArray
    """(T, p₂) E/√p₂"""


def draw_hadamard(seed: int, features: UIntArray, F: int) -> Hadamard:
    """Draw signs and permutations for `features` (p,) and F columns.

    The sign of a feature is a function of (seed, feature), Π and E of a block are
    functions of (seed, block, p₂). Hence a column does not depend on how many there
    are.
    """
    order = 1 << (features.shape[0] - 1).bit_length()
    T = -(-F // order)
    signs = draw_matrix("bernoulli", seed, features, 1, 1)[:, 0].copy()
    numbers = np.arange(order, dtype=np.uint64)
    keys = draw_matrix("gaussian", seed ^ _PERMUTATION, numbers, 1, T)
    second = draw_matrix("bernoulli", seed ^ _SECOND, numbers, 1, T)
    return Hadamard(
        signs,
        np.ascontiguousarray(np.argsort(keys, axis=0, kind="stable").T),
        np.ascontiguousarray(second.T.astype(np.float64) / np.sqrt(order)),
    )


def fingerprint_hadamard(hadamard: Hadamard) -> int:
    """Return a checksum of all that was drawn, to be kept in model files."""
    return checksum(hadamard)


@compiled
def project_hadamard(
    rows: RowBlock, scale: float, hadamard: Hadamard, Z: FloatArray
) -> None:
    """Project a block of rows into Z (n, F): equation (2).

    The additions are those of the fast transform, in a fixed order. A zero enters as
    +0, whatever its sign and that of its feature, so that a sparse row has the bits of
    the same row dense.
    """
    T, order = hadamard.weights.shape
    v = np.empty(order)
    w = np.empty(order)
    many_v = np.empty(T * order)
    many_w = np.empty(T * order)
    for b in range(Z.shape[0]):
        _load_row(row_at(rows, b), scale, hadamard.signs, v)
        v, w = _transform(v, w, order)
        for t in range(T):
            part = many_v[t * order : (t + 1) * order]
            _gather(v, hadamard.places[t], hadamard.weights[t], part)
        many_v, many_w = _transform(many_v, many_w, order)
        for t in range(T):
            start = t * order
            _store_columns(many_v[t:], T, Z[b, start : start + order])


@compiled
def _load_row(row: RowValues, scale: float, signs: SingleArray, v: FloatArray) -> None:
    """Write a scaled row with its signs to v (p₂,), padded by zeros."""
    values, columns = row
    if columns.shape[0] == 0 and values.shape[0] > 0:
        for i in range(values.shape[0]):
            v[i] = values[i] * scale * np.float64(signs[i]) + 0.0
        v[values.shape[0] :] = 0.0
        return
    v[:] = 0.0
    for j in range(values.shape[0]):
        i = columns[j]
        v[i] = values[j] * scale * np.float64(signs[i]) + 0.0


@compiled
def _gather(
    v: FloatArray, places: IntArray, weights: FloatArray, out: FloatArray
) -> None:
    """Permute v and multiply by the weights."""
    for i in range(out.shape[0]):
        out[i] = weights[i] * v[places[i]]


@compiled
def _store_columns(v: FloatArray, step: int, z: FloatArray) -> None:
    """Write every `step`-th number of v to z: one block of columns."""
    for f in range(z.shape[0]):
        z[f] = v[f * step]


@compiled
def _transform(
    v: FloatArray, w: FloatArray, order: int
) -> tuple[FloatArray, FloatArray]:
    """Transform T vectors of length `order`, stored in v one after the other.

    A stage adds and subtracts neighbours, the sums to the lower half of the other
    array, the differences to its upper half: every stage is the same loop over
    contiguous numbers, whatever the order. Entry i = Σ b_l·2ˡ of vector t moves from
    t·order + i, bit by bit of i, to i·T + t. Two stages are done at a time. Returns the
    array that holds the result, then the other one, which is overwritten.
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
    """Do one stage of the transform: sums of neighbours, and differences."""
    for i in range(low.shape[0]):
        low[i] = v[2 * i] + v[2 * i + 1]
        high[i] = v[2 * i] - v[2 * i + 1]


@compiled
def _two_stages(
    v: FloatArray, w0: FloatArray, w1: FloatArray, w2: FloatArray, w3: FloatArray
) -> None:
    """Do two stages of the transform at once."""
    for i in range(w0.shape[0]):
        sum0 = v[4 * i] + v[4 * i + 1]
        sum1 = v[4 * i + 2] + v[4 * i + 3]
        difference0 = v[4 * i] - v[4 * i + 1]
        difference1 = v[4 * i + 2] - v[4 * i + 3]
        w0[i] = sum0 + sum1
        w1[i] = difference0 + difference1
        w2[i] = sum0 - sum1
        w3[i] = difference0 - difference1
