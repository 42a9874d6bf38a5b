"""A few kills, and a few sizes of a full disk; `make faults` makes a thousand."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "faults.py"

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.environ.get("NUMBA_DISABLE_JIT") == "1",
    reason="forks, limits and signals of Linux; compiled learners",
)


def run(*words: str) -> str:
    done = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, str(TOOL), *words],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_few_kills_lose_nothing() -> None:
    out = run("kills", "24", "--only", "save", "--seed", "1")
    assert out.splitlines()[-1] == "24 kills, 0 lost or torn, seed 1"


def test_a_full_disk_changes_nothing_and_leaves_nothing() -> None:
    out = run("full", "--steps", "6")
    assert out.count("6 times nothing changed and nothing left") == 2
