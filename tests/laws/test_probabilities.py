"""Probabilities are valid from the first row on, and agree with the labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from learners import names, new, stream_for

WITH_PROBABILITIES = [name for name in names() if hasattr(new(name), "predict_proba")]


def test_learners_with_probabilities_are_these() -> None:
    assert {"RPNB", "Pooled", "GaussianNB", "OnlineBagging"} < {*WITH_PROBABILITIES}


@pytest.mark.parametrize("name", WITH_PROBABILITIES)
def test_they_sum_to_one_and_the_largest_is_the_label(name: str) -> None:
    X, y = stream_for(name, 300 if name == "Pooled" else 80)
    model = new(name)
    labels, P = model.predict_then_learn(X, y, return_proba=True)
    assert labels[0] is None
    assert_array_equal(P[0], 0.0)  # no class is known
    assert_allclose(P[1:].sum(axis=1), 1.0, rtol=1e-12)
    assert (P >= 0.0).all()
    assert_array_equal(model.classes_[P[1:].argmax(axis=1)], labels[1:].astype(int))
    wide = np.vstack([X, 100.0 * X, np.zeros((1, 4))])
    P = model.predict_proba(wide)
    assert P.shape == (len(wide), 3)
    assert ((P >= 0.0) & (P <= 1.0)).all()
    assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    predicted = np.searchsorted(model.classes_, model.predict(wide))
    assert_array_equal(P[np.arange(len(wide)), predicted], P.max(axis=1))


@pytest.mark.parametrize(
    "name", [name for name in names() if hasattr(new(name), "predict_log_proba")]
)
def test_logarithms_are_those_of_the_probabilities(name: str) -> None:
    X, y = stream_for(name, 300)
    model = new(name).partial_fit(X, y)
    with np.errstate(divide="ignore"):
        expected = np.log(model.predict_proba(X))
    found = model.predict_log_proba(X)
    # A logarithm may be finite where the probability underflows.
    there = np.isfinite(expected)
    assert there.mean() > 0.9
    assert_allclose(found[there], expected[there], rtol=1e-9, atol=1e-9)
    assert (found[~there] < -700.0).all()


@pytest.mark.parametrize("name", [n for n in names() if n not in WITH_PROBABILITIES])
def test_the_others_do_not_offer_them(name: str) -> None:
    X, y = stream_for(name, 40)
    model = new(name).fit(X, y)
    with pytest.raises((AttributeError, TypeError, ValueError)):
        model.predict_then_learn(X, y, return_proba=True)
