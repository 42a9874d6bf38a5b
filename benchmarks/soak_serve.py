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
answer is repeated with the same key until it is acknowledged, because a kill may have
come between the learning and the answer. In the end the labels and observed rows in
the log must be those acknowledged, each once, and the states of all learners must be
those of a replay of the log, to the bit.
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
from collections.abc import Callable
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
class Life:
    """Acknowledgements to clients, and actions on the server."""

    told: set[str] = field(default_factory=set)
    """ids of rows whose labels were acknowledged"""
    observed: int = 0
    """rows that were observed, and acknowledged"""
    never: int = 0
    kills: int = 0
    repeated: int = 0
    """requests repeated with their key after a client gave up"""
    steps: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


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


async def acknowledged(call: Callable[[], Any], life: Life) -> Any:
    """Make a request until an answer comes, each time with the same key."""
    from rpnb.client import ServeError
    from rpnb.client.retries import RETRIED

    while True:
        try:
            return await call()
        except ServeError as error:
            if error.status not in (0, *RETRIED):
                raise
            life.repeated += 1


async def live(client: Any, number: int, until: float, life: Life) -> None:
    """Predict rows, label them later or never, in any order; observe others."""
    rng = np.random.default_rng(number)
    waiting: list[tuple[float, str, str]] = []
    turn = 0
    while time.monotonic() < until or waiting:
        turn += 1
        try:
            if time.monotonic() < until:
                waiting += await one_batch(client, f"{number}-{turn}", rng, life)
            now = time.monotonic()
            due = [each for each in waiting if each[0] <= now or now >= until]
            waiting = [each for each in waiting if each not in due]
            if due:
                await send_labels(client, f"labels-{number}-{turn}", due, life)
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
    if int(key.split("-")[0]) % 4 == 0:
        await acknowledged(lambda: client.observe("soak", X, labels, key=key), life)
        life.observed += BATCH
        return []
    ids = [f"{key}-{i}" for i in range(BATCH)]
    # The same rows with the same ids are the same request, whatever its key.
    await acknowledged(lambda: client.predict("soak", X, remember=True, ids=ids), life)
    late = time.monotonic() + rng.exponential(3.0, BATCH)
    kept = rng.random(BATCH) > 0.1
    life.never += int((~kept).sum())
    rows = zip(late.tolist(), ids, labels, strict=True)
    return [each for each, keep in zip(rows, kept, strict=True) if keep]


async def send_labels(
    client: Any, key: str, due: list[tuple[float, str, str]], life: Life
) -> None:
    """Send labels, and note that they were acknowledged."""
    _, names, given = map(list, zip(*due, strict=True))
    result = await acknowledged(
        lambda: client.label("soak", names, given, key=key), life
    )
    if result.learned != len(due):
        life.errors.append(f"labels: {result.results}")
    life.told.update(names)


async def killed(client: Any, server: Killable, life: Life) -> None:
    """Kill the server, and wait until the next one answers."""
    await asyncio.to_thread(server.kill)
    life.kills += 1
    await acknowledged(client.health, life)


async def disturb(
    client: Any, server: Killable, seconds: float, until: float, life: Life
) -> None:
    """Kill the server now and then; add, promote and take back a challenger."""
    start = until - seconds
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
    while time.monotonic() < until:
        share = (time.monotonic() - start) / seconds
        if steps and share >= steps[0][0]:
            _, name, step = steps.pop(0)
            try:
                # A kill may interrupt it: it is repeated, and takes effect once.
                task = asyncio.create_task(step())
                await asyncio.sleep(0.05 * rng.random())
                await killed(client, server, life)
                await task
                life.steps.append(name)
            except Exception as error:
                life.errors.append(f"{name}: {type(error).__name__}: {error}")
        if time.monotonic() >= next_kill:
            await killed(client, server, life)
            next_kill = time.monotonic() + 4.0 + 8.0 * rng.random()
        await asyncio.sleep(0.1)
    life.errors += [f"no time was left for: {name}" for _, name, _ in steps]


async def live_with_challenger(server: Killable, seconds: float, clients: int) -> Life:
    """Put load on a server that is killed, and change its learners."""
    from rpnb.client import AsyncClient

    life = Life()
    async with (
        AsyncClient(server.address, retries=40, timeout=120) as client,
        # It gives up before a killed server is back, so that requests are repeated.
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
        until = time.monotonic() + seconds
        await asyncio.gather(
            disturb(client, server, seconds, until, life),
            *(live(impatient, i, until, life) for i in range(clients)),
        )
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
    from rpnb.serve.maintenance import check

    problems = [line for sound, line in check(folder) if not sound]
    log = sqlite3.connect(folder / "log.sqlite")
    labelled: list[int] = []
    learned = 0
    for kind, n, body in log.execute("SELECT kind, n, body FROM events WHERE n>0"):
        if kind == "labels":
            labelled += json.loads(body)["rows"]
        else:
            learned += n
    if len(set(labelled)) < len(labelled):
        problems.append("a row was labelled twice")
    names = dict(log.execute("SELECT seq, id FROM rows WHERE event IS NOT NULL"))
    found = {names[seq] for seq in labelled}
    if life.told - found:
        problems.append(f"{len(life.told - found)} acknowledged labels are lost")
    if found - life.told:
        problems.append(f"{len(found - life.told)} labels were never acknowledged")
    if learned != life.observed:
        problems.append(f"{learned} rows were observed, {life.observed} acknowledged")
    log.close()
    return problems


def soak_with_challenger(seconds: float, clients: int) -> int:
    """Run with a challenger; print the outcome."""
    with tempfile.TemporaryDirectory() as folder:
        server = Killable(Path(folder))
        try:
            life = asyncio.run(live_with_challenger(server, seconds, clients))
        finally:
            server.stop()
        problems = verify(Path(folder), life) + life.errors
    print(
        f"{seconds / 60.0:g} minutes, {clients} clients, {life.kills} kills, "
        f"{life.repeated} requests repeated after a client gave up"
    )
    print(f"steps: {', '.join(life.steps)}")
    print(
        f"labels acknowledged: {len(life.told)}, rows observed: {life.observed}, "
        f"rows never labelled: {life.never}"
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
    arguments = parser.parse_args()
    seconds = 60.0 * arguments.minutes
    if arguments.challenger:
        return soak_with_challenger(seconds, arguments.clients)
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
