"""A drawing as PNG, rendered by matplotlib (the extra `rpnb[report]`)."""

from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from typing import Any

from rpnb.report.charts.drawing import Area, Dot, Drawing, Label, Line
from rpnb.report.charts.palette import COLOURS
from rpnb.report.charts.svg import MARGIN

MISSING = "PNG files need matplotlib: pip install 'rpnb[report]'"

_FONTS = ["DejaVu Sans"]  # comes with matplotlib: the same picture on every machine
_NARROWER = 0.9  # its letters are wider than those on the pages


def is_available() -> bool:
    """Return whether matplotlib can be imported."""
    return find_spec("matplotlib") is not None


def png(drawing: Drawing, scale: float = 2.0) -> bytes:
    """Return a drawing as PNG on white, with `scale` pixels per unit.

    Raises
    ------
    ImportError
        If matplotlib is not installed; the message names the extra.
    """
    if not is_available():
        raise ImportError(MISSING)
    # Imported by name, so that type checkers do not need matplotlib either.
    figures, agg = (
        import_module(f"matplotlib.{name}")
        for name in ("figure", "backends.backend_agg")
    )
    width, height = drawing.width + 2 * MARGIN, drawing.height + 2 * MARGIN
    figure = figures.Figure(figsize=(width / 72, height / 72), dpi=72 * scale)
    agg.FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(-MARGIN, width - MARGIN), ylim=(height - MARGIN, -MARGIN))
    axes.set_axis_off()
    for order, mark in enumerate(drawing.marks):
        match mark:
            case Line():
                _line(axes, mark, order)
            case Area():
                _polygon(axes, mark.points, mark.role, order, alpha=mark.opacity)
            case Dot():
                _dot(axes, mark, order)
            case Label():
                _label(axes, mark, order)
    file = BytesIO()
    figure.savefig(file, format="png", metadata={"Software": None})
    return file.getvalue()


def _line(axes: Any, line: Line, order: int) -> None:
    xs, ys = zip(*line.points, strict=True)
    dash = (0, [length / line.width for length in line.dash]) if line.dash else "solid"
    path = import_module("matplotlib.lines").Line2D(
        xs,
        ys,
        color=_colour(line.role),
        linewidth=line.width,
        linestyle=dash,
        solid_capstyle="butt",
        zorder=order,
    )
    # As an artist, which leaves the limits of the axes as they are set.
    axes.add_artist(path)


def _dot(axes: Any, dot: Dot, order: int) -> None:
    if dot.shape == "circle":
        circle = import_module("matplotlib.patches").Circle
        patch = circle((dot.x, dot.y), dot.size)
        patch.set(facecolor=_colour(dot.role), edgecolor="none", zorder=order)
        axes.add_artist(patch)
        return
    _polygon(axes, dot.corners(), dot.role, order)


def _polygon(
    axes: Any,
    points: tuple[tuple[float, float], ...],
    role: str,
    order: int,
    alpha: float = 1.0,
) -> None:
    polygon = import_module("matplotlib.patches").Polygon
    patch = polygon(points, closed=True)
    patch.set(facecolor=_colour(role), edgecolor="none", alpha=alpha, zorder=order)
    axes.add_artist(patch)


def _label(axes: Any, label: Label, order: int) -> None:
    axes.text(
        label.x,
        label.y,
        label.text.replace("$", r"\$"),
        color=_colour(label.role),
        fontsize=label.size * _NARROWER,
        fontfamily=_FONTS,
        fontweight="bold" if label.bold else "normal",
        horizontalalignment={"start": "left", "middle": "center", "end": "right"}[
            label.anchor
        ],
        verticalalignment="baseline",
        rotation=-label.turn,
        rotation_mode="anchor",
        zorder=order,
    )


def _colour(role: str) -> str:
    return COLOURS[role][0]
