"""Labels and predictions per second of `rpnb serve`, compared with a bare service.

Run: python benchmarks/bench_serve.py [--seconds 2] [--rounds 5] [--data DIR]

It prints labels/s and predictions/s at 1, 32 and 256 connections, with the median and
the 99th percentile of the response time, compared with a bare application (Starlette,
uvicorn, the same checks before each request, the same log and group commit) that only
parses one row and commits it: what the framework and the disk allow. The service
dispatches requests to their endpoints without Starlette's router, so the bare endpoint
is measured twice: as a route of Starlette, and dispatched in the same way. All run at
the same time and are measured in turn; ratios are medians over the rounds, by rate and
by processor time of the server. Then comes bulk: observing Letter as Arrow tables,
compared with `predict_then_learn` of the library on the same arrays in this process.
Except in bulk, requests have one row; all clients are one process with its own HTTP
client on the same machine, so the two share its processors.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

SOURCE = Path(__file__).resolve().parents[1] / "src"
CONNECTIONS = (1, 32, 256)
FEATURES, CLASSES = 16, 26
LOADS = (
    "parse and commit a row",
    "the same, dispatched",
    "labels, acknowledged",
    "predictions that wait",
    "predictions",
)


# The bare application


def serve_bare(folder: Path) -> None:
    """Run the same application with an endpoint that parses a row and commits it."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route as FrameworkRoute

    from rpnb.serve import server
    from rpnb.serve.app import make_app
    from rpnb.serve.commands import Command, Group
    from rpnb.serve.http.formats import TABLES, read_table
    from rpnb.serve.http.json_text import dump_json
    from rpnb.serve.http.request_tables import RequestColumns
    from rpnb.serve.http.routes import OPEN, Route, needs
    from rpnb.serve.limits import Limits
    from rpnb.serve.log import pack_row

    @dataclass(slots=True, kw_only=True)
    class Store(Command):
        """A row to commit."""

        x: bytes

        @property
        def digest(self) -> bytes:
            return b""

        def write(self, group: Group) -> dict[str, Any]:
            group.tables.add_event(0, "store", 1, self.x)
            return {"stored": 1}

    def make_bare_app(writer: Any, metrics: Any) -> Any:
        app = make_app(writer, metrics)
        columns, limits = RequestColumns(FEATURES, None, False), Limits()

        @needs(OPEN, takes=TABLES)
        async def store(request: Request) -> Response:
            body = await request.body()
            kind = request.headers.get("content-type", "")
            table = read_table(body, kind, ("rows",), columns, limits)
            command = Store(name="", x=pack_row(table.X[0]))
            answer = await writer.submit(command)
            return Response(dump_json(answer), media_type="application/json")

        path = "/v1/rows/{name}/store"
        framework = Starlette(routes=[FrameworkRoute(path, store, methods=["POST"])])

        @needs(OPEN, takes=TABLES)
        async def through_framework(_request: Request) -> Starlette:
            return framework  # an answer is called as an application is

        new = (
            Route("POST", "/v1/models/{name}/store", store),
            Route("POST", path, through_framework),
        )
        return app._replace(routes=(*app.routes, *new))

    server.run(server.Options(folder, port=0, make_app=make_bare_app))


class Server(NamedTuple):
    """A running server."""

    address: str
    pid: int


@contextmanager
def started(folder: Path, *, bare: bool = False) -> Iterator[Server]:
    """Start a server, and stop it at the end."""
    code = "import sys; from rpnb.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "serve", str(folder), "--port", "0"]
    if bare:
        command = [sys.executable, __file__, "--bare", str(folder)]
    process = subprocess.Popen(  # noqa: S603 - a command of our own
        command,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"},
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            found = json.loads(line) if line.startswith("{") else {}
            if "address" in found:
                yield Server(found["address"], process.pid)
                break
        else:
            raise RuntimeError("the server did not start")
    finally:
        process.terminate()
        process.wait()


# Clients


@dataclass
class Load:
    """Answers per second, and the time to an answer."""

    rate: float
    p50: float
    p99: float
    processor: float
    """processor time of the server per answer, in seconds"""


class _Connection(asyncio.Protocol):
    """Sends requests over one connection, each after the answer to the last."""

    def __init__(
        self,
        requests: Iterator[bytes],
        until: float,
        times: list[float],
        done: "asyncio.Future[None]",
    ) -> None:
        self._requests, self._until, self._times = requests, until, times
        self._done, self._received, self._length = done, b"", 0

    def connection_made(self, transport: Any) -> None:
        """Send the first request."""
        self._transport = transport
        self._send()

    def _send(self) -> None:
        self._start = time.perf_counter()
        request = next(self._requests, None) if self._start < self._until else None
        if request is None:
            self._transport.close()
        else:
            self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Note the time of an answer, and send the next request."""
        self._received += data
        if not self._length:
            head = self._received.find(b"\r\n\r\n")
            if head < 0:
                return
            if not self._received.startswith(b"HTTP/1.1 200"):
                self._done.set_exception(RuntimeError(self._received.decode()))
                return
            place = self._received.index(b"content-length: ") + 16
            end = self._received.index(b"\r", place)
            self._length = head + 4 + int(self._received[place:end])
        if len(self._received) >= self._length:
            self._times.append(time.perf_counter() - self._start)
            self._received, self._length = b"", 0
            self._send()

    def connection_lost(self, error: Exception | None) -> None:
        """End."""
        if not self._done.done():
            self._done.set_result(None)


def processor_time(pid: int) -> float:
    """Return the processor time of a process, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _same(connection: _Connection) -> _Connection:
    return connection


def load(
    server: Server, make: Callable[[int], Iterator[bytes]], n: int, seconds: float
) -> Load:
    """Send requests over n connections for some seconds."""
    port = int(server.address.rpartition(":")[2])
    before = processor_time(server.pid)

    async def run() -> tuple[list[float], float]:
        times: list[float] = []
        loop = asyncio.get_running_loop()
        started_at = time.perf_counter()
        until = started_at + seconds
        ends = []
        for i in range(n):
            done: asyncio.Future[None] = loop.create_future()
            connection = _Connection(make(i), until, times, done)
            await loop.create_connection(partial(_same, connection), "127.0.0.1", port)
            ends.append(done)
        await asyncio.gather(*ends)
        return times, time.perf_counter() - started_at

    times, taken = asyncio.run(run())
    times.sort()
    return Load(
        len(times) / taken,
        statistics.median(times),
        times[int(0.99 * len(times))],
        (processor_time(server.pid) - before) / len(times),
    )


def post(path: str, body: Any) -> bytes:
    """Return the bytes of a request."""
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"content-length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def one_row(X: NDArray[Any], path: str) -> Callable[[int], Iterator[bytes]]:
    """Return requests with one row each."""
    requests = [post(path, {"rows": [row.tolist()]}) for row in X[:2000]]

    def make(i: int) -> Iterator[bytes]:
        j = 97 * i
        while True:
            yield requests[j % len(requests)]
            j += 1

    return make


def labels_of(
    ids: list[str], y: list[Any], path: str, n: int
) -> Callable[[int], Iterator[bytes]]:
    """Return requests with one label each, for all ids."""

    def make(i: int) -> Iterator[bytes]:
        for j in range(i, len(ids), n):
            yield post(path, {"ids": [ids[j]], "labels": [y[j % len(y)]]})

    return make


# Measurements


def measure(X: NDArray[Any], y: list[Any], seconds: float, rounds: int) -> None:
    """Measure single rows: the bare service and ours in turn, several times."""
    from rpnb.client import Client

    one = "/v1/models/letters"
    routed = one_row(X, "/v1/rows/letters/store")
    dispatched = one_row(X, f"{one}/store")
    plain = one_row(X, f"{one}/predict")
    waiting = one_row(X, f"{one}/predict?remember=true")
    with tempfile.TemporaryDirectory() as folder:
        bare_folder, own_folder = Path(folder, "bare"), Path(folder, "own")
        bare_folder.mkdir()
        with (
            started(bare_folder, bare=True) as bare,
            started(own_folder) as own,
            Client(own.address) as client,
        ):
            client.create(
                "letters",
                "RPNB",
                features=FEATURES,
                classes=sorted(set(y)),
                random_state=0,
            )
            client.learn("letters", X[:2000], y[:2000])
            for n in CONNECTIONS:
                found: dict[str, list[Load]] = {name: [] for name in LOADS}
                rate = 0.0
                for turn in range(rounds + 1):
                    long = seconds if turn else 0.3  # the first is not counted
                    ids: list[str] = []
                    count = int(2 * rate * long) + 1000
                    for start in range(0, count, 5000):
                        places = np.arange(start, min(start + 5000, count)) % len(X)
                        answer = client.predict("letters", X[places], remember=True)
                        ids += answer.ids or []
                    labels = labels_of(ids, y, f"{one}/labels", n)
                    loads = [
                        load(bare, routed, n, long),
                        load(bare, dispatched, n, long),
                        load(own, labels, n, long),
                        load(own, waiting, n, long),
                        load(own, plain, n, long),
                    ]
                    rate = max(each.rate for each in loads)
                    if turn:
                        for name, each in zip(LOADS, loads, strict=True):
                            found[name].append(each)
                report(n, found)


def report(n: int, found: dict[str, list[Load]]) -> None:
    """Print medians over the rounds, and ratios to both bare endpoints."""
    print(f"\n{n} connections")
    for name, loads in found.items():
        rate, p50, p99, processor = (
            statistics.median(getattr(each, field) for each in loads)
            for field in ("rate", "p50", "p99", "processor")
        )
        ratios = []
        for bare in (found[LOADS[0]], found[LOADS[1]]):
            pairs = list(zip(loads, bare, strict=True))
            by_rate = statistics.median(a.rate / b.rate for a, b in pairs)
            by_processor = statistics.median(
                b.processor / a.processor for a, b in pairs
            )
            ratios.append(f"{by_rate:5.2f} by rate {by_processor:5.2f} by processor")
        print(
            f"  {name:23s} {rate:7.0f}/s  p50 {1e3 * p50:6.1f} ms  p99 {1e3 * p99:6.1f}"
            f" ms  {1e6 * processor:4.0f} µs of processor  {ratios[0]}  "
            f"(dispatched: {ratios[1]})"
        )


def measure_bulk(X: NDArray[Any], y: list[Any], rounds: int) -> None:
    """Measure an Arrow table of all rows, in turn with the library."""
    from rpnb import RPNBClassifier
    from rpnb.client import Client

    classes = sorted(set(y))
    ratios, by_processor, rates, own_rates = [], [], [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        started(Path(folder)) as server,
        Client(server.address, batch_size=len(X)) as client,
    ):
        labels = np.array(y)
        for turn in range(rounds + 1):
            model = RPNBClassifier(random_state=0)
            start, before = time.perf_counter(), time.process_time()
            expected = model.predict_then_learn(X, labels, classes=classes)
            alone = time.perf_counter() - start
            processor = time.process_time() - before
            name = f"bulk-{turn}"
            client.create(
                name, "RPNB", features=FEATURES, classes=classes, random_state=0
            )
            start, before = time.perf_counter(), processor_time(server.pid)
            predicted = client.observe(name, X, y)
            taken = time.perf_counter() - start
            assert predicted == expected.tolist()
            if turn > 0:  # the first turn fills the caches
                ratios.append(alone / taken)
                used = processor_time(server.pid) - before
                by_processor.append(processor / used)
                rates.append(len(X) / taken)
                own_rates.append(len(X) / alone)
    print(f"\nArrow bulk, {len(X)} rows of {FEATURES} features, {len(classes)} classes")
    print(f"  library on arrays            {statistics.median(own_rates):8.0f} rows/s")
    print(
        f"  observed by the service      {statistics.median(rates):8.0f} rows/s  "
        f"{statistics.median(ratios):5.2f} by rate  "
        f"{statistics.median(by_processor):5.2f} by processor"
    )


def letters() -> tuple[NDArray[Any], list[Any]]:
    """Return Letter, or generated rows of its shape if its file is not available."""
    from rpnb.datasets import DatasetError, load

    try:
        data = load("Letter")
        return np.asarray(data.X, np.float64), [str(each) for each in data.y]
    except DatasetError:
        print("Letter is not available: using generated rows of its shape")
        rng = np.random.default_rng(0)
        numbers = rng.integers(0, CLASSES, 20_000)
        centres = rng.normal(0.0, 1.0, (CLASSES, FEATURES))
        X = centres[numbers] + rng.normal(0.0, 1.0, (20_000, FEATURES))
        return X, [chr(65 + each) for each in numbers]


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", type=Path, help="folder of data files")
    parser.add_argument("--bare", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.bare is not None:
        serve_bare(arguments.bare)
        return 0
    if arguments.data is not None:
        os.environ["RPNB_DATA"] = str(arguments.data)
    X, y = letters()
    measure_bulk(X, y, arguments.rounds)
    measure(X, y, arguments.seconds, arguments.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
