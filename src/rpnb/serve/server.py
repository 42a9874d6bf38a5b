"""The process of `rpnb serve`: one folder, one log, one port."""

import asyncio
import ctypes
import ipaddress
import json
import logging
import os
import socket
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import uvicorn

from rpnb.serve.app import make_app
from rpnb.serve.http.connections import GuardedProtocol
from rpnb.serve.http.guard import Guard
from rpnb.serve.http.routes import App
from rpnb.serve.kafka.source import KafkaOptions, KafkaSource
from rpnb.serve.limits import Limits
from rpnb.serve.log import LogError, make_private_file, make_private_folder
from rpnb.serve.metrics import Metrics
from rpnb.serve.tokens import Tokens
from rpnb.serve.upkeep import Schedule
from rpnb.serve.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

log = logging.getLogger("rpnb.serve")

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "color_message"}
# Seconds that requests may still take after a signal to stop.
_GRACE_SECONDS = 1
# M_MMAP_THRESHOLD, M_TRIM_THRESHOLD and M_ARENA_MAX of malloc.h.
_MALLOC_OPTIONS = {-3: 2**20, -1: 2**22, -8: 2}
# Open files besides connections: the log, temporary files, those of libraries.
_OTHER_FILES = 128


class Options(NamedTuple):
    """Options of a service."""

    folder: Path
    host: str = "127.0.0.1"
    port: int = 8000
    tokens: Tokens | None = None
    limits: Limits = Limits()
    schedule: Schedule = Schedule()
    log_requests: bool = False
    kafka: KafkaOptions | None = None
    make_app: "Callable[[Writer, Metrics], App]" = make_app


class JsonFormatter(logging.Formatter):
    """Formats each record as a JSON object in one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line: dict[str, Any] = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        line.update(
            {key: value for key, value in vars(record).items() if key not in _STANDARD}
        )
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def is_loopback(host: str) -> bool:
    """Return whether an address can only be reached from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def only_one(folder: Path) -> "Iterator[IO[str]]":
    """Hold the lock of a folder; raise LogError if another process has it."""
    if not folder.is_dir():
        raise LogError(f"{folder} is not a folder of rpnb serve")
    make_private_file(folder / "lock")
    file = (folder / "lock").open("a+")
    try:
        if os.name == "posix":
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise LogError(f"{folder} is in use by another rpnb serve") from None
        yield file
    finally:
        file.close()


class _Server(uvicorn.Server):
    """Ends the streams of live pages before it waits for open connections."""

    stopping: asyncio.Event
    source: KafkaSource | None = None

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Begin to stop."""
        super().handle_exit(sig, frame)
        # Uvicorn would raise the signal again after a graceful stop.
        self._captured_signals.clear()
        self.loop.call_soon_threadsafe(self.stopping.set)

    async def startup(self, sockets: Any = None) -> None:
        """Start, then read from Kafka."""
        self.loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self.source is not None:
            self.source.start(self.loop)

    async def shutdown(self, sockets: Any = None) -> None:
        """Stop reading from Kafka, then stop."""
        if self.source is not None:
            await asyncio.to_thread(self.source.stop)
        await super().shutdown(sockets)


def run(options: Options) -> int:
    """Serve until a signal arrives; return the exit code."""
    _set_up_logs()
    _return_memory()
    # The writer releases the interpreter's lock with each statement; return it soon.
    sys.setswitchinterval(0.001)
    _check_tokens(options)
    make_private_folder(options.folder)
    with only_one(options.folder):
        started = time.perf_counter()
        writer = Writer(options.folder, options.limits, options.schedule)
        for note in writer.health.notes:
            log.warning("damage", extra={"note": note})
        metrics = Metrics(writer)
        source = None
        if options.kafka is not None:
            source = KafkaSource(options.kafka, options.folder, writer)
            metrics.registry.register(source)
        app = options.make_app(writer, metrics)
        guard = Guard(
            app,
            options.limits,
            options.tokens,
            metrics,
            log_requests=options.log_requests,
        )
        listening = _listen(options.host, options.port)
        log.info(
            "listening",
            extra={
                "address": _address_of(listening),
                "models": len(writer.models),
                "restored_in": round(time.perf_counter() - started, 3),
            },
        )
        server = _Server(_uvicorn_config(guard, options.limits))
        server.stopping = app.stopping
        server.source = source
        server.run(sockets=[listening])
        log.info("stopped", extra={"models": len(writer.models)})
    return 0


def _check_tokens(options: Options) -> None:
    """Refuse to be reachable from other machines without tokens."""
    if options.tokens is None and not is_loopback(options.host):
        raise LogError(
            f"{options.host} can be reached from other machines: a token file is "
            "needed to listen there"
        )
    if options.tokens is not None and len(options.tokens) == 0:
        raise LogError("the token file has no tokens")


def _uvicorn_config(guard: Guard, limits: Limits) -> uvicorn.Config:
    return uvicorn.Config(
        guard,
        http=_protocol(limits),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        backlog=1024,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )


def _protocol(limits: Limits) -> type[GuardedProtocol]:
    """Return a class of connections, limited to what the process may open."""
    if os.name == "posix":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = limits.max_connections + _OTHER_FILES
        if soft != resource.RLIM_INFINITY and soft < wanted:
            most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            limits = replace(limits, max_connections=max(most - _OTHER_FILES, 8))
    return type("Connection", (GuardedProtocol,), {"limits": limits})


def _return_memory() -> None:
    """Let glibc return the memory of finished requests to the system.

    By default it keeps one heap per thread, with the gaps between used parts.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            mallopt = ctypes.CDLL(None).mallopt
            for parameter, value in _MALLOC_OPTIONS.items():
                mallopt(parameter, value)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        raise LogError(f"cannot listen on {host}, port {port}: {error}") from error
    listening.listen(1024)
    return listening


def _address_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _set_up_logs() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    log.setLevel(logging.INFO)
