"""Kill `rpnb serve` at random moments under load, and count lost labels.

Run: python benchmarks/kill_serve.py [KILLS] [--clients 32] [--minutes M] [--seed 0]
     [--folder DIR]

Clients repeatedly predict and remember rows and send their labels, or observe rows;
each request is repeated until it is answered. Meanwhile the server gets SIGKILL at
random moments and is restarted. At the end, every acknowledged label must be in the log
once, and the state of the server must equal that of a replay of the log, to the bit.
Servers are forked from a process that has already imported the package, so that most of
the time is spent under load.

With `--folder`, all acknowledgements are kept there line by line, and the same command
resumes a run that was ended from outside: kills and labels of all runs count. Requests
in progress when a run ended may be in the log or not.
"""

import argparse
import asyncio
import json
import math
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeVar

Answer = TypeVar("Answer")
SOURCE = Path(__file__).resolve().parents[1] / "src"
MODEL = "m"
FEATURES = 4
ROWS_OBSERVED = 3
#: One in this many clients observes rows.
OBSERVERS = 8
#: Largest number of answers between a start and the next kill.
ANSWERS = 40


# The process that servers are forked from


def fork_servers() -> None:
    """Fork a server for each line "FOLDER PORT" of the standard input."""
    from rpnb.serve.server import Options, run
    from rpnb.serve.specs import ModelSpec, new_learner
    from rpnb.serve.upkeep import Schedule

    # Once, here, and not in every server: it imports the learner.
    new_learner(ModelSpec("GaussianNB", {}, FEATURES, None, None))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        folder, port = line.rsplit(" ", 1)
        pid = os.fork()
        if pid == 0:
            options = Options(
                Path(folder), port=int(port), schedule=Schedule(snapshot_rows=500)
            )
            os._exit(run(options))
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


class Servers:
    """Consecutive servers in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self._log = (folder / "stderr.txt").open("a")
        self._pid_file = folder / "server.pid"
        self._end_earlier()
        self._parent = subprocess.Popen(  # noqa: S603 - a command of our own
            [sys.executable, __file__, "--fork"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
        )
        self.pid = 0

    def _end_earlier(self) -> None:
        """End the server that is left from a run ended from outside."""
        if not self._pid_file.exists():
            return
        self.pid = int(self._pid_file.read_text())
        command = Path(f"/proc/{self.pid}/cmdline")
        if command.exists() and b"kill_serve" in command.read_bytes():
            self.kill()

    def start(self) -> None:
        """Start a server and wait until it listens."""
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.write(f"{self.folder} {self.port}\n")
        self._parent.stdin.flush()
        self.pid = int(self._parent.stdout.readline())
        self._pid_file.write_text(str(self.pid))
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 0.2).close()
            except OSError:
                os.kill(self.pid, 0)  # or it did not start
                time.sleep(0.005)
            else:
                return

    def kill(self) -> None:
        """End the server like a power cut, and wait until it is gone."""
        os.kill(self.pid, signal.SIGKILL)
        while True:
            try:
                os.kill(self.pid, 0)
                time.sleep(0.002)
            except ProcessLookupError:
                return

    def close(self) -> None:
        """End the process that servers are forked from."""
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.close()
        self._parent.wait()
        self._parent.stdout.close()
        self._log.close()


# Clients


@dataclass
class Outcome:
    """Acknowledgements to clients, compared with the log."""

    kills: int = 0
    acknowledged: dict[str, str] = field(default_factory=dict)
    """labels that the service acknowledged, by id"""
    observed: int = 0
    """rows whose observation was acknowledged"""
    cut_off: int = 0
    """requests that got no answer and were repeated"""
    wrong_answers: list[str] = field(default_factory=list)
    lost: int = 0
    twice: int = 0
    wrong_label: int = 0
    missing_observations: int = 0
    states_compared: int = 0
    states_different: int = 0
    stopping: bool = False
    """whether clients finish their last request, and end"""
    runs: int = 1
    """of which all but the last were ended from outside"""
    unknown: int = 0
    """rows that may have been observed when a run was ended from outside"""
    record: IO[str] | None = None
    """file of the acknowledgements"""

    def note(self, *words: object) -> None:
        """Record an acknowledgement, or that a server was killed."""
        if self.record is not None:
            self.record.write(" ".join(map(str, words)) + "\n")
            self.record.flush()

    def resume(self, path: Path, clients: int) -> None:
        """Read the acknowledgements of earlier runs, and append to them."""
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        for line in lines:
            what, *words = line.split()
            if what == "label":
                self.acknowledged[words[0]] = words[1]
            elif what == "observed":
                self.observed += ROWS_OBSERVED
            elif what == "kill":
                self.kills += 1
            elif what == "compared":
                self.states_compared += 1
                self.states_different += words[0] == "different"
            elif what == "wrong":
                self.wrong_answers.append(" ".join(words))
            else:
                self.runs += 1
                self.unknown += ROWS_OBSERVED * -(-clients // OBSERVERS)
        self.record = path.open("a")
        self.note("run")

    @property
    def sound(self) -> bool:
        """Whether nothing was lost, learned twice, or different."""
        return not (
            self.wrong_answers
            or self.lost
            or self.twice
            or self.wrong_label
            or self.missing_observations
            or self.states_different
        )

    def lines(self) -> list[str]:
        """Return the counts in words."""
        return [
            f"kills -9:                          {self.kills}",
            f"runs:                              {self.runs}",
            f"labels acknowledged:               {len(self.acknowledged)}",
            f"rows observed, acknowledged:       {self.observed}",
            f"requests cut off and repeated:     {self.cut_off}",
            f"acknowledged labels lost:          {self.lost}",
            f"labels learned twice:               {self.twice}",
            f"labels learned otherwise:           {self.wrong_label}",
            f"observations lost or double:       {self.missing_observations}",
            f"wrong answers:                     {len(self.wrong_answers)}",
            f"states compared with the replay:   {self.states_compared}",
            f"of them different:                 {self.states_different}",
        ]


async def until_answered(
    call: Callable[[], Awaitable[Answer]], outcome: Outcome
) -> tuple[Answer, bool]:
    """Repeat a request until it is answered; return whether it was repeated."""
    from rpnb.client import ServeError

    repeated = False
    while True:
        try:
            return await call(), repeated
        except ServeError as error:
            if error.status not in (0, 503):
                raise
            repeated = True
            outcome.cut_off += 1
            await asyncio.sleep(0.01)


async def label_rows(client: Any, number: int, outcome: Outcome) -> None:
    """Repeatedly predict a row, remember it, and label it."""
    rng = random.Random(number)  # noqa: S311 - not for secrets
    n = 0
    while not outcome.stopping:
        name, n = f"{outcome.runs}-{number}-{n}", n + 1
        label = rng.choice(["a", "b", "c"])
        centre = "abc".index(label)
        x = [[rng.gauss(centre, 1.0) for _ in range(FEATURES)]]

        def predict(x: Any = x, name: str = name) -> Any:
            return client.predict(MODEL, x, remember=True, ids=[name])

        # Every other client has keys; the others may be told of a duplicate.
        key = name if number % 2 else None

        def send(name: str = name, label: str = label, key: str | None = key) -> Any:
            return client.label(MODEL, [name], [label], key=key)

        await until_answered(predict, outcome)
        answer, repeated = await until_answered(send, outcome)
        if answer.results == ["learned"] or (
            answer.results == ["duplicate"] and repeated and key is None
        ):
            outcome.acknowledged[name] = label
            outcome.note("label", name, label)
        else:
            outcome.wrong_answers.append(f"{name}: {answer.results}")
            outcome.note("wrong", outcome.wrong_answers[-1])


async def observe_rows(client: Any, number: int, outcome: Outcome) -> None:
    """Observe rows, and repeat with the same key: the answer must be the same."""
    rng = random.Random(number)  # noqa: S311 - not for secrets
    n = 0
    while not outcome.stopping:
        n += 1
        labels = [rng.choice(["a", "b", "c"]) for _ in range(ROWS_OBSERVED)]
        key = f"observe-{outcome.runs}-{number}-{n}"
        rows = [["abc".index(y) + rng.gauss(0, 1)] * FEATURES for y in labels]

        def send(rows: Any = rows, labels: Any = labels, key: str = key) -> Any:
            return client.observe(MODEL, rows, labels, key=key)

        first, _ = await until_answered(send, outcome)
        outcome.observed += ROWS_OBSERVED
        outcome.note("observed", key)
        again, _ = await until_answered(send, outcome)
        if first != again:
            outcome.wrong_answers.append(key)
            outcome.note("wrong", key)


async def _random_moment(rng: random.Random, outcome: Outcome) -> None:
    """Wait for a random number of answers, and then a random time."""

    def answers() -> int:
        return len(outcome.acknowledged) + outcome.observed // ROWS_OBSERVED

    wanted = answers() + rng.randint(0, ANSWERS)
    latest = time.monotonic() + 10.0
    while answers() < wanted and time.monotonic() < latest:
        await asyncio.sleep(0.002)
    await asyncio.sleep(rng.uniform(0.0, 0.02))


async def run_clients(
    servers: Servers, kills: int, clients: int, seconds: float, seed: int
) -> Outcome:
    """Kill servers under load, for at most some seconds."""
    from rpnb.client import AsyncClient, ServeError

    outcome = Outcome()
    outcome.resume(servers.folder / "told.txt", clients)
    # Other moments in each run, the same ones for the same seed.
    rng = random.Random(seed + 1_000_003 * (outcome.runs - 1))  # noqa: S311 - not for secrets
    started = time.monotonic()
    if outcome.runs > 1:
        print(f"run {outcome.runs}, after {outcome.kills} kills", flush=True)
    servers.start()
    async with AsyncClient(
        servers.address, retries=0, timeout=30, connections=clients
    ) as client:
        try:
            await client.create(MODEL, "GaussianNB", features=FEATURES)
        except ServeError as error:
            if error.code != "name_taken":
                raise
        tasks = [
            asyncio.create_task(
                (observe_rows if i % OBSERVERS == 0 else label_rows)(client, i, outcome)
            )
            for i in range(clients)
        ]
        until = time.monotonic() + seconds
        while outcome.kills < kills and time.monotonic() < until:
            await _random_moment(rng, outcome)
            await asyncio.to_thread(servers.kill)
            outcome.kills += 1
            outcome.note("kill")
            if outcome.kills % 25 == 0:
                await asyncio.to_thread(_compare_states, servers.folder, outcome)
                print(
                    f"{outcome.kills} kills after {time.monotonic() - started:.0f} s, "
                    f"{len(outcome.acknowledged)} labels acknowledged, "
                    f"{outcome.states_different} of {outcome.states_compared} states "
                    "different",
                    flush=True,
                )
            await asyncio.to_thread(servers.start)
            for task in tasks:
                if task.done():
                    task.result()
        outcome.stopping = True
        await asyncio.gather(*tasks)
    async with AsyncClient(servers.address, retries=6) as client:
        state = await client.download(MODEL)
    servers.kill()
    _compare_states(servers.folder, outcome, state)
    if outcome.record is not None:
        outcome.record.close()
    _read_log(servers.folder, outcome)
    return outcome


# What the log says


def _compare_states(folder: Path, outcome: Outcome, state: bytes | None = None) -> None:
    """Compare the state of a start, or of a server, with a replay of the whole log."""
    from rpnb.serve.log import open_log
    from rpnb.serve.model_rows import stored_models
    from rpnb.serve.restoring import replay_from_base, restore, same_state

    connection = open_log(folder, read_only=True)
    try:
        row = stored_models(connection)[0]
        *_, (_, model) = replay_from_base(connection, row)
        replayed = model.to_bytes()
        if state is None:
            state = restore(connection, row).model.to_bytes()
    finally:
        connection.close()
    if replayed is None or state is None:
        different = replayed is not state
    else:
        different = not same_state(state, replayed)
    outcome.states_compared += 1
    outcome.states_different += different
    outcome.note("compared", "different" if different else "equal")


def _read_log(folder: Path, outcome: Outcome) -> None:
    """Count, in the log itself, the labels that were acknowledged."""
    from rpnb.serve.log import open_log, unpack_rows

    connection = open_log(folder, read_only=True)
    try:
        learned: Counter[int] = Counter()
        labels: dict[int, str] = {}
        observed = 0
        for kind, body in connection.execute("SELECT kind, body FROM events"):
            if kind == "labels":
                content = json.loads(body)
                learned.update(content["rows"])
                labels.update(zip(content["rows"], content["labels"], strict=True))
            else:
                observed += len(unpack_rows(body)[1])
        numbers = dict(connection.execute("SELECT id, seq FROM rows"))
    finally:
        connection.close()
    for name, label in outcome.acknowledged.items():
        number = numbers.get(name, -1)
        outcome.lost += learned[number] == 0
        outcome.wrong_label += learned[number] > 0 and labels[number] != label
    outcome.twice += sum(count > 1 for count in learned.values())
    beyond = observed - outcome.observed - outcome.unknown
    outcome.missing_observations += max(outcome.observed - observed, beyond, 0)


def kill(
    kills: int, clients: int, folder: Path, *, seconds: float = math.inf, seed: int = 0
) -> Outcome:
    """Kill servers in a folder under load, and return the outcome."""
    servers = Servers(folder)
    try:
        return asyncio.run(run_clients(servers, kills, clients, seconds, seed))
    finally:
        servers.close()


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", type=int, nargs="?", default=20)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="end earlier, after this time"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--folder", type=Path, help="kept, to resume a run")
    parser.add_argument("--fork", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.fork:
        fork_servers()
        return 0
    started = time.monotonic()
    with ExitStack() as stack:
        folder = arguments.folder
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        seconds = 60.0 * arguments.minutes
        outcome = kill(
            arguments.kills,
            arguments.clients,
            folder,
            seconds=seconds,
            seed=arguments.seed,
        )
    print(f"seed of the moments:               {arguments.seed}")
    print("\n".join([*outcome.lines(), *outcome.wrong_answers[:5]]))
    print(f"seconds: {time.monotonic() - started:.0f}")
    return 0 if outcome.sound else 1


if __name__ == "__main__":
    sys.exit(main())
