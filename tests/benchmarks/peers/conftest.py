"""Workers that reply in this process: starting one costs the imports of its library."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peers.worker_process import WorkerError
from peers.workers import serving


class WorkerHere:
    """The jobs of `serving` for one library, without a process in between."""

    def __init__(self, name: str, module: Path, folder: Path) -> None:
        self.name = name
        self._library: Any = import_module(f"peers.workers.{module.stem}")
        self._output = folder / "reply.npz"

    def request(self, job: str, **request: object) -> dict[str, Any]:
        """Return the reply to a request, as `Worker.request` does."""
        self._output.unlink(missing_ok=True)
        sent = json.loads(json.dumps({"output": str(self._output), **request}))
        try:
            reply = serving.JOBS[job](self._library, sent)
        except Exception as error:
            raise WorkerError(f"{self.name}: {error}") from error
        if self._output.exists():
            with np.load(self._output) as arrays:
                reply["arrays"] = dict(arrays)
        return reply


@pytest.fixture(scope="session")
def worker_here(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A function like `worker`, whose workers reply in this process."""

    @contextmanager
    def worker(name: str, python: str | Path, module: Path) -> Iterator[WorkerHere]:
        yield WorkerHere(name, module, tmp_path_factory.mktemp("worker"))

    return worker
