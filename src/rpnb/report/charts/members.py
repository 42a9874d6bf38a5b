"""Members of a pool, one small panel each: error, error of the pool, weight."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.report.charts.curves import Curve, clipped, fitted_range
from rpnb.report.charts.drawing import (
    Area,
    Drawing,
    Label,
    Line,
    Mark,
    Scale,
    number,
    simplify,
    ticks,
)

#: Largest number of parts of the stream in a panel.
PARTS = 40
_WIDTH, _HEIGHT = 220.0, 116.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 34.0, 4.0, 6.0, 16.0
#: Share of the height of a panel that the largest weight takes.
WEIGHT_HEIGHT = 0.3


class MemberHistory(Protocol):
    """Weights and errors of the members of a pool: its `member_history_`."""

    @property
    def rows(self) -> IntArray:
        """Numbers of rows learned (t,), ascending."""

    @property
    def weights(self) -> Mapping[str, FloatArray]:
        """Weight (t,) of each member after these rows."""

    @property
    def errors(self) -> Mapping[str, FloatArray]:
        """Error (t,) of each member, and of "pool", since the previous entry."""


@dataclass(frozen=True, slots=True)
class MemberPanel:
    """A member of a pool in parts of the stream; all panels share their scales."""

    name: str
    rows: FloatArray
    """(t,) ends of the parts"""
    error: FloatArray
    """(t,) error of the member alone, in each part"""
    pool: FloatArray
    """(t,) error of the pool, in each part"""
    weight: FloatArray
    """(t,) weight at the end of each part"""
    low: float
    high: float
    """ends of the axis of errors"""
    heaviest: float
    """largest weight of all members"""


def member_panels(history: MemberHistory) -> list[MemberPanel]:
    """Return one panel per member, in the order of their final weights."""
    step = -(-history.rows.shape[0] // PARTS)
    # The ends of parts, of which the last is the end of the stream.
    at = np.arange(history.rows.shape[0] - 1, -1, -step)[::-1]
    rows = history.rows.astype(np.float64)
    lengths = np.diff(rows, prepend=0.0)
    errors: dict[str, FloatArray] = {}
    for name, values in history.errors.items():
        mistakes = np.cumsum(values * lengths)[at]
        errors[name] = np.diff(mistakes, prepend=0.0) / np.diff(rows[at], prepend=0.0)
    weights = {name: values[at] for name, values in history.weights.items()}
    heaviest = max(float(values.max()) for values in weights.values())
    curves = [
        Curve(name, rows[at], values, np.zeros(len(at)), 1)
        for name, values in errors.items()
    ]
    low, high = fitted_range(curves, ["pool"], "window")
    ranked = sorted(weights, key=lambda name: -float(weights[name][-1]))
    return [
        MemberPanel(
            *(name, rows[at], errors[name], errors["pool"], weights[name]),
            *(low, high, heaviest),
        )
        for name in ranked
    ]


def member_panel(panel: MemberPanel) -> Drawing:
    """Draw the static picture of a member: its error, the pool's, and its weight."""
    x = Scale(0.0, float(panel.rows[-1]), _LEFT, _WIDTH - _RIGHT)
    y = Scale(panel.low, panel.high, _HEIGHT - _BOTTOM, _TOP)
    marks: list[Mark] = list(_axes(x, y))
    if panel.heaviest > 0.0:
        top = panel.heaviest / WEIGHT_HEIGHT
        height = Scale(0.0, top, _HEIGHT - _BOTTOM, _TOP)
        edge = [
            (x(a), height(float(b)))
            for a, b in zip(panel.rows, panel.weight, strict=True)
        ]
        base = ((edge[-1][0], height(0.0)), (edge[0][0], height(0.0)))
        tip = f"weight {panel.weight[-1]:.3f} at the end"
        marks.append(Area((*simplify(edge), *base), "s1", 0.25, tip))
    for values, role, width in ((panel.pool, "other", 1.4), (panel.error, "s1", 1.8)):
        points = [(x(a), y(float(b))) for a, b in zip(panel.rows, values, strict=True)]
        runs = clipped(points, y.end, y.start)
        marks.extend(Line(tuple(simplify(run)), role, width) for run in runs)
    title = (
        f"{panel.name}: error {panel.error[-1]:.3f} in the last part, the pool's "
        f"{panel.pool[-1]:.3f}; weight {panel.weight[-1]:.3f}"
    )
    return Drawing(_WIDTH, _HEIGHT, title, tuple(marks))


def _axes(x: Scale, y: Scale) -> Iterator[Mark]:
    for value in ticks(y.low, y.high, 2):
        yield Line(((x.start, y(value)), (x.end, y(value))), "grid")
        place = y(value) + 4.0
        yield Label(x.start - 5.0, place, number(value), "muted", "end", 11.0)
    yield Line(((x.start, y.start), (x.end, y.start)), "muted", 0.8)
    last = f"{number(x.high)} rows"
    yield Label(x.end, y.start + 13.0, last, "muted", "end", 11.0)
