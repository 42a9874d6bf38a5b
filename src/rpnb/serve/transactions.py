"""Transactions of the log, each with the answers that are known but not in it yet.

An answer follows from an event that is on disk. It is written with the next transaction
instead of its own: after a crash, a replay of the event gives it again.
"""

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import final

from rpnb.serve.arrivals import write_observed
from rpnb.serve.commands.buffered_tables import save_answers
from rpnb.serve.health import Counts, Health
from rpnb.serve.served_model import ObservedAnswer, ServedModel


@final
class LogTransactions:
    """Transactions through the writer's connection; only its thread runs them.

    Parameters
    ----------
    connection
        Connection to the log.
    health, counts
        Where failures and transactions are recorded.
    on_settled
        Called with a model and its last event that is learned, and whose answers are in
        the log.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        health: Health,
        counts: Counts,
        on_settled: Callable[[int, int], None],
    ) -> None:
        self.connection = connection
        self.answers: dict[tuple[int, str], str] = {}
        """answers to keys that are not in the log yet, by model and key"""
        self.numbers: dict[str, int] = {}
        """largest numbers of rows and events, by table; read from the log if empty"""
        self._health, self._counts = health, counts
        self._on_settled = on_settled
        self._noted = threading.Lock()
        self._observed: list[tuple[int, int, ObservedAnswer]] = []
        """answers to observed rows that are not in the log yet: event, model, answer"""
        self._learned: dict[int, int] = {}
        """last event that each model has learned, with answers in the list above"""
        self._failed = 0.0

    def run(self, write: Callable[[], None]) -> str | None:
        """Run a function in a transaction; return why that failed, None if it did not.

        Answers that are not in the log yet are written first.
        """
        connection = self.connection
        saved = dict(self.answers)
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
            self.numbers.clear()  # some belong to rows that are not in the log
            with self._noted:
                self._observed = observed + self._observed
                self._learned = learned | self._learned
            if connection.in_transaction:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            if not isinstance(error, sqlite3.Error):
                raise
            return self._note_failed_write(error)
        for key_of_answer in saved:
            del self.answers[key_of_answer]
        self._health.writes = None
        self._counts.transactions += 1
        self._report(learned)
        return None

    def write_answers(self) -> str | None:
        """Write the answers that are not in the log yet."""
        return self.run(lambda: None)

    def _note_failed_write(self, error: sqlite3.Error) -> str:
        """Record that the log cannot be written; return the message for clients."""
        self._counts.failures += 1
        self._failed = time.monotonic()
        if self._health.writes is None:
            self._health.since = time.time()
        self._health.writes = f"the log cannot be written: {error}"
        return self._health.writes

    def retry(self) -> None:
        """Try once a second whether the log can be written again."""
        if time.monotonic() - self._failed <= 1.0:
            return
        version = "PRAGMA user_version"
        current = self.connection.execute(version).fetchone()[0]

        def rewrite() -> None:  # the same value, which writes the first page
            self.connection.execute(f"{version}={current}")

        self.run(rewrite)

    def note_learned(
        self, model: ServedModel, answers: dict[int, ObservedAnswer]
    ) -> None:
        """Record what a model has learned, and its answers; called by any thread."""
        with self._noted:
            self._observed += [
                (event, model.id, answer) for event, answer in answers.items()
            ]
            self._learned[model.id] = model.applied

    def settle(self, *, write: bool) -> None:
        """Report learned events without answers; with `write`, write answers first."""
        with self._noted:
            waits = bool(self._observed)
            learned = {} if waits else self._learned
            if not waits:
                self._learned = {}
        self._report(learned)
        if waits and write and not self._health.writes:
            self.write_answers()

    def _report(self, learned: dict[int, int]) -> None:
        for number, event in learned.items():
            self._on_settled(number, event)
