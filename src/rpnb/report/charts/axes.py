"""Axes of bar and dot charts, and of panels over the rows of a stream."""

from collections.abc import Iterator

from rpnb.report.charts.drawing import Label, Line, Mark, Scale, number, ticks


def x_axis(
    scale: Scale, top: float, bottom: float, unit: str, step: float | None = None
) -> Iterator[Mark]:
    """Yield vertical grid lines with their numbers, and the axis with its unit."""
    if step is None:
        values = ticks(scale.low, scale.high)
    else:
        count = int(scale.high / step)
        values = tuple(step * index for index in range(-count, count + 1))
    for value in values:
        x = scale(value)
        yield Line(((x, top), (x, bottom)), "grid")
        yield Label(x, bottom + 15.0, number(value), "muted", "middle", 12.0)
    yield Line(((scale.start, bottom), (scale.end, bottom)), "muted")
    middle = (scale.start + scale.end) / 2
    yield Label(middle, bottom + 32.0, unit, "muted", "middle", 12.0)


def stream_axes(x: Scale, y: Scale, unit: str) -> Iterator[Mark]:
    """Yield the axes of a panel: rows of the stream to the right, `unit` upwards."""
    for value in ticks(y.low, y.high, 4):
        place = y(value)
        yield Line(((x.start, place), (x.end, place)), "grid")
        yield Label(x.start - 6.0, place + 4.0, number(value), "muted", "end", 12.0)
    for value in ticks(x.low, x.high, 4):
        place = x(value)
        yield Line(((place, y.start), (place, y.start + 4.0)), "muted")
        yield Label(place, y.start + 16.0, number(value), "muted", "middle", 12.0)
    yield Line(((x.start, y.start), (x.end, y.start)), "muted")
    middle, bottom = (x.start + x.end) / 2, y.start + 36.0
    yield Label(middle, bottom, "rows", "muted", "middle", 12.0)
    yield Label(0.0, 11.0, unit, "muted", size=12.0)
