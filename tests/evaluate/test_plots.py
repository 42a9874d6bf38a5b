"""Plots for notebooks: axes and lines are named, and lines are distinguishable.

That lines and bars show the figures of the result is tested beside the results:
test_result.py, test_probability_metrics.py and estimators/trust/test_plots.py.
"""

from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from estimators.streams import blobs, small
from rpnb import PooledClassifier
from rpnb.estimators.trust.contributions import waterfall
from rpnb.estimators.trust.plots import draw_waterfall
from rpnb.evaluate import prequential
from rpnb.evaluate.confusion import SPANS

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.fixture(scope="module")
def result() -> Any:
    X, y = blobs(0, n=60)
    models = {"RPNB": small(), "Pooled": PooledClassifier(n_projections=16)}
    return prequential(models, X, y, metrics=["error", "calibration_error"], every=20)


def legend(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("span", SPANS)
def test_each_span_is_named_and_references_step_back(result: Any, span: Any) -> None:
    ax = result.plot(span=span)
    words = {"cumulative": "all rows so far", "window": "last", "fading": "fading"}
    assert ax.get_xlabel()
    assert words[span] in ax.get_ylabel()
    assert legend(ax) == list(result)
    drawn = {line.get_label(): line for line in ax.get_lines()}
    models = [drawn[name] for name in result.models]
    others = [drawn[name] for name in result if name not in result.models]
    looks = [(line.get_color(), line.get_linestyle()) for line in drawn.values()]
    assert len(set(looks)) == len(looks) == 4
    thinnest = min(line.get_linewidth() for line in models)
    assert all(line.get_linewidth() < thinnest for line in others)


def test_plots_of_calibration_and_members_are_named(result: Any) -> None:
    ax = result.plot_calibration()
    assert set(legend(ax)) >= set(result.models)
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    above, below = result.plot_members()
    colours = [
        {line.get_label(): line.get_color() for line in ax.get_lines()}
        for ax in (above, below)
    ]
    # A member has one colour in both.
    assert colours[0].items() <= colours[1].items()
    assert above.get_ylabel() != below.get_ylabel()


def test_steps_up_and_down_differ_and_have_their_numbers() -> None:
    steps = waterfall(np.array([3.0, -1.5, 0.25]), ["a", "b", "c"], -0.5, 3)
    ax = draw_waterfall(steps, "a row", None)
    up, down, also_up = (bar.get_facecolor() for bar in ax.patches)
    assert up == also_up != down
    assert [text.get_text() for text in ax.texts] == ["+3", "−1.5", "+0.25"]
    assert "from −0.5 to 1.25" in ax.get_xlabel()
    assert draw_waterfall(waterfall(np.zeros(1), ["a"], 0.5, 2), "", None).patches
