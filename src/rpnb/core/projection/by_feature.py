"""Rows of random projections for features that may appear at any time.

An entry of a projection is a function of the seed, the feature and the column, so
features need not be known in advance: the row of a feature is drawn when it first
appears, and kept. An observation is projected only by the rows of its features, since
an absent feature is zero and changes no sum.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray, SingleArray, UIntArray
from rpnb.core.projection.matrices import Distribution, draw_matrix
from rpnb.core.projection.record import Projection


@dataclass(slots=True)
class DrawnFeatures:
    """The rows drawn so far, in the order of drawing, in arrays with spare capacity."""

    distribution: Distribution
    seed: int
    K: int
    q: int
    p: int
    """number of rows drawn"""
    features: UIntArray
    """(at least p,) the features' numbers"""
    R: SingleArray
    """(at least p, F) their rows"""
    squares: FloatArray
    """(F,) sum of the squares of each column of R"""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy the parameters; the rows are drawn again."""
        features = self.features[: self.p].copy()
        return draw_features, (self.distribution, self.seed, self.K, self.q, features)


def draw_features(
    distribution: Distribution, seed: int, K: int, q: int, features: UIntArray
) -> DrawnFeatures:
    """Draw the matrix rows of the given features, to which others can be added."""
    R = np.empty((0, K * q), np.float32)
    empty = np.empty(0, np.uint64)
    rows = DrawnFeatures(distribution, seed, K, q, 0, empty, R, np.zeros(K * q))
    add_features(rows, features)
    return rows


def add_features(rows: DrawnFeatures, features: UIntArray) -> None:
    """Draw the rows of further features, after those drawn already.

    The capacity at least doubles when it runs out, so that the cost of p features is
    proportional to p, whether they come one by one or at once.
    """
    stop = rows.p + features.shape[0]
    if stop > rows.features.shape[0]:
        capacity = max(stop, 2 * rows.features.shape[0])
        rows.features = _enlarged(rows.features, rows.p, capacity)
        rows.R = _enlarged(rows.R, rows.p, capacity)
    drawn = draw_matrix(rows.distribution, rows.seed, features, rows.K, rows.q)
    rows.features[rows.p : stop] = features
    rows.R[rows.p : stop] = drawn
    rows.squares += np.einsum("pf,pf->f", drawn, drawn, dtype=np.float64)
    rows.p = stop


def projection_of(rows: DrawnFeatures, which: IntArray) -> Projection:
    """Return the projection of some of the features, in the given order.

    It shares no array with `rows`. Its `max_column_norm`, which is only used in error
    bounds, is that of all rows.
    """
    return Projection(
        rows.distribution,
        rows.seed,
        rows.features[which],
        rows.K,
        rows.q,
        rows.R[which],
        sqrt(rows.squares.max()),
    )


def _enlarged(array: np.ndarray, used: int, capacity: int) -> np.ndarray:
    larger = np.empty((capacity, *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger
