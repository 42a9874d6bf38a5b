"""Categories, text and dates in files: the same labels as in Python."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

from rpnb import PooledClassifier, load
from rpnb.cli import main
from rpnb.estimators.protocol import columns_of

N = 300
WORDS = ["parcel", "arrived", "late", "again", "today", "lost", "found"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with columns of all kinds; some categories are missing."""
    rng = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("table") / "all.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["city", "shop", "when", "note", "amount", "label"])
        for i in range(N):
            city = ["Rome", "Oslo", "Bern", "Cairo"][rng.integers(4)]
            note = " ".join(rng.choice(WORDS, 7))
            label = "bad" if (city in ("Rome", "Cairo")) ^ (i % 3 == 0) else "good"
            when = f"2024-{1 + i % 12:02d}-{1 + i % 28:02d} {i % 24:02d}:30:00"
            shop = f"s{rng.integers(200)}"
            rows.writerow(["" if i % 50 == 7 else city, shop, when, note, i % 3, label])
    return path


def run(*words: Any) -> int:
    return main([str(word) for word in words])


def test_the_command_learns_the_same_model_as_python(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--target", "label", "--quiet", "--json", "--predictions")
    found = tmp_path / "found.csv"
    assert run("run", table, *words, found, "--chunk-rows", 64) == 0
    told = json.loads(capsys.readouterr().out)["columns"]
    assert told["numbers"] == ["amount"]
    assert list(told["categories"]) == ["city", "shop"]
    assert (told["texts"], told["dates"]) == (["note"], ["when"])
    frame = pd.read_csv(table, parse_dates=["when"])
    y = frame.pop("label").to_numpy(str)
    predicted = PooledClassifier(random_state=0).predict_then_learn(frame, y)
    ours = pd.read_csv(found, keep_default_na=False)["prediction"].tolist()
    assert [each or None for each in ours] == predicted.tolist()


def test_a_saved_model_predicts_and_is_resumed(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, out = tmp_path / "m.rpnb", tmp_path / "out.csv"
    assert run("fit", table, "--target", "label", "--save", model, "--quiet") == 0
    new = tmp_path / "new.csv"
    lines = table.read_text().splitlines()[:40]
    new.write_text("\n".join(lines).replace("Rome", "Lima") + "\n")
    assert run("predict", new, "--load", model, "--output", out, "--quiet") == 0
    assert len(out.read_text().splitlines()) == 40
    again = tmp_path / "again.rpnb"
    words = ("--load", model, "--target", "label", "--save", again, "--quiet")
    assert run("run", new, *words) == 0
    assert load(again).n_samples_seen_ == N + 39
    capsys.readouterr()
    bad = tmp_path / "bad.csv"
    bad.write_text(lines[0] + "\nRome,s1,yesterday,x,1,bad\n")
    assert run("predict", bad, "--load", model) == 2
    assert "when" in capsys.readouterr().err


def test_learners_of_numbers_get_codes_and_refuse_native(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--target", "label", "--model", "PA", "--quiet", "--json"]
    words += ["--drop", "when", "note", "--missing", "mean"]
    assert run("run", table, *words) == 0
    capsys.readouterr()
    assert run("run", table, *words, "--categorical", "native") == 2
    assert (
        "PA supports only numbers; use --categorical codes" in capsys.readouterr().err
    )


def test_any_learner_takes_columns_as_they_are_with_scale(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "m.rpnb"
    words = ["--target", "label", "--model", "PA", "--scale", "--missing", "mean"]
    assert run("fit", table, *words, "--save", model, "--quiet", "--json") == 0
    told = json.loads(capsys.readouterr().out)["columns"]
    assert list(told["categories"]) == ["city", "shop"]
    assert (told["texts"], told["dates"]) == (["note"], ["when"])
    found = load(model)
    assert type(found).__name__ == "StreamPipeline"
    columns = columns_of(found)
    assert columns is not None
    assert sorted(columns.kinds) == ["category", "category", "date", "number", "text"]
    assert run("predict", table, "--load", model, "--quiet") == 0


def test_typed_files_are_read_the_same_way(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.read_csv(table, parse_dates=["when"])
    frame.to_parquet(tmp_path / "all.parquet")
    frame.astype({"when": str}).to_json(
        tmp_path / "all.jsonl", orient="records", lines=True
    )
    figures = []
    for path in (table, tmp_path / "all.parquet", tmp_path / "all.jsonl"):
        assert run("run", path, "--target", "label", "--quiet", "--json") == 0
        found = json.loads(capsys.readouterr().out)
        figures.append((found["columns"]["dates"], found["learners"][0]["error"]))
    assert figures[0] == figures[1] == figures[2]


def test_the_report_names_categories_that_moved(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    path, report = tmp_path / "moved.csv", tmp_path / "moved.html"
    # One colour comes more often in the second half.
    colours = np.where(
        rng.random(2000) < np.repeat([0.1, 0.6], 1000),
        "red",
        rng.choice([f"shade {k}" for k in range(60)], 2000),
    )
    frame = pd.DataFrame({"colour": colours, "label": rng.choice(["a", "b"], 2000)})
    frame.to_csv(path, index=False)
    words = ("--target", "label", "--quiet", "--param", "n_projections=16")
    assert run("run", path, *words, "--report", report) == 0
    text = report.read_text(encoding="utf-8")
    assert re.search(r"red: 1?\d\.\d\s% → [56]\d\.\d\s%", text)
    assert "e+15" not in text  # the number of a category's hash


@pytest.mark.parametrize("model", ["Pooled", "AROW"])
@pytest.mark.parametrize(
    ("cell", "words"),
    [("{:02d}:30", "times of day"), ("2024-01-{:02d}", None)],
)
def test_times_are_categories_on_request(
    tmp_path: Path,
    model: str,
    cell: str,
    words: str | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "times.csv"
    lines = [f"{cell.format(10 + i % 4)},{i % 3},{'pq'[i % 4 > 1]}" for i in range(200)]
    path.write_text("\n".join(["d,x,y", *lines, ""]))
    line = ["run", str(path), "--target", "y", "--quiet", "--model", model, "--json"]
    assert main([*line, "--as-category", "d"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["columns"]["categories"] == {"d": 4}
    if words is not None:
        assert main(line) == 2
        said = capsys.readouterr().err
        assert f"column d: contains {words}, neither numbers nor categories" in said
        assert "use --as-category d" in said


def test_dates_are_no_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "dates.csv"
    path.write_text("d,x\n" + "2024-01-02,1\n2024-01-03,2\n" * 20)
    assert main(["run", str(path), "--target", "d"]) == 2
    assert "column d: contains dates, but labels are text" in capsys.readouterr().err
