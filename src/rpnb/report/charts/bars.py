"""Bar charts: wins, ties and losses by opponent, and means by method."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rpnb.report.charts.axes import x_axis
from rpnb.report.charts.drawing import (
    Area,
    Dot,
    Drawing,
    Label,
    Line,
    Mark,
    Scale,
    box,
    ceiling,
    hatch,
    text_width,
)
from rpnb.report.charts.palette import style

_WIDTH = 440.0


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Number of datasets on which the subject won, tied and lost against a method."""

    source: str
    """whose counts these are: "ours" or "paper"; written beside the bar"""
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class MeanBar:
    """Mean and standard deviation of a method, and a printed value to compare with."""

    method: str
    mean: float
    deviation: float
    printed: float | None


def outcome_bars(
    title: str, subject: str, opponents: Sequence[tuple[str, Sequence[Outcomes]]]
) -> Drawing:
    """Draw the subject's wins, ties and losses: a bar per opponent and source."""
    bar, inner, outer, top, left, right = 19.0, 3.0, 15.0, 30.0, 152.0, 12.0
    most = max(
        (
            bars.wins + bars.ties + bars.losses
            for _, group in opponents
            for bars in group
        ),
        default=1,
    )
    scale = Scale(0.0, float(max(most, 1)), left, _WIDTH - right)
    marks: list[Mark] = list(_outcome_legend(left, top - 14.0, subject))
    y = top
    rows: list[Mark] = []
    for method, group in opponents:
        rows.append(Label(0.0, y + 14.0, method, bold=True))
        for bars in group:
            rows.append(
                Label(left - 7.0, y + 14.0, bars.source, "muted", "end", size=12.0)
            )
            rows.extend(_stack(scale, y, bar, bars, (subject, method)))
            y += bar + inner
        y += outer - inner
    bottom = y - outer + 5.0
    marks.extend(x_axis(scale, top - 4.0, bottom, "datasets"))
    marks.extend(rows)
    return Drawing(_WIDTH, bottom + 40.0, title, tuple(marks))


def _outcome_legend(x: float, y: float, subject: str) -> Iterator[Mark]:
    texts = {"win": f"{subject} wins", "tie": "tie", "loss": f"{subject} loses"}
    for role, text in texts.items():
        yield Area(box(x, y - 9.0, 11.0, 11.0), role)
        if role == "loss":
            yield from hatch(x, y - 9.0, 11.0, 11.0, "loss-line", 4.0)
        yield Label(x + 15.0, y, text, "muted", size=12.0)
        x += 15.0 + text_width(text, 12.0) + 14.0


def _stack(
    scale: Scale, y: float, height: float, bars: Outcomes, pair: tuple[str, str]
) -> Iterator[Mark]:
    """Yield the parts of a bar: wins, ties and losses, one after the other."""
    done, (subject, opponent) = 0, pair
    parts = (
        ("win", bars.wins, "wins"),
        ("tie", bars.ties, "ties"),
        ("loss", bars.losses, "losses"),
    )
    for role, count, word in parts:
        if not count:
            continue
        x, end = scale(done), scale(done + count)
        done += count
        amount = f"{count} {role if count == 1 else word}"
        tip = f"{bars.source}: {amount} of {subject} against {opponent}"
        yield Area(box(x, y, end - x, height), role, tip=tip)
        if role == "loss":
            yield from hatch(x, y, end - x, height, "loss-line")
            wide = text_width(str(count), 12.0) + 3.0
            if wide < end - x:
                middle = (x + end - wide) / 2
                yield Area(box(middle, y + 3.0, wide, height - 6.0), "loss")
        yield Label(
            (x + end) / 2, y + height / 2 + 4.2, str(count), f"on-{role}", "middle"
        )


def mean_bars(
    title: str, bars: Sequence[MeanBar], unit: str, methods: Sequence[str]
) -> Drawing:
    """Draw one bar per method: its mean, standard deviation and printed value."""
    bar, gap, top, left, right = 18.0, 13.0, 8.0, 112.0, 66.0
    highest = max(
        (max(a.mean + a.deviation, a.printed or 0.0) for a in bars), default=1.0
    )
    scale = Scale(0.0, ceiling(highest), left, _WIDTH - right)
    bottom = top + len(bars) * (bar + gap)
    marks: list[Mark] = list(x_axis(scale, top, bottom, unit))
    for row, each in enumerate(bars):
        y = top + gap / 2 + row * (bar + gap)
        look = style(each.method, methods)
        name = each.method
        marks.append(Label(left - 18.0, y + 13.5, name, anchor="end"))
        marks.append(Dot(left - 9.0, y + bar / 2, look.shape, look.role, 3.8))
        tip = f"{name}: {each.mean:.1f} ± {each.deviation:.1f} {unit}"
        end = scale(each.mean)
        marks.append(Area(box(left, y, end - left, bar), look.role, tip=tip))
        right_end = end
        if each.deviation > 0.0:
            low, right_end = (
                scale(max(each.mean - each.deviation, 0.0)),
                scale(each.mean + each.deviation),
            )
            marks.extend(_whisker(low, right_end, y + bar / 2))
        text = f"{each.mean:.1f}"
        marks.append(Label(max(right_end, end) + 6.0, y + 13.5, text, bold=True))
        if each.printed is not None:
            start = max(right_end, end) + 12.0 + text_width(text, 12.5)
            marks.extend(_printed(scale(each.printed), y, bar, each.printed, start))
    return Drawing(_WIDTH, bottom + 38.0, title, tuple(marks))


def _whisker(low: float, high: float, y: float) -> Iterator[Mark]:
    yield Line(((low, y), (high, y)), "ink", 1.2)
    for x in (low, high):
        yield Line(((x, y - 3.5), (x, y + 3.5)), "ink", 1.2)


def _printed(
    x: float, y: float, height: float, value: float, start: float
) -> Iterator[Mark]:
    tip = f"paper: {value:g}"
    yield Line(((x, y - 3.0), (x, y + height + 3.0)), "ink", 1.6)
    yield Dot(x, y - 3.0, "nabla", "ink", 3.8, tip=tip)
    yield Label(start, y + 13.5, tip, "muted", size=12.0)
