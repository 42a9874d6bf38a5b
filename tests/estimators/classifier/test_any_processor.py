"""Labels and state have the same bits on a processor without wide vectors."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from numba import config

from rpnb import RPNBClassifier


def digest() -> str:
    """Return what distinguishes a run from any other: its labels, and what it learnt.

    Rows that are read by columns and by forms, with columns and features that fill no
    vector; some are predicted again, all at once.
    """
    rng = np.random.default_rng(8)
    y = rng.integers(0, 3, 3000)
    X = 3.0 * rng.normal(size=(3, 7))[y] + rng.normal(size=(3000, 7))
    X[:600] += 4.0 * rng.normal(size=(600, 7))
    model = RPNBClassifier(n_estimators=11, random_state=0)
    labels = model.predict_then_learn(X, y, classes=[0, 1, 2])
    found = hashlib.sha256(np.asarray(labels, np.int64).tobytes())
    found.update(model.predict(X).astype(np.int64).tobytes())
    for part in model._state.moments:
        found.update(part.tobytes())
    return f"{model.n_updates_} {found.hexdigest()}"


def test_the_width_of_vectors_leaves_no_trace() -> None:
    # Compiled code is kept by processor: neither side reads the other's.
    generic = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    code = "import test_any_processor as t; print(t.digest(), t.config.CPU_NAME)"
    found = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code],
        env={**os.environ, **generic},
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert found[:2] == digest().split()
    # The other side did not have this machine's vectors.
    assert found[2] == "generic" != getattr(config, "CPU_NAME", None)
