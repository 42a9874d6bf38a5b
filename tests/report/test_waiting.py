"""Sections of the report on rows that wait for labels, and on what changed."""

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from report.runs import FACTS
from rpnb.baselines import GaussianNB
from rpnb.evaluate.arrival_times import ArrivalTimes
from rpnb.evaluate.evaluation import Evaluation, native_evaluation
from rpnb.evaluate.stream_blocks import table_of
from rpnb.evaluate.waiting import StreamWatch
from rpnb.report.charts.drawing import Area
from rpnb.report.run_page import stream_page
from rpnb.report.sections.late_labels import waiting_panel


def evaluated(late: int, moved: float = 5.0) -> Evaluation:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 5000)
    X = rng.normal(size=(5000, 3)) + y[:, None]
    X[3500:, 2] += moved
    evaluation = native_evaluation({"<NB>": GaussianNB()}, probabilities="truth")
    learners = {"<NB>": (0, evaluation.participants[0].driver)}
    evaluation.watch = StreamWatch(learners, evaluation.labels)
    groups = (np.arange(5000) // 100 + 1) * 100 + late
    times = ArrivalTimes(arrival=groups) if late else ArrivalTimes()
    evaluation.run([table_of(X, y, evaluation.labels)], [], times)
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
    # Cells are aligned as their headings.
    line = '<th scope="row">4,000</th><td class="text">Inputs</td><td class="text">x3'
    assert line in changes
    # Alarms of inputs are marked where the columns moved.
    (text,) = re.findall(r'<script type="application/json">(.*?)</script>', changes)
    marks = [mark["row"] for mark in json.loads(text)["marks"]]
    alarms = late.watch.results()["<NB>"].alarms  # type: ignore[union-attr]
    assert marks == [alarm.row for alarm in alarms if alarm.what == "inputs"]
    assert 4000 in marks
    assert "Triangles mark alarms of inputs." in changes
    assert "<NB>" not in page


def test_the_interactive_chart_has_the_same_figures(late: Evaluation) -> None:
    markup = section(page_of(late), "waiting")
    assert markup is not None
    assert late.watch is not None
    found = late.watch.results()["<NB>"]
    (text,) = re.findall(r'<script type="application/json">(.*?)</script>', markup)
    data = json.loads(text)
    expected, true = data["series"]
    for values, field in (
        (expected["values"], "expected"),
        (expected["low"], "low"),
        (expected["high"], "high"),
    ):
        shown = np.where(found.known, getattr(found, field), np.nan)
        assert_allclose(np.array(values, np.float64), shown, rtol=5e-6)
    assert_allclose(np.array(true["values"], np.float64), found.true, rtol=5e-6)
    assert data["rows"] == found.rows.tolist()
    assert [mark["row"] for mark in data["marks"]] == [a.row for a in found.alarms]


def test_columns_that_only_move_with_time_are_named() -> None:
    def clocked(*clocks: str) -> Evaluation:
        evaluation = evaluated(0)
        assert evaluation.watch is not None
        evaluation.watch.inputs.shifts.clocks = frozenset(clocks)
        return evaluation

    said = "Not compared, since they only move with time: x1."
    changes = section(page_of(clocked("x1")), "changes")
    assert changes is not None
    assert said in changes
    assert '"name":"x1"' not in changes
    changes = section(page_of(clocked()), "changes")
    assert changes is not None
    assert "Not compared" not in changes
    assert '"name":"x1"' in changes


def test_labels_that_arrive_at_once_leave_nothing_waiting() -> None:
    page = page_of(evaluated(0))
    assert section(page, "waiting") is None
    assert section(page, "changes") is not None


def test_a_run_that_was_not_watched_has_neither() -> None:
    evaluation = evaluated(0)
    evaluation.watch = None
    page = page_of(evaluation)
    assert section(page, "waiting") is None
    assert section(page, "changes") is None


def test_the_band_is_drawn_where_there_is_a_forecast(late: Evaluation) -> None:
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


def test_small_moves_look_small_beside_the_threshold_of_alarms() -> None:
    calm = evaluated(0, moved=0.0)
    changes = section(page_of(calm), "changes")
    assert changes is not None
    assert "There was no alarm." in changes
    (text,) = re.findall(r'<script type="application/json">(.*?)</script>', changes)
    data = json.loads(text)
    *columns, threshold = data["series"]
    assert max(max(each["values"]) for each in columns) < 0.05
    assert (threshold["name"], {*threshold["values"]}) == ("alarm threshold", {0.1})
    assert not threshold["shown"]
    assert data["y"]["high"] > 0.1
