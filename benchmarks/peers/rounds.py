"""The same work for everyone, in rounds: each round is one run of each learner.

Each round has its own permutation or draw. What a learner is compared with in a round
ran in the same round, and the order rotates, so that a change of the machine's mood
meets all alike. A learner that would need longer than the limit gets the first rows of
each stream, as many as it can do in that time.
"""

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from peers.asking import WORKERS, Worker, WorkerError, worker
from peers.peers import PEERS, REFERENCE
from peers.workloads import Workload, workload
from rpnb.core.kernels.arrays import IntArray

Contestant: TypeAlias = tuple[str, str]
"""a peer and its learner"""

# Rows of the first try, and by how much the next has more.
_FIRST_TRY, _MORE = 64, 4
# So near to the limit is near enough.
_NEAR = 0.25
# A run that is shorter is repeated until so many seconds are over.
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
    contestants
        Peers and their learners, in the order of the table.
    n, K, rounds, seed
        Rows of a stream at most, members of the ensembles, rounds, and the first seed.
    limit
        Seconds of processor time that a run may take.
    scale
        Whether features are standardised beforehand, by the rows so far.
    memory
        Whether to weigh the models, which takes a new process each.
    """

    streams: tuple[str, ...]
    interpreters: dict[str, str]
    contestants: tuple[Contestant, ...]
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

    `reference_error` is what RPNB made of the very same rows.
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
class Weight:
    """The bytes of a model at the end of a run, and by how much its process grew."""

    stream: str
    peer: str
    learner: str
    model_bytes: int | None
    peak_bytes: int | None


@dataclass(frozen=True, slots=True)
class Failure:
    """A learner that did not run, and why."""

    stream: str
    peer: str
    learner: str
    message: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that was measured."""

    plan: Plan
    runs: tuple[Run, ...]
    weights: tuple[Weight, ...]
    failures: tuple[Failure, ...]


def measure(plan: Plan, say: Callable[[str], object] = lambda message: None) -> Outcome:
    """Run everyone on every stream; `say` takes a line on what is being done."""
    runs: list[Run] = []
    weights: list[Weight] = []
    failures: list[Failure] = []
    with ExitStack() as stack:
        workers = {
            peer: stack.enter_context(_worker(peer, python))
            for peer, python in plan.interpreters.items()
        }
        versions = {peer: w.ask("greet")["version"] for peer, w in workers.items()}
        for stream in plan.streams:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            bout = _Bout(plan, stream, workers, versions, folder, say)
            runs += bout.run()
            weights += bout.weigh() if plan.memory else []
            failures += bout.failures
    return Outcome(plan, tuple(runs), tuple(weights), tuple(failures))


def _worker(peer: str, python: str) -> AbstractContextManager[Worker]:
    return worker(PEERS[peer].label, python, WORKERS / PEERS[peer].worker)


class _Bout:
    """One stream: warming up, the rounds, and the weighing."""

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
        self.rows: dict[Contestant, int] = {}

    def run(self) -> list[Run]:
        """Return the runs of all rounds, those of one round together."""
        for peer, learner in self.plan.contestants:
            self.say(f"{self.stream}: warming up {PEERS[peer].label}, {learner}")
            self._try((peer, learner), self._warm_up)
        found: list[Run] = []
        for number in range(self.plan.rounds):
            self.say(f"{self.stream}: round {number + 1} of {self.plan.rounds}")
            found += self._round(number)
        return found

    def weigh(self) -> list[Weight]:
        """Return what each model weighs, in a new process each."""
        found: list[Weight] = []

        def weigh(contestant: Contestant) -> None:
            peer, learner = contestant
            with _worker(peer, self.plan.interpreters[peer]) as fresh:
                answer = fresh.ask("weigh", **self._request(contestant, 0))
            weight = (answer["bytes"], answer["peak"])
            found.append(Weight(self.stream, peer, learner, *weight))

        self.say(f"{self.stream}: weighing")
        for contestant in list(self.rows):
            self._try(contestant, weigh)
        return found

    def _warm_up(self, contestant: Contestant) -> None:
        """Load and compile; find out how many rows fit into the limit."""
        n, limit = len(self.works[0].X), self.plan.limit
        rows = min(_FIRST_TRY, n)
        self._ask(contestant, 0, rows)
        while True:
            seconds = self._ask(contestant, 0, rows)["seconds"]
            if rows == n or seconds * _MORE > limit:
                break
            rows = min(rows * _MORE, n)
        for _ in range(2):  # what is compiled while it runs was slow the first time
            wanted = max(min(int(rows * limit / seconds), n), 1)
            if abs(wanted - rows) <= _NEAR * rows and not rows < wanted == n:
                break
            rows = wanted
            seconds = self._ask(contestant, 0, rows)["seconds"]
        self.rows[contestant] = rows

    def _round(self, number: int) -> list[Run]:
        work = self.works[number]
        order = list(self.rows)
        order = order[number % len(order) :] + order[: number % len(order)]
        answers = {}

        def one(contestant: Contestant) -> None:
            rows = self.rows[contestant]
            answers[contestant] = self._ask(contestant, number, rows, _AT_LEAST)

        for contestant in order:
            self._try(contestant, one)
        reference: IntArray | None = None
        if REFERENCE in answers:
            reference = answers[REFERENCE]["arrays"]["labels"]
        return [
            Run(
                self.stream,
                contestant[0],
                self.versions[contestant[0]],
                contestant[1],
                number,
                len(work.X),
                self.rows[contestant],
                answer["seconds"],
                answer["wall"],
                _error(answer["arrays"]["labels"], work.y),
                _error_there(reference, work.y, self.rows[contestant]),
            )
            for contestant, answer in answers.items()
        ]

    def _ask(
        self, contestant: Contestant, number: int, rows: int, at_least: float = 0.0
    ) -> dict[str, Any]:
        request = self._request(contestant, number) | {"n": rows}
        return self.workers[contestant[0]].ask("run", at_least=at_least, **request)

    def _request(self, contestant: Contestant, number: int) -> dict[str, object]:
        return {
            "learner": contestant[1],
            "rows": self.files[number],
            "n": self.rows.get(contestant, 0),
            "M": max(work.M for work in self.works),
            "K": self.plan.K,
            "seed": self.plan.seed + number,
        }

    def _try(self, contestant: Contestant, job: Callable[[Contestant], object]) -> None:
        try:
            job(contestant)
        except WorkerError as error:
            self.rows.pop(contestant, None)
            self.failures.append(Failure(self.stream, *contestant, str(error)))


def _error(labels: IntArray, y: IntArray) -> float:
    return float(np.mean(labels != y[: len(labels)]))


def _error_there(labels: IntArray | None, y: IntArray, rows: int) -> float | None:
    if labels is None or len(labels) < rows:
        return None
    return _error(labels[:rows], y)
