"""Shadows: challengers, each of which follows the log of its model in its own thread.

A challenger learns from the log. It never answers clients, and the serving learner
never waits for it. Its state is a function of the log, so nothing is lost if the
process ends.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, final

from rpnb.evaluate.differences import Loss
from rpnb.serve.arrivals import advance
from rpnb.serve.comparison import LossDifference
from rpnb.serve.history import Contender
from rpnb.serve.log import open_log
from rpnb.serve.model_rows import stored_models
from rpnb.serve.restoring import restore
from rpnb.serve.scores import Scores
from rpnb.serve.served_model import SavedState, ServedModel

log = logging.getLogger("rpnb.serve")

# Rows that are learned at a time; other threads run in between.
_CHUNK = 2_000
_PAUSE = 0.002
_PATIENCE = 1.0

#: Writes a snapshot, then sets the event.
KeepState = Callable[[ServedModel, SavedState, threading.Event], None]


@final
class Shadow:
    """One challenger.

    Parameters
    ----------
    folder
        Folder of the log.
    served
        Model whose log it follows.
    contender
        Its record in the model's history.
    keep
        Function that writes its state to the log.
    every
        Number of learned rows, and seconds, after which its state is written.
    most
        Largest number of challengers, whose intervals hold together.
    """

    def __init__(
        self,
        folder: Path,
        served: ServedModel,
        contender: Contender,
        keep: KeepState,
        every: tuple[int, float],
        most: int = 1,
    ) -> None:
        self.contender = contender
        self.model: ServedModel | None = None
        """its state; None until it has been read from the log"""
        self.problem: str | None = None
        """why it no longer learns; None if it does"""
        self.settled = 0
        """id of the last event that it may read; 0 until that is known"""
        self._read = 0
        """id of the last event that it has read, with or without labelled rows"""
        self._folder, self._served, self._keep = folder, served, keep
        self._every, self._most = every, most
        self._kept = (0, time.monotonic())
        self._wake = threading.Event()
        self._asked: threading.Event | None = None
        self._closing = False
        self._thread = threading.Thread(
            target=self._run, name=f"rpnb-challenger-{contender.number}", daemon=True
        )
        self._thread.start()

    @property
    def caught_up(self) -> bool:
        """Whether it has learned, and was compared on, all events of the model."""
        return self._has_read(self._served.applied)

    @property
    def ready(self) -> bool:
        """Whether it has learned all events that it may read.

        Events whose answers are not in the log yet follow in a moment.
        """
        served = self._served.applied
        return self._has_read(min(self.settled, served) if self.settled else served)

    def _has_read(self, event: int) -> bool:
        """Return whether it has learned the events up to an id."""
        if self.problem is not None or self.model is None:
            return False
        # The serving learner may begin after an event without labelled rows.
        return max(self.model.applied, self._read) >= event

    @property
    def scores(self) -> Scores:
        """Figures of its predictions."""
        return Scores() if self.model is None else self.model.scores

    def differences(self) -> dict[Loss, dict[str, Any]]:
        """Return its losses minus those of the serving learner; empty at the start.

        Any of the most challengers might win in either loss, so all of these intervals
        hold together.
        """
        comparison = None if self.model is None else self.model.comparison
        if comparison is None:
            return {}
        both: dict[Loss, LossDifference] = {
            "error": comparison.error,
            "log_loss": comparison.log_loss,
        }
        n = self._most * len(both)
        return {loss: each.summary(intervals=n) for loss, each in both.items()}

    def settle(self, event: int) -> None:
        """Allow it to read the log up to an event."""
        self.settled = max(self.settled, event)
        self._wake.set()

    def keep_state(self, seconds: float) -> bool:
        """Write its state now; return whether that was done within some seconds."""
        asked = threading.Event()
        self._asked = asked
        self._wake.set()
        return asked.wait(seconds)

    def close(self) -> None:
        """Stop its thread."""
        self._closing = True
        self._wake.set()

    def _run(self) -> None:
        try:
            with closing(open_log(self._folder, read_only=True)) as connection:
                self._follow(connection)
        except Exception as error:
            log.exception("a challenger failed")
            self.problem = (
                f"challenger {self.contender.name} cannot learn: "
                f"{type(error).__name__}: {error}"
            )

    def _follow(self, connection: Any) -> None:
        rows = stored_models(connection)
        row = next((each for each in rows if each.id == self._served.id), None)
        if row is None:
            return  # it was deleted
        # Only the snapshot: the events after it are learned in parts below.
        number = self.contender.number
        self.model = restore(connection, row, number, replay=False).model
        self.problem = self.model.broken
        self._kept = (self.model.scores.learned, time.monotonic())
        while not self._closing:
            self._wake.wait(_PATIENCE)
            self._wake.clear()
            if self.problem is None:
                self._catch_up(connection, self.model)

    def _catch_up(self, connection: Any, model: ServedModel) -> None:
        """Learn the events that it may read, and write its state when that is due."""
        last = self.settled
        if max(model.applied, self._read) < last:
            for _ in advance(connection, model, chunk=_CHUNK, before=last + 1):
                if self._closing:
                    return
                self._keep_if_due(model)
                time.sleep(_PAUSE)
            self._read = last
        self._keep_if_due(model)

    def _keep_if_due(self, model: ServedModel) -> None:
        rows, at = self._kept
        new = model.scores.learned - rows
        asked, self._asked = self._asked, None
        due = new >= self._every[0] or (
            new != 0 and time.monotonic() - at >= self._every[1]
        )
        if asked is None and not due:
            return
        state = model.saved() if new else None
        if state is None:
            if asked is not None:
                asked.set()
            return
        self._kept = (model.scores.learned, time.monotonic())
        self._keep(model, state, asked or threading.Event())


@final
class Shadows:
    """The challengers of all models."""

    def __init__(
        self, folder: Path, keep: KeepState, every: tuple[int, float], most: int
    ) -> None:
        self._folder, self._keep = folder, keep
        self._every, self._most = every, most
        self._found: dict[int, dict[int, Shadow]] = {}
        self._settled: dict[int, int] = {}

    def __bool__(self) -> bool:
        return any(self._found.values())

    def of(self, model: ServedModel) -> dict[int, Shadow]:
        """Return the challengers of a model by their numbers."""
        return self._found.get(model.id, {})

    def settle(self, model: int, event: int) -> None:
        """Allow the challengers of a model to read the log up to an event."""
        self._settled[model] = max(self._settled.get(model, 0), event)
        for shadow in list(self._found.get(model, {}).values()):
            shadow.settle(event)

    def sync(self, model: ServedModel, *, again: bool = False) -> None:
        """Start and stop challengers according to the model's history.

        With `again`, all are restored from the log: rows were forgotten, or another
        learner was promoted.
        """
        running = self._found.setdefault(model.id, {})
        wanted = {each.number: each for each in model.history.challengers}
        for number in list(running):
            if again or number not in wanted:
                running.pop(number).close()
        for number, contender in wanted.items():
            if number not in running:
                about = self._keep, self._every, self._most
                shadow = Shadow(self._folder, model, contender, *about)
                shadow.settle(self._settled.get(model.id, 0))
                running[number] = shadow

    def drop(self, kept: set[int]) -> None:
        """Stop the challengers of all models but some."""
        for number in self._found.keys() - kept:
            for shadow in self._found.pop(number).values():
                shadow.close()
            self._settled.pop(number, None)

    def close(self) -> None:
        """Stop all challengers."""
        self.drop(set())
