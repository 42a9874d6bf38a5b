"""Charts look as on record: every mark of each, its place, size and role.

A margin, a size or a number of decimals that has slipped breaks no law of the other
tests, and shows on every page. What is meant to change is written anew, and looked at:
``python tests/report/charts/test_looks.py``.
"""

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import numpy as np

from rpnb.estimators.pooled_parts import MemberHistory
from rpnb.estimators.trust.contributions import largest, waterfall
from rpnb.evaluate.metrics import CalibrationCurve
from rpnb.report.charts.balance import balance_panel
from rpnb.report.charts.bars import MeanBar, Outcomes, mean_bars, outcome_bars
from rpnb.report.charts.curves import Curve, Measure, curve_panel
from rpnb.report.charts.deviations import Deviation, deviation_chart
from rpnb.report.charts.drawing import (
    Area,
    Dot,
    Drawing,
    Label,
    Line,
    Shape,
    beside,
)
from rpnb.report.charts.members import member_panels
from rpnb.report.charts.palette import chart_css, style
from rpnb.report.charts.ranks import critical_difference_diagram
from rpnb.report.charts.svg import inline, standalone
from rpnb.report.sections.calibration import reliability_panel
from rpnb.report.sections.confusion import Matrix, matrix_panel
from rpnb.report.sections.reasons import importance_panel, waterfall_panel

RECORD = Path(__file__).parents[2] / "golden" / "charts.txt"
METHODS = ["RPNB", "AROW", "Online Bagging", "PA", "majority class"]


def drawings() -> Iterator[Drawing]:
    """Yield each kind of chart, small, with what is seldom drawn too."""
    outcomes = [Outcomes("ours", 24, 6, 3), Outcomes("paper", 20, 10, 3)]
    yield outcome_bars("outcomes", [("AROW", outcomes), ("PA", outcomes[:1])])
    bars = [MeanBar("RPNB", 30.0, 2.0, 29.6), MeanBar("PA", 240.0, 0.0, None)]
    yield mean_bars("means", bars, "updates", METHODS)
    z = [-7.5, -3.75, -1.0, 0.0, 0.05, 0.1, 0.15, 2.5, 4.0, 9.0]
    far = [Deviation("RPNB", f"set {i}", value) for i, value in enumerate(z)]
    yield deviation_chart("deviations", [*far, Deviation("PA", "a", 0.5)], METHODS)
    ranks = {"RPNB": 1.25, "AROW": 2.5, "Online Bagging": 2.75, "PA": 3.5}
    yield critical_difference_diagram("ranks", ranks, 1.1, METHODS)
    yield critical_difference_diagram("two bars", ranks, 1.4, METHODS)
    rows = np.arange(1.0, 31.0)
    curves = [
        Curve(name, rows, (2 + i) / (8 + rows), 1 / (20 + rows), 1 + i % 2)
        for i, name in enumerate(METHODS)
    ]
    measures: tuple[Measure, ...]
    measures = ("error", "window", "updates", "weight", "missed")
    for measure in measures:
        yield curve_panel(measure, curves, measure, METHODS, alarms={"AROW": [9, 21]})
    many = {"RPNB": list(range(1, 31))}
    yield curve_panel("alarms", curves[:1], "error", METHODS, alarms=many, width=700.0)
    shares = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.02, 0.9, 0.08]])
    names = ["a", "b", "a class with a long name"]
    edges = np.array([0.0, 10.0, 20.0, 35.0])
    balance = balance_panel("balance", names, edges, shares)
    yield balance
    yield beside("both", balance, balance)
    n = np.arange(8.0)
    history = MemberHistory(
        np.cumsum(np.arange(3, 11)),
        {"one": 1 / (1 + n), "two": n / (1 + n)},
        {"one": 0.5 / (1 + n), "two": 0.1 + 0 * n, "pool": 0.05 * n},
    )
    yield from member_panels(history)
    nine = {f"member {i}": (1 + n) / (9 + i) for i in range(9)}
    yield from member_panels(MemberHistory(history.rows, nine, nine | {"pool": n}))
    tenths = np.array([0.25, 0.55, 0.95]), np.array([1.0, 0.5, 0.9])
    calibration = CalibrationCurve(*tenths, np.array([1, 99, 900.0]))
    yield reliability_panel("RPNB", calibration, 0.05, METHODS)
    counts = np.array([[9, 1, 0], [30, 20, 5], [0, 0, 7]])
    yield matrix_panel("RPNB", Matrix(("one", "two", "3"), ("one", "two", "3"), counts))
    long = tuple(f"a class with a long name {i}" for i in range(9))
    yield matrix_panel("RPNB", Matrix(long, long, 3 * np.eye(9, dtype=np.int64) + 1))
    steps = np.array([3.0, -1.5, 0.25, 1e-3])
    features = ["a", "b = 2", "a very long name of a feature = -12.5", "d"]
    yield waterfall_panel("steps", waterfall(steps, features, -0.5, 3))
    yield importance_panel("shares", largest(np.abs(steps) / 5.0, features, 2))


def all_kinds_of_marks() -> Drawing:
    """Return a drawing of each marker, and of each property of the other marks."""
    dots = [
        Dot(10.0 * i, 5.0, shape, "ink", 2.0 + i, f"tip {i}" if i % 2 else None)
        for i, shape in enumerate(get_args(Shape))
    ]
    lines = [
        Line(((0.0, 1.0), (2.0, 3.5), (4.25, 5.125)), "muted", 1.5, (4.0, 3.0)),
        Line(((0.0, 1.0), (2.0, 3.0)), "ink"),
    ]
    corners = (0.0, 0.0), (1.0, 0.0), (1.0, 2.0)
    areas = [Area(corners, "loss", 0.35, "<tip>"), Area(corners, "win")]
    labels = [
        Label(1.0, 2.0, "a < b", "muted", "end", 13.0, bold=True, turn=-90.0),
        Label(3.0, 4.0, "plain"),
    ]
    return Drawing(60.0, 10.5, "all & sundry", (*dots, *lines, *areas, *labels))


def shown(value: Any) -> str:
    """Return a value as text; rounded, as other processors may round the last digit."""
    if isinstance(value, float):
        return f"{value + 0.0:.2f}"
    if isinstance(value, tuple):
        return "(" + " ".join(map(shown, value)) + ")"
    return repr(value)


def looks() -> Iterator[str]:
    """Yield a line for each mark, and what a chart becomes as a file."""
    for drawing in drawings():
        yield f"# {drawing.title}: {drawing.width:.2f} x {drawing.height:.2f}"
        for mark in drawing.marks:
            values = (shown(getattr(mark, field.name)) for field in fields(mark))
            yield f"{type(mark).__name__} {' '.join(values)}"
    numbered = [f"method {i}" for i in range(40)]
    for method in numbered:  # more than there are styles
        yield f"{method}: {style(method, numbered)}"
    yield from inline(all_kinds_of_marks()).replace("><", ">\n<").splitlines()
    yield from standalone(next(drawings())).splitlines()
    yield from chart_css().splitlines()


def test_charts_look_as_on_record() -> None:
    assert list(looks()) == RECORD.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    RECORD.write_text("".join(f"{line}\n" for line in looks()), encoding="utf-8")
