"""`rpnb run --engine spark` gives the same table and report as one process."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rpnb.cli import main
from rpnb.estimators.rpnb import RPNBClassifier
from spark.workloads import labelled, named

# What depends on the clock, on the machine, or on the name of the file.
ASIDE = {"seconds", "peak_megabytes", "source", "written"}


def run(
    capsys: pytest.CaptureFixture[str], *words: str | Path, target: str = "label"
) -> Any:
    given = [*map(str, words), "--model", "RPNB", "--target", target]
    code = main(["run", *given, "--json", "--quiet"])
    out, err = capsys.readouterr()
    assert code == 0, err
    return json.loads(out)


def stripped(result: Any) -> Any:
    learners = [
        {name: value for name, value in each.items() if name not in ASIDE}
        for each in result["learners"]
    ]
    kept = {name: value for name, value in result.items() if name not in ASIDE}
    return kept | {"learners": learners}


def test_a_folder_is_learned_as_one_file(
    spark: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The command would stop the session that the other tests use.
    monkeypatch.setattr("rpnb.cli.run.on_spark._session", lambda _: spark)
    monkeypatch.setattr(type(spark), "stop", lambda _: None)
    X, y = labelled(5000)
    frame = named(X).assign(label=np.array(["ant", "bee", "cat", "dog"])[y])
    folder = tmp_path / "folder"
    folder.mkdir()
    for number, part in enumerate((slice(0, 1800), slice(1800, 5000))):
        frame[part].to_csv(folder / f"part{number}.csv", index=False)
    frame.to_csv(tmp_path / "whole.csv", index=False)
    options = ["--batch-size", "2300", "--n-estimators", "5", "--metrics"]
    options += ["log_loss", "brier", "auc", "coverage", "kappa"]
    outputs = {
        name: [
            *("--report", f"{tmp_path}/{name}.html"),
            *("--save", f"{tmp_path}/{name}.rpnb"),
            *("--predictions", f"{tmp_path}/{name}.csv"),
        ]
        for name in ("one", "many")
    }
    one = run(capsys, tmp_path / "whole.csv", *options, *outputs["one"])
    many = run(capsys, folder, *options, *outputs["many"], "--engine", "spark")
    assert stripped(many) == stripped(one)
    assert set(one["learners"][0]["metrics"]) > {"log_loss", "coverage"}
    assert (tmp_path / "many.csv").read_text() == (tmp_path / "one.csv").read_text()
    models = [RPNBClassifier.load(tmp_path / f"{name}.rpnb") for name in outputs]
    assert (models[0]._state.moments.mean == models[1]._state.moments.mean).all()
    weights = [model._state.calibration.weights for model in models]
    assert (weights[0] == weights[1]).all()
    assert "<svg" in (tmp_path / "many.html").read_text()
    code = main(
        ["run", str(folder), "--engine", "spark", "--target", "label", *options]
    )
    out, err = capsys.readouterr()
    assert code == 0, err
    assert "5,000 rows, 5 features, 4 classes, in the order of the file" in out
    assert "majority class" in out


@pytest.mark.parametrize("labels", [["ant", "bee", "cat", "dog"], ["0", "1", "2", "3"]])
def test_columns_without_names_and_declared_classes(
    spark: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    labels: list[str],
) -> None:
    monkeypatch.setattr("rpnb.cli.run.on_spark._session", lambda _: spark)
    monkeypatch.setattr(type(spark), "stop", lambda _: None)
    X, y = labelled(400)
    path = tmp_path / "rows.tsv"
    frame = named(X).assign(label=np.array(labels)[y])
    frame.to_csv(path, index=False, header=False, sep="\t")
    options = ["--no-header", "--classes", *labels, "--batch-size", "150"]
    options += ["--n-estimators", "5", "--drop", "2"]
    target = str(len(frame.columns))
    one = run(capsys, path, *options, target=target)
    many = run(capsys, path, *options, "--engine", "spark", target=target)
    assert stripped(many) == stripped(one)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "batch_size=1 predicts each row"),
        (["--model", "Pooled"], "Set members='mergeable'"),
        (["--model", "PA"], "PA learns row by row"),
        (["--model", "GaussianNB"], "--engine spark needs --batch-size"),
        (["--batch-size", "9", "--shuffle", "1"], "--shuffle cannot be used"),
        (["--batch-size", "9", "--compare", "RPNB", "PA"], "one learner at a time"),
    ],
)
def test_what_spark_cannot_do_is_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", "nowhere", "--engine", "spark", "--target", "label", *words]
    assert main(command) == 2
    assert message in capsys.readouterr().err
