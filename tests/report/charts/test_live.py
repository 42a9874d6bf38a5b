"""Data of live charts: complete, and safe in a page."""

import json
import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rpnb.estimators.pooled import MemberHistory
from rpnb.report.charts.curves import Curve, make_plot
from rpnb.report.charts.live import (
    as_json,
    member_data,
    member_figure,
    plot_data,
    plot_figure,
)
from rpnb.report.charts.members import member_panels

rows = st.lists(st.integers(1, 10_000_000), min_size=1, max_size=12, unique=True)
values = st.floats(0, 1e7, allow_subnormal=False)


@st.composite
def curves(draw: st.DrawFn) -> list[Curve]:
    """Draw curves whose rows may differ, some of several permutations."""
    found = []
    for k in range(draw(st.integers(1, 6))):
        at = np.array(sorted(draw(rows)), dtype=np.float64)
        mean, deviation = (
            np.array([draw(values) for _ in at]),
            np.array([draw(values) for _ in at]),
        )
        reference = k > 0 and draw(st.booleans())
        runs = draw(st.integers(1, 2))
        found.append(Curve(f"curve {k}", at, mean, deviation, runs, reference))
    return found


@given(curves())
def test_every_point_of_every_curve_is_in_the_data(drawn: list[Curve]) -> None:
    plot = make_plot("title", drawn, "updates")
    data = json.loads(as_json(plot_data(plot)))
    assert data["rows"] == sorted(set(data["rows"]))
    for curve, series in zip(drawn, data["series"], strict=True):
        points = zip(data["rows"], series["values"], strict=True)
        shown = [(row, value) for row, value in points if value is not None]
        assert [row for row, _ in shown] == curve.rows.tolist()
        np.testing.assert_allclose([v for _, v in shown], curve.mean, rtol=5e-6)
        assert ("spread" in series) == (curve.runs > 1)
    coloured = [each["name"] for each in data["series"] if each["shown"]]
    assert sorted(coloured) == sorted(plot.emphasised)
    assert 1 <= len(coloured) <= 3
    ends = {curve.method: curve.mean[-1] for curve in drawn if not curve.reference}
    assert ends[plot.emphasised[0]] == min(ends.values())


def test_every_point_of_a_member_is_in_its_data() -> None:
    n = np.arange(8.0)
    history = MemberHistory(
        np.cumsum(np.arange(3, 11)),
        {"one": 1 / (1 + n), "two": n / (1 + n)},
        {"one": 0.5 / (1 + n), "two": 0.1 + 0 * n, "pool": 0.05 * n},
    )
    for panel in member_panels(history):
        data = member_data(panel)
        found = {each["name"]: each["values"] for each in data["series"]}
        for name in ("weight", "error", "pool"):
            expected = getattr(panel, name)
            np.testing.assert_allclose(found[name], expected, rtol=5e-6)
        assert data["rows"] == panel.rows.tolist()
        assert member_figure(panel).count("<svg") == 1


@given(st.text())
def test_no_text_can_end_the_data(name: str) -> None:
    wild = f"{name}</script><!--<script>\u2028 &"
    text = as_json({"name": wild})
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == {"name": wild}


def test_a_figure_holds_the_picture_and_the_data() -> None:
    wild = '<img src=x onerror="alert(1)">'
    curve = Curve(wild, np.arange(1.0, 4.0), np.ones(3), np.zeros(3), 1)
    plot = make_plot(wild, [curve], "updates")
    for wide in (False, True):
        figure = plot_figure(plot, wild, wide=wide)
        assert figure.count("<svg") == 1 + wide
        assert "<img" not in figure
        data = figure[figure.index("application/json") :]
        data = data[data.index(">") + 1 : data.index("</script>")]
        assert json.loads(data)["series"][0]["name"] == wild
