"""Ctrl-C ends a run cleanly, and the requested files are written."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rpnb.baselines import PA
from rpnb.estimators.saving.files import read_attached

TIMEOUT = 120.0

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends signals")


def test_ctrl_c_stops_between_chunks_and_writes_the_outputs(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import rpnb.cli as c; raise SystemExit(c.main())"]
    words = ["run", "-", "--format", "csv", "--target", "y", "--model", "PA"]
    words += ["--chunk-rows", "500", "--predictions", "p.csv", "--save", "m.rpnb"]
    words += ["--report", "r.html", "--json", "--quiet"]
    with subprocess.Popen(  # noqa: S603 - the words are our own
        command + words,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdin is not None
            process.stdin.write(b"a,word,y\n")
            # Rows, and then a pipe that stays open: a stream in use. Each chunk has
            # another word, so the reader, which is ahead, knows more than the model.
            for row in range(40_000):
                cells = (row % 2, row // 500, row % 2)
                process.stdin.write(b"%d.5,w%d,%d\n" % cells)
            process.stdin.flush()
            waiting = list(tmp_path.glob(".p.csv.*.tmp"))
            until = time.monotonic() + TIMEOUT
            while not waiting or waiting[0].stat().st_size < 1000:
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.01)
                waiting = list(tmp_path.glob(".p.csv.*.tmp"))
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=TIMEOUT)
        finally:
            process.kill()
    assert process.returncode == 130, err
    assert b"Traceback" not in err
    found = json.loads(out)
    assert found["interrupted"]
    n = found["rows"]
    assert n > 0
    assert n % 500 == 0
    assert f"Stopped after {n} rows." in err.decode()
    with (tmp_path / "p.csv").open(newline="") as file:
        assert len(list(csv.reader(file))) == n + 1
    assert PA.load(tmp_path / "m.rpnb").n_samples_seen_ == n
    state = read_attached(tmp_path / "m.rpnb", "encoder")
    assert state["categories"]["word"] == [f"w{i}" for i in range(n // 500)]
    assert "The run was stopped" in (tmp_path / "r.html").read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.rpnb", "p.csv", "r.html"]
