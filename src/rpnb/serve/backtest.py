"""Backtests: replay a service's log with other learners, labels as late as they were.

Each learner predicts every row, and learns every label, in the order in which they
arrived. The serving learner is scored by the predictions that clients got, so its
figures equal those of the service, to the bit. Its log-loss, which the service does not
record, comes from the replay.
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
from rpnb.evaluate.differences import Difference, Loss, difference_of
from rpnb.evaluate.metrics import kappa
from rpnb.serve.arrivals import ArrivedRows, read_arrivals
from rpnb.serve.comparison import errors_of
from rpnb.serve.label_rules import Label
from rpnb.serve.log import (
    EventError,
    LabelledEvent,
    LogError,
    probability_of,
    read_log,
)
from rpnb.serve.model_rows import ModelRow, stored_models
from rpnb.serve.restoring import first_state, history_of
from rpnb.serve.scores import Scores
from rpnb.serve.served_model import ScoredEvent, ServedModel
from rpnb.serve.specs import ModelSpec, new_learner

# Number of a learner that has answered no row of the log.
_NO_CONTENDER = -1
_LOSSES: tuple[Loss, ...] = ("error", "log_loss")
# Rows that are read at a time.
_CHUNK = 5_000


class BacktestProgress(NamedTuple):
    """Progress of a backtest."""

    done: int
    """number of labelled rows learned so far"""
    total: int
    seconds: float
    phase: str = "replaying"


@dataclass(frozen=True, slots=True)
class BacktestRow:
    """Result of one learner.

    Attributes
    ----------
    name
        Name in the table.
    learner, parameters
        Learner and its parameters.
    serving
        Whether it is the serving learner.
    rows
        Number of labelled rows that it predicted before their labels arrived.
    error, log_loss, kappa
        Figures on these rows; None if undefined.
    scores
        All figures that a service keeps.
    differences
        Mean loss minus that of the serving learner, by loss, on the rows that both
        predicted; empty for the serving learner itself. The intervals of all learners
        and losses hold together.
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
        Number of replayed events, and of their labelled rows.
    begins
        Id of the event after which the log of the serving learner begins; 0 if it is
        the model's first learner and no events were deleted.
    elsewhere
        Number of predictions of the serving learner that its replay does not reproduce:
        it was learning an event at that moment, or rows were forgotten since.
    learners
        Results of all learners, the serving one first.
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
    """A learner that is replayed over the log."""

    name: str
    model: ServedModel
    serving: bool
    guesses: dict[int, tuple[Label | None, bytes | None]] = field(default_factory=dict)
    """prediction and packed probabilities of rows without labels, by number"""
    predicted: list[Label | None] = field(default_factory=list)
    truth: list[FloatArray] = field(default_factory=list)
    """predictions since `take`, and probabilities of the true labels"""
    elsewhere: int = 0
    loss: float = 0.0
    with_loss: int = 0

    def __post_init__(self) -> None:
        self.model.on_scored = self._scored
        self.model.scores_probabilities = True

    def arrive(self, rows: ArrivedRows) -> None:
        """Predict rows whose labels arrive later."""
        found = self.model.predict_locked(rows.X, confidence=True, probabilities=True)
        own, history = self.model.contender, self.model.history
        nothing: list[bytes | None] = [None] * len(rows.rows)
        packed = found.packed_probabilities() or nothing
        for i, row in enumerate(rows.rows):
            label, proba = found.labels[i], packed[i]
            if row.contender != own and (
                not self.serving or history.serving_at(row.after) != own
            ):
                (guess,) = self.model.keep_guesses([row.seq], found.part(i, i + 1))
                label, proba = guess.label, guess.proba
            if row.labelled:
                self.guesses[row.seq] = label, proba

    def apply(self, events: list[LabelledEvent]) -> None:
        """Learn the rows of events."""
        self.model.apply(events)

    def _scored(self, scored: ScoredEvent) -> None:
        event, predicted, truth = scored
        self.predicted += predicted
        if event.kind == "labels":
            truth = np.full(len(predicted), np.nan)
            corrects = self.serving and self.model.spec.correct_class_mix
            rows = zip(
                event.rows or (), event.contenders or (), event.labels, strict=True
            )
            for i, (seq, contender, label) in enumerate(rows):
                again, proba = self.guesses.pop(seq, (None, None))
                truth[i] = probability_of(proba, label)
                if corrects and contender == self.model.contender:
                    # The probabilities that clients got are only in the log.
                    known = (event.truth or {i: np.nan})[i]
                    truth[i] = truth[i] if np.isnan(known) else known
                else:
                    self.elsewhere += self.serving and again != predicted[i]
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
        # Summed one by one, so that the result does not depend on the calls.
        self.loss = float(np.cumsum(np.concatenate([[self.loss], known]))[-1])
        self.with_loss += len(known)
        self.predicted, self.truth = [], []
        return predicted, losses

    def row(self, differences: Mapping[Loss, Difference]) -> BacktestRow:
        """Return the result of the learner."""
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
    """Losses of a learner and of the serving one, on rows that both predicted."""

    def __init__(self, name: str, serving: str) -> None:
        self._names = (name, serving)
        self._losses: dict[Loss, list[FloatArray]] = {loss: [] for loss in _LOSSES}

    def add(self, loss: Loss, own: FloatArray, other: FloatArray) -> None:
        """Add losses of rows, NaN for rows without a prediction."""
        both = ~np.isnan(own) & ~np.isnan(other)
        if both.any():
            self._losses[loss].append(np.stack([own[both], other[both]]))

    def differences(self, confidence: float) -> dict[Loss, Difference]:
        """Return the differences of the losses that both learners have."""
        return {
            loss: difference_of(self._names, loss, (*np.hstack(some),), confidence)
            for loss, some in self._losses.items()
            if some
        }


def kappa_of(scores: Scores) -> float | None:
    """Return Cohen's kappa of a model's scored predictions; None where undefined."""
    cells = list(scores.confusion.items())  # a copy: the model may be learning
    labels = sorted({each for pair, _ in cells for each in pair}, key=repr)
    if not labels:
        return None
    places = {label: i for i, label in enumerate(labels)}
    counts = np.zeros((len(labels), len(labels) + 1))
    for (truth, guess), n in cells:
        counts[places[truth], places[guess]] += n
    value = kappa(counts)
    return None if np.isnan(value) else value


def served_model(folder: Path, name: str) -> ModelSpec:
    """Return the specification of the serving learner of a model."""
    with read_log(folder) as connection:
        return history_of(connection, _find(connection, folder, name)).serving.spec


def _find(connection: sqlite3.Connection, folder: Path, name: str) -> ModelRow:
    rows = stored_models(connection)
    for row in rows:
        if row.name == name:
            return row
    names = ", ".join(row.name for row in rows) or "none"
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
        Specifications of the other learners, by name.
    confidence
        Probability that the intervals of all differences, in both losses and at all
        rows, contain their expectations (Bonferroni).
    progress
        Function that is called from time to time.

    Raises
    ------
    LogError
        If there is no such model, or its log cannot be replayed.
    """
    with read_log(folder) as connection:
        row = _find(connection, folder, name)
        try:
            return _replay(connection, row, candidates, confidence, progress)
        except EventError as error:
            raise LogError(
                f"the log of model {name} cannot be replayed: {error}; `rpnb serve "
                f"{folder} --check` shows details"
            ) from error


def _replay(
    connection: sqlite3.Connection,
    row: ModelRow,
    candidates: Mapping[str, ModelSpec],
    confidence: float,
    progress: Callable[[BacktestProgress], None] | None,
) -> Backtest:
    """Replay the events of a model for its serving learner and for candidates."""
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
        (row.id, begins),
    ).fetchone()
    done = new = 0
    labels: list[Label] = []

    def compare() -> None:
        served_labels, served_losses = serving.take()
        served_errors = errors_of(labels, served_labels)
        for run, pair in zip(others, pairs, strict=True):
            own_labels, own_losses = run.take()
            pair.add("error", errors_of(labels, own_labels), served_errors)
            pair.add("log_loss", own_losses, served_losses)
        labels.clear()

    for some in read_arrivals(connection, row.id, begins, chunk=_CHUNK):
        if isinstance(some, ArrivedRows):
            labelled = ArrivedRows([each for each in some.rows if each.labelled])
            for run in (serving, *others):
                # The class mix is that of all rows.
                rows = some if run.model.spec.correct_class_mix else labelled
                if rows.rows:
                    run.arrive(rows)
            continue
        for run in (serving, *others):
            _apply(run, some)
        for event in some:
            new += len(event.labels)
            if event.kind != "learn":
                labels += event.labels
        if new >= _CHUNK:
            compare()
            done, new = done + new, 0
            if progress is not None:
                progress(BacktestProgress(done, total, time.monotonic() - started))
    compare()
    single = 1.0 - (1.0 - confidence) / max(len(_LOSSES) * len(others), 1)
    return Backtest(
        served.name,
        events,
        total,
        begins,
        serving.elsewhere,
        [
            serving.row({}),
            *(
                run.row(pair.differences(single))
                for run, pair in zip(others, pairs, strict=True)
            ),
        ],
    )


def _new_model(name: str, spec: ModelSpec) -> ServedModel:
    """Return a model with a new learner."""
    try:
        learner = new_learner(spec)
    except (TypeError, ValueError) as error:
        raise LogError(f"{name}: {error}") from error
    return ServedModel(0, name, spec, learner, 0.0, contender=_NO_CONTENDER)


def _apply(run: _Run, events: list[LabelledEvent]) -> None:
    """Learn events; an error names the learner that refused them."""
    try:
        run.apply(events)
    except Exception as error:
        if run.serving:
            raise EventError(
                events[0].event,
                f"or one soon after it cannot be applied ({type(error).__name__})",
            ) from error
        raise LogError(f"{run.name} cannot learn this log: {error}") from error
