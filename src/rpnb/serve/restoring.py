"""Restoring models from the log, and replaying it.

A model is restored from its latest undamaged snapshot and the events after it. A full
replay begins with the state in which the model was created or, once old events have
been deleted, with the snapshot that is marked as its base.
"""

import io
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from rpnb.core.asking import Asking
from rpnb.estimators.registry import learners
from rpnb.estimators.saving.files import read_model
from rpnb.serve.arrivals import advance
from rpnb.serve.history import (
    Contender,
    History,
    Version,
    new_history,
    read_history,
)
from rpnb.serve.log import DAMAGE, EventError, LogError
from rpnb.serve.model_rows import ModelRow
from rpnb.serve.served_model import ObservedAnswer, SavedState, ServedModel
from rpnb.serve.snapshots import Snapshot, snapshots_of
from rpnb.serve.specs import Learner, ModelSpec, new_learner


class Restored(NamedTuple):
    """A model restored from the log."""

    model: ServedModel
    problems: list[str]
    answers: dict[int, ObservedAnswer]
    """predictions of the replayed events, by event"""
    failed: EventError | None = None
    """event at which the replay ended, if it failed"""


def history_of(connection: sqlite3.Connection, row: ModelRow) -> History:
    """Return the history of a model's learners."""
    return read_history(connection, row.id, row.spec, row.created)


def restore(
    connection: sqlite3.Connection,
    row: ModelRow,
    contender: int | None = None,
    *,
    replay: bool = True,
) -> Restored:
    """Restore a model from its latest undamaged snapshot and the events after it.

    A replay ends before the first event that cannot be applied.

    Parameters
    ----------
    connection, row
        The log, and the model's row in the table of models.
    contender
        Number of one of its learners; by default the serving one.
    replay
        Whether to apply the events after the snapshot.
    """
    try:
        history = history_of(connection, row)
    except EventError as error:
        model = isolate(row, str(error))
        return Restored(model, [str(model.broken)], {}, error)
    chosen = history.serving if contender is None else history.contenders[contender]
    restored = _restore(connection, row, history, chosen, replay=replay)
    model = restored.model
    if contender is not None:
        return restored
    _read_counts(connection, row, model)
    model.mix_stale = True
    if model.broken is not None:
        restored.problems.append(model.broken)
    return restored


def _read_counts(
    connection: sqlite3.Connection, row: ModelRow, model: ServedModel
) -> None:
    """Read the counts and names that the log keeps besides the state of a model."""
    try:
        model.waiting = connection.execute(
            "SELECT count(*) FROM rows WHERE model=? AND event IS NULL", (row.id,)
        ).fetchone()[0]
        model.set_aside = connection.execute(
            "SELECT count(*) FROM aside WHERE model=?", (row.id,)
        ).fetchone()[0]
        drawn = connection.execute(
            "SELECT rows, asked, balance, mean FROM asking WHERE model=?", (row.id,)
        ).fetchone()
        if drawn is not None:
            model.asking = Asking(*drawn)
    except DAMAGE as error:
        model.broken = (
            model.broken or f"rows of model {row.name} cannot be read: {error}"
        )
    with suppress(*DAMAGE):  # their codes are shown instead
        names = connection.execute(
            "SELECT number, name FROM categories WHERE model=?", (row.id,)
        )
        model.categories = {n: name for n, name in names if isinstance(name, str)}


def _restore(
    connection: sqlite3.Connection,
    row: ModelRow,
    history: History,
    contender: Contender,
    *,
    before: int = 2**62,
    replay: bool = True,
) -> Restored:
    """Restore one of the learners of a model as it was before an event."""
    name, spec = row.name, contender.spec
    problems: list[str] = []
    latest: SavedState | None = None
    needs_snapshot = spec.from_file and contender.number == 0
    for found in snapshots_of(connection, _owner(row, contender)):
        needs_snapshot |= found.base
        if latest is not None or found.event >= before:
            continue
        problem = found.problem
        if found.state is not None:
            try:
                _model_from(row, history, contender, found.state)
                latest = found.state
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
        if problem:
            problems.append(
                f"the snapshot of model {name} at event {found.event} is damaged: "
                f"{problem}"
            )

    def begin() -> ServedModel:
        if latest is not None:
            return _model_from(row, history, contender, latest)
        return _new_model(connection, row, history, contender)

    answers: dict[int, ObservedAnswer] = {}
    failed: EventError | None = None
    if latest is None and needs_snapshot:
        learner = learners()[spec.learner].estimator(**spec.parameters)
        model = _model_at(row, history, contender, learner, 0)
        model.broken = "; ".join(problems) or "its first state is not in the log"
        model.predicts = False
    elif not replay:
        model = begin()
    else:
        model, answers, failed = _replay(connection, begin, before)
    if failed is not None:
        # An uploaded model has learned elsewhere; others must have learned here.
        model.predicts = spec.from_file or model.scores.learned > 0
        if model.predicts:
            before_it = "predictions come from the state before it"
        else:
            before_it = "there is no state before it"
        model.broken = (
            f"the log of model {name} cannot be replayed: {failed}; "
            f"{before_it}, and no labels are accepted until it is set aside by rpnb "
            "serve DIR --check --set-aside"
        )
    return Restored(model, problems, answers, failed)


def state_at(
    connection: sqlite3.Connection,
    row: ModelRow,
    history: History,
    contender: int,
    event: int,
) -> SavedState:
    """Return the state of one of a model's learners after an event.

    Raises
    ------
    LogError
        If the log cannot be replayed, or nothing was learned by then.
    """
    chosen = history.contenders[contender]
    restored = _restore(connection, row, history, chosen, before=event + 1)
    if restored.failed is not None:
        raise restored.failed
    if restored.model.broken is not None:
        raise LogError(restored.model.broken)
    state = restored.model.saved()
    if state is None:
        raise LogError(f"nothing was learned by event {event}")
    return state._replace(event=event)


def version_state(
    connection: sqlite3.Connection, row: ModelRow, history: History, version: Version
) -> SavedState:
    """Return the state of a version: the stored one, or a replay of the log.

    Forgetting rows deletes the stored state.
    """
    for found in snapshots_of(connection, -version.number):
        if found.state is not None:
            return found.state
    return state_at(connection, row, history, version.contender, version.event)


def model_of_state(
    row: ModelRow, history: History, contender: int, state: SavedState
) -> ServedModel:
    """Return a model with a given state, to predict with."""
    return _model_from(row, history, history.contenders[contender], state)


def isolate(row: ModelRow, problem: str) -> ServedModel:
    """Return a model without a state, which reports why it cannot be restored."""
    spec = ModelSpec.from_json(row.spec)
    history = new_history(spec, row.created)
    learner = learners()[spec.learner].estimator(**spec.parameters)
    model = _model_at(row, history, history.serving, learner, 0)
    model.broken = f"model {row.name} cannot be restored: {problem}"
    model.predicts = False
    return model


def _new_model(
    connection: sqlite3.Connection,
    row: ModelRow,
    history: History,
    contender: Contender,
) -> ServedModel:
    """Return a learner of a model as it was before its first event."""
    start = contender.start
    if contender.origin is None:
        return _model_at(row, history, contender, new_learner(contender.spec), start)
    other, event = contender.origin
    state = state_at(connection, row, history, other, event)
    learner = load_learner(contender.spec.learner, state.file)
    model = _model_at(row, history, contender, learner, start)
    model.take_figures(first_figures(state))
    return model


def _model_from(
    row: ModelRow, history: History, contender: Contender, state: SavedState
) -> ServedModel:
    """Return a model with the state of a snapshot."""
    learner = load_learner(contender.spec.learner, state.file)
    model = _model_at(row, history, contender, learner, state.event)
    model.take_figures(state.scores)
    return model


def _model_at(
    row: ModelRow, history: History, contender: Contender, learner: Learner, event: int
) -> ServedModel:
    model = ServedModel(
        row.id,
        row.name,
        contender.spec,
        learner,
        row.created,
        applied=event,
        expired=row.expired,
        contender=contender.number,
    )
    model.history = history
    return model


def _owner(row: ModelRow, contender: Contender) -> int:
    """Return the number under which the log keeps the snapshots of a learner."""
    return -contender.number or row.id


def load_learner(name: str, content: bytes) -> Learner:
    """Return a learner from the bytes of its model file."""
    return learners()[name].estimator.load(io.BytesIO(content))


def first_figures(state: SavedState) -> str:
    """Return the initial figures of a learner that begins with a given state.

    Predictions of rows that wait are left out: the serving learner answers those.
    """
    found = json.loads(state.scores)
    for name in ("pending", "mix", "seen", "comparison"):
        found.pop(name, None)
    return json.dumps(found)


def _replay(
    connection: sqlite3.Connection, begin: Callable[[], ServedModel], before: int
) -> tuple[ServedModel, dict[int, ObservedAnswer], EventError | None]:
    """Apply events to a model's first state, up to one that cannot be applied.

    Many events are applied at once. If that fails, the state may be half changed. The
    events are then applied one by one to find the bad one, and once more up to it.
    """
    failed: EventError | None = None
    while True:
        try:
            return *_apply_all(connection, begin(), before), failed
        except EventError as error:
            found = error
        except Exception:
            model, answers, refused = _apply_each(connection, begin(), before)
            if refused is None:
                return model, answers, failed
            found = refused
        if found.event >= before:
            raise found
        failed, before = found, found.event


def _apply_each(
    connection: sqlite3.Connection, model: ServedModel, before: int
) -> tuple[ServedModel, dict[int, ObservedAnswer], EventError | None]:
    """Apply a model's events one by one, to find the one that cannot be applied."""
    answers: dict[int, ObservedAnswer] = {}
    try:
        for found in advance(connection, model, chunk=1, before=before):
            answers.update(found)
    except EventError as error:
        return model, answers, error
    except Exception as error:
        (failed,) = connection.execute(
            "SELECT min(id) FROM events WHERE model=? AND id>? AND n>0",
            (model.id, model.applied),
        ).fetchone()
        problem = f"cannot be applied ({type(error).__name__})"
        reason = f"{type(error).__name__}: {error}"
        return model, answers, EventError(failed, problem, reason)
    return model, answers, None


def _apply_all(
    connection: sqlite3.Connection, model: ServedModel, before: int
) -> tuple[ServedModel, dict[int, ObservedAnswer]]:
    """Apply a model's events, those before an id."""
    answers: dict[int, ObservedAnswer] = {}
    for found in advance(connection, model, before=before):
        answers.update(found)
    return model, answers


# Checking


def replay_from_base(
    connection: sqlite3.Connection,
    row: ModelRow,
    contender: int | None = None,
    *,
    chunk: int = 20_000,
) -> Iterator[tuple[str, ServedModel]]:
    """Replay all events of a model; yield it at each snapshot, and at the end.

    The first element of a pair is the problem of the snapshot, "" if it has none. The
    default is the serving learner.
    """
    model, marks = first_state(connection, row, contender)
    (last,) = connection.execute(
        "SELECT coalesce(max(id), 0) FROM events WHERE model=? AND n>0", (row.id,)
    ).fetchone()
    for mark in marks:
        if mark.event > max(last, model.applied):
            yield f"the snapshot at event {mark.event} is later than the log", model
            continue
        for _ in advance(connection, model, chunk=chunk, before=mark.event + 1):
            pass
        yield _difference(model, mark), model
    for _ in advance(connection, model, chunk=chunk):
        pass
    yield "", model


def first_state(
    connection: sqlite3.Connection, row: ModelRow, contender: int | None = None
) -> tuple[ServedModel, list[Snapshot]]:
    """Return the state with which a full replay begins, and the snapshots after it."""
    name, history = row.name, history_of(connection, row)
    chosen = history.serving if contender is None else history.contenders[contender]
    from_file = chosen.spec.from_file and chosen.number == 0
    model: ServedModel | None = None
    marks: list[Snapshot] = []
    for found in reversed(list(snapshots_of(connection, _owner(row, chosen)))):
        if found.base or (from_file and found.event == 0):
            if found.state is None:
                raise LogError(f"the base of model {name} is damaged: {found.problem}")
            model = _model_from(row, history, chosen, found.state)
            marks = []
        else:
            marks.append(found)
    if model is None:
        if from_file:
            raise LogError(f"the first state of model {name} is not in the log")
        try:
            model = _new_model(connection, row, history, chosen)
        except LogError:
            # Events before the version that it began with may have been deleted.
            state = marks[0].state if chosen.origin and marks else None
            if state is None:
                raise
            model, marks = _model_from(row, history, chosen, state), marks[1:]
    return model, marks


def _difference(model: ServedModel, mark: Snapshot) -> str:
    event = mark.event
    if mark.state is None:
        return f"the snapshot at event {event} is damaged: {mark.problem}"
    _, content, scores, _ = mark.state
    replayed = model.to_bytes()
    learner = load_learner(model.spec.learner, content)
    written = ServedModel(0, model.name, model.spec, learner, 0.0)
    written.take_figures(scores)
    file = written.to_bytes()
    if replayed is None or file is None or not same_state(replayed, file):
        return f"the snapshot at event {event} differs from a replay of the log"
    # A comparison may have been restarted since.
    written.comparison = model.comparison
    if model.expired and model.pending_mix is not None and model.pending_mix.row:
        # Rows that were dropped since have counted for the class mix of its guesses.
        return ""
    if model.figures(whole=False) != written.figures(whole=False):
        return f"the figures at event {event} differ from a replay of the log"
    return ""


def same_state(a: bytes, b: bytes) -> bool:
    """Return whether two model files hold the same state, to the bit."""
    (about_a, arrays_a), (about_b, arrays_b) = _content(a), _content(b)
    return (
        about_a == about_b
        and arrays_a.keys() == arrays_b.keys()
        and all(
            array.dtype == arrays_b[name].dtype
            and array.shape == arrays_b[name].shape
            and array.tobytes() == arrays_b[name].tobytes()
            for name, array in arrays_a.items()
        )
    )


def _content(file: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    about, arrays = read_model(io.BytesIO(file))
    for name in ("rpnb_version", "format_version"):
        about.pop(name, None)
    return about, arrays
