"""Interactive charts: data for `assets/charts.js`, and a static twin.

A figure holds the picture as SVG and the same data as JSON. The script draws the data
and hides the picture; without scripts, and in print, the picture is shown.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.report.charts.curves import UNITS, Plot, curve_panel, line_width
from rpnb.report.charts.members import WEIGHT_HEIGHT, MemberPanel, member_panel
from rpnb.report.charts.svg import inline
from rpnb.report.html import Html, join, tag

# Widths of the static picture: on a wide page, and on a narrow screen.
_WIDE, _NARROW = 920.0, 440.0


def plot_figure(
    plot: Plot, caption: str, *, wide: bool = True, link: str = "rows"
) -> Html:
    """Return a figure that shows a plot, over the whole width of the page or half.

    Figures with the same `link` share the pointer and the range of rows.
    """
    pictures = [("narrow" if wide else "", _NARROW)]
    if wide:
        pictures.insert(0, ("wide", _WIDE))
    still = join(
        tag("div", inline(curve_panel(plot, width)), class_=name or None)
        for name, width in pictures
    )
    return live_figure(still, {**plot_data(plot), "link": link}, caption)


def member_figure(panel: MemberPanel) -> Html:
    """Return a small figure that shows a member of a pool."""
    latest = f"error {panel.error[-1]:.2g} · weight {panel.weight[-1]:.2g}"
    caption = join(
        (
            tag("b", panel.name),
            " ",
            tag("span", latest, class_="value"),
        )
    )
    still = inline(member_panel(panel))
    return live_figure(still, member_data(panel), caption)


def live_figure(still: Html, data: dict[str, Any], caption: str = "") -> Html:
    """Return a figure of a picture and the data of the same chart."""
    return tag(
        "figure",
        tag("div", still, class_="still"),
        tag("script", as_json(data), type="application/json"),
        *((tag("figcaption", caption),) if caption else ()),
        class_="plot small" if data.get("small") else "plot",
    )


def as_json(data: Any) -> Html:
    """Return data as JSON that cannot close the element it is written in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Html(text)


def plot_data(plot: Plot) -> dict[str, Any]:
    """Return the data of a plot for `assets/charts.js`: every point of every curve.

    Curves share the rows; where one has no point, its value is null.
    """
    rows = np.unique(np.concatenate([curve.rows for curve in plot.curves]))
    series = []
    for curve in plot.curves:
        at = np.searchsorted(rows, curve.rows)
        one: dict[str, Any] = {
            "name": curve.method,
            "role": plot.roles[curve.method],
            "shown": curve.method in plot.emphasised,
            "width": line_width(plot, curve.method),
            "values": _placed(curve.mean, at, rows.shape[0]),
        }
        if curve.runs > 1:
            one["spread"] = _placed(curve.deviation, at, rows.shape[0])
        series.append(one)
    return {
        "title": plot.title,
        "x": {"label": "rows", "low": 0},
        "y": {"label": UNITS[plot.measure], "low": plot.low, "high": plot.high},
        "rows": _short(rows),
        "series": series,
        "marks": [
            {"row": row, "name": name, "role": plot.roles[name]}
            for name, places in plot.alarms.items()
            for row in places
        ],
    }


def member_data(panel: MemberPanel) -> dict[str, Any]:
    """Return the data of a member's panel for `assets/charts.js`."""
    common = {"shown": True, "width": 1.8}
    series: list[dict[str, Any]] = [
        {
            **common,
            "name": "weight",
            "role": "s1",
            "area": panel.heaviest / WEIGHT_HEIGHT or 1.0,
            "values": _short(panel.weight),
        },
        {
            **common,
            "name": "pool",
            "role": "other",
            "values": _short(panel.pool),
        },
        {
            **common,
            "name": "error",
            "role": "s1",
            "values": _short(panel.error),
        },
    ]
    return {
        "title": member_panel(panel).title,
        "small": True,
        "link": "rows",
        "x": {"label": "rows", "low": 0},
        "y": {"label": "error", "low": panel.low, "high": panel.high},
        "rows": _short(panel.rows),
        "series": series,
        "marks": [],
    }


def gaps(values: FloatArray) -> list[float | None]:
    """Return numbers with six significant digits, None for NaN."""
    return [None if v != v else float(f"{v:.6g}") for v in values.tolist()]


def _placed(values: FloatArray, at: Any, n: int) -> list[float | None]:
    placed: list[float | None] = [None] * n
    for place, value in zip(at.tolist(), _short(values), strict=True):
        placed[place] = value
    return placed


def _short(values: FloatArray | Sequence[float]) -> list[float]:
    """Return numbers with six significant digits; whole ones as integers."""
    short = [float(f"{float(value):.6g}") for value in values]
    exact = [float(value) for value in values]
    return [
        int(whole) if whole == round(whole) else brief
        for whole, brief in zip(exact, short, strict=True)
    ]
