"""Which labels, classes and weights are refused; the model stays unchanged."""

from typing import Any

import numpy as np
import pytest

from estimators.refusing import LEARNING, X, refuses, y
from estimators.snapshots import snapshot
from estimators.streams import small

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

# Labels

WRONG_TYPE = "labels must be text, integers or booleans"
BAD_LABELS: dict[str, tuple[Any, str]] = {
    "nothing": (None, "requires y to be passed, but the target y is None"),
    "None": ([*y[:39].tolist(), None], rf"y holds None \(row 39\); {WRONG_TYPE}"),
    "None among words": (["a", None] * 20, rf"y holds None \(row 1\); {WRONG_TYPE}"),
    "NaN": (
        np.where(y == 2, np.nan, y),
        rf"y contains NaN or infinity .* {WRONG_TYPE}",
    ),
    "infinity": (np.where(y == 2, np.inf, y), "Input y contains NaN or infinity"),
    "NaN among words": (
        np.array(["a", np.nan] * 20, dtype=object),
        r"y contains NaN \(row 1\): its label is missing",
    ),
    "NaN among objects": (
        np.array([1.0, np.nan] * 20, dtype=object),
        r"Input y contains NaN or infinity \(row 1\)",
    ),
    "a null in polars": (polars.Series(["a", None] * 20), "y holds None"),
    "a missing pandas integer": (
        pandas.Series([1, None] * 20, dtype="Int64"),
        "Input y contains NaN|y holds <NA>",
    ),
    "continuous numbers": (X[:, 0], "Unknown label type: continuous"),
    "words and numbers": (
        np.array(["a", 1] * 20, dtype=object),
        "Unknown label type: y mixes text and numbers",
    ),
    "lists": (
        np.array([[1], (2,)] * 20 + [None], dtype=object)[:40],
        r"y holds \[1\] \(row 0\)",
    ),
    "bytes": (np.array([b"a", b"b"] * 20), f"y has dtype .S1; {WRONG_TYPE}"),
    "dates": (np.zeros(40, "M8[s]"), "y has dtype datetime64"),
    "complex numbers": (y + 1j, "y has dtype complex128"),
    "integers beyond 64 bits": ([2**70, 1] * 20, "y holds numbers beyond 64 bits"),
    "floats beyond 64 bits": ([2.0**70, 1.0] * 20, "y holds numbers beyond 64 bits"),
    "integers on either side of 64 bits": ([2**63, -1] * 20, "beyond 64 bits"),
    "two columns": (np.ones((40, 2)), r"y should be a 1d array, got .* \(40, 2\)"),
    "a number": (3, "y should be a 1d array, got an array of shape"),
    "too few": (y[:39], "X has 40 rows and y has 39 labels: inconsistent numbers"),
    "too many": ([*y, 1], "X has 40 rows and y has 41 labels"),
    "none at all": ([], "X has 40 rows and y has 0 labels"),
}


@pytest.mark.parametrize("method", LEARNING)
@pytest.mark.parametrize("kind", BAD_LABELS)
def test_bad_labels_are_refused(kind: str, method: str) -> None:
    labels, message = BAD_LABELS[kind]
    refuses(lambda model: LEARNING[method](model, X, labels), message)


@pytest.mark.parametrize("method", ["partial_fit", "predict_then_learn"])
def test_labels_of_another_family_are_refused(method: str) -> None:
    families = {"numbers": y, "text": y.astype(str), "booleans": y > 0}
    for mine, known in families.items():
        for theirs, labels in families.items():
            if mine == theirs:
                continue
            model = small().fit(X, known)
            before = snapshot(model)
            message = f"y holds {theirs}, but the classes known so far are {mine}: "
            with pytest.raises(ValueError, match=message):
                LEARNING[method](model, X, labels)
            assert snapshot(model) == before


def test_a_refusal_names_some_of_many_classes() -> None:
    model = small().fit(X, np.arange(40) % 5)
    with pytest.raises(ValueError, match=r"so far are numbers: \[0, 1, 2\] …"):
        model.partial_fit(X, ["a"] * 40)


@pytest.mark.parametrize("n", [1, 40])
@pytest.mark.parametrize("kinds", [(np.int64, np.uint64), (np.uint64, np.int64)])
def test_large_integers_of_two_types_stay_apart(n: int, kinds: Any) -> None:
    large = 2**53 + 1
    model = small().partial_fit(X[:3], np.array([large, large - 1, 2**60], kinds[0]))
    model.partial_fit(X[:n], np.full(n, large, kinds[1]))
    model.partial_fit(X[:1], np.array([5], kinds[1]))
    assert model.classes_.tolist() == [5, large - 1, large, 2**60]
    assert model._state.classes.seen.tolist() == [1.0, 1.0, 1.0 + n, 1.0]


def test_integers_that_fit_into_no_common_type_are_refused() -> None:
    model = small().partial_fit(X[:1], np.array([2**63], np.uint64))
    before = snapshot(model)
    with pytest.raises(ValueError, match="label 9223372036854775808 is too large"):
        model.partial_fit(X[:1], [-1])
    assert snapshot(model) == before


@pytest.mark.parametrize("n", [1, 40])
def test_large_integers_and_whole_floats_stay_apart(n: int) -> None:
    large = 2**53 + 1
    model = small().partial_fit(X[:3], np.array([large, large - 1, 2**60]))
    model.partial_fit(X[:n], np.full(n, float(large - 1)))
    model.partial_fit(X[:1], np.array([3.0]))
    assert model.classes_.tolist() == [3, large - 1, large, 2**60]
    assert model._state.classes.seen.tolist() == [1.0, 1.0 + n, 1.0, 1.0]


BAD_CLASSES: dict[str, tuple[Any, str]] = {
    "none at all": ([], "classes must name at least one class, got none"),
    "None": ([None, 1], "classes holds None"),
    "NaN": ([1.0, np.nan], r"Input classes contains NaN or infinity \(row 1\)"),
    "text beside numbers": (
        ["a"],
        "holds (text|numbers), but the classes known so far",
    ),
    "a table": ([[1, 2], [3, 4]], "y should be a 1d array"),
    "one number": (3, "y should be a 1d array"),
    "words and numbers": (np.array(["a", 1], dtype=object), "classes mixes text and"),
}


@pytest.mark.parametrize("method", ["partial_fit", "predict_then_learn"])
@pytest.mark.parametrize("kind", BAD_CLASSES)
def test_bad_declarations_of_classes_are_refused(kind: str, method: str) -> None:
    classes, message = BAD_CLASSES[kind]
    refuses(lambda model: LEARNING[method](model, X, y, classes=classes), message)


# Weights

BAD_WEIGHTS: dict[str, tuple[Any, str]] = {
    "negative": (
        np.where(y == 1, -1.0, 1.0),
        "finite, not negative and .* got .*-1",
    ),
    "NaN": ([1.0] * 39 + [np.nan], "got .*nan.* in row 39"),
    "infinity": ([np.inf] + [1.0] * 39, "got .*inf.* in row 0"),
    "None": ([None] * 40, "sample_weight must be finite, not negative and at most"),
    "huge": (np.full(40, 1e101), r"at most 1e\+100, got .*1e\+101.* in row 0"),
    "all zero": (np.zeros(40), "sample_weight must not be zero for every row"),
    "too few": (np.ones(39), r"one weight for each of the 40 rows, got shape \(39,\)"),
    "a table": (np.ones((40, 1)), r"got shape \(40, 1\)"),
    "words": (["heavy"] * 40, "sample_weight must hold real numbers: could not"),
    "complex": ([1j] * 40, "sample_weight must hold real numbers"),
    "a negative number for all": (
        -1.0,
        "sample_weight must be finite, not negative and at most",
    ),
    "zero for all": (0.0, "must not be zero for every row"),
}


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("kind", BAD_WEIGHTS)
def test_bad_weights_are_refused(kind: str, method: str) -> None:
    weight, message = BAD_WEIGHTS[kind]
    refuses(lambda m: LEARNING[method](m, X, y, sample_weight=weight), message)


def test_the_heaviest_weights_leave_scores_finite() -> None:
    model = small().fit(X, y, sample_weight=np.full(40, 1e100))
    for _ in range(3):
        model.partial_fit(X, y, sample_weight=np.full(40, 1e100))
    assert np.isfinite(model.decision_function(X)).all()
