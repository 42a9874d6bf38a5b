"""Run `rpnb serve` at full load for a while: memory, errors, and the live page.

Run: python benchmarks/soak_serve.py [--minutes 30] [--clients 32]
     python benchmarks/soak_serve.py --challenger [--minutes 10] [--clients 8]

Clients predict rows, let them wait, send their labels, and observe rows. The memory of
the server is read every few seconds; an event stream of the page is read throughout.
Progress is printed each minute. The final output has requests and errors, memory at the
start, after 5 minutes and at the end, its slope between the last two, and the events of
the page with the longest gap.

With `--challenger` labels come late and some never, the class mix is corrected, the
server is killed every few seconds after it is up again, two challengers are added, one
of them with delays that vary, and one is promoted and taken back. A request without an
answer is repeated with the same key, because a kill may have come between the learning
and the answer; after `--patience` seconds without any answer the client gives up. In
the end each row and label that was acknowledged must be in the log exactly once, each
that a client gave up at most once, and nothing else; the states of all learners must
be those of a replay of the log, to the bit. The run ends when the time has passed and
all steps are done. The seconds from a kill to the next answer are printed, too.
"""

import argparse
import asyncio
import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench_serve import FEATURES, SOURCE, started

CLASSES = ["a", "b", "c", "d"]
BATCH = 20
# A challenger that learns from the scores of its predictions.
FEW: dict[str, Any] = {
    "members": ["binned_bayes", "neighbours"],
    "delays": "varying",
    "random_state": 0,
}


@dataclass
class Soak:
    """What was seen."""

    requests: int = 0
    rows: int = 0
    errors: list[str] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)
    """seconds since the start, and MB"""
    events: int = 0
    longest_gap: float = 0.0


async def work(client: Any, number: int, until: float, soak: Soak) -> None:
    """Predict, label and observe."""
    rng = np.random.default_rng(number)
    while time.monotonic() < until:
        y = rng.integers(0, len(CLASSES), BATCH)
        X = rng.normal(y[:, None], 1.0, (BATCH, FEATURES))
        labels = [CLASSES[each] for each in y]
        try:
            if number % 4 == 0:
                await client.observe("soak", X, labels)
                soak.requests += 1
            else:
                found = await client.predict("soak", X, remember=True)
                # One in ten never gets its label.
                result = await client.label("soak", found.ids[2:], labels[2:])
                if result.learned != BATCH - 2:
                    soak.errors.append(f"{result.learned} of {BATCH - 2} learned")
                soak.requests += 2
            soak.rows += BATCH
        except Exception as error:
            soak.errors.append(f"{type(error).__name__}: {error}")


async def watch(address: str, until: float, soak: Soak) -> None:
    """Read the page's stream."""
    import httpx

    last = time.monotonic()
    async with (
        httpx.AsyncClient(timeout=30) as http,
        http.stream("GET", f"{address}/v1/models/soak/live") as answer,
    ):
        async for line in answer.aiter_lines():
            now = time.monotonic()
            if line:
                soak.events += 1
                soak.longest_gap = max(soak.longest_gap, now - last)
                last = now
            if now >= until:
                return


async def measure(pid: int, until: float, soak: Soak) -> None:
    """Read the server's resident memory."""
    start = time.monotonic()
    while time.monotonic() < until:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        line = next(each for each in status.splitlines() if each.startswith("VmRSS"))
        now, before = time.monotonic() - start, soak.memory[-1:]
        soak.memory.append((now, int(line.split()[1]) / 1024))
        if before and now // 60 > before[0][0] // 60:
            print(
                f"{now / 60:.0f} min: {soak.requests} requests, {len(soak.errors)} "
                f"errors, {soak.memory[-1][1]:.0f} MB, {soak.events} events",
                flush=True,
            )
        await asyncio.sleep(2.0)


async def run(address: str, pid: int, seconds: float, clients: int) -> Soak:
    """Put load on a server."""
    from rpnb.client import AsyncClient

    soak = Soak()
    async with AsyncClient(address, connections=clients, retries=0) as client:
        await client.create(
            "soak", "RPNB", features=FEATURES, classes=CLASSES, random_state=0
        )
        until = time.monotonic() + seconds
        await asyncio.gather(
            watch(address, until, soak),
            measure(pid, until, soak),
            *(work(client, i, until, soak) for i in range(clients)),
        )
    return soak


# With a challenger


@dataclass
class Sent:
    """What clients have sent of one kind: rows by their bytes, or labels by row."""

    acknowledged: dict[Any, Any] = field(default_factory=dict)
    given_up: dict[Any, Any] = field(default_factory=dict)
    """sent without an answer: it may be in the log, once"""

    def problems(self, what: str, found: list[tuple[Any, Any]]) -> list[str]:
        """Compare with what the log has, a list of pairs."""
        log, counts = dict(found), Counter(key for key, _ in found)
        known = self.given_up | self.acknowledged
        cases = {
            "acknowledged, and not in the log": self.acknowledged.keys() - log.keys(),
            "in the log more than once": {k for k, n in counts.items() if n > 1},
            "in the log, and never sent": log.keys() - known.keys(),
            "in the log with another value": {
                key for key in log.keys() & known.keys() if log[key] != known[key]
            },
        }
        return [f"{what} {case}: {len(keys)}" for case, keys in cases.items() if keys]


@dataclass
class Life:
    """Requests of clients, and actions on the server."""

    patience: float = 120.0
    """seconds without an answer after which a client gives up a request"""
    predicted: Sent = field(default_factory=Sent)
    """bytes of rows that wait, by their ids"""
    labelled: Sent = field(default_factory=Sent)
    """labels, by the ids of their rows"""
    observed: Sent = field(default_factory=Sent)
    """labels of observed rows, by the bytes of the row"""
    never: int = 0
    repeated: int = 0
    """requests repeated with their key"""
    gave_up: int = 0
    """requests that were given up"""
    recovered: list[float] = field(default_factory=list)
    """seconds from each kill to the next answer"""
    steps: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    ended: bool = False


class Killable:
    """A server on one port, which is killed and restarted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        code = "import sys; from rpnb.cli import main; sys.exit(main())"
        words = ["serve", str(self._folder), "--port", str(self.port)]
        return subprocess.Popen(  # noqa: S603 - a command of our own
            [sys.executable, "-c", code, *words, "--snapshot-rows", "2000"],
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"},
        )

    def kill(self) -> None:
        """End it like a power cut, and restart it."""
        self._process.kill()
        self._process.wait()
        self._process = self._start()

    def stop(self) -> None:
        """Ask it to stop."""
        self._process.terminate()
        self._process.wait()


class GaveUp(Exception):
    """No answer came within a client's patience."""


async def acknowledged(call: Callable[[], Any], life: Life) -> Any:
    """Make a request until an answer comes, each time with the same key."""
    from rpnb.client import ServeError
    from rpnb.client.retries import RETRIED

    until = time.monotonic() + life.patience
    while True:
        try:
            return await call()
        except ServeError as error:
            if error.status not in (0, *RETRIED):
                raise
            if time.monotonic() > until:
                life.gave_up += 1
                raise GaveUp(str(error)) from error
            life.repeated += 1


async def send(
    call: Callable[[], Any], sent: Sent, content: dict[Any, Any], life: Life
) -> Any:
    """Make a request, and note its content as acknowledged or given up."""
    try:
        answer = await acknowledged(call, life)
    except BaseException:
        sent.given_up |= content
        raise
    sent.acknowledged |= content
    return answer


async def live(client: Any, number: int, life: Life) -> None:
    """Predict rows, label them later or never, in any order; observe others."""
    rng = np.random.default_rng(number)
    waiting: list[tuple[float, str, str]] = []
    turn = 0
    while not life.ended or waiting:
        turn += 1
        try:
            if not life.ended:
                waiting += await one_batch(client, f"{number}-{turn}", rng, life)
            now = time.monotonic()
            due = [each for each in waiting if each[0] <= now or life.ended]
            waiting = [each for each in waiting if each not in due]
            if due:
                await send_labels(client, f"labels-{number}-{turn}", due, life)
        except GaveUp:
            pass  # counted, and compared with the log at the end
        except Exception as error:
            life.errors.append(f"{type(error).__name__}: {error}")
        await asyncio.sleep(0.02)


async def one_batch(
    client: Any, key: str, rng: np.random.Generator, life: Life
) -> list[tuple[float, str, str]]:
    """Observe rows, or predict some; return time, id and label of those that wait."""
    y = rng.integers(0, len(CLASSES), BATCH)
    X = rng.normal(0.4 * y[:, None], 1.0, (BATCH, FEATURES))
    labels = [CLASSES[each] for each in y]
    rows = [x.tobytes() for x in X]
    if int(key.split("-")[0]) % 4 == 0:
        content = dict(zip(rows, labels, strict=True))
        await send(
            lambda: client.observe("soak", X, labels, key=key),
            *(life.observed, content, life),
        )
        return []
    ids = [f"{key}-{i}" for i in range(BATCH)]
    # The same rows with the same ids are the same request, whatever its key.
    await send(
        lambda: client.predict("soak", X, remember=True, ids=ids),
        *(life.predicted, dict(zip(ids, rows, strict=True)), life),
    )
    late = time.monotonic() + rng.exponential(3.0, BATCH)
    kept = rng.random(BATCH) > 0.1
    life.never += int((~kept).sum())
    waits = zip(late.tolist(), ids, labels, strict=True)
    return [each for each, keep in zip(waits, kept, strict=True) if keep]


async def send_labels(
    client: Any, key: str, due: list[tuple[float, str, str]], life: Life
) -> None:
    """Send labels of rows whose predictions were acknowledged."""
    _, names, given = map(list, zip(*due, strict=True))
    result = await send(
        lambda: client.label("soak", names, given, key=key),
        *(life.labelled, dict(zip(names, given, strict=True)), life),
    )
    if result.learned != len(due):
        life.errors.append(f"labels: {result.results}")


async def killed(server: Killable, life: Life) -> None:
    """Kill the server, and wait until the next one answers."""
    from rpnb.client import AsyncClient, ServeError

    before = time.monotonic()
    await asyncio.to_thread(server.kill)
    async with AsyncClient(server.address, retries=0, timeout=10) as client:
        while True:
            try:
                await client.health()
            except ServeError as error:
                if time.monotonic() - before > life.patience:
                    raise GaveUp(f"the server did not start: {error}") from error
                await asyncio.sleep(0.05)
            else:
                break
    life.recovered.append(time.monotonic() - before)


async def disturb(client: Any, server: Killable, seconds: float, life: Life) -> None:
    """Kill the server now and then; add, promote and take back a challenger."""
    start = time.monotonic()
    until = start + seconds
    steps: list[tuple[float, str, Callable[[], Any]]] = [
        (0.1, "challenge", lambda: client.challenge("soak", "nb", "GaussianNB")),
        (0.2, "challenge by delays", lambda: client.challenge("soak", "few", **FEW)),
        (0.3, "version", lambda: client.name_version("soak", "third")),
        (0.5, "promote", lambda: client.promote("soak", "nb")),
        (0.75, "roll back", lambda: client.roll_back("soak")),
        (0.9, "promote again", lambda: client.promote("soak", "nb")),
    ]
    rng = np.random.default_rng(99)
    next_kill = start + 5.0
    while steps or time.monotonic() < until:
        share = (time.monotonic() - start) / seconds
        if steps and share >= steps[0][0]:
            _, name, step = steps.pop(0)
            try:
                # A kill may interrupt it: it is repeated, and takes effect once.
                task = asyncio.create_task(step())
                await asyncio.sleep(0.05 * rng.random())
                await killed(server, life)
                await task
                life.steps.append(name)
            except Exception as error:
                life.errors.append(f"{name}: {type(error).__name__}: {error}")
        if time.monotonic() >= next_kill:
            await killed(server, life)
            next_kill = time.monotonic() + 4.0 + 8.0 * rng.random()
        await asyncio.sleep(0.1)


async def live_with_challenger(
    server: Killable, seconds: float, clients: int, patience: float
) -> Life:
    """Put load on a server that is killed, and change its learners."""
    from rpnb.client import AsyncClient

    life = Life(patience)
    async with (
        AsyncClient(server.address, retries=40, timeout=120) as client,
        # It fails before a killed server is back, so that requests are repeated.
        AsyncClient(server.address, retries=4, timeout=120) as impatient,
    ):
        await client.create(
            "soak",
            "RPNB",
            features=FEATURES,
            classes=CLASSES,
            correct_class_mix=True,
            n_estimators=20,
            random_state=0,
        )
        tasks = [asyncio.create_task(live(impatient, i, life)) for i in range(clients)]
        try:
            await disturb(client, server, seconds, life)
        finally:
            life.ended = True
            await asyncio.gather(*tasks)
        wait = time.monotonic() + 120.0
        while time.monotonic() < wait:
            found = await client.challengers("soak")
            if all(each["caught_up"] for each in found["challengers"]):
                break
            await asyncio.sleep(0.2)
        else:
            life.errors.append("challengers did not catch up")
        champion = found["champion"]
        print(f"champion {champion['name']}: error {champion['error']:.4f}")
        for each in found["challengers"]:
            told = each["difference"]
            figures = (
                "nothing compared"
                if told["mean"] is None
                else (
                    f"{told['mean']:+.4f} ({told['low']:+.4f} to {told['high']:+.4f})"
                )
            )
            print(f"challenger {each['name']}: error {each['error']:.4f}, {figures}")
    return life


def verify(folder: Path, life: Life) -> list[str]:
    """Return problems: lost labels, duplicates, states that differ from a replay."""
    from rpnb.serve.log import unpack_rows
    from rpnb.serve.maintenance import check

    problems = [line for sound, line in check(folder) if not sound]
    labelled: list[tuple[int, Any]] = []
    observed: list[tuple[bytes, Any]] = []
    with closing(sqlite3.connect(folder / "log.sqlite")) as log:
        for kind, body in log.execute("SELECT kind, body FROM events WHERE n>0"):
            if kind == "labels":
                content = json.loads(body)
                labelled += zip(content["rows"], content["labels"], strict=True)
            else:
                X, labels = unpack_rows(body)
                observed += zip((x.tobytes() for x in X), labels, strict=True)
        rows = log.execute("SELECT seq, id, x FROM rows").fetchall()
    names = {seq: name for seq, name, _ in rows}
    problems += life.predicted.problems(
        "predicted rows", [(name, x) for _, name, x in rows]
    )
    problems += life.labelled.problems(
        "labels", [(names.get(seq), label) for seq, label in labelled]
    )
    return problems + life.observed.problems("observed rows", observed)


def soak_with_challenger(seconds: float, clients: int, patience: float) -> int:
    """Run with a challenger; print the outcome."""
    started_at = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        server = Killable(Path(folder))
        try:
            life = asyncio.run(live_with_challenger(server, seconds, clients, patience))
        finally:
            server.stop()
        problems = verify(Path(folder), life) + life.errors
    up = life.recovered
    print(
        f"{(time.monotonic() - started_at) / 60.0:.1f} minutes, {clients} clients, "
        f"{len(up)} kills; {np.median(up):.1f} s from a kill to the next answer, at "
        f"most {max(up):.1f} s"
    )
    print(f"steps: {', '.join(life.steps)}")
    print(
        f"acknowledged: {len(life.labelled.acknowledged)} labels, "
        f"{len(life.observed.acknowledged)} observed rows; never labelled: "
        f"{life.never} rows"
    )
    lost = [len(each.given_up) for each in (life.labelled, life.observed)]
    print(
        f"requests repeated: {life.repeated}, given up after {patience:g} s: "
        f"{life.gave_up} ({lost[0]} labels, {lost[1]} observed rows)"
    )
    print(f"lost, learned twice, or different from a replay: {len(problems)}")
    for each in problems[:10]:
        print(each)
    return 1 if problems else 0


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--challenger", action="store_true")
    parser.add_argument(
        "--patience",
        type=float,
        default=120.0,
        help="seconds after which a client gives up a request, with --challenger",
    )
    arguments = parser.parse_args()
    seconds = 60.0 * arguments.minutes
    if arguments.challenger:
        return soak_with_challenger(seconds, arguments.clients, arguments.patience)
    with tempfile.TemporaryDirectory() as folder, started(Path(folder)) as server:
        soak = asyncio.run(run(server.address, server.pid, seconds, arguments.clients))
    at, memory = np.array(soak.memory).T
    settled = at >= min(300.0, 0.2 * at[-1])  # caches fill before
    slope = np.polyfit(at[settled] / 60.0, memory[settled], 1)[0]
    print(f"{arguments.minutes:g} minutes, {arguments.clients} clients")
    print(f"requests: {soak.requests}, rows: {soak.rows}, errors: {len(soak.errors)}")
    print(
        f"memory in MB: {memory[0]:.0f} at the start, {memory[settled][0]:.0f} after "
        f"{at[settled][0] / 60.0:.1f} min, {memory[-1]:.0f} at the end, from then on "
        f"{slope:+.2f} per minute"
    )
    print(f"events of the page: {soak.events}, longest gap {soak.longest_gap:.1f} s")
    for error in soak.errors[:5]:
        print(error)
    return 1 if soak.errors else 0


if __name__ == "__main__":
    sys.exit(main())
