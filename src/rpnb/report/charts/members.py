"""Members of a pool along a stream: the weight and the error of each."""

from itertools import cycle

import numpy as np

from rpnb.estimators.pooled_parts import MemberHistory
from rpnb.report.charts.curves import Curve, Measure, curve_panel
from rpnb.report.charts.drawing import Drawing
from rpnb.report.charts.palette import STYLES, Style, emphasised

# Space for the longest name of a member.
_NAMES = 162.0
# Parts of the stream in a panel, at most.
_PARTS = 40
#: Of the pool, and then of the members.
_MEMBER_STYLES = (
    *STYLES,
    Style("ink", "diamond", (6.0, 2.0, 1.5, 2.0), 1.3),
    Style("muted", "triangle", (3.0, 2.0), 1.3),
    Style("ink", "nabla", (2.0, 3.0), 1.3),
)


def member_panels(history: MemberHistory) -> tuple[Drawing, Drawing]:
    """Return the weights, and the errors of parts of the stream, one line per member.

    A member has the same style in both; that of the pool is the first.
    """
    names = ["pool", *history.weights]
    styles = dict(zip(names, cycle(_MEMBER_STYLES), strict=False))
    styles["pool"] = emphasised(styles["pool"])
    step = -(-history.rows.shape[0] // _PARTS)
    # The ends of parts, of which the last is the end of the stream.
    at = np.arange(history.rows.shape[0] - 1, -1, -step)[::-1]
    rows = history.rows.astype(np.float64)
    lengths = np.diff(rows, prepend=0.0)

    def panel(title: str, measure: Measure) -> Drawing:
        curves = []
        for name in names:
            if measure == "weight":
                if name == "pool":
                    continue
                values = history.weights[name][at]
            else:
                mistakes = np.cumsum(history.errors[name] * lengths)[at]
                values = np.diff(mistakes, prepend=0.0) / np.diff(rows[at], prepend=0.0)
            curves.append(Curve(name, rows[at], values, np.zeros(len(at)), 1))
        return curve_panel(
            *(title, curves, measure, names),
            first="pool",
            styles=styles,
            right=_NAMES,
        )

    return (
        panel("Weight of each member in the pool, one line per member", "weight"),
        panel(
            "Share of mistakes in parts of the stream, of each member by itself and of "
            "the pool",
            "window",
        ),
    )
