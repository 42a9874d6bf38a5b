"""Taking observations out of moments again: Theorem 1 of the paper read backwards."""

import numpy as np

from rpnb.core.bayes.moments import Moments, unmerge
from rpnb.core.kernels.arrays import FloatArray, IntArray

# What rounding may make of a scatter of zero, relative to what was subtracted.
_ROUNDING = 1e-6


def copy_moments(moments: Moments) -> Moments:
    """Return an independent copy."""
    return Moments(*(part.copy() for part in moments))


def without(moments: Moments, part: Moments) -> tuple[Moments, IntArray, IntArray]:
    """Return the moments without those of `part`, and classes where that cannot be.

    Those whose weight would become negative, and those where some column's scatter
    would: then `part` cannot be of rows that were learned. `moments` stay as they are.
    """
    rest = moments.weight - part.weight
    # Weights that were added up in another order may differ in the last bits.
    slack = 1e-9 * moments.weight
    too_heavy = np.flatnonzero(rest < -slack)
    out = copy_moments(moments)
    near = np.abs(rest) <= slack
    strange = []
    for m in np.flatnonzero(part.weight > 0.0).tolist():
        if near[m]:
            # All that the class had is removed: what is left must be rounding.
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
    """Return the sums of squares (F,) of class m, the scale of rounding errors."""
    return part.weight[m] * part.mean[m] * part.mean[m]


def _scatter_left(moments: Moments, part: Moments, m: int, rest: float) -> FloatArray:
    """Return an upper bound (F,) of what is left of class m's scatter."""
    removed = part.weight[m]
    delta = (moments.mean[m] - part.mean[m]) * ((rest + removed) / rest)
    between = delta * delta * (rest * (removed / (rest + removed)))
    left = moments.scatter[m] - part.scatter[m] - between
    size = moments.scatter[m] + part.scatter[m] + between
    return left + _ROUNDING * size
