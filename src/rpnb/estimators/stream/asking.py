"""Asking for the labels of some rows, for every learner with probabilities."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import _num_samples

from rpnb.core.asking import Asking, draw_rows
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.saving.estimator import SavedEstimator
from rpnb.estimators.saving.schema import StateSchema, check_arrays, reals
from rpnb.estimators.stream.locks import lock_of

#: Entry of the counts of rows asked for in a model file.
ASKING = "asking"
#: Default share of the odds that is the same for every row.
RANDOM_SHARE = 0.2


class Questions(NamedTuple):
    """The rows whose labels `ask` asks for."""

    rows: IntArray
    """(k,) their numbers in X, ascending"""
    weights: FloatArray
    """(k,) their importance weights, 1 over the probability of being asked for"""
    probabilities: FloatArray
    """(n,) probability with which each row of X was to be asked for"""


def choose_rows(
    model: Any, X: Any, budget: float, share: float, seed: int
) -> Questions:
    """Draw the rows to ask for and count them in the model."""
    with lock_of(model):
        doubt = doubts(model, X)
        if model._asking is None:
            model._asking = Asking()
        asked, p = draw_rows(model._asking, doubt, budget, share, seed)
    rows = np.flatnonzero(asked)
    return Questions(rows, 1.0 / p[rows], p)


def doubts(model: Any, X: Any) -> FloatArray:
    """Return 1 minus the largest probability of each row; 1 if there is none yet."""
    if not model.__sklearn_is_fitted__():
        return np.ones(_num_samples(X))
    # A declared class without rows may have no probability.
    with np.errstate(invalid="ignore", divide="ignore"):
        P = model.predict_next_proba(X)
        largest = P.max(axis=1)
    known = np.isfinite(largest)
    return np.where(known, np.clip(1.0 - largest, 0.0, 1.0), 1.0)


def with_asking(saved: SavedEstimator, asking: Asking | None) -> SavedEstimator:
    """Return the content of a model file with the counts of rows asked for."""
    if asking is None:
        return saved
    arrays = {**saved.arrays, ASKING: asking.to_array()}
    return saved._replace(state={**saved.state, ASKING: True}, arrays=arrays)


def has_asking(saved: SavedEstimator) -> bool:
    """Return whether a model file has counts of rows asked for."""
    return saved.state.get(ASKING) is True


def check_asking(saved: SavedEstimator) -> Asking | None:
    """Return the counts of rows asked for from a model file, None if there are none."""
    if not has_asking(saved):
        return None
    schema = StateSchema({ASKING: reals(4)})
    values = check_arrays({ASKING: saved.arrays[ASKING]}, schema)[ASKING]
    rows, asked, _, mean = values.tolist()
    if not (0.0 <= asked <= rows <= 2.0**53 and 0.0 <= mean <= 1.0):
        raise ValueError("its rows asked for are not counts and a mean")
    return Asking.from_array(values)


def without_asking(saved: SavedEstimator) -> SavedEstimator:
    """Return the content of a model file without the counts of rows asked for."""
    if not has_asking(saved):
        return saved
    return saved._replace(
        state={name: value for name, value in saved.state.items() if name != ASKING},
        arrays={name: a for name, a in saved.arrays.items() if name != ASKING},
    )
