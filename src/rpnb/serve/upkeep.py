"""Upkeep of the log: snapshots of models, and deletion of old data, when due."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from rpnb.serve.commands import Group
from rpnb.serve.health import Counts
from rpnb.serve.limits import Limits
from rpnb.serve.served_model import SavedState, ServedModel
from rpnb.serve.snapshots import delete_events, take_snapshot
from rpnb.serve.transactions import LogTransactions
from rpnb.serve.workers import MOST_STEPS, Job, ModelWorkers

# Snapshots per retention period: deleting old events needs one from before them.
_SNAPSHOTS_PER_PERIOD = 8


@dataclass(frozen=True, slots=True)
class Schedule:
    """When the writer takes snapshots and deletes old data.

    Parameters
    ----------
    snapshot_rows, snapshot_seconds
        Number of learned rows, or seconds, after which a model's state is written.
    cleaning_seconds
        Seconds between two deletions of old data.
    keep_events
        Seconds for which events are kept; None keeps all.
    """

    snapshot_rows: int = 50_000
    snapshot_seconds: float = 600.0
    cleaning_seconds: float = 60.0
    keep_events: float | None = None


@final
class Upkeep:
    """Snapshots and deletions of a log; only the writer's thread calls it.

    Parameters
    ----------
    transactions
        Transactions of the log.
    models
        Models of the service, by name.
    workers
        Threads that save large states.
    limits, schedule
        What is kept, and when the work is due.
    counts
        Where snapshots are counted.
    new_group
        Returns a group that writes to the log.
    queue
        Calls a function in the writer's thread.
    """

    def __init__(
        self,
        transactions: LogTransactions,
        models: dict[str, ServedModel],
        workers: ModelWorkers,
        limits: Limits,
        schedule: Schedule,
        counts: Counts,
        new_group: Callable[[], Group],
        queue: Callable[[Callable[[], None]], None],
    ) -> None:
        self._transactions, self._models, self._workers = transactions, models, workers
        self._limits, self._schedule, self._counts = limits, schedule, counts
        self._new_group, self._queue = new_group, queue
        self._latest: dict[int, tuple[int, float]] = {}
        """rows and time of each model's latest snapshot"""
        self._cleaned = time.monotonic()

    # Snapshots

    def note_saved(self, model: ServedModel) -> None:
        """Record that the log has a model's state: the next one is due later."""
        self._latest[model.id] = (model.scores.learned, time.monotonic())

    def take_due_snapshots(self) -> None:
        """Write the states of models that have learned enough, or some time ago."""
        now = time.monotonic()
        for model in list(self._models.values()):
            rows, at = self._latest.setdefault(model.id, (0, now))
            new = model.scores.learned - rows
            due = new >= self._schedule.snapshot_rows
            due |= new != 0 and now - at >= self._schedule.snapshot_seconds
            if due and not model.broken:
                self._take_or_delegate(model)

    def take_last_snapshots(self, until: float, unfinished: set[int]) -> None:
        """Write the states of models that have learned, while time is left."""
        for model in self._models.values():
            changed = model.scores.learned != self._latest.get(model.id, (0,))[0]
            in_time = time.monotonic() < until and model.id not in unfinished
            if changed and in_time and not model.broken:
                self._take(model)

    def _take_or_delegate(self, model: ServedModel) -> None:
        """Write the state of a model, or let its worker do so if that takes long."""
        if model.steps(1) <= MOST_STEPS and not self._workers.busy(model.id):
            self._take(model)
            return
        self.note_saved(model)

        def run() -> None:
            state = model.saved()
            if state is not None:
                self._queue(lambda: self._write(model, state))

        self._workers.submit(model, Job(run, lambda: None))

    def _take(self, model: ServedModel) -> None:
        """Write the state of a model now, if it has learned anything."""
        state = model.saved()
        if state is not None:
            self._write(model, state)

    def _write(self, model: ServedModel, state: SavedState) -> None:
        """Write a state of a model in its own transaction."""
        keep = self._schedule.keep_events
        spacing = None if keep is None else keep / _SNAPSHOTS_PER_PERIOD
        if self._models.get(model.name) is not model or model.broken:
            return  # it was deleted, or its state may be wrong
        group = self._new_group()
        connection = self._transactions.connection

        def take() -> None:
            take_snapshot(connection, state.owner, state, spacing=spacing)
            group.keep_mix(model)

        if self._transactions.run(take) is not None:
            group.abandon()
        else:
            self.note_saved(model)
            self._counts.snapshots += 1

    # Old data

    def clean_if_due(self) -> None:
        """Delete old data if that was last done long enough ago."""
        now = time.monotonic()
        if now - self._cleaned >= self._schedule.cleaning_seconds:
            self._cleaned = now
            self.clean()

    def clean(self) -> None:
        """Delete rows that have waited too long, old keys, and old events."""
        group = self._new_group()
        connection = self._transactions.connection

        def write() -> None:
            group.drop_old_rows()
            connection.execute(
                "DELETE FROM keys WHERE time<? AND answer IS NOT NULL",
                (time.time() - self._limits.keep_keys,),
            )
            if self._schedule.keep_events is not None:
                before = time.time() - self._schedule.keep_events
                for model in self._models.values():
                    group.keep_mix(model)
                    delete_events(connection, model.id, before)

        if self._transactions.run(write) is None:
            group.finish()
        else:
            group.abandon()
