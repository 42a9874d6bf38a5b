"""How far our means lie from the printed ones: a dot a dataset, a row a method."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rpnb.report.charts.axes import x_axis
from rpnb.report.charts.drawing import (
    Area,
    Dot,
    Drawing,
    Label,
    Mark,
    Scale,
    box,
    text_width,
)
from rpnb.report.charts.palette import label, style

_WIDTH = 440.0


@dataclass(frozen=True, slots=True)
class Deviation:
    """How far a mean lies from the printed one, in standard errors."""

    method: str
    name: str
    """of the dataset"""
    z: float


def deviation_strip(
    title: str,
    deviations: Sequence[Deviation],
    methods: Sequence[str],
    *,
    usual: float = 2.0,
    reach: float = 6.0,
) -> Drawing:
    """Draw a dot a dataset in the row of its method, by its z; far ones are named."""
    row, top, left, right = 46.0, 20.0, 124.0, 10.0
    scale = Scale(-reach, reach, left, _WIDTH - right)
    present = [name for name in methods if any(d.method == name for d in deviations)]
    bottom = top + row * len(present)
    span = box(scale(-usual), top, scale(usual) - scale(-usual), bottom - top)
    marks: list[Mark] = [Area(span, "band")]
    note = f"within ±{usual:g}: 95 of 100 by chance"
    marks.append(Label(scale(0.0), top - 6.0, note, "muted", "middle", 12.0))
    axis = "difference from the paper, in standard errors"
    marks.extend(x_axis(scale, top, bottom, axis, step=usual))
    for line, method in enumerate(present):
        y = top + (line + 0.5) * row
        look = style(method, methods)
        marks.append(Label(94.0, y + 4.0, label(method), anchor="end"))
        marks.append(Dot(103.0, y, look.shape, look.role, 3.8))
        own = [d for d in deviations if d.method == method]
        marks.extend(_swarm(own, scale, y, row, look.role, reach))
    return Drawing(_WIDTH, bottom + 40.0, title, tuple(marks))


def _swarm(
    deviations: Sequence[Deviation],
    scale: Scale,
    y: float,
    row: float,
    role: str,
    reach: float,
) -> Iterator[Mark]:
    """Yield dots beside each other where they would cover each other."""
    size, taken = 2.9, list[tuple[float, float]]()
    far: list[tuple[float, Deviation]] = []
    for deviation in sorted(deviations, key=lambda d: (abs(d.z), d.name)):
        x = scale(min(max(deviation.z, -reach), reach))
        lane = next(
            offset
            for offset in _lanes(2 * size + 0.4)
            if all(
                (x - a) ** 2 + (offset - b) ** 2 >= (2 * size) ** 2 for a, b in taken
            )
            or abs(offset) > row / 2 - 2 * size
        )
        taken.append((x, lane))
        tip = f"{label(deviation.method)}, {deviation.name}: {deviation.z:+.1f}"
        yield Dot(x, y + lane, "circle", role, size, tip=tip)
        if abs(deviation.z) > 3.5:
            far.append((x, deviation))
    for side in (-1.0, 1.0):
        own = [each for each in far if each[1].z * side > 0.0]
        if own:
            yield _far_note(own, scale, y - row / 2 + 11.0, side, reach)


def _far_note(
    far: Sequence[tuple[float, Deviation]],
    scale: Scale,
    y: float,
    side: float,
    reach: float,
) -> Label:
    """Return the name of the one dataset far out on a side, or how many there are."""
    x, deviation = far[-1]
    text = f"{deviation.name} {deviation.z:+.1f}"
    if len(far) > 1:
        text = f"{len(far)} datasets to {deviation.z:+.0f}"
    text = text.replace("-", "\N{MINUS SIGN}", 1) if side < 0 else text
    half = text_width(text, 11.5) / 2
    # Beside the dots at the end of the axis, not on them.
    edge = 8.0 if len(far) > 1 else 0.0
    x = min(max(x, scale.start + half + edge), scale.end - half - edge)
    return Label(x, y, text, "muted", "middle", 11.5)


def _lanes(step: float) -> Iterator[float]:
    yield 0.0
    count = 1
    while True:
        yield -count * step
        yield count * step
        count += 1
