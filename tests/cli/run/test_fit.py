"""`rpnb fit` learns a table in random order; `run --save` warns of a sorted one."""

import csv
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

from rpnb import PooledClassifier, load
from rpnb.cli import main


def write(path: Path, X: Any, y: Any, names: Any = None) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(names or (f"x{j}" for j in range(X.shape[1]))), "label"])
        writer.writerows(
            [*row, label] for row, label in zip(X.tolist(), y, strict=True)
        )


@pytest.fixture
def digits(tmp_path: Path) -> Path:
    """A table sorted by label, and rows held out of it."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    first, rest = order[:1078], order[1078:]
    first = first[np.argsort(y[first], kind="stable")]
    write(tmp_path / "sorted.csv", X[first], y[first])
    write(tmp_path / "new.csv", X[rest], y[rest])
    return tmp_path


def accuracy(folder: Path, model: str, *words: str) -> float:
    out = folder / "labels.csv"
    command = ["predict", str(folder / "new.csv"), "--load", str(folder / model)]
    assert main([*command, "--output", str(out), "--quiet", *words]) == 0
    with out.open(newline="") as file, (folder / "new.csv").open(newline="") as rows:
        pairs = zip(csv.DictReader(file), csv.DictReader(rows), strict=True)
        right = [each["prediction"] == row["label"] for each, row in pairs]
    return float(np.mean(right))


def test_a_sorted_table_is_learned_and_used(
    digits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(digits / "sorted.csv"), "--target", "label", "--quiet"]
    assert main(["fit", *words, "--save", str(digits / "m.rpnb")]) == 0
    said = capsys.readouterr().out
    assert "shuffled with seed 0" in said
    assert "each was predicted before it was learned" in said
    assert f"Predict new rows: rpnb predict NEW_FILE --load {digits / 'm.rpnb'}" in said
    assert accuracy(digits, "m.rpnb") > 0.97
    assert isinstance(load(digits / "m.rpnb"), PooledClassifier)
    words += ["--save", str(digits / "m2.rpnb"), "--shuffle", "5", "--json"]
    assert main(["fit", *words, "--model", "gaussiannb"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["order"] == "seed 5"
    assert found["learners"][0]["name"] == "GaussianNB"
    assert found["warning"] is None


def test_a_sorted_stream_is_warned_of_first_where_it_is_saved(
    digits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", str(digits / "sorted.csv"), "--target", "label", "--quiet"]
    saving = [*words, "--save", str(digits / "m.rpnb")]
    assert main(saving) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"Do not use {digits / 'm.rpnb'} for other rows: ")
    assert "sorted by label" in said.splitlines()[0]
    assert "rpnb fit" in said.splitlines()[0]
    assert main(words) == 0
    assert "Do not use" not in capsys.readouterr().out
    assert main([*saving, "--shuffle", "1"]) == 0
    assert "Do not use" not in capsys.readouterr().out
    assert main([*saving, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warning"].startswith("Do not use ")


def test_a_stream_with_a_stray_row_is_called_sorted_too(
    digits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, *lines = (digits / "sorted.csv").read_text().splitlines()
    lines.insert(20, lines.pop())
    (digits / "stray.csv").write_text("\n".join([head, *lines, ""]))
    words = ["run", str(digits / "stray.csv"), "--target", "label", "--quiet"]
    assert main([*words, "--save", str(digits / "m.rpnb")]) == 0
    assert capsys.readouterr().out.startswith("Do not use ")


@pytest.mark.parametrize("strays", [5, 10, 30, 100])
def test_a_stream_with_a_few_rows_out_of_place_is_called_sorted_too(
    tmp_path: Path, strays: int, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = classes("a" * 500 + "b" * 500 + "c" * 500)
    moved = np.random.default_rng(1).choice(1500, strays, replace=False)
    labels[moved] = np.random.default_rng(2).permutation(labels[moved])
    assert saved_stream(tmp_path, capsys, labels).startswith("Do not use ")


@pytest.mark.parametrize("rare", [1, 5, 12, 40, 90])
def test_rare_classes_in_random_order_are_not_called_sorted(
    tmp_path: Path, rare: int, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = np.random.default_rng(rare).permutation(
        classes("a" * (1500 - 2 * rare) + "b" * rare + "c" * rare)
    )
    assert "sorted by label" not in saved_stream(tmp_path, capsys, labels)


@pytest.mark.parametrize("length", [30, 100, 250])
def test_long_runs_of_labels_are_not_called_sorted(
    tmp_path: Path, length: int, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = np.repeat(np.arange(1500 // length) % 3, length)
    assert "sorted by label" not in saved_stream(tmp_path, capsys, labels)


def classes(labels: str) -> np.ndarray[Any, Any]:
    return np.array(list(labels))


def saved_stream(
    folder: Path, capsys: pytest.CaptureFixture[str], labels: np.ndarray[Any, Any]
) -> str:
    """What `rpnb run --save` prints for rows with these labels."""
    write(
        folder / "s.csv", np.random.default_rng(0).normal(size=(len(labels), 2)), labels
    )
    words = ["run", str(folder / "s.csv"), "--target", "label", "--quiet"]
    assert main([*words, "--model", "PA", "--save", str(folder / "m.rpnb")]) == 0
    return capsys.readouterr().out


def test_rows_are_the_next_of_the_stream_only_on_request(
    digits: Path,
) -> None:
    words = ["run", str(digits / "sorted.csv"), "--target", "label", "--quiet"]
    assert main([*words, "--save", str(digits / "m.rpnb")]) == 0
    assert accuracy(digits, "m.rpnb") > 0.9
    assert accuracy(digits, "m.rpnb", "--next", "--probabilities", "none") < 0.2


def test_a_table_must_be_saved_and_is_not_resumed(
    digits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["fit", str(digits / "sorted.csv"), "--target", "label"]
    assert main(words) == 2
    assert "required: --save" in capsys.readouterr().err
    assert main([*words, "--save", "m", "--load", "m"]) == 2
    assert "unknown option --load" in capsys.readouterr().err


def rare(tmp_path: Path, n: int = 1000) -> str:
    """Write rows in random order, of which few have the second label."""
    rng = np.random.default_rng(3)
    y = rng.random(n) < 0.03
    X = rng.normal(size=(n, 2))
    write(tmp_path / "rare.csv", X, np.where(y, "yes", "no"))
    return str(tmp_path / "rare.csv")


def test_a_rare_class_in_random_order_is_not_called_sorted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", rare(tmp_path), "--target", "label", "--quiet"]
    assert main([*words, "--save", str(tmp_path / "m.rpnb")]) == 0
    said = capsys.readouterr().out
    assert "does not beat" in said
    assert "sorted" not in said
    assert "--shuffle" not in said
    assert "--scale" not in said  # Pooled scales rows itself
    assert "of the rows have the label 'no': the error hardly" in said
    assert "--metrics balanced_accuracy auc" in said
    assert "--class-weight balanced" in said
    assert main([*words, "--model", "PA"]) == 0
    said = capsys.readouterr().out
    assert "--scale, if columns differ in size" in said
    assert "--class-weight" not in said  # PA has none
    assert main([*words, "--class-weight", "balanced", "--metrics", "auc"]) == 0
    said = capsys.readouterr().out
    assert "the error hardly reflects" not in said
    assert "not beat “majority class”" not in said


def test_labels_in_runs_are_not_called_sorted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(4)
    y = np.repeat(rng.integers(0, 3, 40), 25)
    write(tmp_path / "runs.csv", rng.normal(size=(1000, 2)), np.array(list("abc"))[y])
    words = ["run", str(tmp_path / "runs.csv"), "--target", "label", "--model", "PA"]
    assert main([*words, "--save", str(tmp_path / "m.rpnb"), "--quiet"]) == 0
    said = capsys.readouterr().out
    assert "sorted" not in said
    assert "labels are autocorrelated" in said


def test_columns_that_differ_in_spread_go_by_their_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = load_wine()
    names = [name.replace("/", " ") for name in data.feature_names]
    write(tmp_path / "wine.csv", data.data, data.target, names)
    words = ["run", str(tmp_path / "wine.csv"), "--target", "label", "--model", "PA"]
    assert main([*words, "--quiet"]) == 0
    said = capsys.readouterr().out
    assert "of column proline, " in said
    assert "of column nonflavanoid_phenols" in said


def test_the_proposed_command_reads_files_as_the_model_was_trained(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{i},5\t{'not measured' if i % 9 == 4 else i % 7}\t{'pq'[i % 2]}\n"
        for i in range(60)
    ]
    Path("lab.txt").write_text("By the lab\n# twice\n" + "".join(rows))
    words = ["fit", "lab.txt", "--target", "3", "--save", "a model.rpnb", "--quiet"]
    words += ["--skip-rows", "1", "--comment", "#", "--no-header", "--decimal", ","]
    words += ["--delimiter", "tab", "--na", "not measured"]
    assert main(words) == 0
    said = capsys.readouterr().out.splitlines()
    (line,) = [line for line in said if line.startswith("Predict new rows: rpnb ")]
    proposed = shlex.split(line.removeprefix("Predict new rows: rpnb "))
    assert main(["lab.txt" if word == "NEW_FILE" else word for word in proposed]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 61


@pytest.mark.parametrize("model", ["Pooled", "RPNB"])
def test_advice_on_rare_classes_knows_weights_given_as_a_parameter(
    tmp_path: Path, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", rare(tmp_path), "--target", "label", "--quiet", "--model", model]
    assert main(words) == 0
    assert "--class-weight balanced" in capsys.readouterr().out
    assert main([*words, "--param", f"{model}.class_weight=balanced"]) == 0
    assert "--class-weight" not in capsys.readouterr().out
    scaled = [*words, "--scale", "--param", f"{model}.class_weight=balanced"]
    if model == "RPNB":
        assert main(scaled) == 0
        assert "--class-weight" not in capsys.readouterr().out
