"""The screened pass of one model over many blocks of rows."""

from functools import partial
from typing import NamedTuple

import numpy as np

from rpnb.core.bayes.model import Model
from rpnb.core.kernels.arrays import FloatArray, IntArray, SingleArray, as_block
from rpnb.core.kernels.rows import RowTable, row_blocks
from rpnb.core.kernels.threads import call_one_ahead
from rpnb.core.passes.blocks import (
    WIDE_FEATURES,
    block_rows,
    count_labelled,
    weights_of,
)
from rpnb.core.passes.calibrated import learn_cells, with_cells
from rpnb.core.passes.screened.kernel import pass_screened
from rpnb.core.passes.screened.scores import (
    centre_projected,
    centre_rows,
    empty_single_densities,
    project_centred,
    refresh_single_densities,
)
from rpnb.core.projection.apply import projects_beforehand, rows_for_passes
from rpnb.core.projection.matrices import project

# Rows scored together.
_NARROW_STEP = 8
_WIDE_STEP = 32
# Rows that BLAS projects at a time: enough to be efficient, and to stay in the cache.
_TOGETHER = 128


class _BlockWorkspace(NamedTuple):
    """Arrays into which a block of rows is prepared for its pass."""

    centred: SingleArray
    """(rows, p), or (0, p) where rows come projected"""
    Z: SingleArray
    """(rows, F), or (step, F) where the pass projects"""
    extra: SingleArray
    """(few, F), for `rpnb.core.passes.screened.scores.product`"""
    projection_error: FloatArray
    """(rows,)"""
    row_norm: FloatArray
    """(rows,)"""


class ScreenedPass:
    """Runs the screened pass of one model over many blocks of rows.

    Blocks have `size` rows, a multiple of four. Rows are scored `step` at a time, and
    projected with their step (`by_step`) or with their block. With two `jobs`, a block
    is projected in a thread while the pass is busy with the block before it. These
    parameters change speed and memory only, never a result.
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
        p, F = model.projection.p, model.F
        wide = p > WIDE_FEATURES
        self._model = model
        self._projected = projects_beforehand(model.projection, X)
        self._learner = model.kernel_state(projected=self._projected)
        self._size = size or block_rows(p, F)
        self._step = step or (_WIDE_STEP if wide else _NARROW_STEP)
        self._densities = empty_single_densities(model.M, F)
        if not self._projected:
            self._x0 = as_block(X[: self._size]).mean(axis=0)
            first = np.zeros(1, np.int64)
            origin = self._densities.origin[None, :]
            project(
                self._x0[None, :], first, self._learner.scale, self._learner.R, origin
            )
            self.refresh(np.arange(model.M))
        # If rows are projected beforehand, the first block gives the origin.
        self._has_origin = not self._projected
        # BLAS is fastest for wide rows, many at once; the pass projects narrow ones.
        narrow = not wide if by_step is None else by_step
        self._by_step = narrow and not self._projected
        rows = min(self._size, -(-X.shape[0] // 4) * 4)
        ahead = jobs > 1 and not self._by_step and X.shape[0] > rows
        self._workspaces = [self._workspace(rows) for _ in range(2 if ahead else 1)]

    def _workspace(self, rows: int) -> _BlockWorkspace:
        return _BlockWorkspace(
            np.zeros((0 if self._projected else rows, self._model.projection.p), "f4"),
            np.zeros((self._step if self._by_step else rows, self._model.F), "f4"),
            np.empty((min(rows, _TOGETHER), self._model.F), "f4"),
            np.empty(rows),
            np.empty(rows),
        )

    def refresh(self, classes: IntArray) -> None:
        """Recompute the single-precision densities of the named classes."""
        for m in classes.tolist():
            refresh_single_densities(self._densities, m, self._model.gaussians)

    def run(
        self,
        X: RowTable,
        y: IntArray,
        weight: FloatArray,
        learn: int,
        labels: IntArray,
    ) -> None:
        """Pass over rows of X; see `rpnb.core.passes.exact.pass_exact`."""
        workspaces = self._workspaces
        cuts = list(row_blocks(X.shape[0], self._size))
        work = [
            partial(self._prepare, X[rows], workspaces[number % len(workspaces)])
            for number, rows in enumerate(cuts)
        ]
        prepared = call_one_ahead(work, jobs=len(workspaces))
        for rows, (x, workspace) in zip(cuts, prepared, strict=True):
            learner = self._learner
            if learn:
                learner = with_cells(self._model, learner, y[rows])
            updates = pass_screened(
                learner,
                self._densities,
                x,
                workspace.centred if self._by_step else workspace.centred[:0],
                workspace.Z,
                workspace.projection_error,
                workspace.row_norm,
                y[rows] if learn else y[:0],
                weights_of(weight, rows),
                learn,
                self._step,
                labels[rows],
            )
            if learn:
                learn_cells(self._model, learner, y[rows])
                self._model.n_seen += count_labelled(y[rows])
                self._model.n_updates += updates

    def _prepare(
        self, X: RowTable, workspace: _BlockWorkspace
    ) -> tuple[FloatArray, _BlockWorkspace]:
        """Return a block of rows as the pass takes them, and the filled workspace."""
        x = rows_for_passes(self._model.projection, X)
        if self._projected:
            if not self._has_origin:
                self._densities.origin[:] = x.mean(axis=0)
                self.refresh(np.arange(self._model.M))
                self._has_origin = True
            centre_projected(
                x,
                self._densities.origin,
                workspace.Z,
                workspace.projection_error,
                workspace.row_norm,
            )
            return x, workspace
        centre_rows(
            x,
            self._x0,
            self._learner.scale,
            self._model.projection.max_column_norm,
            workspace.centred,
            workspace.projection_error,
            workspace.row_norm,
        )
        if not self._by_step:
            n = x.shape[0]
            project_centred(
                workspace.centred[:n], self._learner.R, workspace.extra, workspace.Z[:n]
            )
        return x, workspace
