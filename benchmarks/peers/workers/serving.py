"""The loop of a worker: requests and replies are lines of JSON, rows are .npz files.

Run by the interpreter of a library's environment, which need not have rpnb::

    python serving.py PATH/TO/NAME_worker.py

The script named on the command line has the functions of `Library`, and may have more
jobs in a dictionary `JOBS`. The process is bound to one processor, so that no library
gains by threads.
"""

import contextlib
import ctypes
import gc
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

Request: TypeAlias = dict[str, Any]
Reply: TypeAlias = dict[str, Any]


class Library(Protocol):
    """The functions of a library's script; `learner` is the name of a learner."""

    def version(self) -> str:
        """Return the library's release."""

    def prepare(self, learner: str, X: np.ndarray, y: np.ndarray, M: int) -> Any:
        """Return rows in the form that the library expects, labels 0 .. M-1."""

    def make(self, learner: str, p: int, M: int, K: int, seed: int) -> Any:
        """Return a new model; K members if it is an ensemble of that many."""

    def test_then_train(self, learner: str, model: Any, rows: Any) -> Any:
        """Return the labels (n,), each predicted before its row was learned.

        A label outside of 0 .. M-1 means no prediction.
        """

    def size(self, learner: str, model: Any, rows: Any) -> int | None:
        """Return the bytes of the saved model, None if it cannot be saved."""


def run(library: Library, request: Request) -> Reply:
    """Test, then train, until `at_least` seconds are spent; reply with the median.

    The time is from making the model to the last row learned, and is the processor
    time of all threads of the process.
    """
    learner, M, K = request["learner"], request["M"], request["K"]
    X, y = _rows(request)
    rows = library.prepare(learner, X, y, M)
    seconds: list[float] = []
    walls: list[float] = []
    while not seconds or sum(seconds) < request["at_least"]:
        model = None  # free the model of the last run first
        gc.collect()
        gc.freeze()  # keeps the garbage collector off the rows
        began, wall = time.process_time(), time.perf_counter()
        model = library.make(learner, X.shape[1], M, K, request["seed"])
        labels = library.test_then_train(learner, model, rows)
        seconds.append(time.process_time() - began)
        walls.append(time.perf_counter() - wall)
    gc.unfreeze()
    np.savez(request["output"], labels=np.asarray(labels, np.int64))
    return {
        "seconds": float(np.median(seconds)),
        "wall": float(np.median(walls)),
        "runs": len(seconds),
    }


def measure_size(library: Library, request: Request) -> Reply:
    """Reply with the bytes of the model, and the growth of the process for it."""
    learner, M, K = request["learner"], request["M"], request["K"]
    X, y = _rows(request)
    # Load with a few rows first: that memory is not the model's.
    model = library.make(learner, X.shape[1], M, min(K, 2), request["seed"])
    library.test_then_train(learner, model, library.prepare(learner, X[:32], y[:32], M))
    rows = library.prepare(learner, X, y, M)
    model = None
    gc.collect()
    _release_memory()
    before = _peak_memory(reset=True)
    model = library.make(learner, X.shape[1], M, K, request["seed"])
    library.test_then_train(learner, model, rows)
    peak = None if before is None else max((_peak_memory() or 0) - before, 0)
    return {"bytes": library.size(learner, model, rows), "peak": peak}


def report_version(library: Library, request: Request) -> Reply:
    """Reply with the library's release."""
    return {"version": library.version()}


JOBS: dict[str, Callable[[Any, Request], Reply]] = {
    "run": run,
    "size": measure_size,
    "version": report_version,
}


def _rows(request: Request) -> tuple[np.ndarray, np.ndarray]:
    with np.load(request["rows"]) as arrays:
        return arrays["X"][: request["n"]], arrays["y"][: request["n"]]


def _peak_memory(reset: bool = False) -> int | None:
    """Return the peak memory of the process in bytes, None if unknown.

    With `reset`, the peak restarts from the present, if the system allows it.
    """
    if reset:
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:  # not a Unix
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def _release_memory() -> None:
    """Return freed memory to the system, so that using it again shows as growth."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)


def main() -> None:
    """Reply to requests until the input ends."""
    # What a library prints, also from compiled code, must not mix with replies.
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    path = Path(sys.argv[1]).resolve()
    sys.path.insert(0, str(path.parent))
    library: Any = import_module(path.stem)
    jobs = JOBS | getattr(library, "JOBS", {})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = jobs[request["job"]](library, request)
        except Exception as error:
            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {error}"}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
