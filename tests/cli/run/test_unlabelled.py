"""Rows without a label are predicted, and neither learned nor counted."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rpnb.baselines import make
from rpnb.cli import main

N = 120


def rows() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, N)
    X = rng.standard_normal((N, 3)) + 2 * np.eye(3)[y]
    hidden = rng.random(N) < 0.3
    hidden[:7] = True  # before the first label nothing is known
    return X, np.array(["p", "q", "r"])[y], hidden


def slowly(name: str) -> tuple[list[str], int]:
    """Predictions, and mistakes among rows with a label, row by row."""
    X, y, hidden = rows()
    model: Any = make(name)
    predictions, mistakes = [], 0
    for i in range(N):
        known = hasattr(model, "classes_")
        label = str(model.predict(X[i : i + 1])[0]) if known else ""
        predictions.append(label)
        if not hidden[i]:
            mistakes += label != y[i]
            model.partial_fit(X[i : i + 1], y[i : i + 1])
    return predictions, mistakes


@pytest.mark.parametrize("words", [[], ["--no-probabilities"]])
@pytest.mark.parametrize("size", [5, 1000])
@pytest.mark.parametrize("name", ["PA", "GaussianNB"])
def test_rows_without_a_label_are_predicted_and_not_learned(
    name: str,
    size: int,
    words: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    X, y, hidden = rows()
    lines = [
        ",".join([*map(repr, x), "" if hidden[i] else y[i]])
        for i, x in enumerate(X.tolist())
    ]
    path, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    path.write_text("\n".join(["a,b,c,y", *lines]) + "\n")
    command = ["run", str(path), "--target", "y", "--model", name, "--quiet"]
    assert main(command) == 2
    assert "row 1, column y: the label is missing; use --unlabelled predict" in (
        capsys.readouterr().err
    )
    command += ["--unlabelled", "predict", "--chunk-rows", str(size), "--json"]
    assert main([*command, "--predictions", str(out), *words]) == 0
    found = json.loads(capsys.readouterr().out)
    predictions, mistakes = slowly(name)
    assert found["unlabelled"] == hidden.sum()
    assert found["rows"] == N - hidden.sum()
    assert found["learners"][0]["mistakes"] == mistakes
    with out.open(newline="") as file:
        written = list(csv.DictReader(file))
    assert [line["prediction"] for line in written] == predictions
    assert [line["truth"] for line in written] == np.where(hidden, "", y).tolist()


def test_a_file_without_any_label_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n1,\n2,\n")
    command = ["run", str(path), "--target", "y", "--model", "PA", "--quiet"]
    assert main([*command, "--unlabelled", "predict"]) == 2
    assert "no row has a label" in capsys.readouterr().err
