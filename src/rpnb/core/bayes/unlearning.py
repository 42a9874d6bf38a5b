"""Removing observations from moments: the inverse of Theorem 1 of the paper."""

import numpy as np

from rpnb.core.bayes.statistics import Moments, unmerge
from rpnb.core.kernels.arrays import FloatArray, IntArray

# Rounding error of a scatter that should be 0, relative to what was subtracted.
_ROUNDING = 1e-6


def copy_moments(moments: Moments) -> Moments:
    """Return an independent copy."""
    return Moments(*(part.copy() for part in moments))


def without(moments: Moments, part: Moments) -> tuple[Moments, IntArray, IntArray]:
    """Return the moments without those of `part`, and the classes where that fails.

    It fails, since the rows of `part` were not learned, for the classes in the second
    result, whose weight would become negative, and for those in the third, which have a
    column whose scatter would. `moments` are not changed.
    """
    rest = moments.weight - part.weight
    # Weights summed in another order may differ in the last bits.
    slack = 1e-9 * moments.weight
    too_heavy = np.flatnonzero(rest < -slack)
    out = copy_moments(moments)
    near = np.abs(rest) <= slack
    strange = []
    for m in np.flatnonzero(part.weight > 0.0).tolist():
        if near[m]:
            # Nothing of the class is left: any remainder must be rounding error.
            distance = part.mean[m] - moments.mean[m]
            spread = moments.scatter[m] - part.scatter[m]
            wrong = part.weight[m] * distance * distance + np.abs(spread)
            if (wrong > _ROUNDING * (part.scatter[m] + _square(part, m))).any():
                strange.append(m)
            out.weight[m] = out.mean[m] = out.scatter[m] = 0.0
        elif rest[m] > 0.0:
            if (_scatter_left(moments, part, m, rest[m]) < 0.0).any():
                strange.append(m)
            unmerge(out, m, part, m)
    return out, too_heavy, np.array(strange, dtype=np.int64)


def _square(part: Moments, m: int) -> FloatArray:
    """Return the sums of squares (F,) of class m, to which rounding errors relate."""
    return part.weight[m] * part.mean[m] * part.mean[m]


def _scatter_left(moments: Moments, part: Moments, m: int, rest: float) -> FloatArray:
    """Return an upper bound (F,) of class m's scatter without `part`."""
    removed = part.weight[m]
    delta = (moments.mean[m] - part.mean[m]) * ((rest + removed) / rest)
    between = delta * delta * (rest * (removed / (rest + removed)))
    left = moments.scatter[m] - part.scatter[m] - between
    size = moments.scatter[m] + part.scatter[m] + between
    return left + _ROUNDING * size
