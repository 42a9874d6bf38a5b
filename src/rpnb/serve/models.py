"""Served models: a learner, what it must be given, and how events change it."""

import json
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
from sklearn.utils import get_tags

from rpnb.core.asking import Asking
from rpnb.core.columns.coding import ColumnKind
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.classifier import RPNBClassifier
from rpnb.estimators.pooled import PooledClassifier
from rpnb.serve.comparison import Comparison
from rpnb.serve.costs import class_steps, row_steps
from rpnb.serve.events import LabelledEvent
from rpnb.serve.history import History, new_history
from rpnb.serve.http.tables import Label, RequestColumns
from rpnb.serve.limits import ApiError
from rpnb.serve.recent import KEPT, RecentPrediction, reason_of
from rpnb.serve.scores import Scores
from rpnb.serve.specs import Learner, ModelSpec, as_array

# Rules by which probabilities are an increasing function of the scores.
_BY_SCORE = ("log_sum", "product")
_NEARLY = 1e-9
# Steps of learning after which predictions have their turn.
_STEPS_AT_ONCE = 5e7
# Numbers that predicting some rows may take at once: rows times features, or classes.
_AT_ONCE = 1_000_000
# Rows of a pooled classifier explained in a turn, about 10 ms each.
_SAMPLED_AT_ONCE = 8


class ScoredEvent(NamedTuple):
    """What was predicted for the rows of an event, as it was scored."""

    event: LabelledEvent
    predicted: Sequence[Label | None]
    truth: FloatArray | None
    """of "observe": probabilities of the true labels, if they were asked for"""


class SavedState(NamedTuple):
    """A state of a model, for a snapshot."""

    event: int
    """The last event that it includes."""
    file: bytes
    scores: str
    owner: int = 0
    """The number under which the log keeps it."""


class PredictedLabels(NamedTuple):
    """Predictions of rows; no label where no class is known."""

    labels: list[Label | None]
    confidence: list[float | None]
    """probability of the predicted label, where the learner has one"""
    probabilities: list[list[float]] | None
    classes: list[Label]
    contender: int = 0
    """the learner that predicted them"""
    scores: list[bytes] | None = None
    """by which rows were predicted, of models that keep them"""

    def part(self, start: int, stop: int) -> "PredictedLabels":
        """Return the predictions of some of the rows."""
        table = self.probabilities
        return PredictedLabels(
            self.labels[start:stop],
            self.confidence[start:stop],
            None if table is None else table[start:stop],
            self.classes,
            self.contender,
            None if self.scores is None else self.scores[start:stop],
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
    generation: int = 0
    """How often rows were forgotten: what was computed from rows is not used again."""
    kind: type | None = None
    """type of the labels"""
    known: set[Label] = field(default_factory=set)
    """labels in the log"""
    recent: deque[RecentPrediction] = field(default_factory=lambda: deque(maxlen=KEPT))
    """the latest predictions"""
    columns: RequestColumns = field(init=False)
    """what rows must look like"""
    lock: Any = field(default_factory=threading.Lock)
    """Held while some rows are learned, or predicted."""
    events_lock: Any = field(default_factory=threading.RLock)
    """Held while whole events are learned, or the state between them is read."""
    asking: Asking = field(default_factory=Asking)
    """What rows were offered, and asked for."""
    backlog: float = 0.0
    """Steps of learning that wait, about."""
    contender: int = 0
    """which of the learners that the model has had this is: 0 is the first"""
    pending: dict[int, tuple[Label | None, float | None]] = field(default_factory=dict)
    """predictions of rows that another learner answered, by the rows' numbers"""
    seen: int = 0
    """the last row that was predicted so, or did not have to be"""
    comparison: Comparison | None = None
    """of a challenger: its errors less those of the answers"""
    history: History = field(init=False)
    """the learners that the model has had"""
    watch: Callable[[ScoredEvent], None] | None = None
    """called with each event whose rows were scored"""
    probable: bool = False
    """whether `watch` is to get the probabilities of rows that are observed"""
    _readers: int = 0

    def __post_init__(self) -> None:
        self.history = new_history(self.spec, self.created)
        missing = bool(get_tags(self.learner).input_tags.allow_nan)
        self.columns = RequestColumns(
            self.spec.n_features, self.spec.features, missing, self.kinds
        )
        for label in self.spec.classes or ():
            self.known.add(label)
        if self.learner.__sklearn_is_fitted__():
            self.known.update(self.learner.classes_.tolist())
        if self.known:
            self.kind = type(next(iter(self.known)))

    @property
    def kinds(self) -> tuple[ColumnKind, ...]:
        """What each column holds; nothing if all are numbers."""
        fitted = self.learner.__sklearn_is_fitted__()
        columns = self.learner._columns if fitted else self.spec.columns
        return () if columns is None else columns.kinds

    @property
    def owner(self) -> int:
        """The number under which the log keeps its snapshots."""
        return -self.contender or self.id

    @property
    def degraded(self) -> bool:
        """Whether it predicts from the state before an event that it cannot apply."""
        return self.broken is not None and self.predicts

    # Predicting

    def predict(
        self, X: FloatArray, *, confidence: bool, probabilities: bool
    ) -> PredictedLabels:
        """Predict rows; with probabilities, if wanted, where there are any."""
        with self.turn():
            return self.predict_locked(
                X, confidence=confidence, probabilities=probabilities
            )

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the lock; a model that is learning lets others have a turn."""
        self._readers += 1
        try:
            with self.lock:
                yield
        finally:
            self._readers -= 1

    def predict_locked(
        self, X: FloatArray, *, confidence: bool, probabilities: bool
    ) -> PredictedLabels:
        """Predict rows, for a caller that holds the lock."""
        known = max(len(self.known), 1)
        step = max(1, _AT_ONCE // max(X.shape[1], known))
        parts = [
            self._predict(
                X[start : start + step], confidence or probabilities, probabilities
            )
            for start in range(0, X.shape[0], step)
        ]
        self.predicted += X.shape[0]
        found = parts[0] if len(parts) == 1 else _joined(parts)
        return found._replace(contender=self.contender)

    def _predict(self, X: FloatArray, confident: bool, whole: bool) -> PredictedLabels:
        learner, n = self.learner, X.shape[0]
        if not learner.__sklearn_is_fitted__():
            return PredictedLabels([None] * n, [None] * n, None, [])
        classes = learner.classes_
        none: list[float | None] = [None] * n
        if confident and self.keeps_scores:
            labels, P, scores = learner._predict_kept(X)
            confidence = P.max(axis=1).tolist()
            table = P.tolist() if whole else None
            return PredictedLabels(
                *(labels.tolist(), confidence, table, classes.tolist()),
                scores=scores,
            )
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
        step = max(1, _AT_ONCE // X.shape[1])
        if isinstance(self.learner, PooledClassifier):
            step = _SAMPLED_AT_ONCE
        found = [
            self._explain(X[start : start + step])
            for start in range(0, X.shape[0], step)
        ]
        p = self.spec.n_features
        names = [name for name in found[0] if name != "member_names"]
        more = {k: v for k, v in found[0].items() if k == "member_names"}
        return {
            **{name: [each for part in found for each in part[name]] for name in names},
            **more,
            "features": [*(self.spec.features or (f"x{j + 1}" for j in range(p)))],
        }

    def _explain(self, X: FloatArray) -> dict[str, Any]:
        if not hasattr(self.learner, "explain"):
            raise ApiError(
                409, "not_available", f"{self.spec.learner} cannot explain predictions"
            )
        with self.turn():
            if not self.learner.__sklearn_is_fitted__():
                raise nothing_learned()
            try:
                found = self.learner.explain(X)
            except ValueError as error:
                raise ApiError(409, "not_available", str(error)) from None
        reasons = {
            "labels": found.labels.tolist(),
            "against": found.against.tolist(),
            "base": found.base.tolist(),
            "score": found.score.tolist(),
            "contributions": found.values.tolist(),
        }
        if found.members is not None:
            reasons["errors"] = found.errors.tolist()
            reasons["members"] = found.members.tolist()
            reasons["member_names"] = list(found.member_names)
        return reasons

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
    def keeps_scores(self) -> bool:
        """Whether labels are learned from the scores of their predictions."""
        learner = self.learner
        return isinstance(learner, PooledClassifier) and learner.delays == "varying"

    @property
    def whole_events(self) -> bool:
        """Whether an event is a mini-batch, which must not be joined with others."""
        return getattr(self.learner, "batch_size", 1) != 1

    def check_labels(self, labels: Sequence[Label]) -> None:
        """Refuse labels that the learner would refuse, by its own checks."""
        # Those of events that it has not learned yet count as well.
        with self.turn():
            self.learner._check_labels(as_array([*self.known, *labels]))

    def steps(self, rows: int, new_classes: int = 0) -> float:
        """Return about how many steps learning rows takes."""
        spec, classes = self.spec, max(len(self.known) + new_classes, 2)
        each = row_steps(spec.learner, spec.parameters, spec.width, classes)
        return rows * each + new_classes * class_steps(spec.learner, spec.width)

    def apply(self, events: Sequence[LabelledEvent]) -> dict[int, list[Label | None]]:
        """Learn the rows of events; return predictions of those that asked for them.

        The state does not depend on how events are cut into calls of `apply`.
        """
        with self.events_lock:
            return self._apply(events)

    def _apply(self, events: Sequence[LabelledEvent]) -> dict[int, list[Label | None]]:
        answers: dict[int, list[Label | None]] = {}

        def key(event: LabelledEvent) -> Any:
            return event.event if self.whole_events else event.kind == "observe"

        for _, some in groupby(events, key):
            group = list(some)
            predicted, truth = self._learn(group)
            done = 0
            for event in group:
                n = len(event.labels)
                if event.kind == "observe":
                    found = predicted[done : done + n]
                    answers[event.event] = found
                    self.scores.add(event.labels, found, None, event.time)
                    known = np.array(truth[done : done + n]) if truth else None
                    self._report(ScoredEvent(event, found, known))
                elif event.predicted is not None:
                    own, confidence = self._own_predictions(event)
                    self.scores.add(event.labels, own, confidence, event.time)
                    self._report(ScoredEvent(event, own, None))
                else:
                    self.scores.add_learned(event.labels)
                done += n
                self.applied = event.event
                self.known.update(event.labels)
                self.kind = type(event.labels[0])
        return answers

    def _report(self, scored: ScoredEvent) -> None:
        if self.watch is not None:
            self.watch(scored)

    def _own_predictions(
        self, event: LabelledEvent
    ) -> tuple[Sequence[Label | None], Sequence[float | None]]:
        """Return what this learner predicted for rows that are labelled now.

        Of rows that another learner answered, that is what it predicted beside it.
        """
        recorded = event.predicted or [], event.confidence or []
        numbers, contenders = event.rows or [], event.contenders or []
        if all(each == self.contender for each in contenders):
            return recorded
        nothing = (None, None)
        found = [
            (label, confidence)
            if contender == self.contender
            else self.pending.pop(seq, nothing)
            for seq, contender, label, confidence in zip(
                numbers, contenders, *recorded, strict=True
            )
        ]
        return [label for label, _ in found], [confidence for _, confidence in found]

    def _learn(
        self, events: list[LabelledEvent]
    ) -> tuple[list[Label | None], list[float]]:
        """Learn the rows of events, all "observe" or none; return predictions if so.

        With `probable`, also the probabilities of their true labels, where there are
        any.
        """
        first, learner = events[0], self.learner
        observe = first.kind == "observe"
        one = len(events) == 1 and len(first.labels) == 1
        if self.keeps_scores and not observe:
            self._learn_kept(events)
            return [], []
        if one and not observe and hasattr(learner, "learn_one"):
            with self.lock:
                learner.learn_one(first.X[0], first.labels[0])
            return [], []
        X = np.concatenate([event.X for event in events])
        y = as_array([label for event in events for label in event.labels])
        step = max(1, int(_STEPS_AT_ONCE / self.steps(1)))
        if self.whole_events:
            step = len(y)
        found: list[Label | None] = []
        truth: list[float] = []
        probable = self.probable and hasattr(learner, "predict_proba")
        for start in range(0, len(y), step):
            some = slice(start, start + step)
            if start and self._readers:
                time.sleep(0.001)  # or they would not get the lock
            with self.lock:
                if observe and probable:
                    labels, P = learner.predict_then_learn(
                        X[some], y[some], return_proba=True
                    )
                    found += labels.tolist()
                    places = np.searchsorted(learner.classes_, y[some])
                    truth += P[np.arange(len(P)), places].tolist()
                elif observe:
                    found += learner.predict_then_learn(X[some], y[some]).tolist()
                else:
                    learner.partial_fit(X[some], y[some])
        return found, truth

    def _learn_kept(self, events: list[LabelledEvent]) -> None:
        """Learn rows from the scores of their predictions, where these were kept.

        Those of another learner that answered say nothing about this one.
        """
        learner = self.learner
        step = max(1, int(_STEPS_AT_ONCE / self.steps(1)))
        for event in events:
            n, start = len(event.labels), 0
            scores = [
                each if contender == self.contender else None
                for each, contender in zip(
                    event.scores or [None] * n,
                    event.contenders or [0] * n,
                    strict=True,
                )
            ]
            for kept in _runs(scores, step):
                some = slice(start, start + len(kept))
                X, y = event.X[some], as_array(event.labels[some])
                if start and self._readers:
                    time.sleep(0.001)  # or they would not get the lock
                with self.lock:
                    if kept[0] is None or not learner.__sklearn_is_fitted__():
                        learner.partial_fit(X, y)
                    else:
                        learner._learn_kept(X, y, kept)
                start = some.stop

    def become(self, other: "ServedModel") -> None:
        """Take over the state of another model, which is not used any more."""
        with self.events_lock, self.lock:
            self.learner, self.scores = other.learner, other.scores
            self.applied, self.known, self.kind = other.applied, other.known, other.kind
            self.broken, self.predicts = other.broken, other.predicts
            self.spec, self.columns = other.spec, other.columns
            self.contender, self.history = other.contender, other.history
            self.pending, self.seen = other.pending, other.seen

    # Files

    def saved(self) -> SavedState | None:
        """Return the state after the last event, None if nothing was learned."""
        with self.events_lock:
            content = self.to_bytes()
            if content is None:
                return None
            figures = self.figures(whole=True)
            return SavedState(self.applied, content, figures, self.owner)

    def figures(self, *, whole: bool) -> str:
        """Return the figures as a JSON text, those of a challenger among them.

        The whole has also what is needed to go on, which depends on the rows that
        wait.
        """
        found = self.scores.to_json()
        if self.comparison is not None:
            found["comparison"] = self.comparison.to_json()
        if whole and (self.pending or self.seen):
            pending = [[seq, *guess] for seq, guess in self.pending.items()]
            found |= {"pending": pending, "seen": self.seen}
        return json.dumps(found)

    def take_figures(self, text: str) -> None:
        """Take over the figures of a JSON text."""
        found = json.loads(text)
        self.scores = Scores.from_json(found)
        if "comparison" in found:
            self.comparison = Comparison.from_json(found["comparison"])
        self.pending = {
            seq: (label, confidence)
            for seq, label, confidence in found.get("pending", ())
        }
        self.seen = found.get("seen", 0)

    def to_bytes(self, *, names: bool = False) -> bytes | None:
        """Return the model file of the present state, None if nothing was learned.

        With `names`, the file has the names of the features.
        """
        with (
            self.events_lock,
            self.lock,
            tempfile.TemporaryDirectory() as folder,
        ):
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
        with (
            self.events_lock,
            self.lock,
            tempfile.TemporaryDirectory() as folder,
        ):
            if not self.learner.__sklearn_is_fitted__():
                raise nothing_learned()
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
            "columns": [*(self.kinds or ("number",) * self.spec.n_features)],
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


def _runs(scores: Sequence[bytes | None], longest: int) -> Iterator[list[bytes | None]]:
    """Yield scores in runs of rows that all have some, or none, up to a length."""
    for _, same in groupby(scores, lambda each: each is None):
        run = list(same)
        for start in range(0, len(run), longest):
            yield run[start : start + longest]


def _joined(parts: list[PredictedLabels]) -> PredictedLabels:
    """Return the predictions of consecutive rows as one."""
    tables = [part.probabilities for part in parts]
    return PredictedLabels(
        [each for part in parts for each in part.labels],
        [each for part in parts for each in part.confidence],
        None if None in tables else [row for table in tables for row in table or ()],
        parts[-1].classes,
        scores=None
        if parts[0].scores is None
        else [each for part in parts for each in part.scores or ()],
    )


def nothing_learned() -> ApiError:
    """Return the error of a request for a state that is not there yet."""
    return ApiError(409, "not_available", "the model has learned nothing yet")
