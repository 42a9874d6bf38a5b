"""Unexpected bodies, slow clients, endless headers, many connections."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from rpnb.serve.app import make_app
from rpnb.serve.http.guard import Guard
from rpnb.serve.limits import Limits
from rpnb.serve.metrics import Metrics
from rpnb.serve.server import _listen, _protocol
from rpnb.serve.tokens import Tokens
from rpnb.serve.writer import Writer
from serve.process import ServerProcess, wait_until
from serve.test_memory import MB, heard, memory_of

POST = (
    b"POST /v1/models HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
)
LENGTH, CHUNKED = "content-length: 60000000", "transfer-encoding: chunked"
GET = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n"


@contextmanager
def serving(
    folder: Path, limits: Limits, tokens: Tokens | None = None
) -> Iterator[tuple[int, Guard]]:
    """Serve in this process, with limits for which the command has no options."""
    writer = Writer(folder, limits)
    metrics = Metrics(writer)
    app = make_app(writer, metrics)
    guard = Guard(app, limits, tokens, metrics)
    listening = _listen("127.0.0.1", 0)
    config = uvicorn.Config(
        guard, log_config=None, lifespan="on", ws="none", http=_protocol(limits)
    )
    server = uvicorn.Server(config)
    server.capture_signals = _nothing
    thread = threading.Thread(
        target=lambda: asyncio.run(server.serve(sockets=[listening]))
    )
    thread.start()
    wait_until(lambda: server.started)
    try:
        yield listening.getsockname()[1], guard
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def connect(port: int, sent: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    connection.sendall(sent)
    return connection


def status(connection: socket.socket) -> int:
    """Return the status of the next response, 0 if the connection was closed."""
    try:
        with connection.makefile("rb") as file:
            line = file.readline()
    except ConnectionError:
        return 0
    return int(line.split()[1]) if line else 0


def ended(connection: socket.socket) -> bool:
    try:
        while connection.recv(65536):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize(
    "request_line",
    ["GET /healthz", "GET /page/live", "GET /nowhere", "DELETE /v1/models/m", "GET /"],
)
@pytest.mark.parametrize("framing", [LENGTH, CHUNKED])
def test_no_body_where_none_is_taken(
    shared: ServerProcess, request_line: str, framing: str
) -> None:
    before = memory_of(shared)["now"]
    head = f"{request_line} HTTP/1.1\r\nhost: localhost\r\n{framing}\r\n\r\n".encode()
    connections = [connect(shared.port, head) for _ in range(20)]
    body = b"100000\r\n" + b"x" * MB + b"\r\n" if framing == CHUNKED else b"x" * MB
    codes = set()
    for each in connections:
        try:
            for _ in range(5):
                each.sendall(body)
        except ConnectionError:
            pass
        codes.add(status(each))
        assert ended(each)
        each.close()
    assert codes <= {404, 413, 0}
    assert memory_of(shared)["now"] - before < 30 * MB


def test_a_body_on_an_open_path_is_answered(shared: ServerProcess) -> None:
    answer = httpx.request("GET", f"{shared.address}/healthz", content=b"x")
    assert answer.status_code == 413
    assert answer.headers["connection"] == "close"
    # A content length of 0 is no body.
    headers = {"content-length": "0"}
    assert httpx.get(f"{shared.address}/healthz", headers=headers).status_code == 200


def test_slow_bodies_do_not_lock_anybody_out(tmp_path: Path) -> None:
    with serving(tmp_path, Limits(max_in_flight=8)) as (port, guard):
        url = f"http://127.0.0.1:{port}"
        slow = [connect(port, POST + b"content-length: 9\r\n\r\n{") for _ in range(8)]
        wait_until(lambda: guard.in_flight == 8)
        # They are not answered yet, but reads and the health check are.
        for path in ("/v1/models", "/healthz", "/metrics"):
            assert httpx.get(url + path).status_code == 200
        time.sleep(0.6)
        for i in range(8):
            body = {"name": f"m{i}", "learner": "GaussianNB", "n_features": 1}
            assert httpx.post(f"{url}/v1/models", json=body).status_code == 201
        codes = [status(each) for each in slow]
        assert 408 in codes
        for each in slow:
            each.close()


def test_silent_senders_are_cut(tmp_path: Path) -> None:
    limits = Limits(idle_seconds=0.3, body_seconds=1.5, header_seconds=0.5)
    with serving(tmp_path, limits) as (port, guard):
        for sent in (POST + b"content-length: 9\r\n\r\n{", b"GET /healthz HT", b""):
            with connect(port, sent) as connection:
                assert status(connection) == 408
        # Data keeps arriving, but never the end.
        drip = connect(port, POST + b"content-length: 100\r\n\r\n")
        began = time.monotonic()
        with pytest.raises(ConnectionError):  # noqa: PT012 - until it is cut
            while time.monotonic() - began < 60:
                drip.sendall(b" ")
                time.sleep(0.1)
        drip.close()
        wait_until(lambda: guard.in_flight == 0)
        wait_until(lambda: guard.memory.used == 0)


@pytest.mark.parametrize(
    ("start", "more"),
    [
        (b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: ", b"x" * 65536),
        (b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n", b"x: y\r\n" * 10_000),
        (b"GET /", b"x" * 65536),
        (b"", b"\r\n" * 30_000),
        (POST + b"transfer-encoding: chunked\r\n\r\n0\r\n", b"x: y\r\n" * 10_000),
        (POST + b"transfer-encoding: chunked\r\n\r\n0\r\nx: ", b"x" * 65536),
        (POST + b"transfer-encoding: chunked\r\n\r\n1;", b"x" * 65536),
    ],
)
def test_endless_headers_are_cut(
    shared: ServerProcess, start: bytes, more: bytes
) -> None:
    before = memory_of(shared)["now"]
    with heard(shared) as taken:
        connection = connect(shared.port, start)
        sent = 0
        try:
            while sent < 100 * MB:
                connection.sendall(more)
                sent += len(more)
        except ConnectionError:
            pass
        connection.close()
        wait_until(lambda: taken)
    assert sent < 20 * MB
    assert memory_of(shared)["now"] - before < 30 * MB


def test_headers_as_browsers_and_proxies_send_them_are_read(
    shared: ServerProcess,
) -> None:
    headers = {f"x-{i}": "y" * 1000 for i in range(20)}
    assert httpx.get(f"{shared.address}/healthz", headers=headers).status_code == 200
    # Requests one after the other on one connection, sent at once.
    connection = connect(shared.port, (GET + b"\r\n") * 999)
    connection.sendall(GET + b"connection: close\r\n\r\n")
    with connection, connection.makefile("rb") as file:
        answers = file.read()
    assert answers.count(b"HTTP/1.1 200 OK") == 1000


def test_idle_connections_make_room(tmp_path: Path) -> None:
    with serving(tmp_path, Limits(max_connections=20)) as (port, _):
        idle = [connect(port) for _ in range(100)]
        for _ in range(5):
            assert httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
        for each in idle[:70]:
            assert ended(each)
        for each in idle:
            each.close()


def test_open_paths_have_a_count_of_their_own(tmp_path: Path) -> None:
    with serving(tmp_path, Limits(max_open=1, max_in_flight=1)) as (port, guard):
        url = f"http://127.0.0.1:{port}"
        with guard._concurrency[False]:  # as if a request was being answered
            assert httpx.get(f"{url}/v1/models").status_code == 503
            assert httpx.get(f"{url}/healthz").status_code == 200
        wait_until(lambda: guard.in_flight == 0)
        with guard._concurrency[True]:
            answer = httpx.get(f"{url}/healthz")
            assert answer.status_code == 503
            assert "max_open is 1" in answer.text
            assert answer.headers["retry-after"] == "1"
            assert httpx.get(f"{url}/v1/models").status_code == 200


def test_a_client_that_does_not_read_its_answer_is_cut(tmp_path: Path) -> None:
    with serving(tmp_path, Limits(body_seconds=0.5)) as (port, guard):
        url = f"http://127.0.0.1:{port}/v1/models"
        names = [f"a long name of a feature {i} {'x' * 150}" for i in range(10_000)]
        body: dict[str, Any] = {"learner": "NoChange", "features": names}
        for i in range(10):
            made = httpx.post(url, json=body | {"name": f"m{i}"}, timeout=30)
            assert made.status_code == 201
        connection = connect(
            port, b"GET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n"
        )
        assert connection.recv(1, socket.MSG_PEEK)  # the answer has begun
        wait_until(lambda: guard.in_flight == 0)
        received = 0
        try:
            while some := connection.recv(2**20):
                received += len(some)
        except ConnectionError:
            pass
        connection.close()
        assert received < len(httpx.get(url, timeout=30).content)
