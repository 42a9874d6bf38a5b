"""A drawing as SVG, with text as text and short numbers."""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise

from rpnb.report.charts.drawing import XY, Area, Dot, Drawing, Label, Line, Mark
from rpnb.report.charts.palette import chart_css
from rpnb.report.html import Html

#: Margin around a drawing in its own file.
MARGIN = 12.0


def inline(drawing: Drawing) -> Html:
    """Return SVG for a page whose style sheet contains `chart_css`."""
    return Html(
        f'<svg class="chart" viewBox="0 0 {_short(drawing.width)} '
        f'{_short(drawing.height)}" role="img" aria-label="{escape(drawing.title)}">'
        f"{_marks(drawing.marks)}</svg>"
    )


def standalone(drawing: Drawing) -> str:
    """Return SVG for a separate file, with its style sheet."""
    start = _short(-MARGIN)
    width, height = (
        _short(extent + 2 * MARGIN) for extent in (drawing.width, drawing.height)
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" '
        f'viewBox="{start} {start} {width} {height}" width="{width}" '
        f'height="{height}"><title>{escape(drawing.title)}</title>'
        f"<style>{chart_css()}</style>"
        f'<rect class="a ground" x="{start}" y="{start}" width="{width}" '
        f'height="{height}"/>'
        f"{_marks(drawing.marks)}</svg>\n"
    )


def _marks(marks: Iterable[Mark]) -> str:
    return "".join(_mark(mark) for mark in marks)


def _mark(mark: Mark) -> str:
    match mark:
        case Line():
            return _line(mark)
        case Area():
            faint = "" if mark.opacity == 1.0 else f' opacity="{_short(mark.opacity)}"'
            head = f'<path class="a {mark.role}"{faint} d="{_path(mark.points)}z"'
            return _closed(head, "path", mark.tip)
        case Dot():
            return _dot(mark)
        case Label():
            return _label(mark)


def _line(line: Line) -> str:
    dash = " ".join(_short(length) for length in line.dash)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    width = "" if line.width == 1.0 else f' stroke-width="{_short(line.width)}"'
    return f'<path class="l {line.role}"{width}{dashes} d="{_path(line.points)}"/>'


def _dot(dot: Dot) -> str:
    if dot.shape == "circle":
        head = (
            f'<circle class="a {dot.role}" cx="{_short(dot.x)}" cy="{_short(dot.y)}" '
            f'r="{_short(dot.size)}"'
        )
        return _closed(head, "circle", dot.tip)
    path = _path(dot.corners())
    return _closed(f'<path class="a {dot.role}" d="{path}z"', "path", dot.tip)


def _label(label: Label) -> str:
    anchor = "" if label.anchor == "start" else f' text-anchor="{label.anchor}"'
    bold = ' font-weight="600"' if label.bold else ""
    x, y = _short(label.x), _short(label.y)
    turn = f' transform="rotate({_short(label.turn)} {x} {y})"' if label.turn else ""
    return (
        f'<text class="{label.role}" x="{x}" y="{y}" font-size="{_short(label.size)}"'
        f"{anchor}{bold}{turn}>{escape(label.text)}</text>"
    )


def _closed(head: str, tag: str, tip: str | None) -> str:
    return (
        f"{head}/>" if tip is None else f"{head}><title>{escape(tip)}</title></{tag}>"
    )


def _path(points: Sequence[XY]) -> str:
    """Return path data rounded to tenths: the first point, then relative steps."""
    tenths = [(round(10 * x), round(10 * y)) for x, y in points]
    parts = [f"M{_tenths(tenths[0][0])}{_joined(tenths[0][1])}"]
    command = "l"
    for (x0, y0), (x1, y1) in pairwise(tenths):
        if (x0, y0) != (x1, y1):
            step = _tenths(x1 - x0) if command else _joined(x1 - x0)
            parts.append(f"{command}{step}{_joined(y1 - y0)}")
            command = ""
    return "".join(parts)


def _joined(tenths: int) -> str:
    """Return a number that follows another, after a blank unless it is negative."""
    text = _tenths(tenths)
    return text if text.startswith("-") else f" {text}"


def _tenths(tenths: int) -> str:
    return _short(tenths / 10)


def _short(value: float) -> str:
    """Return a number with at most two decimals and no redundant zeros."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    if text in ("-0", ""):
        return "0"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text
