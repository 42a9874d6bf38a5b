"""scikit-learn's learners by `predict` and `partial_fit` of one row; see serving.py."""

import pickle
import warnings
from importlib import import_module
from typing import Any

import numpy as np

#: One passive-aggressive step per row: the replacement that scikit-learn 1.8 names when
#: it deprecates PassiveAggressiveClassifier.
PASSIVE_AGGRESSIVE = {
    "loss": "hinge",
    "penalty": None,
    "learning_rate": "pa1",
    "eta0": 1.0,
}


def version() -> str:
    """Return the library's release."""
    return str(import_module("sklearn").__version__)


def prepare(learner: str, X: np.ndarray, y: np.ndarray, M: int) -> Any:
    """Return rows as arrays of one row, and all classes."""
    pairs = [(X[i : i + 1], y[i : i + 1]) for i in range(len(X))]
    return pairs, np.arange(M)


def make(learner: str, p: int, M: int, K: int, seed: int) -> Any:
    """Return a classifier with its own defaults."""
    if learner == "GaussianNB":
        return import_module("sklearn.naive_bayes").GaussianNB()
    options = {} if learner == "SGDClassifier" else PASSIVE_AGGRESSIVE
    linear_model = import_module("sklearn.linear_model")
    return linear_model.SGDClassifier(random_state=seed, **options)


def test_then_train(learner: str, model: Any, rows: Any) -> Any:
    """Return the labels; -1 for the first row, before which there is no model."""
    pairs, classes = rows
    labels = [-1]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # One warning per row would take most of the time.
        warnings.simplefilter("ignore")
        x, label = pairs[0]
        model.partial_fit(x, label, classes=classes)
        for x, label in pairs[1:]:
            labels.append(model.predict(x)[0])
            model.partial_fit(x, label)
    return labels


def size(learner: str, model: Any, rows: Any) -> int:
    """Return the bytes of the pickled model."""
    return len(pickle.dumps(model))
