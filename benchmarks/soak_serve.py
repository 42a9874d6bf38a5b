"""Run `rpnb serve` at full load for a while: memory, errors, and the live page.

Run: python benchmarks/soak_serve.py [--minutes 30] [--clients 32]

Clients predict rows, let them wait, send their labels, and let rows be observed. The
server's memory is read every few seconds; a stream of the page is read throughout.
Progress is printed each minute. In the end: requests and errors, memory at the start,
after 5 minutes and at the end, its slope from then on, and the events of the page with
the longest time without one.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench_serve import FEATURES, started

CLASSES = ["a", "b", "c", "d"]
BATCH = 20


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
                if result.learnt != BATCH - 2:
                    soak.errors.append(f"{result.learnt} of {BATCH - 2} learnt")
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


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--clients", type=int, default=32)
    arguments = parser.parse_args()
    seconds = 60.0 * arguments.minutes
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
