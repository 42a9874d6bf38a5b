"""Plots for notebooks look as on record: lines, bars, texts, sizes, colours, limits.

As for the charts of reports (`report/charts/test_looks.py`). What is meant to change is
written anew, and looked at: ``python tests/evaluate/test_plot_looks.py``.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import numpy as np

from rpnb.estimators.pooled_parts import MemberHistory
from rpnb.estimators.trust.contributions import largest, waterfall
from rpnb.estimators.trust.plots import draw_importance, draw_waterfall
from rpnb.evaluate.confusion import SPANS
from rpnb.evaluate.metrics import CalibrationCurve
from rpnb.evaluate.result import LearnerResult, PrequentialResult

mpl.use("Agg")
RECORD = Path(__file__).parents[1] / "golden" / "plots.txt"


def made_up_result() -> PrequentialResult:
    """Return a result that no learner had to be run for."""
    rows = np.array([10, 20, 30])
    names = ["RPNB", "Pooled", "majority class", "same as last"]
    tenths = np.array([0.25, 0.55, 0.95]), np.array([0.5, 0.6, 0.9])
    curve = CalibrationCurve(*tenths, np.array([5.0, 20.0, 75.0]))
    courses = {
        name: LearnerResult(
            name,
            rows,
            rows,
            rows / 10.0,
            {span: {"error": (1 + i + j) / rows} for j, span in enumerate(SPANS)},
            None,
            calibration=curve if i < 2 else None,
        )
        for i, name in enumerate(names)
    }
    n = np.arange(1.0, 4.0)
    history = MemberHistory(
        rows,
        {"one": 1 / n, "two": 1 - 1 / n},
        {"one": 0.5 / n, "two": 0.1 * n, "pool": 0.05 * n},
    )
    models = {"RPNB": None, "Pooled": SimpleNamespace(member_history_=history)}
    return PrequentialResult(courses, models, 30, ("a", "b"), ("error",), 20, 0.99, 10)


def plots() -> Iterator[Any]:
    """Yield the axes of each kind of plot."""
    steps = np.array([3.0, -1.5, 0.25, 0.125])
    names = ["a", "b = 2", "c", "d"]
    yield draw_waterfall(waterfall(steps, names, -0.5, 2), "a row", None)
    yield draw_waterfall(waterfall(np.zeros(1), ["a"], 0.5, 2), "nothing", None)
    yield draw_importance(largest(np.abs(steps) / 5.0, names, 2), None)
    yield draw_importance(largest(np.abs(steps) / 5.0, names, 9), None)
    result = made_up_result()
    for span in SPANS:
        yield result.plot(span=span)
    yield result.plot_calibration()
    yield from result.plot_members()


def numbers(values: Iterable[Any]) -> str:
    """Return numbers as text; rounded, as other processors may round the last digit."""
    return " ".join(f"{float(value) + 0.0:.3f}" for value in np.ravel(list(values)))


def looks(ax: Any) -> Iterator[str]:
    """Yield a line of text for each part of a plot."""
    from matplotlib.colors import to_hex

    yield f"# {ax.get_title()!r} {ax.get_xlabel()!r} {ax.get_ylabel()!r}"
    yield f"figure {numbers(ax.figure.get_size_inches())}"
    yield f"limits {numbers(ax.get_xlim())} {numbers(ax.get_ylim())} {ax.get_aspect()}"
    ticks = [text.get_text() for text in ax.get_yticklabels()]
    yield f"ticks {numbers(ax.get_yticks())} {ticks}"
    yield f"spines {sorted(k for k, v in ax.spines.items() if v.get_visible())}"
    yield f"title {ax.title.get_fontsize():.1f}"
    for line in ax.get_lines():
        points = numbers(line.get_xydata())
        style = f"{to_hex(line.get_color())} {line.get_linestyle()}"
        yield f"line {points} {style} {line.get_linewidth():.1f}"
    for bar in ax.patches:
        yield f"bar {numbers(bar.get_bbox().bounds)} {to_hex(bar.get_facecolor())}"
    for dots in ax.collections:
        colour = to_hex(dots.get_facecolor()[0])
        yield f"dots {numbers(dots.get_offsets())} {numbers(dots.get_sizes())} {colour}"
    for text in ax.texts:
        place = f"{numbers(text.xy)} + {numbers(text.xyann)} {text.anncoords}"
        style = f"{text.get_fontsize():.1f} {text.get_verticalalignment()}"
        yield f"text {text.get_text()!r} {place} {style}"
    legend = ax.get_legend()
    if legend is not None:
        named = [text.get_text() for text in legend.get_texts()]
        anchor = legend.get_bbox_to_anchor().transformed(ax.transAxes.inverted())
        frame = legend.get_frame_on()
        yield f"legend {named} {legend._loc} {numbers(anchor.bounds)} {frame}"


def all_looks() -> list[str]:
    """Return the lines of all plots."""
    from matplotlib import pyplot

    with mpl.rc_context(mpl.rcParamsDefault):
        mpl.use("Agg")
        found = [line for ax in plots() for line in looks(ax)]
    pyplot.close("all")
    return found


def test_plots_look_as_on_record() -> None:
    assert all_looks() == RECORD.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    RECORD.write_text("".join(f"{line}\n" for line in all_looks()), encoding="utf-8")
