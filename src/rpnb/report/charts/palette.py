"""Colours by role for light and dark schemes, and a marker and dashes per method.

The series are the colours of Okabe and Ito (2008), darkened where they would fall
below a contrast of 3 : 1 on white and lightened likewise on the dark background. No
chart relies on colour alone: a method also has a marker and dashes, a verdict a sign,
a bar its hatching.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
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


@dataclass(frozen=True, slots=True)
class Style:
    """How the line and the markers of a method are drawn."""

    role: str
    shape: Shape
    dash: tuple[float, ...]
    width: float


#: Distinct styles.
STYLES = (
    Style("s0", "circle", (5.0, 1.5), 1.5),
    Style("s1", "square", (7.0, 3.0), 1.5),
    Style("s2", "triangle", (1.5, 2.5), 1.5),
    Style("s3", "diamond", (8.0, 3.0, 1.5, 3.0), 1.5),
    Style("s4", "nabla", (4.0, 2.0), 1.5),
    Style("s5", "cross", (11.0, 4.0), 1.5),
    Style("s6", "circle", (2.0, 2.0, 6.0, 2.0), 1.5),
    Style("s7", "square", (3.0, 5.0), 1.5),
)

#: The references, which look the same in every chart and like no method.
REFERENCES: Mapping[str, Style] = MappingProxyType(
    {
        "majority class": Style("muted", "cross", (2.0, 4.0), 1.2),
        "same as last": Style("muted", "nabla", (1.0, 3.0), 1.2),
    }
)

#: Methods with the same style in every chart: the paper's, in its order.
RESERVED = ("RPNB", "AROW", "OGD", "PA", "SCW", "OnlineBagging")

_LABELS = {
    "OnlineBagging": "Online Bagging",
    "MajorityClass": "Majority class",
    "NoChange": "No change",
}


def style(method: str, methods: Iterable[str], first: str | None = None) -> Style:
    """Return the style of a method; the paper's six have the same in every chart.

    If there are more methods than styles, colours come again with other markers. The
    line of the method that a chart emphasises, `first`, is thick and solid.
    """
    if method in REFERENCES:
        return REFERENCES[method]
    if method == first:
        return emphasised(style(method, methods))
    others = [
        name for name in methods if name not in RESERVED and name not in REFERENCES
    ]
    known = (*RESERVED, *others)
    index, n = known.index(method), len(STYLES)
    if index < n:
        return STYLES[index]
    again, place = divmod(index - n, n - 1)
    base = STYLES[1 + place]
    other = STYLES[1 + (place + again + 1) % (n - 1)]
    return Style(base.role, other.shape, other.dash, base.width)


def emphasised(look: Style) -> Style:
    """Return a style with a thick and solid line."""
    return replace(look, dash=(), width=2.4)


def label(method: str) -> str:
    """Return the display name of a method."""
    return _LABELS.get(method, method)


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
