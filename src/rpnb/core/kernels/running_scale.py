r"""Scaling each row by the mean and deviation of the rows before it.

Of the rows so far, with weights w, each column has its mean m and scatter S (the sum of
squared deviations from the mean). A row is scaled by what is known before it,

.. math:: z = \operatorname{clip}((x - m) / \sqrt{S/w}, -c, c)

with z = 0 where a column has not varied yet, and is then added by

.. math:: \delta = x - m, \quad m' = m + \delta\,\frac{w_x}{w + w_x}, \quad
          S' = S + \delta^2\,\frac{w\,w_x}{w + w_x}

(Chan, Golub & LeVeque 1983, equations 1.3). Rows are added one by one, in their order,
so that no bit depends on how they are cut into calls. Missing values (NaN) stay missing
and are not counted.

Where rows are sparse they are not centred: m stays 0, S is the sum of squares, and what
a row leaves out is a zero. Then a row costs as much as it has entries.
"""

from math import sqrt
from typing import Final, NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.kernels.rows import RowBlock

# A variance below this may be what underflow has left of one: the column is constant.
_LEAST_VARIANCE: Final = 1e-280
_LEAST_WEIGHT: Final = 1e-300


class RunningScale(NamedTuple):
    """Mean and scatter of the columns of all rows so far."""

    mean: FloatArray
    """(p,) zero where rows are not centred"""
    scatter: FloatArray
    """(p,) summed squared deviations from the mean"""
    missing: FloatArray
    """(p,) weight of the rows without a value"""
    weight: FloatArray
    """(1,) weight of all rows"""
    seen: IntArray
    """(1,) number of rows"""
    centred: BoolArray
    """(1,) whether rows are centred"""


def new_scale(p: int, *, centred: bool) -> RunningScale:
    """Return the scale before the first row."""
    return RunningScale(
        np.zeros(p),
        np.zeros(p),
        np.zeros(p),
        np.zeros(1),
        np.zeros(1, np.int64),
        np.array([centred]),
    )


def copy_scale(scale: RunningScale) -> RunningScale:
    """Return a scale with arrays of its own."""
    return scale._replace(**{k: v.copy() for k, v in scale._asdict().items()})


def variances(scale: RunningScale) -> FloatArray:
    """Return the variance (p,) of each column: about zero where rows are not centred.

    It is 0 where a column has not varied, or has no value yet.
    """
    weight = np.maximum(scale.weight[0] - scale.missing, 0.0)
    variance = scale.scatter / np.maximum(weight, _LEAST_WEIGHT)
    return np.where((weight > 0.0) & (variance > _LEAST_VARIANCE), variance, 0.0)


@compiled
def _scaled(x: float, mean: float, scatter: float, weight: float, clip: float) -> float:
    """Return one value scaled; a missing one stays missing."""
    variance = scatter / weight
    z = (x - mean) / sqrt(variance)
    z = -clip if z < -clip else z
    z = clip if z > clip else z
    # Also where there is nothing to divide by: 0/0 is not greater than anything.
    return z if variance > _LEAST_VARIANCE else (x - x)


@compiled
def _apply(
    scale: RunningScale, x: FloatArray, total: float, clip: float, out: FloatArray
) -> None:
    """Scale a dense row x (p,) into `out`."""
    mean, scatter, missing = scale.mean, scale.scatter, scale.missing
    for j in range(x.shape[0]):
        known = max(total - missing[j], 0.0)
        out[j] = _scaled(x[j], mean[j], scatter[j], known, clip)


@compiled
def _add(scale: RunningScale, x: FloatArray, total: float, w: float) -> None:
    """Add a dense row x (p,) of weight w to what weighs `total`."""
    mean, scatter, missing = scale.mean, scale.scatter, scale.missing
    # No branch in the loops: a missing value has weight 0, and is no deviation.
    if scale.centred[0]:
        for j in range(x.shape[0]):
            absent = np.isnan(x[j])
            delta = 0.0 if absent else x[j] - mean[j]
            added = 0.0 if absent else w
            before = max(total - missing[j], 0.0)
            share = added / max(before + added, _LEAST_WEIGHT)
            mean[j] += delta * share
            scatter[j] += delta * delta * (before * share)
            missing[j] += w - added
    else:
        for j in range(x.shape[0]):
            absent = np.isnan(x[j])
            value = 0.0 if absent else x[j]
            scatter[j] += w * (value * value)
            missing[j] += w if absent else 0.0


@compiled
def scale_rows(
    scale: RunningScale,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    size: int,
    clip: float,
    out: FloatArray,
) -> None:
    """Scale rows X (n, p) into `out`, each by the rows before it, and add them.

    Parameters
    ----------
    y : (n,)
        A row whose number is negative is scaled and not added.
    weight : (n,) or (1,)
        One for each row, or one for all.
    size
        Rows of a mini-batch: they are scaled by the rows before the first of them.
    """
    n = X.shape[0]
    for start in range(0, n, size):
        stop = min(start + size, n)
        for i in range(start, stop):
            _apply(scale, X[i], scale.weight[0], clip, out[i])
        for i in range(start, stop):
            if y[i] >= 0:
                w = weight[i % weight.shape[0]]
                _add(scale, X[i], scale.weight[0], w)
                scale.weight[0] += w
                scale.seen[0] += 1


@compiled
def scale_sparse_rows(
    scale: RunningScale,
    rows: RowBlock,
    y: IntArray,
    weight: FloatArray,
    size: int,
    clip: float,
    out: FloatArray,
) -> None:
    """Scale sparse rows into `out`, their values; otherwise as `scale_rows` does."""
    n = rows.starts.shape[0] - 1
    for start in range(0, n, size):
        stop = min(start + size, n)
        for e in range(rows.starts[start], rows.starts[stop]):
            j = rows.columns[e]
            known = max(scale.weight[0] - scale.missing[j], 0.0)
            out[e] = _scaled(rows.values[e], 0.0, scale.scatter[j], known, clip)
        for i in range(start, stop):
            if y[i] >= 0:
                w = weight[i % weight.shape[0]]
                for e in range(rows.starts[i], rows.starts[i + 1]):
                    j, x = rows.columns[e], rows.values[e]
                    if np.isnan(x):
                        scale.missing[j] += w
                    else:
                        scale.scatter[j] += w * (x * x)
                scale.weight[0] += w
                scale.seen[0] += 1


def merge_scales(
    scale: RunningScale, other: RunningScale, base: RunningScale | None = None
) -> RunningScale:
    """Return the scale of all rows of two scales; those of the base are counted once.

    Chan, Golub & LeVeque (1983), equations 1.5; taking the base away is their inverse.
    """
    if base is not None:
        other = _without(other, base)
    mine, its = _counts(scale), _counts(other)
    both = mine + its
    share = np.where(both > 0.0, its / np.maximum(both, _LEAST_WEIGHT), 0.0)
    delta = other.mean - scale.mean
    return RunningScale(
        scale.mean + delta * share,
        scale.scatter + other.scatter + delta * delta * (mine * share),
        scale.missing + other.missing,
        scale.weight + other.weight,
        scale.seen + other.seen,
        scale.centred.copy(),
    )


def _without(scale: RunningScale, base: RunningScale) -> RunningScale:
    """Return the scale of the rows that were added after `base`."""
    whole, removed = _counts(scale), _counts(base)
    rest = np.maximum(whole - removed, 0.0)
    some = rest > 0.0
    ratio = np.where(some, whole / np.where(some, rest, 1.0), 0.0)
    delta = (scale.mean - base.mean) * ratio
    between = delta * delta * (rest * (removed / np.maximum(whole, _LEAST_WEIGHT)))
    scatter = np.maximum(scale.scatter - base.scatter - between, 0.0)
    return RunningScale(
        np.where(some, base.mean + delta, 0.0),
        np.where(some, scatter, 0.0),
        np.maximum(scale.missing - base.missing, 0.0),
        scale.weight - base.weight,
        scale.seen - base.seen,
        scale.centred.copy(),
    )


def _counts(scale: RunningScale) -> FloatArray:
    """Return the weight (p,) of the values of each column."""
    return np.maximum(scale.weight[0] - scale.missing, 0.0)


def fade_scale(scale: RunningScale, factor: float) -> None:
    """Multiply the weight of all rows so far by `factor`; the scale stays as it is."""
    for array in (scale.scatter, scale.missing, scale.weight):
        array *= factor
