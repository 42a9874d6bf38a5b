"""The share of each class along a stream, as stacked bands."""

from collections.abc import Iterator, Sequence

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.report.charts.axes import stream_axes
from rpnb.report.charts.drawing import (
    Area,
    Drawing,
    Label,
    Line,
    Mark,
    Scale,
    spread,
)

_WIDTH, _HEIGHT = 440.0, 272.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 54.0, 118.0, 24.0, 42.0
#: Number of classes with a band of their own; all others share one band.
MAX_BANDS = 7


def balance_panel(
    title: str,
    names: Sequence[str],
    rows: FloatArray,
    shares: FloatArray,
    width: float = _WIDTH,
) -> Drawing:
    """Draw one band for each of k classes, named from bottom to top.

    `rows` (t + 1,) are where t parts of the stream begin and end, and `shares` (t, k)
    those of each class in each part; each line sums to 1.
    """
    x = Scale(float(rows[0]), float(rows[-1]), _LEFT, width - _RIGHT)
    y = Scale(0.0, 1.0, _HEIGHT - _BOTTOM, _TOP)
    edges = np.concatenate(
        [np.zeros((shares.shape[0], 1)), np.cumsum(shares, axis=1)], axis=1
    )
    marks: list[Mark] = []
    for k, name in enumerate(names):
        tip = f"{name}: {float(shares[-1, k]):.1%} of the last part"
        outline = (
            *_stairs(x, y, rows, edges[:, k + 1]),
            *reversed(list(_stairs(x, y, rows, edges[:, k]))),
        )
        marks.append(Area(outline, f"s{k % 8}", opacity=0.75, tip=tip))
        if k:  # so that bands can be told apart without colour
            marks.append(Line(tuple(_stairs(x, y, rows, edges[:, k])), "ground", 1.2))
    marks.extend(stream_axes(x, y, "share of rows", grid=False))
    middles = [y(float(edges[-1, k] + edges[-1, k + 1]) / 2) for k in range(len(names))]
    places = spread(middles, 15.0, _TOP + 2.0, _HEIGHT - _BOTTOM + 2.0)
    for name, middle, place in zip(names, middles, places, strict=True):
        marks.append(Line(((x.end + 2.0, middle), (x.end + 12.0, place)), "muted", 0.7))
        shown = name if len(name) <= 16 else name[:15] + "…"
        marks.append(Label(x.end + 16.0, place + 4.0, shown, size=12.0))
    return Drawing(width, _HEIGHT, title, tuple(marks))


def _stairs(
    x: Scale, y: Scale, rows: FloatArray, heights: FloatArray
) -> Iterator[tuple[float, float]]:
    for i, height in enumerate(heights.tolist()):
        yield x(float(rows[i])), y(height)
        yield x(float(rows[i + 1])), y(height)
