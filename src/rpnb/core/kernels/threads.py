"""Independent work spread over threads.

Kernels and matrix products release the GIL, so threads can share a model without
copies. The result of a row has the same bits whatever rows are computed with it, so it
does not depend on the number of threads.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

# Fewer rows than this are not worth a thread.
LEAST_ROWS = 512


def in_threads(work: Callable[[slice], None], n: int, jobs: int) -> None:
    """Call `work` for rows 0 … n−1, cut into as many parts as there are threads."""
    parts = max(min(jobs, n // LEAST_ROWS), 1)
    if parts == 1:
        work(slice(0, n))
        return
    cuts = [n * part // parts for part in range(parts + 1)]
    slices = map(slice, cuts[:-1], cuts[1:])
    with one_blas_thread(), ThreadPoolExecutor(parts) as pool:
        for _ in pool.map(work, slices):
            pass


Result = TypeVar("Result")


def call_one_ahead(work: Sequence[Callable[[], Result]], jobs: int) -> Iterator[Result]:
    """Call the functions in order and yield their results.

    With two jobs, the next function is called in a thread while the caller uses the
    last result; it may overwrite that result's memory once the caller asks for another.
    """
    if jobs == 1 or len(work) <= 1:
        yield from (job() for job in work)
        return
    with one_blas_thread(), ThreadPoolExecutor(1) as pool:
        # Run in the caller's context, for NumPy's error handling.
        upcoming = pool.submit(copy_context().run, work[0])
        for job in work[1:]:
            result, upcoming = upcoming.result(), pool.submit(copy_context().run, job)
            yield result
        yield upcoming.result()


@cache
def _controller() -> Any:
    # The search takes milliseconds; NumPy's BLAS is loaded from the start.
    return ThreadpoolController()


_lock = Lock()
_limits: list[Any] = []
"""The limit that the first caller has set, once per caller still inside."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, to avoid oversubscription by nested threads.

    The limit applies to the whole process. Calls may overlap: the first to enter sets
    it, and the last to leave removes it.
    """
    with _lock:
        limit = (
            _limits[0] if _limits else _controller().limit(limits=1, user_api="blas")
        )
        _limits.append(limit)
    try:
        yield
    finally:
        with _lock:
            _limits.pop()
            if not _limits:
                limit.restore_original_limits()


def _before_fork() -> None:
    # The limit must not change while the process is copied.
    _lock.acquire()


def _after_fork_in_child() -> None:
    """Remove a limit set by other threads of the parent, which the child lacks."""
    if _limits:
        limit = _limits[0]
        _limits.clear()
        limit.restore_original_limits()
    _lock.release()


if hasattr(os, "register_at_fork"):  # pragma: no branch
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_lock.release,
        after_in_child=_after_fork_in_child,
    )
