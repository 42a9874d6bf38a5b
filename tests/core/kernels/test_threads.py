"""Rows spread over threads: all of them, once, with BLAS kept to one thread."""

import os
import subprocess
import sys
import threading
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

from rpnb.core.kernels import threads
from rpnb.core.kernels.threads import (
    LEAST_ROWS,
    call_one_ahead,
    in_threads,
    one_blas_thread,
)


def blas_threads() -> list[int]:
    info: list[dict[str, Any]] = threadpool_info()
    return [pool["num_threads"] for pool in info if pool["user_api"] == "blas"]


@given(st.integers(0, 5 * LEAST_ROWS), st.integers(1, 6))
def test_every_row_is_worked_on_once(n: int, jobs: int) -> None:
    times = np.zeros(n, np.int64)
    parts = []

    def work(rows: slice) -> None:
        times[rows] += 1
        parts.append(rows)

    in_threads(work, n, jobs)
    assert_array_equal(times, 1)
    assert len(parts) == max(min(jobs, n // LEAST_ROWS), 1)


def test_parts_run_side_by_side() -> None:
    meeting = threading.Barrier(3, timeout=60)

    def work(_rows: slice) -> None:
        meeting.wait()

    in_threads(work, 3 * LEAST_ROWS, 3)


def test_one_part_stays_in_the_callers_thread() -> None:
    found = []
    in_threads(lambda _rows: found.append(threading.current_thread()), 10**6, 1)
    assert found == [threading.current_thread()]


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    def work(rows: slice) -> None:
        if rows.start > 0:
            raise ZeroDivisionError

    with threadpool_limits(2, "blas"):
        before = blas_threads()
        with pytest.raises(ZeroDivisionError):
            in_threads(work, 4 * LEAST_ROWS, 2)
        assert blas_threads() == before


def test_blas_is_limited_to_one_thread_and_released() -> None:
    with threadpool_limits(2, "blas"):
        before = blas_threads()
        found: list[list[int]] = []
        in_threads(lambda _rows: found.append(blas_threads()), 2 * LEAST_ROWS, 2)
        assert len(found) == 2
        assert all(threads == 1 for part in found for threads in part)
        assert blas_threads() == before
        # One thread of ours leaves it alone.
        found.clear()
        in_threads(lambda _rows: found.append(blas_threads()), 2 * LEAST_ROWS, 1)
        assert found == [before]


def test_callers_that_overlap_leave_no_limit_behind() -> None:
    with threadpool_limits(2, "blas"):
        before = blas_threads()
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert set(blas_threads()) == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == before


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("n", [0, 1, 5])
def test_results_come_in_order_and_one_ahead_at_most(n: int, jobs: int) -> None:
    begun: list[int] = []

    def job(number: int) -> int:
        begun.append(number)
        return number

    for number, result in enumerate(
        call_one_ahead([partial(job, i) for i in range(n)], jobs)
    ):
        assert result == number
        assert len(begun) <= number + jobs
    assert begun == list(range(n))


def test_the_next_function_runs_while_the_last_result_is_used() -> None:
    going = threading.Event()

    def second() -> int:
        going.set()
        return 2

    results = call_one_ahead([lambda: 1, second], 2)
    assert next(results) == 1
    assert going.wait(60)
    assert list(results) == [2]


def test_blas_has_one_thread_while_a_thread_works_ahead() -> None:
    with threadpool_limits(2, "blas"):
        before = blas_threads()
        found = list(call_one_ahead([blas_threads, blas_threads], 2))
        assert all(threads == 1 for part in found for threads in part)
        assert blas_threads() == before


def test_an_error_ahead_is_raised_when_its_result_is_asked_for() -> None:
    def fail() -> int:
        raise ZeroDivisionError

    results = call_one_ahead([lambda: 1, fail, lambda: 3], 2)
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_the_thread_ahead_uses_the_callers_handling_of_overflow() -> None:
    def job() -> str:
        return np.geterr()["over"]

    with np.errstate(over="call"):
        assert list(call_one_ahead([job, job, job], 2)) == ["call"] * 3


def test_a_child_removes_the_limit_of_threads_that_it_does_not_have() -> None:
    before = blas_threads()
    for other_threads in (0, 1):
        for _ in range(other_threads):
            limit = threads._controller().limit(limits=1, user_api="blas")
            threads._limits.append(limit)
        threads._before_fork()
        assert threads._lock.locked()
        threads._after_fork_in_child()
        assert not threads._lock.locked()
        assert threads._limits == []
        assert blas_threads() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_while_another_thread_has_the_limit_does_not_hang() -> None:
    code = """
import os, sys, threading
from rpnb.core.kernels import threads

stop = threading.Event()

def limit_again_and_again():
    while not stop.is_set():
        with threads.one_blas_thread():
            pass

thread = threading.Thread(target=limit_again_and_again)
thread.start()
worst = 0
for _ in range(200):
    pid = os.fork()
    if pid == 0:
        with threads.one_blas_thread():
            pass
        os._exit(3 if threads._limits else 0)
    worst = max(worst, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
stop.set()
thread.join()
sys.exit(worst)
"""
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, timeout=120)  # noqa: S603  our own code
    assert done.returncode == 0
