"""Sections of a run's report: confusion matrix, calibration, explanations."""

import re
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from rpnb import PooledClassifier, RPNBClassifier
from rpnb.baselines import make
from rpnb.core.columns.coding import date_numbers
from rpnb.estimators.trust.contributions import largest, waterfall
from rpnb.evaluate.evaluation import Evaluation, native_evaluation
from rpnb.evaluate.metrics import CalibrationCurve
from rpnb.evaluate.stream_blocks import ChunkBlocks
from rpnb.files import LabelledArrays
from rpnb.preprocessing import RunningScaler, make_stream_pipeline
from rpnb.report.charts.drawing import Area, Dot, Drawing, Label, Line
from rpnb.report.sections.calibration import calibration_section, reliability_panel
from rpnb.report.sections.confusion_matrix import (
    MOST_CLASSES,
    confusion_section,
    matrix_of,
    matrix_panel,
    not_shown,
)
from rpnb.report.sections.row_reasons import (
    LastRows,
    by_column,
    importance_panel,
    reasons_section,
    waterfall_panel,
)

_RNG = np.random.default_rng(0)
Y = np.array(["one", "two", "three"])[_RNG.integers(0, 3, 200)]
X = _RNG.normal(size=(200, 4)) + (Y[:, None] == ["one", "two", "three", "-"])


def evaluated(models: dict[str, Any], y: Any = Y, truth: bool = True) -> Evaluation:
    evaluation = native_evaluation(models, probabilities="truth" if truth else "none")
    blocks = ChunkBlocks(evaluation.labels)
    for chunk in LabelledArrays("arrays", X, y).chunks(60):
        evaluation.step(blocks.block(chunk))
    return evaluation


def small() -> RPNBClassifier:
    return RPNBClassifier(6, random_state=0)


def texts(drawing: Drawing) -> list[str]:
    return [mark.text for mark in drawing.marks if isinstance(mark, Label)]


def test_matrices_are_side_by_side_with_their_counts() -> None:
    evaluation = evaluated({"RPNB": small(), "PA": make("PA")})
    matrix = matrix_of(evaluation, evaluation.participants[0])
    assert matrix.classes == ("one", "three", "two")
    # One row has no prediction: too few for a column.
    assert matrix.predicted == matrix.classes
    order = evaluation.sorted_labels()
    counts = evaluation.participants[0].confusion.counts
    assert_array_equal(matrix.counts, counts[np.ix_(order, order)])
    page = confusion_section(evaluation, evaluation.participants)
    assert page.count("<svg") == 2
    assert page.count("<table") == 2
    assert f"<td>{matrix.counts[0, 0]}</td>" in page


def test_cells_show_percentages_and_are_as_dark_as_these() -> None:
    evaluation = evaluated({"RPNB": small()})
    matrix = matrix_of(evaluation, evaluation.participants[0])
    drawing = matrix_panel("RPNB", matrix)
    cells = [mark for mark in drawing.marks if isinstance(mark, Area)]
    right = [cell for cell in cells if cell.role == "win"]
    shares = np.diagonal(matrix.counts) / matrix.counts.sum(axis=1)
    assert_allclose([cell.opacity for cell in right], 0.6 * shares)
    assert {f"{100 * share:.0f}" for share in shares} <= set(texts(drawing))
    assert all(cell.tip for cell in cells)


@pytest.mark.parametrize("M", [2, 14, MOST_CLASSES + 5])
def test_a_matrix_of_many_classes_fits(M: int) -> None:
    y = np.array([f"a class with a long name {i}" for i in range(M)])
    evaluation = evaluated({"PA": make("PA")}, y[np.arange(200) % M])
    matrix = matrix_of(evaluation, evaluation.participants[0])
    assert len(matrix.classes) == min(M, MOST_CLASSES)
    assert ("others" in matrix.predicted) == (M > MOST_CLASSES)
    drawing = matrix_panel("PA", matrix)
    for mark in drawing.marks:
        if isinstance(mark, Area):
            assert all(0.0 <= x <= drawing.width for x, _ in mark.points)
            assert all(0.0 <= y <= drawing.height for _, y in mark.points)
    names = [mark for mark in drawing.marks if isinstance(mark, Label)][2:]
    upright = [mark for mark in names if mark.turn and mark.text]
    lines = [mark for mark in names if mark.anchor == "end"]
    assert len(lines) == len(matrix.classes)
    assert len(upright) in (0, len(matrix.predicted))
    for one, other in pairwise(lines):  # no name is written over the next
        assert other.y - one.y > one.size
    for one, other in pairwise(upright):
        assert other.x - one.x > one.size
    left = "5 more classes are not shown."
    page = confusion_section(evaluation, evaluation.participants)
    assert (left in page) == (M > MOST_CLASSES)
    # The middle of long names is left out: these differ at their ends.
    assert len({mark.text for mark in lines}) == len(matrix.classes)


def test_one_class_that_is_not_shown_is_one() -> None:
    assert not_shown(0) == ""
    assert not_shown(1) == " 1 more class is not shown."
    assert not_shown(2) == " 2 more classes are not shown."


def test_the_diagram_has_a_point_for_each_tenth_and_joins_those_with_rows() -> None:
    curve = CalibrationCurve(
        np.array([0.25, 0.55, 0.95]),
        np.array([1.0, 0.5, 0.9]),
        np.array([1, 99, 900.0]),
    )
    drawing = reliability_panel("RPNB", curve, 0.05, ["RPNB"])
    dots = [mark for mark in drawing.marks if isinstance(mark, Dot)]
    assert len(dots) == 3
    assert [dot.size for dot in dots] == sorted(dot.size for dot in dots)
    joined = [m for m in drawing.marks if isinstance(m, Line) and m.width == 1.8]
    assert [len(line.points) for line in joined] == [2]
    assert joined[0].points == tuple((dot.x, dot.y) for dot in dots[1:])
    bars = [mark for mark in drawing.marks if isinstance(mark, Area)]
    heights = [bar.points[2][1] - bar.points[0][1] for bar in bars]
    assert_allclose(heights[1] / heights[2], 0.11)
    assert "calibration error 0.050" in texts(drawing)


def test_learners_without_probabilities_are_named() -> None:
    evaluation = evaluated({"RPNB": small(), "PA": make("PA"), "OGD": make("OGD")})
    names = [each.name for each in evaluation.participants]
    page = calibration_section(evaluation.participants, names)
    assert page is not None
    assert "PA and OGD give no probabilities." in page
    assert page.count("<svg") == 1
    assert page.count("<tr>") == 2
    assert calibration_section(evaluation.participants[1:], names) is None
    silent = evaluated({"RPNB": small()}, truth=False)
    assert calibration_section(silent.participants, names) is None


def test_the_last_rows_are_those_of_the_stream_for_any_chunking() -> None:
    for edges in ([0, 200], [0, 3, 3, 150, 199, 200], [0, 100, 110, 200]):
        rows = LastRows(["a", "b", "c", "d"], size=20)
        sparse = LastRows(size=20)
        for begin, end in pairwise(edges):
            memory = X[begin:end].copy()
            rows.add(memory, Y[begin:end])
            memory[:] = np.nan  # it is used again
            sparse.add(csr_array(X[begin:end]), Y[begin:end])
        assert_array_equal(rows.X, X[-20:])
        assert_array_equal(sparse.X.toarray(), X[-20:])
        assert rows.label == Y[-1]


def test_the_last_row_is_explained_by_each_learner_that_can_be() -> None:
    rows = LastRows(["a", "b", "c", "<d>"])
    rows.add(X, Y)
    scaled = make_stream_pipeline(RunningScaler(), make("GaussianNB"))
    models = {"RPNB": small(), "PA": make("PA"), "scaled": scaled}
    evaluation = evaluated(models)
    page = reasons_section(evaluation.participants, rows, 200)
    assert page is not None
    assert page.count("<svg") == 4
    assert "RPNB: row 200, the last one, is " in page
    assert "scaled: row 200, the last one, is " in page
    assert f"a = {X[-1, 0]:.4g}".replace("-", "\N{MINUS SIGN}") in page
    assert "&lt;d&gt; = " in page
    assert reasons_section(evaluation.participants, None, 200) is None
    assert reasons_section(evaluation.participants[1:2], rows, 200) is None
    # Scores of this rule are not polynomials.
    other = evaluated({"RPNB": RPNBClassifier(6, combiner="sum", random_state=0)})
    assert reasons_section(other.participants, rows, 200) is None


def test_members_of_the_pool_have_a_chart_and_sampled_values_an_error() -> None:
    wide = np.hstack([X, np.random.default_rng(1).normal(size=(200, 7))])
    for given, sampled in ((X, False), (wide, True)):
        rows = LastRows()
        rows.add(given, Y)
        model = PooledClassifier(n_projections=16, random_state=0).fit(given, Y)
        participant: Any = SimpleNamespace(name="Pooled", model=model, seen=np.asarray)
        page = reasons_section([participant], rows, 200)
        assert page is not None
        assert page.count("<svg") == 3
        assert "Pooled: contribution of each member to the score of the last" in page
        assert "binned_bayes" in page
        assert "over the last 20 rows" in page
        assert "x1 = " in page
        coded = reasons_section([participant], rows, 200, ["x1"])
        assert coded is not None
        assert "x1 = " not in coded
        assert "x2 = " in coded
        assert ("Standard errors of the values are at most" in page) == sampled


def test_the_features_of_a_date_or_a_text_are_explained_together() -> None:
    rng = np.random.default_rng(2)
    size = rng.normal(size=(200, 1))
    sent = np.datetime64("2026-01-01", "s") + rng.integers(0, 10**7, 200)
    encoded = np.hstack([size, date_numbers(sent), rng.normal(size=(200, 1))])
    kinds: Any = [("size", "number"), ("sent", "date"), ("kind", "category")]
    rows = LastRows([f"part {j}" for j in range(9)], columns=kinds)
    rows.add(encoded, Y)
    participant: Any = SimpleNamespace(
        name="RPNB", model=small().fit(encoded, Y), seen=np.asarray
    )
    page = reasons_section([participant], rows, 200, ["kind"])
    assert page is not None
    shown = set(re.findall(r"<title>(\w+): [\d.]+ %</title>", page))
    assert shown == {"size", "sent", "kind"}
    assert "size = " in page
    assert "sent = " not in page
    assert "part " not in page
    # The values of a column add up to those of its features.
    whole = participant.model.explain(rows.X)
    summed = by_column(whole, kinds)
    assert_allclose(summed.values[:, 1], whole.values[:, 1:8].sum(axis=1))
    assert_allclose(summed.base + summed.values.sum(axis=1), whole.score)


def test_of_sparse_rows_the_features_that_the_last_one_has_are_steps() -> None:
    given = csr_array(np.where(np.abs(X) > 0.8, X, 0.0))
    rows = LastRows()
    rows.add(given, Y)
    participant: Any = SimpleNamespace(
        name="RPNB", model=small().fit(given, Y), seen=lambda X: X
    )
    page = reasons_section([participant], rows, 200)
    assert page is not None
    assert "row of zeros" in page
    last = given[[-1]]
    named = {f"x{j + 1}" for j in last.indices}
    assert 0 < len(named) < 4
    assert set(re.findall(r">(x\d) = ", page)) == named


def test_a_waterfall_leads_from_the_background_to_the_row() -> None:
    steps = waterfall(np.array([0.5, -2.0, 3.0, 0.1, 0.2]), list("abcde"), 1.0, 2)
    assert steps.names == ("c", "b", "3 others")
    assert_allclose(steps.before, [1.0, 4.0, 2.0])
    assert_allclose(steps.values, [3.0, -2.0, 0.8])
    assert steps.score == 2.8
    drawing = waterfall_panel("title", steps)
    bars = [mark for mark in drawing.marks if isinstance(mark, Area)]
    assert [bar.role for bar in bars] == ["win", "loss", "win"]
    ends = [(bar.points[0][0], bar.points[1][0]) for bar in bars]
    assert_allclose(ends[0][1], ends[1][1])  # the second goes back from there
    assert_allclose(ends[1][0], ends[2][0])
    scale = (ends[0][1] - ends[0][0]) / 3.0
    assert_allclose(ends[1][1] - ends[1][0], 2.0 * scale)
    assert {"+3", "\N{MINUS SIGN}2", "+0.8", "mean row", "this row"} <= set(
        texts(drawing)
    )


def test_a_waterfall_without_any_step_is_drawn() -> None:
    flat = waterfall(np.zeros(2), ["a", "b"], 0.0, 9)
    assert waterfall_panel("title", flat).width > 0.0
    assert waterfall(np.zeros(0), [], 2.0, 9).score == 2.0


def test_all_other_features_have_a_number_and_no_bar() -> None:
    shares = largest(np.array([0.1, 0.2, 0.3, 0.4]), list("abcd"), 2)
    assert shares.rest == 2
    drawing = importance_panel("title", shares)
    bars = [mark for mark in drawing.marks if isinstance(mark, Area)]
    assert len(bars) == 2
    lengths = [bar.points[1][0] - bar.points[0][0] for bar in bars]
    assert_allclose(lengths[0] / lengths[1], 4.0 / 3.0)
    assert {"d", "c", "2 others", "40.0", "30.0"} <= set(texts(drawing))


def test_a_long_name_is_cut_and_its_value_is_not() -> None:
    steps = waterfall(np.ones(1), ["a very long name of a feature = -12.5"], 0.0, 9)
    (name,) = [text for text in texts(waterfall_panel("", steps)) if "=" in text]
    assert name.endswith("… = \N{MINUS SIGN}12.5")
    assert len(name) <= 25
