"""Charts of speed against error, and of how time grows."""

import math
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers.charts import (
    LogScale,
    Panel,
    around,
    growth_chart,
    power_of_ten,
    speed_chart,
)
from peers.statistics import PowerLaw
from peers.summary import LearnerSummary
from rpnb.report.charts.drawing import Dot, Label, Line
from rpnb.report.charts.svg import standalone

RPNB = LearnerSummary(
    stream="mixture", library="rpnb", version="1", learner="RPNB, K = 200", n=1000,
    rows=1000, rounds=3, speed=1e5, speed_low=9e4, speed_high=1.2e5, speed_wall=1e5,
    error=0.2, reference_error=0.2, ratio=1.0, ratio_low=1.0, ratio_high=1.0,
    model_bytes=1, peak_bytes=1, is_reference=True,
)  # fmt: skip
RIVER = replace(
    RPNB, library="River", learner="GaussianNB", speed=1e3, speed_low=1e3,
    speed_high=1e3, error=0.4, is_reference=False,
)  # fmt: skip


@given(st.floats(1e-6, 1e6), st.floats(1.01, 1e6), st.floats(0.0, 1.0))
def test_equal_factors_are_equal_lengths(low: float, span: float, share: float) -> None:
    scale = LogScale(low, low * span, 10.0, 110.0)
    assert scale(low * span**share) == pytest.approx(10.0 + 100.0 * share, abs=1e-6)


@given(st.lists(st.floats(1e-8, 1e8), min_size=1, max_size=5))
def test_an_axis_ends_at_powers_of_ten_around_all(values: list[float]) -> None:
    low, high = around(values)
    assert low <= min(values) * (1 + 1e-12)
    assert high >= max(values) * (1 - 1e-12)
    assert high >= 9.9 * low
    marks = LogScale(low, high, 0.0, 1.0).decades()
    assert marks[0] == pytest.approx(low)
    assert marks[-1] == pytest.approx(high)


def test_powers_of_ten_are_short() -> None:
    assert [power_of_ten(10.0**e) for e in (-6, -3, 0, 7)] == [
        "10⁻⁶", "0.001", "1", "10⁷",
    ]  # fmt: skip


def test_markers_stand_where_speed_and_error_say() -> None:
    drawing = speed_chart("t", [RPNB, RIVER])
    # More error comes first; each marker is repeated beside the name.
    river, _, ours, _ = (mark for mark in drawing.marks if isinstance(mark, Dot))
    decade = (ours.x - river.x) / 2  # a hundred times as fast is two decades
    (line,) = (
        mark for mark in drawing.marks if isinstance(mark, Line) and mark.role == "s0"
    )
    assert line.points[1][0] - line.points[0][0] == pytest.approx(
        decade * math.log10(12 / 9)
    )
    assert ours.y > river.y  # less error is lower
    assert ours.size > river.size
    ElementTree.fromstring(standalone(drawing))  # noqa: S314  our own text


def test_names_of_a_crowd_do_not_overlap_and_are_joined_to_their_markers() -> None:
    crowd = [
        replace(RIVER, learner=f"learner {i}", speed=1000.0 * (1 + i / 10), error=0.3)
        for i in range(19)
    ]
    marks = speed_chart("t", [RPNB, *crowd]).marks
    names = [
        mark
        for mark in marks
        if isinstance(mark, Label) and ("learner" in mark.text or "RPNB" in mark.text)
    ]
    heights = sorted(name.y for name in names)
    assert len(heights) == 20
    assert all(b - a >= 12.0 for a, b in pairwise(heights))
    joints = [mark for mark in marks if isinstance(mark, Line) and mark.role == "tie"]
    dots = {(mark.x, mark.y) for mark in marks if isinstance(mark, Dot)}
    assert all(joint.points[0] in dots for joint in joints)
    assert sorted(joint.points[-1][1] + 4.0 for joint in joints) == heights


def test_first_rows_are_marked() -> None:
    chart = speed_chart("t", [RPNB, replace(RIVER, rows=10)])
    texts = [mark.text for mark in chart.marks if isinstance(mark, Label)]
    assert "River: GaussianNB*" in texts
    assert "* on the first rows only" in texts


def test_a_panel_has_points_law_and_floor() -> None:
    law = PowerLaw(1.0, 1e-3)
    panel = Panel(
        "n", (10.0, 100.0), (0.01, 0.1), (0.01, 0.1), (0.02, 0.2), (0.001, 0.01), law
    )
    chart = growth_chart("t", [panel, replace(panel, name="p")])
    dots = [mark for mark in chart.marks if isinstance(mark, Dot)]
    assert len(dots) == 4
    assert dots[0].y == pytest.approx(dots[2].y)  # all panels have one axis
    texts = [mark.text for mark in chart.marks if isinstance(mark, Label)]
    assert "∝ n^1.00" in texts
    assert texts.count("floor") == 2
    lines = [mark for mark in chart.marks if isinstance(mark, Line)]
    fitted = next(line for line in lines if line.role == "muted")
    assert fitted.points[0] == pytest.approx((dots[0].x, dots[0].y))
