"""Our end of the talk with a worker; the other is `peers.workers.serving`."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

WORKERS = Path(__file__).with_name("workers")

#: One thread, whichever library does the arithmetic. Java gets a collector that has
#: no threads of its own.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "BLIS_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "CAPYMOA_JVM_ARGS": "-Xmx4g -Xss10M -XX:+UseSerialGC",
}

# So much of what a worker wrote on its way out is repeated.
_LAST_LINES = 5


class WorkerError(Exception):
    """A worker could not do as asked; the message says which, and why."""


class Worker:
    """A running worker, and the folder through which arrays reach us.

    Parameters
    ----------
    name
        What it is called in messages.
    process
        The process that reads requests and writes answers.
    folder
        Where `answer.npz` and `messages.txt`, what it wrote on the side, are.
    """

    def __init__(
        self, name: str, process: "subprocess.Popen[str]", folder: Path
    ) -> None:
        self.name = name
        self._pipes = cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)
        self._folder = folder

    def ask(self, job: str, **request: object) -> dict[str, Any]:
        """Return the answer to a request; the arrays with it, if any, under "arrays".

        Raises
        ------
        WorkerError
            If the worker refuses, or has ended.
        """
        path = self._folder / "answer.npz"
        path.unlink(missing_ok=True)
        line = json.dumps({"job": job, "answer": str(path), **request})
        requests, answers = self._pipes
        try:
            requests.write(line + "\n")
            requests.flush()
            reply = answers.readline()
        except BrokenPipeError:
            reply = ""
        if not reply:
            raise WorkerError(f"{self.name}: its process has ended: {self._last()}")
        answer: dict[str, Any] = json.loads(reply)
        if "error" in answer:
            raise WorkerError(f"{self.name}: {answer['error']}")
        if path.exists():
            with np.load(path) as arrays:
                answer["arrays"] = dict(arrays)
        return answer

    def _last(self) -> str:
        text = (self._folder / "messages.txt").read_text(errors="replace")
        return (
            " / ".join(text.split("\n")[-_LAST_LINES - 1 :]).strip(" /") or "silently"
        )


@contextmanager
def worker(name: str, python: str | Path, module: Path) -> Iterator[Worker]:
    """Start a worker and end it.

    Parameters
    ----------
    name
        What it is called in messages.
    python
        The interpreter of the library's environment.
    module
        The file that serving.py is given.
    """
    with tempfile.TemporaryDirectory(prefix="rpnb-bench-") as folder:
        messages = Path(folder) / "messages.txt"
        with (
            messages.open("w") as file,
            subprocess.Popen(  # noqa: S603  the interpreter is the user's own choice
                [str(python), str(WORKERS / "serving.py"), str(module)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                env=_surroundings(python),
            ) as process,
        ):
            try:
                yield Worker(name, process, Path(folder))
            except BaseException:
                process.kill()  # it may be in the midst of a run nobody waits for
                raise
            # Its input closes now, and it ends by itself.


def _surroundings(python: str | Path) -> dict[str, str]:
    """Return the environment variables of a worker.

    Only our own interpreter is told where rpnb is; another's modules are its own.
    """
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | ONE_THREAD
    if str(python) == sys.executable:
        here = str(Path(__file__).parents[2] / "src")
        path = [here, os.environ.get("PYTHONPATH", "")]
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    return variables
