"""What a file teaches holds in Python too, and nothing goes wrong without a word."""

import csv
import json
import random
from pathlib import Path

import pytest

from journeys.steps import Python, Run, on_demand

pytestmark = on_demand


def write_lines(path: Path, head: str, lines: list[str]) -> None:
    path.write_text("\n".join([head, *lines, ""]))


def test_a_sorted_file_with_rows_out_of_place_is_warned_of(
    rpnb: Run, tmp_path: Path
) -> None:
    draw = random.Random(0)  # noqa: S311
    labels = [i // 500 for i in range(1500)]
    for i in draw.sample(range(1500), 20):
        labels[i] = draw.randrange(3)
    lines = [
        f"{draw.gauss(2 * y, 1):.3f},{draw.gauss(0, 1):.3f},{'abc'[y]}" for y in labels
    ]
    write_lines(tmp_path / "sorted.csv", "a,b,label", lines)
    words = ("sorted.csv", "--target", "label", "--save", "m.rpnb")
    said = rpnb("run", *words).stdout
    assert said.startswith("Do not use m.rpnb for other rows: ")
    assert "Do not use" not in rpnb("fit", *words).stdout


_LOADED = """
import pandas as pd, rpnb
model = rpnb.load("m.rpnb")
frame = pd.read_csv("rows.csv", parse_dates=["sent"]).drop(columns="label")
print(*model.predict(frame))
print(*model.feature_names_in_)
try:
    model.predict(frame[frame.columns[::-1]])
except ValueError as error:
    print("same order" in str(error))
"""


def test_a_model_of_a_file_predicts_frames_by_their_names(
    rpnb: Run, python: Python, tmp_path: Path
) -> None:
    pytest.importorskip("pandas")
    lines = [
        f"{i % 9},{'uvw'[i % 3]},2024-01-{1 + i % 28:02d} {i % 24:02d}:30:00,"
        f"{'pq'[(i % 9 > 4) ^ (i % 3 == 0)]}"
        for i in range(300)
    ]
    write_lines(tmp_path / "rows.csv", "size,word,sent,label", lines)
    rpnb("fit", "rows.csv", "--target", "label", "--save", "m.rpnb")
    found, names, refused = python(_LOADED).splitlines()
    told = rpnb("predict", "rows.csv", "--load", "m.rpnb").stdout
    assert found.split() == [
        line["prediction"] for line in csv.DictReader(told.splitlines())
    ]
    assert (names, refused) == ("size word sent", "True")


_TIMES = """
import pandas as pd, rpnb
frame = pd.read_csv("rows.csv")
frame["sent"] = pd.to_datetime(frame["sent"])
frame.to_parquet("rows.parquet")
y = frame.pop("label").to_numpy()
print(*rpnb.PooledClassifier(random_state=0).predict_then_learn(frame, y)[1:])
"""


def test_local_times_are_the_same_in_all_formats(
    rpnb: Run, python: Python, tmp_path: Path
) -> None:
    pytest.importorskip("pandas")
    draw = random.Random(0)  # noqa: S311
    lines = []
    for i in range(300):
        hour = draw.randrange(24)
        time = f"2024-01-{1 + i % 28:02d}T{hour:02d}:15:00+05:00"
        lines.append(f"{time},{draw.gauss(0, 1):.3f},{'pq'[hour < 8]}")
    write_lines(tmp_path / "rows.csv", "sent,size,label", lines)
    found = [python(_TIMES).split()]
    for name in ("rows.csv", "rows.parquet"):
        rpnb("run", name, "--target", "label", "--predictions", "p.csv")
        with (tmp_path / "p.csv").open(newline="") as file:
            found.append([line["prediction"] for line in csv.DictReader(file)][1:])
    assert found[0] == found[1] == found[2]


def test_a_comparison_errs_as_the_runs_do(rpnb: Run, tmp_path: Path) -> None:
    draw = random.Random(0)  # noqa: S311
    lines = []
    for _ in range(500):
        town, size = draw.randrange(40), draw.gauss(0, 1)
        label = "pq"[(town * 7 % 5 < 2) ^ (size > 1.5)]
        lines.append(f"{size:.3f},town {town},{label}")
    write_lines(tmp_path / "rows.csv", "size,town,label", lines)
    words = ("rows.csv", "--target", "label", "--json")
    compared = json.loads(rpnb("compare", *words).stdout)["learners"]
    for each in compared:
        if each["name"] in ("Pooled", "AROW"):
            alone = rpnb("run", *words, "--model", each["name"]).stdout
            assert each["error"] == json.loads(alone)["learners"][0]["error"]


def test_gaps_pass_a_detector_and_dates_name_the_option(
    rpnb: Run, tmp_path: Path
) -> None:
    lines = [
        f"2024-01-{1 + i % 28:02d},{i % 7 if i % 5 else ''},{'pq'[i % 7 > 3]}"
        for i in range(200)
    ]
    write_lines(tmp_path / "rows.csv", "sent,size,label", lines)
    words = ("run", "rows.csv", "--target", "label", "--drift", "adwin")
    refused = rpnb(*words, code=2).stderr
    assert "Pooled without --drift, which reads it" in refused
    found = json.loads(rpnb(*words, "--drop", "sent", "--json").stdout)
    assert found["learners"][0]["error"] < 0.3
