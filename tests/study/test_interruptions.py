"""Studies whose processes are killed or interrupted while they work."""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rpnb.study.plan import make_plan
from rpnb.study.run import StudyProgress, run
from rpnb.study.run_records import read
from rpnb.study.worker_pool import WorkersLostError
from study.report_records import tables_of

NAMES, METHODS, PERMUTATIONS = ["Iris", "Monk-2"], ["RPNB", "SCW"], 10
RUNS = len(NAMES) * (len(METHODS) + 2) * PERMUTATIONS
TIMEOUT = 120.0  # seconds, on a busy machine

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="looks at processes in /proc"
)


@contextmanager
def started(folder: Path, jobs: int = 1) -> Iterator["subprocess.Popen[str]"]:
    """The command as a user starts it, in a process group like a terminal's."""
    command = [sys.executable, "-c", "import rpnb.cli as c; raise SystemExit(c.main())"]
    arguments = ["paper", "--offline", "--jobs", str(jobs), "--results", "r.jsonl"]
    arguments += ["--permutations", str(PERMUTATIONS), "--report", "report"]
    arguments += ["--datasets", *NAMES, "--methods", *METHODS]
    with subprocess.Popen(  # noqa: S603 - the words are our own
        command + arguments,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + TIMEOUT
    while not holds():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.005)


def records_in(folder: Path) -> int:
    return sum(1 for _ in read(folder / "r.jsonl"))


def children_of(process: "subprocess.Popen[str]") -> list[int]:
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(number) for number in path.read_text().split()]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def kill_after(folder: Path, delay: float) -> None:
    """Start the command, kill it after its first record, and wait for its workers."""
    with started(folder, jobs=2) as process:
        wait_until(lambda: records_in(folder) > 0)
        time.sleep(delay)
        workers = children_of(process)
        process.send_signal(signal.SIGKILL)
        process.wait(TIMEOUT)
    wait_until(lambda: not any(map(is_running, workers)))


def interrupt_after(folder: Path, kept: int | None) -> None:
    """Start the command, press Ctrl-C after more than `kept` records; see it end.

    None is before any, while workers are importing, which must not be seen either.
    """
    with started(folder) as process:
        if kept is None:
            wait_until(lambda: len(children_of(process)) > 0)
            time.sleep(0.5)
        else:
            wait_until(lambda: records_in(folder) > kept)
        workers = children_of(process)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, errors = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert f"Stopped. {records_in(folder)} of {RUNS} runs are in r.jsonl" in errors
    wait_until(lambda: not any(map(is_running, workers)))


def test_killed_and_interrupted_a_study_ends_with_the_same_tables(
    tmp_path: Path,
) -> None:
    moments = random.Random(20171)  # noqa: S311 - nothing is secret here
    kill_after(tmp_path, delay=moments.uniform(0.0, 0.05))
    kept = records_in(tmp_path)
    assert 0 < kept < RUNS
    interrupt_after(tmp_path, kept)
    assert kept < records_in(tmp_path) < RUNS
    with started(tmp_path) as process:
        _, errors = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0, errors

    records = list(read(tmp_path / "r.jsonl"))
    assert len({record.key for record in records}) == len(records) == RUNS
    plan = make_plan(NAMES, METHODS, permutations=PERMUTATIONS, offline=True)
    undisturbed = run(plan, tmp_path / "undisturbed.jsonl", jobs=0)
    assert tables_of(records) == tables_of(undisturbed.records)


def test_ctrl_c_while_workers_start_ends_all_quietly(tmp_path: Path) -> None:
    interrupt_after(tmp_path, None)


def test_a_worker_that_dies_is_reported_and_finished_runs_are_kept(
    tmp_path: Path,
) -> None:
    plan = make_plan(NAMES, METHODS, permutations=PERMUTATIONS, offline=True)
    path = tmp_path / "r.jsonl"

    def kill_workers(progress: StudyProgress) -> None:
        if progress.computed:
            for child in multiprocessing.active_children():
                child.kill()

    with pytest.raises(WorkersLostError, match="a worker process died"):
        run(plan, path, jobs=1, watch=kill_workers)
    kept = len(list(read(path)))
    assert 0 < kept < RUNS
    assert run(plan, path, jobs=0).computed == RUNS - kept
