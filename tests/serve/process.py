"""`rpnb serve` as its own process."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import rpnb

# Seconds to wait for a server, or for a condition.
_PATIENCE = 120.0
_CODE = "import sys; from rpnb.cli import main; sys.exit(main())"


def wait_until(condition: Callable[[], object], what: str = "it is so") -> None:
    """Wait until a condition holds; fail if it does not within two minutes."""
    until = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < until, f"waited in vain until {what}"
        time.sleep(0.02)


def command_line(*words: str | Path) -> list[str]:
    return [sys.executable, "-c", _CODE, *map(str, words)]


def environment() -> dict[str, str]:
    source = str(Path(rpnb.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"}


def run_command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - a command of our own
        command_line(*words),
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )


class ServerProcess:
    """A server on a free port; its log lines are collected."""

    def __init__(self, folder: Path, *options: str, port: int = 0) -> None:
        self.folder = folder
        self.lines: list[dict[str, Any]] = []
        words = command_line("serve", folder, "--port", str(port), *options)
        self.process = subprocess.Popen(  # noqa: S603 - a command of our own
            words, stderr=subprocess.PIPE, text=True, env=environment()
        )
        assert self.process.stderr is not None
        self.text = ""
        # Do not wait forever for a server that never listens.
        too_late = threading.Timer(_PATIENCE, self.process.kill)
        too_late.start()
        for line in self.process.stderr:
            self.text += line
            if line.startswith("{"):
                self.lines.append(json.loads(line))
                if self.lines[-1]["message"] == "listening":
                    too_late.cancel()
                    break
        else:
            too_late.cancel()
            # Otherwise a later test would warn of it.
            self.process.wait()
            self.process.stderr.close()
            raise RuntimeError(f"the server did not start:\n{self.text}")
        self.address: str = self.lines[-1]["address"]
        self.port = int(self.address.rpartition(":")[2])
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.text += line
            if line.startswith("{"):
                self.lines.append(json.loads(line))

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait()
        self._close()

    def _close(self) -> None:
        self._reader.join()
        assert self.process.stderr is not None
        self.process.stderr.close()
        if "Traceback" in self.text:
            sys.stderr.write(self.text)

    def stop(self) -> float:
        """Ask it to stop; return the seconds that it took."""
        started = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(_PATIENCE)
        self._close()
        return time.monotonic() - started

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.kill()
