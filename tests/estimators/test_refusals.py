"""What is refused, in which words, and that a refusal leaves no trace."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError

from estimators.snapshots import snapshot, state_of
from estimators.streams import blobs, small
from rpnb import RPNBClassifier

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

X, y = blobs(1, 40)
Call = Callable[[RPNBClassifier], Any]


def fitted() -> RPNBClassifier:
    return small().fit(X, y)


def refuses(call: Call, message: str, error: type[Exception] = ValueError) -> None:
    """Both a fitted model and a fresh one refuse, and stay as they were."""
    for model in (fitted(), small()):
        before = snapshot(model)
        with pytest.raises(error, match=message):
            call(model)
        assert snapshot(model) == before
    # The model that refused first is still as good as new.
    assert state_of(model.fit(X, y)) == state_of(fitted())
    assert "classes_" not in snapshot(small())


LEARNING: dict[str, Callable[..., Any]] = {
    "fit": RPNBClassifier.fit,
    "partial_fit": RPNBClassifier.partial_fit,
    "predict_then_learn": RPNBClassifier.predict_then_learn,
}
ASKING: dict[str, Callable[..., Any]] = {
    "predict": RPNBClassifier.predict,
    "predict_proba": RPNBClassifier.predict_proba,
    "predict_log_proba": RPNBClassifier.predict_log_proba,
    "decision_function": RPNBClassifier.decision_function,
}


# Observations


def spoilt(value: float, **form: Any) -> Any:
    rows = np.array(X, **form)
    rows[5, 2] = value
    return rows


PLACE = r"\(row 5, column 2\); RPNBClassifier takes finite numbers only"
FRAME = pandas.DataFrame(X, columns=list("abcd"))
BAD_ROWS: dict[str, tuple[Any, str]] = {
    "NaN": (spoilt(np.nan), rf"Input X contains NaN {PLACE}: impute or drop"),
    "infinity": (spoilt(np.inf), rf"Input X contains infinity {PLACE}: replace it"),
    "minus infinity": (spoilt(-np.inf), f"infinity {PLACE}"),
    "too large": (
        spoilt(1.1e150),
        rf"value 1\.1e\+150, too large: beyond ±1e\+150 squares .* {PLACE}: scale",
    ),
    "too large below zero": (spoilt(-2e150), rf"-2e\+150, too large.*{PLACE}"),
    "infinity in single precision": (
        spoilt(np.inf, dtype=np.float32),
        f"infinity {PLACE}",
    ),
    "NaN in Fortran order": (spoilt(np.nan, order="F"), f"NaN {PLACE}"),
    "infinity in single precision in Fortran order": (
        spoilt(np.inf, dtype=np.float32, order="F"),
        f"infinity {PLACE}",
    ),
    "infinity in every other column": (
        np.repeat(spoilt(np.inf, dtype=np.float32), 2, axis=1)[:, ::2],
        f"infinity {PLACE}",
    ),
    "infinity in half precision": (
        spoilt(np.inf, dtype=np.float16),
        f"infinity {PLACE}",
    ),
    "too large in extended precision": (
        spoilt(1e200, dtype=np.longdouble),
        f"too large.*{PLACE}",
    ),
    "NaN in a list": (spoilt(np.nan).tolist(), f"NaN {PLACE}"),
    "None among objects": (spoilt(np.nan, dtype=object), f"NaN {PLACE}"),
    "NaN in a pandas frame": (pandas.DataFrame(spoilt(np.nan)), f"NaN {PLACE}"),
    "a missing pandas integer": (
        FRAME.assign(c=pandas.array([0] * 5 + [None] + [0] * 34, dtype="Int64")),
        f"NaN {PLACE}",
    ),
    "a null in a polars frame": (
        polars.DataFrame(
            {"a": [0.0] * 40, "b": [0.0] * 40, "c": [0.0] * 5 + [None] + [0.0] * 34}
        ),
        f"NaN {PLACE}",
    ),
    "no rows": (X[:0], r"Found array with 0 sample\(s\)"),
    "no columns": (X[:, :0], r"Found array with 0 feature\(s\)"),
    "one dimension": (X[0], "Expected 2D array, got 1D array instead"),
    "three dimensions": (X[None], "Found array with dim 3, while dim <= 2"),
    "a number": (3.0, "Expected 2D array, got scalar array instead"),
    "nothing": (None, "Expected 2D array, got scalar array instead"),
    "text": (X.astype(str), "not compatible with arrays of bytes/strings"),
    "words among objects": (
        np.array([["a", 1.0, 2.0, 3.0]] * 40, dtype=object),
        "could not convert string to float: 'a'",
    ),
    "a pandas column of words": (
        FRAME.assign(b="word"),
        "could not convert string to float: 'word'|X must hold real numbers",
    ),
    "a pandas category": (
        FRAME.assign(b=pandas.Categorical(["u", "v"] * 20)),
        "X must hold real numbers, got an array of dtype object; turn categories into",
    ),
    "a polars column of words": (
        polars.from_pandas(FRAME).with_columns(polars.lit("word").alias("b")),
        "X must hold real numbers, got an array of dtype object",
    ),
    "dates": (
        np.zeros((40, 4), "M8[s]"),
        "X must hold real numbers, got .* datetime64",
    ),
    "complex numbers": (X + 1j, "Complex data not supported"),
    "rows of several lengths": ([[1.0, 2.0], [3.0]], "inhomogeneous shape"),
}


@pytest.mark.parametrize("method", LEARNING)
@pytest.mark.parametrize("kind", BAD_ROWS)
def test_bad_rows_are_not_learnt(kind: str, method: str) -> None:
    rows, message = BAD_ROWS[kind]
    refuses(lambda model: LEARNING[method](model, rows, y), message)


@pytest.mark.parametrize("method", ASKING)
@pytest.mark.parametrize("kind", BAD_ROWS)
def test_bad_rows_get_no_answer(kind: str, method: str) -> None:
    rows, message = BAD_ROWS[kind]
    model = fitted()
    before = snapshot(model)
    with pytest.raises(ValueError, match=message):
        ASKING[method](model, rows)
    assert snapshot(model) == before


def test_sparse_rows_and_matrices_are_refused() -> None:
    sparse = scipy.sparse.csr_array(X)
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.asmatrix(X)
    for learn in LEARNING.values():
        for rows, message in ((sparse, "Sparse data"), (matrix, "np.matrix is not")):
            refuses(partial(learn, X=rows, y=y), message, TypeError)


@pytest.mark.parametrize("columns", [3, 5])
def test_rows_of_another_width_are_refused(columns: int) -> None:
    rows = np.ones((40, columns))
    model = fitted()
    before = snapshot(model)
    message = f"X has {columns} features, but RPNBClassifier is expecting 4 features"
    for learn in (model.partial_fit, model.predict_then_learn):
        for labels in (y, y + 100):  # with new classes too
            with pytest.raises(ValueError, match=message):
                learn(rows, labels)
    for ask in ASKING.values():
        for some in (rows, rows.tolist()):
            with pytest.raises(ValueError, match=message):
                ask(model, some)
    assert snapshot(model) == before


def test_a_model_that_has_seen_nothing_has_no_answers_and_no_counts() -> None:
    model = small()
    for ask in ASKING.values():
        with pytest.raises(NotFittedError, match=r"This RPNBClassifier .* not fitted"):
            ask(model, X)
    for name in ("n_seen_", "n_updates_", "n_components_"):
        with pytest.raises(AttributeError, match=f"no {name} before it has seen data"):
            getattr(model, name)
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "n_features_in_")


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
        "y mixes text and numbers",
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
    "integers beyond 64 bits": ([2**70, 1] * 20, "y holds integers beyond 64 bits"),
    "two columns": (np.ones((40, 2)), r"y should be a 1d array, got .* \(40, 2\)"),
    "a number": (3, "y should be a 1d array, got an array of shape"),
    "too few": (y[:39], "X has 40 rows and y has 39 labels: they must be as many"),
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
        "must be finite and not negative, got .*-1",
    ),
    "NaN": ([1.0] * 39 + [np.nan], "got .*nan.* in row 39"),
    "infinity": ([np.inf] + [1.0] * 39, "got .*inf.* in row 0"),
    "None": ([None] * 40, "must be finite and not negative"),
    "all zero": (np.zeros(40), "sample_weight must not be zero for every row"),
    "too few": (np.ones(39), r"one weight for each of the 40 rows, got shape \(39,\)"),
    "a table": (np.ones((40, 1)), r"got shape \(40, 1\)"),
    "words": (["heavy"] * 40, "sample_weight must hold real numbers: could not"),
    "complex": ([1j] * 40, "sample_weight must hold real numbers"),
    "a negative number for all": (-1.0, "must be finite and not negative"),
    "zero for all": (0.0, "must not be zero for every row"),
}


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("kind", BAD_WEIGHTS)
def test_bad_weights_are_refused(kind: str, method: str) -> None:
    weight, message = BAD_WEIGHTS[kind]
    refuses(lambda m: LEARNING[method](m, X, y, sample_weight=weight), message)


# Known gaps


@pytest.mark.xfail(strict=True, reason="int64 and uint64 are joined as floats")
def test_large_integers_of_two_types_stay_apart() -> None:
    model = small().partial_fit(X[:1], np.array([2**53 + 1], np.int64))
    model.partial_fit(X[:1], np.array([5], np.uint64))
    assert model.classes_.tolist() == [5, 2**53 + 1]
    assert model._state.moments.weight.tolist() == [1.0, 1.0]


@pytest.mark.xfail(strict=True, reason="the total of huge weights overflows")
def test_weights_whose_total_overflows_leave_scores_finite() -> None:
    model = small()
    try:
        model.fit(X, y, sample_weight=np.full(40, 1e308))
    except ValueError:
        return
    assert np.isfinite(model.decision_function(X)).all()
