"""Plots of contributions with matplotlib, for notebooks (extra `rpnb[report]`).

The values are computed in `rpnb.estimators.trust.contributions`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray
from rpnb.estimators.trust.contributions import Waterfall, largest, score_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colours of Okabe and Ito (2008), as in reports: for the class, and against it.
_FOR, _AGAINST, _NEUTRAL = "#0072b2", "#d55e00", "0.55"


def require_pyplot(needed_by: str) -> Any:
    """Return matplotlib.pyplot, or raise an ImportError on how to install it."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            f"{needed_by} needs matplotlib: pip install 'rpnb[report]'"
        ) from error
    return pyplot


def draw_waterfall(steps: Waterfall, title: str, ax: "Axes | None") -> "Axes":
    """Draw the steps from the background's score, above, to the row's, below."""
    n = len(steps.names)
    if ax is None:
        pyplot = require_pyplot("plot")
        size = (7.0, 1.4 + 0.32 * n)
        ax = pyplot.subplots(figsize=size, layout="constrained")[1]
    places = range(n)
    colours = [_FOR if value >= 0.0 else _AGAINST for value in steps.values]
    ax.barh(places, steps.values, left=steps.before, color=colours, height=0.62)
    ends = steps.before + steps.values
    for place, end in zip(range(n - 1), ends, strict=False):
        ax.plot([end, end], [place, place + 1], color=_NEUTRAL, linewidth=0.8)
    for place, value, before in zip(places, steps.values, steps.before, strict=True):
        ax.annotate(
            score_text(value, signed=True),
            (max(before, before + value), place),
            xytext=(4, 0),
            textcoords="offset points",
            verticalalignment="center",
            fontsize="small",
        )
    ax.axvline(steps.base, color=_NEUTRAL, linewidth=0.8, linestyle=":")
    ax.set_yticks(places, steps.names)
    ax.invert_yaxis()
    edges = [steps.base, *steps.before, *ends]
    room = 0.14 * (max(edges) - min(edges)) or 1.0
    ax.set_xlim(min(edges) - 0.2 * room, max(edges) + room)
    start, end = score_text(steps.base), score_text(steps.score)
    ax.set_xlabel(f"score, from {start} to {end}")
    ax.set_title(title, fontsize="medium")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def draw_importance(
    importance: FloatArray,
    names: NDArray[Any] | Sequence[str],
    top: int,
    ax: "Axes | None",
) -> "Axes":
    """Draw one bar per feature, the most important at the top; all others paler."""
    bars = largest(importance, names, top)
    n = len(bars.names)
    if ax is None:
        pyplot = require_pyplot("plot_importance")
        size = (7.0, 1.0 + 0.3 * n)
        ax = pyplot.subplots(figsize=size, layout="constrained")[1]
    colours = [_FOR] * (n - 1) + ["0.75" if bars.rest else _FOR]
    ax.barh(range(n), bars.values, color=colours, height=0.62)
    ax.set_yticks(range(n), bars.names)
    ax.invert_yaxis()
    ax.set_xlabel("share of the contributions to scores")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
