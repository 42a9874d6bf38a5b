"""Metrics of a run: columns of the table, entries of JSON, parts of the report."""

import json
from pathlib import Path

import pytest

from cli.run.three_classes import rows, write_rows
from rpnb import RPNBClassifier
from rpnb.cli import main
from rpnb.cli.run.arguments import METRICS
from rpnb.evaluate import metrics, prequential
from rpnb.evaluate.metrics import Metric

N = 300
FEW = ["--model", "RPNB", "--n-estimators", "7", "--quiet"]
ASKED: list[Metric] = ["auc", "log_loss", "kappa"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_rows(tmp_path, N)


def test_metrics_are_columns_of_the_table_entries_of_json_and_in_the_report(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.html"
    words = ["run", str(path), "--target", "kind", *FEW, "--compare", "RPNB", "PA"]
    asked = ["--metrics", *ASKED, "auc"]
    assert main([*words, *asked, "--report", str(report)]) == 0
    out = capsys.readouterr().out
    (head,) = [line for line in out.splitlines() if line.startswith("learner")]
    assert head.split()[4:-2] == ["macro", "F1", "AUC", "log", "loss", "kappa"]
    page = report.read_text()
    assert '<th scope="col">AUC</th>' in page
    assert main([*words, *asked, "--json"]) == 0
    ours, other = json.loads(capsys.readouterr().out)["learners"][:2]
    X, y = rows(N)
    result = prequential(RPNBClassifier(7, random_state=0), X, y, metrics=ASKED)
    course = result["RPNBClassifier"]
    assert ours["metrics"]["auc"] == course.last("auc")
    assert ours["metrics"] == pytest.approx(
        {name: course.last(name) for name in ASKED}, rel=1e-12
    )
    assert other["metrics"]["auc"] is other["metrics"]["log_loss"] is None
    assert f"{ours['metrics']['auc']:.4f}" in page
    assert main([*words, "--metrics", "size"]) == 2


def test_the_report_changes_neither_errors_nor_the_probabilities_of_predictions(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", str(path), "--target", "kind", *FEW, "--json"]
    found = []
    for extra in ([], ["--report", str(tmp_path / "r.html")], ["--metrics", "brier"]):
        for classes in ([], ["--classes", "one", "two", "three"]):
            file = tmp_path / "p.csv"
            assert main([*words, *extra, *classes, "--predictions", str(file)]) == 0
            error = json.loads(capsys.readouterr().out)["learners"][0]["error"]
            lines = file.read_text().splitlines()
            found.append((error, lines[:1] + lines[2:]))
    assert found[0] == found[2] == found[4]
    assert found[1] == found[3] == found[5]


def test_without_probabilities_the_report_has_no_calibration(
    path: Path, tmp_path: Path
) -> None:
    report = tmp_path / "report.html"
    words = ["run", str(path), "--target", "kind", *FEW, "--report", str(report)]
    assert main([*words, "--no-probabilities"]) == 0
    page = report.read_text()
    assert "Calibration" not in page
    assert ">Explanations</h2>" in page


def test_the_metrics_of_the_command_are_those_of_the_package() -> None:
    assert tuple(metrics.METRICS) == METRICS
