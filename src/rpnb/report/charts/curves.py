"""Learning curves: where each method stood along the stream, over the permutations."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.report.charts.drawing import (
    Area,
    Dot,
    Drawing,
    Label,
    Line,
    Mark,
    Scale,
    ceiling,
    number,
    simplify,
    spread,
    ticks,
)
from rpnb.report.charts.palette import Style, label, style

Measure: TypeAlias = Literal["error", "window", "updates"]

_UNITS: Mapping[Measure, str] = {
    "error": "error so far",
    "window": "error of a part",
    "updates": "updates so far",
}
_WIDTH, _HEIGHT = 440.0, 272.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 54.0, 118.0, 24.0, 42.0


@dataclass(frozen=True, slots=True)
class Curve:
    """A method along the stream: mean and standard deviation over permutations."""

    method: str
    rows: FloatArray
    mean: FloatArray
    deviation: FloatArray
    runs: int


def curve_panel(
    title: str, curves: Sequence[Curve], measure: Measure, methods: Sequence[str]
) -> Drawing:
    """Draw one panel: a line a method with a band of one deviation to both sides."""
    highest = max((float((c.mean + c.deviation).max()) for c in curves), default=1.0)
    top = ceiling(highest, 4)
    if measure != "updates":
        top = min(top, 1.0)
    last = max((float(c.rows[-1]) for c in curves), default=1.0)
    x = Scale(0.0, last, _LEFT, _WIDTH - _RIGHT)
    y = Scale(0.0, top, _HEIGHT - _BOTTOM, _TOP)
    marks: list[Mark] = list(_axes(x, y, measure))
    drawn = [c for c in curves if c.method != "RPNB"]
    drawn += [c for c in curves if c.method == "RPNB"]  # on top of the others
    marks.extend(_band(c, x, y, style(c.method, methods)) for c in drawn if c.runs > 1)
    for index, each in enumerate(drawn):
        marks.extend(_trace(each, x, y, style(each.method, methods), index))
    marks.extend(_names(curves, x, y, methods))
    return Drawing(_WIDTH, _HEIGHT, title, tuple(marks))


def _axes(x: Scale, y: Scale, measure: Measure) -> Iterator[Mark]:
    for value in ticks(y.low, y.high, 4):
        height = y(value)
        yield Line(((x.start, height), (x.end, height)), "grid")
        yield Label(x.start - 6.0, height + 4.0, number(value), "muted", "end", 12.0)
    for value in ticks(x.low, x.high, 4):
        place = x(value)
        yield Line(((place, y.start), (place, y.start + 4.0)), "muted")
        text = number(value)
        yield Label(place, y.start + 16.0, text, "muted", "middle", 12.0)
    yield Line(((x.start, y.start), (x.end, y.start)), "muted")
    middle = (x.start + x.end) / 2
    yield Label(middle, _HEIGHT - 6.0, "rows of the stream", "muted", "middle", 12.0)
    yield Label(0.0, 11.0, _UNITS[measure], "muted", size=12.0)


def _band(each: Curve, x: Scale, y: Scale, look: Style) -> Area:
    low = np.maximum(each.mean - each.deviation, y.low)
    high = np.minimum(each.mean + each.deviation, y.high)
    there = [(x(a), y(b)) for a, b in zip(each.rows, high, strict=True)]
    back = [(x(a), y(b)) for a, b in zip(each.rows[::-1], low[::-1], strict=True)]
    return Area((*simplify(there), *simplify(back)), look.role, opacity=0.16)


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
    curves: Sequence[Curve], x: Scale, y: Scale, methods: Sequence[str]
) -> Iterator[Mark]:
    """Yield the methods' names at the ends of their lines, moved apart."""
    ends = [y(min(float(c.mean[-1]), y.high)) for c in curves]
    places = spread(ends, 15.0, _TOP + 2.0, _HEIGHT - _BOTTOM + 2.0)
    for each, end, place in zip(curves, ends, places, strict=True):
        look = style(each.method, methods)
        start = x(float(each.rows[-1]))
        yield Line(((start + 2.0, end), (start + 12.0, place)), "muted", 0.7)
        value = f"{each.mean[-1]:.4g}"
        tip = f"{label(each.method)}: {value} at the end of the stream"
        yield Dot(start + 17.0, place, look.shape, look.role, 3.4, tip=tip)
        bold = each.method == "RPNB"
        yield Label(start + 24.0, place + 4.0, label(each.method), size=12.0, bold=bold)
