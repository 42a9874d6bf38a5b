"""The choice between the exact pass, the screened pass and quadratic forms.

All give the same labels and leave the same state, to the bit, so the choice affects
speed only. Costs are nanoseconds on one core, fitted to measurements
(`benchmarks/speed.py passes`). Only their ratios matter ([decision 7](
../../../docs/decisions/0007-choice-of-path.md)).
"""

from typing import Literal, TypeAlias

from rpnb.core.bayes.model import Model
from rpnb.core.bayes.statistics import LEARN_NOTHING
from rpnb.core.kernels.row_blocks import RowTable
from rpnb.core.projection.apply import projects_in_advance

Path: TypeAlias = Literal["exact", "screened", "forms"]

# For fewer rows, preparing a faster pass costs more than it saves.
_FEW = 16


def choose_path(model: Model, X: RowTable, learn: int) -> Path:
    """Return the pass that should be fastest for rows of X.

    Quadratic forms only predict: building one costs as much as predicting hundreds of
    rows, and each mistake would change one.
    """
    n = X.shape[0]
    if model.rule != "log_sum" or n < _FEW:
        return "exact"
    if learn != LEARN_NOTHING or projects_in_advance(model.projection, X):
        return "screened"
    p, F, M = model.projection.p, model.F, model.M
    gain = screened_cost(p, F, M) - form_cost(p, M)
    return "forms" if n * gain > M * build_cost(p, F) else "screened"


def screened_cost(p: int, F: int, M: int) -> float:
    """Return the cost of predicting a row in the screened pass."""
    return 80.0 + 0.015 * p * F + 0.033 * M * F


def form_cost(p: int, M: int) -> float:
    """Return the cost of predicting a row by forms."""
    return 3.0 + M * (1.5 + 0.011 * p * (p + 3))


def build_cost(p: int, F: int) -> float:
    """Return the cost of building the form of a class."""
    return 500.0 + F * (2.0 + 0.03 * p * p)
