"""Running a plan: each run without a record is computed, and saved when it ends.

A results file has one record per line. After Ctrl-C, a power cut or SIGKILL, only the
runs in progress are lost: the next start computes those without a record. Only this
process writes to the file.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rpnb.datasets import describe
from rpnb.study.cell import DatasetSummary, RunFailure, RunTask, run_task, survey
from rpnb.study.dataset_sources import DatasetRequest, is_drawn
from rpnb.study.methods import cost, find
from rpnb.study.plan import Plan, draw_seed
from rpnb.study.remaining_time import Cell, Forecast, RemainingTime
from rpnb.study.run_records import RunKey, RunRecord, append, read
from rpnb.study.worker_pool import Interrupted, Workers

try:
    import fcntl
except ImportError:  # Windows: no lock against two studies that write to one file
    fcntl = None  # type: ignore[assignment]


# Runs shorter than this many seconds are ordered by dataset, not by length.
_SHORT = 1.0
# Datasets with fewer values in total are loaded in this process: starting workers takes
# longer.
_SMALL = 500_000


class ResultsBusyError(RuntimeError):
    """Another process is writing to the results file."""


@dataclass(frozen=True, slots=True)
class StudyProgress:
    """Progress of a study."""

    phase: str
    """"reading" while datasets are loaded, then "running\""""
    done: int
    """datasets loaded, or runs with a record, including earlier sessions"""
    total: int
    share: float
    """share of the datasets, or of the expected time of all runs, that is done"""
    cells_done: int
    """number of pairs of dataset and method whose runs all have a record"""
    cells: int
    computed: int
    """runs computed in this session"""
    failed: int
    seconds: float
    """seconds since the start of this phase"""
    seconds_left: float | None
    latest: str
    """dataset and method of the run that finished last"""


@dataclass(frozen=True, slots=True)
class StudyOutcome:
    """The result of running a plan."""

    records: tuple[RunRecord, ...]
    """all records of the plan, in its order, whenever they were computed"""
    failures: tuple[RunFailure, ...]
    """datasets that could not be loaded, and methods that failed on a dataset"""
    computed: int
    """number of records computed in this session"""
    interrupted: bool
    """whether the user stopped the run"""


def run(
    plan: Plan,
    path: Path,
    *,
    jobs: int | None = None,
    watch: Callable[[StudyProgress], None] = lambda _: None,
) -> StudyOutcome:
    """Compute the runs of a plan that have no record, and return all its records.

    New records are appended to the results file at `path`. `jobs` is the number of
    worker processes, by default one per core; with 0, this process computes. `watch`
    is called with the progress several times a second.

    Raises
    ------
    ResultsBusyError
        If another process is writing to the file.
    WorkersLostError
        If a worker process died; finished runs are in the file.
    """
    if jobs is None:
        jobs = os.cpu_count() or 1
    study = _Study(plan, path, watch)
    interrupted = False
    with _locked(path):
        try:
            study.run(jobs)
        except Interrupted:
            interrupted = True
    return StudyOutcome(
        records=study.records(),
        failures=tuple(dict.fromkeys(study.failures)),
        computed=study.computed,
        interrupted=interrupted,
    )


class _Study:
    """A plan that is being run."""

    def __init__(
        self,
        plan: Plan,
        path: Path,
        watch: Callable[[StudyProgress], None],
    ) -> None:
        self.plan, self.path, self.watch = plan, path, watch
        self.surveys: dict[str, DatasetSummary] = {}
        self.contents: dict[DatasetRequest, str] = {}
        self.drawn = {
            name
            for name in plan.datasets
            if is_drawn(describe(name), plan.data, plan.offline)
        }
        self.known: dict[RunKey, RunRecord] = {}
        self.failures: list[RunFailure] = []
        self.computed = 0
        self.timing = RemainingTime(self._cost)

    def run(self, jobs: int) -> None:
        """Load the datasets and compute all missing runs."""
        size = sum(entry.n * entry.p for entry in map(describe, self.plan.datasets))
        small = size <= _SMALL
        if small:
            with Workers(0) as here:
                self.survey_datasets(here)
        with Workers(jobs) as workers:
            if not small:
                self.survey_datasets(workers)
            self.compute(workers)

    def survey_datasets(self, workers: Workers) -> None:
        """Load each dataset once; its fingerprint identifies its records."""
        start, latest = time.monotonic(), ""
        plan = self.plan
        every = [(name, r) for name in plan.datasets for r in range(plan.permutations)]
        requests = list(dict.fromkeys(self._request(name, r) for name, r in every))
        pending = Counter(request.dataset for request in requests)
        for batch in workers.each(survey, requests):
            for request, result in batch:
                latest = request.dataset
                if isinstance(result, RunFailure):
                    self.failures.append(result)
                else:
                    self.surveys[latest] = result
                    self.contents[request] = result.content
            pending.subtract(request.dataset for request, _ in batch)
            done, total = len(plan.datasets) - len(+pending), len(plan.datasets)
            self._report("reading", done, total, Counter(), start, None, latest)

    def compute(self, workers: Workers) -> None:
        """Compute the runs without a record, the longest first."""
        keys = {task.key: task for task in self._tasks()}
        self.known = {r.key: r for r in read(self.path) if r.key in keys}
        for record in self.known.values():
            self.timing.add(record)
        tasks = [task for key, task in keys.items() if key not in self.known]
        tasks.sort(key=self._sort_key, reverse=True)
        pending = Counter(_cell(task) for task in tasks)
        queue = _Queue(tasks, workers.jobs)
        start, total, latest = time.monotonic(), len(keys), ""
        for batch in workers.each(run_task, tasks):
            queue.finish(task for task, _ in batch)
            results = [result for _, result in batch]
            records = [result for result in results if isinstance(result, RunRecord)]
            if records:
                append(self.path, records)
            for record in records:
                self.known[record.key] = record
                self.timing.add(record)
            self.computed += len(records)
            self.failures += [r for r in results if isinstance(r, RunFailure)]
            pending.subtract(_cell(task) for task, _ in batch)
            pending = +pending
            if batch:
                latest = " · ".join(_cell(batch[-1][0]))
            left = self.timing.forecast(pending, workers.jobs, queue.running())
            done = total - pending.total()
            self._report("running", done, total, pending, start, left, latest)

    def records(self) -> tuple[RunRecord, ...]:
        """Return the records of the plan, in its order."""
        found = [self.known.get(task.key) for task in self._tasks()]
        return tuple(record for record in found if record is not None)

    def _tasks(self) -> Iterator[RunTask]:
        plan = self.plan
        for name in plan.datasets:
            for method in plan.methods:
                for r in range(plan.permutations):
                    request = self._request(name, r)
                    if request in self.contents:
                        content = self.contents[request]
                        yield RunTask(request, method, r, content, plan.seed)

    def _request(self, name: str, r: int) -> DatasetRequest:
        plan = self.plan
        seed = draw_seed(plan.seed, name, r) if name in self.drawn else 0
        return DatasetRequest(name, plan.reading, plan.data, seed, plan.offline)

    def _sort_key(self, task: RunTask) -> tuple[float, float]:
        """Return the sort key of a run: long runs by length, short ones by dataset.

        Otherwise workers would reload the same datasets again and again.
        """
        seconds, about = self._cost(_cell(task)), self.surveys[task.request.dataset]
        return (seconds if seconds > _SHORT else 0.0), float(about.n * about.p)

    def _cost(self, cell: Cell) -> float:
        about = self.surveys[cell[0]]
        return cost(find(cell[1]), about.n, about.p, about.M)

    def _report(
        self,
        phase: str,
        done: int,
        total: int,
        pending: Counter[Cell],
        start: float,
        left: Forecast | None,
        latest: str,
    ) -> None:
        """Pass the progress of the study to its watcher."""
        cells = len(self.surveys) * len(self.plan.methods)
        self.watch(
            StudyProgress(
                phase=phase,
                done=done,
                total=total,
                share=done / total if left is None else left.share,
                cells_done=cells - len(pending),
                cells=cells,
                computed=self.computed,
                failed=len(self.failures),
                seconds=time.monotonic() - start,
                seconds_left=None if left is None else left.seconds,
                latest=latest,
            )
        )


class _Queue:
    """Which tasks are running, in processes that start them in their order."""

    def __init__(self, tasks: Iterable[RunTask], jobs: int) -> None:
        self._waiting = dict.fromkeys(tasks)
        self._jobs = jobs
        self._started: dict[RunTask, float] = {}
        self.finish(())

    def finish(self, tasks: Iterable[RunTask]) -> None:
        """Remove tasks that have finished; as many others have started."""
        for task in tasks:
            self._waiting.pop(task, None)
            self._started.pop(task, None)
        room = self._jobs - len(self._started)
        for task in list(islice(self._waiting, max(room, 0))):
            del self._waiting[task]
            self._started[task] = time.monotonic()

    def running(self) -> list[tuple[Cell, float]]:
        """Return the tasks that are running, with their seconds so far."""
        now = time.monotonic()
        return [(_cell(task), now - start) for task, start in self._started.items()]


def _cell(task: RunTask) -> Cell:
    return task.request.dataset, task.method


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock a results file against other processes; the lock ends with this one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise ResultsBusyError(
                    f"{path}: another process is writing to this file; wait until it "
                    "ends, or name another file"
                ) from error
            except OSError:
                pass  # a file system without locks
        yield
