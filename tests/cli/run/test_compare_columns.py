"""`rpnb compare` gives each learner the columns that it gets in `rpnb run`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rpnb.cli import main


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = ["size,town,shape,label"]
    for _ in range(600):
        town, shape, size = rng.integers(60), "uvw"[rng.integers(3)], rng.normal()
        label = "pq"[int((town * 7 % 5 < 2) ^ (shape == "u") ^ (size > 1.5))]
        lines.append(f"{size:.3f},town {town},{shape},{label}")
    path = tmp_path / "rows.csv"
    path.write_text("\n".join([*lines, ""]))
    return path


def found(capsys: pytest.CaptureFixture[str], *words: Any) -> dict[str, Any]:
    capsys.readouterr()
    line = [str(word) for word in words]
    assert main([*line, "--target", "label", "--json", "--quiet"]) == 0
    learners = json.loads(capsys.readouterr().out)["learners"]
    return {each["name"]: each["error"] for each in learners}


@pytest.mark.parametrize(
    "more", [(), ("--scale",), ("--shuffle", 3, "--metrics", "auc")]
)
def test_each_learner_errs_as_in_a_run(
    table: Path, more: tuple[Any, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("RPNB", "Pooled", "AROW", "GaussianNB")
    compared = found(capsys, "compare", table, "--learners", *names, *more)
    for name in names:
        alone = found(capsys, "run", table, "--model", name, *more)
        assert compared[name] == alone[name]
    if not more:
        codes = found(
            capsys, "compare", table, "--categorical", "codes", "--learners", *names
        )
        assert codes["Pooled"] > compared["Pooled"]
        assert codes["AROW"] == compared["AROW"]


def test_predictions_and_reasons_are_those_of_a_run(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.html"
    words = [
        "--target",
        "label",
        "--quiet",
        "--report",
        str(report),
        "--chunk-rows",
        "7",
    ]
    assert main(["compare", str(table), "--learners", "RPNB", "Pooled", *words]) == 0
    both = report.read_text()
    assert main(["run", str(table), *words]) == 0
    alone = report.read_text()
    name = 'aria-label="Importance'
    assert both.count(name) == 1 + alone.count(name)
    capsys.readouterr()


def test_missing_values_are_refused_with_the_learners_to_leave_out(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, *lines = table.read_text().splitlines()
    lines[5] = "," + lines[5].partition(",")[2]
    table.write_text("\n".join([head, *lines, ""]))
    words = ["compare", str(table), "--target", "label", "--quiet"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "or leave out RPNB, AROW, SCW, PA and GaussianNB, which do not" in said
    assert "by --learners Pooled" in said
    assert main([*words, "--learners", "Pooled"]) == 0
