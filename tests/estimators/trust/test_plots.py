"""Explained rows and importance drawn by matplotlib."""

import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from rpnb import RPNBClassifier
from rpnb.baselines import GaussianNB

mpl.use("Agg")
_RNG = np.random.default_rng(5)
Y = _RNG.integers(0, 3, 200)
X = _RNG.normal(size=(200, 5)) + np.eye(3, 5)[Y]
NAMES = ["a", "b", "c", "d", "e"]


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    from matplotlib import pyplot

    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def model() -> Any:
    frame = pd.DataFrame(X, columns=NAMES)
    return RPNBClassifier(20, random_state=0).partial_fit(frame, Y)


def labels(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


def test_the_bars_of_a_waterfall_lead_to_the_score(model: Any) -> None:
    frame = pd.DataFrame(X, columns=NAMES)
    found = model.explain(frame[:3])
    ax = found.plot(1, top=2, X=frame[:3])
    steps = found.waterfall(1, top=2)
    assert steps.names[-1] == "3 others"
    edges = [(bar.get_x(), bar.get_width()) for bar in ax.patches]
    assert_allclose(edges[0][0], found.base[1])
    for (x, width), (after, _) in pairwise(edges):
        assert_allclose(x + width, after)
    assert_allclose(sum(edges[-1]), found.score[1])
    best = int(np.abs(found.values[1]).argmax())
    assert labels(ax)[0] == f"{NAMES[best]} = {X[1, best]:.4g}"
    assert ax.get_title() == f"{found.labels[1]} rather than {found.against[1]}"
    assert found.plot(0, ax=ax) is ax


def test_of_a_sparse_row_the_features_that_it_has_are_steps() -> None:
    rows = csr_array(np.where(np.abs(X) > 1.0, X, 0.0))
    model = RPNBClassifier(20, random_state=0).partial_fit(rows, Y)
    found = model.explain(rows[:10])
    for row in (0, 7, -1):
        steps = found.waterfall(row, X=rows[:10])
        there = np.flatnonzero(rows[:10].toarray()[row])
        named = {f"x{j + 1} = {rows[:10].toarray()[row, j]:.4g}" for j in there}
        assert set(steps.names) == named
        assert_allclose(steps.score, found.score[row])
    with pytest.raises(IndexError, match="row must be from 0 to 9, got 10"):
        found.waterfall(10)


def test_importance_has_a_bar_for_each_feature(model: Any) -> None:
    frame = pd.DataFrame(X, columns=NAMES)
    ax = model.plot_importance(frame, top=3)
    shares = model.feature_importance(frame)
    order = np.argsort(-shares)
    assert labels(ax) == [*(NAMES[j] for j in order[:3]), "2 others"]
    widths = [bar.get_width() for bar in ax.patches]
    assert_allclose(widths, [*shares[order[:3]], shares[order[3:]].sum()])
    explained = model.explain(frame)
    assert_allclose(explained.importance(), shares)
    assert explained.plot_importance(top=3, ax=ax) is ax
    other = GaussianNB().partial_fit(X, Y).plot_importance()
    assert len(other.patches) == 5


def test_without_matplotlib_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch, model: Any
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"plot_importance needs .*rpnb\[report\]"):
        model.plot_importance()
