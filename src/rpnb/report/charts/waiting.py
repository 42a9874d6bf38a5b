"""The expected error of rows that wait, its band, and the error that came out."""

from collections.abc import Iterator, Mapping

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.evaluate.waiting.stream import WaitingResult
from rpnb.report.charts.axes import stream_axes
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

_HEIGHT, _LEFT, _TOP, _BOTTOM, _RIGHT = 272.0, 54.0, 24.0, 42.0, 78.0
_EXPECTED, _TRUE = "s0", "s1"
# How each kind of alarm is marked.
_SHAPES: Mapping[str, Shape] = {
    "inputs": "triangle",
    "predictions": "square",
    "errors": "circle",
}


def waiting_panel(name: str, found: WaitingResult, width: float = 720.0) -> Drawing:
    """Draw the expected error with its band, the true error, and alarms.

    Where the error was not known, there is no band and no line of what was expected.
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


def _runs(there: BoolArray) -> Iterator[slice]:
    """Yield the runs of true values that have at least two."""
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
    """Yield the names of the two lines at their ends, apart from each other."""
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
