"""Observations and labels in all accepted forms."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from estimators.snapshots import snapshot, state_of
from estimators.streams import blobs, small
from rpnb._core.streams import first_bad
from rpnb.estimators.checks.rows import LARGEST

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

X, y = blobs(1, 40)
# Values that every type below holds exactly.
COARSE = np.clip(np.round(X * 4) / 4, -8, 8)
WHOLE = np.clip(np.round(X * 4), 0, 100)
NAMES = ["a", "b", "c", "d"]
WORDS = np.array(["ant", "bee", "cat"])[y]

OBSERVATIONS: dict[str, Any] = {
    "a list of lists": COARSE.tolist(),
    "a tuple of rows": tuple(COARSE),
    "single precision": COARSE.astype(np.float32),
    "half precision": COARSE.astype(np.float16),
    "extended precision": COARSE.astype(np.longdouble),
    "the other byte order": COARSE.astype(">f8"),
    "Python objects": COARSE.astype(object),
    "Fortran order": np.asfortranarray(COARSE),
    "single precision in Fortran order": np.asfortranarray(COARSE, np.float32),
    "every other row": np.repeat(COARSE, 2, axis=0)[::2],
    "rows backwards": COARSE[::-1].copy()[::-1],
    "read only": np.broadcast_to(COARSE, COARSE.shape),
    "a pandas frame": pandas.DataFrame(COARSE, columns=NAMES),
    "a pandas frame without names": pandas.DataFrame(COARSE),
    "a polars frame": polars.DataFrame(COARSE, schema=NAMES),
}
WHOLE_NUMBERS: dict[str, Any] = {
    "int64": WHOLE.astype(np.int64),
    "int8": WHOLE.astype(np.int8),
    "uint64": WHOLE.astype(np.uint64),
    "uint16 in Fortran order": np.asfortranarray(WHOLE, np.uint16),
    "pandas integers": pandas.DataFrame(WHOLE).astype("Int64"),
    "pandas columns of several types": pandas.DataFrame(WHOLE).astype(
        {0: "int8", 1: "float32", 2: "uint16"}
    ),
    "polars columns of several types": polars.DataFrame(WHOLE, schema=NAMES).cast(
        {"a": polars.Int8, "b": polars.Float32, "c": polars.UInt64}
    ),
}
LABELS: dict[str, Any] = {
    "a list": WORDS.tolist(),
    "a tuple": tuple(WORDS),
    "objects": WORDS.astype(object),
    "NumPy's own strings": np.array([np.str_(w) for w in WORDS], dtype=object),
    "a pandas series": pandas.Series(WORDS),
    "a pandas series with an index": pandas.Series(WORDS, index=range(40, 0, -1)),
    "a pandas categorical": pandas.Series(WORDS, dtype="category"),
    "pandas objects": pandas.Series(WORDS, dtype=object),
    "a polars series": polars.Series(WORDS),
    "a polars categorical": polars.Series(WORDS.tolist(), dtype=polars.Categorical),
    "a polars enumeration": polars.Series(
        WORDS.tolist(), dtype=polars.Enum(["cat", "bee", "ant", "dog"])
    ),
}
NUMBERED: dict[str, Any] = {
    "a list": y.tolist(),
    "int8": y.astype(np.int8),
    "uint64": y.astype(np.uint64),
    "whole floats": y.astype(np.float32),
    "objects": y.astype(object),
    "whole floats as objects": y.astype(float).astype(object),
    "pandas integers": pandas.Series(y, dtype="Int64"),
    "polars integers": polars.Series(y),
}


# The same rows in another form


@pytest.mark.parametrize("form", OBSERVATIONS)
def test_rows_mean_the_same_in_any_form(form: str) -> None:
    expected, model = small(), small()
    predictions = expected.predict_then_learn(COARSE, y)
    rows = OBSERVATIONS[form]
    assert_array_equal(model.predict_then_learn(rows, y), predictions)
    assert state_of(model) == state_of(expected)
    assert_array_equal(model.predict(rows), expected.predict(COARSE))
    assert_array_equal(model.predict_proba(rows), expected.predict_proba(COARSE))


@pytest.mark.parametrize("form", WHOLE_NUMBERS)
def test_whole_numbers_are_numbers(form: str) -> None:
    model = small().fit(WHOLE_NUMBERS[form], y)
    assert state_of(model) == state_of(small().fit(WHOLE, y))


def test_booleans_are_zero_and_one() -> None:
    expected = state_of(small().fit((X > 0).astype(float), y))
    assert state_of(small().fit(X > 0, y)) == expected
    assert state_of(small().fit(pandas.DataFrame(X > 0), y)) == expected


def test_the_largest_whole_numbers_are_taken() -> None:
    rows = np.array([[2**63 - 1, -(2**63)]] * 3)
    assert np.isfinite(small().fit(rows, [1, 2, 1]).predict_proba(rows)).all()


@pytest.mark.parametrize("form", LABELS)
def test_labels_mean_the_same_in_any_form(form: str) -> None:
    expected, model = small(), small()
    predictions = expected.predict_then_learn(X, WORDS, classes=["dog", "ant"])
    given = model.predict_then_learn(X, LABELS[form], classes=["dog", "ant"])
    assert given.tolist() == predictions.tolist()
    assert state_of(model) == state_of(expected)


@pytest.mark.parametrize("form", NUMBERED)
def test_numbers_are_labels_in_any_form(form: str) -> None:
    expected, model = small(), small()
    predictions = expected.predict_then_learn(X, y)
    given = model.predict_then_learn(X, NUMBERED[form])
    assert given.tolist() == predictions.tolist()
    assert state_of(model)[0] == state_of(expected)[0]


def test_predictions_have_the_type_of_the_labels() -> None:
    for labels in (WORDS, WORDS.astype(object), y.astype(np.int8), y > 0):
        assert small().fit(X, labels).predict(X).dtype == labels.dtype


def test_booleans_as_objects_are_booleans() -> None:
    model = small().fit(X, (y > 0).astype(object))
    assert model.classes_.dtype == np.bool_


def test_a_column_of_labels_is_taken_with_a_warning() -> None:
    model = small()
    with pytest.warns(UserWarning, match="A column-vector y was passed"):
        model.partial_fit(X, y[:, None])
    assert state_of(model) == state_of(small().partial_fit(X, y))


def test_neither_rows_nor_labels_are_written_to() -> None:
    rows, labels, weight = X.copy(), y.copy(), np.ones(40)
    model = small().fit(rows, labels, sample_weight=weight)
    model.predict_then_learn(rows, labels)
    model.predict_proba(rows)
    assert_array_equal(rows, X)
    assert_array_equal(labels, y)
    assert_array_equal(weight, 1.0)
    rows[:], labels[:] = 0.0, 0
    assert state_of(model.partial_fit(X, y)) == state_of(
        small().fit(X, y).partial_fit(X, y).partial_fit(X, y)
    )


# Names of features

FRAMES: dict[str, Any] = {
    "pandas": lambda names: pandas.DataFrame(X, columns=names),
    "polars": lambda names: polars.DataFrame(X, schema=names),
}


@pytest.mark.parametrize("library", FRAMES)
def test_names_are_learned_and_must_stay(library: str) -> None:
    frame = FRAMES[library]
    model = small().fit(frame(NAMES), y)
    assert model.feature_names_in_.tolist() == NAMES
    model.partial_fit(frame(NAMES), y).predict(frame(NAMES))
    before = snapshot(model)
    for names, message in (
        (["b", "a", "c", "d"], "must be in the same order"),
        (["a", "b", "c", "z"], "(?s)unseen at fit time:.*- z.*now missing:.*- d"),
    ):
        for call in (
            lambda rows: model.partial_fit(rows, y),
            lambda rows: model.predict_then_learn(rows, y),
            model.predict,
            model.predict_proba,
            model.predict_log_proba,
            model.decision_function,
        ):
            with pytest.raises(ValueError, match=message):
                call(frame(names))
    with pytest.raises(ValueError, match=r"(?s)now missing:.*- d"):
        model.predict(frame(NAMES)[NAMES[:3]])
    assert snapshot(model) == before
    # A fresh start may have other names.
    assert model.fit(frame(["z", "b", "c", "d"]), y).feature_names_in_[0] == "z"


def test_a_frame_of_one_library_fits_the_names_of_the_other() -> None:
    model = small().fit(FRAMES["pandas"](NAMES), y)
    assert model.predict(FRAMES["polars"](NAMES)).shape == (40,)


def test_missing_names_are_worth_a_warning() -> None:
    model = small().fit(FRAMES["pandas"](NAMES), y)
    for call in (lambda: model.predict(X), lambda: model.partial_fit(X, y)):
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            call()
    assert model.n_samples_seen_ == 80


def test_names_that_were_never_learned_are_worth_a_warning() -> None:
    model = small().fit(X, y)
    frame = FRAMES["polars"](NAMES)
    for call in (lambda: model.predict(frame), lambda: model.partial_fit(frame, y)):
        with pytest.warns(UserWarning, match="X has feature names, but RPNBClassifier"):
            call()
    assert not hasattr(model, "feature_names_in_")


def test_names_are_forgotten_by_a_fit_without_names() -> None:
    model = small().fit(FRAMES["pandas"](NAMES), y).fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    assert model.predict(X).shape == (40,)


# The search for bad values


@pytest.mark.parametrize("n", [1, 5, 63, 64, 65, 1023, 1024, 1025, 3000])
def test_the_first_bad_value_is_found_wherever_it_is(n: int) -> None:
    good = np.full(n, LARGEST)
    good[::2] = -LARGEST
    assert first_bad(good) == -1
    assert first_bad(np.full(n, 3e38, np.float32)) == -1
    assert first_bad(np.full(n, np.inf, np.float32)) == 0
    for bad in (np.nan, np.inf, -np.inf, 1.001 * LARGEST, -1.001 * LARGEST):
        for place in {0, n // 2, n - 1, min(1023, n - 1), min(1024, n - 1)}:
            values = good.copy()
            values[place] = bad
            values[place + 1 :: 3] = np.nan  # later ones do not matter
            assert first_bad(values) == place
            assert first_bad(values.reshape(1, n)) == place
            missing = -1 if np.isnan(bad) else place
            assert first_bad(values, missing=True) == missing
            if abs(bad) != 1.001 * LARGEST:
                singles = np.where(np.abs(values) < np.inf, 1.0, values)
                assert first_bad(singles.astype(np.float32)) == place
                found = first_bad(singles.astype(np.float32), missing=True)
                assert found == missing
