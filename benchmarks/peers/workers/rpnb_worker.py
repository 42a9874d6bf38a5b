"""The learners of rpnb; see serving.py."""

import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np


def version() -> str:
    """Return our release."""
    return str(import_module("rpnb").__version__)


def prepare(learner: str, X: np.ndarray, y: np.ndarray, M: int) -> Any:
    """Return the arrays, and the classes, which are declared in advance."""
    return X, y, np.arange(M)


def make(learner: str, p: int, M: int, K: int, seed: int) -> Any:
    """Return RPNB or one of `rpnb.baselines`."""
    if learner == "RPNB":
        classifier = import_module("rpnb").RPNBClassifier
        return classifier(n_estimators=K, random_state=seed)
    options = {"n_estimators": K, "random_state": seed}
    return import_module("rpnb.baselines").make(
        learner, **(options if learner == "OnlineBagging" else {})
    )


def test_then_train(learner: str, model: Any, rows: Any) -> Any:
    """Return the labels of one pass."""
    X, y, classes = rows
    return model.predict_then_learn(X, y, classes=classes)


def size(learner: str, model: Any, rows: Any) -> int:
    """Return the bytes of the file that `save` writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.rpnb"
        model.save(path)
        return path.stat().st_size
