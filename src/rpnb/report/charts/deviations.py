"""Differences between our means and the printed ones: one dot per dataset."""

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
    with_minus,
)
from rpnb.report.charts.palette import style

_WIDTH = 440.0
# In standard errors: the end of the axis, and the range of 95 % of differences that
# are due to chance.
_LIMIT, _USUAL = 6.0, 2.0


@dataclass(frozen=True, slots=True)
class Deviation:
    """Difference between our mean and the printed one, in standard errors."""

    method: str
    name: str
    """name of the dataset"""
    z: float


def deviation_chart(
    title: str, deviations: Sequence[Deviation], methods: Sequence[str]
) -> Drawing:
    """Draw one row per method with one dot per dataset, at its z.

    Values beyond 6 are drawn at the end of the axis; those beyond 3.5 are named.
    """
    row, top, left, right = 46.0, 20.0, 124.0, 10.0
    scale = Scale(-_LIMIT, _LIMIT, left, _WIDTH - right)
    present = [name for name in methods if any(d.method == name for d in deviations)]
    bottom = top + row * len(present)
    span = box(scale(-_USUAL), top, scale(_USUAL) - scale(-_USUAL), bottom - top)
    marks: list[Mark] = [Area(span, "band")]
    note = f"chance alone: 95 % within ±{_USUAL:g}"
    marks.append(Label(scale(0.0), top - 6.0, note, "muted", "middle", 12.0))
    axis = "difference from the paper, in standard errors"
    marks.extend(x_axis(scale, top, bottom, axis, step=_USUAL))
    for line, method in enumerate(present):
        y = top + (line + 0.5) * row
        look = style(method, methods)
        marks.append(Label(94.0, y + 4.0, method, anchor="end"))
        marks.append(Dot(103.0, y, look.shape, look.role, 3.8))
        own = [d for d in deviations if d.method == method]
        marks.extend(_swarm(own, scale, y, row, look.role))
    return Drawing(_WIDTH, bottom + 40.0, title, tuple(marks))


def _swarm(
    deviations: Sequence[Deviation], scale: Scale, y: float, row: float, role: str
) -> Iterator[Mark]:
    """Yield dots, shifted vertically so that they do not overlap."""
    size, taken = 2.9, list[tuple[float, float]]()
    far: list[tuple[float, Deviation]] = []
    for deviation in sorted(deviations, key=lambda d: (abs(d.z), d.name)):
        x = scale(min(max(deviation.z, -_LIMIT), _LIMIT))
        lane = next(
            offset
            for offset in _lanes(2 * size + 0.4)
            if all(
                (x - a) ** 2 + (offset - b) ** 2 >= (2 * size) ** 2 for a, b in taken
            )
            or abs(offset) > row / 2 - 2 * size
        )
        taken.append((x, lane))
        tip = f"{deviation.method}, {deviation.name}: {deviation.z:+.1f}"
        yield Dot(x, y + lane, "circle", role, size, tip=tip)
        if abs(deviation.z) > 3.5:
            far.append((x, deviation))
    for side in (-1.0, 1.0):
        own = [each for each in far if each[1].z * side > 0.0]
        if own:
            yield _far_note(own, scale, y - row / 2 + 11.0, side)


def _far_note(
    far: Sequence[tuple[float, Deviation]], scale: Scale, y: float, side: float
) -> Label:
    """Return the name of the only far dataset on a side, or how many there are."""
    x, deviation = far[-1]
    alone = len(far) == 1
    z = with_minus(f"{deviation.z:+.1f}" if alone else f"{deviation.z:+.0f}")
    text = f"{deviation.name if alone else f'{len(far)} datasets to'} {z}"
    half = text_width(text, 11.5) / 2
    # Clear of the dots at the end of the axis.
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
