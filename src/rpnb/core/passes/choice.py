"""The choice between the screened and the quadratic pass, block by block.

Both give the same labels and state; the choice only matters to speed. It compares the
costs of `core.passes.costs` with what has been measured along the stream.
"""

from typing import Literal, TypeAlias

import numpy as np

from rpnb.core.bayes.model import Model
from rpnb.core.bayes.state import LEARN_ALL
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray, as_block
from rpnb.core.kernels.rows import RowTable
from rpnb.core.passes.blocks import block_rows, count_labelled, weights_of
from rpnb.core.passes.calibrated import learn_cells, with_cells
from rpnb.core.passes.costs import (
    column_cost,
    exact_score_cost,
    quadratic_cost,
    rebuild_cost,
    undecided_cost,
    update_cost,
)
from rpnb.core.passes.quadratic.kernel import pass_quadratic
from rpnb.core.passes.quadratic.rebuild import rebuild_stale
from rpnb.core.passes.quadratic.record import MOST_STEP, empty_forms
from rpnb.core.passes.screened.screened_pass import ScreenedPass
from rpnb.core.projection.apply import projects_beforehand
from rpnb.core.projection.matrices import project

Path: TypeAlias = Literal["auto", "columns", "quadratic"]

# The quadratic pass runs for about `_CHANGES` updates before the choice is made again,
# within these numbers of rows. The expected rate of updates counts as `_EXPECTED` rows;
# the rate is averaged over `_WINDOW` rows.
_CHANGES = 256
_FEWEST_ROWS = 1024
_MOST_ROWS = 65536
_EXPECTED = 64
_WINDOW = 2048
# Updates expected between two evaluations of the forms, and the fewest rows of a step.
_CHANGES_IN_STEP = 4
_FEWEST_STEP = 64
# An update is first expected to cost this share of building a form; the number of
# updates that this expectation counts as; the number over which costs are averaged.
_SHARE = 0.5
_SHARE_CHANGES = 64.0
_SHARE_WINDOW = 1024.0


class QuadraticPass:
    """Runs the quadratic pass of one model over many blocks of rows.

    The origin is the mean of the first rows of X. The forms of `step` rows are
    evaluated together, which only matters to speed. Forms of classes in `stale` are
    built before the next run.
    """

    def __init__(self, model: Model, X: FloatArray, step: int | None = None) -> None:
        p, _ = model.projection.R.shape
        self._model = model
        self._learner = model.kernel_state()
        self.step = step or MOST_STEP
        self._rebuild = rebuild_cost(p, model.F)
        self._undecided = undecided_cost(p, model.F)
        # Accumulated cost of the forms, besides that of evaluating them.
        self.upkeep = 0.0
        origin = as_block(X[:1024]).mean(axis=0)
        centre = np.empty((1, model.F))
        first = np.zeros(1, np.int64)
        project(origin[None, :], first, self._learner.scale, self._learner.R, centre)
        self._quadratic = empty_forms(
            self._learner.R,
            model.projection.max_column_norm,
            self._learner.scale,
            model.M,
            origin,
            centre[0],
        )
        columns = self._quadratic.columns
        if columns.shape[1] == model.F:
            # Forms and pass share one matrix, which saves cache.
            self._learner = self._learner._replace(R=columns[:p])
        self.stale: BoolArray = np.ones(model.M, np.bool_)

    def run(
        self,
        X: FloatArray,
        y: IntArray,
        weight: FloatArray,
        learn: int,
        labels: IntArray,
    ) -> None:
        """Pass over rows of X; see `rpnb.core.passes.exact.pass_exact`."""
        rebuild_stale(self._quadratic, self.stale, self._model.gaussians)
        learner = self._learner
        if learn:
            learner = with_cells(self._model, learner, y)
        updates, built, undecided = pass_quadratic(
            learner,
            self._quadratic,
            as_block(X),
            y,
            weight,
            learn,
            self.step,
            self._rebuild / self._undecided,
            exact_score_cost(self._model.F) / self._undecided,
            labels,
        )
        self.upkeep += built * self._rebuild + undecided * self._undecided
        self.upkeep += updates * update_cost(self._model.projection.p)
        if learn:
            learn_cells(self._model, learner, y)
            self._model.n_seen += count_labelled(y)
            self._model.n_updates += updates


class PassChoice:
    """Runs over blocks of rows the pass that is expected to be faster.

    `rate` is the expected number of updates per row, corrected by what is observed. X
    holds all rows of the stream to come. `path` other than "auto" fixes the pass:
    "columns" is the screened one.
    """

    def __init__(
        self, model: Model, X: RowTable, rate: float, path: Path = "auto", jobs: int = 1
    ) -> None:
        p, F = model.projection.p, model.F
        self._model = model
        self._X = X
        self._jobs = jobs
        self._left = X.shape[0]
        # The quadratic pass needs the projection matrix and dense rows.
        self._path = "columns" if projects_beforehand(model.projection, X) else path
        # Numbers of updates and of rows, exponentially averaged.
        self._changes = rate * _EXPECTED
        self._rows = float(_EXPECTED)
        self._gain = column_cost(p, F, model.M) - quadratic_cost(p, model.M)
        self._rebuild = rebuild_cost(p, F)
        # Cost of updates in the quadratic pass, and their number, averaged likewise.
        self._upkeep = (_SHARE * self._rebuild + update_cost(p)) * _SHARE_CHANGES
        self._kept = _SHARE_CHANGES
        # Where forms never pay there is nothing to choose, and one block suffices.
        asks = self._path == "auto" and self._gain > 0.0
        self._block = block_rows(p, F) if asks else X.shape[0]
        self._columns: ScreenedPass | None = None
        self._quadratic: QuadraticPass | None = None
        # Classes whose densities changed since the screened pass was last used.
        self._stale = np.zeros(model.M, np.bool_)

    def refresh(self, classes: IntArray) -> None:
        """Mark the named classes as changed by the caller: both passes update them."""
        self._changes += classes.shape[0]
        self._stale[classes] = True
        if self._quadratic is not None:
            self._quadratic.stale[classes] = True

    def run(
        self,
        X: RowTable,
        y: IntArray,
        weight: FloatArray,
        learn: int,
        labels: IntArray,
    ) -> None:
        """Pass over rows of X; see `rpnb.core.passes.exact.pass_exact`."""
        start = 0
        model = self._model
        while start < X.shape[0]:
            quadratic = self._path == "quadratic" or (
                self._path == "auto" and self._forms_pay()
            )
            size = self._rows_until_next_choice() if quadratic else self._block
            rows = slice(start, min(start + size, X.shape[0]))
            t = y[rows] if learn else y[:0]
            before = model.n_updates
            screener = self._quadratic_pass() if quadratic else self._screened_pass()
            screener.run(X[rows], t, weights_of(weight, rows), learn, labels[rows])
            updates = model.n_updates - before
            if isinstance(screener, QuadraticPass):
                keep = _SHARE_WINDOW / (_SHARE_WINDOW + updates)
                self._upkeep = keep * (self._upkeep + screener.upkeep)
                self._kept = keep * (self._kept + updates)
                screener.upkeep = 0.0
            # The pass that did not run must update the classes that have learnt.
            if updates > 0 and quadratic:
                self._stale[_learnt_classes(t, labels[rows], learn)] = True
            elif updates > 0 and self._quadratic is not None:
                learnt = _learnt_classes(t, labels[rows], learn)
                self._quadratic.stale[learnt] = True
            n = rows.stop - start
            keep = _WINDOW / (_WINDOW + n)
            self._changes = keep * (self._changes + updates)
            self._rows = keep * (self._rows + n)
            self._left -= n
            start = rows.stop

    def _forms_pay(self) -> bool:
        """Whether the quadratic pass should be cheaper for the remaining rows."""
        change = self._upkeep / self._kept
        gain = self._gain - change * self._changes / self._rows
        stale = self._model.M
        if self._quadratic is not None:
            stale = int(np.count_nonzero(self._quadratic.stale))
        return gain * self._left > stale * self._rebuild

    def _rows_until_next_choice(self) -> int:
        """Return for how many rows to run the quadratic pass before choosing again."""
        rows = _CHANGES * self._rows / max(self._changes, 1e-9)
        return int(min(max(rows, _FEWEST_ROWS), _MOST_ROWS))

    def _screened_pass(self) -> ScreenedPass:
        if self._columns is None:
            self._columns = ScreenedPass(self._model, self._X, jobs=self._jobs)
        else:
            self._columns.refresh(np.flatnonzero(self._stale))
        self._stale[:] = False
        return self._columns

    def _quadratic_pass(self) -> QuadraticPass:
        if self._quadratic is None:
            self._quadratic = QuadraticPass(self._model, self._X)
        step = _CHANGES_IN_STEP * self._rows / max(self._changes, 1e-9)
        self._quadratic.step = int(min(max(step, _FEWEST_STEP), MOST_STEP)) // 16 * 16
        return self._quadratic


def _learnt_classes(y: IntArray, labels: IntArray, learn: int) -> IntArray:
    """Return the classes that have learnt rows of classes y, predicted as `labels`."""
    learnt = y >= 0
    if learn != LEARN_ALL:
        learnt &= y != labels
    return np.unique(y[learnt])
