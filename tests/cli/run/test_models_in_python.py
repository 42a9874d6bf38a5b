"""Models that commands save predict frames by the names of their columns."""

import csv
import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rpnb
from rpnb.cli import main

pd = pytest.importorskip("pandas")


def frame(n: int = 300) -> Any:
    """Rows of all kinds of columns."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=n).round(3)
    size[::11] = np.nan
    colour = rng.choice(["red", "blue", "green"], n)
    words = np.where(rng.random(n) < 0.5, "left outside of the door", "handed to me")
    sent = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**6, n), "s")
    label = np.where((colour == "red") ^ (np.nan_to_num(size) > 0), "p", "q")
    return pd.DataFrame(
        {
            "size": size,
            "colour": colour,
            "note": [f"{word} of house {i % 9}" for i, word in enumerate(words)],
            "sent": sent,
            "label": label,
        }
    )


def saved(folder: Path, rows: Any, *words: str, command: str = "fit") -> Any:
    """The model of a command for these rows."""
    rows.to_csv(folder / "rows.csv", index=False)
    path = folder / "m.rpnb"
    line = [command, str(folder / "rows.csv"), "--target", "label", "--quiet"]
    assert main([*line, "--save", str(path), *words]) == 0
    return rpnb.load(path)


def by_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What `rpnb predict` predicts for the rows."""
    capsys.readouterr()
    words = ["predict", str(folder / "rows.csv"), "--load", str(folder / "m.rpnb")]
    assert main([*words, "--quiet"]) == 0
    said = csv.DictReader(io.StringIO(capsys.readouterr().out))
    return [line["prediction"] for line in said]


@pytest.mark.parametrize("command", ["fit", "run"])
@pytest.mark.parametrize(
    "words", [(), ("--model", "GaussianNB"), ("--drift", "adwin"), ("--scale",)]
)
def test_swapped_columns_of_numbers_are_refused(
    tmp_path: Path, command: str, words: tuple[str, ...]
) -> None:
    if command == "fit" and "--drift" in words:
        return  # a table has no drift
    if words == ("--scale",):
        words = ("--scale", "--model", "AROW")
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.normal(size=200), "b": 100 + rng.normal(size=200)})
    rows["label"] = np.where(rows["a"] > 0, "p", "q")
    model = saved(tmp_path, rows, *words, command=command)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        right = model.predict(rows[["a", "b"]]) == rows["label"]
    assert right.mean() > 0.8
    with pytest.raises(ValueError, match="same order"):
        model.predict(rows[["b", "a"]])


def test_reasons_have_the_names_of_the_file(tmp_path: Path) -> None:
    rows = frame()[["size", "label"]].fillna(0.0).assign(weight=range(300))
    model = saved(tmp_path, rows)
    assert list(model.explain(rows[["size", "weight"]].head(2)).names) == [
        "size",
        "weight",
    ]


@pytest.mark.parametrize("kinds", [["colour"], ["colour", "note", "sent"], ["sent"]])
@pytest.mark.parametrize("words", [(), ("--scale", "--model", "AROW")])
def test_frames_are_predicted_as_files_are(
    tmp_path: Path,
    kinds: list[str],
    words: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = frame()[["size", *kinds, "label"]]
    if words:
        rows = rows.dropna()
    model = saved(tmp_path, rows, *words)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = model.predict(rows.drop(columns="label"))
    assert found.tolist() == by_command(tmp_path, capsys)
    with pytest.raises(ValueError, match="same order"):
        model.predict(rows[[*kinds, "size"]])


def test_a_model_is_resumed_and_keeps_its_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = frame()
    saved(tmp_path, rows.head(150), "--chunk-rows", "7", command="run")
    path = tmp_path / "m.rpnb"
    rows.tail(150).to_csv(tmp_path / "rest.csv", index=False)
    line = ["run", str(tmp_path / "rest.csv"), "--target", "label", "--quiet"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        words = ["--load", str(path), "--save", str(path), "--report"]
        assert main([*line, *words, str(tmp_path / "report.html")]) == 0
    model = rpnb.load(path)
    assert model.feature_names_in_.tolist() == ["size", "colour", "note", "sent"]
    whole = saved(tmp_path, rows, command="run")
    X = rows.drop(columns="label")
    assert (model.predict_proba(X) == whole.predict_proba(X)).all()
    # It is the model that learns the frame in Python.
    fresh = rpnb.PooledClassifier(random_state=0)
    fresh.predict_then_learn(X, rows["label"].to_numpy())
    assert (fresh.predict_proba(X) == whole.predict_proba(X)).all()


@pytest.mark.parametrize("how", [(), ("--categorical", "one-hot")])
def test_codes_of_a_file_are_not_mistaken(tmp_path: Path, how: tuple[str, ...]) -> None:
    rows = frame()[["size", "colour", "label"]].dropna()
    model = saved(tmp_path, rows, "--model", "GaussianNB", *how)
    for given in (rows[["size", "colour"]], rows[["size"]].assign(colour=1)):
        with pytest.raises(ValueError, match=r"'colour'.*`rpnb predict`"):
            model.predict(given)


def test_numbers_that_were_read_as_text_are_not_mistaken(tmp_path: Path) -> None:
    rows = frame()[["size", "label"]].assign(zip=[1000 + i % 5 for i in range(300)])
    model = saved(tmp_path, rows, "--as-category", "zip")
    X = rows.drop(columns="label")
    with pytest.raises(ValueError, match=r"text in column 'zip'.*astype\(str\)"):
        model.predict(X)
    X["zip"] = X["zip"].astype(str)
    assert model.predict(X).shape == (300,)
