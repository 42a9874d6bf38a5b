"""The evidence for the pooled classifier: runs are resumed, tables follow from them."""

import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pooled_evidence import __main__ as command
from pooled_evidence.learners import neighbours, standardised
from pooled_evidence.sources import DRIFTING, KEEL, SAME_RUN, sources
from pooled_evidence.tables import show


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two datasets, a stream, and a table of earlier runs."""
    path = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    for name in ("letter", "iris"):
        y = rng.integers(0, 2, 60)
        X = rng.normal(size=(60, 3)) + y[:, None]
        with gzip.open(path / f"{name}.csv.gz", "wt") as file:
            file.write("a,b,c,label\n")
            for row, label in zip(X, y, strict=True):
                file.write(",".join(map(str, [*row, "no" if label else "yes"])) + "\n")
    np.savez(path / "sea_abrupt.npz", X=X, y=y)
    lines = ["stream,learner,error"]
    for stream in ("real_letter", "real_iris", "sea_abrupt"):
        for i, learner in enumerate(("ARF100", "SRP100", "SAMkNN", "KNN")):
            lines.append(f"{stream},{learner},{0.3 + 0.01 * i}")
    (path / "peers.csv").write_text("\n".join(lines))
    return path


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> None:
    monkeypatch.setattr(sys, "argv", ["pooled_evidence", *map(str, words)])
    command.main()


def test_a_run_is_resumed_and_shown(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = tmp_path / "results.jsonl"
    words = ["run", "--data", folder, "--streams", folder, "--results", results]
    words += ["--learners", "Pooled", "RPNB", "RPNB, scaled", "AROW", "OnlineBayes"]
    words += ["kNN", "NoChange", "--permutations", "2"]
    monkeypatch.setattr(command, "sources", _without_gm)
    run(monkeypatch, *words)
    lines = results.read_text().splitlines()
    records = [json.loads(line) for line in lines]
    keys = [command._key(record) for record in records]
    assert len(set(keys)) == len(keys)
    found = [(r["part"], r["data"], r["permutation"]) for r in records]
    for name in ("letter", "iris"):
        assert found.count(("permutations", name, 1)) == 7
        assert found.count(("peers", name, 0)) == 3
    assert found.count(("same_run", "letter", 0)) == 3
    assert found.count(("same_run", "iris", 0)) == 0
    assert found.count(("same_run", "sea_abrupt", 0)) == 3
    assert found.count(("streams", "sea_abrupt", 0)) == 7
    results.write_text("\n".join(lines[:-3]) + "\n")
    capsys.readouterr()
    run(monkeypatch, *words)
    assert len(capsys.readouterr().out.splitlines()) == 3
    again = [json.loads(line) for line in results.read_text().splitlines()]
    for one, two in zip(records, again, strict=True):
        assert {**one, "seconds": 0} == {**two, "seconds": 0}
    run(monkeypatch, "show", "--results", results, "--streams", folder)
    out = capsys.readouterr().out
    assert "Mean error over 2 permutations" in out
    mean = np.mean(
        [
            r["error"]
            for r in records
            if (r["part"], r["data"], r["learner"]) == ("permutations", "iris", "AROW")
        ]
    )
    line = next(line for line in out.splitlines() if line.startswith("| iris |"))
    assert f"{mean:.4f}" in line.split("|")[5]
    assert "| SRP100 | 3." in out or "| SRP100 | 4." in out


def _without_gm(*folders: Path | None) -> list[object]:
    return [source for source in sources(*folders) if source.name != "gm"]


def test_rows_in_the_order_of_time_are_read(tmp_path: Path) -> None:
    recording = {"X": [np.ones((30, 6)), np.zeros((40, 6))], "y": np.array([2, 1])}
    np.save(tmp_path / "watch_dataset.npy", np.array(recording, object))
    (tmp_path / "seattle-weather.csv").write_text(
        "date,precipitation,temp_max,temp_min,wind,weather\n"
        "2012/01/31,0.5,3,1,2,sun\n2012/02/01,0,4,2,3,fog\n"
    )
    (tmp_path / "sf-temps.csv").write_text(
        "temp,date\n1,2010/01/01 00:00:00\n3,2010/01/01 23:00:00\n"
    )
    found = {
        source.name: source.load
        for source in sources(None, None, None, tmp_path)
        if source.part == "timed"
    }
    X, y = found["watch"]()
    assert_array_equal(X[:, 0], [1, 1, 0])
    assert_array_equal(y, [2, 2, 1])
    X, y = found["seattle_weather"]()
    assert_array_equal(X, [[31, 0.5, 3, 1, 2], [32, 0, 4, 2, 3]])
    assert_array_equal(y, [1, 0])
    X, y = found["sf_temperature"]()
    assert_array_equal(X, [[1, 0], [1, 23]])
    assert_array_equal(y, [0, 1])


def test_times_and_labels_in_runs_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = {"Pooled": 0.1, "RPNB": 0.01, "ARF100": 9.0, "SRP100": 11.0}
    seconds |= {"SAMkNN": 1.0, "KNN": 1.0}
    usual = {"permutation": 0, "error": 0.2, "rows": 5000}
    records = [
        {**usual, "part": "same_run", "data": "a", "learner": name, "seconds": value}
        for name, value in seconds.items()
    ]
    errors = {"Pooled": 0.11, "NoChange": 0.1, "ARF100, last label": 0.3}
    records += [
        {**usual, "part": "timed", "data": "b", "learner": name, "error": error}
        for name, error in errors.items()
    ]
    show(records, None, None)
    out = capsys.readouterr().out
    assert "Time of ARF100 over that of Pooled: median 90, 90 to 90; 0 of 1" in out
    assert "Time of SRP100 over that of Pooled: median 110, 110 to 110; 1 of 1" in out
    assert "- b (5,000 rows): +0.0100 ± 0.0065" in out


def test_rows_are_standardised_by_those_so_far() -> None:
    X = np.random.default_rng(1).normal(3.0, 2.0, (50, 2))
    X[:, 1] = 5.0
    scaled = standardised(X)
    for i in (1, 7, 49):
        past = X[: i + 1, 0]
        assert_allclose(scaled[i, 0], (X[i, 0] - past.mean()) / past.std())
    assert_array_equal(scaled[:, 1], np.zeros(50))


def test_neighbours_wait_for_late_labels() -> None:
    X = np.array([[0.0], [5.0], [0.1], [5.1], [0.2], [5.2]])
    y = np.array([0, 1, 0, 1, 0, 1])
    assert list(neighbours(X, y, 2, 0)[2:]) == [0, 0, 0, 1]
    assert list(neighbours(X, y, 2, 3)[3:]) == [0, 0, 0]


def test_what_is_kept_aside_is_not_among_the_paper_s() -> None:
    aside = {source.name for source in sources(None, None, Path())}
    assert aside == {*KEEL, *DRIFTING, "phishing"}
    known = {"contraceptive", "hayes-roth", "ionosphere", "iris", "led7digit"}
    known |= {"letter", "marketing", "monk-2", "optdigits", "penbased", "satimage"}
    known |= {"tae", "tic-tac-toe", "twonorm", "vowel", "wisconsin", *SAME_RUN}
    assert not aside & known
