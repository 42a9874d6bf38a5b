"""Starting worker processes and sending them requests; see `peers.workers.serving`."""

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

#: One thread for every linear-algebra library, and a serial garbage collector for Java.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "BLIS_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "CAPYMOA_JVM_ARGS": "-Xmx4g -Xss10M -XX:+UseSerialGC",
}

# Number of last lines of a worker that died which are repeated in the error.
_LAST_LINES = 5


class WorkerError(Exception):
    """A request to a worker failed; the message says which worker, and why."""


class Worker:
    """A running worker process, and the folder through which it returns arrays.

    Parameters
    ----------
    name
        Its name in messages.
    process
        The process that reads requests and writes replies.
    folder
        Where it writes `reply.npz`, and its standard error goes to `messages.txt`.
    """

    def __init__(
        self, name: str, process: "subprocess.Popen[str]", folder: Path
    ) -> None:
        self.name = name
        self._pipes = cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)
        self._folder = folder

    def request(self, job: str, **request: object) -> dict[str, Any]:
        """Return the reply to a request; the arrays with it, if any, under "arrays".

        Raises
        ------
        WorkerError
            If the job failed, or the process has ended.
        """
        path = self._folder / "reply.npz"
        path.unlink(missing_ok=True)
        line = json.dumps({"job": job, "output": str(path), **request})
        requests, replies = self._pipes
        try:
            requests.write(line + "\n")
            requests.flush()
            line_read = replies.readline()
        except BrokenPipeError:
            line_read = ""
        if not line_read:
            raise WorkerError(f"{self.name}: its process has ended: {self._last()}")
        reply: dict[str, Any] = json.loads(line_read)
        if "error" in reply:
            raise WorkerError(f"{self.name}: {reply['error']}")
        if path.exists():
            with np.load(path) as arrays:
                reply["arrays"] = dict(arrays)
        return reply

    def _last(self) -> str:
        text = (self._folder / "messages.txt").read_text(errors="replace")
        return (
            " / ".join(text.split("\n")[-_LAST_LINES - 1 :]).strip(" /") or "silently"
        )


@contextmanager
def worker(name: str, python: str | Path, module: Path) -> Iterator[Worker]:
    """Start a worker process, and end it with the context.

    Parameters
    ----------
    name
        Its name in messages.
    python
        The interpreter of the library's environment.
    module
        The script of the library, which serving.py loads.
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
                env=_environment(python),
            ) as process,
        ):
            try:
                yield Worker(name, process, Path(folder))
            except BaseException:
                process.kill()  # it may still be running
                raise
            # Its input is closed now, which ends it.


def _environment(python: str | Path) -> dict[str, str]:
    """Return the environment variables of a worker.

    Only our own interpreter gets the path of rpnb.
    """
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | ONE_THREAD
    if str(python) == sys.executable:
        here = str(Path(__file__).parents[2] / "src")
        path = [here, os.environ.get("PYTHONPATH", "")]
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    return variables
