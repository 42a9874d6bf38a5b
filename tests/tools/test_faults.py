"""A few kills and full disks; `make faults` runs a thousand."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from faults.kills import _kill_many
from faults.scenarios import OLD, Scenario

TOOLS = Path(__file__).parents[2] / "tools"

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="forks, limits and signals of Linux"
)


def run(*words: str) -> str:
    done = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-m", "faults", *words],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=TOOLS,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_few_kills_lose_nothing() -> None:
    out = run("kills", "4", "--seed", "1")
    lines = out.splitlines()
    assert lines[0] == "4 kills, seed 1"
    assert lines[-1] == "4 kills, 0 lost or torn, seed 1"
    for name in ("save", "rpnb run", "rpnb paper", "rpnb paper, report"):
        assert any(line.startswith(name) for line in lines)


def test_a_full_disk_changes_nothing_and_leaves_nothing() -> None:
    out = run("full", "--steps", "1")
    users = 2 if os.getuid() == 0 else 1
    assert out.count("1 times nothing changed and nothing left") == 4 * users
    assert (users == 1) == ("only as this user" in out)


def test_a_file_that_is_written_in_place_is_noticed() -> None:
    """The tool detects torn files of a writer that is not atomic."""

    def prepare(place: Path) -> None:
        (place / "file").write_text(OLD)

    def write(place: Path) -> int:
        with (place / "file").open("wb", buffering=0) as file:
            for _ in range(2000):
                file.write(b"x" * 10)
        return 0

    scenario = Scenario(
        "in place",
        prepare,
        write,
        lambda _name, content: content == b"x" * 20_000,
        ("file",),
        0.01,
        again=True,
    )
    tally = _kill_many(scenario, 20, None, np.random.default_rng(0))
    assert tally.kills == 20
    assert any("file is torn" in line for line in tally.torn)
