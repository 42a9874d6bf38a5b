"""All learners, small and with fixed seeds: the list that every law tests."""

import inspect
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpnb.drift import DriftAware
from rpnb.estimators.protocol import saved_model
from rpnb.estimators.registry import learners
from rpnb.estimators.saving.estimator import write_estimator
from rpnb.estimators.stream.prediction_sets import ENTRY

#: Settings that make a learner quick to learn with.
SMALL: dict[str, dict[str, Any]] = {
    "RPNB": {"n_estimators": 5},
    "Pooled": {"n_projections": 16, "window": 64},
    "OnlineBagging": {"n_estimators": 3},
    "OnlineBoosting": {"n_estimators": 3},
}


#: One learner of each kind of state, for facts that do not depend on the formula.
KINDS = (
    *("RPNB", "Pooled", "PA", "AROW", "SOP", "OnlineBagging", "OnlineBoosting"),
    *("OnlineBayes", "GaussianNB", "MajorityClass", "NoChange"),
)
#: Linear learners of two classes.
TWO_CLASS = ("ALMA", "NAROW", "NHERD", "SOP", "IELLIP")


def names() -> list[str]:
    """Return the names of all learners of the registry."""
    return list(learners())


def parameters_of(name: str) -> list[str]:
    """Return the names of a learner's parameters."""
    return list(inspect.signature(learners()[name].estimator).parameters)


def new(name: str, **parameters: Any) -> Any:
    """Return a small learner with a fixed seed."""
    seed = {"random_state": 0} if "random_state" in parameters_of(name) else {}
    small = SMALL.get(name, {})
    return learners()[name].estimator(**{**seed, **small, **parameters})


def stream_for(
    name: str, n: int = 120, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return rows of three classes, of two where a learner knows no more."""
    rng = np.random.default_rng(seed)
    M = 2 if name in TWO_CLASS else 3
    y = rng.integers(0, M, n)
    X = rng.normal(size=(n, 4)) + 1.5 * rng.normal(size=(M, 4))[y]
    y[:M] = range(M)
    return X, y


def content(model: Any) -> Any:
    """The whole learned state of the model, as bytes.

    Not the thresholds that `predict_set_then_learn` moves: they are about the sets that
    were asked for.
    """
    rest: Any = None
    if isinstance(model, DriftAware):
        rest = model.drifts_, model.n_samples_seen_, model.n_updates_
        model = model.learner_
    saved = saved_model(model)
    arrays = dict(saved.arrays)
    arrays.pop(ENTRY, None)
    saved = saved._replace(arrays=arrays)
    saved.state.pop(ENTRY, None)
    file = BytesIO()
    write_estimator(file, saved)
    return file.getvalue(), rest
