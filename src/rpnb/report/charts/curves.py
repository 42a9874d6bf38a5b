"""Learning curves: error or updates along the stream, one line per method."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.report.charts.axes import stream_axes
from rpnb.report.charts.drawing import (
    Area,
    Dot,
    Drawing,
    Label,
    Line,
    Mark,
    Scale,
    ceiling,
    simplify,
    spread,
)
from rpnb.report.charts.palette import REFERENCES, Style, label, style

Measure: TypeAlias = Literal["error", "window", "updates", "weight", "missed"]

_UNITS: Mapping[Measure, str] = {
    "error": "error so far",
    "window": "error of a part",
    "updates": "updates so far",
    "weight": "weight in the pool",
    "missed": "share of rows that are missed",
}
_WIDTH, _HEIGHT = 440.0, 272.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 54.0, 118.0, 24.0, 42.0
# From so many points on, the beginning of a curve may be cut off.
_MANY_POINTS = 20
# Alarms of drift detectors that have a line of their own, at most.
_MOST_LINES = 24
#: Measures that are shares.
_SHARES = ("error", "window")


@dataclass(frozen=True, slots=True)
class Curve:
    """A measure along the stream: mean and standard deviation over permutations."""

    method: str
    rows: FloatArray
    mean: FloatArray
    deviation: FloatArray
    runs: int


def curve_panel(
    title: str,
    curves: Sequence[Curve],
    measure: Measure,
    methods: Sequence[str],
    *,
    first: str | None = None,
    styles: Mapping[str, Style] | None = None,
    alarms: Mapping[str, Sequence[int]] | None = None,
    right: float = _RIGHT,
    width: float = _WIDTH,
) -> Drawing:
    """Draw one panel: one line per method, with a band of ± one standard deviation.

    `methods` are all of the report, which decide the style of each unless `styles` has
    it. `first` is the method that is emphasised, if any. `alarms` are the rows at which
    a drift detector gave an alarm, by method; `right` is the space for the methods'
    names.

    The scale is that of the methods: a reference that makes many more mistakes does not
    squeeze them, but runs along the upper edge, its value beside its name.
    """
    looks = styles or {c.method: style(c.method, methods, first) for c in curves}
    scaled = [c for c in curves if c.method not in REFERENCES] or list(curves)
    highest = max((_highest(c, measure) for c in scaled), default=1.0)
    top = ceiling(highest, 4)
    if measure in _SHARES:
        top = min(top, 1.0)
    last = max((float(c.rows[-1]) for c in curves), default=1.0)
    x = Scale(0.0, last, _LEFT, width - right)
    y = Scale(0.0, top, _HEIGHT - _BOTTOM, _TOP)
    marks: list[Mark] = list(stream_axes(x, y, _UNITS[measure], grid=True))
    marks.extend(_alarm_lines(alarms or {}, x, y, looks))
    drawn = [c for c in curves if c.method != first]
    drawn += [c for c in curves if c.method == first]  # on top of the others
    marks.extend(_band(c, x, y, looks[c.method]) for c in drawn if c.runs > 1)
    for index, each in enumerate(drawn):
        marks.extend(_trace(each, x, y, looks[each.method], index))
    marks.extend(_alarm_dots(alarms or {}, x, y, looks))
    marks.extend(_names(curves, x, y, looks, first))
    return Drawing(width, _HEIGHT, title, tuple(marks))


def _alarm_lines(
    alarms: Mapping[str, Sequence[int]], x: Scale, y: Scale, looks: Mapping[str, Style]
) -> Iterator[Mark]:
    """Yield a line across the panel at each alarm, unless there are too many to see."""
    if sum(map(len, alarms.values())) <= _MOST_LINES:
        for method, rows in alarms.items():
            for each in rows:
                place = x(float(each))
                ends = ((place, y.start), (place, y.end))
                yield Line(ends, looks[method].role, 0.9, (2.0, 3.0))


def _alarm_dots(
    alarms: Mapping[str, Sequence[int]], x: Scale, y: Scale, looks: Mapping[str, Style]
) -> Iterator[Mark]:
    """Yield a triangle at each alarm, on the axis, one line of them per method."""
    for line, (method, rows) in enumerate(alarms.items()):
        for each in rows:
            tip = f"{label(method)}: drift alarm at row {each:,}"
            place = y.start - 5.0 - 8.0 * line
            yield Dot(x(float(each)), place, "triangle", looks[method].role, 4.2, tip)


def _highest(each: Curve, measure: Measure) -> float:
    """Return the largest value that the scale must show.

    Of errors, the first fifth of the stream is cut off where it is higher: all learners
    err much before they have learnt, and where they end would be hard to see.
    """
    values = each.mean + each.deviation
    if measure in _SHARES and values.shape[0] >= _MANY_POINTS:
        values = values[values.shape[0] // 5 :]
    return float(values.max())


def _band(each: Curve, x: Scale, y: Scale, look: Style) -> Area:
    low = np.maximum(each.mean - each.deviation, y.low)
    high = np.minimum(each.mean + each.deviation, y.high)
    upper = [(x(a), y(b)) for a, b in zip(each.rows, high, strict=True)]
    lower = [(x(a), y(b)) for a, b in zip(each.rows[::-1], low[::-1], strict=True)]
    return Area((*simplify(upper), *simplify(lower)), look.role, opacity=0.16)


def _trace(each: Curve, x: Scale, y: Scale, look: Style, index: int) -> Iterator[Mark]:
    points = tuple(
        (x(a), y(min(float(b), y.high)))
        for a, b in zip(each.rows, each.mean, strict=True)
    )
    yield Line(tuple(simplify(points)), look.role, look.width, look.dash)
    count = len(points)
    for share in (0.2, 0.5, 0.8):
        place = int(count * share) + index - 3
        if 0 < place < count - 1:
            yield Dot(*points[place], look.shape, look.role, 3.0)


def _names(
    curves: Sequence[Curve],
    x: Scale,
    y: Scale,
    looks: Mapping[str, Style],
    first: str | None,
) -> Iterator[Mark]:
    """Yield the methods' names at the ends of their lines, moved apart."""
    ends = [y(min(float(c.mean[-1]), y.high)) for c in curves]
    places = spread(ends, 15.0, _TOP + 2.0, _HEIGHT - _BOTTOM + 2.0)
    for each, end, place in zip(curves, ends, places, strict=True):
        look = looks[each.method]
        start = x(float(each.rows[-1]))
        yield Line(((start + 2.0, end), (start + 12.0, place)), "muted", 0.7)
        value = f"{each.mean[-1]:.4g}"
        tip = f"{label(each.method)}: {value} at the end of the stream"
        yield Dot(start + 17.0, place, look.shape, look.role, 3.4, tip=tip)
        bold = each.method == first
        name = label(each.method)
        if float(each.mean[-1]) > y.high:
            name += f" {each.mean[-1]:.2g}"
        yield Label(start + 24.0, place + 4.0, name, size=12.0, bold=bold)
