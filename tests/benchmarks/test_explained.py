"""The picture of an explained row, and explained rows beside other methods."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bench_explain
import trust_figures
from rpnb.report.charts.drawing import Label


def test_the_explained_wine_is_that_of_the_picture(
    capsys: pytest.CaptureFixture[str],
) -> None:
    drawing = trust_figures.reasons()
    printed = capsys.readouterr().out
    shown = [mark.text for mark in drawing.marks if isinstance(mark, Label)]
    score, base = map(float, re.findall(r"score (\S+) from (\S+)", printed)[0])
    steps = [float(each) for each in re.findall(r"([+-]\d+\.\d+)$", printed, re.M)]
    assert_allclose(base + np.sum(steps), score, atol=0.1)
    assert {f"{score:.3g}", f"{base:.3g}", "malic acid = 4.3"} <= set(shown)


def test_explain_is_timed_without_other_packages(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bench_explain.compare("iris", 3, with_shap=False)
    explained, pool = capsys.readouterr().out.splitlines()
    assert re.match(r"iris, p = 4: explain \d", explained)
    # Four features: the values are exact.
    assert "PooledClassifier" in pool
    assert "standard errors up to 0," in pool
