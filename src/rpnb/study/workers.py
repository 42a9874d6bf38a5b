"""Processes that do a study's work, and that end when nobody needs them any more."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, Self, TypeVar

from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Result = TypeVar("Result")

# Seconds between two signs of life where nothing has finished.
TICK = 0.25


class WorkersLostError(RuntimeError):
    """A worker process ended without having been asked to."""


class Interrupted(Exception):
    """The user asked for an end; what has finished was handed over before."""


class Workers:
    """Processes with one thread each for linear algebra; use as a context.

    Workers hold one end of a pipe and watch it. When this process closes the other
    end, or dies in whatever way, they exit at once: no work is left running.

    Parameters
    ----------
    jobs
        How many processes; 0 for none, so that work is done in this process.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._stop = threading.Event()

    def __enter__(self) -> Self:
        if self.jobs == 0:
            self._limits = threadpool_limits(1)
            return self
        context = multiprocessing.get_context("spawn")
        watched, self._lifeline = context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(self.jobs, context, _begin, (watched,))
        self._before = _handle_interrupts(self._on_interrupt)
        return self

    def __exit__(self, *error: object) -> None:
        if self.jobs == 0:
            self._limits.restore_original_limits()
            return
        self._lifeline.close()
        self._pool.shutdown(wait=True, cancel_futures=True)
        _handle_interrupts(self._before)

    def _on_interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        if self._stop.is_set():
            raise KeyboardInterrupt
        self._stop.set()

    def each(
        self, function: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[list[tuple[Item, Result]]]:
        """Yield items with their results as they finish, some at a time.

        From time to time an empty list comes, so that the caller can show a sign of
        life. Work starts in the order of the items.

        Raises
        ------
        Interrupted
            After Ctrl-C, when all that finished was yielded.
        WorkersLostError
            Likewise, if a process has died.
        """
        if self.jobs == 0:
            yield from _each_here(function, items)
            return
        finished: SimpleQueue[tuple[Item, Future[Result]]] = SimpleQueue()
        with _interrupts_blocked():
            for item in items:
                future = self._pool.submit(function, item)
                future.add_done_callback(partial(_hand_over, finished, item))
        left = len(items)
        while left:
            stopping = self._stop.is_set()
            batch = _drain(finished)
            left -= len(batch)
            whole = [(item, done) for item, done in batch if not done.exception()]
            yield [(item, done.result()) for item, done in whole]
            if stopping:
                raise Interrupted
            for _, done in batch:
                self._raise_failure(done)

    def _raise_failure(self, done: Future[Any]) -> None:
        try:
            done.result()
        except BrokenProcessPool as error:
            raise WorkersLostError(
                "a worker process ended suddenly; is there enough memory for "
                f"{self.jobs} of them?"
            ) from error


def _hand_over(
    finished: SimpleQueue[tuple[Item, Future[Result]]],
    item: Item,
    done: Future[Result],
) -> None:
    finished.put((item, done))


def _each_here(
    function: Callable[[Item], Result], items: Sequence[Item]
) -> Iterator[list[tuple[Item, Result]]]:
    for item in items:
        try:
            result = function(item)
        except KeyboardInterrupt:
            raise Interrupted from None
        yield [(item, result)]


def _drain(queue: SimpleQueue[Item]) -> list[Item]:
    """Return all that is in a queue, after waiting a little for the first."""
    batch = []
    try:
        batch.append(queue.get(timeout=TICK))
        while True:
            batch.append(queue.get_nowait())
    except Empty:
        return batch


def _begin(lifeline: Connection) -> None:
    """Make a new process a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    threadpool_limits(1)

    def watch() -> None:
        try:
            lifeline.recv()  # nothing is ever sent
        except (EOFError, OSError):
            os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Let processes start deaf to Ctrl-C, which reaches all processes of a terminal."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _handle_interrupts(handler: Any) -> Any:
    """Set what Ctrl-C does, and return what it did; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        return None
    return signal.signal(signal.SIGINT, handler)
