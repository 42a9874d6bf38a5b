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
    read_events,
    sound_row,
)
from rpnb.serve.models import SavedState, ServedModel
from rpnb.serve.scores import Scores
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
    event, content, text = state
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
    row: ModelRow, learner: Learner, event: int, scores: Scores
) -> ServedModel:
    number, name, spec, created, expired = row
    return ServedModel(
        number,
        name,
        ModelSpec.from_json(spec),
        learner,
        created,
        scores,
        event,
        expired=expired,
    )


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


def restore(connection: sqlite3.Connection, row: ModelRow) -> Restored:
    """Return a model: its latest sound snapshot and the events after it.

    An event that cannot be applied ends the replay: the state is the one before it.
    """
    number, name, text, _, _ = row
    spec = ModelSpec.from_json(text)
    problems: list[str] = []
    latest: SavedState | None = None
    needs_snapshot = spec.from_file
    for found in _snapshots(connection, number):
        needs_snapshot |= found.base
        if latest is not None:
            continue
        problem = found.problem
        if found.state is not None:
            try:
                _model_from(row, spec, *found.state)
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
            return _model_from(row, spec, *latest)
        return _model_at(row, new_learner(spec), 0, Scores())

    answers: dict[int, list[Label | None]] = {}
    failed: EventError | None = None
    if latest is None and needs_snapshot:
        learner = learners()[spec.learner].estimator(**spec.parameters)
        model = _model_at(row, learner, 0, Scores())
        model.broken = "; ".join(problems) or "its first state is not in the log"
        model.predicts = False
    else:
        model, answers, failed = _replay(connection, number, begin)
    if failed is not None:
        # The first state of a file was learned elsewhere; others have learned nothing.
        model.predicts = spec.from_file or model.scores.learnt > 0
        serves = "predictions come from the state before it" if model.predicts else ""
        model.broken = (
            f"the log of model {name} cannot be replayed: {failed}; "
            f"{serves or 'there is no state before it'}, and no labels are accepted "
            "until it is set aside by rpnb serve DIR --check --set-aside"
        )
    try:
        model.waiting = connection.execute(
            "SELECT count(*) FROM rows WHERE model=? AND event IS NULL", (number,)
        ).fetchone()[0]
        model.set_aside = connection.execute(
            "SELECT count(*) FROM aside WHERE model=?", (number,)
        ).fetchone()[0]
        drawn = connection.execute(
            "SELECT rows, asked, balance, mean FROM asking WHERE model=?", (number,)
        ).fetchone()
        if drawn is not None:
            model.asking = Asking(*drawn)
    except DAMAGE as error:
        model.broken = model.broken or f"rows of model {name} cannot be read: {error}"
    if model.broken is not None:
        problems.append(model.broken)
    return Restored(model, problems, answers, failed)


def isolate(row: ModelRow, problem: str) -> ServedModel:
    """Return a model that cannot be restored: it has no state, and says why."""
    spec = ModelSpec.from_json(row[2])
    learner = learners()[spec.learner].estimator(**spec.parameters)
    model = _model_at(row, learner, 0, Scores())
    model.broken = f"model {row[1]} cannot be restored: {problem}"
    model.predicts = False
    return model


def _model_from(
    row: ModelRow,
    spec: ModelSpec,
    event: int,
    content: bytes,
    scores: str,
) -> ServedModel:
    """Return the model of a snapshot."""
    learner = load_learner(spec.learner, content)
    return _model_at(row, learner, event, Scores.from_json(json.loads(scores)))


def _replay(
    connection: sqlite3.Connection, number: int, begin: Callable[[], ServedModel]
) -> tuple[ServedModel, dict[int, list[Label | None]], EventError | None]:
    """Apply a model's events to its first state, up to one that cannot be applied.

    Many events are applied at once. If that fails, one of them is to blame, and the
    state may be half changed: they are applied again, one by one, to find it, and then
    those before it.
    """
    failed: EventError | None = None
    before = 2**62
    while True:
        try:
            return *_apply_all(connection, number, begin(), before), failed
        except EventError as error:
            found = error
        except Exception:
            model, answers, refused = _apply_each(connection, number, begin(), before)
            if refused is None:
                return model, answers, failed
            found = refused
        if found.event >= before:
            raise found
        failed, before = found, found.event


def _apply_each(
    connection: sqlite3.Connection, number: int, model: ServedModel, before: int
) -> tuple[ServedModel, dict[int, list[Label | None]], EventError | None]:
    """Apply a model's events one by one, to find the one that cannot be applied."""
    answers: dict[int, list[Label | None]] = {}
    last = model.applied
    try:
        for (event,) in read_events(connection, number, last, 1, before):
            last = event.event
            answers.update(model.apply([event]))
    except EventError as error:
        return model, answers, error
    except Exception as error:
        problem = f"cannot be applied ({type(error).__name__})"
        reason = f"{type(error).__name__}: {error}"
        return model, answers, EventError(last, problem, reason)
    return model, answers, None


def _apply_all(
    connection: sqlite3.Connection, number: int, model: ServedModel, before: int
) -> tuple[ServedModel, dict[int, list[Label | None]]]:
    """Apply a model's events, those before an id."""
    answers: dict[int, list[Label | None]] = {}
    for events in read_events(connection, number, model.applied, before=before):
        answers.update(model.apply(events))
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
    *,
    chunk: int = 20_000,
) -> Iterator[tuple[str, ServedModel]]:
    """Replay all events of a model; yield it at each snapshot, and at the end.

    The first word of a pair says what is wrong with the snapshot, "" if nothing is.
    """
    number, name, text, _, _ = row
    spec = ModelSpec.from_json(text)
    model: ServedModel | None = None
    marks: list[_Snapshot] = []
    for found in reversed(list(_snapshots(connection, number))):
        if found.base or (spec.from_file and found.event == 0):
            if found.state is None:
                raise LogError(f"the base of model {name} is damaged: {found.problem}")
            model = _model_from(row, spec, *found.state)
            marks = []
        else:
            marks.append(found)
    if model is None:
        if spec.from_file:
            raise LogError(f"the first state of model {name} is not in the log")
        model = _model_at(row, new_learner(spec), 0, Scores())
    for events in read_events(connection, number, model.applied, chunk):
        while marks and events and marks[0].event <= events[-1].event:
            mark = marks.pop(0)
            before = [each for each in events if each.event <= mark.event]
            events = events[len(before) :]
            model.apply(before)
            yield _difference(model, mark), model
        if events:
            model.apply(events)
    for mark in marks:
        yield f"the snapshot at event {mark.event} is later than the log", model
    yield "", model


def _difference(model: ServedModel, mark: _Snapshot) -> str:
    event = mark.event
    if mark.state is None:
        return f"the snapshot at event {event} is damaged: {mark.problem}"
    _, content, scores = mark.state
    replayed = model.to_bytes()
    # An older version may have written it: compared is what this one makes of it.
    learner = load_learner(model.spec.learner, content)
    written = ServedModel(0, model.name, model.spec, learner, 0.0).to_bytes()
    if replayed is None or written is None or not same_state(replayed, written):
        return f"the snapshot at event {event} is not the state that the log leads to"
    if json.dumps(model.scores.to_json()) != scores:
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
        f"{model.scores.learnt} rows",
    )


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
