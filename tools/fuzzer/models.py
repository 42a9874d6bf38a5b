"""Small fitted models of each estimator, as objects and as files."""

import pickle
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fuzzer.target import REFUSALS
from rpnb import FrozenRPNB, PooledClassifier, RPNBClassifier
from rpnb.baselines import PA
from rpnb.drift import DriftAware
from rpnb.estimators.registry import learners
from rpnb.estimators.stream.classifier import StreamClassifier
from rpnb.preprocessing import RunningScaler, StreamPipeline, make_stream_pipeline

_rng = np.random.default_rng(7)
X = _rng.normal(size=(320, 4))
#: More features, for code that only runs with many.
WIDE = np.hstack([X, _rng.normal(size=(320, 36))])
NUMBERS = (X[:, 0] * X[:, 1] > 0) + 1 * (X[:, 2] > 0.8)
#: Labels of three classes, or of two for learners that are limited to two.
LABELS = {3: np.array(["a", "b", "c"])[NUMBERS], 2: np.array(["a", "b"])[NUMBERS % 2]}
_TREES = {"grace_period": 20.0, "tie_threshold": 0.5, "n_estimators": 2}
_PARAMETERS: Mapping[str, dict[str, Any]] = {
    "RPNB": {"n_estimators": 3, "random_state": 0},
    "Pooled": {"n_projections": 16, "window": 64, "random_state": 0},
    "OnlineBagging": _TREES | {"random_state": 0},
    "OnlineBoosting": _TREES | {"random_state": 0},
}


def _rpnb(**more: Any) -> Any:
    return RPNBClassifier(**_PARAMETERS["RPNB"], **more)


def _pooled(**more: Any) -> Any:
    return PooledClassifier(**_PARAMETERS["Pooled"], **more)


#: Other parameters, and estimators that wrap a learner.
_OTHERS: Mapping[str, Callable[[], Any]] = {
    # Supports prediction sets, explanations and unlearning.
    "RPNB-calibrated": lambda: _rpnb(
        temperature="auto", scale="running", update="all", combiner="log_sum"
    ),
    "Pooled-late": lambda: _pooled(delay=5),
    "Pooled-wide": _pooled,
    "Pipeline-PA": lambda: make_stream_pipeline(RunningScaler(), PA()),
    "Pipeline-RPNB": lambda: make_stream_pipeline(RunningScaler(), _rpnb()),
    "RunningScaler": RunningScaler,
}
#: Estimators that cannot be saved.
_UNSAVED: Mapping[str, Callable[[], Any]] = {
    "DriftAware-RPNB": lambda: DriftAware(_rpnb(update="all")),
    "DriftAware-PA": lambda: DriftAware(PA(), detector="ddm", on_drift="reset"),
}


@cache
def class_of(name: str) -> Any:
    """Return the class of a model by its name in this module."""
    if name == "FrozenRPNB":
        return FrozenRPNB
    return type(new(name))


@cache
def names() -> tuple[str, ...]:
    """Return the names of all models that can be saved."""
    return (*learners(), "FrozenRPNB", *_OTHERS)


@cache
def learning_names() -> tuple[str, ...]:
    """Return the names of all models that learn."""
    return (*learners(), *_OTHERS, *_UNSAVED)


def new(name: str) -> Any:
    """Return a new estimator."""
    maker = _OTHERS.get(name) or _UNSAVED.get(name)
    if maker is not None:
        return maker()
    return learners()[name].estimator(**_PARAMETERS.get(name, {}))


def rows_for(name: str) -> Any:
    """Return the rows that a model has learned."""
    return WIDE if name == "Pooled-wide" else X


@cache
def classes_known(name: str) -> int:
    """Return 3, or 2 for an estimator that is limited to two classes."""
    estimator = new(name)
    return 3 if getattr(estimator._learner(), "has_multiclass", True) else 2


def fitted(name: str) -> Any:
    """Return a fitted model."""
    if name == "FrozenRPNB":
        return fitted("RPNB").compile()
    if name == "RunningScaler":
        return new(name).partial_fit(X)
    labels = LABELS[classes_known(name)]
    # Not `fit`, which may shuffle the rows.
    return new(name).partial_fit(rows_for(name), labels, classes=np.unique(labels))


@cache
def file_of(name: str) -> bytes:
    """Return the model file of a fitted model."""
    return saved(fitted(name))


@cache
def _pickled(name: str) -> bytes:
    return pickle.dumps(fitted(name))


def saved(model: Any) -> bytes:
    """Return the model file of a model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.rpnb")
        model.save(path)
        return path.read_bytes()


def load(name: str, content: bytes) -> Any:
    """Return the model in a file with this content."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.rpnb")
        path.write_bytes(content)
        return class_of(name).load(path)


def copy_of(name: str) -> Any:
    """Return a fitted model that may be changed."""
    if name in _UNSAVED:
        return pickle.loads(_pickled(name))  # noqa: S301 - our own bytes
    return load(name, file_of(name))


def state_of(model: Any) -> Any:
    """Return the exact state of a model, without its parameters."""
    if not model.__sklearn_is_fitted__():
        return sorted(set(vars(model)) - set(model.get_params(deep=False)))
    names = getattr(model, "feature_names_in_", None)
    names = None if names is None else list(names)
    if isinstance(model, RunningScaler):
        held: Any = [array.tobytes() for array in model._state]
        return held, model.n_features_in_, names
    if isinstance(model, DriftAware):
        inner = model._state
        exported = inner.learner.export(inner.inner)
        held = _bits(exported), model.drifts_
    else:
        held = _bits(model._learner().export(model._state))
    return held, model.classes_.tolist(), model.n_features_in_, names


def _bits(exported: tuple[Any, Any]) -> Any:
    metadata, arrays = exported
    return metadata, {name: array.tobytes() for name, array in arrays.items()}


def prepare() -> None:
    """Create the models that cases change, and use each once."""
    for name in (*names(), *_UNSAVED):
        use(copy_of(name))


def use(model: Any) -> None:
    """Call all methods that a loaded model must support."""
    # A file may claim fewer features if no array depends on their number.
    rows = np.resize(X, (60, model.n_features_in_))
    with np.errstate(all="ignore"):
        if isinstance(model, RunningScaler):
            model.transform(rows[:5])
            model.transform_then_learn(rows[:40])
            return
        model.predict(rows[:5])
        for method in ("predict_proba", "decision_function", "predict_log_proba"):
            if hasattr(model, method):
                getattr(model, method)(rows[:5])
        if hasattr(model, "partial_fit"):
            labels = model.classes_[NUMBERS[:60] % model.classes_.shape[0]]
            _use_the_rest(model, rows, labels)
            model.predict_then_learn(rows[:40], labels[:40])
            model.partial_fit(rows[40:60], labels[40:60])


def _use_the_rest(model: StreamClassifier, rows: Any, labels: Any) -> None:
    if isinstance(model, RPNBClassifier | PooledClassifier | StreamPipeline):
        model.predict_one(rows[0])
        model.learn_one(rows[0], labels[0])
    if isinstance(model, RPNBClassifier):
        # Refused if the model has no calibration yet or no quadratic scores, or has
        # not learned these rows.
        if hasattr(model, "predict_set"):
            with suppress(*REFUSALS):
                model.predict_set(rows[:5])
                model.predict_set_then_learn(rows[:5], labels[:5])
        with suppress(*REFUSALS):
            model.explain(rows[:2])
            model.feature_importance()
        with suppress(*REFUSALS):
            model.unlearn(rows[:1], labels[:1])
