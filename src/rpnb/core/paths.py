"""The two ways to a label, what they cost, and the choice between them.

The costs are nanoseconds on one core, fitted to measurements (`benchmarks/
bench_quadratic.py`); only their ratios matter, and they decide nothing but speed
([decision 7](../../../docs/decisions/0007-choice-of-path.md)).
"""

from typing import Literal, TypeAlias

import numpy as np

from rpnb.core.arrays import BoolArray, FloatArray, IntArray, as_block
from rpnb.core.blocks import block_rows, labelled, part
from rpnb.core.model import Model
from rpnb.core.projection import project
from rpnb.core.quadratic import n_terms, unset_quadratic
from rpnb.core.quadratic_refresh import refresh_quadratic
from rpnb.core.rows import Table
from rpnb.core.screener import Screener
from rpnb.core.stream import LEARN_ALL
from rpnb.core.stream_quadratic import pass_quadratic
from rpnb.core.wide import comes_projected

Path: TypeAlias = Literal["auto", "columns", "quadratic"]

# Rows between two looks at which way is cheaper, once by quadratic forms; rows that the
# expected rate of changes counts as; rows over which the rate is averaged.
_QUADRATIC_ROWS = 16384
_EXPECTED = 64
_WINDOW = 2048
# Entries of a step's terms, which stay in the second-level cache, and rows of a step:
# the more, the less do calls cost, and the more is done anew after a mistake.
_STEP_ENTRIES = 1 << 16
_MOST_STEP = 256


def column_cost(p: int, F: int, M: int) -> float:
    """Return what a row costs by columns: projected, then scored class by class."""
    return 200.0 + 10.0 * M + 0.023 * p * F + 0.06 * M * F


def quadratic_cost(p: int, M: int) -> float:
    """Return what a row costs by quadratic forms that are up to date."""
    return 8.0 + 5.0 * M + n_terms(p) * (0.6 + 0.04 * M)


def rebuild_cost(p: int, F: int, M: int) -> float:
    """Return what it costs that a class changes: its form, and the rest of a step."""
    return (1.2 + 0.024 * p * (p + 1)) * F + 10.0 * n_terms(p) + 50.0 * M


class QuadraticScreener:
    """Working space for passes of one model by quadratic forms.

    The origin is the mean of the first rows of X. Steps of `step` rows only matter to
    speed. Classes are brought up to date when they are needed.
    """

    def __init__(self, model: Model, X: FloatArray, step: int | None = None) -> None:
        p, _ = model.projection.R.shape
        self._model = model
        self._learner = model.learner()
        self._step = step or min(max(_STEP_ENTRIES // n_terms(p), 16), _MOST_STEP)
        origin = as_block(X[:1024]).mean(axis=0)
        centre = np.empty((1, model.F))
        first = np.zeros(1, np.int64)
        project(origin[None, :], first, self._learner.scale, self._learner.R, centre)
        self._quadratic = unset_quadratic(
            self._learner.R, self._learner.scale, model.M, origin, centre[0]
        )
        self.stale: BoolArray = np.ones(model.M, np.bool_)

    def run(
        self,
        X: FloatArray,
        y: IntArray,
        weight: FloatArray,
        learn: int,
        labels: IntArray,
    ) -> None:
        """Pass over rows of X; see `rpnb.core.stream.pass_exact`."""
        for m in np.flatnonzero(self.stale).tolist():
            refresh_quadratic(self._quadratic, m, self._model.gaussians)
        self.stale[:] = False
        updates = pass_quadratic(
            self._learner,
            self._quadratic,
            as_block(X),
            y,
            weight,
            learn,
            self._step,
            labels,
        )
        if learn:
            self._model.n_seen += labelled(y)
            self._model.n_updates += updates


class Paths:
    """The two screeners of a model, and block by block the choice between them.

    `rate` is how many classes are expected to change a row; what is seen along the way
    corrects it. X are all rows that are going to be passed over.
    """

    def __init__(
        self, model: Model, X: Table, rate: float, path: Path = "auto", jobs: int = 1
    ) -> None:
        p, F = model.projection.p, model.F
        self._model = model
        self._X = X
        self._jobs = jobs
        self._left = X.shape[0]
        # Forms need the projection's matrix, and rows that are not sparse.
        self._path = "columns" if comes_projected(model.projection, X) else path
        # Changes of classes and rows, of which the older count less and less.
        self._changes = rate * _EXPECTED
        self._rows = float(_EXPECTED)
        self._gain = column_cost(p, F, model.M) - quadratic_cost(p, model.M)
        self._rebuild = rebuild_cost(p, F, model.M)
        # Where forms never pay, there is no need to look again after a block.
        asks = self._path == "auto" and self._gain > 0.0
        self._block = block_rows(p, F) if asks else X.shape[0]
        self._columns: Screener | None = None
        self._quadratic: QuadraticScreener | None = None
        # Classes whose laws changed since the column screen was last used.
        self._stale = np.zeros(model.M, np.bool_)

    def refresh(self, classes: IntArray) -> None:
        """Take note that the named classes have changed."""
        self._changes += classes.shape[0]
        self._stale[classes] = True
        if self._quadratic is not None:
            self._quadratic.stale[classes] = True

    def run(
        self,
        X: Table,
        y: IntArray,
        weight: FloatArray,
        learn: int,
        labels: IntArray,
    ) -> None:
        """Pass over rows of X; see `rpnb.core.stream.pass_exact`."""
        start = 0
        while start < X.shape[0]:
            quadratic = self._path == "quadratic" or (
                self._path == "auto" and self._pays()
            )
            size = _QUADRATIC_ROWS if quadratic else self._block
            rows = slice(start, min(start + size, X.shape[0]))
            t = y[rows] if learn else y[:0]
            before = self._model.n_updates
            screener = self._by_forms() if quadratic else self._by_columns()
            screener.run(X[rows], t, part(weight, rows), learn, labels[rows])
            if learn:
                taken = (t >= 0) & ((labels[rows] != t) | (learn == LEARN_ALL))
                changed = np.bincount(t[taken], minlength=self._model.M) > 0
                if quadratic:
                    self._stale |= changed
                elif self._quadratic is not None:
                    self._quadratic.stale |= changed
            n = rows.stop - start
            keep = _WINDOW / (_WINDOW + n)
            self._changes = keep * (self._changes + self._model.n_updates - before)
            self._rows = keep * (self._rows + n)
            self._left -= n
            start = rows.stop

    def _pays(self) -> bool:
        """Whether quadratic forms are the cheaper way for the rows that are left."""
        gain = self._gain - self._rebuild * self._changes / self._rows
        stale = self._model.M
        if self._quadratic is not None:
            stale = int(np.count_nonzero(self._quadratic.stale))
        return gain * self._left > stale * self._rebuild

    def _by_columns(self) -> Screener:
        if self._columns is None:
            self._columns = Screener(self._model, self._X, jobs=self._jobs)
        else:
            self._columns.refresh(np.flatnonzero(self._stale))
        self._stale[:] = False
        return self._columns

    def _by_forms(self) -> QuadraticScreener:
        if self._quadratic is None:
            self._quadratic = QuadraticScreener(self._model, self._X)
        return self._quadratic
