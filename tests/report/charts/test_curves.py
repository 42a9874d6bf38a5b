"""Plots of curves and their static pictures."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rpnb.report.charts.curves import (
    Curve,
    Plot,
    clipped,
    curve_panel,
    fitted_range,
    leaders,
    make_plot,
)
from rpnb.report.charts.drawing import Area, Dot, Drawing, Label, Line
from rpnb.study.analysis import error_curve, updates_curve
from rpnb.study.run_records import CurvePoint
from study.report_records import make_record

ROWS = np.arange(1.0, 41.0)


def flat(name: str, level: float, *, reference: bool = False) -> Curve:
    return Curve(name, ROWS, np.full(40, level), np.zeros(40), 1, reference)


def texts(drawing: Drawing) -> set[str]:
    return {mark.text for mark in drawing.marks if isinstance(mark, Label)}


def traces(drawing: Drawing, role: str) -> list[Line]:
    """Return the lines of curves, which no other line has the width of."""
    lines = [m for m in drawing.marks if isinstance(m, Line) and m.role == role]
    return [line for line in lines if line.width in (1.2, 1.8, 2.6)]


def test_a_curve_is_the_mean_over_the_permutations() -> None:
    runs = [
        replace(
            make_record(n=100), curve=(CurvePoint(50, 10, 20), CurvePoint(100, 12, 40))
        ),
        replace(
            make_record(n=100), curve=(CurvePoint(50, 20, 30), CurvePoint(100, 24, 44))
        ),
    ]
    error = error_curve(runs)
    assert_allclose(error.mean, [0.3, 0.18])
    assert_allclose(error.deviation, np.sqrt([0.02, 0.0072]))
    updates = updates_curve(runs)
    assert_allclose(updates.mean, [25.0, 42.0])
    assert_allclose(updates.rows, [50.0, 100.0])


def test_runs_with_other_points_are_interpolated() -> None:
    runs = [
        replace(
            make_record(n=100), curve=(CurvePoint(50, 10, 10), CurvePoint(100, 10, 10))
        ),
        replace(
            make_record(n=100), curve=(CurvePoint(40, 8, 8), CurvePoint(100, 20, 20))
        ),
    ]
    assert_allclose(updates_curve(runs).mean, [10.0, 15.0])


def test_one_run_has_no_band_and_two_have_one() -> None:
    runs = [make_record(error=0.1), make_record(permutation=1, error=0.2)]
    for count in (1, 2):
        panel = curve_panel(make_plot("x", [error_curve(runs[:count])], "error"))
        bands = [m for m in panel.marks if isinstance(m, Area)]
        assert len(bands) == count - 1


def test_the_line_ends_at_the_error_of_the_run() -> None:
    run = make_record(error=0.3, n=150)
    panel = curve_panel(make_plot("x", [error_curve([run])], "error"))
    end = traces(panel, "s0")[-1].points[-1][1]
    heights = {
        float(m.text): m.y - 4.0
        for m in panel.marks
        if isinstance(m, Label) and m.anchor == "end"
    }
    (low, y0), *_, (high, y1) = sorted(heights.items())
    assert low + (y0 - end) / (y0 - y1) * (high - low) == pytest.approx(0.3)


def test_the_lowest_three_are_in_colour_whatever_their_names_and_order() -> None:
    levels = [0.3, 0.1, 0.5, 0.2, 0.4]
    for names in ("RPNB PA Pooled AROW x", "a b c d e", "e d c b a"):
        curves = [flat(n, v) for n, v in zip(names.split(), levels, strict=True)]
        plot = make_plot("x", [*curves, flat("zero", 0.0, reference=True)], "error")
        best = [curves[i].method for i in (1, 3, 0)]
        assert plot.emphasised == tuple(best) == leaders(curves)
        panel = curve_panel(plot)
        bold = {m.text for m in panel.marks if isinstance(m, Label) and m.bold}
        assert bold == set(best)
        assert [line.width for line in traces(panel, plot.roles[best[0]])] == [2.6]
        # The winner is painted last, on top of all others.
        widths = [m.width for m in panel.marks if isinstance(m, Line)]
        drawn = [width for width in widths if width in (1.2, 1.8, 2.6)]
        assert drawn[-1] == 2.6
        assert len(traces(panel, "other")) == 3  # the two others, and the reference
        assert all(not line.dash for line in panel.marks if isinstance(line, Line))


def test_every_method_is_named_at_the_end_of_its_line() -> None:
    methods = ["RPNB", "AROW", "OnlineBagging"]
    curves = [updates_curve([make_record(method=name)]) for name in methods]
    panel = curve_panel(make_plot("x", curves, "updates"))
    names = {m.text: m.y for m in panel.marks if isinstance(m, Label)}
    heights = sorted(names[name] for name in ("RPNB", "AROW", "OnlineBagging"))
    assert np.diff(heights).min() >= 14.9  # all three end at the same place


def test_of_many_curves_the_emphasised_are_named() -> None:
    curves = [flat(f"learner {k}", 0.5 - k / 100) for k in range(40)]
    shown = texts(curve_panel(make_plot("x", curves, "error")))
    assert {"learner 39", "learner 38", "learner 37"} <= shown
    assert sum(text.startswith("learner") for text in shown) == 13


def test_a_stream_of_one_row_has_a_panel() -> None:
    run = replace(make_record(n=1, places=1), curve=(CurvePoint(1, 1, 1),))
    for plot in (
        make_plot("x", [error_curve([run])], "error"),
        make_plot("x", [updates_curve([run])], "updates"),
    ):
        assert curve_panel(plot).marks


def fills(plot: Plot) -> float:
    """Return the share of the axis that curves use."""
    values = np.concatenate([c.mean for c in plot.curves if not c.reference])
    return float(values.max() - values.min()) / (plot.high - plot.low)


@given(st.floats(0.01, 0.9), st.floats(0.0, 1.0))
def test_the_axis_fits_the_curves(low: float, share: float) -> None:
    high = low + share * (1.0 - low)
    plot = make_plot("x", [flat("a", low), flat("b", high)], "share")
    assert plot.low <= low
    assert plot.high >= high - 1e-9 or high > 3 * low
    # It starts at 0, or what lies below the curves is less than half of it.
    assert plot.low == 0.0 or low >= high / 2
    if 0.5 <= low / high <= 0.99:
        assert plot.low > 0.0
        assert fills(plot) > 0.3


def test_references_and_outliers_do_not_squeeze_the_learners() -> None:
    learners = [flat("RPNB", 0.05), flat("AROW", 0.08)]
    references = [
        flat("majority class", 0.9, reference=True),
        flat("same as last", 0.5, reference=True),
    ]
    plot = make_plot("x", [*learners, *references], "error")
    alone = make_plot("x", learners, "error")
    assert (plot.low, plot.high) == (alone.low, alone.high)
    assert {"majority class 0.9 ↑", "same as last 0.5 ↑"} <= texts(curve_panel(plot))
    early = Curve("RPNB", ROWS, np.where(ROWS < 5, 1.0, 0.05), np.zeros(40), 1)
    assert make_plot("x", [early], "error").high < 0.1
    three = [flat(name, 0.05) for name in "abc"]
    assert make_plot("x", [*three, flat("bad", 0.9)], "error").high < 0.2


def test_values_beyond_the_axis_are_cut_off() -> None:
    line = [(0.0, 5.0), (10.0, 15.0), (20.0, 5.0), (30.0, 5.0), (40.0, -5.0)]
    assert clipped(line, 0.0, 10.0) == [
        [(0.0, 5.0), (5.0, 10.0)],
        [(15.0, 10.0), (20.0, 5.0), (30.0, 5.0), (35.0, 0.0)],
    ]
    assert clipped([(0.0, 20.0), (9.0, 20.0)], 0.0, 10.0) == []


def test_alarms_of_drift_detectors_are_marked() -> None:
    curves = [flat("RPNB", 0.2), flat("PA", 0.2)]
    alarms = {"RPNB": [20], "PA": [20, 36]}
    panel = curve_panel(make_plot("title", curves, "error", alarms=alarms))
    dots = [m for m in panel.marks if isinstance(m, Dot) and "alarm" in (m.tip or "")]
    assert [dot.tip for dot in dots] == [
        "RPNB: alarm at row 20",
        "PA: alarm at row 20",
        "PA: alarm at row 36",
    ]
    assert dots[0].x == dots[1].x < dots[2].x
    assert dots[0].y != dots[1].y  # both are seen
    lines = [m for m in panel.marks if isinstance(m, Line) and m.dash == (2.0, 3.0)]
    assert [line.points[0][0] for line in lines] == [dot.x for dot in dots]
    many = {"PA": list(range(1, 40))}
    panel = curve_panel(make_plot("title", curves, "error", alarms=many))
    lines = [m for m in panel.marks if isinstance(m, Line) and m.dash == (2.0, 3.0)]
    assert not lines


@pytest.mark.parametrize("height", [0.0, 6e-81, 1e-13])
def test_a_curve_of_almost_zero_has_an_axis(height: float) -> None:
    rows = np.array([1.0])
    curve = Curve("A", rows, np.array([0.0]), np.array([height]), 1)
    assert fitted_range([curve], ("A",), "updates") == (0.0, 1.0)
