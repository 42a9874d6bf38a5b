"""Charts with logarithmic axes: error against speed, and cost against size."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from peers.peers import PEERS
from peers.statistics import PowerLaw
from peers.summary import LearnerSummary
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
from rpnb.report.charts.palette import STYLES, Style

_WIDTH, _HEIGHT = 860.0, 420.0
_LEFT, _NAMES, _TOP, _BOTTOM = 50.0, 330.0, 26.0, 44.0
# Size of the names' letters, and the distance between names.
_SIZE, _STEP = 12.0, 16.0


@dataclass(frozen=True, slots=True)
class LogScale:
    """A logarithmic scale from positive numbers `low` .. `high` to positions."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the position of a number."""
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
    """Return a power of ten as the label of a tick.

    >>> power_of_ten(1e-3), power_of_ten(10000.0), power_of_ten(1e6)
    ('0.001', '10\N{NARROW NO-BREAK SPACE}000', '10⁶')
    """
    if 1e-3 <= value <= 1e5:
        return number(value)
    exponent = str(round(math.log10(value)))
    return "10" + exponent.translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def style_of(library: str) -> Style:
    """Return the colour and the marker of a library."""
    return STYLES[[peer.label for peer in PEERS.values()].index(library)]


def speed_chart(title: str, summaries: Sequence[LearnerSummary]) -> Drawing:
    """Draw one marker per learner: error upwards, rows per second to the right.

    The line through a marker is the range of its speed over the rounds. The names are
    in a column beside the plot, in the order of the errors, each joined to its marker.
    """
    speeds = [v for f in summaries for v in (f.speed_low, f.speed_high)]
    x = LogScale(*around(speeds), _LEFT, _WIDTH - _NAMES)
    top = min(ceiling(max(f.error for f in summaries)), 1.0)
    y = Scale(0.0, top, _HEIGHT - _BOTTOM, _TOP)
    marks: list[Mark] = list(_axes(x, y))
    if any(f.rows < f.n for f in summaries):
        note = "* on the first rows only"
        marks.append(Label(_WIDTH, 11.0, note, "muted", "end", _SIZE))
    order = sorted(summaries, key=lambda f: (-f.error, -f.speed))
    heights = [y(f.error) for f in order]
    rows = spread(heights, _STEP, _TOP, _HEIGHT - _BOTTOM)
    for f, height, row in zip(order, heights, rows, strict=True):
        joint = (x(f.speed), height), (x.end + 4.0, height), (x.end + 18.0, row)
        marks.append(Line(joint, "tie", 0.8))
    for f, height, row in zip(order, heights, rows, strict=True):
        look = style_of(f.library)
        ends = (x(f.speed_low), height), (x(f.speed_high), height)
        marks.append(Line(ends, look.role, 1.2))
        tip = f"{f.library}, {f.learner}: {f.speed:,.0f} rows/s, error {f.error:.4f}"
        size = 6.0 if f.is_reference else 4.2
        marks.append(Dot(x(f.speed), height, look.shape, look.role, size, tip=tip))
        marks.append(Dot(x.end + 24.0, row, look.shape, look.role, 3.6))
        text = f.learner if f.library == "rpnb" else f"{f.library}: {f.learner}"
        text += "*" * (f.rows < f.n)
        place = x.end + 32.0, row + 4.0
        marks.append(Label(*place, text, size=_SIZE, bold=f.is_reference))
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
    text = "rows per second of processor time, one thread (faster →)"
    yield Label(middle, y.start + 34.0, text, "muted", "middle", 12.0)
    yield Label(0.0, 11.0, "error (better ↓)", "muted", size=12.0)


@dataclass(frozen=True, slots=True)
class Panel:
    """How the seconds of a run grow with one size, beside the floor."""

    name: str
    sizes: tuple[float, ...]
    seconds: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    floor: tuple[float, ...]
    fit: PowerLaw


def growth_chart(title: str, panels: Sequence[Panel]) -> Drawing:
    """Draw one panel per size: measured seconds, fitted power law, and floor."""
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
    exponent_text = f"∝ {panel.name}^{panel.fit.exponent:.2f}"
    marks.append(Label(left, 30.0, exponent_text, STYLES[0].role, size=12.0))
    ours, floor = STYLES[:2]
    ends = panel.sizes[0], panel.sizes[-1]
    fitted = tuple((x(size), y(panel.fit(size))) for size in ends)
    marks.append(Line(fitted, "muted", 1.0, (2.0, 3.0)))
    below = tuple((x(a), y(b)) for a, b in zip(panel.sizes, panel.floor, strict=True))
    marks.append(Line(below, floor.role, 1.5, (7.0, 3.0)))
    marks.append(Label(x.end, 30.0, "floor", floor.role, "end", 12.0))
    points = zip(panel.sizes, panel.seconds, panel.low, panel.high, strict=True)
    for size, seconds, low, high in points:
        marks.append(Line(((x(size), y(low)), (x(size), y(high))), ours.role, 1.2))
        tip = f"{panel.name} = {size:,.0f}: {seconds:.3g} s"
        marks.append(Dot(x(size), y(seconds), ours.shape, ours.role, 3.6, tip=tip))
    path = tuple((x(a), y(b)) for a, b in zip(panel.sizes, panel.seconds, strict=True))
    marks.append(Line(path, ours.role, 1.5))
    return Drawing(width, height, panel.name, tuple(marks))
