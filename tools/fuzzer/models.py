"""One small fitted model of each estimator: as an object, and as a file's bytes."""

import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rpnb import FrozenRPNB, PooledClassifier, RPNBClassifier
from rpnb.estimators.registry import learners

_rng = np.random.default_rng(7)
X = _rng.normal(size=(320, 4))
NUMBERS = (X[:, 0] * X[:, 1] > 0) + 1 * (X[:, 2] > 0.8)
#: Three classes, or two for those that know no more.
LABELS = {3: np.array(["a", "b", "c"])[NUMBERS], 2: np.array(["a", "b"])[NUMBERS % 2]}
_TREES = {"grace_period": 20.0, "tie_threshold": 0.5, "n_estimators": 2}
_PARAMETERS: Mapping[str, dict[str, Any]] = {
    "RPNB": {"n_estimators": 3, "random_state": 0},
    "Pooled": {"n_projections": 16, "window": 64, "random_state": 0},
    "OnlineBagging": _TREES | {"random_state": 0},
    "OnlineBoosting": _TREES | {"random_state": 0},
}


@cache
def class_of(name: str) -> Any:
    """Return an estimator by its name among the learners, or FrozenRPNB."""
    return FrozenRPNB if name == "FrozenRPNB" else learners()[name].estimator


@cache
def names() -> tuple[str, ...]:
    """Return the names of all estimators that can be saved."""
    return (*learners(), "FrozenRPNB")


def new(name: str) -> Any:
    """Return an estimator that has seen nothing."""
    return class_of(name)(**_PARAMETERS.get(name, {}))


@cache
def classes_known(name: str) -> int:
    """Return 3, or 2 for an estimator that knows two classes only."""
    estimator = new(name)
    return 3 if getattr(estimator, "_has_multiclass", lambda: True)() else 2


def fitted(name: str) -> Any:
    """Return a fitted model."""
    if name == "FrozenRPNB":
        return fitted("RPNB").compile()
    labels = LABELS[classes_known(name)]
    # Not `fit`, which may draw the order of the rows.
    return new(name).partial_fit(X, labels, classes=np.unique(labels))


@cache
def file_of(name: str) -> bytes:
    """Return the model file of a fitted model."""
    return saved(fitted(name))


def saved(model: Any) -> bytes:
    """Return the bytes that a model is saved as."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.rpnb")
        model.save(path)
        return path.read_bytes()


def load(name: str, content: bytes) -> Any:
    """Return the model of a file with this content."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.rpnb")
        path.write_bytes(content)
        return class_of(name).load(path)


def copy_of(name: str) -> Any:
    """Return a fitted model that may be changed."""
    return load(name, file_of(name))


def warm_up() -> None:
    """Use each estimator once, as cases do."""
    for name in names():
        use(copy_of(name))


def use(model: Any) -> None:
    """Predict, learn and predict again: all that a loaded model must be able to do."""
    # A file may say that there are fewer features, where no array depends on it.
    rows = np.resize(X, (60, model.n_features_in_))
    with np.errstate(all="ignore"):
        model.predict(rows[:5])
        for method in ("predict_proba", "decision_function", "predict_log_proba"):
            if hasattr(model, method):
                getattr(model, method)(rows[:5])
        if isinstance(model, RPNBClassifier | PooledClassifier):
            model.predict_one(rows[0])
            model.learn_one(rows[0], model.classes_[0])
        if hasattr(model, "partial_fit"):
            labels = model.classes_[NUMBERS[:40] % model.classes_.shape[0]]
            model.predict_then_learn(rows[:40], labels)
            model.partial_fit(rows[40:60], labels[:20])
