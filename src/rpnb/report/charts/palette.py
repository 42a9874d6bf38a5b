"""Colours by role for light and dark schemes, and a marker per method.

The series are the colours of Okabe and Ito (2008), which colour-blind readers can tell
apart, darkened where they would fall below a contrast of 3 : 1 on white and lightened
likewise on the dark background. No chart relies on colour alone: a line has its name at
its end, a dot its marker, a verdict a sign, a bar its hatching.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from rpnb.report.charts.drawing import Shape

#: Role -> colour on the light and on the dark background.
COLOURS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "ground": ("#ffffff", "#15191e"),
        "ink": ("#1b2127", "#e7ebef"),
        "muted": ("#5b6670", "#a3aeb8"),
        "grid": ("#e1e6ea", "#2b333b"),
        "band": ("#eef2f5", "#1f262d"),
        "win": ("#0072b2", "#1f78b4"),
        "on-win": ("#ffffff", "#ffffff"),
        "tie": ("#d3dae0", "#434d57"),
        "on-tie": ("#1b2127", "#e7ebef"),
        "loss": ("#e69f00", "#e69f00"),
        "loss-line": ("#b47400", "#b47400"),
        "on-loss": ("#1b1300", "#1b1300"),
        "other": ("#b4bdc5", "#59646e"),
        "s0": ("#d55e00", "#ff8a3c"),
        "s1": ("#0072b2", "#56b4e9"),
        "s2": ("#00855f", "#2ec79b"),
        "s3": ("#b8578d", "#e293c2"),
        "s4": ("#a87400", "#e69f00"),
        "s5": ("#4a545d", "#c3ccd4"),
        "s6": ("#6a51a3", "#b3a2e0"),
        "s7": ("#7a6a00", "#e8dc5a"),
    }
)


#: Role of curves that are not emphasised.
OTHERS = "other"

#: Number of distinct colours of series.
_SERIES = 8


@dataclass(frozen=True, slots=True)
class Style:
    """Colour and marker of a method in charts of dots and bars."""

    role: str
    shape: Shape


_SHAPES: tuple[Shape, ...] = (
    *("circle", "square", "triangle", "diamond", "nabla", "cross"),
)

#: Distinct styles.
STYLES = tuple(
    Style(f"s{index}", _SHAPES[index % len(_SHAPES)]) for index in range(_SERIES)
)


def series_role(name: str, names: Sequence[str]) -> str:
    """Return the colour of a series by its place among all names on a page.

    If there are more names than colours, colours repeat.
    """
    return f"s{names.index(name) % _SERIES}"


def style(method: str, methods: Sequence[str]) -> Style:
    """Return the colour and marker of a method by its place among all on a page.

    If there are more methods than styles, colours repeat with other markers.
    """
    index = methods.index(method)
    again, place = divmod(index, len(STYLES))
    shape = _SHAPES[(place + again) % len(_SHAPES)]
    return Style(STYLES[place].role, shape)


def chart_css() -> str:
    """Return the style sheet of all charts: one class per role sets its colour."""
    light, dark = (
        "".join(f".chart .{role}{{color:{pair[i]}}}" for role, pair in COLOURS.items())
        for i in (0, 1)
    )
    return (
        ".chart text{fill:currentColor;font-family:system-ui,-apple-system,"
        "'Segoe UI',Roboto,'Liberation Sans',Arial,sans-serif}"
        ".chart .l{stroke:currentColor;fill:none;stroke-linejoin:round}"
        ".chart .a{fill:currentColor}"
        f"{light}@media screen and (prefers-color-scheme:dark){{{dark}}}"
    )
