"""Output of `rpnb run`: the table and the JSON show the results of the run.

One table, the first, is kept as a user sees it, in tests/golden/run.txt. An intended
change is written with ``python tests/cli/run/test_printed_result.py``, and read. Laws
of the report are in tests/report.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from rpnb import RPNBClassifier
from rpnb.baselines import make
from rpnb.cli import main
from rpnb.cli.run import printed_result
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.evaluate.evaluation import Evaluation, native_evaluation
from rpnb.evaluate.result import RunFacts
from rpnb.evaluate.stream_blocks import ChunkBlocks
from rpnb.files import LabelledArrays

RECORD = Path(__file__).parents[2] / "golden" / "run.txt"
MANY = tuple(f"column {j}" for j in range(9))


def rows(n: int, M: int) -> tuple[FloatArray, IntArray]:
    """Return rows of integers, so that no processor rounds a sum of theirs."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, M, n)
    X = rng.integers(-3, 4, (n, 3)) + 2.0 * (y[:, None] == [0, 1, 2])
    return X, y


def evaluated(
    models: dict[str, Any], n: int, M: int, references: bool = True
) -> Evaluation:
    others = {
        "majority class": make("MajorityClass"),
        "same as last": make("NoChange"),
    }
    evaluation = native_evaluation(
        models, others if references else None, window=50, probabilities="truth"
    )
    blocks = ChunkBlocks(evaluation.labels)
    X, y = rows(n, M)
    for chunk in LabelledArrays("arrays", X, np.array(list("abcdefgh"))[y]).chunks(60):
        evaluation.step(blocks.block(chunk))
    for place, each in enumerate(evaluation.participants):
        each.seconds = 0.25 + place
    return evaluation


def runs() -> Iterator[tuple[Evaluation, RunFacts]]:
    learners = {"GaussianNB": make("GaussianNB"), "PA": make("PA"), "twin": make("PA")}
    learners["PA"].drifts_ = [3, 70]
    learners["twin"].drifts_ = list(range(1000, 1012))
    first = RunFacts(
        source="some.csv",
        p=3,
        order="file",
        seconds=2.5,
        interrupted=False,
        loaded=None,
        window=50,
        written=("page.html",),
        metrics=("kappa", "log_loss"),
        numbers=("x", "y"),
        categories={"colour": 3, "a" * 70: 2},
        dropped={"id": "one value"},
        notes=("a note",),
        advice=("some advice",),
        scaled=("PA",),
    )
    yield evaluated(learners, 240, 3), first
    few = RunFacts(
        source="few.csv",
        p=3,
        order="seed 7",
        seconds=125.0,
        interrupted=True,
        loaded="earlier.rpnb",
        window=1000,
        written=(),
        numbers=MANY,
    )
    yield evaluated({"PA": make("PA")}, 66, 8), few
    explained = RPNBClassifier(6, random_state=0)
    yield evaluated({"RPNB": explained, "OGD": make("OGD")}, 70, 2, False), few
    only = evaluated({"PA": make("PA")}, 20, 1)
    yield only, replace(few, order="file")


RUNS = list(runs())


def table_of(evaluation: Evaluation, facts: RunFacts) -> str:
    """Return the table without the line on time and memory, which vary."""
    lines = printed_result.as_table(evaluation, facts).splitlines(keepends=True)
    return "".join(line for line in lines if "rows/s overall" not in line)


def test_the_table_looks_as_on_record() -> None:
    assert table_of(*RUNS[0]) == RECORD.read_text(encoding="utf-8")


@pytest.mark.parametrize("run", RUNS)
def test_json_has_the_counts_of_each_learner(run: tuple[Evaluation, RunFacts]) -> None:
    evaluation, facts = run
    found = json.loads(printed_result.as_json(evaluation, facts))
    M = len(found["classes"])
    assert found["classes"] == sorted(found["classes"])
    assert (found["rows"], found["features"]) == (evaluation.rows, facts.p)
    for name in ("source", "order", "window", "interrupted", "loaded", "seconds"):
        assert found[name] == getattr(facts, name)
    assert [each["name"] for each in found["learners"]] == [
        each.name for each in evaluation.participants
    ]
    for each, participant in zip(
        found["learners"], evaluation.participants, strict=True
    ):
        counts = np.array(each["confusion"])
        assert counts.shape == (M, M + 1)  # the last column: rows without prediction
        assert counts.sum() == found["rows"]
        right = counts.diagonal()
        assert each["mistakes"] == counts.sum() - right.sum()
        assert each["error"] == each["mistakes"] / found["rows"]
        assert each["window_error"] == participant.confusion.window_error
        assert each["updates"] == participant.model.n_updates_
        assert each["seconds"] == participant.seconds
        assert each["reference"] == participant.reference
        with np.errstate(invalid="ignore"):
            precision = right / counts[:, :M].sum(axis=0)
            recall = right / counts.sum(axis=1)
            f1 = 2 * precision * recall / (precision + recall)
        for name, expected in (
            ("precision", precision),
            ("recall", recall),
            ("f1", f1),
        ):
            assert each[name] == pytest.approx(np.nan_to_num(expected).tolist())
        assert each["macro_f1"] == pytest.approx(np.nan_to_num(f1).mean())
        assert ("drifts" in each) == hasattr(participant.model, "drifts_")


def test_json_has_the_metrics_that_were_asked_for_and_null_for_none() -> None:
    learners = json.loads(printed_result.as_json(*RUNS[0]))["learners"]
    by_name = {each["name"]: each["metrics"] for each in learners}
    assert all([*metrics] == ["kappa", "log_loss"] for metrics in by_name.values())
    assert by_name["GaussianNB"]["log_loss"] > 0.0
    assert by_name["PA"]["log_loss"] is None
    counts = np.array(learners[1]["confusion"])[:, :3]  # its first row has no label
    truth, guess = (
        np.repeat(np.indices((3, 3))[i].ravel(), counts.ravel()) for i in (0, 1)
    )
    assert by_name["PA"]["kappa"] == pytest.approx(
        cohen_kappa_score(truth, guess), abs=0.01
    )


@pytest.mark.parametrize("run", RUNS)
def test_the_table_shows_the_figures_of_json(run: tuple[Evaluation, RunFacts]) -> None:
    evaluation, facts = run
    found = json.loads(printed_result.as_json(evaluation, facts))
    table = printed_result.as_table(evaluation, facts)
    width = max(len(each["name"]) for each in found["learners"])
    for each in found["learners"]:
        (line,) = (
            line
            for line in table.splitlines()
            if line[: width + 1].strip() == each["name"]
        )
        figures = [each["error"], each["window_error"], each["macro_f1"]]
        figures += each["metrics"].values()
        shown = ["—" if value is None else f"{value:.4f}" for value in figures]
        speed = found["rows"] / each["seconds"]
        expected = [*shown, f"{each['updates']:,}", f"{speed:,.0f}"]
        assert line[width:].split() == expected
    assert table.count("Lowest error: ") == (
        sum(not each["reference"] for each in found["learners"]) > 1
    )
    assert f"{found['rows']:,} rows, {facts.p} features, " in table
    assert ("Stopped by Ctrl-C" in table) == facts.interrupted
    assert ("Resumed from earlier.rpnb" in table) == (facts.loaded is not None)
    assert (f"shuffled with {facts.order}" in table) == (facts.order != "file")


def test_the_lowest_error_is_named() -> None:
    evaluation, facts = RUNS[0]
    errors = {
        each.name: each.confusion.error
        for each in evaluation.participants
        if not each.reference
    }
    best = min(errors, key=lambda name: errors[name])
    assert f"Lowest error: {best}." in printed_result.as_table(evaluation, facts)


if __name__ == "__main__":
    RECORD.write_text(table_of(*RUNS[0]), encoding="utf-8")


def test_one_row_is_not_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "one.csv"
    path.write_text("x,y\n1,p\n2,\n")
    words = ["run", str(path), "--target", "y", "--unlabelled", "predict", "--quiet"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert ": 1 row, 1 feature" in said
    assert "1 row without a label was predicted" in said
