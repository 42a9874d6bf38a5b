"""A pool of worker processes that ends with the process that started it."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, Self, TypeVar

from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Result = TypeVar("Result")

# Seconds between two results of `Workers.each` if no task has finished.
TICK = 0.25


class WorkersLostError(RuntimeError):
    """A worker process ended unexpectedly."""


class Interrupted(Exception):
    """The user pressed Ctrl-C; all finished results were yielded before."""


class Workers:
    """Context manager of worker processes, each with one thread for linear algebra.

    Workers watch one end of a pipe. When this process closes the other end, or dies,
    they exit at once, so that none is left running. With 0 jobs, this process computes.
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
        self._pool = ProcessPoolExecutor(self.jobs, context, _initialise, (watched,))
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
        """Yield lists of items with their results, as they finish.

        The list is empty if nothing has finished for `TICK` seconds, so that the caller
        can show progress. Items are started in their order.

        Raises
        ------
        Interrupted
            After Ctrl-C, once all finished results are yielded.
        WorkersLostError
            Likewise, if a process has died.
        """
        if self.jobs == 0:
            yield from _each_in_this_process(function, items)
            return
        finished: SimpleQueue[Future[Result]] = SimpleQueue()
        given: dict[Future[Result], Item] = {}
        with _interrupts_blocked():
            for item in items:
                future = self._pool.submit(function, item)
                given[future] = item
                future.add_done_callback(finished.put)
        left = len(items)
        while left:
            stopping = self._stop.is_set()
            batch = [(given.pop(done), done) for done in _drain(finished)]
            left -= len(batch)
            succeeded = [(item, done) for item, done in batch if not done.exception()]
            yield [(item, done.result()) for item, done in succeeded]
            if stopping:
                raise Interrupted
            for _, done in batch:
                self._raise_failure(done)

    def _raise_failure(self, done: Future[Any]) -> None:
        try:
            done.result()
        except BrokenProcessPool as error:
            raise WorkersLostError(
                "a worker process died, perhaps for lack of memory; try fewer than "
                f"{self.jobs} processes (--jobs)"
            ) from error


def _each_in_this_process(
    function: Callable[[Item], Result], items: Sequence[Item]
) -> Iterator[list[tuple[Item, Result]]]:
    for item in items:
        try:
            result = function(item)
        except KeyboardInterrupt:
            raise Interrupted from None
        yield [(item, result)]


def _drain(queue: SimpleQueue[Item]) -> list[Item]:
    """Return all items of a queue, waiting up to `TICK` seconds for the first."""
    batch = []
    try:
        batch.append(queue.get(timeout=TICK))
        while True:
            batch.append(queue.get_nowait())
    except Empty:
        return batch


def _initialise(lifeline: Connection) -> None:
    """Initialise a worker process."""
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
    """Block Ctrl-C while processes start: it reaches all processes of a terminal."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _handle_interrupts(handler: Any) -> Any:
    """Set the handler of Ctrl-C and return the one before; only in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return None
    return signal.signal(signal.SIGINT, handler)
