"""`rpnb predict` gives the model's predictions for any file and output format."""

import csv
import json
import os
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas  # type: ignore[import-untyped]
import pyarrow.feather
import pyarrow.parquet
import pytest

from rpnb.baselines import GaussianNB
from rpnb.cli import main

N = 90


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, the rows it was trained with, and new ones in another order."""
    folder = tmp_path_factory.mktemp("predict")
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, N)
    frame = pandas.DataFrame(
        rng.standard_normal((N, 2)) + y[:, None], columns=["a", "b"]
    )
    frame["word"] = np.array(["u", "v", "w"])[rng.permutation(y)]
    frame.loc[::9, "b"] = np.nan
    frame["label"] = np.array(["one", "two", "three"])[y]
    frame[:60].to_csv(folder / "train.csv", index=False)
    frame[60:][["word", "b", "a"]].assign(id=range(30)).to_csv(
        folder / "new.csv", index=False
    )
    words = ["run", str(folder / "train.csv"), "--target", "label", "--missing", "mean"]
    words += ["--model", "GaussianNB", "--quiet", "--save", str(folder / "m.rpnb")]
    assert main(words) == 0
    return folder


def expected(folder: Path) -> tuple[Any, Any, Any]:
    """Predictions and probabilities, by the library itself."""
    train = pandas.read_csv(folder / "train.csv")
    new = pandas.read_csv(folder / "new.csv")
    codes = {word: float(i) for i, word in enumerate(train["word"].unique())}
    X = new[["a", "b", "word"]].copy()
    X["word"] = X["word"].map(codes)
    # The mean of the training stays as it is: a row's prediction depends on it alone.
    X["b"] = X["b"].fillna(train["b"].mean())
    model = GaussianNB.load(folder / "m.rpnb")
    rows = X.astype(float).rename(columns={"word": "word (code)"})
    return model.predict(rows), model.predict_proba(rows), model.classes_


def test_units_of_the_training_are_those_of_new_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{i % 9} kg,{'ab'[i % 9 > 4]}" for i in range(90)]
    (tmp_path / "old.csv").write_text("\n".join(["mass,y", *rows]) + "\n")
    (tmp_path / "new.csv").write_text("mass,id\n1 kg,1\n8,2\n7.5 kg,3\n")
    words = ["fit", str(tmp_path / "old.csv"), "--target", "y", "--quiet"]
    assert main([*words, "--save", str(tmp_path / "m.rpnb")]) == 0
    capsys.readouterr()
    new, model = str(tmp_path / "new.csv"), str(tmp_path / "m.rpnb")
    assert main(["predict", new, "--load", model, "--probabilities", "none"]) == 0
    found = capsys.readouterr().out.splitlines()
    assert found == ["row,prediction", "1,a", "2,b", "3,b"]
    (tmp_path / "new.csv").write_text("mass,id\n1 lb,1\n")
    assert main(["predict", new, "--load", model]) == 2
    assert (
        "row 1, column mass: '1 lb' has the unit lb, unlike" in capsys.readouterr().err
    )


def test_labels_and_probabilities_are_those_of_the_model(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels, P, _ = expected(folder)
    load = ["--load", str(folder / "m.rpnb")]
    assert main(["predict", str(folder / "new.csv"), *load, "--chunk-rows", "7"]) == 0
    found = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [line["prediction"] for line in found] == labels.tolist()
    assert [int(line["row"]) for line in found] == list(range(1, 31))
    probabilities = [float(line["probability"]) for line in found]
    np.testing.assert_allclose(probabilities, P.max(axis=1), rtol=1e-5)


COSTS = {
    ("one", "one"): 0.0, ("one", "two"): 9.0, ("one", "three"): 8.0,
    ("two", "one"): 1.0, ("two", "two"): 0.0, ("two", "three"): 1.5,
    ("three", "one"): 1.0, ("three", "two"): 2.0, ("three", "three"): 0.5,
}  # fmt: skip


def write_costs(path: Path, rows: list[str], columns: list[str]) -> None:
    lines = [",".join(["true label", *columns])]
    lines += [
        ",".join([true, *(str(COSTS[true, predicted]) for predicted in columns)])
        for true in rows
    ]
    path.write_text("\n".join(lines) + "\n")


def test_costs_are_found_by_the_names_of_labels(folder: Path) -> None:
    _, P, classes = expected(folder)
    matrix = [[COSTS[true, each] for each in classes] for true in classes]
    labels = classes[(P @ np.array(matrix)).argmin(axis=1)]
    write_costs(folder / "costs.csv", ["two", "three", "one"], ["one", "three", "two"])
    out = folder / "costs_out.csv"
    words = ["predict", str(folder / "new.csv"), "--load", str(folder / "m.rpnb")]
    words += ["--costs", str(folder / "costs.csv"), "--output", str(out), "--quiet"]
    assert main(words) == 0
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["prediction"] for row in rows] == labels.tolist()
    assert labels.tolist() != expected(folder)[0].tolist()
    given = [float(row["probability"]) for row in rows]
    places = np.searchsorted(classes, labels)
    np.testing.assert_allclose(given, P[np.arange(len(P)), places], rtol=1e-5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "",
            "must have exactly one column for each class: one, three, two; it has none",
        ),
        (
            "t,one,two\none,0,1\ntwo,1,0\n",
            "must have exactly one column for each class",
        ),
        (
            "t,one,two,three\none,0,1,1\n",
            "must have exactly one row for each class: one",
        ),
        (
            "t,one,two,three\none,0,1,1\ntwo,1,0\nthree,1,1,0\n",
            "the row of two must have 3 costs, got 2",
        ),
        (
            "t,one,two,three\none,0,1,1\ntwo,1,0,much\nthree,1,1,0\n",
            "the cost of predicting three for two must be a number, got 'much'",
        ),
        (
            "t,one,two,three\none,0,1,1\ntwo,1,0,nan\nthree,1,1,0\n",
            "got nan for true class 'two' and prediction 'three'",
        ),
    ],
)
def test_an_invalid_table_of_costs_is_refused(
    text: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "bad_costs.csv"
    path.write_text(text)
    words = ["predict", str(folder / "new.csv"), "--load", str(folder / "m.rpnb")]
    assert main([*words, "--costs", str(path), "--quiet"]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "feather"])
def test_every_output_format_has_the_same_rows(ending: str, folder: Path) -> None:
    labels, P, classes = expected(folder)
    out = folder / f"out.{ending}"
    words = ["predict", str(folder / "new.csv"), "--load", str(folder / "m.rpnb")]
    words += ["--output", str(out), "--probabilities", "all", "--chunk-rows", "8"]
    assert main([*words, "--quiet"]) == 0
    read: Any = {
        "csv": pandas.read_csv,
        "tsv": lambda path: pandas.read_csv(path, sep="\t"),
        "jsonl": lambda path: pandas.read_json(path, lines=True),
        "parquet": lambda path: pyarrow.parquet.read_table(path).to_pandas(),
        "feather": lambda path: pyarrow.feather.read_table(path).to_pandas(),
    }[ending]
    frame = read(out)
    names = [f"probability of {label}" for label in classes]
    assert list(frame.columns) == ["row", "prediction", *names]
    assert frame["prediction"].tolist() == labels.tolist()
    np.testing.assert_allclose(frame[names].to_numpy(), P, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(os.name != "posix", reason="named pipes")
@pytest.mark.parametrize("limit", [1, 2**24])
@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_a_pipe_gets_the_bytes_of_the_file(
    ending: str,
    limit: int,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rpnb.cli.run.outputs._IN_MEMORY", limit)
    file, pipe, received = (tmp_path / f"{name}.{ending}" for name in "abc")
    os.mkfifo(pipe)
    reader = threading.Thread(
        target=lambda: received.write_bytes(pipe.read_bytes()), daemon=True
    )
    reader.start()
    words = ["predict", str(folder / "new.csv"), "--load", str(folder / "m.rpnb")]
    for out in (file, pipe):
        assert main([*words, "--output", str(out), "--quiet"]) == 0
    reader.join(20)
    assert pipe.is_fifo()
    assert received.read_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop(columns="a"), "trained with the column 'a'"),
        (
            lambda frame: frame.drop(columns=["a", "b"]),
            "trained with the columns 'a', 'b', which are not in the file",
        ),
        (lambda frame: frame.assign(a="x"), "row 1, column a: 'x' is not a number"),
        (lambda frame: frame.assign(a=1e200), "row 1, column a: 1e+200 is too large"),
    ],
)
def test_columns_are_checked_by_name(
    change: Any,
    message: str,
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    change(pandas.read_csv(folder / "new.csv")).to_csv(path, index=False)
    words = ["predict", str(path), "--load", str(folder / "m.rpnb"), "--output"]
    assert main([*words, str(out)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"rpnb predict: {path}")
    assert message in err
    assert err.count("\n") == 1
    assert not out.exists()


def test_neither_the_rows_nor_the_model_are_written_to(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["predict", str(folder / "new.csv"), "--load", str(folder / "m.rpnb")]
    for name in ("new.csv", "m.rpnb"):
        before = (folder / name).read_bytes()
        assert main([*words, "--output", str(folder / name)]) == 2
        assert "is an input file" in capsys.readouterr().err
        assert (folder / name).read_bytes() == before


def test_a_sparse_file_is_read_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, model = tmp_path / "rows.svm", tmp_path / "m.rpnb"
    path.write_text("1 0:5 2:1\n2 1:7\n" * 10)
    assert (
        main(["run", str(path), "--model", "PA", "--quiet", "--save", str(model)]) == 0
    )
    path.write_text("0 0:5\n0 1:7\n")  # the highest feature is in no row of it
    capsys.readouterr()
    assert main(["predict", str(path), "--load", str(model)]) == 0
    assert capsys.readouterr().out == "row,prediction\n1,1\n2,2\n"
    words = ["predict", str(path), "--load", str(model), "--probabilities", "all"]
    assert main(words) == 2
    assert "PA has no probabilities" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["predict", "run"])
def test_a_model_of_sparse_rows_refuses_columns_and_the_reverse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    sparse, dense = tmp_path / "rows.svm", tmp_path / "rows.csv"
    sparse.write_text("1 1:5 2:1\n2 2:7\n" * 10)
    dense.write_text("a,b,label\n" + "5,1,1\n0,7,2\n" * 10)
    target = {sparse: [], dense: ["--target", "label"]}
    problems = {sparse: "svmlight files do not have", dense: "csv files do not have"}
    for path, other in ((sparse, dense), (dense, sparse)):
        model = tmp_path / "m.rpnb"
        words = ["--model", "PA", "--quiet", "--save", str(model)]
        assert main(["run", str(path), *target[path], *words]) == 0
        capsys.readouterr()
        words = target[other] if command == "run" else []
        assert main([command, str(other), *words, "--load", str(model)]) == 2
        message = capsys.readouterr().err
        assert message.startswith(f"rpnb {command}: {other}: the model was saved with")
        assert problems[other] in message


def test_a_resumed_run_takes_the_kinds_of_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    first.write_text("code,a,y\n" + "x,1,u\n7,2,v\n" * 5)
    second.write_text("a,y,code\n1,u,7\n2,v,7\n")  # codes look like numbers here
    words = ["--quiet", "--json", "--target", "y"]
    model = str(tmp_path / "m.rpnb")
    learner = ["--model", "PA", "--as-category", "code", "--save", model]
    assert main(["run", str(first), *words, *learner]) == 0
    capsys.readouterr()
    assert main(["run", str(second), *words, "--load", model]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["columns"]["categories"] == {"code": 2}
    second.write_text("a,y,code,more\n1,u,7,1\n2,v,7,1\n")
    assert main(["run", str(second), *words, "--load", model]) == 2
    assert "this file has more: more; drop them with --drop more" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize("cell", ["missing", "0,5"])
def test_what_is_proposed_for_a_cell_is_an_option_of_predict(
    cell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    first.write_text("a;b;y\n" + "0;1;u\n7;2;v\n" * 5)
    second.write_text(f"a;b\n1;2\n{cell};3\n")
    model = str(tmp_path / "m.rpnb")
    fit = ["fit", str(first), "--target", "y", "--save", model, "--quiet"]
    assert main([*fit, "--model", "Pooled"]) == 0
    assert main(["predict", str(second), "--load", model]) == 2
    said = capsys.readouterr().err
    assert "--as-category" not in said
    option = ["--na", "missing"] if cell == "missing" else ["--decimal", ","]
    assert " ".join(option) in said
    assert main(["predict", str(second), "--load", model, *option]) == 0


@pytest.mark.parametrize("quiet", [False, True])
def test_the_number_of_rows_is_reported_unless_quiet(
    quiet: bool, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = folder / "said.csv"
    words = ["predict", str(folder / "new.csv"), "--load", str(folder / "m.rpnb")]
    assert main([*words, "--output", str(out), *["--quiet"] * quiet]) == 0
    said = capsys.readouterr().err
    assert (
        said == ""
        if quiet
        else re.fullmatch(rf"30 rows written to {out}, [\d,]+ rows/s\n", said)
    )
    assert main(words) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("ending", [".xlsx", ".csv.gz", ".json"])
def test_a_table_is_not_written_under_the_name_of_another_format(
    ending: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / f"out{ending}"
    words = ["predict", str(folder / "new.csv"), "--load", str(folder / "m.rpnb")]
    assert main([*words, "--output", str(out)]) == 2
    said = capsys.readouterr().err
    assert f"{out.suffix} files cannot be written; use .csv, .tsv, .jsonl" in said
    assert not out.exists()
