"""Running a plan: what is missing is computed, and each result is kept as it comes.

A results file holds one record a line. A run that ends early, by Ctrl-C, by a power
cut, by SIGKILL, loses no more than the runs that were being computed; started again,
it goes on from there. Only this process writes to the file.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rpnb.datasets import describe
from rpnb.study.cell import DatasetSummary, RunFailure, RunTask, run_task, survey
from rpnb.study.methods import MethodUnavailableError, cost, find, make
from rpnb.study.plan import Plan, draw_seed
from rpnb.study.records import RunKey, RunRecord, append, read
from rpnb.study.sources import DatasetRequest, is_drawn
from rpnb.study.timing import Cell, RemainingTime
from rpnb.study.workers import Interrupted, Workers

try:
    import fcntl
except ImportError:  # Windows: two runs on one file are not kept apart there
    fcntl = None  # type: ignore[assignment]


# Seconds of a run that is over before it matters when it started.
_SHORT = 1.0
# Numbers in datasets that are looked at sooner than another process has started.
_SMALL = 500_000


class ResultsBusyError(RuntimeError):
    """Another run is writing to the results file."""


@dataclass(frozen=True, slots=True)
class StudyProgress:
    """How far a run has come."""

    phase: str
    """"reading" while datasets are looked at, then "running\""""
    done: int
    """datasets looked at, or runs whose result is at hand, those of before included"""
    total: int
    cells_done: int
    """pairs of a dataset and a method with all their runs at hand"""
    cells: int
    computed: int
    """runs that were computed now"""
    failed: int
    seconds: float
    """since the start of this phase"""
    seconds_left: float | None
    latest: str
    """what finished last"""


@dataclass(frozen=True, slots=True)
class StudyOutcome:
    """What there is after a run.

    Attributes
    ----------
    records
        All records of the plan, in its order, whenever they were computed.
    failures
        Datasets that could not be had, and methods that failed on a dataset.
    unavailable
        Methods that this version does not have or cannot make, and why.
    computed
        How many records were computed now.
    interrupted
        Whether the user stopped the run.
    """

    records: tuple[RunRecord, ...]
    failures: tuple[RunFailure, ...]
    unavailable: tuple[tuple[str, str], ...]
    computed: int
    interrupted: bool


def run(
    plan: Plan,
    path: Path,
    *,
    jobs: int | None = None,
    watch: Callable[[StudyProgress], None] = lambda _: None,
) -> StudyOutcome:
    """Compute what is missing of a plan, and return all its records.

    Parameters
    ----------
    plan
        What to run.
    path
        The results file. Records in it are not computed again; new ones are appended.
    jobs
        How many processes share the work; by default one a core, 0 for this process
        alone.
    watch
        Is told of the progress, several times a second.

    Raises
    ------
    ResultsBusyError
        If another run is writing to the file.
    WorkersLostError
        If a worker process died; what finished before is in the file.
    """
    if jobs is None:
        jobs = os.cpu_count() or 1
    methods, unavailable = _split_by_availability(plan.methods)
    study = _Study(plan, path, methods, watch)
    interrupted = False
    with _alone(path):
        try:
            study.run(jobs)
        except Interrupted:
            interrupted = True
    return StudyOutcome(
        records=study.records(),
        failures=tuple(dict.fromkeys(study.failures)),
        unavailable=unavailable,
        computed=study.computed,
        interrupted=interrupted,
    )


def _split_by_availability(
    names: Sequence[str],
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    there, missing = [], []
    for name in names:
        try:
            make(find(name))
        except MethodUnavailableError as error:
            missing.append((name, str(error)))
        except (TypeError, ValueError) as error:
            missing.append((name, f"{type(error).__name__}: {error}"))
        else:
            there.append(name)
    return tuple(there), tuple(missing)


class _Study:
    """A plan while it is being run."""

    def __init__(
        self,
        plan: Plan,
        path: Path,
        methods: Sequence[str],
        watch: Callable[[StudyProgress], None],
    ) -> None:
        self.plan, self.path, self.methods, self.watch = plan, path, methods, watch
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
        self.clock = RemainingTime(self._cost)

    def run(self, jobs: int) -> None:
        """Do all that there is to do."""
        size = sum(entry.n * entry.p for entry in map(describe, self.plan.datasets))
        small = size <= _SMALL
        if small:
            with Workers(0) as here:
                self.look_at_datasets(here)
        with Workers(jobs) as workers:
            if not small:
                self.look_at_datasets(workers)
            self.compute(workers)

    def look_at_datasets(self, workers: Workers) -> None:
        """Find out what the datasets hold; it tells which records are theirs."""
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
            self._tell("reading", done, total, Counter(), start, None, latest)

    def compute(self, workers: Workers) -> None:
        """Do the runs that have no record yet, the longest first."""
        keys = {task.key: task for task in self._tasks()}
        self.known = {r.key: r for r in read(self.path) if r.key in keys}
        for record in self.known.values():
            self.clock.see(record)
        tasks = [task for key, task in keys.items() if key not in self.known]
        tasks.sort(key=self._turn, reverse=True)
        pending = Counter(_cell(task) for task in tasks)
        start, total, latest = time.monotonic(), len(keys), ""
        for batch in workers.each(run_task, tasks):
            results = [result for _, result in batch]
            records = [result for result in results if isinstance(result, RunRecord)]
            if records:
                append(self.path, records)
            for record in records:
                self.known[record.key] = record
                self.clock.see(record)
            self.computed += len(records)
            self.failures += [r for r in results if isinstance(r, RunFailure)]
            pending.subtract(_cell(task) for task, _ in batch)
            pending = +pending
            if batch:
                latest = " · ".join(_cell(batch[-1][0]))
            left = self.clock.seconds_left(pending, workers.jobs)
            done = total - pending.total()
            self._tell("running", done, total, pending, start, left, latest)

    def records(self) -> tuple[RunRecord, ...]:
        """Return the records of the plan that there are, in its order."""
        found = [self.known.get(task.key) for task in self._tasks()]
        return tuple(record for record in found if record is not None)

    def _tasks(self) -> Iterator[RunTask]:
        plan = self.plan
        for name in plan.datasets:
            for method in self.methods:
                for r in range(plan.permutations):
                    request = self._request(name, r)
                    if request in self.contents:
                        content = self.contents[request]
                        yield RunTask(request, method, r, content, plan.seed)

    def _request(self, name: str, r: int) -> DatasetRequest:
        plan = self.plan
        seed = draw_seed(plan.seed, name, r) if name in self.drawn else 0
        return DatasetRequest(name, plan.reading, plan.data, seed, plan.offline)

    def _turn(self, task: RunTask) -> tuple[float, float]:
        """Return what sorts runs: long ones by length, short ones by dataset.

        Short runs of many datasets in turn would have workers read these again and
        again.
        """
        seconds, about = self._cost(_cell(task)), self.surveys[task.request.dataset]
        return (seconds if seconds > _SHORT else 0.0), float(about.n * about.p)

    def _cost(self, cell: Cell) -> float:
        about = self.surveys[cell[0]]
        return cost(find(cell[1]), about.n, about.p, about.M)

    def _tell(
        self,
        phase: str,
        done: int,
        total: int,
        pending: Counter[Cell],
        start: float,
        left: float | None,
        latest: str,
    ) -> None:
        cells = len(self.surveys) * len(self.methods)
        self.watch(
            StudyProgress(
                phase=phase,
                done=done,
                total=total,
                cells_done=cells - len(pending),
                cells=cells,
                computed=self.computed,
                failed=len(self.failures),
                seconds=time.monotonic() - start,
                seconds_left=left,
                latest=latest,
            )
        )


def _cell(task: RunTask) -> Cell:
    return task.request.dataset, task.method


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other runs off a results file; the lock ends with this process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise ResultsBusyError(
                    f"{path}: another run is writing to this file; wait for its end, "
                    "or name another file"
                ) from error
            except OSError:
                pass  # a file system without locks
        yield
