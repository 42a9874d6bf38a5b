from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rpnb.report.charts.curves import Curve, curve_panel
from rpnb.report.charts.drawing import Area, Dot, Drawing, Label, Line
from rpnb.report.charts.palette import style
from rpnb.study.analysis import error_curve, updates_curve
from rpnb.study.records import CurvePoint
from study.report_records import make_record


def _lines(drawing: Drawing, role: str) -> list[Line]:
    return [m for m in drawing.marks if isinstance(m, Line) and m.role == role]


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
        panel = curve_panel("x", [error_curve(runs[:count])], "error", ["RPNB"])
        bands = [m for m in panel.marks if isinstance(m, Area)]
        assert len(bands) == count - 1


def test_the_line_ends_at_the_error_of_the_run() -> None:
    run = make_record(error=0.3, n=150)
    panel = curve_panel("x", [error_curve([run])], "error", ["RPNB"])
    (line,) = _lines(panel, "s0")
    heights = {
        m.text: m.y - 4.0
        for m in panel.marks
        if isinstance(m, Label) and m.anchor == "end"
    }
    zero, tenth = heights["0"], heights["0.1"]
    assert (zero - line.points[-1][1]) / (zero - tenth) == pytest.approx(3.0)


def test_every_method_is_named_at_the_end_of_its_line() -> None:
    methods = ["RPNB", "AROW", "OnlineBagging"]
    curves = [updates_curve([make_record(method=name)]) for name in methods]
    panel = curve_panel("x", curves, "updates", methods)
    names = {m.text: m.y for m in panel.marks if isinstance(m, Label)}
    heights = sorted(names[name] for name in ("RPNB", "AROW", "Online Bagging"))
    assert np.diff(heights).min() >= 14.9  # all three end at the same place


def test_a_stream_of_one_row_has_a_panel() -> None:
    run = replace(make_record(n=1, places=1), curve=(CurvePoint(1, 1, 1),))
    curves = error_curve([run]), updates_curve([run])
    assert curve_panel("x", curves[:1], "error", ["RPNB"]).marks
    assert curve_panel("x", curves[1:], "updates", ["RPNB"]).marks


def test_references_do_not_squeeze_the_learners() -> None:
    rows = np.arange(1.0, 41.0)

    def flat(method: str, level: float) -> Curve:
        return Curve(method, rows, np.full(40, level), np.zeros(40), 1)

    names = ["RPNB", "AROW", "majority class", "same as last"]
    learners = [flat("RPNB", 0.05), flat("AROW", 0.08)]
    references = [flat("majority class", 0.9), flat("same as last", 0.5)]
    panel = curve_panel("x", [*learners, *references], "error", names)
    alone = curve_panel("x", learners, "error", names)

    def ticks(drawing: Drawing) -> set[str]:
        return {mark.text for mark in drawing.marks if isinstance(mark, Label)}

    assert ticks(alone) <= ticks(panel)
    assert {"majority class 0.9", "same as last 0.5"} <= ticks(panel)
    early = Curve("RPNB", rows, np.where(rows < 5, 1.0, 0.05), np.zeros(40), 1)
    assert "1" not in ticks(curve_panel("x", [early], "error", names))


def test_no_two_learners_have_the_same_colour_and_mark() -> None:
    names = ["RPNB", *(f"L{k}" for k in range(28)), "majority class", "same as last"]
    looks = [style(name, names) for name in names]
    pairs = {(look.role, look.shape, look.dash) for look in looks}
    assert len(pairs) == len(names)
    assert style("majority class", ["majority class"]) == style("majority class", names)


def test_alarms_of_drift_detectors_are_marked() -> None:
    rows = np.arange(100.0, 1100.0, 100.0)
    curves = [
        Curve(name, rows, np.full(10, 0.2), np.zeros(10), 1) for name in ("RPNB", "PA")
    ]
    alarms = {"RPNB": [500], "PA": [500, 900]}
    names = ["RPNB", "PA"]
    panel = curve_panel("title", curves, "error", names, alarms=alarms)
    dots = [m for m in panel.marks if isinstance(m, Dot) and "alarm" in (m.tip or "")]
    assert [dot.tip for dot in dots] == [
        "RPNB: drift alarm at row 500",
        "PA: drift alarm at row 500",
        "PA: drift alarm at row 900",
    ]
    assert dots[0].x == dots[1].x < dots[2].x
    assert dots[0].y != dots[1].y  # both are seen
    lines = [m for m in panel.marks if isinstance(m, Line) and m.dash == (2.0, 3.0)]
    assert [line.points[0][0] for line in lines] == [dot.x for dot in dots]
    many = {"PA": list(range(1, 100))}
    panel = curve_panel("title", curves, "error", names, alarms=many)
    lines = [m for m in panel.marks if isinstance(m, Line) and m.dash == (2.0, 3.0)]
    assert not lines
