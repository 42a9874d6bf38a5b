"""River's learners by `predict_one` and `learn_one`; see serving.py."""

import pickle
from importlib import import_module
from typing import Any

import numpy as np


def version() -> str:
    """Return the library's release."""
    return str(import_module("river").__version__)


def prepare(learner: str, X: np.ndarray, y: np.ndarray, M: int) -> Any:
    """Return rows as dictionaries, with their labels."""
    return [
        (dict(enumerate(x)), label)
        for x, label in zip(X.tolist(), y.tolist(), strict=True)
    ]


def make(learner: str, p: int, M: int, K: int, seed: int) -> Any:
    """Return a classifier with its own defaults, and K members."""
    bayes = import_module("river.naive_bayes").GaussianNB()
    if learner == "GaussianNB":
        return bayes
    ensemble = import_module("river.ensemble")
    return ensemble.BaggingClassifier(bayes, n_models=K, seed=seed)


def test_then_train(learner: str, model: Any, rows: Any) -> Any:
    """Return the labels, -1 without a prediction."""
    labels = []
    predict, learn = model.predict_one, model.learn_one
    for x, label in rows:
        labels.append(predict(x))
        learn(x, label)
    return [-1 if label is None else label for label in labels]


def size(learner: str, model: Any, rows: Any) -> int:
    """Return the bytes of the pickled model."""
    return len(pickle.dumps(model))
