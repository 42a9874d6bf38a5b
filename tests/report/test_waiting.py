"""Sections of the report about the time before labels came, and what changed."""

import re

import numpy as np
import pytest

from report.runs import FACTS
from rpnb.baselines import GaussianNB
from rpnb.evaluate.arrival_times import ArrivalTimes
from rpnb.evaluate.blocks import table_of
from rpnb.evaluate.evaluation import Evaluation, native_evaluation
from rpnb.evaluate.waiting import StreamWatch
from rpnb.report.charts.drawing import Area
from rpnb.report.charts.waiting import waiting_panel
from rpnb.report.stream import stream_page


def evaluated(late: int) -> Evaluation:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 5000)
    X = rng.normal(size=(5000, 3)) + y[:, None]
    X[3500:, 2] += 5.0
    evaluation = native_evaluation({"<NB>": GaussianNB()}, probabilities="truth")
    learners = {"<NB>": (0, evaluation.participants[0].driver)}
    evaluation.watch = StreamWatch(learners, evaluation.labels)
    groups = (np.arange(5000) // 100 + 1) * 100 + late
    times = ArrivalTimes(arrival=groups) if late else ArrivalTimes()
    evaluation.run([table_of(X, y)], [], times)
    return evaluation


@pytest.fixture(scope="module")
def late() -> Evaluation:
    return evaluated(200)


def section(page: str, anchor: str) -> str | None:
    found = re.search(rf'<section id="{anchor}".*?</section>', page, re.DOTALL)
    return None if found is None else found.group()


def page_of(evaluation: Evaluation) -> str:
    return stream_page(evaluation, FACTS, "rpnb run some.csv")


def test_late_labels_have_both_sections(late: Evaluation) -> None:
    page = page_of(late)
    waiting = section(page, "waiting")
    assert waiting is not None
    assert "At the end: " in waiting
    assert str(late.watch.results()["<NB>"].last) in waiting  # type: ignore[union-attr]
    changes = section(page, "changes")
    assert changes is not None
    assert '<th scope="row">4,000</th><td>Inputs</td><td>x3</td>' in changes
    assert "<NB>" not in page


def test_labels_that_come_at_once_leave_nothing_waiting() -> None:
    page = page_of(evaluated(0))
    assert section(page, "waiting") is None
    assert section(page, "changes") is not None


def test_a_run_that_was_not_watched_has_neither() -> None:
    evaluation = evaluated(0)
    evaluation.watch = None
    page = page_of(evaluation)
    assert section(page, "waiting") is None
    assert section(page, "changes") is None


def test_the_band_is_drawn_where_something_was_known(late: Evaluation) -> None:
    assert late.watch is not None
    found = late.watch.results()["<NB>"]
    assert found.known.any()
    assert not found.known.all()
    marks = waiting_panel("NB", found).marks
    areas = [mark for mark in marks if isinstance(mark, Area)]
    runs = np.flatnonzero(np.diff(np.concatenate([[0], found.known, [0]])))
    assert len(areas) == sum(b - a > 1 for a, b in runs.reshape(-1, 2).tolist())
    drawn = sum(len(area.points) for area in areas)
    assert drawn <= 2 * found.known.sum()
