"""Compiling the kernels of learners beforehand, for a first use that does not wait."""

from collections.abc import Iterable

import numpy as np

from rpnb.core.bayes.state import LEARN_MISTAKES
from rpnb.core.kernels.compiling.readiness import compiling_seconds
from rpnb.core.passes.choice import Path
from rpnb.core.passes.engine import run
from rpnb.estimators.classifier import RPNBClassifier
from rpnb.estimators.pooled import PooledClassifier
from rpnb.estimators.registry import RPNB, learners

_PATHS: tuple[Path, ...] = ("exact", "screened")


def warm_up(names: Iterable[str] = (RPNB,)) -> dict[str, float]:
    """Compile what learners need, also for long streams; return the seconds of each.

    What is on disk already is not compiled again.

    Parameters
    ----------
    names
        Of learners, as `rpnb.estimators.registry.learners` has them.
    """
    rng = np.random.default_rng(0)
    y = np.arange(64) % 2  # some learners have two classes
    X = rng.normal(size=(64, 4)) + y[:, None]
    labels = np.array(["a", "b"])[y]
    seconds = {}
    for name in names:
        before = compiling_seconds()
        model = learners()[name].estimator()
        if isinstance(model, PooledClassifier):
            # Up to 256 rows need no kernels; with many features there are more.
            for p in (4, 40):
                many = rng.normal(size=(320, p))
                model.partial_fit(many, np.resize(labels, 320))
                model = learners()[name].estimator()
        model.fit(X, labels)
        model.predict_then_learn(X, labels)
        model.predict(X)
        for method in ("predict_proba", "decision_function"):
            if hasattr(model, method):
                getattr(model, method)(X)
        if isinstance(model, RPNBClassifier):
            model.predict_one(X[0])
            model.learn_one(X[0], "a")
            weight, out = np.ones(1), np.empty(64, np.int64)
            for path in _PATHS:
                run(model._state, X, y, weight, LEARN_MISTAKES, out, path=path)
        seconds[name] = compiling_seconds() - before
    return seconds
