"""Served models: a learner, what it must be given, and how events change it."""

import tempfile
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
from sklearn.utils import get_tags

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.classifier import RPNBClassifier
from rpnb.serve.http.formats import Label, RequestColumns
from rpnb.serve.limits import ApiError
from rpnb.serve.recent import KEPT, RecentPrediction, reason_of
from rpnb.serve.scores import Scores
from rpnb.serve.specs import Learner, ModelSpec, as_array

# Rules by which probabilities are an increasing function of the scores.
_BY_SCORE = ("log_sum", "product")
_NEARLY = 1e-9


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

    def part(self, start: int, stop: int) -> "PredictedLabels":
        """Return the predictions of some of the rows."""
        table = self.probabilities
        return PredictedLabels(
            self.labels[start:stop],
            self.confidence[start:stop],
            None if table is None else table[start:stop],
            self.classes,
        )


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
    set_aside: int = 0
    """Events that were set aside because they could not be replayed."""
    kind: type | None = None
    """type of the labels"""
    known: set[Label] = field(default_factory=set)
    """labels in the log"""
    recent: deque[RecentPrediction] = field(default_factory=lambda: deque(maxlen=KEPT))
    """the latest predictions"""
    warm: bool = False
    """whether the learner's kernels are compiled"""
    columns: RequestColumns = field(init=False)
    """what rows must look like"""
    lock: Any = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        missing = bool(get_tags(self.learner).input_tags.allow_nan)
        self.columns = RequestColumns(self.spec.n_features, self.spec.features, missing)
        for label in self.spec.classes or ():
            self.known.add(label)
        if self.learner.__sklearn_is_fitted__():
            self.known.update(self.learner.classes_.tolist())
        if self.known:
            self.kind = type(next(iter(self.known)))

    @property
    def degraded(self) -> bool:
        """Whether it predicts from the state before an event that it cannot apply."""
        return self.broken is not None and self.predicts

    # Predicting

    def predict(
        self, X: FloatArray, *, confidence: bool, probabilities: bool
    ) -> PredictedLabels:
        """Predict rows; with probabilities, if wanted, where there are any."""
        with self.lock:
            return self.predict_locked(
                X, confidence=confidence, probabilities=probabilities
            )

    def predict_locked(
        self, X: FloatArray, *, confidence: bool, probabilities: bool
    ) -> PredictedLabels:
        """Predict rows, for a caller that holds the lock."""
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
            return PredictedLabels(learner.predict_next(X).tolist(), none, None, [])
        with np.errstate(invalid="ignore"):
            P = learner.predict_next_proba(X)
        if not np.isfinite(P).all():  # before the first row
            return PredictedLabels(learner.predict_next(X).tolist(), none, None, [])
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
        return np.searchsorted(learner.classes_, learner.predict_next(X))

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

    def recent_predictions(self) -> list[dict[str, Any]]:
        """Return the latest predictions, the last one first, with reasons.

        Reasons are computed when they are first asked for, by the state of then.
        """
        recent = list(self.recent)[::-1]
        new = [each for each in recent if each.reason is None]
        if new:
            try:
                explained = self.explain(np.stack([each.x for each in new]))
            except ApiError as error:
                for each in new:
                    each.reason = {"sentence": error.message}
            else:
                for i, each in enumerate(new):
                    each.reason = reason_of(explained, i)
        return [each.to_json() for each in recent]

    # Learning

    @property
    def whole_events(self) -> bool:
        """Whether an event is a mini-batch, which must not be joined with others."""
        return getattr(self.learner, "batch_size", 1) != 1

    def check_labels(self, labels: Sequence[Label]) -> None:
        """Refuse labels that the learner would refuse, by its own checks."""
        self.learner._check_labels(as_array(labels))

    def apply(self, events: Sequence[LabelledEvent]) -> dict[int, list[Label | None]]:
        """Learn the rows of events; return predictions of those that asked for them.

        The state does not depend on how events are cut into calls of `apply`.
        """
        answers: dict[int, list[Label | None]] = {}

        def key(event: LabelledEvent) -> Any:
            return event.event if self.whole_events else event.kind == "observe"

        for _, some in groupby(events, key):
            group = list(some)
            with self.lock:
                predicted = self._learn(group)
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

    def _learn(self, events: list[LabelledEvent]) -> list[Label | None]:
        """Learn the rows of events, all "observe" or none; return predictions if so."""
        first, learner = events[0], self.learner
        observe = first.kind == "observe"
        one = len(events) == 1 and len(first.labels) == 1
        if one and not observe and hasattr(learner, "learn_one"):
            learner.learn_one(first.X[0], first.labels[0])
            return []
        X = np.concatenate([event.X for event in events])
        y = as_array([label for event in events for label in event.labels])
        if not observe:
            learner.partial_fit(X, y)
            return []
        found: list[Label | None] = learner.predict_then_learn(X, y).tolist()
        return found

    def become(self, other: "ServedModel") -> None:
        """Take over the state of another model, which is not used any more."""
        with self.lock:
            self.learner, self.scores = other.learner, other.scores
            self.applied, self.known, self.kind = other.applied, other.known, other.kind
            self.broken, self.predicts = other.broken, other.predicts

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
            "new_classes": self.spec.new_classes,
            "created": self.created,
            "applied": self.applied,
            "waiting": self.waiting,
            "expired": self.expired,
            "predicted": self.predicted,
            "problem": self.broken,
            "degraded": self.degraded,
            "set_aside": self.set_aside,
            **self.scores.summary(),
        }


def nothing_learnt() -> ApiError:
    """Return the error of a request for a state that is not there yet."""
    return ApiError(409, "not_available", "the model has learnt nothing yet")
