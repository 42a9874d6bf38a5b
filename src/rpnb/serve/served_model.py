"""Served models: a learner, the rows it accepts, and how events change it."""

import io
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from math import nan
from typing import Any, NamedTuple, final

import numpy as np
from sklearn.utils import get_tags

from rpnb.core.asking import Asking
from rpnb.core.columns.coding import ColumnKind
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.mini_batches import model_to_bytes
from rpnb.estimators.protocol import (
    check_labels,
    columns_of,
    explains_by_sampling,
    keeps_scores,
    learn_kept,
    predict_kept,
    predicts_most_probable,
)
from rpnb.serve.comparison import Comparison
from rpnb.serve.guesses import Guess, Guesses
from rpnb.serve.history import History, new_history
from rpnb.serve.http.request_tables import RequestColumns
from rpnb.serve.label_rules import Label, as_array, kind_of
from rpnb.serve.limits import ApiError
from rpnb.serve.log import LabelledEvent, pack_probabilities, probability_of
from rpnb.serve.mixes import MOST_CLASSES, MixCorrection
from rpnb.serve.recent import KEPT, RecentPrediction, reason_of
from rpnb.serve.scores import Scores
from rpnb.serve.specs import Learner, ModelSpec

# Probabilities closer than this may be in another order than the scores.
_TIE = 1e-9
# Learning steps after which waiting predictions get the lock.
_STEPS_PER_TURN = 5e7
# Largest array of one prediction call: rows times features, or times classes.
_VALUES_PER_CALL = 1_000_000
# Most probabilities of a request that the log keeps, to compare log-losses.
_MOST_KEPT = 1_000_000
# Rows that are explained by sampling per turn, about 10 ms each.
_SAMPLED_PER_TURN = 8


class ScoredEvent(NamedTuple):
    """Predictions of the rows of an event whose labels have arrived."""

    event: LabelledEvent
    predicted: Sequence[Label | None]
    truth: FloatArray
    """probabilities of the true labels, NaN where unknown"""


class ObservedAnswer(NamedTuple):
    """Predictions of the rows of an event "observe"."""

    labels: list[Label | None]
    truth: list[float] | None
    """probabilities of the true labels, if requested"""


class SavedState(NamedTuple):
    """State of a model, for a snapshot."""

    event: int
    """id of the last event that it includes"""
    file: bytes
    scores: str
    owner: int = 0
    """number under which the log keeps it"""


class PredictedLabels(NamedTuple):
    """Predictions of rows; None where no class is known."""

    labels: list[Label | None]
    confidence: list[float | None]
    """probability of the predicted label, if the learner has probabilities"""
    probabilities: FloatArray | None
    """(n, M), if requested"""
    classes: list[Label]
    contender: int = 0
    """number of the learner that predicted them"""
    scores: list[bytes] | None = None
    """packed scores of the rows, for learners that learn from them"""

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

    def corrected(self, P: FloatArray) -> "PredictedLabels":
        """Return the predictions that follow from corrected probabilities.

        Rows whose probabilities are the same keep their labels: a learner may not
        predict the most probable class.
        """
        labels, confidence = [*self.labels], [*self.confidence]
        assert self.probabilities is not None  # noqa: S101 - the caller has looked
        changed = (self.probabilities != P).any(axis=1)
        for i in np.flatnonzero(changed).tolist():
            best = int(P[i].argmax())
            labels[i], confidence[i] = self.classes[best], float(P[i, best])
        return self._replace(labels=labels, confidence=confidence, probabilities=P)

    def corrected_by(
        self, mix: MixCorrection, rows: Sequence[int]
    ) -> tuple["PredictedLabels", list[int]]:
        """Correct rows, given by their places, that will wait for labels.

        Returns all predictions, and the numbers of these rows in the correction.
        """
        assert self.probabilities is not None  # noqa: S101 - the caller has looked
        P = self.probabilities.copy()
        found = mix.correct(self.classes, P[rows])
        P[rows] = found.P
        return self.corrected(P), found.numbers

    def packed_probabilities(self) -> list[bytes] | None:
        """Return the probabilities of each row as bytes; None if there are none."""
        if self.probabilities is None:
            return None
        return pack_probabilities(self.classes, self.probabilities)


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
    """number of rows that wait for labels"""
    expired: int = 0
    """number of rows dropped before their label arrived"""
    predicted: int = 0
    """number of rows predicted since the process started"""
    broken: str | None = None
    """why labels are refused; None if they are accepted"""
    predicts: bool = True
    """whether there is a state to predict with"""
    set_aside: int = 0
    """number of events set aside because they could not be replayed"""
    generation: int = 0
    """counts requests to forget rows; figures computed from rows start again"""
    known: set[Label] = field(default_factory=set)
    """classes in the log, learned or not"""
    recent: deque[RecentPrediction] = field(default_factory=lambda: deque(maxlen=KEPT))
    """latest predictions, for the page"""
    columns: RequestColumns = field(init=False)
    """columns that rows must have"""
    lock: Any = field(default_factory=threading.Lock)
    """held while some rows are learned or predicted"""
    events_lock: Any = field(default_factory=threading.RLock)
    """held while whole events are learned, or the state between them is read"""
    categories: dict[float, str] = field(default_factory=dict)
    """names of the first categories seen, by their codes"""
    mix: MixCorrection | None = None
    """correction of the class mix, if the model has one"""
    mix_stale: bool = False
    """whether the correction must be read from the log again before use"""
    mix_saved: int = 0
    """last row that the correction in the table `mixes` includes"""
    asking: Asking = field(default_factory=Asking)
    """counts of rows offered and rows asked for"""
    backlog: float = 0.0
    """estimated learning steps of the queued jobs"""
    contender: int = 0
    """number of this learner among those of the model; 0 is the first"""
    pending: Guesses = field(default_factory=Guesses)
    """own predictions of rows that another learner answered"""
    pending_mix: MixCorrection | None = None
    """correction of these predictions, if the model has one"""
    seen: int = 0
    """last row considered for such a prediction"""
    comparison: Comparison | None = None
    """of a challenger: its losses minus those of the serving learner"""
    history: History = field(init=False)
    """learners of the model, past and present"""
    on_scored: Callable[[ScoredEvent], None] | None = None
    """called with each scored event"""
    scores_probabilities: bool = False
    """whether to compute probabilities of the true labels of observed rows"""
    _readers: int = 0

    def __post_init__(self) -> None:
        self.history = new_history(self.spec, self.created)
        if self.spec.correct_class_mix:
            self.mix, self.pending_mix = MixCorrection(), MixCorrection()
        missing = bool(get_tags(self.learner).input_tags.allow_nan)
        self.columns = RequestColumns(
            self.spec.n_features, self.spec.features, missing, self.kinds
        )
        for label in self.spec.classes or ():
            self.known.add(label)
        if self.learner.__sklearn_is_fitted__():
            self.known.update(self.learner.classes_.tolist())

    @property
    def kinds(self) -> tuple[ColumnKind, ...]:
        """Kind of each column; empty if all are numbers."""
        fitted = self.learner.__sklearn_is_fitted__()
        columns = columns_of(self.learner) if fitted else self.spec.columns
        return () if columns is None else columns.kinds

    @property
    def owner(self) -> int:
        """Number under which the log keeps its snapshots."""
        return -self.contender or self.id

    def keeps_probabilities(self, rows: int) -> bool:
        """Return whether the log keeps the probabilities of rows that wait.

        Challengers and the correction of the class mix need them.
        """
        few = rows * len(self.known) <= _MOST_KEPT
        return few and (bool(self.history.challengers) or self.corrects)

    @property
    def corrects(self) -> bool:
        """Whether the class mix of rows that wait is corrected."""
        return self.mix is not None and len(self.known) <= MOST_CLASSES

    @property
    def degraded(self) -> bool:
        """Whether it predicts with the state before an event that it cannot apply."""
        return self.broken is not None and self.predicts

    # Predicting

    def predict(
        self, X: FloatArray, *, confidence: bool, probabilities: bool
    ) -> PredictedLabels:
        """Predict rows, with probabilities if requested and available."""
        with self.turn():
            return self.predict_locked(
                X, confidence=confidence, probabilities=probabilities
            )

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the lock; a model that is learning releases it from time to time."""
        self._readers += 1
        try:
            with self.lock:
                yield
        finally:
            self._readers -= 1

    def predict_locked(
        self, X: FloatArray, *, confidence: bool, probabilities: bool
    ) -> PredictedLabels:
        """Predict rows; the caller holds the lock."""
        known = max(len(self.known), 1)
        step = max(1, _VALUES_PER_CALL // max(X.shape[1], known))
        parts = [
            self._predict(
                X[start : start + step], confidence or probabilities, probabilities
            )
            for start in range(0, X.shape[0], step)
        ]
        self.predicted += X.shape[0]
        found = parts[0] if len(parts) == 1 else _joined(parts)
        return found._replace(contender=self.contender)

    def corrected(self, found: PredictedLabels) -> PredictedLabels:
        """Return predictions of rows that do not wait, by the current class mix."""
        if self.mix is None or not self.corrects or found.probabilities is None:
            return found
        P = self.mix.apply(found.classes, found.probabilities)
        return found if P is found.probabilities else found.corrected(P)

    def keep_guesses(self, rows: Sequence[int], found: PredictedLabels) -> list[Guess]:
        """Keep predictions of rows that another learner answers, until their labels.

        They are corrected for the class mix, as if this learner answered. `rows` are
        the numbers of the rows in the log.
        """
        mix = self.pending_mix
        if mix is not None and self.corrects and found.probabilities is not None:
            found, numbers = found.corrected_by(mix, range(len(rows)))
            for seq, number in zip(rows, numbers, strict=True):
                mix.note_row(seq, number)
        nothing: list[bytes | None] = [None] * len(rows)
        packed = found.packed_probabilities() or nothing
        scores = found.scores or nothing
        columns = found.labels, found.confidence, packed, scores
        guesses = [Guess(*each) for each in zip(*columns, strict=True)]
        for seq, guess in zip(rows, guesses, strict=True):
            self.pending.add(seq, guess)
        return guesses

    def _predict(self, X: FloatArray, confident: bool, whole: bool) -> PredictedLabels:
        """Predict rows as the next of the stream; the caller holds the lock."""
        learner, n = self.learner, X.shape[0]
        if not learner.__sklearn_is_fitted__():
            return PredictedLabels([None] * n, [None] * n, None, [])
        classes = learner.classes_
        none: list[float | None] = [None] * n
        if confident and self.keeps_scores:
            labels, P, scores = predict_kept(learner, X)
            confidence = P.max(axis=1).tolist()
            table = P if whole else None
            return PredictedLabels(
                *(labels.tolist(), confidence, table, classes.tolist()),
                scores=scores,
            )
        if not confident or not hasattr(learner, "predict_proba"):
            return PredictedLabels(learner.predict_next(X).tolist(), none, None, [])
        with np.errstate(invalid="ignore"):
            P = learner.predict_next_proba(X)
        if not np.isfinite(P).all():  # nothing was learned yet
            return PredictedLabels(learner.predict_next(X).tolist(), none, None, [])
        numbers = self._predicted_numbers(X, P)
        confidence = P[np.arange(n), numbers].tolist()
        table = P if whole else None
        return PredictedLabels(
            classes[numbers].tolist(), confidence, table, classes.tolist()
        )

    def _predicted_numbers(self, X: FloatArray, P: FloatArray) -> IntArray:
        """Return the numbers of the predicted classes of rows with probabilities P."""
        learner = self.learner
        if predicts_most_probable(learner):
            numbers = P.argmax(axis=1)
            largest = P[np.arange(P.shape[0]), numbers]
            if ((largest[:, None] - _TIE <= P).sum(axis=1) == 1).all():
                return numbers
        return np.searchsorted(learner.classes_, learner.predict_next(X))

    def explain(self, X: FloatArray) -> dict[str, Any]:
        """Return the contribution of each feature to the predicted class's score."""
        step = max(1, _VALUES_PER_CALL // X.shape[1])
        if explains_by_sampling(self.learner):
            step = _SAMPLED_PER_TURN
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
        """Explain rows, or refuse with the reason why that is impossible."""
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
        """Return the latest predictions, newest first, with reasons.

        Reasons are computed on the first request, with the state of that moment.
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
        """Whether the learner learns labels from the scores of their predictions."""
        return keeps_scores(self.learner)

    @property
    def whole_events(self) -> bool:
        """Whether each event is one mini-batch, not to be joined with others."""
        return getattr(self.learner, "batch_size", 1) != 1

    @property
    def label_kind(self) -> type | None:
        """Type of the labels; None before the first one."""
        return kind_of(self.known)

    def check_learnable(self, new: Iterable[Label]) -> None:
        """Refuse new classes that the learner would refuse, by its own checks."""
        # Classes of events that it has not learned yet count, too.
        with self.turn():
            check_labels(self.learner, as_array([*self.known, *new]))

    def steps(self, rows: int, new_classes: int = 0) -> float:
        """Estimate the number of steps that learning some rows takes."""
        return self.spec.steps(rows, len(self.known) + new_classes, new_classes)

    def apply(self, events: Sequence[LabelledEvent]) -> dict[int, ObservedAnswer]:
        """Learn the rows of events; return the predictions of "observe" events.

        The state does not depend on how events are split into calls.
        """
        with self.events_lock:
            return self._apply(events)

    def _apply(self, events: Sequence[LabelledEvent]) -> dict[int, ObservedAnswer]:
        """Learn events, as many at once as give the same answers; return these."""
        answers: dict[int, ObservedAnswer] = {}

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
                    known = truth[done : done + n] if truth else None
                    answers[event.event] = ObservedAnswer(found, known)
                    self.scores.add(event.labels, found, None, event.time)
                    self._report(
                        ScoredEvent(event, found, np.array(known or [nan] * n))
                    )
                elif event.predicted is not None:
                    own = self._own_predictions(event)
                    labels = [each.label for each in own]
                    confidence = [each.confidence for each in own]
                    self.scores.add(event.labels, labels, confidence, event.time)
                    if self.pending_mix is not None:
                        seqs = event.rows or []
                        self.pending_mix.add_labelled(event.event, seqs, event.labels)
                    if self.on_scored is not None:
                        self._report(ScoredEvent(event, labels, _truth(own, event)))
                else:
                    self.scores.add_learned(event.labels)
                done += n
                self.applied = event.event
                self.known.update(event.labels)
        return answers

    def _report(self, scored: ScoredEvent) -> None:
        if self.on_scored is not None:
            self.on_scored(scored)

    def _own_predictions(self, event: LabelledEvent) -> list[Guess]:
        """Return this learner's own predictions of rows that are labelled now.

        If another learner answered a row, that is the prediction kept in `pending`.
        """
        recorded = event.predicted or [], event.confidence or []
        return [
            Guess(label, confidence)
            if contender == self.contender
            else self.pending.pop(seq)
            for seq, contender, label, confidence in zip(
                event.rows or [], event.contenders or [], *recorded, strict=True
            )
        ]

    def _learn(
        self, events: list[LabelledEvent]
    ) -> tuple[list[Label | None], list[float]]:
        """Learn the rows of events; return their predictions if they are "observe".

        Events are all "observe", or none is. With `scores_probabilities` or
        challengers, the probabilities of the true labels are returned, too.
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
        step = max(1, int(_STEPS_PER_TURN / self.steps(1)))
        if self.whole_events:
            step = len(y)
        found: list[Label | None] = []
        truth: list[float] = []
        with_truth = self.scores_probabilities or bool(self.history.challengers)
        with_truth &= hasattr(learner, "predict_proba")
        for start in range(0, len(y), step):
            some = slice(start, start + step)
            if start and self._readers:
                time.sleep(0.001)  # let waiting readers take the lock
            with self.lock:
                if observe and with_truth:
                    labels, P = learner.predict_then_learn(
                        X[some], y[some], return_proba=True
                    )
                    found += labels.tolist()
                    numbers = np.searchsorted(learner.classes_, y[some])
                    truth += P[np.arange(len(P)), numbers].tolist()
                elif observe:
                    found += learner.predict_then_learn(X[some], y[some]).tolist()
                else:
                    learner.partial_fit(X[some], y[some])
        return found, truth

    def _learn_kept(self, events: list[LabelledEvent]) -> None:
        """Learn rows from the scores of their predictions, where they were kept."""
        learner = self.learner
        step = max(1, int(_STEPS_PER_TURN / self.steps(1)))
        for event in events:
            n, start = len(event.labels), 0
            scores: list[bytes | None] = [None] * n
            if event.kind == "labels":
                scores = [
                    each
                    if contender == self.contender
                    else self.pending.get(seq).scores
                    for each, contender, seq in zip(
                        event.scores or scores,
                        event.contenders or [],
                        event.rows or [],
                        strict=True,
                    )
                ]
            for kept in _runs(scores, step):
                some = slice(start, start + len(kept))
                X, y = event.X[some], as_array(event.labels[some])
                # Either all rows of a run have scores, or none has.
                packed = [each for each in kept if each is not None]
                if start and self._readers:
                    time.sleep(0.001)  # let waiting readers take the lock
                with self.lock:
                    if packed and learner.__sklearn_is_fitted__():
                        learn_kept(learner, X, y, packed)
                    else:
                        learner.partial_fit(X, y)
                start = some.stop

    def become(self, other: "ServedModel") -> None:
        """Take over the state of another model, which is discarded."""
        with self.events_lock, self.lock:
            self.learner, self.scores = other.learner, other.scores
            self.applied, self.known = other.applied, other.known
            self.broken, self.predicts = other.broken, other.predicts
            self.spec, self.columns = other.spec, other.columns
            self.contender, self.history = other.contender, other.history
            # Rows may have arrived: the writer reads it from the log before use.
            self.mix, self.mix_stale = other.mix, True
            self.pending, self.pending_mix = other.pending, other.pending_mix
            self.seen = other.seen

    # Files

    def saved(self) -> SavedState | None:
        """Return the state after the last event; None if nothing was learned."""
        with self.events_lock:
            content = self.to_bytes()
            if content is None:
                return None
            figures = self.figures(whole=True)
            return SavedState(self.applied, content, figures, self.owner)

    def figures(self, *, whole: bool) -> str:
        """Return the figures as JSON, including the comparison of a challenger.

        With `whole`, also the kept predictions of waiting rows, to continue from.
        """
        found = self.scores.to_json()
        if self.comparison is not None:
            found["comparison"] = self.comparison.to_json()
        if whole and (len(self.pending) or self.seen):
            found |= {"pending": self.pending.to_json(), "seen": self.seen}
            if self.pending_mix is not None:
                found["mix"] = self.pending_mix.to_json()
        return json.dumps(found)

    def take_figures(self, text: str) -> None:
        """Restore the figures that `figures` returned."""
        found = json.loads(text)
        self.scores = Scores.from_json(found)
        if "comparison" in found:
            self.comparison = Comparison.from_json(found["comparison"])
        self.pending = Guesses.from_json(found.get("pending", ()))
        self.seen = found.get("seen", 0)
        if self.pending_mix is not None:
            saved = found.get("mix")
            kept = MixCorrection() if saved is None else MixCorrection.from_json(saved)
            self.pending_mix = kept

    def to_bytes(self, *, names: bool = False) -> bytes | None:
        """Return the model file of the current state; None if nothing was learned.

        With `names`, the file contains the names of the features.
        """
        with self.events_lock, self.lock:
            if not self.learner.__sklearn_is_fitted__():
                return None
            named = names and self.spec.features is not None
            if named:
                self.learner.feature_names_in_ = np.array(self.spec.features, object)
            try:
                return model_to_bytes(self.learner)
            finally:
                if named:
                    del self.learner.feature_names_in_

    def frozen(self, kind: str) -> bytes:
        """Return the state as a FrozenRPNB file or an ONNX graph."""
        if not hasattr(self.learner, "compile"):
            raise ApiError(
                409, "not_available", "only models of the learner RPNB can be compiled"
            )
        file = io.BytesIO()
        with self.events_lock, self.lock:
            if not self.learner.__sklearn_is_fitted__():
                raise nothing_learned()
            try:
                compiled = self.learner.compile()
                if self.spec.features is not None:
                    compiled.feature_names_in_ = np.array(self.spec.features, object)
                if kind == "onnx":
                    compiled.to_onnx(file)
                else:
                    compiled.save(file)
            except ImportError:
                raise ApiError(
                    409,
                    "not_available",
                    "the server needs onnx: pip install 'rpnb[onnx]'",
                ) from None
            except ValueError as error:
                raise ApiError(409, "not_available", str(error)) from None
        return file.getvalue()

    def describe(self) -> dict[str, Any]:
        """Return the description of the model for clients."""
        return {
            "name": self.name,
            "learner": self.spec.learner,
            "parameters": dict(self.spec.parameters),
            "n_features": self.spec.n_features,
            "features": None if self.spec.features is None else [*self.spec.features],
            "columns": [*(self.kinds or ("number",) * self.spec.n_features)],
            "classes": sorted(self.known),
            "new_classes": self.spec.new_classes,
            "class_mix": None if self.mix is None else self.mix.describe(),
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


def _truth(own: list[Guess], event: LabelledEvent) -> FloatArray:
    """Return the probabilities of the true labels, NaN where unknown."""
    pairs = zip(own, event.labels, strict=True)
    return np.array([probability_of(guess.proba, label) for guess, label in pairs])


def _runs(scores: Sequence[bytes | None], longest: int) -> Iterator[list[bytes | None]]:
    """Yield runs of rows that all have scores, or all have none, up to a length."""
    for _, same in groupby(scores, lambda each: each is None):
        run = list(same)
        for start in range(0, len(run), longest):
            yield run[start : start + longest]


def _joined(parts: list[PredictedLabels]) -> PredictedLabels:
    """Return the predictions of consecutive rows as one."""
    tables = [each for part in parts if (each := part.probabilities) is not None]
    return PredictedLabels(
        [each for part in parts for each in part.labels],
        [each for part in parts for each in part.confidence],
        np.concatenate(tables) if len(tables) == len(parts) else None,
        parts[-1].classes,
        scores=None
        if parts[0].scores is None
        else [each for part in parts for each in part.scores or ()],
    )


def nothing_learned() -> ApiError:
    """Return the error of a request that needs a fitted model."""
    return ApiError(409, "not_available", "the model has learned nothing yet")
