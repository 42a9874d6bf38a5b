"""Labels, probabilities and scores of the classifier, and the effect of seeds."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from estimators.snapshots import state_of
from estimators.streams import (
    blobs,
    rows,
    small,
)
from rpnb.core.bayes.statistics import COMBINERS

# Asking


@pytest.mark.parametrize("rule", COMBINERS)
@pytest.mark.parametrize("M", [1, 2, 4])
def test_probabilities_are_finite_and_sum_to_one_from_the_first_row_on(
    rule: Any, M: int
) -> None:
    X, y = blobs(19, 40, M=M)
    model = small(combiner=rule)
    for c in rows(40):
        model.partial_fit(X[c], y[c], classes=list(range(M)))
        probabilities = model.predict_proba(X)
        assert probabilities.shape == (40, M)
        assert np.isfinite(probabilities).all()
        assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
        assert_array_equal(
            model.classes_[probabilities.argmax(axis=1)], model.predict(X)
        )


@pytest.mark.parametrize("rule", COMBINERS)
def test_log_probabilities_are_the_logarithms(rule: Any) -> None:
    X, y = blobs(20)
    model = small(combiner=rule).fit(X, y)
    with np.errstate(divide="ignore"):  # nobody may vote for a class
        assert_allclose(
            model.predict_log_proba(X), np.log(model.predict_proba(X)), atol=1e-12
        )


def test_the_decision_function_has_scikit_learns_shapes() -> None:
    X, y = blobs(21, 30, M=3)
    assert small().fit(X, y).decision_function(X).shape == (30, 3)
    assert small().fit(X, 0 * y).decision_function(X).shape == (30, 1)
    two = small(temperature=None).fit(X, y > 0)
    margin = two.decision_function(X)
    assert margin.shape == (30,)
    assert_array_equal(margin > 0, two.predict(X))
    odds = two.predict_log_proba(X) * 7
    assert_allclose(margin, odds[:, 1] - odds[:, 0], rtol=1e-9)


@pytest.mark.parametrize("rule", ["log_sum", "product"])
@pytest.mark.parametrize("temperature", [0.01, 1, 1e6])
def test_temperature_divides_the_scores_and_changes_no_label(
    rule: Any, temperature: float
) -> None:
    X, y = blobs(22, 60)
    warm = small(combiner=rule, temperature=temperature).fit(X, y)
    plainly = small(combiner=rule, temperature=None).fit(X, y)
    assert state_of(warm) == state_of(plainly)
    assert_array_equal(warm.predict(X), plainly.predict(X))
    scores = warm.decision_function(X)
    assert_array_equal(scores, plainly.decision_function(X))
    for model, divisor in ((warm, temperature), (plainly, 7)):
        relative = np.exp((scores - scores.max(axis=1, keepdims=True)) / divisor)
        expected = relative / relative.sum(axis=1, keepdims=True)
        assert_allclose(model.predict_proba(X), expected, rtol=1e-9, atol=1e-300)


def test_temperature_can_be_set_on_a_fitted_model() -> None:
    X, y = blobs(22, 60)
    model = small(temperature=None).fit(X, y)
    cold = model.predict_proba(X)
    hot = model.set_params(temperature=1e6).predict_proba(X)
    assert_allclose(hot, 1 / 3, atol=1e-2)
    assert cold.max() > 0.9


# Seeds


@pytest.mark.parametrize(
    "seed",
    [
        lambda: 5,
        lambda: np.int64(5),
        lambda: np.random.default_rng(5),
        lambda: np.random.RandomState(5),
    ],
    ids=["int", "numpy int", "Generator", "RandomState"],
)
def test_the_same_seed_gives_the_same_bits(seed: Any) -> None:
    X, y = blobs(23)
    one = small(random_state=seed()).fit(X, y)
    other = small(random_state=seed()).fit(X, y)
    assert state_of(one) == state_of(other)
    assert state_of(one) != state_of(small(random_state=6).fit(X, y))


def test_without_a_seed_projections_differ_and_a_generator_moves_on() -> None:
    X, y = blobs(23)
    rng = np.random.default_rng(0)
    for seeds in ((None, None), (rng, rng)):
        one, other = (small(random_state=seed).fit(X, y) for seed in seeds)
        assert one._state.projection.seed != other._state.projection.seed


def test_a_member_is_the_same_whatever_the_number_of_members() -> None:
    X, y = blobs(24)
    few = small(n_estimators=3).fit(X, y)._state.projection
    many = small(n_estimators=11).fit(X, y)._state.projection
    assert few.q == many.q
    assert_array_equal(few.R, many.R[:, : 3 * few.q])


def test_the_dimension_is_twice_the_binary_logarithm_rounded_down() -> None:
    for p, q in ((1, 1), (2, 2), (3, 3), (4, 4), (5, 4), (16, 8), (30, 9)):
        X, y = blobs(25, 5, p=p)
        assert small().fit(X, y).n_components_ == q
    assert small(n_components=12).fit(X, y).n_components_ == 12
