"""Masked values, mixed labels and numbers beyond any type are refused by name."""

from typing import Any

import numpy as np
import pytest

from estimators.refusing import X, refuses, y
from estimators.streams import small

HUGE = 10**400
MASK = np.zeros(X.shape, bool)
MASK[3, 1] = True


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.ma.masked_array(X, MASK), r"X contains a masked value \(row 3, column 1\)"),
        (np.array([[HUGE, 0, 0, 0]] * 40, dtype=object), "X must hold numbers of 64"),
        ([[HUGE, 0, 0, 0]] * 40, "X must hold real numbers"),
    ],
    ids=["masked", "huge objects", "huge list"],
)
def test_rows_of_unusable_types_are_refused(rows: Any, message: str) -> None:
    refuses(lambda model: model.partial_fit(rows, y), message)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.ma.masked_array(y, MASK[:, 1]), r"y contains a masked value \(row 3\)"),
        (["a", 1] * 20, "y mixes text and numbers"),
        (("a", 1.5) * 20, "y mixes text and numbers"),
        (["a", True] * 20, "y mixes text and numbers"),
        (["a", float("nan")] * 20, r"y contains NaN \(row 1\): its label is missing"),
        (["a", b"b"] * 20, r"y holds b'b' \(row 1\)"),
        ([HUGE, 1] * 20, "y holds numbers beyond 64 bits"),
    ],
)
def test_labels_of_unusable_types_are_refused(labels: Any, message: str) -> None:
    refuses(lambda model: model.fit(X, labels), message)


def test_text_in_a_list_is_what_it_is_in_an_array() -> None:
    words = np.array(["ant", "bee", "cat"])[y]
    from_list = small().fit(X, words.tolist()).classes_
    assert from_list.dtype == small().fit(X, words).classes_.dtype
    assert from_list.tolist() == ["ant", "bee", "cat"]


@pytest.mark.parametrize(
    "weight", [[HUGE] * 40, np.ma.masked_array(np.ones(40), MASK[:, 1])]
)
def test_weights_of_unusable_types_are_refused(weight: Any) -> None:
    refuses(
        lambda model: model.fit(X, y, sample_weight=weight),
        r"sample_weight (must hold real numbers|contains a masked value \(row 3\))",
    )


def test_an_array_with_an_empty_mask_is_an_array() -> None:
    unmasked = np.ma.masked_array(X, np.zeros(X.shape, bool))
    model = small().fit(unmasked, y)
    assert (model.predict(unmasked) == small().fit(X, y).predict(X)).all()


@pytest.mark.parametrize("name", ["prior_mean", "prior_weight", "temperature"])
def test_parameters_of_unusable_types_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a finite number"):
        small(**{name: HUGE}).fit(X, y).predict_proba(X)
