"""Target: a running service, attacked by clients with any token.

A case is one attack: a request with a disguised path, a mutated or very large body of
any format, bytes that are hardly HTTP, or many of these at the same time. The service
must not answer 500, exceed the scopes of a token, end, log an error, take more memory
than its limit, or leave `/healthz` unanswered for more than a second of its own
processor time.
"""

import atexit
import contextlib
import http.client
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import numpy as np

from fuzzer.target import Case, Target, choose, report

#: Memory limit of all requests, and of the growth of the process.
MAX_MEMORY = 256 << 20
MOST_MEMORY = 1.5 * MAX_MEMORY
#: Largest state of a model in numbers, 16 MB.
MAX_STATE = 2_000_000
#: Seconds of processor time within which /healthz must answer; ten times as many by
#: the clock.
SILENT = 1.0
_BUSY = 10

_OPEN = ("/", "/healthz", "/readyz", "/openapi.json")
_SCOPES = {
    ("POST", "predict"): "predict",
    ("POST", "explain"): "predict",
    ("POST", "labels"): "learn",
    ("POST", "observe"): "learn",
    ("POST", "learn"): "learn",
    ("POST", "forget"): "admin",
    ("GET", "file"): "admin",
    ("PUT", "file"): "admin",
    ("GET", "scores"): "predict",
    ("GET", "live"): "predict",
}
_HOLDERS = (None, "wrong", "predict", "learn", "admin")
_PATHS = (
    *("/", "/healthz", "/readyz", "/metrics", "/openapi.json", "/page/page.js"),
    *("/v1/models", "/v1/learners", "/v1/live", "/v1/models/m", "/v1/models/none"),
    *(f"/v1/models/{name}/{last}" for name in ("m", "named") for _, last in _SCOPES),
)
_METHODS = (*("GET", "POST", "PUT", "DELETE") * 3, "HEAD", "OPTIONS", "PATCH", "X")
_AFTER = (
    *("%0a", "%0d%0a", "%00", "%09", "%20", "%c2%85", "%ff", "/", "//", "/.", "/.."),
    *("%2f", "%5c", ";a=b", "?remember=true", "?probabilities=1", "?columns=position"),
    *(
        "#a",
        ".json",
        "%",
        "%252f",
        "+",
        "?kind=frozen",
        "?kind=onnx",
        "?label_column=a",
    ),
    *("?id_column=a&label_column=a", "?new_classes=refuse", "/live", "%0a/live"),
)
_HEADERS = (
    *("host: evil.example", "host: localhost:x@evil", "host: localhost", "host:"),
    *("origin: http://evil.example", "origin: null", "sec-fetch-site: cross-site"),
    *("content-type: text/plain", "content-type: application/json; charset=latin-1"),
    *("content-type: application/x-ndjson", "content-encoding: gzip", "accept: */*"),
    *("accept: application/vnd.apache.arrow.stream", "accept: application/x-ndjson"),
    *("content-length: 5", "content-length: 99999999999", "content-length: -1"),
    *("transfer-encoding: chunked", "transfer-encoding: gzip, chunked", "te: trailers"),
    *(
        "expect: 100-continue",
        "connection: upgrade\r\nupgrade: h2c",
        "x: " + "y" * 9000,
    ),
    *("idempotency-key: k", "idempotency-key: " + "k" * 200, "idempotency-key: \x01"),
    *(
        "authorization: Basic x",
        "authorization: Bearer",
        "cookie: a=b",
        "range: bytes=0-1",
    ),
)
_JSON, _NDJSON = "application/json", "application/x-ndjson"
_ARROW = "application/vnd.apache.arrow.stream"
_BINARY = "application/octet-stream"
_GROWING = (
    *(
        "[[]],",
        "[],",
        "{},",
        "[",
        "{",
        "1,",
        "1e9,",
        '"a",',
        "\n",
        " ",
        "9",
        '\\"',
        "a",
    ),
    *("null,", "[1,2],", '{"x":1},', '{"a":[1,2]},', "é", "\\ud83d\\ude00", "0.1,"),
)


# The service


class Service:
    """A service in its own process, with tokens of all scopes."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="rpnb-fuzz-service-"))
        from rpnb.serve.tokens import add_token

        tokens = self._folder / "tokens"
        self.secrets = {
            name: add_token(tokens, name, name)
            for name in ("predict", "learn", "admin")
        }
        self.secrets["wrong"] = "rpnb_" + "x" * 43
        code = "import sys; from rpnb.cli import main; sys.exit(main())"
        words = ["serve", str(self._folder / "served"), "--port", "0"]
        words += ["--token-file", str(tokens), "--max-memory", str(MAX_MEMORY >> 20)]
        words += ["--max-state", str(MAX_STATE)]
        self._log = (self._folder / "log").open("w+b")
        self.process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-c", code, *words],
            stderr=self._log,
            preexec_fn=_as_a_service,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        atexit.register(self.close)
        self._seen = 0
        until = time.monotonic() + 120
        while b'"listening"' not in (printed := self._printed()):
            if time.monotonic() > until or not self.alive:
                raise RuntimeError(printed.decode(errors="replace"))
            time.sleep(0.05)
        line = next(line for line in printed.splitlines() if b'"listening"' in line)
        self.port = int(json.loads(line)["address"].rpartition(":")[2])
        self.restore()
        self.at_rest = self.memory("VmRSS")

    def _printed(self) -> bytes:
        return (self._folder / "log").read_bytes()

    @property
    def alive(self) -> bool:
        """Whether the process runs, also for a fork of its parent."""
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{self.process.pid}/stat").read_text()
            return text.rpartition(")")[2].split()[0] not in "ZX"
        return False

    def memory(self, field: str) -> int:
        """Return the current or peak memory of the process in bytes."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(rf"{field}:\s+(\d+)", text)
        return int(found[1]) << 10 if found else 0

    def cpu(self) -> float:
        """Return the processor time of the process in seconds."""
        text = Path(f"/proc/{self.process.pid}/stat").read_text()
        fields = text.rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def ask(
        self, scope: str, method: str, path: str, body: Any = None
    ) -> tuple[int, Any]:
        """Return the status and the content of a response to a client with a token."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = None if body is None else json.dumps(body)
        headers = {"content-type": _JSON} if body is not None else {}
        try:
            headers["authorization"] = f"Bearer {self.secrets[scope]}"
            connection.request(method, path, sent, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        finally:
            connection.close()

    def restore(self) -> None:
        """Restore the models that cases use, and delete all others."""
        _, found = self.ask("predict", "GET", "/v1/models")
        have = {each["name"] for each in found["models"]}
        for name in have - {"m", "named"}:
            self.ask("admin", "DELETE", f"/v1/models/{name}")
        rows, labels = [[0.0, 1.0], [2.0, 3.0], [4.0, 1.0]], ["a", "b", "a"]
        for name in {"m", "named"} - have:
            about: Any = {"name": name, "learner": "GaussianNB", "n_features": 2}
            if name == "named":
                about = {"name": name, "learner": "RPNB", "features": ["x", "y"]}
                about["parameters"] = {"n_estimators": 5}
            self.ask("admin", "POST", "/v1/models", {**about, "classes": ["a", "b"]})
            body = {"rows": rows, "labels": labels}
            self.ask("learn", "POST", f"/v1/models/{name}/learn", body)

    def require_sound(self) -> None:
        """Report a service that has ended, logged an error or taken too much memory."""
        if not self.alive:
            report(f"it has ended: {self._printed()[-3000:].decode(errors='replace')}")
        printed = self._printed()
        new, self._seen = printed[self._seen :], len(printed)
        for line in new.splitlines():
            # Uvicorn logs an error if a client that does not read is cut off.
            cut = b"without completing response" in line
            if (b'"level": "error"' in line and not cut) or b"Traceback" in line:
                report(f"it has logged {line[-3000:].decode(errors='replace')}")
        more = self.memory("VmHWM") - self.at_rest
        if more > MOST_MEMORY:
            os.kill(self.process.pid, signal.SIGKILL)  # the next case gets a new one
            while self.alive:
                time.sleep(0.01)
            report(f"it has taken {more >> 20} MB, more than {int(MOST_MEMORY) >> 20}")

    def close(self) -> None:
        """Kill the process."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _as_a_service() -> None:
    """Remove the memory limit of the process, and end it with its parent."""
    import ctypes

    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


_running: list[Service] = []


def running() -> Service:
    """Return the running service; start one if there is none."""
    if _running and not _running[0].alive:
        _running.pop().close()
    if not _running:
        _running.append(Service())
    return _running[0]


@contextlib.contextmanager
def _heard(service: Service) -> Iterator[None]:
    """Request the health continuously; report if it does not answer in time."""
    stop = threading.Event()
    findings: list[str] = []

    def ask() -> None:
        while not stop.wait(0.02):
            began, computed = time.monotonic(), service.cpu()
            try:
                connection = http.client.HTTPConnection(
                    "127.0.0.1", service.port, timeout=60
                )
                connection.request("GET", "/healthz")
                status = connection.getresponse().status
                connection.close()
            except OSError as error:
                findings.append(f"/healthz: {type(error).__name__}: {error}")
                return
            taken, used = time.monotonic() - began, service.cpu() - computed
            if (taken > SILENT and used > SILENT) or taken > _BUSY * SILENT:
                findings.append(
                    f"/healthz was silent for {taken:.1f} s, of which it computed "
                    f"{used:.1f} s"
                )
            if status not in (200, 503):
                findings.append(f"/healthz answers {status}")

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    if findings and service.alive:
        report(findings[0])


# Cases


def make(rng: np.random.Generator) -> Case:
    """Return an attack."""
    kind = choose(
        rng, ("route",) * 8 + ("table",) * 8 + ("wire",) * 3 + ("flood", "model")
    )
    return {"kind": kind, **_MAKERS[kind](rng)}


def _make_route(rng: np.random.Generator) -> Case:
    path = choose(rng, _PATHS)
    if rng.random() < 0.7:
        path = _disguised(rng, path)
    headers = [choose(rng, _HEADERS) for _ in range(int(rng.integers(0, 3)))]
    body = choose(rng, ("", "", '{"rows": [[1.0, 2.0]]}', '{"ids": ["x"]}', "{}"))
    return {
        "method": choose(rng, _METHODS),
        "path": path,
        "holder": choose(rng, _HOLDERS),
        "headers": headers,
        "body": body,
    }


def _disguised(rng: np.random.Generator, path: str) -> str:
    what = int(rng.integers(5))
    if what == 0:
        return choose(rng, ("/", "//", "/x/..", "http://evil", "*", "/%2e")) + path
    if what == 1:
        at = int(rng.integers(1, len(path) + 1))
        return path[:at] + choose(rng, _AFTER) + path[at:]
    if what == 2 and len(path) > 1:
        at = int(rng.integers(1, len(path)))
        return f"{path[:at]}%{ord(path[at]):02x}{path[at + 1 :]}"
    if what == 3:
        return path.replace("/", choose(rng, ("//", "/./", "\\", "%2f")))
    return path + choose(rng, _AFTER)


def _make_table(rng: np.random.Generator) -> Case:
    kind = choose(rng, ("json", "json", "ndjson", "arrow", "arrow"))
    growing = rng.random() < 0.4
    return {
        "name": choose(rng, ("m", "named")),
        "action": choose(
            rng, ("predict", "explain", "learn", "observe", "labels", "forget")
        ),
        "query": choose(rng, ("", "", "?remember=true", "?probabilities=true")),
        "format": kind,
        "rows": int(choose(rng, (1, 3, 50, 5000))),
        "grow": choose(rng, _GROWING) if growing and kind != "arrow" else "",
        "bytes": int(2 ** rng.uniform(8, 26 if rng.random() < 0.2 else 21)),
        "arrow": choose(
            rng,
            (
                "plain",
                "lz4",
                "zstd",
                "v4",
                "dictionary",
                "long text",
                "shared",
                "wide",
                "nested",
                "many",
            ),
        ),
        "mutations": [
            [
                choose(rng, ("flip", "set", "cut", "copy", "insert")),
                float(rng.random()),
                int(rng.integers(256)),
            ]
            for _ in range(int(rng.integers(0, 4)))
        ],
        "accept": choose(rng, ("", "", _ARROW, _NDJSON)),
        "chunked": bool(rng.random() < 0.2),
    }


def _make_wire(rng: np.random.Generator) -> Case:
    return {
        "what": choose(
            rng,
            (
                "header",
                "headers",
                "path",
                "lines",
                "trailers",
                "extension",
                "pipeline",
                "body on open path",
                "half",
                "garbage",
                "two lengths",
                "drip",
            ),
        ),
        "path": choose(rng, _PATHS),
        "seed": int(rng.integers(2**31)),
    }


def _make_flood(rng: np.random.Generator) -> Case:
    return {
        "what": choose(
            rng,
            ("idle", "half headers", "half bodies", "bodies", "answers", "requests"),
        ),
        "connections": int(rng.integers(50, 700)),
        "table": _make_table(rng),
    }


def _make_model(rng: np.random.Generator) -> Case:
    learners = ("RPNB", "Pooled", "AROW", "OnlineBayes", "OnlineBagging", "PA", "none")
    values: Any = (
        None,
        0,
        -1,
        1,
        3,
        1e9,
        2**62,
        1e400,
        "x",
        [],
        {},
        True,
        [1, 2],
        "uniform",
    )
    names = (
        "n_estimators",
        "n_components",
        "window",
        "n_projections",
        "C",
        "batch_size",
    )
    return {
        "learner": choose(rng, learners),
        "parameters": {
            choose(rng, names): choose(rng, values) for _ in range(int(rng.integers(3)))
        },
        "features": int(choose(rng, (1, 2, 100, 1000, 5000, 10_001))),
        "classes": int(choose(rng, (0, 1, 2, 3, 100, 1001))),
        "labels": int(choose(rng, (1, 2, 40))),
        "mutations": _make_table(rng)["mutations"],
    }


_MAKERS = {
    "route": _make_route,
    "table": _make_table,
    "wire": _make_wire,
    "flood": _make_flood,
    "model": _make_model,
}


def run(case: Case, _folder: Path) -> None:
    """Attack, then check the service."""
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (most, most))  # only other targets need it
    service = running()
    with _heard(service):
        _RUNNERS[case["kind"]](service, case)
    service.require_sound()
    service.restore()


# Requests, byte by byte


def _request(
    service: Service,
    method: str,
    path: str,
    holder: str | None,
    headers: list[str],
    body: bytes = b"",
    *,
    length: bool = True,
) -> bytes:
    head = [f"{method} {path} HTTP/1.1"]
    if not any(each.startswith("host") for each in headers):
        head.append("host: localhost")
    if holder is not None:
        head.append(f"authorization: Bearer {service.secrets[holder]}")
    given = any(each.startswith(("content-length", "transfer")) for each in headers)
    if body and length and not given:
        head.append(f"content-length: {len(body)}")
    return "\r\n".join([*head, *headers, "", ""]).encode() + body


def _send(service: Service, content: bytes, seconds: float = 60.0) -> bytes:
    """Return the beginning of the response to some bytes, b"" if there is none."""
    try:
        connection = socket.create_connection(("127.0.0.1", service.port), 60)
    except OSError:
        return b""
    with connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(content)
        connection.settimeout(seconds)
        with contextlib.suppress(OSError):
            return connection.recv(65536)
    return b""


def _status(answer: bytes) -> int:
    found = re.match(rb"HTTP/1\.[01] (\d{3})", answer)
    return int(found[1]) if found else 0


def _require_no_failure(answer: bytes, what: str) -> int:
    status = _status(answer)
    if status in (500, 502) or (answer and not status):
        report(f"{what}: {answer[:500]!r}")
    return status


def _needed(method: str, path: str) -> str | None:
    """Return the scope of a path from its segments, "open", or None if unknown."""
    target = path.partition("?")[0].partition("#")[0]
    if "://" in target.partition("/v1")[0]:
        target = "/" + target.split("://", 1)[1].partition("/")[2]
    try:
        parts = [unquote_to_bytes(each).decode() for each in target.split("/")]
    except UnicodeDecodeError:
        return None
    if (target in _OPEN or parts[1:2] == ["page"]) and method == "GET":
        return "open"
    if (
        "/".join(parts) in ("/" + each.lstrip("/") for each in _OPEN)
        and method == "GET"
    ):
        return "open"
    match parts[1:]:
        case ["metrics"] | ["v1", "models"] | ["v1", "live"] | ["v1", "learners"]:
            return "predict" if method == "GET" else "admin"
        case ["v1", "models", _]:
            return "predict" if method == "GET" else "admin"
        case ["v1", "models", _, last]:
            return _SCOPES.get((method, last))
    return None


def _run_route(service: Service, case: Case) -> None:
    content = _request(
        service,
        case["method"],
        case["path"],
        case["holder"],
        [*case["headers"], *([] if _has_type(case) else [f"content-type: {_JSON}"])],
        case["body"].encode(),
    )
    answer = _send(service, content, 3.0)
    status = _require_no_failure(answer, f"{case}")
    if 200 <= status < 300:
        needed = _needed(case["method"], case["path"])
        if needed is None or needed not in ("open", case["holder"]):
            report(f"{case['holder']} may do what needs {needed}: {answer[:200]!r}")


def _has_type(case: Case) -> bool:
    return any(each.startswith("content-type") for each in case["headers"])


# Tables


def _table_body(case: Case) -> tuple[str, bytes]:
    """Return the media type and the bytes of a table."""
    n = case["rows"]
    rows: Any = [[float(i % 7), 0.5] for i in range(n)]
    parts = {
        "rows": rows if case["name"] == "m" else [{"x": a, "y": b} for a, b in rows],
        "labels": ["ab"[i % 2] for i in range(n)],
        "ids": [f"{i}" for i in range(n)],
    }
    wanted = {
        "predict": ("rows",),
        "explain": ("rows",),
        "labels": ("ids", "labels"),
        "forget": ("ids",),
    }.get(case["action"], ("rows", "labels"))
    if case["format"] == "arrow":
        return _ARROW, _mutated(_arrow_body(case, n), case)
    if case["format"] == "json":
        body = json.dumps({name: parts[name] for name in wanted}).encode()
        kind = _JSON
    else:
        names = {"rows": "row", "labels": "label", "ids": "id"}
        lines = zip(*(parts[name] for name in wanted), strict=True)
        fields = [names[name] for name in wanted]
        body = b"\n".join(
            json.dumps(dict(zip(fields, line, strict=True))).encode() for line in lines
        )
        kind = _NDJSON
    if case["grow"]:
        each = case["grow"].encode()
        at = max(body.find(b"[") + 1, 0)
        body = body[:at] + each * (case["bytes"] // len(each)) + body[at:]
    return kind, _mutated(body, case)


@cache
def _arrow_of(what: str, n: int, named: bool) -> bytes:
    import pyarrow as pa

    first, second = ("x", "y") if named else ("c0", "c1")
    zeros = np.zeros(n)
    columns: Any = {
        first: zeros,
        second: zeros,
        "label": ["ab"[i % 2] for i in range(n)],
    }
    columns["id"] = [f"{i}" for i in range(n)]
    options: dict[str, Any] = {}
    if what in ("lz4", "zstd"):
        options["compression"] = what
    if what == "v4":
        options = {"compression": "lz4", "metadata_version": pa.ipc.MetadataVersion.V4}
    if what in ("dictionary", "long text"):
        codes = pa.array(np.zeros(n, np.int8))
        text = "a" if what == "dictionary" else "x" * 1_000_000
        columns["label"] = pa.DictionaryArray.from_arrays(codes, [text, "b"])
    if what == "wide":
        columns |= {f"w{j}": zeros[:1].repeat(n) for j in range(3000)}
    if what == "nested":
        columns["more"] = [[1.0, 2.0]] * n
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(
        sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)
    ) as w:
        if what == "many":
            for batch in table.slice(0, 1).to_batches() * 2000:
                w.write_batch(batch)
        else:
            w.write_table(table)
    content = bytearray(sink.getvalue().to_pybytes())
    if what == "shared":
        size = 8 * n
        place = content.find(struct.pack("<qqqq", size, 0, size, size))
        if place > 0:
            content[place + 16 : place + 24] = bytes(8)
    if what == "v4":
        content += b"ARROW:experimental_compression"
    return bytes(content)


def _arrow_body(case: Case, n: int) -> bytes:
    few = min(n, 50) if case["arrow"] == "wide" else n
    return _arrow_of(case["arrow"], few, case["name"] == "named")


def _mutated(content: bytes, case: Case) -> bytes:
    body = bytearray(content)
    for what, where, value in case["mutations"]:
        if not body:
            break
        # More often at the beginning, where headers are.
        at = int(len(body) * where**3)
        if what == "flip":
            body[at] ^= 1 << value % 8
        elif what == "set":
            body[at] = value
        elif what == "cut":
            del body[at : at + value]
        elif what == "copy":
            body[at:at] = body[at : at + value]
        else:
            body[at:at] = bytes([value]) * (value % 9)
    return bytes(body)


def _table_request(service: Service, case: Case) -> bytes:
    kind, body = _table_body(case)
    action = case["action"]
    scope = _SCOPES["POST", action]
    headers = [f"content-type: {kind}"]
    headers += [f"accept: {case['accept']}"] if case["accept"] else []
    if case["chunked"]:
        headers.append("transfer-encoding: chunked")
        step = 60_000
        parts = [body[i : i + step] for i in range(0, len(body), step)]
        body = b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in parts)
        body += b"0\r\n\r\n"
    path = f"/v1/models/{case['name']}/{action}{case['query']}"
    return _request(service, "POST", path, scope, headers, body)


def _run_table(service: Service, case: Case) -> None:
    answer = _send(service, _table_request(service, case))
    status = _require_no_failure(answer, f"{case}")
    if status == 0:
        report(f"no answer: {case}")


# Bytes that are hardly HTTP


def _run_wire(service: Service, case: Case) -> None:
    rng = np.random.default_rng(case["seed"])
    start, more, rest = _wire(service, case, rng)
    with socket.create_connection(("127.0.0.1", service.port), 60) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(start)
            sent = 0
            while more and sent < 8 << 20:
                connection.sendall(more)
                sent += len(more)
            if case["what"] == "drip":
                for _ in range(20):
                    connection.sendall(b" ")
                    time.sleep(0.05)
            connection.sendall(rest)
        connection.settimeout(0.5)
        answer = b""
        with contextlib.suppress(OSError):
            answer = connection.recv(65536)
    _require_no_failure(answer, f"{case}")


def _wire(
    service: Service, case: Case, rng: np.random.Generator
) -> tuple[bytes, bytes, bytes]:
    """Return what to send first, then repeatedly, then last."""
    what, path = case["what"], case["path"]
    get = _request(service, "GET", path, "predict", [])
    post = _request(
        service, "POST", "/v1/models/m/predict", "predict", [f"content-type: {_JSON}"]
    )[:-2]
    chunked = post + b"transfer-encoding: chunked\r\n\r\n"
    if what == "garbage":
        return rng.bytes(int(rng.integers(1, 5000))), b"", b"\r\n\r\n"
    return {
        "header": (get[:-2] + b"x: ", b"x" * 65536, b""),
        "headers": (get[:-2], b"x: y\r\n" * 9000, b"\r\n"),
        "path": (b"GET /", b"x" * 65536, b" HTTP/1.1\r\n\r\n"),
        "lines": (b"", b"\r\n" * 30_000, get),
        "trailers": (chunked + b"0\r\n", b"x: y\r\n" * 9000, b"\r\n"),
        "extension": (chunked + b"1;", b"x" * 65536, b"\r\n"),
        "pipeline": (get * 300, b"", get),
        "body on open path": (
            get[:-2] + b"content-length: 60000000\r\n\r\n",
            b"x" * 65536,
            b"",
        ),
        "half": (get[: int(rng.integers(1, len(get)))], b"", b""),
        "two lengths": (
            post + b"content-length: 2\r\ncontent-length: 9\r\n\r\n{}       ",
            b"",
            get,
        ),
        "drip": (post + b"content-length: 1000\r\n\r\n", b"", b""),
    }[what]


# Many at once


def _run_flood(service: Service, case: Case) -> None:
    what, n = case["what"], case["connections"]
    get = _request(service, "GET", "/v1/models", "predict", [])
    post = _request(
        service, "POST", "/v1/models/m/learn", "learn", [f"content-type: {_JSON}"]
    )[:-2]
    if what == "bodies":
        _run_together(service, [_table_request(service, case["table"])] * 12)
        return
    if what == "answers":
        rows = json.dumps({"rows": [[0.0, 1.0]] * 20_000}).encode()
        path = "/v1/models/m/predict?probabilities=true"
        content = _request(
            service, "POST", path, "predict", [f"content-type: {_JSON}"], rows
        )
        start, n = content, min(n, 60)
    else:
        start = {
            "idle": b"",
            "half headers": get[:-5],
            "half bodies": post + b"content-length: 99\r\n\r\n{",
            "requests": get,
        }[what]
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(n):
            with contextlib.suppress(OSError):
                connection = stack.enter_context(
                    socket.create_connection(("127.0.0.1", service.port), 60)
                )
                connection.sendall(start)
                opened.append(connection)
        time.sleep(0.3)
        # Other clients must be answered meanwhile.
        status, answer = service.ask(
            "predict", "POST", "/v1/models/m/predict", {"rows": [[1.0, 2.0]]}
        )
        if status not in (200, 503) or (
            status == 503 and what in ("idle", "half headers")
        ):
            report(f"others are answered {status} meanwhile: {answer}")
        if what == "requests":
            for connection in select.select(opened, [], [], 1.0)[0]:
                with contextlib.suppress(OSError):
                    _require_no_failure(connection.recv(65536), f"{case}")


def _run_together(service: Service, requests: list[bytes]) -> None:
    answers: list[bytes] = []

    def send(content: bytes) -> None:
        answers.append(_send(service, content))

    threads = [threading.Thread(target=send, args=(each,)) for each in requests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for answer in answers:
        _require_no_failure(answer, "together")


# Models


def _run_model(service: Service, case: Case) -> None:
    about: dict[str, Any] = {
        "name": "made",
        "learner": case["learner"],
        "parameters": case["parameters"],
        "n_features": case["features"],
    }
    if case["classes"]:
        about["classes"] = [f"c{i}" for i in range(case["classes"])]
    status, answer = service.ask("admin", "POST", "/v1/models", about)
    if status not in (201, 413, 422, 409):
        report(f"{case}: {status}, {answer}")
    if status == 201:
        n = case["labels"]
        rows = np.random.default_rng(0).normal(size=(n, case["features"])).tolist()
        body = {"rows": rows, "labels": [f"c{i}" for i in range(n)]}
        status, answer = service.ask("learn", "POST", "/v1/models/made/learn", body)
        if status not in (200, 413, 422, 503):
            report(f"{case}: learning answers {status}, {answer}")
    get = _request(service, "GET", "/v1/models/named/file", "admin", [])
    file = _send(service, get, 5.0).partition(b"\r\n\r\n")[2]
    put = [f"content-type: {_BINARY}"]
    content = _request(
        service, "PUT", "/v1/models/put/file", "admin", put, _mutated(file, case)
    )
    _require_no_failure(_send(service, content), f"{case}")


_RUNNERS = {
    "route": _run_route,
    "table": _run_table,
    "wire": _run_wire,
    "flood": _run_flood,
    "model": _run_model,
}


def prepare() -> None:
    """Start the service."""
    running()


TARGET = Target(make, run, prepare)
