"""Charts of the evidence: error against rows, and error against speed."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from evidence.measuring import BLOCK
from rpnb.report.charts.drawing import (
    Dot,
    Drawing,
    Label,
    Line,
    Mark,
    Scale,
    beside,
    ceiling,
    number,
    spread,
    ticks,
)
from rpnb.report.charts.palette import style

#: Ends of the windows whose errors are drawn, in blocks.
_ENDS = (1, 2, 5, 10, 20, 50, 100, 200)


def growth(
    curves: Mapping[str, Mapping[str, Sequence[int]]], names: Sequence[str]
) -> Drawing:
    """Draw the error of windows that grow, one panel for each stream.

    `curves` has the errors in blocks by stream and learner. A point at n rows is the
    error since the point before.
    """
    panels = [
        _panel(stream, found, names, named=i == len(curves) - 1)
        for i, (stream, found) in enumerate(curves.items())
    ]
    title = "Error of the latest rows against the rows learned"
    return beside(title, *panels, gap=20.0)


def _panel(
    stream: str,
    curves: Mapping[str, Sequence[int]],
    names: Sequence[str],
    *,
    named: bool,
) -> Drawing:
    left, plot, height, top, bottom = 40.0, 178.0, 270.0, 40.0, 42.0
    width = left + plot + (128.0 if named else 6.0)
    lines = {name: _windows(wrong) for name, wrong in curves.items()}
    highest = max(error for line in lines.values() for _, error in line)
    x = Scale(0.0, math.log10(_ENDS[-1]), left, left + plot)
    y = Scale(0.0, ceiling(highest), height - bottom, top)
    marks: list[Mark] = [Label(0.0, 12.0, stream, bold=True)]
    marks.append(Label(0.0, 28.0, "error of the latest rows", "muted", size=12.0))
    for value in ticks(y.low, y.high, 4):
        marks.append(Line(((x.start, y(value)), (x.end, y(value))), "grid"))
        text = number(value)
        marks.append(Label(left - 6.0, y(value) + 4.0, text, "muted", "end", 12.0))
    for blocks in (1, 10, 100):
        place = x(math.log10(blocks))
        marks.append(Line(((place, y.start), (place, y.end)), "grid"))
        text = f"{blocks * BLOCK:,}"
        marks.append(Label(place, y.start + 16.0, text, "muted", "middle", 12.0))
    marks.append(Line(((x.start, y.start), (x.end, y.start)), "muted"))
    middle = (x.start + x.end) / 2
    marks.append(Label(middle, y.start + 34.0, "rows learned", "muted", "middle"))
    present = [name for name in names if name in lines]
    for name in reversed(present):
        look = style(name, names)
        points = tuple((x(math.log10(end)), y(error)) for end, error in lines[name])
        marks.append(Line(points, look.role, 2.6 if name == names[0] else 1.4))
        for (end, error), (a, b) in zip(lines[name], points, strict=True):
            tip = f"{name}, to row {end * BLOCK:,}: {error:.3f}"
            marks.append(Dot(a, b, look.shape, look.role, 3.0, tip=tip))
    if named:
        ends = [y(lines[name][-1][1]) for name in present]
        for name, at, place in zip(
            present, ends, spread(ends, 15.0, top, height - bottom), strict=True
        ):
            last = x(math.log10(lines[name][-1][0]))
            joint = (last + 4.0, at), (x.end + 10.0, place)
            marks.append(Line(joint, "muted", 0.7))
            look = style(name, names)
            bold = name == names[0]
            marks.append(Label(x.end + 13.0, place + 4.0, name, look.role, bold=bold))
    return Drawing(width, height, stream, tuple(marks))


def _windows(wrong: Sequence[int]) -> list[tuple[int, float]]:
    """Return the ends of the windows, in blocks, and the errors of the windows."""
    found, start = [], 0
    for end in (*(end for end in _ENDS if end <= len(wrong)),):
        found.append((end, float(np.mean(wrong[start:end])) / BLOCK))
        start = end
    return found


def scatter(points: Mapping[str, tuple[float, float]], first: str) -> Drawing:
    """Draw mean error against rows per second, on a logarithmic scale."""
    width, height, left, right, top, bottom = 640.0, 320.0, 46.0, 170.0, 24.0, 42.0
    logs = {name: math.log10(rate) for name, (rate, _) in points.items()}
    low, high = math.floor(min(logs.values())), math.ceil(max(logs.values()))
    x = Scale(low, high, left, width - right)
    y = Scale(
        0.0,
        ceiling(max(error for _, error in points.values())),
        height - bottom,
        top,
    )
    marks: list[Mark] = []
    for power in range(low, high + 1):
        at = x(power)
        marks.append(Line(((at, top), (at, height - bottom)), "grid"))
        text = f"{10**power:,}"
        marks.append(Label(at, height - bottom + 16.0, text, "muted", "middle", 12.0))
    for value in ticks(y.low, y.high):
        marks.append(Line(((x.start, y(value)), (x.end, y(value))), "grid"))
        text = number(value)
        marks.append(Label(x.start - 6.0, y(value) + 4.0, text, "muted", "end", 12.0))
    middle = (x.start + x.end) / 2
    unit = "rows per second of processor time, one thread (faster →)"
    marks.append(Label(middle, height - 6.0, unit, "muted", "middle", 12.0))
    marks.append(Label(0.0, 11.0, "mean error (better ↓)", "muted", size=12.0))
    names = sorted(points, key=lambda name: -points[name][1])
    order = list(points)
    ends = [y(points[name][1]) for name in names]
    for name, end, place in zip(
        names, ends, spread(ends, 15.0, top, height - bottom), strict=True
    ):
        look, at = style(name, order), x(logs[name])
        tip = f"{name}: {points[name][0]:,.0f} rows/s, error {points[name][1]:.3f}"
        joint = (at, end), (x.end + 4.0, end), (x.end + 16.0, place)
        marks.append(Line(joint, "tie", 0.8))
        size = 6.0 if name == first else 4.2
        marks.append(Dot(at, end, look.shape, look.role, size, tip=tip))
        marks.append(Dot(x.end + 22.0, place, look.shape, look.role, 3.6))
        bold = name == first
        marks.append(Label(x.end + 30.0, place + 4.0, name, size=12.0, bold=bold))
    title = "Mean error against rows per second"
    return Drawing(width, height, title, tuple(marks))
