"""Backtests: any learners over the log of a service, with labels when they came.

Each learner predicts every row where it came among the events, and learns every label
where that came. The learner that serves the model is scored by the predictions that
clients got, so that its figures are those of the service, to the bit. Its log-loss,
which the service does not know, is that of its replay.
"""

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.evaluate.confusion import log_losses
from rpnb.evaluate.differences import Difference, DifferenceTracker, Loss
from rpnb.evaluate.metrics import kappa
from rpnb.serve.arrivals import ArrivedRows, read_arrivals
from rpnb.serve.events import LabelledEvent
from rpnb.serve.http.tables import Label
from rpnb.serve.log import EventError, LogError, open_log
from rpnb.serve.models import ScoredEvent, ServedModel
from rpnb.serve.scores import Scores
from rpnb.serve.snapshots import ModelRow, first_state, history_of, stored_models
from rpnb.serve.specs import ModelSpec, new_learner

# The number of a learner that has answered no row of the log.
_NOBODY = -1
# Rows that are read at a time, and after which differences get a point.
_CHUNK = 5_000
_POINT = 500


class BacktestProgress(NamedTuple):
    """How far a backtest is."""

    done: int
    """labelled rows that were learned"""
    total: int
    seconds: float
    phase: str = "replaying"


@dataclass(frozen=True, slots=True)
class BacktestRow:
    """What one learner did on the log.

    Attributes
    ----------
    name, learner, parameters
        The learner.
    serving
        Whether it is the one that serves the model.
    rows
        Rows that it had predicted when their labels came.
    error, log_loss, kappa
        Its figures on these rows; None where there are none.
    scores
        All its figures, as a service keeps them.
    differences
        Its mean loss less that of the serving learner, by loss, on the rows that both
        predicted; none for the serving learner itself.
    """

    name: str
    learner: str
    parameters: Mapping[str, Any]
    serving: bool
    rows: int
    error: float | None
    log_loss: float | None
    kappa: float | None
    scores: Scores
    differences: Mapping[Loss, Difference]


@dataclass(frozen=True, slots=True)
class Backtest:
    """The result of a backtest.

    Attributes
    ----------
    model
        Name of the model.
    events, rows
        Events that were replayed, and their labelled rows.
    begins
        The event after which the record of the serving learner begins; 0 if nothing was
        deleted, and it is the model's first.
    elsewhere
        Predictions of the serving learner that its replay does not repeat: it was in
        the middle of an event, or rows were forgotten since.
    learners
        The learners, that which serves the model first.
    """

    model: str
    events: int
    rows: int
    begins: int
    elsewhere: int
    learners: Sequence[BacktestRow]


@final
@dataclass(slots=True)
class _Run:
    """One learner on its way through the log."""

    name: str
    model: ServedModel
    serving: bool
    guesses: dict[int, tuple[Label | None, FloatArray | None, list[Label]]] = field(
        default_factory=dict
    )
    """of rows whose labels have not come: prediction, probabilities, classes"""
    predicted: list[Label | None] = field(default_factory=list)
    truth: list[FloatArray] = field(default_factory=list)
    """of the rows since `take`: predictions, and probabilities of their true labels"""
    elsewhere: int = 0
    loss: float = 0.0
    with_loss: int = 0

    def __post_init__(self) -> None:
        self.model.watch = self._scored
        self.model.probable = True

    def arrive(self, rows: ArrivedRows) -> None:
        """Predict rows whose labels come later."""
        found = self.model.predict_locked(rows.X, confidence=True, probabilities=True)
        table = found.probabilities
        own, history = self.model.contender, self.model.history
        for i, row in enumerate(rows.rows):
            P = None if table is None else np.array(table[i])
            self.guesses[row.seq] = (found.labels[i], P, found.classes)
            if row.contender != own and (
                not self.serving or history.serving_at(row.after) != own
            ):
                self.model.pending[row.seq] = (found.labels[i], found.confidence[i])

    def apply(self, events: list[LabelledEvent]) -> None:
        """Learn the rows of events."""
        self.model.apply(events)

    def _scored(self, scored: ScoredEvent) -> None:
        event, predicted, truth = scored
        self.predicted += predicted
        if event.kind == "labels":
            truth = np.full(len(predicted), np.nan)
            pairs = zip(event.rows or (), event.labels, strict=True)
            for i, (seq, label) in enumerate(pairs):
                again, P, classes = self.guesses.pop(seq, (None, None, []))
                self.elsewhere += self.serving and again != predicted[i]
                if P is not None:
                    truth[i] = P[classes.index(label)] if label in classes else 0.0
        elif truth is None:
            truth = np.full(len(predicted), np.nan)
        self.truth.append(truth)

    def take(self) -> tuple[list[Label | None], FloatArray]:
        """Return the predictions since the last call, and the log-losses."""
        predicted = self.predicted
        probability = np.concatenate([*self.truth, np.zeros(0)])
        losses = np.where(
            np.isnan(probability), np.nan, log_losses(probability, len(probability))
        )
        losses[[each is None for each in predicted]] = np.nan
        known = losses[~np.isnan(losses)]
        # One after the other, so that the sum does not depend on the calls.
        self.loss = float(np.cumsum(np.concatenate([[self.loss], known]))[-1])
        self.with_loss += len(known)
        self.predicted, self.truth = [], []
        return predicted, losses

    def row(self, differences: Mapping[Loss, Difference]) -> BacktestRow:
        """Return the learner's line of the table."""
        scores, spec = self.model.scores, self.model.spec
        return BacktestRow(
            self.name,
            spec.learner,
            dict(spec.parameters),
            self.serving,
            scores.scored,
            scores.errors()[0] if scores.scored else None,
            self.loss / self.with_loss if self.with_loss else None,
            kappa_of(scores),
            scores,
            differences,
        )


@final
class _Pair:
    """A learner beside the serving one: both losses on the rows that both predicted."""

    def __init__(self, name: str, serving: str) -> None:
        self._names = (name, serving)
        self._trackers: dict[Loss, DifferenceTracker] = {
            loss: DifferenceTracker(self._names, (), loss)
            for loss in ("error", "log_loss")
        }
        self._rows: dict[Loss, int] = {"error": 0, "log_loss": 0}

    def add(self, loss: Loss, own: FloatArray, other: FloatArray) -> None:
        """Add losses of rows, NaN where there is none."""
        both = ~np.isnan(own) & ~np.isnan(other)
        if both.any():
            self._trackers[loss].add(np.stack([own[both], other[both]]))
            self._trackers[loss].add_checkpoint()
            self._rows[loss] += int(both.sum())

    def differences(self, confidence: float) -> dict[Loss, Difference]:
        """Return the differences, of those losses that both learners have."""
        found: dict[Loss, Difference] = {}
        for loss, tracker in self._trackers.items():
            if self._rows[loss]:
                difference = tracker.difference(*self._names, confidence)
                if difference is not None:
                    found[loss] = difference
        return found


def kappa_of(scores: Scores) -> float | None:
    """Return Cohen's kappa of a model's scored predictions; None where undefined."""
    labels = sorted({each for pair in scores.confusion for each in pair}, key=repr)
    if not labels:
        return None
    places = {label: i for i, label in enumerate(labels)}
    counts = np.zeros((len(labels), len(labels) + 1))
    for (truth, guess), n in scores.confusion.items():
        counts[places[truth], places[guess]] += n
    value = kappa(counts)
    return None if np.isnan(value) else value


def served_model(folder: Path, name: str) -> ModelSpec:
    """Return what the learner that serves a model was created from."""
    connection = open_log(folder, read_only=True)
    try:
        return history_of(connection, _find(connection, folder, name)).serving.spec
    finally:
        connection.close()


def _find(connection: sqlite3.Connection, folder: Path, name: str) -> ModelRow:
    rows = stored_models(connection)
    for row in rows:
        if row[1] == name:
            return row
    names = ", ".join(row[1] for row in rows) or "none"
    raise LogError(f"{folder} has no model {name!r}; it has: {names}")


def backtest(
    folder: Path,
    name: str,
    candidates: Mapping[str, ModelSpec],
    *,
    confidence: float = 0.95,
    progress: Callable[[BacktestProgress], None] | None = None,
) -> Backtest:
    """Replay learners over the log of a model.

    The log is read as it is at the moment of the call; a service may be running.

    Parameters
    ----------
    folder
        Folder of the service.
    name
        Name of the model.
    candidates
        By name, what the other learners are made of.
    confidence
        Probability that all differences are within their intervals, at all rows.
    progress
        Called now and then.

    Raises
    ------
    LogError
        If there is no such model, or its log cannot be replayed.
    """
    connection = open_log(folder, read_only=True)
    try:
        connection.execute("BEGIN")  # one view of it all
        row = _find(connection, folder, name)
        try:
            return _replay(connection, row, candidates, confidence, progress)
        except EventError as error:
            raise LogError(
                f"the log of model {name} cannot be replayed: {error}; `rpnb serve "
                f"{folder} --check` says more"
            ) from error
    finally:
        connection.close()


def _replay(
    connection: sqlite3.Connection,
    row: ModelRow,
    candidates: Mapping[str, ModelSpec],
    confidence: float,
    progress: Callable[[BacktestProgress], None] | None,
) -> Backtest:
    started = time.monotonic()
    served, _ = first_state(connection, row)
    begins = served.applied
    title = f"{served.spec.learner} (serving)"
    serving = _Run(title, served, True)
    others = [
        _Run(name, _new_model(name, spec), False) for name, spec in candidates.items()
    ]
    pairs = [_Pair(run.name, title) for run in others]
    events, total = connection.execute(
        "SELECT count(*), coalesce(sum(n), 0) FROM events WHERE model=? AND id>? AND "
        "n>0",
        (row[0], begins),
    ).fetchone()
    done = new = 0
    labels: list[Label] = []

    def compare() -> None:
        served_labels, served_losses = serving.take()
        served_errors = _errors(labels, served_labels)
        for run, pair in zip(others, pairs, strict=True):
            own_labels, own_losses = run.take()
            pair.add("error", _errors(labels, own_labels), served_errors)
            pair.add("log_loss", own_losses, served_losses)
        labels.clear()

    for some in read_arrivals(connection, row[0], begins, chunk=_CHUNK):
        if isinstance(some, ArrivedRows):
            some = ArrivedRows([each for each in some.rows if each.labelled])
            for run in (serving, *others) if some.rows else ():
                run.arrive(some)
            continue
        for run in (serving, *others):
            _apply(run, some)
        for event in some:
            new += len(event.labels)
            if event.kind != "learn":
                labels += event.labels
        if new >= _POINT:
            compare()
            done, new = done + new, 0
            if progress is not None:
                progress(BacktestProgress(done, total, time.monotonic() - started))
    compare()
    return Backtest(
        served.name,
        events,
        total,
        begins,
        serving.elsewhere,
        [
            serving.row({}),
            *(
                run.row(pair.differences(confidence))
                for run, pair in zip(others, pairs, strict=True)
            ),
        ],
    )


def _new_model(name: str, spec: ModelSpec) -> ServedModel:
    """Return a learner that has learned nothing."""
    try:
        learner = new_learner(spec)
    except (TypeError, ValueError) as error:
        raise LogError(f"{name}: {error}") from error
    return ServedModel(0, name, spec, learner, 0.0, contender=_NOBODY)


def _apply(run: _Run, events: list[LabelledEvent]) -> None:
    """Learn events; an error says which learner refused them."""
    try:
        run.apply(events)
    except Exception as error:
        if run.serving:
            raise EventError(
                events[0].event,
                f"or one soon after it cannot be applied ({type(error).__name__})",
            ) from error
        raise LogError(f"{run.name} cannot learn this log: {error}") from error


def _errors(labels: list[Label], predicted: list[Label | None]) -> FloatArray:
    """Return 1 for each wrong prediction, 0 for a right one, NaN for none."""
    return np.array(
        [
            np.nan if guess is None else float(guess != label)
            for label, guess in zip(labels, predicted, strict=True)
        ]
    )
