"""Running a study: each run is the loop of the paper, and runs once."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import rpnb
from rpnb import RPNBClassifier, datasets
from rpnb.evaluate import confusion_counts, error_rate, macro_f1
from rpnb.study import cell, dataset_sources, run
from rpnb.study.cell import RunTask, stream
from rpnb.study.methods import Method, find, make
from rpnb.study.plan import Plan, content_of, learner_seed, make_plan, permutation
from rpnb.study.run import ResultsBusyError, StudyOutcome, StudyProgress
from rpnb.study.run_records import RunRecord, append, read
from study.report_records import tables_of

SMALL = ["Iris", "Monk-2"]


@pytest.fixture(autouse=True)
def _no_data_folder_by_accident(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RPNB_DATA", raising=False)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[RunTask]:
    """The tasks that were computed in this process, in their order."""
    done: list[RunTask] = []

    def counting(task: RunTask) -> Any:
        done.append(task)
        return cell.run_task(task)

    monkeypatch.setattr(run, "run_task", counting)
    return done


def small_plan(**arguments: Any) -> Plan:
    return make_plan(SMALL, ["RPNB", "OGD"], **{"permutations": 3, **arguments})


def here(plan: Plan, path: Path, **arguments: Any) -> StudyOutcome:
    return run.run(plan, path, jobs=0, **arguments)


def without_seconds(records: tuple[RunRecord, ...]) -> list[dict[str, Any]]:
    names = [name for name in RunRecord.__slots__ if name != "seconds"]
    return [{name: getattr(record, name) for name in names} for record in records]


def test_a_record_matches_the_loop_of_the_paper(tmp_path: Path) -> None:
    outcome = here(make_plan(["Iris"], ["RPNB"], permutations=2), tmp_path / "r.jsonl")
    (record,) = (r for r in outcome.records if r.key[1:4:2] == ("RPNB", 1))
    iris = datasets.load("Iris", "paper")
    order = permutation(0, "Iris", 1, 150)
    X, y = iris.X[order], np.unique(iris.y, return_inverse=True)[1][order]
    model = RPNBClassifier(200, random_state=learner_seed(0, "Iris", 1, "RPNB"))
    predictions = []
    for x, label in zip(X, y, strict=True):
        predictions.append(model.predict_then_learn(x[None], [label], [0, 1, 2])[0])
    counts = confusion_counts(y, np.array(predictions), 3)
    assert (record.error, record.f1) == (error_rate(counts), macro_f1(counts))
    assert record.updates == model.n_updates_ == np.count_nonzero(predictions != y)
    assert (record.n, record.p, record.M) == (150, 4, 3)
    assert record.source == "by rule"
    assert len(record.curve) == 50
    for point in record.curve:
        wrong = predictions[: point.row] != y[: point.row]
        assert point.mistakes == np.count_nonzero(wrong)
        assert point.updates == point.mistakes
    assert record.curve[-1].row == 150


@pytest.mark.parametrize("method", ["RPNB", "AROW", "PA", "NoChange"])
@pytest.mark.parametrize("n", [7, 50, 432])
def test_looking_at_a_run_on_its_way_does_not_change_it(method: str, n: int) -> None:
    data = datasets.load("Monk-2")
    order = permutation(0, "Monk-2", 0, 432)[:n]
    X, y = data.X[order], (data.y[order] == "1").astype(np.int64)
    result = stream(make(find(method), 0), X, y, 2)
    model = make(find(method), 0)
    predicted = model.predict_then_learn(X, y, [0, 1])
    assert_array_equal(result.confusion.counts, confusion_counts(y, predicted, 2))
    assert result.checkpoints[-1].updates == model.n_updates_
    assert result.checkpoints[-1].row == n
    assert len(result.checkpoints) == min(n, 50)
    for checkpoint in result.checkpoints:
        wrong = predicted[: checkpoint.row] != y[: checkpoint.row]
        assert checkpoint.mistakes == np.count_nonzero(wrong)


def test_every_method_gets_the_same_rows_in_the_same_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams: list[bytes] = []

    def spying(learner: Any, X: Any, y: Any, M: int) -> Any:
        streams.append(X.tobytes() + y.tobytes())
        return stream(learner, X, y, M)

    monkeypatch.setattr(cell, "stream", spying)
    methods = ["RPNB", "OGD", "PA", "SCW"]
    outcome = here(make_plan(["Iris"], methods, permutations=3), tmp_path / "r.jsonl")
    assert len(streams) == len(outcome.records) == 6 * 3
    assert len(set(streams)) == 3  # one a permutation, whatever the method
    assert all(streams.count(each) == 6 for each in set(streams))


def test_random_rows_are_drawn_again_for_each_permutation(tmp_path: Path) -> None:
    plan = make_plan(["Led7digit", "Iris"], ["PA", "RPNB"], permutations=3)
    records = here(plan, tmp_path / "a.jsonl").records
    drawn: dict[int, set[tuple[str, str]]] = {r: set() for r in range(3)}
    for record in records:
        if record.dataset == "Led7digit":
            drawn[record.permutation].add((record.source, record.content))
    assert [len(found) for found in drawn.values()] == [1, 1, 1]  # for every method
    sources = {source for found in drawn.values() for source, _ in found}
    contents = {content for found in drawn.values() for _, content in found}
    assert len(sources) == len(contents) == 3
    # The record describes how to reproduce the rows.
    ((source, content),) = drawn[2]
    again = datasets.load("Led7digit", "paper", seed=int(source.split()[-1]))
    assert content_of(again.X, again.y) == content
    assert len({r.content for r in records if r.dataset == "Iris"}) == 1


def test_a_cell_does_not_depend_on_which_others_there_are(tmp_path: Path) -> None:
    alone = here(make_plan(["Iris"], ["RPNB"], permutations=1), tmp_path / "a.jsonl")
    among = here(small_plan(), tmp_path / "b.jsonl")
    wanted = {record.key: record for record in among.records}
    for record in alone.records:
        assert without_seconds((wanted[record.key],)) == without_seconds((record,))


def test_nothing_is_computed_twice(tmp_path: Path, computed: list[RunTask]) -> None:
    path = tmp_path / "r.jsonl"
    first = here(small_plan(permutations=2), path)
    assert first.computed == len(computed) == 2 * 4 * 2
    again = here(small_plan(permutations=2), path)
    assert (again.computed, again.records) == (0, first.records)
    wider = here(small_plan(permutations=3), path)
    assert wider.computed == 2 * 4
    assert len({task.key for task in computed}) == len(computed) == 2 * 4 * 3
    assert len(list(read(path))) == 2 * 4 * 3


def test_another_seed_reading_version_or_parameter_is_another_run(
    tmp_path: Path, computed: list[RunTask], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, runs = tmp_path / "r.jsonl", 2 * 4
    plan = {"permutations": 1}
    here(small_plan(**plan), path)
    assert here(small_plan(**plan, seed=1), path).computed == runs
    assert here(small_plan(**plan, reading="true"), path).computed == runs
    monkeypatch.setattr(rpnb, "__version__", "99")
    outcome = here(small_plan(**plan), path)
    assert outcome.computed == runs
    assert {record.version for record in outcome.records} == {"99"}
    monkeypatch.setattr(cell, "_parameters", lambda _: "other")
    assert here(small_plan(**plan), path).computed == runs


def test_other_rows_under_the_same_name_are_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.jsonl"
    plan = make_plan(["Iris"], ["OGD"], permutations=1)
    first = here(plan, path)

    def changed(request: Any) -> Any:
        dataset, source = dataset_sources.load(request)
        dataset.X[0, 0] += 1.0
        return dataset, source

    cell._rows.cache_clear()
    monkeypatch.setattr(cell, "load", changed)
    other = here(plan, path)
    cell._rows.cache_clear()
    assert other.computed == len(first.records)
    assert other.records[0].content != first.records[0].content


def test_the_longest_runs_start_first_and_short_ones_keep_to_their_dataset(
    tmp_path: Path, computed: list[RunTask], monkeypatch: pytest.MonkeyPatch
) -> None:
    def guess(method: Method, n: int, _p: int, _M: int) -> float:
        return float(n) if method.name == "RPNB" else 0.5

    monkeypatch.setattr(run, "cost", guess)
    names = ["Iris", "Nursery", "Monk-2"]
    here(make_plan(names, ["OGD", "RPNB"], permutations=1), tmp_path / "r.jsonl")
    started = [(task.request.dataset, task.method) for task in computed]
    long = [(name, "RPNB") for name in ("Nursery", "Monk-2", "Iris")]
    assert started[:3] == long
    assert [name for name, _ in started[3:]] == [
        *(["Nursery"] * 3 + ["Monk-2"] * 3 + ["Iris"] * 3)
    ]


def damaged_zoo(folder: Path) -> Path:
    """A file with the right columns and a word in place of a number in row 3."""
    header = ",".join([f"x{j}" for j in range(1, 17)] + ["label"])
    rows = [",".join(["0"] * 16 + ["1"]) for _ in range(101)]
    rows[2] = rows[2].replace("0,", "zero,", 1)
    path = folder / "zoo.csv.gz"
    path.write_bytes(gzip.compress("\n".join([header, *rows, ""]).encode()))
    return path


def test_a_wrong_file_is_named_with_its_row_and_the_others_go_on(
    tmp_path: Path,
) -> None:
    path = damaged_zoo(tmp_path)
    plan = make_plan(["Zoo", "Iris"], ["OGD"], permutations=1, data=tmp_path)
    outcome = here(plan, tmp_path / "r.jsonl")
    (failure,) = outcome.failures
    assert (failure.dataset, failure.method) == ("Zoo", None)
    assert f"{path}, row 3, column x1: must be a finite number" in failure.message
    assert {record.dataset for record in outcome.records} == {"Iris"}
    assert len(outcome.records) == 3


def test_offline_nothing_is_fetched(tmp_path: Path) -> None:
    plan = make_plan(["Isolet", "Iris"], ["OGD"], permutations=1, offline=True)
    outcome = here(plan, tmp_path / "r.jsonl")
    assert [f.dataset for f in outcome.failures] == ["Isolet"]
    assert "is not available offline" in outcome.failures[0].message
    assert {record.dataset for record in outcome.records} == {"Iris"}


def test_a_method_that_fails_on_a_dataset_does_not_stop_the_others(
    tmp_path: Path,
) -> None:
    # ALMA tells two classes apart; Iris has three.
    plan = make_plan(SMALL, ["ALMA", "OGD"], permutations=2)
    outcome = here(plan, tmp_path / "r.jsonl")
    (failure,) = outcome.failures
    assert (failure.dataset, failure.method) == ("Iris", "ALMA")
    done = {(record.dataset, record.method) for record in outcome.records}
    assert done == {(d, m) for d in SMALL for m in plan.methods} - {("Iris", "ALMA")}


def test_two_runs_do_not_write_to_one_file(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    path = tmp_path / "r.jsonl"
    with path.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(ResultsBusyError, match=r"r\.jsonl: another process"):
            here(small_plan(), path)
    assert here(small_plan(permutations=1), path).computed == 8


def test_progress_counts_earlier_and_new_runs(tmp_path: Path) -> None:
    path, told = tmp_path / "r.jsonl", list[StudyProgress]()
    here(small_plan(permutations=1), path)
    here(small_plan(permutations=3), path, watch=told.append)
    reading = [p for p in told if p.phase == "reading"]
    running = [p for p in told if p.phase == "running"]
    assert [(p.done, p.total) for p in reading] == [(1, 2), (2, 2)]
    assert [p.done for p in running] == list(range(9, 25))
    assert [p.computed for p in running] == list(range(1, 17))
    assert {(p.total, p.cells) for p in running} == {(24, 8)}
    assert (running[0].cells_done, running[-1].cells_done) == (0, 8)
    assert all(p.seconds_left is not None for p in running)
    assert running[-1].seconds_left == 0.0
    assert running[-1].latest in {f"{d} · {m}" for d in SMALL for m in METHODS}


METHODS = ("RPNB", "OGD", "MajorityClass", "NoChange")


def test_ctrl_c_in_this_process_keeps_finished_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, done = tmp_path / "r.jsonl", 0

    def impatient(task: RunTask) -> Any:
        nonlocal done
        if done == 5:
            raise KeyboardInterrupt
        done += 1
        return cell.run_task(task)

    monkeypatch.setattr(run, "run_task", impatient)
    outcome = here(small_plan(), path)
    assert outcome.interrupted
    assert len(outcome.records) == len(list(read(path))) == 5


@pytest.mark.parametrize("lines", [1, 7, 20])
def test_tables_do_not_depend_on_how_often_a_run_was_cut_off(
    tmp_path: Path, lines: int
) -> None:
    whole, broken = tmp_path / "whole.jsonl", tmp_path / "broken.jsonl"
    plan = small_plan()
    undisturbed = here(plan, whole)
    kept = list(read(whole))[:lines]
    append(broken, kept)
    with broken.open("ab") as file:
        file.write(whole.read_bytes().splitlines()[lines][:-30])  # a cut-off line
    resumed = here(plan, broken)
    assert resumed.computed == plan.n_runs - lines
    assert without_seconds(resumed.records) == without_seconds(undisturbed.records)
    assert tables_of(resumed.records) == tables_of(undisturbed.records)


def test_processes_give_the_same_records(tmp_path: Path) -> None:
    plan = small_plan(permutations=2)
    alone = here(plan, tmp_path / "a.jsonl")
    shared = run.run(plan, tmp_path / "b.jsonl", jobs=1)
    assert without_seconds(shared.records) == without_seconds(alone.records)
    assert len(list(read(tmp_path / "b.jsonl"))) == plan.n_runs
