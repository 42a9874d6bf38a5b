"""Files and frames as people have them: read, or refused with what helps."""

import gzip
import json
import shlex
import subprocess
from pathlib import Path

import pytest

from journeys.steps import PA, TIMEOUT, Python, Run, on_demand, rows, variables, write

pytestmark = on_demand


def test_files_from_elsewhere(rpnb: Run, tmp_path: Path) -> None:
    """One file has what R, a spreadsheet and `cat` leave behind."""
    lines = [
        f'r{i},"{1 + i % 7},{100 + i % 800}.50",2026-01-{1 + i % 28:02d}T0{i % 9}'
        f":00:00Z,{'yes' if i % 10 > 4 else 'no'}"
        for i in range(120)
    ]
    parts = [["price,sent,late", *some] for some in (lines[:60], lines[60:])]
    (tmp_path / "all.csv").write_text("\n".join([*parts[0], *parts[1], ""]))
    words = ("fit", "all.csv", "--target", "late", "--save", "m.rpnb", "--json")
    refused = rpnb(*words, code=2).stderr
    assert "use --thousands ,;" in refused
    done = rpnb(*words, "--thousands", ",")
    found = json.loads(done.stdout)
    assert found["rows"] == 120
    assert found["columns"]["numbers"] == ["price"]
    assert found["columns"]["dates"] == ["sent"]
    assert [*found["columns"]["dropped"].values()] == ["an index without a name"]
    assert "a line that repeats the header is skipped" in done.stderr
    used = rpnb("predict", "all.csv", "--load", "m.rpnb", "--thousands", ",")
    assert len(used.stdout.splitlines()) == 121


def test_what_is_no_table_is_said(rpnb: Run, tmp_path: Path) -> None:
    (tmp_path / "page.csv").write_text("<!DOCTYPE html>\n<p>404\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "photo.csv").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    (tmp_path / "colons.csv").write_text("size:label\n" + "1:p\n2:q\n" * 30)
    for name, said in (
        ("page.csv", "a web page"),
        ("empty.csv", "the file is empty"),
        ("photo.csv", "a binary file"),
        ("colons.csv", "use --delimiter :"),
    ):
        assert said in rpnb("run", name, "--target", "label", code=2).stderr
    rpnb("run", "colons.csv", "--target", "label", "--delimiter", ":")


def test_the_standard_input_is_recognised(environment: Path, tmp_path: Path) -> None:
    write(tmp_path / "rows.csv", ";")
    nested = [{"size": {"w": a}, "label": c} for a, _, c in rows()]
    for data, columns in (
        (gzip.compress((tmp_path / "rows.csv").read_bytes()), ["size"]),
        (json.dumps(nested).encode(), ["size.w"]),
    ):
        done = subprocess.run(  # noqa: S603
            [environment / "rpnb", "run", "-", "--target", "label", *PA],
            cwd=tmp_path,
            env=variables(),
            input=data,
            capture_output=True,
            check=True,
            timeout=TIMEOUT,
        )
        assert json.loads(done.stdout)["columns"]["numbers"] == columns


def test_a_learner_that_reads_no_dates_says_which_does(
    rpnb: Run, tmp_path: Path
) -> None:
    lines = [f"2026-01-{1 + i % 28:02d},{c}" for i, (_, _, c) in enumerate(rows())]
    (tmp_path / "sent.csv").write_text("\n".join(["sent,label", *lines, ""]))
    words = ("compare", "sent.csv", "--target", "label")
    said = rpnb(*words, code=2).stderr
    option = shlex.split(said.partition(", or use ")[2].split(", which")[0])
    assert option == ["--learners", "Pooled"]
    assert "dates       sent" in rpnb(*words, *option).stdout
    write(tmp_path / "rows.csv")
    given = ("rows.csv", "--target", "label", "--json", "--learners", "pooled,PA")
    found = json.loads(rpnb("compare", *given).stdout)["learners"]
    assert [each["name"] for each in found[:2]] == ["Pooled", "PA"]


_FRAMES = """
import numpy as np, pandas as pd, rpnb
from rpnb.baselines import AROW
rng = np.random.default_rng(0)
frame = pd.DataFrame({"who": [f"person {i % 300}" for i in range(900)],
                      "kind": rng.choice(["a", "b", "c"], 900),
                      "x": rng.normal(size=900)})
y = np.where((frame["kind"] == "a") ^ (frame["x"] > 0), "p", "q")
model = rpnb.PooledClassifier(random_state=0).fit(frame[:600], y[:600])
model.save("m.rpnb")
print((rpnb.load("m.rpnb").predict(frame[600:]) != y[600:]).mean())
print(rpnb.load("m.rpnb").predict(frame[:2].assign(kind="new")).shape[0])
try:
    AROW().fit(frame, y)
except ValueError as error:
    print(error)
"""


def test_frames_are_learned_saved_and_refused_by_name(python: Python) -> None:
    pytest.importorskip("pandas")
    error, predicted, refused = python(_FRAMES).splitlines()
    assert float(error) < 0.1
    assert predicted == "2"
    assert "column 'who' holds text" in refused
    assert "PooledClassifier" in refused
