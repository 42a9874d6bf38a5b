"""The only thread that writes to the log; requests of all clients share transactions.

Commands that arrive while a transaction is being flushed to disk form the next one
(group commit). A command is checked and written within the transaction. Once that is on
disk, its event changes the model and the client gets the answer. If a transaction
fails, all of it is rolled back, no model changes, and each client gets a 503.
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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from rpnb.serve.commands import Command, Group, Remember, not_learned
from rpnb.serve.commands.group import row_ids
from rpnb.serve.followers import Followers
from rpnb.serve.health import Counts, Health
from rpnb.serve.limits import ApiError, Limits, unavailable
from rpnb.serve.log import LabelledEvent, open_log, read_log
from rpnb.serve.model_rows import ModelRow, model_row, stored_models
from rpnb.serve.restoring import history_of, isolate, restore
from rpnb.serve.served_model import ObservedAnswer, SavedState, ServedModel
from rpnb.serve.shadows import Shadows
from rpnb.serve.snapshots import take_snapshot
from rpnb.serve.transactions import LogTransactions
from rpnb.serve.upkeep import Schedule, Upkeep
from rpnb.serve.workers import MOST_STEPS, Job, ModelWorkers

log = logging.getLogger("rpnb.serve")

# Largest transaction: commands, and their rows.
_MOST_COMMANDS = 1_000
_MOST_ROWS = 100_000
# Seconds that this thread waits for a model that is learning.
_PATIENCE = 0.02
# Seconds that a replay waits until deleted rows are gone from the write-ahead log.
_CHECKPOINT_SECONDS = 5.0

#: Answer to a command; None if it follows from its event.
Answer = dict[str, Any] | ApiError | None


@dataclass(slots=True)
class _Pending:
    """A command, and the future that gets its answer."""

    command: Command
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[dict[str, Any]]"


@final
class Writer:
    """The log of a folder, its models, and the thread that changes them.

    Parameters
    ----------
    folder
        Folder of the log.
    limits
        Limits of the service.
    schedule
        When to take snapshots and to delete old data.
    """

    def __init__(
        self, folder: Path, limits: Limits, schedule: Schedule | None = None
    ) -> None:
        self.limits, self.schedule = limits, schedule or Schedule()
        self.health, self.counts = Health(), Counts()
        self.models: dict[str, ServedModel] = {}
        self.waiting = 0
        """number of commands without an answer"""
        self.followers = Followers(folder)
        """figures of predictions whose labels have not arrived"""
        self._connection = open_log(folder)
        self.folder = folder
        # Commands; a function to call in this thread; None at the end.
        self._queue: queue.SimpleQueue[list[_Pending] | Callable[[], None] | None] = (
            queue.SimpleQueue()
        )
        self._workers = ModelWorkers()
        self._predictors = ThreadPoolExecutor(4, "rpnb-predict")
        self._replayed: dict[int, dict[int, ObservedAnswer]] = {}
        """answers of the latest replay of each model, by event"""
        self._since: dict[int, float] = {}
        """when each command was submitted"""
        self._submitted: list[_Pending] = []
        self._row_ids = row_ids()
        self._thread = threading.Thread(target=self._run, name="rpnb-writer")
        self.shadows = Shadows(
            folder,
            self._write_challenger_state,
            (self.schedule.snapshot_rows, self.schedule.snapshot_seconds),
            limits.max_challengers,
        )
        self._transactions = LogTransactions(
            self._connection, self.health, self.counts, self.shadows.settle
        )
        self.upkeep = Upkeep(
            self._transactions,
            self.models,
            self._workers,
            self.limits,
            self.schedule,
            self.counts,
            self._group,
            self._queue.put,
        )
        """snapshots, and deletion of old data"""
        self._stop_at = 0.0
        self._closing = False
        try:
            for row in stored_models(self._connection, self.health.unsound):
                self._restore(row)
        except BaseException:
            self._connection.close()
            raise
        self.health.notes += self.health.unsound

    def _restore(self, row: ModelRow) -> None:
        """Restore a model from the log; a damaged one does not affect the others."""
        try:
            restored = restore(self._connection, row)
            model = restored.model
            self.health.notes += restored.problems
            self._recall_answers(model, restored.answers)
            self._transactions.note_learned(model, restored.answers)
            self._group().mix_of(model)
        except Exception as error:
            model = isolate(row, f"{type(error).__name__}: {error}")
            self.health.notes.append(str(model.broken))
        self.models[model.name] = model
        self.upkeep.note_saved(model)

    def _recall_answers(self, model: ServedModel, found: dict[int, Any]) -> None:
        """Store the answers to keys whose events were replayed."""
        unanswered = self._connection.execute(
            "SELECT key, event FROM keys WHERE model=? AND answer IS NULL", (model.id,)
        ).fetchall()
        for key, event in unanswered:
            if event in found:
                labels = found[event].labels
                answer = {"labels": labels, "learned": len(labels)}
                self._transactions.answers[model.id, key] = json.dumps(answer)

    # Called by other threads

    def start(self) -> None:
        """Start the writer and the challengers."""
        for model in self.models.values():
            self.shadows.sync(model)
        self._thread.start()

    async def submit(self, command: Command) -> dict[str, Any]:
        """Wait until a command is on disk and carried out; return its answer."""
        if self._closing:
            raise unavailable("the server is stopping")
        loop = asyncio.get_running_loop()
        pending = _Pending(command, loop, loop.create_future())
        self._since[id(pending)] = time.monotonic()
        self._submitted.append(pending)
        if len(self._submitted) == 1:
            # After all requests that have arrived by now, so that they share a group.
            loop.call_soon(self._enqueue_submitted)
        self.waiting += 1
        try:
            return await pending.future
        finally:
            self.waiting -= 1
            del self._since[id(pending)]

    def oldest(self) -> float:
        """Return how long the oldest command has been waiting, in seconds."""
        first = next(iter(self._since.values()), None)
        return 0.0 if first is None else time.monotonic() - first

    def _enqueue_submitted(self) -> None:
        """Queue the commands of all requests that have arrived, as one group."""
        submitted, self._submitted = self._submitted, []
        self._queue.put(submitted)

    def stop(self, grace_period: float = 2.0) -> None:
        """Carry out submitted commands and write snapshots while time is left; close.

        Commands that are not on disk after the grace period, in seconds, get a 503:
        clients send them again.
        """
        self._stop_at = time.monotonic() + grace_period
        self._closing = True
        self._enqueue_submitted()
        self._queue.put(None)
        self._thread.join()

    # The thread

    def _run(self) -> None:
        """Carry out groups of commands until the end of the queue."""
        stopping = False
        while not stopping or not self._queue.empty():
            group, ended = self._next_group()
            stopping |= ended
            self._process_group(group)
            self._maintain()
        self._close()

    def _next_group(self) -> tuple[list[_Pending], bool]:
        """Return the waiting commands, at most one transaction, and whether to stop.

        Returns no commands if none arrives within a second.
        """
        group: list[_Pending] = []
        rows, ended = 0, False
        with suppress(queue.Empty):
            some = self._queue.get(timeout=1.0)
            while True:
                if some is None:
                    ended = True
                elif callable(some):
                    some()
                else:
                    group += some
                    rows += sum(each.command.rows for each in some)
                if len(group) >= _MOST_COMMANDS or rows >= _MOST_ROWS:
                    break
                some = self._queue.get_nowait()
        return group, ended

    def _process_group(self, group: list[_Pending]) -> None:
        """Carry out commands, or refuse them after the grace period of a stop."""
        for pending in _transactions(group):
            if self._closing and time.monotonic() > self._stop_at:
                refusal = unavailable("the server is stopping")
                _resolve(pending, [refusal] * len(pending))
            else:
                self._process(pending)

    def _maintain(self) -> None:
        """Let challengers read on, take snapshots that are due, delete old data."""
        try:
            idle = self._queue.empty()
            self._transactions.settle(write=bool(self.shadows) and idle)
            if self.health.writes is not None:
                self._transactions.retry()
                return
            self.upkeep.take_due_snapshots()
            self._drop_deleted_models()
            self.upkeep.clean_if_due()
        except Exception as error:
            self._note_failure(error)

    def _close(self) -> None:
        """Write snapshots while time is left, and close the log."""
        self.shadows.close()
        self._predictors.shutdown(wait=False, cancel_futures=True)
        unfinished = self._workers.close(self._stop_at)
        self.upkeep.take_last_snapshots(self._stop_at, unfinished)
        self._transactions.write_answers()
        self._connection.close()

    def _drop_deleted_models(self) -> None:
        """Stop the workers and challengers of models that were deleted."""
        present = {model.id for model in self.models.values()}
        self._workers.drop(present)
        self.shadows.drop(present)
        for number in [*self._replayed]:
            if number not in present:
                self._replayed.pop(number, None)

    def _process(self, pending: list[_Pending]) -> None:
        """Write a group of commands in one transaction, then apply and answer them."""
        try:
            self._carry_out(self._predict(pending))
        except Exception as error:  # clients must not wait forever
            self._note_failure(error)
            _resolve(pending, [unavailable("the request failed")] * len(pending))

    def _carry_out(self, pending: list[_Pending]) -> None:
        """Write, apply and answer commands whose rows have been predicted."""
        group = self._group()
        answers: list[Answer] = []
        problem = self._write_group(group, [each.command for each in pending], answers)
        if problem is not None:
            _resolve(pending, [unavailable(problem)] * len(pending))
            return
        self.counts.commands += len(pending)
        group.finish()
        self._sync_challengers(group)
        delegated = self._apply(group)
        now: list[tuple[_Pending, Answer]] = []
        for each, answer in zip(pending, answers, strict=True):
            model = self._model_of(each.command, group)
            if model in delegated and not isinstance(answer, ApiError):
                delegated[model].append((each, answer))
            else:
                now.append((each, answer))
        for number, waiting in delegated.items():
            self._delegate(group, number, waiting)
        self._answer(group, now)

    def _write_group(
        self, group: Group, commands: list[Command], answers: list[Answer]
    ) -> str | None:
        """Write commands in one transaction; return why that failed, None if not.

        Their answers are appended to `answers`.
        """
        started = time.perf_counter()
        try:
            problem = self._transactions.run(
                lambda: answers.extend(group.run_all(commands))
            )
        except BaseException:
            group.abandon()
            raise
        self.counts.commit_seconds += time.perf_counter() - started
        if problem is not None:
            group.abandon()
        return problem

    def _sync_challengers(self, group: Group) -> None:
        """Start and stop challengers of models whose learners have changed."""
        for number, changed in (group.changed | group.replays).items():
            changed.history = history_of(
                self._connection, model_row(self._connection, changed.id)
            )
            self.shadows.sync(changed, again=number in group.replays)

    def _model_of(self, command: Command, group: Group) -> int | None:
        """Return the model that must learn before a command is answered, if any."""
        if command.event is None and command.repeats is None:
            replayed = command.replays and command.number in group.replays
            return command.number if replayed else None
        model = self.models.get(command.name)
        return None if model is None else model.id

    def _answer(self, group: Group, some: list[tuple[_Pending, Answer]]) -> None:
        """Answer commands whose events were applied."""
        results = [
            not_learned()
            if each.command.event in group.not_learned
            else each.command.answer(group, self._transactions.answers)
            if answer is None
            else answer
            for each, answer in some
        ]
        _resolve([each for each, _ in some], results)

    def _group(self) -> Group:
        """Return a group that writes through the connection of this thread."""
        log = self._transactions
        return Group(
            *(log.connection, self.models, self.limits, log.answers),
            ids=self._row_ids,
            numbers=log.numbers,
        )

    def _note_failure(self, error: Exception) -> None:
        """Log an unexpected error, and continue."""
        log.error("the writer failed", exc_info=error)
        self.counts.failures += 1

    def _predict(self, pending: list[_Pending]) -> list[_Pending]:
        """Predict rows that will wait for labels, one call per model.

        Returns the commands that can be written now. Rows of a model that is busy
        learning are predicted in another thread, which then queues their commands.
        """
        by_model: dict[int, list[_Pending]] = {}
        for each in pending:
            if isinstance(each.command, Remember) and each.command.found is None:
                by_model.setdefault(each.command.number or 0, []).append(each)
        later: set[int] = set()
        for number, some in by_model.items():
            model = self.models.get(some[0].command.name)
            if model is None or model.id != number:
                continue  # it was deleted: writing the command reports that
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
        """Predict rows once their model is free; runs in another thread."""
        try:
            with model.turn():
                _predict_rows(model, some)
        except Exception as error:
            self._note_failure(error)
            _resolve(some, [unavailable("the rows could not be predicted")] * len(some))
        else:
            self._queue.put(some)

    def _write_challenger_state(
        self, model: ServedModel, state: SavedState, done: threading.Event
    ) -> None:
        """Queue a snapshot of a challenger; called by its thread."""

        def write() -> None:
            served = self.models.get(model.name)
            current = served is not None and any(
                each.model is model for each in self.shadows.of(served).values()
            )
            # A challenger that was replaced may include rows that were forgotten.
            if current:
                self._transactions.run(
                    lambda: take_snapshot(self._connection, state.owner, state)
                )
            done.set()

        self._queue.put(write)

    def _apply(self, group: Group) -> dict[int, list[tuple[_Pending, Answer]]]:
        """Let models learn the events of a group, which are on disk.

        Returns the models that are left to their workers, each with an empty list for
        the commands that wait for it.
        """
        delegated: dict[int, list[tuple[_Pending, Answer]]] = {
            number: [] for number in group.replays
        }
        for number, (model, events) in group.by_model().items():
            steps = model.steps(sum(len(each.labels) for each in events))
            slow = steps > MOST_STEPS or self._workers.busy(number)
            if number in delegated or slow:
                delegated[number] = []
            else:
                self._learn(group, model, events)
        for number in self._workers.all_busy():
            delegated.setdefault(number, [])  # for requests that are repeated
        return delegated

    def _delegate(
        self, group: Group, number: int, waiting: list[tuple[_Pending, Answer]]
    ) -> None:
        """Let the worker of a model learn the events of a group, then answer."""
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
                self._queue.put(repeated)  # their answer is known now

        def give_up() -> None:
            refusal = unavailable("the server is stopping, or the model was deleted")
            _resolve([each for each, _ in waiting], [refusal] * len(waiting))

        steps = changed.steps(sum(len(each.labels) for each in events))
        self._workers.submit(changed, Job(run, give_up, steps))

    def _learn(
        self, group: Group, model: ServedModel, events: list[LabelledEvent]
    ) -> None:
        """Let a model learn events; if it fails, replay its log."""
        started = time.perf_counter()
        new = [each for each in events if each.event > model.applied]
        if len(new) < len(events):  # a replay has included the others
            group.predictions.update(self._replayed.get(model.id, {}))
        try:
            found = model.apply(new)
            group.predictions.update(found)
            self._transactions.note_learned(model, found)
        except Exception as error:
            self._note_failure(error)
            self._replay(group, model)
            group.not_learned |= {
                each.event for each in events if each.event > model.applied
            }
        self.counts.learn_seconds += time.perf_counter() - started

    def _replay(self, group: Group, model: ServedModel) -> None:
        """Replace the state of a model by that of a replay of its log."""
        try:
            with read_log(self.folder) as connection:
                restored = restore(connection, model_row(connection, model.id))
        except Exception as error:
            self._note_failure(error)
            model.predicts = False
            model.broken = (
                f"model {model.name} could not learn an event, nor be restored: "
                f"{type(error).__name__}; restart the server to replay its log"
            )
        else:
            model.become(restored.model)
            self._transactions.note_learned(model, restored.answers)
            self.upkeep.note_saved(model)
            self._replayed[model.id] = restored.answers
            group.predictions.update(restored.answers)
        if model.broken is not None:
            self.health.notes.append(model.broken)
        if model.id in group.replays:
            # Deleted rows must not stay in the write-ahead log either.
            done = threading.Event()
            self._queue.put(lambda: self._truncate_log(done))
            done.wait(_CHECKPOINT_SECONDS)

    def _truncate_log(self, done: threading.Event) -> None:
        """Empty the write-ahead log."""
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        done.set()


def _transactions(group: list[_Pending]) -> Iterator[list[_Pending]]:
    """Split a group where a command needs its own transaction."""
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
    """Predict rows that will wait for labels; the caller holds the model's lock."""
    commands = [each.command for each in some if isinstance(each.command, Remember)]
    found = model.predict_locked(
        np.concatenate([each.X for each in commands]),
        confidence=True,
        probabilities=any(each.probabilities for each in commands)
        or model.keeps_probabilities(sum(each.rows for each in commands)),
    )
    start = 0
    for each in commands:
        each.found = found.part(start, start + each.rows)
        start += each.rows


def _resolve(pending: list[_Pending], results: list[Any]) -> None:
    """Set the result or the error of each future, with one call per event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Any, Any]]] = {}
    for each, result in zip(pending, results, strict=True):
        by_loop.setdefault(each.loop, []).append((each.future, result))

    def give(pairs: list[tuple[Any, Any]]) -> None:
        for future, result in pairs:
            if future.done():  # the client has disconnected
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)

    for loop, pairs in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(give, pairs)
