"""A worker's loop: a request is a line of JSON, the answer too; rows are .npz files.

Run by the interpreter of a library's environment, which need not have rpnb::

    python serving.py PATH/TO/NAME_worker.py

The module that is named holds what only this library can say (`Library`), and may hold
more jobs in a dictionary `JOBS`. The process keeps to one processor, so that a library
cannot be faster by threads.
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
Answer: TypeAlias = dict[str, Any]


class Library(Protocol):
    """What a worker's module has; `learner` is a name that the module knows."""

    def version(self) -> str:
        """Return the library's release."""

    def prepare(self, learner: str, X: np.ndarray, y: np.ndarray, M: int) -> Any:
        """Return rows in the form in which the library takes them, labels 0 .. M-1."""

    def make(self, learner: str, p: int, M: int, K: int, seed: int) -> Any:
        """Return a new model; K members if it is an ensemble of that many."""

    def test_then_train(self, learner: str, model: Any, rows: Any) -> Any:
        """Return the labels (n,), each predicted before its row was learnt.

        A label outside of 0 .. M-1 says that there was no answer.
        """

    def size(self, learner: str, model: Any, rows: Any) -> int | None:
        """Return the bytes of the model as the library would save it, if it can."""


def run(library: Library, request: Request) -> Answer:
    """Test, then train, until `at_least` seconds are spent; answer with the median.

    The clock runs from making the model to the last row learnt; it counts the
    processor time of all threads of the process.
    """
    learner, M, K = request["learner"], request["M"], request["K"]
    X, y = _rows(request)
    rows = library.prepare(learner, X, y, M)
    seconds: list[float] = []
    walls: list[float] = []
    while not seconds or sum(seconds) < request["at_least"]:
        model = None  # the last run's goes before the next is made
        gc.collect()
        gc.freeze()  # prepared rows are not looked through again while the clock runs
        began, wall = time.process_time(), time.perf_counter()
        model = library.make(learner, X.shape[1], M, K, request["seed"])
        labels = library.test_then_train(learner, model, rows)
        seconds.append(time.process_time() - began)
        walls.append(time.perf_counter() - wall)
    gc.unfreeze()
    np.savez(request["answer"], labels=np.asarray(labels, np.int64))
    return {
        "seconds": float(np.median(seconds)),
        "wall": float(np.median(walls)),
        "runs": len(seconds),
    }


def weigh(library: Library, request: Request) -> Answer:
    """Answer with the bytes of the model, and by how much the process grew for it."""
    learner, M, K = request["learner"], request["M"], request["K"]
    X, y = _rows(request)
    # The first rows load and compile what later ones need; that is not the model's.
    model = library.make(learner, X.shape[1], M, min(K, 2), request["seed"])
    library.test_then_train(learner, model, library.prepare(learner, X[:32], y[:32], M))
    rows = library.prepare(learner, X, y, M)
    model = None
    gc.collect()
    _give_back()
    before = _high_water(reset=True)
    model = library.make(learner, X.shape[1], M, K, request["seed"])
    library.test_then_train(learner, model, rows)
    peak = None if before is None else max((_high_water() or 0) - before, 0)
    return {"bytes": library.size(learner, model, rows), "peak": peak}


def greet(library: Library, request: Request) -> Answer:
    """Answer with the library's release."""
    return {"version": library.version()}


JOBS: dict[str, Callable[[Any, Request], Answer]] = {
    "run": run,
    "weigh": weigh,
    "greet": greet,
}


def _rows(request: Request) -> tuple[np.ndarray, np.ndarray]:
    with np.load(request["rows"]) as arrays:
        return arrays["X"][: request["n"]], arrays["y"][: request["n"]]


def _high_water(reset: bool = False) -> int | None:
    """Return the most bytes that the process had at once in memory, if it is known.

    Where the system allows, `reset` begins anew with what it has now.
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


def _give_back() -> None:
    """Return freed memory to the system, so that using it again shows as growth."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # glibc has it
        ctypes.CDLL(None).malloc_trim(0)


def main() -> None:
    """Answer requests until the input ends."""
    # Whatever a library prints is no answer, not even what compiled code prints.
    answers = os.fdopen(os.dup(1), "w")
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
            answer = jobs[request["job"]](library, request)
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
