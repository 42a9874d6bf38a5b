"""Metrics of ranking in bounded memory: those of all rows, any chunking, any span."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
)
from sklearn.naive_bayes import GaussianNB

from evaluate import naive
from rpnb import RPNBClassifier
from rpnb.baselines import make
from rpnb.core.kernels.arrays import FloatArray
from rpnb.evaluate import prequential
from rpnb.evaluate.confusion import Confusion, ProbabilityDetails, ScoredRows, Span
from rpnb.evaluate.metrics import Metric
from rpnb.evaluate.ranking import N_SCORE_BINS, bin_scores, bins_of
from rpnb.labels import LabelIndex

_RNG = np.random.default_rng(5)
Y = _RNG.integers(0, 3, 300)
X = _RNG.normal(size=(300, 4)) + 0.8 * np.eye(3, 4)[Y]
LABELS = np.array(["a", "b", "c"])[Y]

RANKING: list[Metric] = ["auc", "average_precision", "best_f1"]
probabilities = st.one_of(
    st.floats(0.0, 1.0),
    st.sampled_from([0.0, 1.0, 0.5, 2.0**-33, 1.0 - 2.0**-33, 0.25, 0.75, 1e-300]),
)


@given(st.lists(probabilities, min_size=2, max_size=30))
def test_bins_keep_the_order_and_are_narrow(values: list[float]) -> None:
    p = np.sort(values)
    bins = bins_of(p).astype(int)
    assert bins.max() < N_SCORE_BINS
    assert_array_equal(bins == 0, p < 2.0**-33)
    assert_array_equal(bins == N_SCORE_BINS - 1, 1.0 - p < 2.0**-33)
    assert (np.diff(bins) >= 0).all()
    expected = [naive.score_bin(float(each)) for each in p]
    for (a, b), (slow_a, slow_b) in zip(
        pairwise(bins), pairwise(expected), strict=True
    ):
        assert (a < b) == (slow_a < slow_b)
    s = np.minimum(p, 1.0 - p)
    for i, j in pairwise(range(len(p))):
        if bins[i] == bins[j] and s[i] > 2.0**-33 and p[j] < 0.5:
            assert p[j] - p[i] <= s[j] / 16


def test_nan_and_rounding_beyond_one_are_probabilities_of_zero_and_one() -> None:
    found = bins_of(np.array([np.nan, -1e-18, 1.0 + 1e-15]))
    assert_array_equal(found, [0, 0, N_SCORE_BINS - 1])


class Stream(NamedTuple):
    truth: list[str]
    given: list[dict[str, float]]
    cuts: list[int]


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    """Rows with probabilities of the classes known then, which grow in number."""
    letters = "abcd"[: draw(st.integers(1, 4))]
    truth = draw(st.lists(st.sampled_from(letters), min_size=1, max_size=30))
    n = len(truth)
    rows = draw(st.lists(st.lists(probabilities, min_size=4, max_size=4), min_size=n))
    known = [{*truth[:i], "z"} for i in range(n)]
    given = [
        {c: p for c, p in zip("abcz", row, strict=True) if c in seen}
        for seen, row in zip(known, rows, strict=False)
    ]
    inner = draw(st.sets(st.integers(1, n), max_size=5))
    return Stream(truth, given, sorted({0, *inner, n}))


@settings(max_examples=25)
@given(streams(), st.integers(1, 40), st.sampled_from([0.5, 0.9, 1.0]))
def test_ranking_is_that_of_all_rows_for_any_chunking(
    stream: Stream, window: int, fading: float
) -> None:
    truth, given, cuts = stream
    columns, numbers = LabelIndex(), LabelIndex("abcd").of(truth)
    running = Confusion(window, fading)
    for begin, end in pairwise(cuts):
        some = given[begin:end]
        classes = sorted({c for each in some for c in each})
        P = np.array([[each.get(c, 0.0) for c in classes] for each in some])
        P = P.reshape(end - begin, len(classes))
        scores = bin_scores(P, classes, truth[begin:end], columns)
        part = numbers[begin:end]
        none = np.zeros(len(part))
        details = ProbabilityDetails(none, none, none, scores)
        rows = ScoredRows(part, part, none > 0, none, details)
        running.add(rows, 4)
        found = running.measure(RANKING)
        faded = fading ** np.arange(end - 1.0, -1.0, -1.0)
        first = max(end - window, 0)
        spans: dict[Span, tuple[int, FloatArray]] = {
            "cumulative": (0, np.ones(end)),
            "window": (first, np.ones(end - first)),
            "fading": (0, faded),
        }
        for span, (begin_at, weight) in spans.items():
            some_rows = truth[begin_at:end], given[begin_at:end], weight
            expected = naive.auc(*some_rows)
            assert_allclose(found[span]["auc"], expected, rtol=1e-9, err_msg=span)
            for name in RANKING[1:]:
                expected = naive.at_thresholds(name, *some_rows)
                assert_allclose(found[span][name], expected, rtol=1e-9, err_msg=span)


def before_each_row(model: Any) -> FloatArray:
    P = np.zeros((len(Y), 3))
    for i in range(len(Y)):
        if i > 0:
            P[i, np.searchsorted(["a", "b", "c"], model.classes_)] = (
                model.predict_proba(X[i : i + 1])[0]
            )
        model.partial_fit(X[i : i + 1], LABELS[i : i + 1])
    return P


def test_auc_of_a_stream_is_close_to_the_exact_one_and_no_chunking_changes_it() -> None:
    model = RPNBClassifier(8, random_state=0)
    P = before_each_row(RPNBClassifier(8, random_state=0))
    exact = np.mean([roc_auc_score(m == Y, P[:, m]) for m in range(3)])
    whole = prequential(model, X, LABELS, metrics=["auc"], window=100)
    found = whole["RPNBClassifier"].last("auc")
    assert abs(found - exact) < 0.002
    assert 0.6 < found < 0.95
    chunks = [(X[i : i + 7], LABELS[i : i + 7]) for i in range(0, len(Y), 7)]
    cut = prequential(model, iter(chunks), metrics=["auc"], window=100)
    spans: tuple[Span, ...] = ("cumulative", "window")
    for span in spans:
        mine, other = (
            each["RPNBClassifier"].last("auc", span) for each in (cut, whole)
        )
        assert mine == other


def test_of_two_classes_the_rarer_is_positive() -> None:
    rng = np.random.default_rng(7)
    rare = rng.random(3000) < 0.05
    p = 1.0 / (1.0 + np.exp(3.0 - 1.5 * rng.normal(size=3000) - 2.0 * rare))
    P = np.stack([1.0 - p, p], axis=1)
    truth = np.where(rare, "yes", "no")
    counts = bin_scores(P, ["no", "yes"], truth, LabelIndex()).counts()
    exact = average_precision_score(rare, p)
    assert abs(counts.average_precision() - exact) < 0.01
    assert exact < 0.9 < average_precision_score(~rare, 1.0 - p)
    precision, recall, _ = precision_recall_curve(rare, p)
    f1 = 2.0 * precision * recall / (precision + recall + 1e-300)
    assert abs(counts.best_f1() - f1.max()) < 0.01
    # Neither names nor order of the classes make a difference.
    names = ["z", "a"]
    other = bin_scores(P, names, np.where(rare, "a", "z"), LabelIndex("az")).counts()
    assert other.average_precision() == counts.average_precision()
    assert other.best_f1() == counts.best_f1()


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_auc_of_learners_of_every_library() -> None:
    from river.naive_bayes import GaussianNB as RiverNB

    models = {"sklearn": GaussianNB(), "river": RiverNB(), "ours": make("GaussianNB")}
    result = prequential(models, X, Y, metrics=["auc", "accuracy"])
    figures = [result[name].last("auc") for name in models]
    assert np.isnan(result["majority class"].last("auc"))
    assert_allclose(figures, figures[0], atol=0.03)
    assert min(figures) > 0.65


def test_ranking_of_one_class_is_not_defined() -> None:
    ones = np.zeros(20, np.int64)
    result = prequential(
        RPNBClassifier(4, random_state=0), X[:20], ones, metrics=RANKING
    )
    for name in RANKING:
        assert np.isnan(result["RPNBClassifier"].last(name))


@pytest.mark.parametrize("declared", [None, ["a", "b", "c"]])
def test_probabilities_do_not_change_the_predictions(declared: Any) -> None:
    model = RPNBClassifier(8, random_state=0)
    asked: list[list[Metric]] = [["accuracy"], ["accuracy", "brier"]]
    plain, scored = (
        prequential(
            model, X, LABELS, classes=declared, metrics=names, keep_answers=True
        )["RPNBClassifier"].answers
        for names in asked
    )
    assert plain == scored
