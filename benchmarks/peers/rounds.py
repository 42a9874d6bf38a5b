"""Interleaved measurements: each round is one run of each learner on the same rows.

Each round has its own permutation or draw. Learners are compared within a round, and
their order rotates between rounds, so that changes in the load of the machine affect
all alike. A learner that would exceed the time limit gets only the first rows of each
stream, as many as it can process in that time.
"""

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from peers.peers import PEERS, REFERENCE, PeerLearner
from peers.worker_process import WORKERS, Worker, WorkerError, worker
from peers.workloads import Workload, workload
from rpnb.core.kernels.arrays import IntArray

# Rows of the first trial, and the factor from one trial to the next.
_FIRST_TRIAL, _FACTOR = 64, 4
# Relative difference of the number of rows that is not worth another trial.
_TOLERANCE = 0.25
# Shorter runs are repeated until this many seconds are spent.
_AT_LEAST = 0.2


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be measured.

    Attributes
    ----------
    streams
        Names for `workload`.
    interpreters
        Peer -> the interpreter that runs it.
    learners
        Libraries and their learners, in the order of the table.
    n, K, rounds, seed
        Maximal rows of a stream, members of the ensembles, rounds, and first seed.
    limit
        Seconds of processor time that a run may take.
    scale
        Whether features are standardised in advance by the rows up to each.
    memory
        Whether to measure the sizes of models, which takes one new process each.
    """

    streams: tuple[str, ...]
    interpreters: dict[str, str]
    learners: tuple[PeerLearner, ...]
    n: int
    K: int
    rounds: int
    seed: int
    limit: float
    scale: bool = False
    memory: bool = True


@dataclass(frozen=True, slots=True)
class Run:
    """One run: `rows` of the stream's `n` in `seconds` of processor time.

    `reference_error` is the error of RPNB on the same rows.
    """

    stream: str
    peer: str
    version: str
    learner: str
    round: int
    n: int
    rows: int
    seconds: float
    wall: float
    error: float
    reference_error: float | None


@dataclass(frozen=True, slots=True)
class ModelSize:
    """The size of a model after a run, and the growth of its process, in bytes."""

    stream: str
    peer: str
    learner: str
    model_bytes: int | None
    peak_bytes: int | None


@dataclass(frozen=True, slots=True)
class Failure:
    """A learner that failed, and why."""

    stream: str
    peer: str
    learner: str
    message: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """All measurements of a plan."""

    plan: Plan
    runs: tuple[Run, ...]
    sizes: tuple[ModelSize, ...]
    failures: tuple[Failure, ...]


def measure(plan: Plan, say: Callable[[str], object] = lambda message: None) -> Outcome:
    """Run all learners on all streams; `say` is called with lines on the progress."""
    runs: list[Run] = []
    sizes: list[ModelSize] = []
    failures: list[Failure] = []
    with ExitStack() as stack:
        workers = {
            peer: stack.enter_context(_worker(peer, python))
            for peer, python in plan.interpreters.items()
        }
        versions = {
            peer: w.request("version")["version"] for peer, w in workers.items()
        }
        for stream in plan.streams:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            benchmark = _StreamBenchmark(plan, stream, workers, versions, folder, say)
            runs += benchmark.run()
            sizes += benchmark.measure_sizes() if plan.memory else []
            failures += benchmark.failures
    return Outcome(plan, tuple(runs), tuple(sizes), tuple(failures))


def _worker(peer: str, python: str) -> AbstractContextManager[Worker]:
    return worker(PEERS[peer].label, python, WORKERS / PEERS[peer].worker)


class _StreamBenchmark:
    """The measurements on one stream: trials, rounds, and sizes of models."""

    def __init__(
        self,
        plan: Plan,
        stream: str,
        workers: dict[str, Worker],
        versions: dict[str, str],
        folder: Path,
        say: Callable[[str], object],
    ) -> None:
        self.plan = plan
        self.stream = stream
        self.workers = workers
        self.versions = versions
        self.say = say
        self.failures: list[Failure] = []
        self.works: list[Workload] = []
        self.files: list[str] = []
        for number in range(plan.rounds):
            work = workload(stream, plan.n, plan.seed + number, plan.scale)
            path = folder / f"rows-{number}.npz"
            np.savez(path, X=work.X, y=work.y)
            self.works.append(work)
            self.files.append(str(path))
        self.rows: dict[PeerLearner, int] = {}

    def run(self) -> list[Run]:
        """Return the runs of all rounds, round by round."""
        for peer, learner in self.plan.learners:
            self.say(f"{self.stream}: trying {PEERS[peer].label}, {learner}")
            self._try((peer, learner), self._fit_rows)
        found: list[Run] = []
        for number in range(self.plan.rounds):
            self.say(f"{self.stream}: round {number + 1} of {self.plan.rounds}")
            found += self._round(number)
        return found

    def measure_sizes(self) -> list[ModelSize]:
        """Return the size of each model, measured in a new process each."""
        found: list[ModelSize] = []

        def measure_size(key: PeerLearner) -> None:
            peer, learner = key
            with _worker(peer, self.plan.interpreters[peer]) as fresh:
                result = fresh.request("size", **self._request(key, 0))
            measured = (result["bytes"], result["peak"])
            found.append(ModelSize(self.stream, peer, learner, *measured))

        self.say(f"{self.stream}: measuring sizes of models")
        for key in list(self.rows):
            self._try(key, measure_size)
        return found

    def _fit_rows(self, key: PeerLearner) -> None:
        """Load a learner, and find how many rows fit into the limit."""
        n, limit = len(self.works[0].X), self.plan.limit
        rows = min(_FIRST_TRIAL, n)
        self._run(key, 0, rows)
        while True:
            seconds = self._run(key, 0, rows)["seconds"]
            if rows == n or seconds * _FACTOR > limit:
                break
            rows = min(rows * _FACTOR, n)
        for _ in range(2):  # Java compiles during the first trials
            wanted = max(min(int(rows * limit / seconds), n), 1)
            if abs(wanted - rows) <= _TOLERANCE * rows and not rows < wanted == n:
                break
            rows = wanted
            seconds = self._run(key, 0, rows)["seconds"]
        self.rows[key] = rows

    def _round(self, number: int) -> list[Run]:
        work = self.works[number]
        order = list(self.rows)
        order = order[number % len(order) :] + order[: number % len(order)]
        results = {}

        def run(key: PeerLearner) -> None:
            rows = self.rows[key]
            results[key] = self._run(key, number, rows, _AT_LEAST)

        for key in order:
            self._try(key, run)
        reference: IntArray | None = None
        if REFERENCE in results:
            reference = results[REFERENCE]["arrays"]["labels"]
        return [
            Run(
                self.stream,
                key[0],
                self.versions[key[0]],
                key[1],
                number,
                len(work.X),
                self.rows[key],
                result["seconds"],
                result["wall"],
                _error(result["arrays"]["labels"], work.y),
                _error_on_first(reference, work.y, self.rows[key]),
            )
            for key, result in results.items()
        ]

    def _run(
        self, key: PeerLearner, number: int, rows: int, at_least: float = 0.0
    ) -> dict[str, Any]:
        request = self._request(key, number) | {"n": rows}
        return self.workers[key[0]].request("run", at_least=at_least, **request)

    def _request(self, key: PeerLearner, number: int) -> dict[str, object]:
        return {
            "learner": key[1],
            "rows": self.files[number],
            "n": self.rows.get(key, 0),
            "M": max(work.M for work in self.works),
            "K": self.plan.K,
            "seed": self.plan.seed + number,
        }

    def _try(self, key: PeerLearner, job: Callable[[PeerLearner], object]) -> None:
        try:
            job(key)
        except WorkerError as error:
            self.rows.pop(key, None)
            self.failures.append(Failure(self.stream, *key, str(error)))


def _error(labels: IntArray, y: IntArray) -> float:
    return float(np.mean(labels != y[: len(labels)]))


def _error_on_first(labels: IntArray | None, y: IntArray, rows: int) -> float | None:
    if labels is None or len(labels) < rows:
        return None
    return _error(labels[:rows], y)
