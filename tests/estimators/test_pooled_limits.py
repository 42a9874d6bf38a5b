"""The pooled classifier at its limits, on rows of `benchmarks/pooled_limits.py`."""

import numpy as np
import pytest

from pooled_limits import blobs, odd_columns, one_feature, words
from rpnb import PooledClassifier
from rpnb.core.pooled.engine import size_of_model


def small() -> PooledClassifier:
    return PooledClassifier(n_projections=32, random_state=0)


def test_a_thousand_classes() -> None:
    X, y = blobs(4000, 12, 1000)
    model = small()
    predicted = model.predict_then_learn(X, y, classes=np.arange(1000))
    # One row in a thousand is right by chance; half of all are among the first of their
    # class or two.
    assert np.mean(predicted[2000:] == y[2000:]) > 0.3
    size = size_of_model(model._state)
    P = model.predict_proba(X[:3])
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    model.partial_fit(X[:100], y[:100])
    assert size_of_model(model._state) == size < 60e6


def test_one_feature_whose_classes_alternate() -> None:
    X, y = one_feature(3000)
    predicted = small().predict_then_learn(X, y)
    assert np.mean(predicted[1000:] != y[1000:]) < 0.03


def test_a_hundred_thousand_sparse_features() -> None:
    X, y = words(1200, 100_000, 4, 40)
    model = small()
    predicted = model.predict_then_learn(X, y)
    assert np.mean(predicted[600:] != y[600:]) < 0.35  # by chance .75
    assert size_of_model(model._state) < 60e6


@pytest.mark.parametrize(
    "kind", ["constant", "duplicated", "huge", "heavy tails", "huge good ones"]
)
def test_odd_columns_cost_little(kind: str) -> None:
    X, y = odd_columns(3000, "none")
    usual = np.mean(small().predict_then_learn(X, y) != y)
    X, y = odd_columns(3000, kind)
    error = np.mean(small().predict_then_learn(X, y) != y)
    assert error < usual + 0.03
