"""`--drift`: learners that are reset when their errors rise."""

import json
from pathlib import Path

import numpy as np
import pytest

from rpnb.cli import main


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1600)
    X = rng.normal(size=(1600, 3)) + 2.0 * y[:, None]
    X[800:] *= -1.0
    lines = [
        ",".join([*map(repr, x), "ab"[k]]) for x, k in zip(X.tolist(), y, strict=True)
    ]
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(["u,v,w,kind", *lines]) + "\n")
    return file


def test_alarms_are_in_the_table_in_json_and_in_the_report(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", str(path), "--target", "kind", "--update", "all", "--quiet"]
    words += ["--model", "RPNB", "--n-estimators", "7", "--drift", "adwin"]
    assert main([*words, "--json"]) == 0
    learner = json.loads(capsys.readouterr().out)["learners"][0]
    (alarm,) = learner["drifts"]
    assert 800 < alarm < 900
    assert learner["parameters"]["n_estimators"] == 7
    assert main([*words, "--scale", "--report", str(tmp_path / "page.html")]) == 0
    shown = capsys.readouterr().out
    assert "drift alarm, at row 8" in shown
    assert "Scaled online (running mean and standard deviation): RPNB." in shown
    page = (tmp_path / "page.html").read_text()
    assert "<dt>Drift alarms, by row</dt>" in page
    # In two curves, each for wide screens and for narrow ones, and in their data.
    assert page.count("RPNB: alarm at row 8") == 4
    assert page.count('"marks":[{"row":8') == 2
    assert learner["error"] < 0.2


def test_a_learner_with_a_detector_is_saved_and_resumed(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two halves of a file give the same result as the whole file."""
    head, *rows = path.read_text().splitlines()
    for name, part in (("first.csv", rows[:700]), ("second.csv", rows[700:])):
        (tmp_path / name).write_text("\n".join([head, *part]))
    words = ["--target", "kind", "--model", "GaussianNB"]
    model, drift = str(tmp_path / "m.rpnb"), ["--drift", "adwin"]
    assert main(["run", str(path), *words, *drift, "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)["learners"][0]["drifts"]
    first = ["run", str(tmp_path / "first.csv"), *words, *drift, "--save", model]
    assert main(first) == 0
    capsys.readouterr()
    second = ["run", str(tmp_path / "second.csv"), "--target", "kind", "--load", model]
    assert main([*second, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["learners"][0]["drifts"] == whole != []


def test_missing_values_are_learned_with_a_detector(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "holes.csv"
    lines = [f"{i % 7 if i % 5 else ''},{'pq'[i % 7 > 3]}" for i in range(300)]
    path.write_text("\n".join(["x,y", *lines, ""]))
    words = ["run", str(path), "--target", "y", "--drift", "adwin", "--json", "--quiet"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["learners"][0]["error"] < 0.3


@pytest.mark.parametrize("end", ["", "T12:00:00+02:00"])
def test_dates_are_refused_with_the_option_to_leave_out(
    tmp_path: Path, end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "dates.csv"
    lines = [f"2024-01-{1 + i % 28:02d}{end},{i % 7},{'pq'[i % 2]}" for i in range(90)]
    path.write_text("\n".join(["d,x,y", *lines, ""]))
    words = ["run", str(path), "--target", "y", "--quiet"]
    assert main([*words, "--drift", "adwin"]) == 2
    assert "Pooled without --drift, which reads it" in capsys.readouterr().err
    assert main([*words, "--model", "AROW"]) == 2
    assert "--model Pooled, which reads it" in capsys.readouterr().err
    assert main(words) == 0
