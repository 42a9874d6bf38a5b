"""The screened pass: most labels are decided in single precision.

Single-precision scores come with error bounds; see ``cpp/rpnb/screened.h``. Only where
the bounds of two classes overlap are double-precision scores computed, so the labels
are those of the exact pass.
"""

from functools import partial
from math import sqrt
from typing import NamedTuple

import numpy as np

from rpnb._core.passes import (
    SingleDensities,
    centre_projected,
    centre_rows,
    features_per_sum,
    run_screened,
)
from rpnb.core.bayes.model import Model
from rpnb.core.kernels.arrays import FloatArray, IntArray, SingleArray, as_block
from rpnb.core.kernels.row_blocks import RowTable, row_blocks, weights_of
from rpnb.core.kernels.threads import call_one_ahead
from rpnb.core.projection.apply import (
    WIDE_FEATURES,
    block_rows,
    projects_in_advance,
    rows_for_passes,
)
from rpnb.core.projection.matrices import project

# Rows scored together.
_NARROW_STEP = 8
_WIDE_STEP = 32
# Rows that BLAS projects at a time: enough to be efficient, and to stay in the cache.
_TOGETHER = 128


class _CentredRows(NamedTuple):
    """Arrays for a block of rows, centred and projected in single precision."""

    centred: SingleArray
    """(rows, p), or (0, p) if rows come projected"""
    Z: SingleArray
    """(rows, F), or (0, F) if the compiled pass projects them"""
    extra: SingleArray
    """(at most 128, F), working space of `project_centred`"""
    projection_error: FloatArray
    """(rows,)"""
    row_norm: FloatArray
    """(rows,)"""


class ScreenedPass:
    """Runs the screened pass of one model over many blocks of rows.

    Blocks have `size` rows, a multiple of four. Rows are scored `step` at a time, and
    projected with their step (`by_step`) or with their block. With two `jobs`, a thread
    projects a block while the pass works on the one before. These parameters affect
    speed and memory only, never a result.
    """

    def __init__(
        self,
        model: Model,
        X: RowTable,
        size: int | None = None,
        step: int | None = None,
        by_step: bool | None = None,
        jobs: int = 1,
    ) -> None:
        projection, F = model.projection, model.F
        wide = projection.p > WIDE_FEATURES
        self._model = model
        self._scale = 1.0 / sqrt(projection.q)
        self._projected = projects_in_advance(projection, X)
        self._size = size or block_rows(projection.p, F)
        self._step = step or (_WIDE_STEP if wide else _NARROW_STEP)
        self._densities = SingleDensities.empty(model.M, F)
        self._x0 = np.zeros(0)
        if not self._projected:
            self._x0 = as_block(X[: self._size]).mean(axis=0)
            first = np.zeros(1, np.int64)
            origin = self._densities.origin[None, :]
            project(self._x0[None, :], first, self._scale, projection.R, origin)
        # If rows are projected in advance, the first block gives the origin.
        self._has_origin = not self._projected
        # BLAS is fastest for blocks of wide rows; the pass itself projects narrow ones.
        narrow = not wide if by_step is None else by_step
        self._by_step = narrow and not self._projected
        rows = min(self._size, -(-X.shape[0] // 4) * 4)
        ahead = jobs > 1 and not self._by_step and X.shape[0] > rows
        self._workspaces = [self._workspace(rows) for _ in range(2 if ahead else 1)]

    def _workspace(self, rows: int) -> _CentredRows:
        p, F = self._model.projection.p, self._model.F
        if self._by_step:
            rows = 0
        return _CentredRows(
            np.zeros((0 if self._projected else rows, p), "f4"),
            np.zeros((rows, F), "f4"),
            np.empty((min(rows, _TOGETHER), F), "f4"),
            np.empty(rows),
            np.empty(rows),
        )

    def run(
        self,
        X: RowTable,
        y: IntArray,
        weight: FloatArray,
        learn: int,
        labels: IntArray,
    ) -> None:
        """Predict rows of X, then learn them; see `rpnb.core.passes.engine.run`."""
        workspaces = self._workspaces
        cuts = list(row_blocks(X.shape[0], self._size))
        work = [
            partial(self._prepare, X[rows], workspaces[number % len(workspaces)])
            for number, rows in enumerate(cuts)
        ]
        prepared = call_one_ahead(work, jobs=len(workspaces))
        for rows, (x, workspace) in zip(cuts, prepared, strict=True):
            run_screened(
                self._model,
                self._densities,
                self._x0,
                x,
                self._projected,
                y[rows] if learn else y[:0],
                weights_of(weight, rows),
                learn,
                labels[rows],
                workspace.Z,
                workspace.projection_error,
                workspace.row_norm,
                self._step,
            )

    def _prepare(
        self, X: RowTable, workspace: _CentredRows
    ) -> tuple[FloatArray, _CentredRows]:
        """Return a block of rows as the pass takes them, and the filled workspace."""
        x = rows_for_passes(self._model.projection, X)
        if self._projected:
            if not self._has_origin:
                self._densities.origin[:] = x.mean(axis=0)
                self._has_origin = True
            centre_projected(
                x,
                self._densities.origin,
                workspace.Z,
                workspace.projection_error,
                workspace.row_norm,
            )
        elif not self._by_step:
            projection, n = self._model.projection, x.shape[0]
            centre_rows(
                x,
                self._x0,
                self._scale,
                projection.max_column_norm,
                workspace.centred,
                workspace.projection_error,
                workspace.row_norm,
            )
            project_centred(
                workspace.centred[:n], projection.R, workspace.extra, workspace.Z[:n]
            )
        return x, workspace


def project_centred(
    centred: SingleArray, R: SingleArray, extra: SingleArray, Z: SingleArray
) -> None:
    """Project centred rows (n, p) in single precision: Z = centred·R.

    Many features are divided into groups. BLAS sums each group in any order, and the
    sums of the groups are added one by one, so that each group adds only one rounding
    error to the bound. `extra` (≥ 1, F) is working space; its length is the number of
    rows handled at a time.
    """
    p = R.shape[0]
    group = features_per_sum(p)
    # Labels of rows that overflow are decided in double precision.
    with np.errstate(over="ignore", invalid="ignore"):
        if group == p:
            np.matmul(centred, R, out=Z)
            return
        for start in range(0, Z.shape[0], extra.shape[0]):
            rows = slice(start, start + extra.shape[0])
            x, z = centred[rows], Z[rows]
            np.matmul(x[:, :group], R[:group], out=z)
            for i in range(group, p, group):
                part = extra[: z.shape[0]]
                np.matmul(x[:, i : i + group], R[i : i + group], out=part)
                np.add(z, part, out=z)
