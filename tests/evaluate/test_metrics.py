"""Metrics of a confusion matrix, compared with those of scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics as reference

from rpnb.core.kernels.arrays import IntArray
from rpnb.evaluate import class_scores, confusion_counts, error_rate, macro_f1


@st.composite
def true_and_predicted(draw: st.DrawFn) -> tuple[IntArray, IntArray, int]:
    """True and predicted classes of 1 to 40 rows; some classes may never occur."""
    M = draw(st.integers(2, 6))
    pair = st.tuples(st.integers(0, M - 1), st.integers(0, M - 1))
    rows = draw(st.lists(pair, min_size=1, max_size=40))
    truth, predicted = np.array(rows, dtype=np.int64).T
    return truth, predicted, M


@given(true_and_predicted())
def test_metrics_are_those_of_scikit_learn(
    case: tuple[IntArray, IntArray, int],
) -> None:
    truth, predicted, M = case
    counts = confusion_counts(truth, predicted, M)
    labels = np.arange(M)
    expected = reference.confusion_matrix(truth, predicted, labels=labels)
    assert_array_equal(counts[:, :-1], expected)
    assert_array_equal(counts[:, -1], 0)
    assert_allclose(
        error_rate(counts), 1 - reference.accuracy_score(truth, predicted), atol=1e-15
    )
    precision, recall, f1, _ = reference.precision_recall_fscore_support(
        truth, predicted, labels=labels, zero_division=0.0
    )
    ours = class_scores(counts)
    assert_allclose(ours.precision, precision, rtol=1e-14)
    assert_allclose(ours.recall, recall, rtol=1e-14)
    assert_allclose(ours.f1, f1, rtol=1e-14)
    assert_allclose(
        macro_f1(counts),
        reference.f1_score(
            truth, predicted, labels=labels, average="macro", zero_division=0.0
        ),
        rtol=1e-14,
    )


def test_macro_f1_is_neither_micro_nor_of_the_macro_averages() -> None:
    # The second class is never predicted; what else could be called F1 differs.
    truth, predicted = np.array([0, 0, 0, 1, 2, 2]), np.array([0, 0, 0, 0, 2, 0])
    counts = confusion_counts(truth, predicted, 3)
    scores = class_scores(counts)
    assert_allclose(macro_f1(counts), (3 / 4 + 0 + 2 / 3) / 3)
    P, R = scores.precision.mean(), scores.recall.mean()
    assert abs(macro_f1(counts) - 2 * P * R / (P + R)) > 0.01
    assert abs(macro_f1(counts) - (1 - error_rate(counts))) > 0.01


def test_a_row_without_a_prediction_is_a_mistake_and_nobodys_false_positive() -> None:
    all_predicted = confusion_counts(np.array([0, 1, 1]), np.array([0, 1, 0]), 2)
    one_missing = confusion_counts(np.array([0, 1, 1]), np.array([0, 1, -1]), 2)
    assert error_rate(one_missing) == error_rate(all_predicted) == pytest.approx(1 / 3)
    assert_allclose(
        class_scores(one_missing).recall, class_scores(all_predicted).recall
    )
    assert_allclose(class_scores(one_missing).precision, [1.0, 1.0])
    assert_allclose(class_scores(all_predicted).precision, [0.5, 1.0])


def test_a_class_that_never_occurs_counts_as_zero() -> None:
    two = confusion_counts(np.array([0, 1]), np.array([0, 1]), 2)
    three = confusion_counts(np.array([0, 1]), np.array([0, 1]), 3)
    assert macro_f1(two) == 1.0
    assert_allclose(macro_f1(three), 2 / 3)


def test_one_class_alone_is_always_right() -> None:
    counts = confusion_counts(np.zeros(3, np.int64), np.zeros(3, np.int64), 1)
    assert (error_rate(counts), macro_f1(counts)) == (0.0, 1.0)


def test_invalid_classes_are_refused_by_name_and_row() -> None:
    ok = np.array([0, 1])
    with pytest.raises(ValueError, match=r"truth must be from 0 to 1, got -1 in row 1"):
        confusion_counts(np.array([0, -1]), ok, 2)
    with pytest.raises(ValueError, match=r"answers must be from -1 to 1, got 2 in row"):
        confusion_counts(ok, np.array([2, 0]), 2)
    with pytest.raises(ValueError, match="of equal length"):
        confusion_counts(ok, np.array([0]), 2)
    with pytest.raises(TypeError, match="answers must be integers, got float64"):
        confusion_counts(ok, np.array([0.0, 1.0]), 2)
    with pytest.raises(ValueError, match="at least one row"):
        error_rate(np.zeros((2, 3), np.int64))
    with pytest.raises(ValueError, match=r"shape \(M, M \+ 1\)"):
        macro_f1(np.ones((2, 2), np.int64))
