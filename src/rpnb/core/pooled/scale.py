r"""The scale of the features, found by learning the first rows again.

The first 256 labelled rows are kept. After 2, 4, 8, …, 256 rows, the mean m_j and the
population standard deviation s_j of each feature are taken of the rows kept, and all
that depends on the scale is learnt anew from them. Rows are then scaled by

.. math:: z_j = \operatorname{clip}((x_j - m_j)/s_j, -6, 6)

with s_j = 1 where a feature has been constant, and z_j = 0 where x_j is missing.

Afterwards, the last 64 labelled rows are kept, and after every 64 of them each feature
is looked at by itself: where it has left its scale, mean and deviation are taken from
these rows. What was learnt stays: a feature in other units, or shifted as a
whole, has the scaled values that it had before.
"""

from math import sqrt
from typing import Final, NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray, SingleArray
from rpnb.core.kernels.compiling.compiled import compiled

#: Labelled rows after which the scale is fixed.
LAST_REPLAY: Final = 256
#: Labelled rows between two looks at the scale thereafter.
LOOK: Final = 64
#: Standard deviations beyond which scaled values are clipped.
CLIP: Final = 6.0
# A feature has left its scale when so many of the last rows are outside it, or when its
# range has fallen to this part of its former deviation.
_MANY = LOOK // 2
_COLLAPSED = 1.0 / 64.0


class FeatureScale(NamedTuple):
    """Mean and deviation of the features, and the rows to take them from next."""

    mean: FloatArray
    """(p,)"""
    deviation: FloatArray
    """(p,) 1 where the feature has been constant"""
    constant: BoolArray
    """(p,) whether it has been"""
    rows: FloatArray
    """(256, p) the first rows; later, in the first 64 places, the last ones"""
    labels: IntArray
    """(256,) their classes"""
    weight: FloatArray
    """(256,)"""
    seen: IntArray
    """(1,) labelled rows so far"""


def begin(p: int) -> FeatureScale:
    """Return the scale before the first row: none."""
    return FeatureScale(
        np.zeros(p),
        np.ones(p),
        np.ones(p, np.bool_),
        np.zeros((LAST_REPLAY, p)),
        np.zeros(LAST_REPLAY, np.int64),
        np.zeros(LAST_REPLAY),
        np.zeros(1, np.int64),
    )


def next_replay(seen: int) -> int:
    """Return after how many labelled rows the scale is next found by learning anew."""
    event = 2
    while event <= seen:
        event *= 2
    return event


@compiled
def _fit(scale: FeatureScale, j: int, n: int, beyond: float) -> None:
    """Take mean and deviation of feature j from the first n rows kept.

    Only values further than `beyond` from the old mean count; all do if it is negative.
    Deviations are divided by the feature's range before they are squared, so that
    neither huge nor tiny values leave the range of numbers.
    """
    total = 0.0
    low = np.inf
    high = -np.inf
    mean = 0.0
    for i in range(n):
        x = scale.rows[i, j]
        if abs(x - scale.mean[j]) > beyond:
            total += scale.weight[i]
            mean += (x - mean) * (scale.weight[i] / total)
            low = min(low, x)
            high = max(high, x)
    reach = high - low
    square = 0.0
    for i in range(n):
        x = scale.rows[i, j]
        if abs(x - scale.mean[j]) > beyond and reach > 0.0:
            part = (x - mean) / reach
            square += scale.weight[i] / total * (part * part)
    scale.constant[j] = not reach > 0.0
    if total > 0.0:
        scale.mean[j] = mean if reach > 0.0 else low
    scale.deviation[j] = reach * sqrt(square) if reach > 0.0 else 1.0


@compiled
def fit_all(scale: FeatureScale) -> None:
    """Take the scale of all features from the rows kept, of which there are `seen`."""
    for j in range(scale.mean.shape[0]):
        _fit(scale, j, scale.seen[0], -1.0)


@compiled
def _follow(scale: FeatureScale) -> None:
    """Give features that have left their scale another, by the last 64 rows.

    A feature has left it if at least half of its values are beyond the clipping bounds,
    or differ from what was a constant: then the scale is that of these values, since
    the others are from before. It has also left it if it varies, but in a range that is
    small beside its deviation.
    """
    for j in range(scale.mean.shape[0]):
        bound = 0.0 if scale.constant[j] else CLIP * scale.deviation[j]
        outside = 0
        low = np.inf
        high = -np.inf
        for i in range(LOOK):
            x = scale.rows[i, j]
            if not np.isnan(x):
                low = min(low, x)
                high = max(high, x)
                outside += abs(x - scale.mean[j]) > bound
        if outside >= _MANY:
            _fit(scale, j, LOOK, bound)
        elif low < high and high - low < _COLLAPSED * scale.deviation[j]:
            _fit(scale, j, LOOK, -1.0)


@compiled
def apply_scale(scale: FeatureScale, X: FloatArray, z: SingleArray) -> None:
    """Scale rows X (n, p) into z."""
    for i in range(X.shape[0]):
        _apply(scale.mean, scale.deviation, X[i], z[i])


@compiled
def _apply(
    mean: FloatArray, deviation: FloatArray, x: FloatArray, z: SingleArray
) -> None:
    for j in range(x.shape[0]):
        value = (x[j] - mean[j]) / deviation[j]
        value = -CLIP if value < -CLIP else value
        value = CLIP if value > CLIP else value
        z[j] = 0.0 if np.isnan(value) else value


@compiled
def scale_rows(
    scale: FeatureScale, X: FloatArray, y: IntArray, weight: FloatArray, z: SingleArray
) -> None:
    """Scale each row of X (n, p) into z, then keep it if it is labelled.

    After the first 256 labelled rows, features that have left their scale get another
    one on the way. With y of length 0, no row is labelled.
    """
    for i in range(X.shape[0]):
        _apply(scale.mean, scale.deviation, X[i], z[i])
        if y.shape[0] == 0 or y[i] < 0:
            continue
        seen = scale.seen[0]
        slot = seen if seen < LAST_REPLAY else seen % LOOK
        scale.rows[slot] = X[i]
        scale.labels[slot] = y[i]
        scale.weight[slot] = weight[i]
        scale.seen[0] += 1
        if scale.seen[0] > LAST_REPLAY and scale.seen[0] % LOOK == 0:
            _follow(scale)


@compiled
def keep_last_rows(
    scale: FeatureScale, X: FloatArray, y: IntArray, weight: FloatArray, n: int
) -> None:
    """Count n labelled rows after the first 256, and keep the last of them.

    X are the last 64, or all if there are fewer. Where one or more looks at the scale
    were due among the n rows, there is one, after them.
    """
    before = scale.seen[0]
    scale.seen[0] += n - X.shape[0]
    for i in range(X.shape[0]):
        slot = scale.seen[0] % LOOK
        scale.rows[slot] = X[i]
        scale.labels[slot] = y[i]
        scale.weight[slot] = weight[i]
        scale.seen[0] += 1
    if scale.seen[0] // LOOK > before // LOOK:
        _follow(scale)
