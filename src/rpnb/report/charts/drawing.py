"""A chart as a list of marks, independent of SVG and PNG.

A chart is made once, as marks in a plane of `width` × `height` units with y pointing
down; `rpnb.report.charts.svg` renders it as SVG and `rpnb.report.charts.png` the same
marks as PNG. A mark names a role of `rpnb.report.charts.palette`, not a colour: the
colour depends on whether the reader uses a light or a dark scheme.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from rpnb.core.kernels.arrays import FloatArray

XY: TypeAlias = tuple[float, float]
Anchor: TypeAlias = Literal["start", "middle", "end"]
Shape: TypeAlias = Literal["circle", "square", "triangle", "diamond", "cross", "nabla"]

#: Corners of each marker, around (0, 0), for a size of 1.
CORNERS: dict[Shape, tuple[XY, ...]] = {
    "square": ((-0.89, -0.89), (0.89, -0.89), (0.89, 0.89), (-0.89, 0.89)),
    "triangle": ((0.0, -1.15), (1.05, 0.75), (-1.05, 0.75)),
    "nabla": ((0.0, 1.15), (1.05, -0.75), (-1.05, -0.75)),
    "diamond": ((0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)),
    "cross": (
        *((-1.15, -0.65), (-0.65, -1.15), (0.0, -0.5), (0.65, -1.15)),
        *((1.15, -0.65), (0.5, 0.0), (1.15, 0.65), (0.65, 1.15)),
        *((0.0, 0.5), (-0.65, 1.15), (-1.15, 0.65), (-0.5, 0.0)),
    ),
}

#: Width of an average letter of a sans-serif font, in units of its size.
LETTER = 0.56


@dataclass(frozen=True, slots=True)
class Line:
    """An open line through points; `dash` lists lengths of dashes and gaps in turn."""

    points: tuple[XY, ...]
    role: str
    width: float = 1.0
    dash: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Area:
    """A filled polygon; `tip` is its tooltip."""

    points: tuple[XY, ...]
    role: str
    opacity: float = 1.0
    tip: str | None = None


@dataclass(frozen=True, slots=True)
class Dot:
    """A marker at (x, y); `size` is the distance from its centre to its edge."""

    x: float
    y: float
    shape: Shape
    role: str
    size: float = 3.5
    tip: str | None = None

    def corners(self) -> tuple[XY, ...]:
        """Return the corners of a marker other than a circle."""
        x, y, size = self.x, self.y, self.size
        return tuple((x + size * a, y + size * b) for a, b in CORNERS[self.shape])


@dataclass(frozen=True, slots=True)
class Label:
    """Text whose baseline starts, is centred or ends at (x, y); `turn` in degrees."""

    x: float
    y: float
    text: str
    role: str = "ink"
    anchor: Anchor = "start"
    size: float = 12.0
    bold: bool = False
    turn: float = 0.0


Mark: TypeAlias = Line | Area | Dot | Label


@dataclass(frozen=True, slots=True)
class Drawing:
    """Marks in the order in which they are painted, and a title for screen readers."""

    width: float
    height: float
    title: str
    marks: tuple[Mark, ...]


def beside(title: str, *drawings: Drawing, gap: float = 28.0) -> Drawing:
    """Return drawings side by side as one, from left to right."""
    marks: list[Mark] = []
    x = 0.0
    for drawing in drawings:
        marks.extend(_moved(mark, x) for mark in drawing.marks)
        x += drawing.width + gap
    height = max(drawing.height for drawing in drawings)
    return Drawing(x - gap, height, title, tuple(marks))


def _moved(mark: Mark, by: float) -> Mark:
    if isinstance(mark, Line | Area):
        return replace(mark, points=tuple((x + by, y) for x, y in mark.points))
    return replace(mark, x=mark.x + by)


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear scale from numbers `low` .. `high` to positions `start` .. `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the position of a number."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def inverse(self, place: float) -> float:
        """Return the number at a position."""
        share = (place - self.start) / (self.end - self.start)
        return self.low + share * (self.high - self.low)


def box(x: float, y: float, width: float, height: float) -> tuple[XY, ...]:
    """Return the corners of a rectangle from its upper left one."""
    return ((x, y), (x + width, y), (x + width, y + height), (x, y + height))


def hatch(
    x: float, y: float, width: float, height: float, role: str, step: float = 5.0
) -> Iterator[Line]:
    """Yield diagonal lines that fill a rectangle."""
    for number in range(1, math.ceil((width + height) / step)):
        offset = number * step  # the line joins (x + offset, y) and (x, y + offset)
        low, high = max(0.0, offset - height), min(width, offset)
        if high > low:
            ends = ((x + low, y + offset - low), (x + high, y + offset - high))
            yield Line(ends, role, width=1.0)


def ticks(low: float, high: float, about: int = 5) -> tuple[float, ...]:
    """Return about `about` round numbers between two numbers."""
    if not high > low:
        return (low,)
    raw = (high - low) / max(about, 1)
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * m for m in (1, 2, 2.5, 5, 10) if unit * m >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return tuple(round(number * step, 12) for number in range(first, last + 1))


def ceiling(value: float, about: int = 5) -> float:
    """Return a round end for an axis from 0 that must show a value."""
    if not value > 0.0:
        return 1.0
    marks = ticks(0.0, value, about)
    step = marks[1] - marks[0] if len(marks) > 1 else value
    return round(math.ceil(value / step - 1e-9) * step, 12)


def number(value: float) -> str:
    """Return a number for an axis, with commas at thousands and no trailing zeros.

    >>> number(12000.0), number(-0.25)
    ('12,000', '\N{MINUS SIGN}0.25')
    """
    text = f"{value:,.0f}" if value == round(value) else f"{value:.6f}".rstrip("0")
    return with_minus(text)


def with_minus(text: str) -> str:
    """Return a formatted number with a minus sign in place of the hyphen."""
    return text.replace("-", "\N{MINUS SIGN}")


def text_width(text: str, size: float) -> float:
    """Return the approximate width of a text, in the units of its size."""
    return len(text) * size * LETTER


def simplify(points: Sequence[XY], tolerance: float = 0.15) -> list[XY]:
    """Return as few of a line's points as draw the same line.

    Ramer (1972), Douglas and Peucker (1973): of the points between two that are kept,
    the one farthest from their chord is kept if it is farther than `tolerance`.
    """
    xy = np.array(points, dtype=np.float64)
    kept = {0, len(points) - 1}
    spans = [(0, len(points) - 1)]
    while spans:
        first, last = spans.pop()
        if last - first < 2:
            continue
        off = _off_chord(xy[first + 1 : last], xy[first], xy[last])
        far = int(off.argmax())
        if off[far] > tolerance:
            middle = first + 1 + far
            kept.add(middle)
            spans += [(first, middle), (middle, last)]
    return [points[index] for index in sorted(kept)]


def _off_chord(points: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    chord, apart = end - start, points - start
    length = math.hypot(*chord)
    if length == 0.0:
        return np.hypot(apart[:, 0], apart[:, 1])
    return np.abs(chord[0] * apart[:, 1] - chord[1] * apart[:, 0]) / length


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return positions moved apart to at least `gap`, in order, as little as possible.

    Neighbours that are too close form a block around their common mean; blocks that
    touch are joined. All are moved into `low` .. `high` if they fit there.
    """
    order = sorted(range(len(places)), key=lambda index: places[index])
    blocks: list[tuple[float, list[int]]] = []
    for index in order:
        blocks.append((places[index], [index]))
        while len(blocks) > 1 and _touch(blocks[-2], blocks[-1], gap):
            (_, left), (_, right) = blocks[-2:]
            joined = left + right
            middle = sum(places[i] for i in joined) / len(joined)
            blocks[-2:] = [(middle, joined)]
    moved = list(places)
    for middle, members in blocks:
        for position, index in enumerate(members):
            moved[index] = middle + (position - (len(members) - 1) / 2) * gap
    return _within(moved, order, gap, low, high)


def _touch(
    left: tuple[float, list[int]], right: tuple[float, list[int]], gap: float
) -> bool:
    needed = (len(left[1]) + len(right[1])) * gap / 2
    return right[0] - left[0] < needed - 1e-9


def _within(
    places: list[float], order: Iterable[int], gap: float, low: float, high: float
) -> list[float]:
    indices = list(order)
    edge = high
    for index in reversed(indices):
        places[index] = min(places[index], edge)
        edge = places[index] - gap
    edge = low
    for index in indices:
        places[index] = max(places[index], edge)
        edge = places[index] + gap
    return places
