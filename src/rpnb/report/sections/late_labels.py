"""Before labels arrived: expected errors, drift alarms, and what changed."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.evaluate.waiting.changes import Change
from rpnb.evaluate.waiting.shifts import LEAST, WINDOW, Alarm
from rpnb.evaluate.waiting.stream_watch import StreamWatch, WaitingResult
from rpnb.report.charts.axes import stream_axes
from rpnb.report.charts.curves import MOST_EMPHASISED, Curve, make_plot
from rpnb.report.charts.drawing import (
    XY,
    Area,
    Dot,
    Drawing,
    Label,
    Line,
    Mark,
    Scale,
    Shape,
    ceiling,
)
from rpnb.report.charts.live import gaps, live_figure, plot_figure
from rpnb.report.charts.svg import inline
from rpnb.report.html import Html, choice, row, section, table, tag
from rpnb.report.table_text import percent_text

# At most this many columns with a curve, changes per alarm, and alarms.
_COLUMNS, _CHANGES, _ALARMS = 8, 4, 20
_WHAT = {"inputs": "Inputs", "predictions": "Predicted classes", "errors": "Errors"}
_HEIGHT, _LEFT, _TOP, _BOTTOM, _RIGHT = 272.0, 54.0, 24.0, 42.0, 78.0
_EXPECTED, _TRUE = "s0", "s1"
# Classes of the cells of a table of alarms, after the row.
_KINDS = ("text", "text", None, None, "text wide")
# The marker of each kind of alarm.
_SHAPES: Mapping[str, Shape] = {
    "inputs": "triangle",
    "predictions": "square",
    "errors": "circle",
}


def waiting_section(watch: StreamWatch) -> Html | None:
    """Return the expected errors of rows waiting for labels; None if none ever did."""
    panels = {}
    for name, found in watch.results().items():
        if not (found.waiting > 1).any():
            continue  # every label arrives with its row, before the next one
        drawn = inline(waiting_panel(name, found))
        last = tag("p", f"At the end: {found.last}.", class_="note")
        panels[name] = tag("div", live_figure(drawn, _waiting_data(name, found)), last)
    if not panels:
        return None
    text = (
        "Forecast of the error of predictions that wait for their labels, from their "
        "probabilities and the accuracy of earlier forecasts. The band should contain "
        "the true error, which is known only later, in 95 % of the cases. There is no "
        "forecast where labels are too few, or inputs are unlike those with labels. "
        "Marks at the bottom are alarms of inputs, predicted classes or errors."
    )
    note = tag("p", text, class_="note")
    return section("waiting", "Before labels arrived", note, choice("Learner", panels))


def waiting_panel(name: str, found: WaitingResult, width: float = 720.0) -> Drawing:
    """Draw the expected error with its band, the true error, and alarms.

    Where there was no forecast, the band and the line of the expected error have a gap.
    """
    last = float(found.rows[-1]) if len(found.rows) else 1.0
    values = np.concatenate([found.high[found.known], found.true, [0.1]])
    x = Scale(0.0, last, _LEFT, width - _RIGHT)
    y = Scale(0.0, min(ceiling(float(np.nanmax(values))), 1.0), _HEIGHT - _BOTTOM, _TOP)
    marks: list[Mark] = list(stream_axes(x, y, "error of rows that wait"))
    for part in _runs(found.known):
        upper = _points(x, y, found.rows[part], found.high[part])
        lower = _points(x, y, found.rows[part], found.low[part])
        marks.append(Area((*upper, *reversed(lower)), _EXPECTED, 0.16))
    marks.extend(
        Line(_points(x, y, found.rows[part], found.true[part]), _TRUE, 1.8)
        for part in _runs(~np.isnan(found.true))
    )
    marks.extend(
        Line(_points(x, y, found.rows[part], found.expected[part]), _EXPECTED, 2.4)
        for part in _runs(found.known)
    )
    marks.extend(_alarms(found, x, y))
    marks.extend(_names(found, x, y))
    title = f"{name}: expected and true error of the rows that wait for their labels"
    return Drawing(width, _HEIGHT, title, tuple(marks))


def _waiting_data(name: str, found: WaitingResult) -> dict[str, Any]:
    """Return the same data for the interactive chart."""
    line = {"shown": True, "gaps": True}
    known = {
        field: gaps(np.where(found.known, getattr(found, field), np.nan))
        for field in ("expected", "low", "high")
    }
    return {
        "title": f"{name}: expected and true error of the rows that wait for labels",
        "link": "rows",
        "x": {"label": "rows", "low": 0},
        "y": {"label": "error of rows that wait"},
        "rows": found.rows.tolist(),
        "series": [
            {
                **line,
                "name": "expected",
                "role": _EXPECTED,
                "width": 2.6,
                "values": known["expected"],
                "low": known["low"],
                "high": known["high"],
            },
            {
                **line,
                "name": "true",
                "role": _TRUE,
                "width": 1.8,
                "values": gaps(found.true),
            },
        ],
        "marks": [
            {"row": alarm.row, "name": _WHAT[alarm.what], "role": "s5"}
            for alarm in found.alarms
        ],
    }


def _runs(there: BoolArray) -> Iterator[slice]:
    """Yield the runs of at least two true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], there.astype(np.int8), [0]])))
    for begin, end in edges.reshape(-1, 2).tolist():
        if end - begin > 1:
            yield slice(begin, end)


def _points(x: Scale, y: Scale, rows: IntArray, values: FloatArray) -> tuple[XY, ...]:
    pairs = zip(rows.tolist(), np.minimum(values, y.high).tolist(), strict=True)
    return tuple((x(row), y(value)) for row, value in pairs)


def _alarms(found: WaitingResult, x: Scale, y: Scale) -> Iterator[Mark]:
    for alarm in found.alarms:
        if alarm.row <= x.high:
            yield Dot(x(alarm.row), y(0.0), _SHAPES[alarm.what], "ink", 3.4, str(alarm))


def _names(found: WaitingResult, x: Scale, y: Scale) -> Iterator[Mark]:
    """Yield the names of the two lines at their ends, moved apart."""
    ends = {}
    for name, role, values in (
        ("expected", _EXPECTED, np.where(found.known, found.expected, np.nan)),
        ("true", _TRUE, found.true),
    ):
        there = np.flatnonzero(~np.isnan(values))
        if len(there):
            ends[name] = role, y(min(float(values[there[-1]]), y.high))
    places = sorted(ends, key=lambda name: ends[name][1])
    shift = 0.0
    if len(places) == 2:
        shift = max(15.0 - (ends[places[1]][1] - ends[places[0]][1]), 0.0) / 2
    for name in places:
        role, place = ends[name]
        move = -shift if name == places[0] else shift
        yield Label(x.end + 8.0, place + 4.0 + move, name, role, bold=True)


def changes_section(watch: StreamWatch) -> Html | None:
    """Return how far inputs moved, and what changed at each alarm."""
    results = watch.results()
    if not results:
        return None
    first = next(iter(results.values()))
    if len(first.distance_rows) == 0:
        return None
    clocks = sorted(watch.inputs.shifts.clocks)
    parts: list[Html] = [_distances(first, clocks)]
    alarms = {
        name: _alarm_table(found.alarms)
        for name, found in results.items()
        if found.alarms
    }
    if alarms:
        parts.append(choice("Learner", alarms))
    else:
        parts.append(tag("p", "There was no alarm."))
    if clocks:
        text = f"Not compared, since they only move with time: {', '.join(clocks)}."
        parts.append(tag("p", text, class_="note"))
    if watch.inputs.skipped is not None:
        skipped = f"Inputs were not watched: {watch.inputs.skipped}."
        parts.append(tag("p", skipped, class_="note"))
    return section("changes", "What changed", *parts, fold=True)


def _distances(found: WaitingResult, clocks: Collection[str]) -> Html:
    """Return curves of how far the columns have moved, those that moved most."""
    there = [name for name in found.distances if name not in clocks]
    most = sorted(there, key=lambda n: -float(found.distances[n].max()))
    shown = most[:_COLUMNS]
    rows = found.distance_rows.astype(np.float64)
    none = np.zeros(len(rows))
    curves = [Curve(name, rows, found.distances[name], none, 1) for name in shown]
    curves.append(Curve("alarm threshold", rows, none + LEAST, none, 1, reference=True))
    title = f"How far each column has moved, in windows of {WINDOW} rows"
    alarms = [alarm.row for alarm in found.alarms if alarm.what == "inputs"]
    plot = make_plot(
        title,
        curves,
        "moved",
        emphasised=shown[:MOST_EMPHASISED],
        alarms={_WHAT["inputs"]: alarms} if alarms else None,
        reach=1.2 * LEAST,  # so that small moves look small
    )
    caption = (
        f"{title}: the share of its distribution that differs from the reference, "
        "beyond what chance explains."
    )
    if len(most) > len(shown):
        caption += f" The {len(shown)} that moved most, of {len(most)}."
    if alarms:
        caption += " Triangles mark alarms of inputs."
    return plot_figure(plot, caption)


def _alarm_table(alarms: Sequence[Alarm]) -> Html:
    lines = []
    for alarm in alarms[-_ALARMS:]:
        changes = alarm.changes[:_CHANGES] or (None,)
        for k, change in enumerate(changes):
            name = f"{alarm.row:,}" if k == 0 else ""
            what = _WHAT[alarm.what] if k == 0 else ""
            cells = zip((what, *_cells(change)), _KINDS, strict=True)
            lines.append(row(name, (tag("td", c, class_=kind) for c, kind in cells)))
    caption = (
        "Alarms and what changed, the largest change first; p-values are adjusted for "
        "the number of columns."
    )
    if len(alarms) > _ALARMS:
        caption += f" The last {_ALARMS} of {len(alarms)}."
    head = ("Row", "Alarm", "Column", "Moved by", "p", "Values, before and after")
    body = [tag("tbody", *lines)]
    return table(caption, head, body, label="Alarms", align="lllrrl")


def _cells(change: Change | None) -> tuple[str, str, str, str]:
    if change is None:
        return "no column stands out", "", "", ""
    name = f"error by {change.name}" if change.kind == "error" else change.name
    cells = ", ".join(
        f"{cell.cell}: {percent_text(cell.before)} → {percent_text(cell.after)}"
        for cell in change.cells[:3]
    )
    p = "< 0.0001" if change.p_value < 0.0001 else f"{change.p_value:.4f}"
    return name, f"{change.distance:.3f}", p, cells
