"""Rounds in which all learners run, and their summaries."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from peers import rounds
from peers.peers import select_learners
from peers.rounds import Failure, ModelSize, Outcome, Plan, Run, measure
from peers.summary import summarise
from peers.text_tables import amount, table, three_digits
from peers.workloads import workload
from rpnb import RPNBClassifier

LEARNERS = (("rpnb", "RPNB"), ("river", "GaussianNB"))
FAILING = ("river", "Bagging")  # wants two members
PLAN = Plan(
    streams=("mixture",),
    interpreters={"rpnb": sys.executable, "river": sys.executable},
    learners=LEARNERS,
    n=120,
    K=1,
    rounds=2,
    seed=5,
    limit=60.0,
)


@pytest.fixture(autouse=True, scope="module")
def _here(worker_here: Any) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "worker", worker_here)
        patch.setattr(rounds, "_AT_LEAST", 0.0)
        yield


@pytest.fixture(scope="module")
def outcome(_here: None) -> Outcome:
    return measure(replace(PLAN, learners=(*LEARNERS, FAILING)))


def test_every_learner_runs_in_every_round(outcome: Outcome) -> None:
    assert {(run.peer, run.learner, run.round) for run in outcome.runs} == {
        (*key, number) for key in LEARNERS for number in (0, 1)
    }
    assert all(run.rows == run.n == 120 for run in outcome.runs)
    assert {(size.peer, size.learner) for size in outcome.sizes} == set(LEARNERS)


def test_errors_are_those_of_the_rows_of_the_round(outcome: Outcome) -> None:
    for number in (0, 1):
        work = workload("mixture", 120, 5 + number)
        model = RPNBClassifier(n_estimators=1, random_state=5 + number)
        labels = model.predict_then_learn(work.X, work.y, classes=np.arange(work.M))
        wanted = np.mean(labels != work.y)
        for run in outcome.runs:
            if run.round == number:
                assert run.reference_error == wanted
                if run.peer == "rpnb":
                    assert run.error == wanted


def test_a_learner_that_is_too_slow_gets_the_first_rows() -> None:
    plan = replace(
        PLAN,
        learners=(LEARNERS[0], ("sklearn", "SGDClassifier")),
        interpreters={"rpnb": sys.executable, "sklearn": sys.executable},
        K=4,
        n=600,
        rounds=1,
        memory=False,
        limit=0.1,  # one is a thousand times as fast as the other
    )
    found = {run.peer: run for run in measure(plan).runs}
    assert found["rpnb"].rows == 600
    assert found["sklearn"].rows < 600
    work = workload("mixture", 600, 5)
    model = RPNBClassifier(n_estimators=4, random_state=5)
    labels = model.predict_then_learn(work.X, work.y, classes=np.arange(work.M))
    few = found["sklearn"].rows
    assert found["sklearn"].reference_error == np.mean(labels[:few] != work.y[:few])


def test_a_failure_is_reported_and_stops_no_other_run(outcome: Outcome) -> None:
    (failure,) = outcome.failures
    assert (failure.peer, failure.learner) == FAILING
    assert "At least 2 models" in failure.message
    shown = table("mixture", summarise(outcome), outcome)
    assert any("River, Bagging, failed" in note for note in shown.notes)


def run(peer: str, learner: str, number: int, seconds: float, rows: int = 1000) -> Run:
    return Run(
        "mixture", peer, "1.0", learner, number, 1000, rows, seconds, 2 * seconds,
        0.25 + number / 10, 0.5,
    )  # fmt: skip


def made_up() -> Outcome:
    runs = (
        *(run("rpnb", "RPNB", i, s) for i, s in enumerate((0.01, 0.02, 0.04))),
        *(run("river", "GaussianNB", i, s, 500) for i, s in enumerate((1, 3, 1))),
    )
    sizes = (ModelSize("mixture", "rpnb", "RPNB", 181_175, 2_000_000),)
    failures = (Failure("mixture", "river", "Bagging", "too large"),)
    return Outcome(replace(PLAN, rounds=3), runs, sizes, failures)


def test_summaries_are_medians_and_ratios_within_a_round() -> None:
    ours, river = summarise(made_up())
    assert (ours.speed, ours.speed_low, ours.speed_high) == (50e3, 25e3, 100e3)
    assert ours.speed_wall == 25e3
    assert ours.ratio == 1.0
    assert ours.is_reference
    assert (ours.model_bytes, ours.peak_bytes) == (181_175, 2_000_000)
    assert (river.model_bytes, river.peak_bytes) == (None, None)
    assert river.speed == 500.0
    # Round by round 200, 300 and 50: the ratio of the medians would be 100.
    assert (river.ratio, river.ratio_low, river.ratio_high) == pytest.approx(
        (200.0, 50.0, 300.0)
    )
    assert river.error == pytest.approx(0.35)
    assert (river.rows, river.n, river.rounds) == (500, 1000, 3)
    assert not river.is_reference


def test_the_table_shows_results_and_marks_first_rows() -> None:
    outcome = made_up()
    shown = table("mixture", summarise(outcome), outcome)
    assert shown.title == "mixture: 1,000 rows"
    assert shown.rows == (
        (
            "rpnb 1.0", "RPNB, K = 1", "1,000", "50,000", "25,000–100,000",
            "0.3500", "0.5000", "181 kB", "2.00 MB", "—", "—",
        ),
        (
            "River 1.0", "GaussianNB", "500*", "500", "167–500",
            "0.3500", "0.5000", "—", "—", "200", "50.0–300",
        ),
    )  # fmt: skip
    assert any(note.startswith("*: only the first rows") for note in shown.notes)
    assert any("too large" in note for note in shown.notes)
    scaled = replace(outcome, plan=replace(outcome.plan, scale=True))
    assert "standardised" in table("mixture", summarise(outcome), scaled).title


def test_without_rpnb_there_is_no_ratio() -> None:
    outcome = made_up()
    alone = replace(outcome, runs=outcome.runs[3:])
    (river,) = summarise(alone)
    assert river.ratio is None
    assert table("mixture", [river], alone).rows[0][-2:] == ("—", "—")


@pytest.mark.parametrize(
    ("value", "text"),
    [(99.96, "100"), (1.0, "1.00"), (0.999, "0.999"), (1e6, "1,000,000")],
)  # fmt: skip
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert three_digits(value) == text


def test_bytes_are_read_by_people() -> None:
    assert [amount(count) for count in (0, 999, 1000, 2_500_000_000)] == [
        "0 B", "999 B", "1.00 kB", "2.50 GB",
    ]  # fmt: skip


def test_learners_are_chosen_by_name_and_rpnb_stays() -> None:
    assert select_learners(["rpnb", "river"], ["Bagging"]) == (
        ("rpnb", "RPNB"),
        ("river", "Bagging"),
    )
    assert ("river", "GaussianNB") in select_learners(["rpnb", "river"])
    with pytest.raises(ValueError, match="got 'Oracle'"):
        select_learners(["rpnb"], ["Oracle"])
