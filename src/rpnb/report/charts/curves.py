"""Line charts over the rows of a stream: their data, and a static picture."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
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
    simplify,
    spread,
    text_width,
    ticks,
)
from rpnb.report.charts.palette import OTHERS, series_role

Measure: TypeAlias = Literal[
    "error", "window", "updates", "weight", "missed", "share", "moved"
]

#: Axis label of each measure.
UNITS: Mapping[Measure, str] = {
    "error": "error so far",
    "window": "error in parts of the stream",
    "updates": "updates so far",
    "weight": "weight in the pool",
    "missed": "share of rows missed",
    "share": "share of rows",
    "moved": "share that moved",
}
_WIDTH, _HEIGHT = 440.0, 272.0
_LEFT, _TOP, _BOTTOM = 54.0, 24.0, 42.0
# With at least this many points, the beginning of a curve may be cut off.
_MANY_POINTS = 20
# With more drift alarms than this, none gets a line across the panel.
_MOST_LINES = 24
# Number of names that fit one above the other.
_MOST_NAMES = 13
# Curves beyond this multiple of the emphasised ones do not widen the scale.
_FAR = 3.0
# Ticks are rounded to 12 decimals; a chart of smaller values would show only rounding.
_LEAST_HEIGHT = 1e-9
#: Measures that are errors: high at the beginning of a stream.
_ERRORS = ("error", "window")
#: Measures that are at most 1.
_SHARES = ("error", "window", "missed", "share", "moved")
#: Largest number of emphasised curves.
MOST_EMPHASISED = 3


@dataclass(frozen=True, slots=True)
class Curve:
    """A measure over the rows: mean and standard deviation over permutations."""

    method: str
    rows: FloatArray
    mean: FloatArray
    deviation: FloatArray
    runs: int
    reference: bool = False
    """references are never emphasised, and do not widen the scale"""


@dataclass(frozen=True, slots=True)
class Plot:
    """Curves to be drawn together, live or static."""

    title: str
    measure: Measure
    curves: tuple[Curve, ...]
    emphasised: tuple[str, ...]
    """names of the curves in colour, the first the thickest; others are grey"""
    roles: Mapping[str, str]
    """colour of each curve while it is emphasised, and of alarms without a curve"""
    low: float
    high: float
    """ends of the vertical axis"""
    alarms: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """rows of alarms, by the name of their curve or another name"""


def make_plot(
    title: str,
    curves: Iterable[Curve],
    measure: Measure,
    *,
    emphasised: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    alarms: Mapping[str, Sequence[int]] | None = None,
    reach: float = 0.0,
) -> Plot:
    """Return a plot whose axis fits its curves.

    Parameters
    ----------
    title
        Description of the chart for screen readers.
    curves
        Curves in the order of their names.
    measure
        Quantity that the curves show; it decides the axis label and range.
    emphasised
        Names of the curves in colour, the most important first; by default the three
        with the lowest final values.
    names
        All names on the page, whose order decides the colours; by default the names of
        the curves.
    alarms
        Rows at which drift detectors gave an alarm, by the name of a curve, or by
        another name if they belong to none.
    reach
        Value that the axis reaches at least.
    """
    found = tuple(curves)
    chosen = leaders(found) if emphasised is None else tuple(emphasised)
    order = [curve.method for curve in found] if names is None else list(names)
    roles = dict.fromkeys(alarms or (), "ink")
    roles |= {curve.method: series_role(curve.method, order) for curve in found}
    low, high = fitted_range(found, chosen, measure, reach)
    return Plot(title, measure, found, chosen, roles, low, high, alarms or {})


def leaders(curves: Iterable[Curve]) -> tuple[str, ...]:
    """Return the names of the three curves with the lowest final values, in order."""
    learners = [curve for curve in curves if not curve.reference]
    ranked = sorted(learners, key=lambda curve: float(curve.mean[-1]))
    return tuple(curve.method for curve in ranked[:MOST_EMPHASISED])


def fitted_range(
    curves: Sequence[Curve],
    emphasised: Sequence[str],
    measure: Measure,
    reach: float = 0.0,
) -> tuple[float, float]:
    """Return the ends of the vertical axis: a tick below, half a step above.

    The axis starts at 0 unless that would waste half of its height. References, and
    curves far above the emphasised ones, do not widen it: they are cut off. The axis
    ends at `reach` or above it.
    """
    scaled = [c for c in curves if not c.reference] or list(curves)
    if not scaled:
        return 0.0, 1.0
    main = [c for c in scaled if c.method in emphasised] or scaled
    high = max(_highest(c, measure) for c in scaled)
    high = max(min(high, _FAR * max(_highest(c, measure) for c in main)), reach)
    low = max(min(float((c.mean - c.deviation).min()) for c in scaled), 0.0)
    if not high > _LEAST_HEIGHT:
        return 0.0, 1.0
    if low < high / 2:
        low = 0.0
    if not high > low:
        low = 0.0
    marks = ticks(low, high, 4)
    step = marks[1] - marks[0] if len(marks) > 1 else high - low
    low = round(math.floor(low / step + 1e-9) * step, 12)
    high = round(math.ceil(2 * high / step - 1e-9) * step / 2, 12)
    return low, min(high, 1.0) if measure in _SHARES else high


def _highest(each: Curve, measure: Measure) -> float:
    """Return the largest value that the scale must show.

    For errors, the first fifth of the stream does not count: all learners make many
    mistakes at first, and a scale that shows them would flatten the rest.
    """
    values = each.mean + each.deviation
    if measure in _ERRORS and values.shape[0] >= _MANY_POINTS:
        values = values[values.shape[0] // 5 :]
    return float(values.max())


def curve_panel(plot: Plot, width: float = _WIDTH, unit: str | None = None) -> Drawing:
    """Draw the static picture of a plot: solid lines with their names at their ends.

    Curves of several permutations have a band of ± one standard deviation if they are
    emphasised. `unit` is shown instead of the measure's name.
    """
    named = _named(plot)
    widest = max((text_width(text, 12.0) for text in named.values()), default=0.0)
    last = max((float(c.rows[-1]) for c in plot.curves), default=1.0)
    x = Scale(0.0, last, _LEFT, width - min(1.06 * widest + 30.0, 0.42 * width))
    y = Scale(plot.low, plot.high, _HEIGHT - _BOTTOM, _TOP)
    unit = UNITS[plot.measure] if unit is None else unit
    marks: list[Mark] = list(stream_axes(x, y, unit))
    marks.extend(_alarm_lines(plot, x, y))
    # Grey ones first, the most important last, on top of the others.
    by_name = {curve.method: curve for curve in plot.curves}
    front = [by_name[name] for name in reversed(plot.emphasised)]
    back = [c for c in plot.curves if c.method not in plot.emphasised]
    marks.extend(_band(c, x, y, plot.roles[c.method]) for c in front if c.runs > 1)
    for each in (*back, *front):
        marks.extend(_trace(each, x, y, plot))
    marks.extend(_alarm_dots(plot, x, y))
    marks.extend(_names(plot, named, x, y))
    return Drawing(width, _HEIGHT, plot.title, tuple(marks))


def _role(plot: Plot, name: str) -> str:
    grey = name not in plot.emphasised and any(c.method == name for c in plot.curves)
    return OTHERS if grey else plot.roles[name]


def line_width(plot: Plot, name: str) -> float:
    """Return the line width of a curve."""
    if name not in plot.emphasised:
        return 1.2
    return 2.6 if name == plot.emphasised[0] else 1.8


def _alarm_lines(plot: Plot, x: Scale, y: Scale) -> Iterator[Mark]:
    """Yield a line across the panel at each alarm, unless there are too many to see."""
    if sum(map(len, plot.alarms.values())) <= _MOST_LINES:
        for method, rows in plot.alarms.items():
            for each in rows:
                place = x(float(each))
                ends = ((place, y.start), (place, y.end))
                yield Line(ends, _role(plot, method), 0.9, (2.0, 3.0))


def _alarm_dots(plot: Plot, x: Scale, y: Scale) -> Iterator[Mark]:
    """Yield a triangle at each alarm, on the axis, one line of them per method."""
    for line, (method, rows) in enumerate(plot.alarms.items()):
        for each in rows:
            tip = f"{method}: alarm at row {each:,}"
            place = y.start - 5.0 - 8.0 * line
            role = _role(plot, method)
            yield Dot(x(float(each)), place, "triangle", role, 4.2, tip)


def _band(each: Curve, x: Scale, y: Scale, role: str) -> Area:
    low = np.clip(each.mean - each.deviation, y.low, y.high)
    high = np.clip(each.mean + each.deviation, y.low, y.high)
    upper = [(x(a), y(b)) for a, b in zip(each.rows, high, strict=True)]
    lower = [(x(a), y(b)) for a, b in zip(each.rows[::-1], low[::-1], strict=True)]
    return Area((*simplify(upper), *simplify(lower)), role, opacity=0.14)


def _trace(each: Curve, x: Scale, y: Scale, plot: Plot) -> Iterator[Mark]:
    points = [(x(a), y(float(b))) for a, b in zip(each.rows, each.mean, strict=True)]
    role, width = _role(plot, each.method), line_width(plot, each.method)
    if len(points) == 1 and y.end <= points[0][1] <= y.start:
        yield Dot(*points[0], "circle", role, width)
    for run in clipped(points, y.end, y.start):
        yield Line(tuple(simplify(run)), role, width)


def clipped(points: Sequence[XY], top: float, bottom: float) -> list[list[XY]]:
    """Return the parts of a line that lie between two heights, from left to right."""
    runs: list[list[XY]] = []
    for a, b in pairwise(points):
        if a[1] == b[1]:
            shares = (0.0, 1.0) if top <= a[1] <= bottom else (1.0, 0.0)
        else:
            cuts = sorted((edge - a[1]) / (b[1] - a[1]) for edge in (top, bottom))
            shares = max(cuts[0], 0.0), min(cuts[1], 1.0)
        if shares[0] >= shares[1]:
            continue
        start, end = (_between(a, b, share) for share in shares)
        if runs and runs[-1][-1] == start:
            runs[-1].append(end)
        else:
            runs.append([start, end])
    return runs


def _between(a: XY, b: XY, share: float) -> XY:
    if share in (0.0, 1.0):
        return b if share else a
    return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])


def _named(plot: Plot) -> dict[str, str]:
    """Return the labels at the ends of the lines: all names that fit."""
    grey = [c.method for c in plot.curves if c.method not in plot.emphasised]
    room = max(_MOST_NAMES - len(plot.emphasised), 0)
    shown = {*plot.emphasised, *grey[:room]}
    texts = {}
    for each in plot.curves:
        if each.method in shown:
            text, end = each.method, float(each.mean[-1])
            text = text if len(text) <= 24 else text[:23] + "…"
            beyond = end > plot.high
            texts[each.method] = f"{text} {end:.2g} ↑" if beyond else text
    return texts


def _names(plot: Plot, texts: Mapping[str, str], x: Scale, y: Scale) -> Iterator[Mark]:
    """Yield the names of curves at the ends of their lines, moved apart."""
    curves = [c for c in plot.curves if c.method in texts]
    ends = [y(min(max(float(c.mean[-1]), y.low), y.high)) for c in curves]
    places = spread(ends, 15.0, _TOP + 2.0, _HEIGHT - _BOTTOM + 2.0)
    for each, end, place in zip(curves, ends, places, strict=True):
        start = x(float(each.rows[-1]))
        bold = each.method in plot.emphasised
        role = plot.roles[each.method] if bold else OTHERS
        yield Line(((start + 2.0, end), (start + 12.0, place)), role, 0.8)
        tip = f"{each.method}: {each.mean[-1]:.4g} at the end of the stream"
        yield Dot(start + 16.0, place, "circle", role, 3.2 if bold else 2.0, tip=tip)
        ink = "ink" if bold else "muted"
        text = texts[each.method]
        yield Label(start + 23.0, place + 4.0, text, ink, size=12.0, bold=bold)
