"""States of models in the log: taking, restoring, checking and copying them.

A snapshot is a model file of the package, with the figures of `scores`, the id of the
last event that it includes, and a checksum over both; it is one row of a table, written
in one transaction. The state of a model is its latest sound snapshot and the events
after it.

A model's replay begins with what it was created from, or, once old events were deleted,
with the snapshot that is marked as its base.
"""

import hashlib
import json
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
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
from rpnb.serve.http.tables import Label
from rpnb.serve.log import (
    DAMAGE,
    FILE,
    ROW,
    EventError,
    LogError,
    checksum_of,
    make_private_file,
    make_private_folder,
    open_log,
    sound_row,
)
from rpnb.serve.models import SavedState, ServedModel
from rpnb.serve.specs import Learner, ModelSpec, check_name, new_learner

#: Snapshots that a model keeps, besides its base.
KEPT = 2


#: A row of the table of models: id, name, specification, time, dropped rows.
ModelRow = tuple[int, str, str, float, int]


class Restored(NamedTuple):
    """A model as the log has it."""

    model: ServedModel
    problems: list[str]
    answers: dict[int, list[Label | None]]
    """predictions of the events that were replayed, by event"""
    failed: EventError | None = None
    """The event at which the replay ended."""


def load_learner(name: str, content: bytes) -> Learner:
    """Return a learner from the bytes of its model file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.rpnb"
        path.write_bytes(content)
        return learners()[name].estimator.load(path)


def digest(content: bytes, scores: str) -> bytes:
    """Return the checksum of a snapshot."""
    return hashlib.sha256(content + scores.encode()).digest()


def take_snapshot(
    connection: sqlite3.Connection,
    model: int,
    state: SavedState,
    *,
    spacing: float | None = None,
) -> None:
    """Write a state of a model, and delete older ones; within a transaction.

    With a spacing, snapshots that many seconds apart are kept, for retention.
    """
    insert_snapshot(connection, model, state, False)
    old = connection.execute(
        "SELECT event, time, base FROM snapshots WHERE model=? ORDER BY event",
        (model,),
    ).fetchall()
    kept_at = float("-inf")
    for event, when, base in old[:-KEPT]:
        if base or (spacing is not None and when - kept_at >= spacing):
            kept_at = when
            continue
        connection.execute(
            "DELETE FROM snapshots WHERE model=? AND event=?", (model, event)
        )


def insert_snapshot(
    connection: sqlite3.Connection, model: int, state: SavedState, base: bool
) -> None:
    """Insert a row of the table, replacing one of the same event that is no base."""
    event, content, text, _ = state
    connection.execute(
        "INSERT INTO snapshots(model, event, time, file, scores, digest, base, header) "
        "VALUES(?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET file=excluded.file, "
        "scores=excluded.scores, digest=excluded.digest, time=excluded.time, "
        "base=max(base, excluded.base), header=excluded.header",
        (
            *(model, event, time.time(), content, text, digest(content, text), base),
            checksum_of(model, event),
        ),
    )


def _model_at(
    row: ModelRow, history: History, contender: Contender, learner: Learner, event: int
) -> ServedModel:
    number, name, _, created, expired = row
    model = ServedModel(
        number,
        name,
        contender.spec,
        learner,
        created,
        applied=event,
        expired=expired,
        contender=contender.number,
    )
    model.history = history
    return model


class _Snapshot(NamedTuple):
    """A snapshot as the log has it."""

    event: int
    base: bool
    state: SavedState | None
    """None if it is damaged."""
    problem: str = ""


def _snapshots(connection: sqlite3.Connection, model: int) -> Iterator[_Snapshot]:
    """Yield the snapshots of a model, the latest first; each is compared first."""
    events = connection.execute(
        "SELECT event FROM snapshots WHERE model=? ORDER BY event DESC", (model,)
    ).fetchall()
    for (event,) in events:
        base = 1  # if that cannot be read: what came before may not be in the log
        try:
            one = "FROM snapshots WHERE model=? AND event=?"
            key = (model, event)
            (base,) = connection.execute(f"SELECT base {one}", key).fetchone()
            content, scores, checksum, header = connection.execute(
                f"SELECT file, scores, digest, header {one}", key
            ).fetchone()
            if not isinstance(content, bytes) or not isinstance(scores, str):
                raise LogError("it is of another type")
            if digest(content, scores) != checksum:
                raise LogError("its checksum is another")
            if header not in (None, checksum_of(model, event)):
                raise LogError("it belongs to another event")
        except (LogError, *DAMAGE) as error:
            yield _Snapshot(event, bool(base), None, f"{error}")
        else:
            yield _Snapshot(event, bool(base), SavedState(event, content, scores))


def stored_models(
    connection: sqlite3.Connection, unsound: list[str] | None = None
) -> list[ModelRow]:
    """Return the rows of the table of models.

    Those that are not as they were written are left out, and named in `unsound`.
    """
    found: list[ModelRow] = []
    try:
        rows = connection.execute(
            "SELECT id, name, spec, created, expired, checksum FROM models ORDER BY id"
        ).fetchall()
    except DAMAGE as error:
        raise LogError(f"the table of models cannot be read: {error}") from error
    for number, name, spec, created, expired, checksum in rows:
        problem = ""
        if checksum not in (None, checksum_of(number, name, spec, created)):
            problem = "its checksum is another"
        else:
            try:
                name = check_name(name)
                if ModelSpec.from_json(spec).learner not in learners():
                    problem = "its learner is not known"
            except Exception as error:
                problem = f"what it was created from cannot be read: {error}"
        if problem and unsound is not None:
            unsound.append(f"model {number} is damaged: {problem}")
        if not problem:
            dropped = expired if isinstance(expired, int) else 0
            found.append((number, name, spec, created, dropped))
    if unsound is not None:
        known = {row[0] for row in rows}
        for number in sorted(_numbers_in_use(connection) - known):
            unsound.append(f"model {number} is damaged: the table of models lacks it")
    return found


def _numbers_in_use(connection: sqlite3.Connection) -> set[int]:
    """Return the models that have events or snapshots; indices have them in order."""
    found: set[int] = set()
    for table in ("events", "snapshots"):
        after = -1
        try:
            while True:
                (after,) = connection.execute(
                    f"SELECT min(model) FROM {table} WHERE model>?",  # noqa: S608 - our own words
                    (after,),
                ).fetchone()
                if not isinstance(after, int):
                    break
                found.add(after)
        except DAMAGE:
            continue  # what belongs to them cannot be read, as their restoring says
    return found


def history_of(connection: sqlite3.Connection, row: ModelRow) -> History:
    """Return the learners that a model has had."""
    number, _, spec, created, _ = row
    return read_history(connection, number, spec, created)


def restore(
    connection: sqlite3.Connection,
    row: ModelRow,
    contender: int | None = None,
    *,
    replay: bool = True,
) -> Restored:
    """Return a model: its latest sound snapshot and the events after it.

    An event that cannot be applied ends the replay: the state is the one before it.

    Parameters
    ----------
    connection, row
        The log, and the model's row of the table of models.
    contender
        Which of its learners; by default the one that answers.
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
    problems = restored.problems
    try:
        model.waiting = connection.execute(
            "SELECT count(*) FROM rows WHERE model=? AND event IS NULL", (row[0],)
        ).fetchone()[0]
        model.set_aside = connection.execute(
            "SELECT count(*) FROM aside WHERE model=?", (row[0],)
        ).fetchone()[0]
        drawn = connection.execute(
            "SELECT rows, asked, balance, mean FROM asking WHERE model=?", (row[0],)
        ).fetchone()
        if drawn is not None:
            model.asking = Asking(*drawn)
    except DAMAGE as error:
        model.broken = model.broken or f"rows of model {row[1]} cannot be read: {error}"
    if model.broken is not None:
        problems.append(model.broken)
    return restored


def _restore(
    connection: sqlite3.Connection,
    row: ModelRow,
    history: History,
    contender: Contender,
    *,
    before: int = 2**62,
    replay: bool = True,
) -> Restored:
    """Return one of the learners of a model, before an event."""
    name, spec = row[1], contender.spec
    problems: list[str] = []
    latest: SavedState | None = None
    needs_snapshot = spec.from_file and contender.number == 0
    for found in _snapshots(connection, _owner(row, contender)):
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

    answers: dict[int, list[Label | None]] = {}
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
        # The first state of a file was learned elsewhere; others have learned nothing.
        model.predicts = spec.from_file or model.scores.learned > 0
        serves = "predictions come from the state before it" if model.predicts else ""
        model.broken = (
            f"the log of model {name} cannot be replayed: {failed}; "
            f"{serves or 'there is no state before it'}, and no labels are accepted "
            "until it is set aside by rpnb serve DIR --check --set-aside"
        )
    return Restored(model, problems, answers, failed)


def _owner(row: ModelRow, contender: Contender) -> int:
    """Return the number under which the log keeps a learner's snapshots."""
    return -contender.number or row[0]


def _new_model(
    connection: sqlite3.Connection,
    row: ModelRow,
    history: History,
    contender: Contender,
) -> ServedModel:
    """Return a learner as it was added, before it has learned an event."""
    start = contender.start
    if contender.origin is None:
        return _model_at(row, history, contender, new_learner(contender.spec), start)
    other, event = contender.origin
    state = state_at(connection, row, history, other, event)
    learner = load_learner(contender.spec.learner, state.file)
    model = _model_at(row, history, contender, learner, start)
    model.take_figures(first_figures(state))
    return model


def first_figures(state: SavedState) -> str:
    """Return the figures that a learner begins with whose first state this is.

    They are without predictions of rows that wait: others answer for those.
    """
    found = json.loads(state.scores)
    for name in ("pending", "seen", "comparison"):
        found.pop(name, None)
    return json.dumps(found)


def state_at(
    connection: sqlite3.Connection,
    row: ModelRow,
    history: History,
    contender: int,
    event: int,
) -> SavedState:
    """Return the state of one of a model's learners as of an event.

    Raises
    ------
    LogError
        If the log does not lead to it, or nothing was learned by then.
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
    """Return the state of a version: as it was kept, or as the log leads to it.

    It is kept unless rows were forgotten since.
    """
    for found in _snapshots(connection, -version.number):
        if found.state is not None:
            return found.state
    return state_at(connection, row, history, version.contender, version.event)


def model_of_state(
    row: ModelRow, history: History, contender: int, state: SavedState
) -> ServedModel:
    """Return the model of a state, to predict with."""
    return _model_from(row, history, history.contenders[contender], state)


def isolate(row: ModelRow, problem: str) -> ServedModel:
    """Return a model that cannot be restored: it has no state, and says why."""
    spec = ModelSpec.from_json(row[2])
    history = new_history(spec, row[3])
    learner = learners()[spec.learner].estimator(**spec.parameters)
    model = _model_at(row, history, history.serving, learner, 0)
    model.broken = f"model {row[1]} cannot be restored: {problem}"
    model.predicts = False
    return model


def _model_from(
    row: ModelRow, history: History, contender: Contender, state: SavedState
) -> ServedModel:
    """Return the model of a snapshot."""
    learner = load_learner(contender.spec.learner, state.file)
    model = _model_at(row, history, contender, learner, state.event)
    model.take_figures(state.scores)
    return model


def _replay(
    connection: sqlite3.Connection, begin: Callable[[], ServedModel], before: int
) -> tuple[ServedModel, dict[int, list[Label | None]], EventError | None]:
    """Apply a model's events to its first state, up to one that cannot be applied.

    Many events are applied at once. If that fails, one of them is to blame, and the
    state may be half changed: they are applied again, one by one, to find it, and then
    those before it.
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
) -> tuple[ServedModel, dict[int, list[Label | None]], EventError | None]:
    """Apply a model's events one by one, to find the one that cannot be applied."""
    answers: dict[int, list[Label | None]] = {}
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
) -> tuple[ServedModel, dict[int, list[Label | None]]]:
    """Apply a model's events, those before an id."""
    answers: dict[int, list[Label | None]] = {}
    for found in advance(connection, model, before=before):
        answers.update(found)
    return model, answers


# Checking


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
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.rpnb"
        path.write_bytes(file)
        about, arrays = read_model(path)
    for name in ("rpnb_version", "format_version"):
        about.pop(name, None)
    return about, arrays


def replay_from_base(
    connection: sqlite3.Connection,
    row: ModelRow,
    contender: int | None = None,
    *,
    chunk: int = 20_000,
) -> Iterator[tuple[str, ServedModel]]:
    """Replay all events of a model; yield it at each snapshot, and at the end.

    The first word of a pair says what is wrong with the snapshot, "" if nothing is. The
    learner is the one that answers, if no other is named.
    """
    model, marks = first_state(connection, row, contender)
    (last,) = connection.execute(
        "SELECT coalesce(max(id), 0) FROM events WHERE model=? AND n>0", (row[0],)
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
) -> tuple[ServedModel, list[_Snapshot]]:
    """Return the state that a learner's log begins with, and the snapshots after it."""
    name, history = row[1], history_of(connection, row)
    chosen = history.serving if contender is None else history.contenders[contender]
    from_file = chosen.spec.from_file and chosen.number == 0
    model: ServedModel | None = None
    marks: list[_Snapshot] = []
    for found in reversed(list(_snapshots(connection, _owner(row, chosen)))):
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
            # The events before the version that it began with may have been deleted.
            state = marks[0].state if chosen.origin and marks else None
            if state is None:
                raise
            model, marks = _model_from(row, history, chosen, state), marks[1:]
    return model, marks


def _difference(model: ServedModel, mark: _Snapshot) -> str:
    event = mark.event
    if mark.state is None:
        return f"the snapshot at event {event} is damaged: {mark.problem}"
    _, content, scores, _ = mark.state
    replayed = model.to_bytes()
    # An older version may have written it: compared is what this one makes of it.
    learner = load_learner(model.spec.learner, content)
    written = ServedModel(0, model.name, model.spec, learner, 0.0)
    written.take_figures(scores)
    file = written.to_bytes()
    if replayed is None or file is None or not same_state(replayed, file):
        return f"the snapshot at event {event} is not the state that the log leads to"
    # A comparison may have begun again since.
    written.comparison = model.comparison
    if model.figures(whole=False) != written.figures(whole=False):
        return f"the figures at event {event} are not those that the log leads to"
    return ""


def check(folder: Path) -> Iterator[tuple[bool, str]]:
    """Verify the log and the snapshots in a folder: yield (sound, what was checked)."""
    connection = open_log(folder, read_only=True)
    try:
        connection.execute("BEGIN")  # one view of it all, while a service may run
        found = connection.execute("PRAGMA integrity_check(5)").fetchall()
        for (line,) in found:
            yield line == "ok", f"database: {' '.join(str(line).split())}"
        unsound: list[str] = []
        rows = stored_models(connection, unsound)
        for line in unsound:
            yield False, line
        for row in rows:
            try:
                yield from _check_model(connection, row)
            except Exception as error:
                yield False, f"model {row[1]}: {_problem_of(error)}"
    except (LogError, *DAMAGE) as error:
        yield False, f"database: {_problem_of(error)}"
    finally:
        connection.close()


def _check_model(
    connection: sqlite3.Connection, row: ModelRow
) -> Iterator[tuple[bool, str]]:
    """Replay all events of a model, and check its rows that wait."""
    name = row[1]
    waiting = connection.execute(
        f"SELECT seq, {ROW} FROM rows WHERE model=? AND event IS NULL",  # noqa: S608 - our own words
        (row[0],),
    )
    damaged = [seq for seq, *stored in waiting if not sound_row(*stored)]
    if damaged:
        yield False, f"model {name}: {len(damaged)} rows that wait are damaged"
    try:
        for contender in history_of(connection, row).challengers:
            yield from _check_challenger(connection, row, contender)
        for problem, model in replay_from_base(connection, row):
            yield (
                not problem,
                f"model {name}: " + (problem or f"sound at event {model.applied}"),
            )
    except Exception as error:
        yield False, f"model {name}: {_problem_of(error)}"
        failed = restore(connection, row).failed
        if failed is not None:
            yield (
                False,
                f"model {name}: a start ends before event {failed.event}; "
                "--check --set-aside sets it aside",
            )
        return
    yield from _set_aside_events(connection, row)
    restored = restore(connection, row).model
    same = model.to_bytes() is None or same_state(
        model.to_bytes() or b"", restored.to_bytes() or b""
    )
    what = "is" if same else "is not"
    yield (
        same,
        f"model {name}: the state of a start {what} that of the whole log, "
        f"{model.scores.learned} rows",
    )


def _check_challenger(
    connection: sqlite3.Connection, row: ModelRow, contender: Contender
) -> Iterator[tuple[bool, str]]:
    """Replay all events of a challenger; that it cannot learn one is no damage."""
    who = f"model {row[1]}: challenger {contender.name}: "
    try:
        for problem, model in replay_from_base(connection, row, contender.number):
            yield not problem, who + (problem or f"sound at event {model.applied}")
    except LogError:
        raise
    except Exception as error:
        yield True, f"{who}it cannot learn the log: {_problem_of(error)}"


def _problem_of(error: Exception) -> str:
    """Return what ended a replay, in one line."""
    named = f"{error}" if isinstance(error, LogError) else f"{type(error).__name__}"
    more = "" if isinstance(error, LogError) else f": {error}"
    return " ".join(f"{named}{more}".split())


def _set_aside_events(
    connection: sqlite3.Connection, row: ModelRow
) -> Iterator[tuple[bool, str]]:
    """Name the events of a model that were set aside."""
    for event, n, since, reason in connection.execute(
        "SELECT id, n, since, reason FROM aside WHERE model=? ORDER BY id", (row[0],)
    ).fetchall():
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(since))
        what = " ".join(str(reason).split())
        yield (
            True,
            f"model {row[1]}: event {event} ({n} rows) is set aside since {when}: "
            f"{what}",
        )


def backup(folder: Path, target: Path) -> None:
    """Copy the log, whole and consistent, while the service may be running."""
    source = open_log(folder, read_only=True)
    make_private_folder(target)
    if (target / FILE).exists():
        source.close()
        raise LogError(f"{target / FILE} exists already")
    make_private_file(target / FILE)
    copy = sqlite3.connect(target / FILE, isolation_level=None)
    try:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode=WAL")
    finally:
        copy.close()
        source.close()


def state_of(folder: Path, name: str) -> bytes | None:
    """Return the state that an offline replay of the log leads to, row by row of it."""
    connection = open_log(folder, read_only=True)
    try:
        for row in stored_models(connection):
            if row[1] == name:
                *_, (_, model) = replay_from_base(connection, row, chunk=1)
                return model.to_bytes()
    finally:
        connection.close()
    raise LogError(f"{folder} has no model of this name")
