"""Target: the command `rpnb serve` with damaged logs.

The service must serve all undamaged models unchanged, or end with one line. `--check`
must not print a traceback. A model that is served and not reported as damaged must have
its former state.
"""

import contextlib
import http.client
import io
import json
import os
import select
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fuzzer.target import Case, Target, choose, report

_FILE = "log.sqlite"
_PAGE = 4096
_WITHIN = 60.0
_ROWS = [[0.1 * i, 1.0 - 0.2 * i, float(i % 3)] for i in range(12)]
_LABELS = ["a" if i % 3 else "b" for i in range(12)]


class _Log(NamedTuple):
    """A log, and the predictions of each model."""

    content: bytes
    predicted: dict[str, list[Any]]


@cache
def _sound_log() -> _Log:
    """Return a log of four models with events, late labels, snapshots, waiting rows."""
    folder = Path(tempfile.mkdtemp(prefix="rpnb-fuzz-log-"))
    try:
        for _ in range(2):  # stopping writes snapshots; events follow them
            with _served(folder) as service:
                _fill(service)
        with _served(folder) as service:
            predicted = {
                name: service.ask("POST", f"/v1/models/{name}/predict", rows=_ROWS)[1][
                    "labels"
                ]
                for name in ("m0", "m1", "m2", "m3")
            }
        _fold(folder)
        return _Log((folder / _FILE).read_bytes(), predicted)
    finally:
        shutil.rmtree(folder)


def _fold(folder: Path) -> None:
    """Empty the write-ahead log."""
    connection = sqlite3.connect(folder / _FILE)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def _fill(service: "_Service") -> None:
    made = (("m0", "GaussianNB"), ("m1", "OGD"), ("m2", "OnlineBayes"), ("m3", "PA"))
    for name, learner in made:
        about = {"name": name, "learner": learner, "features": ["x", "y", "z"]}
        service.ask("POST", "/v1/models", classes=["a", "b"], **about)
        one = f"/v1/models/{name}"
        service.ask("POST", f"{one}/learn", rows=_ROWS, labels=_LABELS)
        ids = [f"{name}-{os.urandom(4).hex()}" for _ in _ROWS]
        service.ask("POST", f"{one}/predict?remember=true", rows=_ROWS, ids=ids)
        service.ask("POST", f"{one}/labels", ids=ids[:7], labels=_LABELS[:7])
        service.ask("POST", f"{one}/observe", rows=_ROWS[:4], labels=_LABELS[:4])


class _Service:
    """The command in a fork of this process."""

    def __init__(self, folder: Path) -> None:
        read, write = os.pipe()
        self.number = os.fork()
        if self.number == 0:
            code = 99
            try:
                os.close(read)
                os.dup2(write, 1)
                os.dup2(write, 2)
                sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", 1)
                code = _command("serve", str(folder), "--port", "0")
            except BaseException:  # noqa: BLE001, RUF100 - the parent reads it
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        os.close(write)
        self._read = read
        self.printed = b""
        self.port: int | None = None
        self._listen()

    def _listen(self) -> None:
        """Read the output until the service listens or has ended."""
        until = time.monotonic() + _WITHIN
        while (rest := until - time.monotonic()) > 0:
            if not select.select([self._read], [], [], rest)[0]:
                break
            some = os.read(self._read, 65536)
            self.printed += some
            if not some:
                return
            for line in self.printed.splitlines():
                if b'"listening"' in line and line.endswith(b"}"):
                    self.port = int(json.loads(line)["address"].rpartition(":")[2])
                    return
        report(f"it neither listens nor ends: {self.text()}")

    def text(self) -> str:
        """Return the output."""
        return self.printed.decode(errors="replace")

    def ask(self, method: str, path: str, **body: Any) -> tuple[int, Any]:
        """Return the status and the content of a response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_WITHIN)
        try:
            sent = json.dumps(body) if body else None
            kind = {"content-type": "application/json"} if body else {}
            connection.request(method, path, sent, kind)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def end(self) -> int:
        """Stop it if it runs; return its exit code."""
        if self.port is not None:
            os.kill(self.number, signal.SIGTERM)
        code = os.waitstatus_to_exitcode(os.waitpid(self.number, 0)[1])
        while some := os.read(self._read, 65536):
            self.printed += some
        os.close(self._read)
        return code


@contextlib.contextmanager
def _served(folder: Path) -> Any:
    service = _Service(folder)
    try:
        yield service
    finally:
        service.end()


def _command(*words: str) -> int:
    from rpnb.cli import main

    return main([*words])


def make(rng: np.random.Generator) -> Case:
    """Return random damage of a log, with places relative to its length."""
    kinds = ("bit", "bit", "bit", "byte", "zeros", "page", "cut", "swap")
    return {
        "kind": choose(rng, kinds),
        "place": float(rng.random()),
        "other": float(rng.random()),
        "size": int(rng.integers(1, 200)),
        "value": int(rng.integers(256)),
    }


def _damage(content: bytes, case: Case) -> bytes:
    damaged = bytearray(content)
    n = len(damaged)
    place, other = int(case["place"] * n), int(case["other"] * n)
    page, another = place // _PAGE * _PAGE, other // _PAGE * _PAGE
    kind = case["kind"]
    if kind == "bit":
        damaged[place] ^= 1 << case["value"] % 8
    elif kind == "byte":
        damaged[place] = case["value"]
    elif kind == "zeros":
        damaged[place : place + case["size"]] = bytes(case["size"])
    elif kind == "page":
        damaged[page : page + _PAGE] = bytes(_PAGE)
    elif kind == "cut":
        del damaged[place:]
    else:
        first, second = content[page : page + _PAGE], content[another : another + _PAGE]
        damaged[page : page + _PAGE], damaged[another : another + _PAGE] = second, first
    return bytes(damaged[:n])


def run(case: Case, folder: Path) -> None:
    """Check the damaged log, then serve it."""
    sound = _sound_log()
    served = folder / "served"
    served.mkdir()
    (served / _FILE).write_bytes(_damage(sound.content, case))
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = _command("serve", str(served), "--check")
    _require_one_line("--check", code, out.getvalue(), err.getvalue())
    service = _Service(served)
    try:
        if service.port is not None:
            _require_sound_models(service, sound)
    finally:
        code = service.end()
    if "Traceback" in service.text():
        report(f"a traceback: {service.text()[-3000:]}")
    if service.port is None:
        _require_one_line("serve", code, "", service.text())


def _require_one_line(what: str, code: int, out: str, err: str) -> None:
    if code not in (0, 1, 2) or (code == 2) != (len(err.splitlines()) == 1):
        report(f"{what}: exit code {code}: {(out + err)[-3000:]}")
    if "Traceback" in out + err:
        report(f"{what}: a traceback: {(out + err)[-3000:]}")


def _require_sound_models(service: _Service, sound: _Log) -> None:
    """Report a model that has changed without being reported as damaged."""
    _, health = service.ask("GET", "/healthz")
    unsound = health["broken_models"].keys() | health["degraded_models"].keys()
    _, found = service.ask("GET", "/v1/models")
    names = {each["name"] for each in found["models"]}
    lost = len(sound.predicted) - len(names)
    if lost and len([note for note in health["notes"] if "damaged" in note]) < lost:
        report(f"models are lost without a note: {sorted(names)}, {health}")
    for name in names & sound.predicted.keys():
        status, answer = service.ask("POST", f"/v1/models/{name}/predict", rows=_ROWS)
        if name in unsound:
            if status not in (200, 503):
                report(f"model {name} answers {status}")
        elif status != 200 or answer["labels"] != sound.predicted[name]:
            report(f"model {name} answers {status}, {answer}, {health}")
        more = {"rows": _ROWS[:2], "labels": _LABELS[:2]}
        status, answer = service.ask("POST", f"/v1/models/{name}/learn", **more)
        if status not in (200, 503):
            report(f"model {name} learns with {status}: {answer}")


def prepare() -> None:
    """Create the undamaged log."""
    _sound_log()


TARGET = Target(make, run, prepare)
