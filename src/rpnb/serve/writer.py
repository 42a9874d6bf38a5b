"""The one thread that writes to the log: requests of all clients share transactions.

Commands that arrive while a transaction is being flushed to the disk form the next one
(group commit). A command is checked and written within the transaction; once that is on
the disk its event changes the model, and the client gets the answer. If a transaction
fails, all of it is rolled back, no model has changed, and each client gets a 503.
"""

import asyncio
import json
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np

from rpnb.serve.arrivals import write_observed
from rpnb.serve.commands import Command, Group, Remember, not_learned
from rpnb.serve.commands.group import row_ids
from rpnb.serve.commands.tables import save_answers
from rpnb.serve.events import LabelledEvent
from rpnb.serve.http.tables import Label
from rpnb.serve.limits import ApiError, Limits, unavailable
from rpnb.serve.log import open_log
from rpnb.serve.models import SavedState, ServedModel
from rpnb.serve.retention import delete_events
from rpnb.serve.shadows import Shadows
from rpnb.serve.snapshots import (
    ModelRow,
    history_of,
    isolate,
    restore,
    stored_models,
    take_snapshot,
)
from rpnb.serve.waiting import Followers
from rpnb.serve.workers import Job, ModelWorker

log = logging.getLogger("rpnb.serve")

#: Among which retention finds the state before the events that it keeps.
_SNAPSHOTS_KEPT = 8
_LARGEST_GROUP = 1_000
_ROWS_IN_GROUP = 100_000
# Steps of learning that this thread does itself; a model's own one does what is more.
_STEPS_HERE = 5e7
# How long this thread waits for a model that is learning, in seconds.
_PATIENCE = 0.02
_PATIENCE_FOR_THE_LOG = 5.0

Found = dict[str, Any] | ApiError | None


@dataclass(frozen=True, slots=True)
class Schedule:
    """When the writer does what is not asked for by a client.

    Parameters
    ----------
    snapshot_rows, snapshot_seconds
        Rows learned, and time, after which a model's state is written.
    cleaning_seconds
        Time between removals of what is too old.
    keep_events
        Seconds for which events are kept; None for ever.
    """

    snapshot_rows: int = 50_000
    snapshot_seconds: float = 600.0
    cleaning_seconds: float = 60.0
    keep_events: float | None = None


@dataclass(slots=True)
class Health:
    """What is wrong with the service, if anything."""

    writes: str | None = None
    """why writes fail at present"""
    since: float = 0.0
    notes: list[str] = field(default_factory=list)
    """what was found damaged at the start"""
    unsound: list[str] = field(default_factory=list)
    """Models that cannot be named, as their entry in the log is damaged."""


@dataclass(slots=True)
class Counts:
    """What the writer has done since the start."""

    transactions: int = 0
    commands: int = 0
    failures: int = 0
    snapshots: int = 0
    commit_seconds: float = 0.0
    learn_seconds: float = 0.0


@dataclass(slots=True)
class _Pending:
    """A command and who waits for its answer."""

    command: Command
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[dict[str, Any]]"


@final
class Writer:
    """The log of a folder, the models in it, and the thread that changes them.

    Parameters
    ----------
    folder
        Where the log is.
    limits, schedule
        Of the service.
    """

    def __init__(
        self, folder: Path, limits: Limits, schedule: Schedule | None = None
    ) -> None:
        self.limits, self.schedule = limits, schedule or Schedule()
        self.health, self.counts = Health(), Counts()
        self.models: dict[str, ServedModel] = {}
        self.waiting = 0
        """commands that are not answered yet"""
        self.followers = Followers(folder)
        """what is known of predictions before their labels come"""
        self._connection = open_log(folder)
        self.folder = folder
        # What is neither commands nor the end is called, in this thread's turn.
        self._queue: queue.SimpleQueue[list[_Pending] | Callable[[], None] | None] = (
            queue.SimpleQueue()
        )
        self._workers: dict[int, ModelWorker] = {}
        self._predictors = ThreadPoolExecutor(4, "rpnb-predict")
        self._replayed: dict[int, dict[int, list[Label | None]]] = {}
        self._since: dict[int, float] = {}
        self._submitted: list[_Pending] = []
        self._row_ids = row_ids()
        self._numbers: dict[str, int] = {}
        self._thread = threading.Thread(target=self._run, name="rpnb-writer")
        self._answers: dict[tuple[int, str], str] = {}
        self._snapshot_at: dict[int, tuple[int, float]] = {}
        self._noted = threading.Lock()
        self._observed: list[tuple[int, int, str]] = []
        """answers to observed rows that are not in the log yet: event, model, labels"""
        self._learned: dict[int, int] = {}
        """the last events that models have learned, with answers in the list above"""
        self.shadows = Shadows(
            folder,
            self._keep_shadow,
            (self.schedule.snapshot_rows, self.schedule.snapshot_seconds),
        )
        self._cleaned = time.monotonic()
        self._failed = self._stop_at = 0.0
        self._closing = False
        try:
            for row in stored_models(self._connection, self.health.unsound):
                self._restore(row)
        except BaseException:
            self._connection.close()
            raise
        self.health.notes += self.health.unsound

    def _restore(self, row: ModelRow) -> None:
        """Add a model as the log has it; one that is unsound stands alone."""
        try:
            restored = restore(self._connection, row)
            model = restored.model
            self.health.notes += restored.problems
            self._recall_answers(model, restored.answers)
            self._note_learned(model, restored.answers)
        except Exception as error:
            model = isolate(row, f"{type(error).__name__}: {error}")
            self.health.notes.append(str(model.broken))
        self.models[model.name] = model
        self._snapshot_at[model.id] = (model.scores.learned, time.monotonic())

    def _recall_answers(self, model: ServedModel, found: dict[int, Any]) -> None:
        """Keep the answers to keys whose events were replayed."""
        unanswered = self._connection.execute(
            "SELECT key, event FROM keys WHERE model=? AND answer IS NULL", (model.id,)
        ).fetchall()
        for key, event in unanswered:
            if event in found:
                answer = {"labels": found[event], "learned": len(found[event])}
                self._answers[model.id, key] = json.dumps(answer)

    # From other threads

    def start(self) -> None:
        """Start the threads."""
        for model in self.models.values():
            self.shadows.sync(model)
        self._thread.start()

    async def submit(self, command: Command) -> dict[str, Any]:
        """Wait until a command is on the disk and done; return its answer."""
        if self._closing:
            raise unavailable("the server is stopping")
        loop = asyncio.get_running_loop()
        pending = _Pending(command, loop, loop.create_future())
        self._since[id(pending)] = time.monotonic()
        self._submitted.append(pending)
        if len(self._submitted) == 1:
            # Once the requests that have arrived by now are read, all at a time.
            loop.call_soon(self._hand_over)
        self.waiting += 1
        try:
            return await pending.future
        finally:
            self.waiting -= 1
            del self._since[id(pending)]

    def oldest(self) -> float:
        """Return for how many seconds the oldest command has been waiting."""
        first = next(iter(self._since.values()), None)
        return 0.0 if first is None else time.monotonic() - first

    def _hand_over(self) -> None:
        submitted, self._submitted = self._submitted, []
        self._queue.put(submitted)

    def stop(self, grace_period: float = 2.0) -> None:
        """Finish what was submitted, and write snapshots, if there is time; close.

        Commands whose turn comes after the grace period, in seconds, are answered 503,
        as they are not on the disk: a client sends them again.
        """
        self._stop_at = time.monotonic() + grace_period
        self._closing = True
        self._hand_over()
        self._queue.put(None)
        self._thread.join()

    # The thread

    def _run(self) -> None:
        stopping = False
        while not stopping or not self._queue.empty():
            group: list[_Pending] = []
            rows = 0
            try:
                some = self._queue.get(timeout=1.0)
                while True:
                    if some is None:
                        stopping = True
                    elif callable(some):
                        some()
                    else:
                        group += some
                        rows += sum(each.command.rows for each in some)
                    if len(group) >= _LARGEST_GROUP or rows >= _ROWS_IN_GROUP:
                        break
                    some = self._queue.get_nowait()
            except queue.Empty:
                pass
            for pending in _transactions(group):
                if self._closing and time.monotonic() > self._stop_at:
                    refusal = unavailable("the server is stopping")
                    _resolve(pending, [refusal] * len(pending))
                else:
                    self._process(pending)
            try:
                self._settle()
                self._housekeeping()
            except Exception as error:
                self._note_failure(error)
        self._close()

    def _close(self) -> None:
        self.shadows.close()
        self._predictors.shutdown(wait=False, cancel_futures=True)
        unfinished = {
            number
            for number, worker in self._workers.items()
            if not worker.close(self._stop_at - time.monotonic())
        }
        for model in self.models.values():
            changed = model.scores.learned != self._snapshot_at.get(model.id, (0,))[0]
            in_time = time.monotonic() < self._stop_at and model.id not in unfinished
            if changed and in_time and not model.broken:
                self._snapshot(model)
        self._transaction(lambda: None)  # the answers that are not written yet
        self._connection.close()

    def _process(self, pending: list[_Pending]) -> None:
        """Write a group of commands in one transaction, then apply and answer them."""
        try:
            self._carry_out(self._predict(pending))
        except Exception as error:  # nobody must wait for ever
            self._note_failure(error)
            _resolve(pending, [unavailable("the request failed")] * len(pending))

    def _carry_out(self, pending: list[_Pending]) -> None:
        commands = [each.command for each in pending]
        group = self._group()
        found: list[Found] = []
        started = time.perf_counter()
        problem = self._transaction(lambda: found.extend(group.run_all(commands)))
        self.counts.commit_seconds += time.perf_counter() - started
        if problem is not None:
            _resolve(pending, [unavailable(problem)] * len(commands))
            return
        self.counts.commands += len(commands)
        group.finish()
        for number, changed in (group.changed | group.replays).items():
            changed.history = history_of(self._connection, self._row_of(changed))
            self.shadows.sync(changed, again=number in group.replays)
        late = self._apply(group)
        now: list[tuple[_Pending, Found]] = []
        for each, answer in zip(pending, found, strict=True):
            model = self._model_of(each.command, group)
            if model in late and not isinstance(answer, ApiError):
                late[model].append((each, answer))
            else:
                now.append((each, answer))
        for number, waiting in late.items():
            self._hand_over_to_worker(group, number, waiting)
        self._answer(group, now)

    def _model_of(self, command: Command, group: Group) -> int | None:
        """Return the model whose state an answer has to wait for."""
        if command.event is None and command.repeats is None:
            replayed = command.replays and command.number in group.replays
            return command.number if replayed else None
        model = self.models.get(command.name)
        return None if model is None else model.id

    def _answer(self, group: Group, some: list[tuple[_Pending, Found]]) -> None:
        """Answer commands whose events were applied."""
        results = [
            not_learned()
            if each.command.event in group.not_learned
            else each.command.answer(group, self._answers)
            if answer is None
            else answer
            for each, answer in some
        ]
        _resolve([each for each, _ in some], results)

    def _group(self) -> Group:
        return Group(
            *(self._connection, self.models, self.limits, self._answers),
            ids=self._row_ids,
            numbers=self._numbers,
        )

    def _note_failure(self, error: Exception) -> None:
        """Log an error that should not be, and go on."""
        log.error("the writer failed", exc_info=error)
        self.counts.failures += 1

    def _predict(self, pending: list[_Pending]) -> list[_Pending]:
        """Predict the rows of all commands of a model that are to be kept, at once.

        Return the commands that can be written now. Those of a model that is learning
        come again once it has let them predict.
        """
        by_model: dict[int, list[_Pending]] = {}
        for each in pending:
            if isinstance(each.command, Remember) and each.command.found is None:
                by_model.setdefault(each.command.number or 0, []).append(each)
        later: set[int] = set()
        for number, some in by_model.items():
            model = self.models.get(some[0].command.name)
            if model is None or model.id != number:
                continue  # it was deleted, as writing the command will say
            if model.lock.acquire(timeout=_PATIENCE):
                try:
                    _predict_rows(model, some)
                finally:
                    model.lock.release()
            else:
                later |= {id(each) for each in some}
                self._predictors.submit(self._predict_later, model, some)
        return [each for each in pending if id(each) not in later]

    def _predict_later(self, model: ServedModel, some: list[_Pending]) -> None:
        """Wait for a model that is learning, in another thread."""
        try:
            with model.turn():
                _predict_rows(model, some)
        except Exception as error:
            self._note_failure(error)
            _resolve(some, [unavailable("the rows could not be predicted")] * len(some))
        else:
            self._queue.put(some)

    def _transaction(self, write: Callable[[], None]) -> str | None:
        """Run a function in a transaction on the disk; return why it failed, if so."""
        connection = self._connection
        saved = dict(self._answers)
        with self._noted:
            observed, self._observed = self._observed, []
            learned, self._learned = self._learned, {}
        try:
            connection.execute("BEGIN IMMEDIATE")
            save_answers(connection, saved)
            write_observed(connection, observed)
            write()
            connection.execute("COMMIT")
        except BaseException as error:
            self._numbers.clear()  # of what is not in the log
            with self._noted:
                self._observed = observed + self._observed
                self._learned = learned | self._learned
            if connection.in_transaction:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            if not isinstance(error, sqlite3.Error):
                raise
            self.counts.failures += 1
            self._failed = time.monotonic()
            if self.health.writes is None:
                self.health.since = time.time()
            self.health.writes = f"the log cannot be written: {error}"
            return self.health.writes
        for key_of_answer in saved:
            del self._answers[key_of_answer]
        self.health.writes = None
        self.counts.transactions += 1
        for number, event in learned.items():
            self.shadows.settle(number, event)
        return None

    def _note_learned(
        self, model: ServedModel, answers: dict[int, list[Label | None]]
    ) -> None:
        """Note what a model has learned, and its answers to rows that it observed."""
        with self._noted:
            self._observed += [
                (event, model.id, json.dumps(labels))
                for event, labels in answers.items()
            ]
            self._learned[model.id] = model.applied

    def _settle(self) -> None:
        """Let challengers read what models have learned, once answers are written."""
        with self._noted:
            waits = bool(self._observed)
            learned = {} if waits else self._learned
            if not waits:
                self._learned = {}
        for number, event in learned.items():
            self.shadows.settle(number, event)
        if waits and self.shadows and self._queue.empty() and not self.health.writes:
            self._transaction(lambda: None)

    def _keep_shadow(
        self, model: ServedModel, state: SavedState, done: threading.Event
    ) -> None:
        """Write the state of a challenger; called by its thread."""

        def write() -> None:
            served = self.models.get(model.name)
            current = served is not None and any(
                each.model is model for each in self.shadows.of(served).values()
            )
            # Not one that has ended since: it may know rows that were forgotten.
            if current:
                self._transaction(
                    lambda: take_snapshot(self._connection, state.owner, state)
                )
            done.set()

        self._queue.put(write)

    def _row_of(self, model: ServedModel) -> ModelRow:
        return next(r for r in stored_models(self._connection) if r[0] == model.id)

    def _apply(self, group: Group) -> dict[int, list[tuple[_Pending, Found]]]:
        """Change the models by the events of a group, which are on the disk.

        Return the models whose workers have to do that, with nobody who waits yet.
        """
        late: dict[int, list[tuple[_Pending, Found]]] = {
            number: [] for number in group.replays
        }
        for number, (model, events) in group.by_model().items():
            worker = self._workers.get(number)
            steps = model.steps(sum(len(each.labels) for each in events))
            if number in late or steps > _STEPS_HERE or (worker and worker.busy):
                late[number] = []
            else:
                self._learn(group, model, events)
        for number, worker in self._workers.items():
            if worker.busy:
                late.setdefault(number, [])  # for those who repeat a request
        return late

    def _hand_over_to_worker(
        self, group: Group, number: int, waiting: list[tuple[_Pending, Found]]
    ) -> None:
        """Let the worker of a model learn the events of a group, and answer."""
        model, events = group.by_model().get(number, (None, []))
        model = model or group.replays.get(number)
        repeated = [each for each, _ in waiting if each.command.repeats is not None]
        some = [pair for pair in waiting if pair[0].command.repeats is None]
        if model is None:
            if not repeated:
                return
            model = self.models[repeated[0].command.name]
        changed = model

        def run() -> None:
            if number in group.replays:
                self._replay(group, changed)
            if events:
                self._learn(group, changed, events)
            self._answer(group, some)
            if repeated:
                for each in repeated:
                    each.command.repeats = None
                self._queue.put(repeated)  # the answer is known by now

        def give_up() -> None:
            refusal = unavailable("the server is stopping, or the model was deleted")
            _resolve([each for each, _ in waiting], [refusal] * len(waiting))

        steps = changed.steps(sum(len(each.labels) for each in events))
        self._worker(changed).hand_over(Job(run, give_up, steps))

    def _worker(self, model: ServedModel) -> ModelWorker:
        if model.id not in self._workers:
            self._workers[model.id] = ModelWorker(model)
        return self._workers[model.id]

    def _learn(
        self, group: Group, model: ServedModel, events: list[LabelledEvent]
    ) -> None:
        """Let a model learn events, or become what its log leads to if it cannot."""
        started = time.perf_counter()
        new = [each for each in events if each.event > model.applied]
        if len(new) < len(events):  # a replay since has included them
            group.predictions.update(self._replayed.get(model.id, {}))
        try:
            found = model.apply(new)
            group.predictions.update(found)
            self._note_learned(model, found)
        except Exception as error:
            self._note_failure(error)
            self._replay(group, model)
            group.not_learned |= {
                each.event for each in events if each.event > model.applied
            }
        self.counts.learn_seconds += time.perf_counter() - started

    def _replay(self, group: Group, model: ServedModel) -> None:
        """Make a model what its log leads to."""
        try:
            with closing(open_log(self.folder, read_only=True)) as connection:
                connection.execute("BEGIN")
                row = next(r for r in stored_models(connection) if r[0] == model.id)
                restored = restore(connection, row)
        except Exception as error:
            self._note_failure(error)
            model.predicts = False
            model.broken = (
                f"model {model.name} could not learn an event, nor be restored: "
                f"{type(error).__name__}; restart the server to replay its log"
            )
        else:
            model.become(restored.model)
            self._note_learned(model, restored.answers)
            self._snapshot_at[model.id] = (model.scores.learned, time.monotonic())
            self._replayed[model.id] = restored.answers
            group.predictions.update(restored.answers)
        if model.broken is not None:
            self.health.notes.append(model.broken)
        if model.id in group.replays:
            # What was deleted is not left in the write-ahead log either.
            done = threading.Event()
            self._queue.put(lambda: self._truncate(done))
            done.wait(_PATIENCE_FOR_THE_LOG)

    def _truncate(self, done: threading.Event) -> None:
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        done.set()

    # Snapshots and cleaning

    def _housekeeping(self) -> None:
        now = time.monotonic()
        schedule = self.schedule
        if self.health.writes is not None:
            if now - self._failed > 1.0:
                # Does it work again? This writes to the database's first page.
                version = "PRAGMA user_version"
                current = self._connection.execute(version).fetchone()[0]
                self._transaction(
                    lambda: void(self._connection.execute(f"{version}={current}"))
                )
            return
        for model in list(self.models.values()):
            rows, at = self._snapshot_at.setdefault(model.id, (0, now))
            new = model.scores.learned - rows
            due = new >= schedule.snapshot_rows
            due |= new != 0 and now - at >= schedule.snapshot_seconds
            if due and not model.broken:
                self._take_snapshot(model)
        for number in self._workers.keys() - {m.id for m in self.models.values()}:
            self._workers.pop(number).close(0.0)
            self._replayed.pop(number, None)
        self.shadows.drop({model.id for model in self.models.values()})
        if now - self._cleaned >= schedule.cleaning_seconds:
            self._cleaned = now
            self._clean()

    def _take_snapshot(self, model: ServedModel) -> None:
        """Write the state of a model, now or once its worker has come to it."""
        worker = self._workers.get(model.id)
        if model.steps(1) <= _STEPS_HERE and not (worker and worker.busy):
            self._snapshot(model)
            return
        self._snapshot_at[model.id] = (model.scores.learned, time.monotonic())

        def run() -> None:
            state = model.saved()
            if state is not None:
                self._queue.put(lambda: self._write_snapshot(model, state))

        self._worker(model).hand_over(Job(run, lambda: None))

    def _snapshot(self, model: ServedModel) -> None:
        state = model.saved()
        if state is not None:
            self._write_snapshot(model, state)

    def _write_snapshot(self, model: ServedModel, state: SavedState) -> None:
        keep = self.schedule.keep_events
        spacing = None if keep is None else keep / _SNAPSHOTS_KEPT
        if self.models.get(model.name) is not model or model.broken:
            return  # it was deleted, or does not trust its state any more

        def take() -> None:
            take_snapshot(self._connection, state.owner, state, spacing=spacing)

        if self._transaction(take) is None:
            self._snapshot_at[model.id] = (model.scores.learned, time.monotonic())
            self.counts.snapshots += 1

    def _clean(self) -> None:
        """Remove rows that have waited too long, old keys, and old events."""
        group = self._group()

        def write() -> None:
            group.drop_old_rows()
            self._connection.execute(
                "DELETE FROM keys WHERE time<? AND answer IS NOT NULL",
                (time.time() - self.limits.keep_keys,),
            )
            if self.schedule.keep_events is not None:
                before = time.time() - self.schedule.keep_events
                for model in self.models.values():
                    delete_events(self._connection, model.id, before)

        if self._transaction(write) is None:
            group.finish()


def _transactions(group: list[_Pending]) -> Iterator[list[_Pending]]:
    """Split a group where a command needs a transaction of its own."""
    some: list[_Pending] = []
    for each in group:
        if each.command.alone:
            if some:
                yield some
            yield [each]
            some = []
        else:
            some.append(each)
    if some:
        yield some


def _predict_rows(model: ServedModel, some: list[_Pending]) -> None:
    """Predict rows of commands that are to be kept; the model is locked."""
    commands = [each.command for each in some if isinstance(each.command, Remember)]
    found = model.predict_locked(
        np.concatenate([each.X for each in commands]),
        confidence=True,
        probabilities=any(each.probabilities for each in commands),
    )
    start = 0
    for each in commands:
        each.found = found.part(start, start + each.rows)
        start += each.rows


def void(_value: object) -> None:
    """Do nothing."""


def _resolve(pending: list[_Pending], results: list[Any]) -> None:
    """Give each client its answer, with one call per event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Any, Any]]] = {}
    for each, result in zip(pending, results, strict=True):
        by_loop.setdefault(each.loop, []).append((each.future, result))

    def give(pairs: list[tuple[Any, Any]]) -> None:
        for future, result in pairs:
            if future.done():  # the client has gone
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)

    for loop, pairs in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(give, pairs)
