"""What the two ways to a label cost, and a screener for the quadratic one.

The costs are nanoseconds on one core, fitted to measurements (`benchmarks/
bench_quadratic.py`); only their ratios matter, and they decide nothing but speed
([decision 7](../../../docs/decisions/0007-choice-of-path.md)).
"""

from typing import Literal, TypeAlias

import numpy as np

from rpnb.core.arrays import BoolArray, FloatArray, IntArray, as_block
from rpnb.core.model import Model
from rpnb.core.projection import project
from rpnb.core.quadratic import n_terms, unset_quadratic
from rpnb.core.quadratic_refresh import refresh_quadratic
from rpnb.core.stream_quadratic import pass_quadratic

Path: TypeAlias = Literal["auto", "columns", "quadratic"]

# Entries of a step's terms, which stay in the second-level cache, and rows of a step:
# the more, the less do calls cost, and the more is done anew after a mistake.
_STEP_ENTRIES = 1 << 16
_MOST_ROWS = 256


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
        self._step = step or min(max(_STEP_ENTRIES // n_terms(p), 16), _MOST_ROWS)
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
            self._model.n_seen += int(np.count_nonzero(y >= 0))
            self._model.n_updates += updates
