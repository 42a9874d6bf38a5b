"""The axis at the foot of a chart of bars or dots."""

from collections.abc import Iterator

from rpnb.report.charts.drawing import Label, Line, Mark, Scale, number, ticks


def x_axis(
    scale: Scale, top: float, bottom: float, unit: str, step: float | None = None
) -> Iterator[Mark]:
    """Yield upright grid lines with their numbers, and the axis with its unit."""
    if step is None:
        values = ticks(scale.low, scale.high)
    else:
        count = int(scale.high / step)
        values = tuple(step * index for index in range(-count, count + 1))
    for value in values:
        x = scale(value)
        yield Line(((x, top), (x, bottom)), "grid")
        text = number(value).replace("-", "\N{MINUS SIGN}")
        yield Label(x, bottom + 15.0, text, "muted", "middle", 12.0)
    yield Line(((scale.start, bottom), (scale.end, bottom)), "muted")
    middle = (scale.start + scale.end) / 2
    yield Label(middle, bottom + 32.0, unit, "muted", "middle", 12.0)
