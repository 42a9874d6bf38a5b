"""A target with mistakes of every kind, to see that the fuzzer notices them."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from fuzzer.target import Case, Target, choose, report, require_no_temporary

KINDS = ("nothing", "refused", "error", "crash", "exit", "hang", "memory", "half")


def make(rng: np.random.Generator) -> Case:
    """Return one of the kinds."""
    return {"kind": choose(rng, KINDS)}


def run(case: Case, folder: Path) -> None:
    """Make the mistake."""
    kind = case["kind"]
    if kind == "refused":
        report("something must not have happened")
    if kind == "error":
        raise ZeroDivisionError(folder.name)
    if kind == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if kind == "exit":
        os._exit(3)
    if kind == "hang":
        until = time.process_time() + 1.5
        while time.process_time() < until:
            pass
    if kind == "memory":
        bytearray(3 << 30)
    if kind == "half":
        (folder / ".model.1.tmp").touch()
        require_no_temporary(folder)


TARGET = Target(make, run)
