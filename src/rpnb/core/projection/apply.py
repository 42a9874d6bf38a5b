"""Projecting rows before a pass: sparse rows, and distributions without a matrix.

Projecting a sparse row costs its non-zeros only, and a fast transform few additions, so
a single-precision projection beforehand would save nothing. Such rows are projected in
double precision block by block, and the passes get the projections. A sparse row has
the same bits as the same row dense, since zeros change no sum.
"""

from math import sqrt
from typing import Final

import numpy as np
from scipy.sparse import issparse

from rpnb.core.kernels.arrays import FloatArray, IntArray, SingleArray, as_block
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.kernels.rows import RowBlock, RowTable, as_rows, row_at
from rpnb.core.projection.matrices import add_four, add_one, draw_matrix
from rpnb.core.projection.record import STRUCTURED, Projection

# Rows of a matrix that is not kept which are drawn and used together.
_PANEL: Final = 256


def projects_beforehand(projection: Projection, X: RowTable) -> bool:
    """Whether rows of X are projected before the passes rather than by them."""
    return projection.R.shape[0] == 0 or issparse(X)


def rows_for_passes(projection: Projection, X: RowTable) -> FloatArray:
    """Return rows as the passes take them: unchanged (n, p), or projected (n, F)."""
    if projects_beforehand(projection, X):
        return project_rows(projection, X)
    return as_block(X)


def project_rows(projection: Projection, X: RowTable) -> FloatArray:
    """Return the double-precision projections (n, F) of dense or sparse rows."""
    rows = as_rows(X)
    Z = np.zeros((X.shape[0], projection.K * projection.q))
    scale = 1.0 / sqrt(projection.q)
    if projection.distribution in STRUCTURED:
        structured = STRUCTURED[projection.distribution]
        structured.project(rows, scale, projection.structure, Z)
    elif projection.R.shape[0] > 0:
        add_contributions(rows, np.arange(projection.p), scale, projection.R, Z)
    else:
        _draw_and_project(projection, rows, scale, Z)
    return Z


def _draw_and_project(
    projection: Projection, rows: RowBlock, scale: float, Z: FloatArray
) -> None:
    """Project by a matrix too large to keep, drawing its rows as they are needed."""
    met = np.arange(projection.p)
    if rows.columns.shape[0] > 0:
        met = np.unique(rows.columns)
    place = np.full(projection.p, -1)
    for start in range(0, met.shape[0], _PANEL):
        panel = met[start : start + _PANEL]
        R = draw_matrix(
            projection.distribution,
            projection.seed,
            projection.features[panel],
            projection.K,
            projection.q,
        )
        place[panel] = np.arange(panel.shape[0])
        add_contributions(rows, place, scale, R, Z)
        place[panel] = -1


@compiled
def add_contributions(
    rows: RowBlock, place: IntArray, scale: float, R: SingleArray, Z: FloatArray
) -> None:
    """Add to Z (n, F) the contributions of those features whose matrix rows are in R.

    `place` (p,) is the row of R that belongs to each feature, −1 if R does not have it.
    An entry of Z is a chain of fused multiply-adds in the order of the features, as by
    `projection.matrices.project`. Features are taken four at a time, so that a sum is
    loaded and stored once for four.
    """
    x = np.empty(4)
    chosen = np.empty(4, np.int64)
    for b in range(Z.shape[0]):
        values, columns = row_at(rows, b)
        count = 0
        for j in range(values.shape[0]):
            at = place[columns[j] if columns.shape[0] > 0 else j]
            if at >= 0 and values[j] != 0.0:
                x[count] = values[j]
                chosen[count] = at
                count += 1
                if count == 4:
                    add_four(
                        x,
                        scale,
                        R[chosen[0]],
                        R[chosen[1]],
                        R[chosen[2]],
                        R[chosen[3]],
                        Z[b],
                    )
                    count = 0
        for t in range(count):
            add_one(x[t] * scale, R[chosen[t]], Z[b])
