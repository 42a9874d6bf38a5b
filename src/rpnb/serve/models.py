"""Served models: a learner, what it must be given, and how events change it."""

import inspect
import json
import re
import secrets
import tempfile
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.classifier import RPNBClassifier
from rpnb.estimators.registry import find_learner, learners
from rpnb.estimators.stream.classifier import StreamClassifier
from rpnb.serve.http.formats import Label, RequestColumns, check_labels, check_names
from rpnb.serve.limits import ApiError, Limits, beyond, invalid
from rpnb.serve.scores import Scores

Learner = StreamClassifier[Any]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
# Set by the server, or of no use in it.
_NOT_FOR_CLIENTS = ("n_jobs",)
# Rules by which probabilities are an increasing function of the scores.
_BY_SCORE = ("log_sum", "product")
_NEARLY = 1e-9
_DTYPES: dict[type, Any] = {str: np.str_, int: np.int64, bool: np.bool_}


def check_name(name: Any) -> str:
    """Return the name of a model, which is safe as part of a path or an address."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise invalid(
            "a model's name must be 1 to 64 letters, digits, _ and -, the first of "
            "them a letter or digit"
        )
    return name


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """What a model was created from; a model without events follows from it."""

    learner: str
    parameters: Mapping[str, Any]
    n_features: int
    features: tuple[str, ...] | None
    classes: tuple[Label, ...] | None
    from_file: bool = False
    """whether its first state is a file, kept as the first snapshot"""

    def to_json(self) -> str:
        """Return the specification as a JSON text."""
        return json.dumps(
            {
                "learner": self.learner,
                "parameters": dict(self.parameters),
                "n_features": self.n_features,
                "features": self.features,
                "classes": self.classes,
                "from_file": self.from_file,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> "ModelSpec":
        """Return what `to_json` wrote."""
        saved = json.loads(text)
        for name in ("features", "classes"):
            saved[name] = None if saved[name] is None else tuple(saved[name])
        return cls(**saved)


def read_spec(request: Any, limits: Limits) -> ModelSpec:
    """Return the specification in the JSON object that a client sent."""
    if not isinstance(request, dict):
        raise invalid("the body must be a JSON object")
    fields = ("name", "learner", "parameters", "features", "n_features", "classes")
    if not request.keys() <= set(fields):
        raise invalid(f"the body must have no other fields than {', '.join(fields)}")
    learner = find_learner(_text(request.get("learner", "RPNB")))
    if learner is None:
        raise invalid(f"learner must be one of {', '.join(learners())}")
    names = request.get("features")
    p = request.get("n_features")
    if names is not None:
        if not isinstance(names, list) or not names:
            raise invalid("features must be a list of at least one name")
        if len(names) > limits.max_features:
            raise beyond("max_features", limits.max_features, "too many features")
        names = check_names(names, "feature")
        if p not in (None, len(names)):
            raise invalid("n_features must be the number of features")
        p = len(names)
    if type(p) is not int or p < 1:
        raise invalid("features must be a list of names, or n_features their number")
    if p > limits.max_features:
        raise beyond("max_features", limits.max_features, "too many features")
    classes = request.get("classes")
    if classes is not None:
        if not isinstance(classes, list) or not classes:
            raise invalid("classes must be a list of at least one label")
        if len(classes) > limits.max_classes:
            raise beyond("max_classes", limits.max_classes, "too many classes")
        classes = tuple(check_labels(classes))
    parameters = _parameters(learner.estimator, request.get("parameters", {}))
    if learner.seeded and parameters.get("random_state") is None:
        parameters["random_state"] = secrets.randbits(32)
    return ModelSpec(learner.name, parameters, p, names, classes)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _parameters(estimator: type[Learner], given: Any) -> dict[str, Any]:
    """Return the parameters of a learner, which are plain values."""
    if not isinstance(given, dict):
        raise invalid("parameters must be an object")
    names = [
        name
        for name in inspect.signature(estimator).parameters
        if name not in _NOT_FOR_CLIENTS
    ]
    if not given.keys() <= set(names):
        raise invalid(
            f"parameters must have no other names than {', '.join(names) or 'none'}"
        )
    for name, value in given.items():
        values = value if isinstance(value, list) and value else [value]
        for each in values:
            if isinstance(each, dict | list):
                raise invalid(f"parameter {name} must be a number, a text, or a list")
            if isinstance(each, int | float) and not abs(each) < 2**63:
                raise invalid(f"parameter {name} must be below 2⁶³ in size")
    if isinstance(given.get("class_prior"), list):
        raise invalid("parameter class_prior must be 'uniform' or 'frequency'")
    return dict(given)


def new_learner(spec: ModelSpec, limits: Limits | None = None) -> Learner:
    """Return the learner of a specification; with classes, one that can predict.

    With limits, parameters come from a client and are checked.
    """
    registered = learners()[spec.learner]
    if limits is not None:
        check_size(spec.learner, spec.parameters, spec.n_features, limits)
    try:
        model = registered.estimator(**spec.parameters)
        declared = as_array(spec.classes or ("a", "b"))
        if spec.classes is not None or limits is not None:
            classes = np.unique(declared)
            state = model._state_for(spec.n_features, classes, classes, first=True)
            if spec.classes is not None:
                X = np.zeros((1, spec.n_features))
                model._commit(X, classes, state, first=True)
    except (TypeError, ValueError) as error:
        if limits is None:
            raise
        # The rule, without the value that was given.
        raise invalid(f"parameters: {str(error).partition(', got ')[0]}") from None
    return model


@cache
def compile_kernels(learner: str) -> None:
    """Compile what a learner runs, or load it from the disk, by a few rows.

    The first use may take a minute, in which the writer would not answer anybody.
    """
    model = learners()[learner].estimator()
    X = np.arange(6.0).reshape(3, 2)
    model.predict_then_learn(X, np.array(["a", "b", "a"]))
    model.partial_fit(X[:1], np.array(["b"]))
    model.predict(X)
    if hasattr(model, "predict_proba"):
        model.predict_proba(X)


def check_size(
    learner: str, parameters: Mapping[str, Any], p: int, limits: Limits
) -> None:
    """Refuse parameters that would ask for more memory than one model may have."""

    def number(name: str, default: int) -> float:
        value = parameters.get(name)
        usable = type(value) in (int, float) and value > 0  # type: ignore[operator]
        return float(value) if usable else default  # type: ignore[arg-type]

    size = float(p)
    if learner == "RPNB":
        q = number("n_components", max(int(2 * np.log2(max(p, 2))), 1))
        size = number("n_estimators", 200) * q * (p + 20)
    elif learner == "Pooled":
        D = number("n_projections", 512)
        window = number("window", 4000)
        size = D * D + D * min(p, 4096) + window * min(p, 4096) + 20 * min(p, 4096) ** 2
    elif learner in ("OnlineBagging", "OnlineBoosting"):
        size = number("n_estimators", 10) * (p + 1) * 1000
    elif learner in ("CW", "SCW1", "SCW2", "AROW", "NAROW", "NHERD", "SOP", "IELLIP"):
        size = float(p) * p
    if size > limits.max_state:
        raise beyond(
            "max_state", limits.max_state, "the learner would hold too many numbers"
        )


def as_array(labels: Sequence[Label]) -> NDArray[Any]:
    """Return labels of one type as the array that learners get."""
    return np.array(labels, dtype=_DTYPES[type(labels[0])])


class LabelledEvent(NamedTuple):
    """Rows of an event of the log, and what becomes of them."""

    event: int
    kind: str
    """"learn", "observe" or "labels\""""
    time: float
    X: FloatArray
    labels: list[Label]
    predicted: list[Label | None] | None
    """of "labels": what was predicted when the rows came"""
    confidence: list[float | None] | None


class PredictedLabels(NamedTuple):
    """Predictions of rows; no label where no class is known."""

    labels: list[Label | None]
    confidence: list[float | None]
    """probability of the predicted label, where the learner has one"""
    probabilities: list[list[float]] | None
    classes: list[Label]


@final
@dataclass(slots=True)
class ServedModel:
    """A model of the service. Only the writer changes it."""

    id: int
    name: str
    spec: ModelSpec
    learner: Learner
    created: float
    scores: Scores = field(default_factory=Scores)
    applied: int = 0
    """id of the last event that the state includes"""
    waiting: int = 0
    """rows that wait for their labels"""
    expired: int = 0
    """rows that were dropped before a label came"""
    predicted: int = 0
    """rows predicted since the start of the process"""
    broken: str | None = None
    """why no more labels are accepted"""
    predicts: bool = True
    """whether there is a state to predict with"""
    kind: type | None = None
    """type of the labels"""
    known: set[Label] = field(default_factory=set)
    """labels in the log"""
    recent: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=20))
    """the latest predictions"""
    warm: bool = False
    """whether the learner's kernels are compiled"""
    lock: Any = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        for label in self.spec.classes or ():
            self.known.add(label)
        if self.learner.__sklearn_is_fitted__():
            self.known.update(self.learner.classes_.tolist())
        if self.known:
            self.kind = type(next(iter(self.known)))

    @property
    def columns(self) -> RequestColumns:
        """What rows must look like."""
        missing = bool(get_tags(self.learner).input_tags.allow_nan)
        return RequestColumns(self.spec.n_features, self.spec.features, missing)

    # Predicting

    def predict(
        self, X: FloatArray, *, confidence: bool, probabilities: bool
    ) -> PredictedLabels:
        """Predict rows; with probabilities, if wanted, where there are any."""
        with self.lock:
            found = self._predict(X, confidence or probabilities, probabilities)
            self.predicted += X.shape[0]
        self.warm = True
        return found

    def _predict(self, X: FloatArray, confident: bool, whole: bool) -> PredictedLabels:
        learner, n = self.learner, X.shape[0]
        if not learner.__sklearn_is_fitted__():
            return PredictedLabels([None] * n, [None] * n, None, [])
        classes = learner.classes_
        none: list[float | None] = [None] * n
        if not confident or not hasattr(learner, "predict_proba"):
            return PredictedLabels(learner.predict(X).tolist(), none, None, [])
        with np.errstate(invalid="ignore"):
            P = learner.predict_proba(X)
        if not np.isfinite(P).all():  # before the first row
            return PredictedLabels(learner.predict(X).tolist(), none, None, [])
        places = self._places(X, P)
        confidence = P[np.arange(n), places].tolist()
        table = P.tolist() if whole else None
        return PredictedLabels(
            classes[places].tolist(), confidence, table, classes.tolist()
        )

    def _places(self, X: FloatArray, P: FloatArray) -> IntArray:
        """Return the numbers of the predicted classes of rows with probabilities P."""
        learner = self.learner
        if isinstance(learner, RPNBClassifier) and learner.combiner in _BY_SCORE:
            # The largest score wins: what `predict` says, unless two nearly tie.
            places = P.argmax(axis=1)
            largest = P[np.arange(P.shape[0]), places]
            if ((largest[:, None] - _NEARLY <= P).sum(axis=1) == 1).all():
                return places
        return np.searchsorted(learner.classes_, learner.predict(X))

    def explain(self, X: FloatArray) -> dict[str, Any]:
        """Return what each feature adds to the predicted class's score."""
        if not hasattr(self.learner, "explain"):
            raise ApiError(
                409, "not_available", f"{self.spec.learner} cannot explain predictions"
            )
        with self.lock:
            if not self.learner.__sklearn_is_fitted__():
                raise nothing_learnt()
            try:
                found = self.learner.explain(X)
            except ValueError as error:
                raise ApiError(409, "not_available", str(error)) from None
        p = self.spec.n_features
        return {
            "labels": found.labels.tolist(),
            "against": found.against.tolist(),
            "base": found.base.tolist(),
            "score": found.score.tolist(),
            "contributions": found.values.tolist(),
            "features": [*(self.spec.features or (f"x{j + 1}" for j in range(p)))],
        }

    # Learning

    @property
    def _whole_events(self) -> bool:
        """Whether an event is a mini-batch, which must not be joined with others."""
        return getattr(self.learner, "batch_size", 1) != 1

    def apply(self, events: Sequence[LabelledEvent]) -> dict[int, list[Label | None]]:
        """Learn the rows of events; return predictions of those that asked for them.

        The state does not depend on how events are cut into calls of `apply`.
        """
        answers: dict[int, list[Label | None]] = {}

        def key(event: LabelledEvent) -> Any:
            return event.event if self._whole_events else event.kind == "observe"

        for _, some in groupby(events, key):
            group = list(some)
            X = np.concatenate([event.X for event in group])
            y = as_array([label for event in group for label in event.labels])
            with self.lock:
                if group[0].kind == "observe":
                    predicted = self.learner.predict_then_learn(X, y).tolist()
                else:
                    self.learner.partial_fit(X, y)
                    predicted = []
            done = 0
            for event in group:
                n = len(event.labels)
                if event.kind == "observe":
                    found = predicted[done : done + n]
                    answers[event.event] = found
                    self.scores.add(event.labels, found, None, event.time)
                elif event.predicted is not None:
                    self.scores.add(
                        event.labels, event.predicted, event.confidence, event.time
                    )
                else:
                    self.scores.add_learnt(event.labels)
                done += n
                self.applied = event.event
                self.known.update(event.labels)
                self.kind = type(event.labels[0])
        return answers

    def become(self, other: "ServedModel") -> None:
        """Take over the state of another model, which is not used any more."""
        with self.lock:
            self.learner, self.scores = other.learner, other.scores
            self.applied, self.known, self.kind = other.applied, other.known, other.kind

    # Files

    def to_bytes(self, *, names: bool = False) -> bytes | None:
        """Return the model file of the present state, None if nothing was learnt.

        With `names`, the file has the names of the features.
        """
        with self.lock, tempfile.TemporaryDirectory() as folder:
            if not self.learner.__sklearn_is_fitted__():
                return None
            path = Path(folder) / "model.rpnb"
            named = names and self.spec.features is not None
            if named:
                self.learner.feature_names_in_ = np.array(self.spec.features, object)
            try:
                self.learner.save(path)
            finally:
                if named:
                    del self.learner.feature_names_in_
            return path.read_bytes()

    def frozen(self, kind: str) -> bytes:
        """Return the state as a file of a FrozenRPNB, or as an ONNX graph."""
        if not hasattr(self.learner, "compile"):
            raise ApiError(
                409, "not_available", "only models of the learner RPNB can be compiled"
            )
        with self.lock, tempfile.TemporaryDirectory() as folder:
            if not self.learner.__sklearn_is_fitted__():
                raise nothing_learnt()
            path = Path(folder) / "model"
            try:
                compiled = self.learner.compile()
                if self.spec.features is not None:
                    compiled.feature_names_in_ = np.array(self.spec.features, object)
                if kind == "onnx":
                    compiled.to_onnx(path)
                else:
                    compiled.save(path)
            except ImportError:
                raise ApiError(
                    409, "not_available", "the server has no onnx: rpnb[onnx]"
                ) from None
            except ValueError as error:
                raise ApiError(409, "not_available", str(error)) from None
            return path.read_bytes()

    def describe(self) -> dict[str, Any]:
        """Return what clients are told of the model."""
        return {
            "name": self.name,
            "learner": self.spec.learner,
            "parameters": dict(self.spec.parameters),
            "n_features": self.spec.n_features,
            "features": None if self.spec.features is None else [*self.spec.features],
            "classes": sorted(self.known),
            "created": self.created,
            "applied": self.applied,
            "waiting": self.waiting,
            "expired": self.expired,
            "predicted": self.predicted,
            "problem": self.broken,
            **self.scores.summary(),
        }


def nothing_learnt() -> ApiError:
    """Return the error of a request for a state that is not there yet."""
    return ApiError(409, "not_available", "the model has learnt nothing yet")
