"""The pooled classifier at its limits, on rows of `benchmarks/pooled_limits.py`."""

from pathlib import Path

import numpy as np
import pytest

from pooled_limits import blobs, odd_columns, one_feature, words
from pooled_memory import size_of_model
from rpnb import PooledClassifier
from rpnb.preprocessing import RunningScaler, make_stream_pipeline


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
    assert np.mean(predicted[600:] != y[600:]) < 0.35  # 0.75 by chance
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


@pytest.mark.parametrize("weight", [1e13, 1e-13, 1e100])
def test_weights_that_leave_nothing_but_rounding_errors_are_refused(
    weight: float,
) -> None:
    X, y = one_feature(40)
    model = small().fit(X, y)
    before = model.predict_proba(X)
    rule = "sample_weight must be 0, or at least 1e-12 and at most 1e\\+12, got"
    for learner in (model, make_stream_pipeline(RunningScaler(), small())):
        for method in (learner.partial_fit, learner.predict_then_learn):
            with pytest.raises(ValueError, match=rule):
                method(X, y, sample_weight=np.full(40, weight))
    with pytest.raises(ValueError, match="sample_weight must be a finite number"):
        model.learn_one(X[0], y[0], weight)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_weights_at_the_limits_leave_a_model_that_can_be_saved(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 4)), rng.integers(0, 3, 600)
    weight = 10.0 ** rng.uniform(-12.0, 12.0, 600)
    weight[:2] = 1e-12, 1e12
    model = small().set_params(shuffle=False).fit(X, y, weight)
    model.save(tmp_path / "model.rpnb")
    again = PooledClassifier.load(tmp_path / "model.rpnb")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
