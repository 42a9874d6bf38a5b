"""Charts with logarithmic axes: error against speed, and cost against size."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rpnb.bench.figures import Figures
from rpnb.bench.peers import PEERS
from rpnb.bench.statistics import PowerLaw
from rpnb.study.report.drawing import (
    XY,
    Anchor,
    Dot,
    Drawing,
    Label,
    Line,
    Mark,
    Scale,
    beside,
    ceiling,
    number,
    text_width,
    ticks,
)
from rpnb.study.report.palette import STYLES, Style

_WIDTH, _HEIGHT = 760.0, 420.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 50.0, 20.0, 26.0, 44.0
_SIZE = 12.0

Box = tuple[float, float, float, float]
"""left, top, right, bottom"""


@dataclass(frozen=True, slots=True)
class LogScale:
    """From positive numbers `low` .. `high` to places, by their logarithms."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a number."""
        inner = Scale(math.log(self.low), math.log(self.high), self.start, self.end)
        return inner(math.log(value))

    def decades(self) -> list[float]:
        """Return the powers of ten from `low` to `high`."""
        first = math.ceil(math.log10(self.low) - 1e-9)
        last = math.floor(math.log10(self.high) + 1e-9)
        return [10.0**exponent for exponent in range(first, last + 1)]


def around(values: Sequence[float]) -> tuple[float, float]:
    """Return the nearest powers of ten below and above all values.

    >>> around([20.0, 3000.0])
    (10.0, 10000.0)
    """
    low = 10.0 ** math.floor(math.log10(min(values)))
    high = 10.0 ** math.ceil(math.log10(max(values)))
    return (low, high) if high > low else (low, 10.0 * low)


def power_of_ten(value: float) -> str:
    """Return a power of ten as it stands at an axis.

    >>> power_of_ten(1e-3), power_of_ten(10000.0), power_of_ten(1e6)
    ('0.001', '10\N{NARROW NO-BREAK SPACE}000', '10⁶')
    """
    if 1e-3 <= value <= 1e5:
        return number(value)
    exponent = str(round(math.log10(value)))
    return "10" + exponent.translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def look_of(library: str) -> Style:
    """Return the colour and the marker of a library: ours is RPNB's."""
    return STYLES[[peer.label for peer in PEERS.values()].index(library)]


def speed_chart(title: str, figures: Sequence[Figures]) -> Drawing:
    """Draw a marker a learner: error upwards, rows a second to the right.

    A line through a marker is the range of its speed over the rounds.
    """
    speeds = [v for f in figures for v in (f.speed_low, f.speed_high)]
    x = LogScale(*around(speeds), _LEFT, _WIDTH - _RIGHT)
    top = min(ceiling(max(f.error for f in figures)), 1.0)
    y = Scale(0.0, top, _HEIGHT - _BOTTOM, _TOP)
    marks: list[Mark] = list(_axes(x, y))
    taken: list[Box] = [
        (x(f.speed) - 6, y(f.error) - 6, x(f.speed) + 6, y(f.error) + 6)
        for f in figures
    ]
    if any(f.rows < f.n for f in figures):
        note = "* on the first rows only"
        marks.append(Label(x.end, 11.0, note, "muted", "end", _SIZE))
    for f in sorted(figures, key=lambda f: not f.is_reference):
        look = look_of(f.library)
        place = x(f.speed), y(f.error)
        ends = (x(f.speed_low), place[1]), (x(f.speed_high), place[1])
        marks.append(Line(ends, look.role, 1.2))
        tip = f"{f.library}, {f.learner}: {f.speed:,.0f} rows/s, error {f.error:.4f}"
        size = 6.0 if f.is_reference else 4.2
        marks.append(Dot(*place, look.shape, look.role, size, tip=tip))
        text = f.learner if f.library == "rpnb" else f"{f.library}: {f.learner}"
        text += "*" * (f.rows < f.n)
        label = _placed(text, ends, taken, x.end)
        taken.append(_box(label))
        marks.append(
            Label(*label[1], text, "ink", label[2], _SIZE, bold=f.is_reference)
        )
    return Drawing(_WIDTH, _HEIGHT, title, tuple(marks))


def _axes(x: LogScale, y: Scale) -> Iterator[Mark]:
    for value in ticks(y.low, y.high):
        height = y(value)
        yield Line(((x.start, height), (x.end, height)), "grid")
        yield Label(x.start - 6.0, height + 4.0, number(value), "muted", "end", 12.0)
    for value in x.decades():
        place = x(value)
        yield Line(((place, y.start), (place, y.end)), "grid")
        text = power_of_ten(value)
        yield Label(place, y.start + 16.0, text, "muted", "middle", 12.0)
    yield Line(((x.start, y.start), (x.end, y.start)), "muted")
    middle = (x.start + x.end) / 2
    text = "rows a second of processor time, one thread (faster →)"
    yield Label(middle, y.start + 34.0, text, "muted", "middle", 12.0)
    yield Label(0.0, 11.0, "error (better ↓)", "muted", size=12.0)


Text = tuple[str, tuple[float, float], Anchor]


def _box(label: Text) -> Box:
    text, (x, y), anchor = label
    width = text_width(text, _SIZE)
    left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    return left, y - 10.0, left + width, y + 3.0


def _placed(text: str, ends: tuple[XY, XY], taken: Sequence[Box], end: float) -> Text:
    """Return where a label goes: the first place around the marker that is free."""
    (left, y), (right, _) = ends
    choices: list[Text] = []
    for lift in (0.0, 14.0, -14.0, 28.0, -28.0, 42.0, -42.0):
        choices.append((text, (right + 10.0, y + 4.0 - lift), "start"))
        choices.append((text, (left - 10.0, y + 4.0 - lift), "end"))
        if lift:
            choices.append((text, ((left + right) / 2, y + 4.0 - lift), "middle"))
    within = [c for c in choices if _box(c)[0] >= _LEFT and _box(c)[2] <= end + _RIGHT]
    for choice in within:
        if not any(_overlap(_box(choice), box) for box in taken):
            return choice
    return (within or choices)[0]


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


@dataclass(frozen=True, slots=True)
class Panel:
    """How the seconds of a run grow with one size, beside the floor."""

    name: str
    sizes: tuple[float, ...]
    seconds: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    floor: tuple[float, ...]
    law: PowerLaw


def growth_chart(title: str, panels: Sequence[Panel]) -> Drawing:
    """Draw a panel a size: measured seconds, the fitted law, and the floor."""
    values = [v for p in panels for v in (*p.low, *p.high, *p.floor)]
    bounds = around(values)
    return beside(title, *(_panel(panel, bounds) for panel in panels))


def _panel(panel: Panel, bounds: tuple[float, float]) -> Drawing:
    width, height, left, top, bottom = 210.0, 300.0, 44.0, 42.0, 42.0
    x = LogScale(*around(panel.sizes), left, width - 8.0)
    y = LogScale(*bounds, height - bottom, top)
    marks: list[Mark] = []
    for value in y.decades():
        marks.append(Line(((x.start, y(value)), (x.end, y(value))), "grid"))
        text = power_of_ten(value)
        marks.append(Label(left - 6.0, y(value) + 4.0, text, "muted", "end", 12.0))
    for value in x.decades():
        marks.append(Line(((x(value), y.start), (x(value), y.end)), "grid"))
        text = power_of_ten(value)
        marks.append(Label(x(value), y.start + 16.0, text, "muted", "middle", 12.0))
    marks.append(Label(0.0, 11.0, f"seconds against {panel.name}", bold=True))
    law = f"∝ {panel.name}^{panel.law.exponent:.2f}"
    marks.append(Label(left + 4.0, 30.0, law, "s0", size=12.0))
    ours, floor = STYLES[:2]
    ends = panel.sizes[0], panel.sizes[-1]
    fitted = tuple((x(size), y(panel.law(size))) for size in ends)
    marks.append(Line(fitted, "muted", 1.0, (2.0, 3.0)))
    below = tuple((x(a), y(b)) for a, b in zip(panel.sizes, panel.floor, strict=True))
    marks.append(Line(below, floor.role, floor.width, floor.dash))
    marks.append(Label(below[-1][0], below[-1][1] + 15.0, "floor", "s1", "end", 12.0))
    points = zip(panel.sizes, panel.seconds, panel.low, panel.high, strict=True)
    for size, seconds, low, high in points:
        marks.append(Line(((x(size), y(low)), (x(size), y(high))), ours.role, 1.2))
        tip = f"{panel.name} = {size:,.0f}: {seconds:.3g} s"
        marks.append(Dot(x(size), y(seconds), ours.shape, ours.role, 3.6, tip=tip))
    path = tuple((x(a), y(b)) for a, b in zip(panel.sizes, panel.seconds, strict=True))
    marks.append(Line(path, ours.role, ours.width))
    return Drawing(width, height, panel.name, tuple(marks))
