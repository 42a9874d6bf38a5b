"""Projections whose entries are mostly zero (Li, Hastie & Church, KDD 2006).

An entry is −√s, 0, √s with probabilities 1/(2s), 1 − 1/s, 1/(2s), where s = √p. A row
of the matrix has F/s non-zeros on average, so that an observation with few non-zeros is
projected in a time that falls with p. The matrix is kept as compressed rows, √p·F
entries in all, and drawn by skipping a geometric number of zeros at a time.
"""

from math import sqrt
from typing import Final, NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import (
    FloatArray,
    IntArray,
    UIntArray,
    WordArray,
    checksum,
)
from rpnb.core.kernels.compiling.compiled import compiled, fused_multiply_add
from rpnb.core.kernels.random_bits import fill_logs, philox
from rpnb.core.kernels.rows import RowBlock, row_at

_CELL: Final = 2.0**-31
_LOW: Final = np.uint64(0xFFFFFFFF)
_HALF: Final = np.uint64(32)


class VerySparse(NamedTuple):
    """A matrix (p, F) with entries −`size`, 0, `size`, as compressed rows."""

    starts: IntArray
    """(p + 1,) where the entries of each row start, and the end of the last"""
    entries: WordArray
    """the column f of a positive entry, −1 − f of a negative one; rising in f"""
    size: float
    """√s, rounded to single precision as the entries of all distributions are"""


def draw_very_sparse(seed: int, features: UIntArray, F: int) -> VerySparse:
    """Draw the rows that belong to `features` (p,), for s = √p.

    Between two entries of a row there is a geometric number of zeros. The t-th such
    number of a row is a function of (seed, feature, t), hence a row's first columns do
    not depend on how many there are.
    """
    s = sqrt(features.shape[0])
    per_skip = 0.0  # one over log(1 − 1/s); no zeros are skipped if s = 1
    if s > 1.0:
        none = np.array([1.0 - 1.0 / s])
        fill_logs(none, np.empty(1, np.int32))
        per_skip = 1.0 / float(none[0])
    starts = np.zeros(features.shape[0] + 1, np.int64)
    # Enough for the expected number of entries; `_draw_entries` enlarges it.
    capacity = np.empty(int(features.shape[0] * (F / s + 1.0)), np.int32)
    entries = _draw_entries(np.uint64(seed), features, F, s, per_skip, starts, capacity)
    return VerySparse(starts, entries, float(np.float32(sqrt(s))))


@compiled
def _draw_entries(
    seed: np.uint64,
    features: UIntArray,
    F: int,
    s: float,
    per_skip: float,
    starts: IntArray,
    entries: WordArray,
) -> WordArray:
    """Fill `starts` (p + 1,) and return the entries of all rows."""
    # Skips drawn at once, four per counter: enough for most rows.
    mean = F / s
    batch = int(mean + 2.0 * sqrt(mean)) // 4 + 1
    counters = np.empty((4, batch), np.uint64)
    skips = np.empty(4 * batch)
    signs = np.empty(4 * batch, np.int32)
    power = np.empty(4 * batch, np.int32)
    used = 0
    for i in range(features.shape[0]):
        if used + F > entries.shape[0]:
            larger = np.empty(2 * entries.shape[0] + F, np.int32)
            larger[:used] = entries[:used]
            entries = larger
        f = 0
        turn = 0
        while f < F:
            _fill_skips(seed, features[i], turn, counters, skips, signs, power)
            for t in range(skips.shape[0]):
                f += int(skips[t] * per_skip)
                if f >= F:
                    break
                entries[used] = f ^ signs[t]
                used += 1
                f += 1
            turn += 1
        starts[i + 1] = used
    return entries[:used].copy()


@compiled
def _fill_skips(
    seed: np.uint64,
    feature: np.uint64,
    turn: int,
    counters: UIntArray,
    skips: FloatArray,
    signs: WordArray,
    power: WordArray,
) -> None:
    """Draw the logarithms of uniform numbers, and signs: 0 or −1."""
    batch = counters.shape[1]
    for c in range(batch):
        counters[0, c] = turn * batch + c
    counters[1] = 0
    counters[2] = feature & _LOW
    counters[3] = feature >> _HALF
    philox(counters, seed)
    for c in range(batch):
        for lane in range(4):
            word = np.int64(counters[lane, c])
            signs[4 * c + lane] = -(word & 1)
            skips[4 * c + lane] = ((word >> 1) + 0.5) * _CELL
    fill_logs(skips, power)


def fingerprint_very_sparse(matrix: VerySparse) -> int:
    """Return a checksum of the matrix, to be kept in model files."""
    return checksum([matrix.starts, matrix.entries])


@compiled
def project_very_sparse(
    rows: RowBlock, scale: float, matrix: VerySparse, Z: FloatArray
) -> None:
    """Project a block of rows into Z (n, F): equation (2).

    The additions are those of `projection.matrices.project` by the same matrix with
    its zeros, in the same order: zeros, of x or of R, change no sum.
    """
    starts, entries, size = matrix.starts, matrix.entries, matrix.size
    for b in range(Z.shape[0]):
        z = Z[b]
        z[:] = 0.0
        values, columns = row_at(rows, b)
        for j in range(values.shape[0]):
            x = values[j] * scale
            if x != 0.0:
                i = columns[j] if columns.shape[0] > 0 else j
                _add_row(x, size, entries[starts[i] : starts[i + 1]], z)


@compiled
def _add_row(x: float, size: float, entries: WordArray, z: FloatArray) -> None:
    """Add x times a compressed row of the matrix to z (F,)."""
    for t in range(entries.shape[0]):
        entry = entries[t]
        f = entry ^ (entry >> 31)
        z[f] = fused_multiply_add(x if entry >= 0 else -x, size, z[f])
