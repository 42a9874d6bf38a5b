"""Scaling each row by the mean and deviation of the rows before it.

Formulas and their sources are above the kernels, in ``cpp/stream/running_scale.h``.
"""

from typing import Final

import numpy as np

from rpnb._core.streams import RunningScale, scale_rows, scale_sparse_rows
from rpnb.core.kernels.arrays import FloatArray

__all__ = [
    "RunningScale",
    "copy_scale",
    "fade_scale",
    "merge_scales",
    "new_scale",
    "scale_rows",
    "scale_sparse_rows",
    "variances",
]

# A smaller variance may be the result of underflow: the column counts as constant.
_LEAST_VARIANCE: Final = 1e-280
_LEAST_WEIGHT: Final = 1e-300


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
    """Return an independent copy."""
    return RunningScale(*scale)


def variances(scale: RunningScale) -> FloatArray:
    """Return the variance (p,) of each column, or its mean square if not centred.

    It is 0 where a column has not varied, or has no value yet.
    """
    weight = np.maximum(scale.weight[0] - scale.missing, 0.0)
    variance = scale.scatter / np.maximum(weight, _LEAST_WEIGHT)
    return np.where((weight > 0.0) & (variance > _LEAST_VARIANCE), variance, 0.0)


def merge_scales(
    scale: RunningScale, other: RunningScale, base: RunningScale | None = None
) -> RunningScale:
    """Return the scale of all rows of two scales, those of `base` counted once.

    Chan, Golub & LeVeque (1983), equations 1.5, and their inverse to subtract the base.
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
    """Return the weight (p,) of the values present in each column."""
    return np.maximum(scale.weight[0] - scale.missing, 0.0)


def fade_scale(scale: RunningScale, factor: float) -> None:
    """Multiply the weight of all rows so far by `factor`; the scale does not change."""
    for array in (scale.scatter, scale.missing, scale.weight):
        array *= factor
