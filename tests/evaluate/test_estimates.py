"""The error on all rows, estimated from the labels that were requested."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rpnb.baselines import GaussianNB
from rpnb.evaluate import estimate_error
from rpnb.evaluate.estimates import WeightedMistakes


def test_the_estimate_is_the_weighted_mean_and_its_deviation_written_out() -> None:
    rng = np.random.default_rng(0)
    e, w = rng.random(50) < 0.3, 1.0 + rng.exponential(10.0, 50)
    found = estimate_error(np.ones(50, int), np.where(e, 0, 1), w)
    expected = np.average(e, weights=w)
    variance = (w * (w - 1.0) * (e - expected) ** 2).sum() / w.sum() ** 2
    assert_allclose(found.error, expected)
    assert_allclose(found.standard_error, np.sqrt(variance))
    sums = WeightedMistakes()
    for part in (slice(0, 7), slice(7, 50)):
        sums.add(e[part], w[part])
    assert sums.estimate() == found


def test_the_interval_covers_the_true_error_and_a_plain_mean_does_not() -> None:
    rng = np.random.default_rng(1)
    n = 3000
    covered = plain = 0
    for seed in range(60):
        y = rng.integers(0, 2, n)
        X = rng.normal(size=(n, 2)) + y[:, None]
        model = GaussianNB().partial_fit(X[:200], y[:200])
        rows, weights, _ = model.ask(X, budget=0.1, random_state=seed)
        predicted = model.predict(X)
        truth = np.mean(predicted != y)
        found = estimate_error(y[rows], predicted[rows], weights)
        covered += abs(found.error - truth) < 2.0 * found.standard_error
        e = np.mean(predicted[rows] != y[rows])
        plain += abs(e - truth) < 2.0 * np.sqrt(e * (1.0 - e) / len(rows))
    assert covered >= 50
    assert plain <= 10


def test_no_labels_and_one_label_have_no_interval() -> None:
    assert np.isnan(estimate_error(np.zeros(0), np.zeros(0), np.zeros(0)).error)
    found = estimate_error([1], [1], [3.0])
    assert found.error == 0.0
    assert np.isnan(found.standard_error)


def test_invalid_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="same length"):
        estimate_error([1, 0], [1], [2.0, 2.0])
    with pytest.raises(ValueError, match="at least 1"):
        estimate_error([1], [1], [0.5])
