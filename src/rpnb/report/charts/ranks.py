"""The critical-difference diagram of Demšar (2006).

Average ranks are marked on a line, the best at the left; a bar joins methods whose
ranks differ by less than the critical difference, drawn as a length above the line.
"""

from collections.abc import Iterator, Mapping, Sequence

from rpnb.report.charts.drawing import (
    Anchor,
    Dot,
    Drawing,
    Label,
    Line,
    Mark,
    Scale,
)
from rpnb.report.charts.palette import style

_WIDTH = 440.0
_MARGIN = 118.0


def critical_difference_diagram(
    title: str,
    ranks: Mapping[str, float],
    critical_difference: float,
    methods: Sequence[str],
) -> Drawing:
    """Draw average ranks, with a bar across those that do not differ significantly.

    `critical_difference` is that of the Nemenyi test, and `methods` are all methods of
    the report, whose order decides the markers.
    """
    ordered = sorted(ranks.items(), key=lambda pair: (pair[1], pair[0]))
    last = max(len(ordered), 2)
    scale = Scale(1.0, float(last), _MARGIN, _WIDTH - _MARGIN)
    axis = 54.0
    marks: list[Mark] = list(_axis(scale, axis, last))
    marks.extend(_length(scale, critical_difference))
    bars = groups([rank for _, rank in ordered], critical_difference)
    for row, (low, high) in enumerate(bars):
        y = axis + 11.0 + 9.0 * row
        marks.append(Line(((scale(low) - 4.0, y), (scale(high) + 4.0, y)), "ink", 4.0))
    top = axis + 11.0 + 9.0 * len(bars) + 20.0
    half = (len(ordered) + 1) // 2
    for index, (name, rank) in enumerate(ordered):
        left = index < half
        row = index if left else len(ordered) - 1 - index
        y = top + 27.0 * row
        best = rank == ordered[0][1]
        marks.extend(_elbow(scale(rank), axis, y, name, rank, left, best, methods))
    return Drawing(_WIDTH, top + 27.0 * half - 18.0, title, tuple(marks))


def groups(
    ranks: Sequence[float], critical_difference: float
) -> list[tuple[float, float]]:
    """Return the first and last rank of each maximal group within the difference.

    `ranks` are average ranks, the best first.
    """
    spans: list[tuple[int, int]] = []
    for first, low in enumerate(ranks):
        last = max(i for i, r in enumerate(ranks) if r - low < critical_difference)
        if last > first and (not spans or last > spans[-1][1]):
            spans.append((first, last))
    return [(ranks[first], ranks[last]) for first, last in spans]


def _axis(scale: Scale, y: float, last: int) -> Iterator[Mark]:
    yield Line(((scale.start, y), (scale.end, y)), "ink", 1.4)
    for rank in range(1, last + 1):
        x = scale(float(rank))
        yield Line(((x, y), (x, y - 6.0)), "ink", 1.2)
        yield Label(x, y - 10.0, str(rank), "muted", "middle", 12.0)
    yield Label(scale.start - 8.0, y - 10.0, "average rank", "muted", "end", 12.0)


def _length(scale: Scale, critical_difference: float) -> Iterator[Mark]:
    """Yield the critical difference as a length that starts at the best rank."""
    low, high, y = scale(1.0), scale(1.0 + critical_difference), 14.0
    high = min(high, _WIDTH - 4.0)
    yield Line(((low, y), (high, y)), "ink", 1.4)
    for x in (low, high):
        yield Line(((x, y - 4.0), (x, y + 4.0)), "ink", 1.4)
    text = f"critical difference {critical_difference:.2f}"
    if high + 140.0 < _WIDTH:
        yield Label(high + 7.0, y + 4.0, text, "muted", size=12.0)
    else:
        yield Label(low, y + 16.0, text, "muted", size=12.0)


def _elbow(
    x: float,
    axis: float,
    y: float,
    name: str,
    rank: float,
    left: bool,
    best: bool,
    methods: Sequence[str],
) -> Iterator[Mark]:
    look = style(name, methods)
    edge = 4.0 if left else _WIDTH - 4.0
    anchor: Anchor = "start" if left else "end"
    yield Line(((x, axis), (x, y), (edge, y)), look.role, 1.4)
    yield Dot(x, axis, look.shape, look.role, 4.2, tip=f"{name}: {rank:.2f}")
    inner = edge + 30.0 if left else edge - 30.0
    yield Label(edge, y - 4.5, f"{rank:.2f}", "muted", anchor, 12.0)
    yield Label(inner, y - 4.5, name, "ink", anchor, 12.0, bold=best)
