"""Which observations are refused, with which message; the model stays unchanged."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError

from estimators.refusing import ASKING, LEARNING, X, fitted, refuses, y
from estimators.snapshots import snapshot
from estimators.streams import small
from rpnb import PooledClassifier

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")


def spoilt(value: float, **form: Any) -> Any:
    rows = np.array(X, **form)
    rows[5, 2] = value
    return rows


def damaged(part: str, at: int, value: int) -> Any:
    rows = scipy.sparse.csr_array(X)
    getattr(rows, part)[at] = value
    return rows


PLACE = r"\(row 5, column 2\); RPNBClassifier takes finite numbers only"
NAMED = PLACE.replace("column 2", "column 'c'")
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
        f"NaN {NAMED}",
    ),
    "a null in a polars frame": (
        polars.DataFrame(
            {"a": [0.0] * 40, "b": [0.0] * 40, "c": [0.0] * 5 + [None] + [0.0] * 34}
        ),
        f"NaN {NAMED}",
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
        r"row 0 has 'a' in column 0: .*categorical_features=\[0\]",
    ),
    "a pandas column of words": (
        FRAME.assign(b="word"),
        "X must hold numbers, but its column 'b' holds text",
    ),
    "a pandas category": (
        FRAME.assign(b=pandas.Categorical(["u", "v"] * 20)),
        "X must hold numbers, but its column 'b' holds categories",
    ),
    "a polars column of words": (
        polars.from_pandas(FRAME).with_columns(polars.lit("word").alias("b")),
        "X must hold numbers, but its column 'b' holds text",
    ),
    "dates": (
        np.zeros((40, 4), "M8[s]"),
        "X must hold real numbers, got .* datetime64",
    ),
    "complex numbers": (X + 1j, "Complex data not supported"),
    "NaN in sparse rows": (scipy.sparse.csr_array(spoilt(np.nan)), f"NaN {PLACE}"),
    "NaN first of all in sparse rows": (
        scipy.sparse.csr_array(np.vstack([np.full(4, np.nan), X[1:]])),
        r"NaN \(row 0, column 0\)",
    ),
    "too large in sparse columns": (
        scipy.sparse.csc_matrix(spoilt(-2e150)),
        rf"-2e\+150, too large.*{PLACE}",
    ),
    "infinity in a sparse pandas frame": (
        pandas.DataFrame(spoilt(np.inf)).astype(pandas.SparseDtype(float, 0.0)),
        f"infinity {PLACE}",
    ),
    "a pandas frame with some sparse columns": (
        FRAME.astype({"c": pandas.SparseDtype(float, 0.0)}),
        "X has sparse columns and dense ones, such as 'a': make all columns sparse",
    ),
    "a sparse pandas frame that leaves out ones": (
        FRAME.astype(pandas.SparseDtype(float, 1.0)),
        r"X has a sparse column, 'a', with fill value 1\.0: the fill value must be 0",
    ),
    "a sparse vector": (
        scipy.sparse.csr_array(X[0]),
        r"Expected 2D input, got input with shape \(4,\)",
    ),
    **{
        f"sparse rows with {value} at {part}[{at}]": (
            damaged(part, at, value),
            r"X is a damaged sparse matrix in CS. format: .*shape is \(40, 4\)",
        )
        for part, at, value in (
            ("indices", 7, 4),
            ("indices", 7, -1),
            ("indptr", 3, 1000),
            ("indptr", 0, 1),
            ("indptr", 40, 1000),
        )
    },
    "rows of several lengths": ([[1.0, 2.0], [3.0]], "inhomogeneous shape"),
}


@pytest.mark.parametrize("method", LEARNING)
@pytest.mark.parametrize("kind", BAD_ROWS)
def test_bad_rows_are_not_learned(kind: str, method: str) -> None:
    rows, message = BAD_ROWS[kind]
    refuses(lambda model: LEARNING[method](model, rows, y), message)


@pytest.mark.parametrize("method", ASKING)
@pytest.mark.parametrize("kind", BAD_ROWS)
def test_bad_rows_are_not_predicted(kind: str, method: str) -> None:
    rows, message = BAD_ROWS[kind]
    model = fitted()
    before = snapshot(model)
    with pytest.raises(ValueError, match=message):
        ASKING[method](model, rows)
    assert snapshot(model) == before


def test_matrices_are_refused() -> None:
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.asmatrix(X)
    for learn in LEARNING.values():
        refuses(partial(learn, X=matrix, y=y), "np.matrix is not", TypeError)


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


def test_a_model_that_has_seen_nothing_has_no_predictions_and_no_counts() -> None:
    model = small()
    for ask in ASKING.values():
        with pytest.raises(NotFittedError, match=r"This RPNBClassifier .* not fitted"):
            ask(model, X)
    for name in ("n_samples_seen_", "n_updates_", "n_components_"):
        with pytest.raises(AttributeError, match=f"no {name} before it has seen data"):
            getattr(model, name)
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    "X",
    [
        [[1.0, "a"], [2.0, "b"], [1.0, "a"], [2.0, "b"]],
        np.array([["1", "a"], ["2", "b"], ["1", "a"], ["2", "b"]]),
    ],
    ids=["list", "array"],
)
def test_text_in_a_list_or_an_array_names_the_column_of_categories(X: Any) -> None:
    y = [0, 1, 0, 1]
    with pytest.raises(ValueError, match=r"'a' in column 1: .*_features=\[1\]"):
        PooledClassifier(random_state=0).fit(X, y)
    model = PooledClassifier(categorical_features=[1], random_state=0).fit(X, y)
    assert model.predict(X).shape == (4,)


def test_a_column_of_lists_is_named() -> None:
    X = pandas.DataFrame({"a": [[1], [2], [3], [4]], "b": [0, 1, 0, 1]})
    with pytest.raises(ValueError, match="column 'a' holds values that are not num"):
        PooledClassifier(random_state=0).fit(X, X["b"])
