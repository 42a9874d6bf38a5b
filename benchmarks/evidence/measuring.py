"""One learner on one stream: its errors and its cost."""

import ctypes
import gc
import math
import multiprocessing
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from evidence.learners import Make
from rpnb import __version__
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.evaluate.confusion import log_losses
from rpnb.evaluate.metrics import kappa_temporal

BLOCK = 1000
_MEGA = 1e6


def forked(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a separate process, and return its result.

    The process is a fork, so the rows need not be read again. Memory that this process
    has freed goes back to the system first: what the other one allocates would reuse
    it, and not count as growth.
    """
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # glibc's
        trim(0)
    context = multiprocessing.get_context("fork")
    ours, its = context.Pipe(duplex=False)

    def work() -> None:
        its.send(function(*arguments))
        its.close()

    process = context.Process(target=work)
    process.start()
    its.close()
    try:
        found = ours.recv()
    except EOFError:
        raise SystemExit("a learner ended without a result") from None
    finally:
        process.join()
    return found


def measure(
    make: Make,
    X: FloatArray,
    y: IntArray,
    seed: int,
    minutes: float,
    until: float = math.inf,
) -> dict[str, Any]:
    """Run a learner block by block, and return the measurements.

    It is stopped after so many minutes of processor time, or when `time.time` is
    `until`, between two blocks; "minutes" says how many it was given. The time
    of a row is that of the calling thread, so that what Java compiles does not count.
    Memory is that of the process at its highest less that before the first row; of Java
    it is what is in use once everything else is collected.
    """
    M = int(y.max()) + 1
    step = make(X.shape[1], M, seed)
    before = _heap() if "jpype" in sys.modules else resident()
    wrong: list[int] = []
    losses: list[float] = []
    used, done, begun = 0.0, 0, time.process_time()
    limit = begun + 60.0 * minutes
    while done < len(y) and (
        done == 0 or (time.process_time() < limit and time.time() < until)
    ):
        rows, labels = X[done : done + BLOCK], y[done : done + BLOCK]
        start = time.thread_time()
        predicted, P = step(rows, labels)
        used += time.thread_time() - start
        wrong.append(int(np.sum(predicted != labels)))
        found = None if P is None else P[np.arange(len(labels)), labels]
        losses.append(float(log_losses(found, len(labels)).sum()))
        done += len(labels)
    spent = (time.process_time() - begun) / 60.0
    after = _heap() if "jpype" in sys.modules else _highest()
    error = sum(wrong) / done
    same = float(np.mean(y[1:done] == y[: done - 1]))
    return {
        # A learner stopped by the clock records fewer minutes, so that the same command
        # runs it again.
        "minutes": minutes if time.time() < until else min(minutes, spent),
        "rows": done,
        "of": len(y),
        "error": error,
        "log_loss": sum(losses) / done,
        "kappa_temporal": kappa_temporal(1.0 - error, same),
        "seconds": used,
        "megabytes": (after - before) / _MEGA,
        "wrong": wrong,
        "losses": [round(loss, 1) for loss in losses],
        "version": __version__,
    }


def import_seconds() -> float:
    """Return the processor time of a process that imports scikit-learn, best of three.

    It indicates the current speed of the machine.
    """
    found = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", "import sklearn"], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        )
    return min(found)


def _heap() -> float:
    """Return the bytes that Java uses, after a collection."""
    import jpype

    runtime = jpype.JClass("java.lang.Runtime").getRuntime()
    for _ in range(2):
        jpype.JClass("java.lang.System").gc()
    return float(runtime.totalMemory() - runtime.freeMemory())


def resident() -> float:
    """Return the bytes that this process has in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return float(pages * resource.getpagesize())


def _highest() -> float:
    return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
