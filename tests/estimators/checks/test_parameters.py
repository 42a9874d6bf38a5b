"""Parameters out of range, of the wrong type, or changed while a model lives."""

import io
from collections import UserDict
from typing import Any

import numpy as np
import pytest

from estimators.snapshots import snapshot, state_of
from estimators.streams import blobs, small
from rpnb.estimators.checks.parameters import check_real

X, y = blobs(1, 40)

AT_LEAST_ONE = "must be an integer of at least 1"
PROBABILITIES = "class_prior must hold positive probabilities that sum to 1"
CHOICES = "one of 'gaussian', 'bernoulli', 'achlioptas', .*"
BAD: list[tuple[str, Any, type[Exception], str]] = [
    ("n_estimators", 0, ValueError, f"{AT_LEAST_ONE}, got 0"),
    ("n_estimators", -3, ValueError, f"{AT_LEAST_ONE}, got -3"),
    ("n_estimators", 2.0, TypeError, rf"{AT_LEAST_ONE}, got 2\.0"),
    ("n_estimators", "10", TypeError, f"{AT_LEAST_ONE}, got '10'"),
    ("n_estimators", None, TypeError, f"{AT_LEAST_ONE}, got None"),
    ("n_estimators", True, TypeError, f"{AT_LEAST_ONE}, got True"),
    ("n_components", 0, ValueError, f"{AT_LEAST_ONE}, got 0"),
    ("n_components", 1.5, TypeError, f"{AT_LEAST_ONE}, got 1.5"),
    ("n_components", "all", ValueError, "must be one of 'auto', got 'all'"),
    ("n_components", None, TypeError, f"{AT_LEAST_ONE}, got None"),
    ("n_components", np.True_, TypeError, AT_LEAST_ONE),
    ("projection", "normal", ValueError, f"{CHOICES}, got 'normal'"),
    ("projection", 1, ValueError, f"{CHOICES}, got 1"),
    ("projection", None, ValueError, CHOICES),
    ("combiner", "mean", ValueError, "one of 'log_sum', 'sum', .* got 'mean'"),
    ("combiner", ["sum"], ValueError, "one of 'log_sum'"),
    ("update", "some", ValueError, "one of 'mistakes', 'all', got 'some'"),
    ("update", True, ValueError, "one of 'mistakes', 'all', got True"),
    ("batch_size", 0, ValueError, f"{AT_LEAST_ONE}, got 0"),
    ("batch_size", 1.0, TypeError, AT_LEAST_ONE),
    ("batch_size", True, TypeError, AT_LEAST_ONE),
    ("prior_mean", np.nan, ValueError, "a finite number of at least -1e.150 and at"),
    ("prior_mean", 2e150, ValueError, r"at most 1e\+150, got 2e\+150"),
    ("prior_mean", -2e150, ValueError, r"at least -1e\+150"),
    ("prior_mean", "0", TypeError, "a finite number of at least .* got '0'"),
    ("prior_variance", 0.0, ValueError, r"a finite number above 0 .* got 0\.0"),
    ("prior_variance", -1, ValueError, "a finite number above 0 .* got -1"),
    ("prior_variance", np.inf, ValueError, r"at most 1e\+300, got inf"),
    ("prior_variance", False, TypeError, "a finite number above 0"),
    ("prior_weight", -0.5, ValueError, r"a finite number of at least 0, got -0\.5"),
    ("prior_weight", np.inf, ValueError, "a finite number of at least 0, got inf"),
    ("prior_weight", None, TypeError, "a finite number of at least 0, got None"),
    ("prior_weight", 1j, TypeError, "a finite number of at least 0, got 1j"),
    ("forgetting", 1, ValueError, "a finite number above 1, got 1"),
    ("forgetting", 0.5, ValueError, r"a finite number above 1, got 0\.5"),
    ("forgetting", np.inf, ValueError, "a finite number above 1, got inf"),
    ("forgetting", np.nan, ValueError, "a finite number above 1, got nan"),
    ("forgetting", "100", TypeError, "a finite number above 1, got '100'"),
    ("forgetting", True, TypeError, "a finite number above 1, got True"),
    ("var_floor", 0.0, ValueError, r"at least 1e-300 and at most 1e\+300, got 0\.0"),
    ("var_floor", np.inf, ValueError, r"at most 1e\+300, got inf"),
    ("var_floor", "small", TypeError, "a finite number of at least 1e-300"),
    ("temperature", 0.0, ValueError, r"a finite number above 0, got 0\.0"),
    ("temperature", -1, ValueError, "a finite number above 0, got -1"),
    ("temperature", np.nan, ValueError, "a finite number above 0, got nan"),
    ("temperature", "warm", ValueError, "'auto', None or a finite number above 0"),
    ("n_jobs", 0, ValueError, "n_jobs must not be 0: 1 is one thread"),
    ("n_jobs", 2.0, TypeError, r"n_jobs must be an integer or None, got 2\.0"),
    ("n_jobs", True, TypeError, "n_jobs must be an integer or None, got True"),
    ("n_jobs", "all", TypeError, "n_jobs must be an integer or None, got 'all'"),
    ("class_prior", "equal", ValueError, "one of 'uniform', 'frequency', got 'equal'"),
    ("class_prior", [0.5, 0.4, 0.2], ValueError, f"{PROBABILITIES}, got .0.5, 0.4"),
    ("class_prior", [0.5, 0.5, 0.0], ValueError, PROBABILITIES),
    ("class_prior", [1.5, -0.5], ValueError, PROBABILITIES),
    ("class_prior", [np.nan, 1.0], ValueError, PROBABILITIES),
    ("class_prior", [[0.5, 0.5]], ValueError, PROBABILITIES),
    ("class_prior", ["a", "b"], ValueError, PROBABILITIES),
    ("class_prior", None, ValueError, PROBABILITIES),
    ("class_prior", 1.0, ValueError, PROBABILITIES),
    ("class_prior", {}, ValueError, PROBABILITIES),
    ("class_prior", {0: 0.5, 1: 0.4}, ValueError, PROBABILITIES),
    ("class_prior", {0: "much", 1: 0.4}, ValueError, PROBABILITIES),
    ("random_state", -1, ValueError, "random_state must be an integer of at least 0"),
    ("random_state", "seed", TypeError, "random_state must be an integer of at least"),
    ("random_state", True, TypeError, "random_state must be an integer of at least 0"),
]


@pytest.mark.parametrize(("name", "value", "error", "message"), BAD, ids=str)
def test_a_bad_parameter_is_refused_and_the_model_stays_unfitted(
    name: str, value: Any, error: type[Exception], message: str
) -> None:
    model = small(**{name: value})
    before = snapshot(model)
    for learn in (model.fit, model.partial_fit, model.predict_then_learn):
        with pytest.raises(error, match=message) as refusal:
            learn(X, y)
        if name != "random_state":
            assert str(refusal.value).startswith(name)
    assert snapshot(model) == before
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(("name", "value", "error", "message"), BAD, ids=str)
def test_a_fitted_model_survives_a_fit_with_a_bad_parameter(
    name: str, value: Any, error: type[Exception], message: str
) -> None:
    model = small().fit(X, y)
    good = getattr(model, name)
    before = snapshot(model)
    with pytest.raises(error, match=message):
        model.set_params(**{name: value}).fit(X, y)
    assert snapshot(model.set_params(**{name: good})) == before


BAD_PRIORS: list[tuple[Any, str]] = [
    ([0.5, 0.5], r"2 probabilities, but there are 3 classes: \[0, 1, 2\]"),
    ([0.25] * 4, r"4 probabilities, but there are 3 classes"),
    ({0: 0.5, 1: 0.5}, "class_prior has no probability for the class 2"),
    ({"0": 0.5, "1": 0.2, "2": 0.3}, "class_prior has no probability for the class 0"),
]


@pytest.mark.parametrize(("prior", "message"), BAD_PRIORS, ids=str)
def test_probabilities_for_other_classes_are_refused(prior: Any, message: str) -> None:
    model = small(class_prior=prior)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "n_features_in_")
    assert not model.__sklearn_is_fitted__()


def test_a_late_class_without_a_probability_is_refused_and_nothing_changes() -> None:
    for prior in ([0.5, 0.5], {0: 0.5, 1: 0.5}):
        model = small(class_prior=prior).fit(X[y < 2], y[y < 2])
        before = snapshot(model)
        for learn in (model.partial_fit, model.predict_then_learn):
            with pytest.raises(ValueError, match="class_prior has"):
                learn(X, y)
        assert snapshot(model) == before


@pytest.mark.parametrize(
    "values",
    [
        {"n_estimators": np.int32(3), "n_components": np.uint8(2)},
        {"n_components": 40},  # more than there are features
        {"prior_mean": 1, "prior_variance": np.float32(0.5), "prior_weight": 0},
        {"prior_mean": -1e150, "prior_variance": 1e300, "var_floor": 1e-300},
        {"temperature": 1e-300, "batch_size": np.int64(3)},
        {"class_prior": np.array([0.2, 0.3, 0.5])},
        {"class_prior": {0: 0.2, 1: 0.3, 2: 0.5 - 1e-8}},
        {"random_state": 2**100},
        {"random_state": np.random},
        {"n_estimators": 1},
    ],
    ids=str,
)
def test_every_value_in_range_is_taken(values: dict[str, Any]) -> None:
    model = small(**values).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.decision_function(X)).all()


# Changes after learning began

CHANGES: dict[str, Any] = {
    "n_estimators": 8,
    "n_components": 2,
    "projection": "bernoulli",
    "combiner": "vote",
    "prior_mean": 0.5,
    "prior_variance": 2.0,
    "prior_weight": 2.0,
    "class_prior": "frequency",
    "var_floor": 1e-3,
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_shaped_the_state_cannot_change_while_it_lives(name: str) -> None:
    model = small().fit(X, y)
    before, good = snapshot(model), getattr(model, name)
    model.set_params(**{name: CHANGES[name]})
    message = rf"{name} was {good!r} when learning began and is .* start again"
    for learn in (model.partial_fit, model.predict_then_learn):
        with pytest.raises(ValueError, match=message):
            learn(X, y)
    model.predict(X)
    assert snapshot(model.set_params(**{name: good})) == before
    model.partial_fit(X, y)
    model.set_params(**{name: CHANGES[name]}).fit(X, y)
    fresh = small(**{name: CHANGES[name]}).fit(X, y)
    assert state_of(model) == state_of(fresh)


def test_given_priors_cannot_change_either_but_may_be_equal() -> None:
    for prior, equal, other in (
        ([0.2, 0.3, 0.5], np.array([0.2, 0.3, 0.5]), [0.3, 0.2, 0.5]),
        ({0: 0.2, 1: 0.8}, {1: 0.8, 0: 0.2}, {0: 0.3, 1: 0.7}),
        ({0: 0.2, 1: 0.8}, {1: 0.8, 0: 0.2}, "uniform"),
        ("uniform", "uniform", [0.5, 0.5]),
        ("uniform", "uniform", {0: 0.5, 1: 0.5}),
    ):
        labels = y % 2 if len(prior) == 2 else y
        model = small(class_prior=prior).fit(X, labels)
        model.set_params(class_prior=equal).partial_fit(X, labels)
        with pytest.raises(ValueError, match=r"class_prior was .* when learning began"):
            model.set_params(class_prior=other).partial_fit(X, labels)
        assert model.n_samples_seen_ == 80


def test_given_priors_may_be_any_mapping() -> None:
    model = small(class_prior=UserDict({0: 0.2, 1: 0.3, 2: 0.5})).fit(X, y)
    model.set_params(class_prior=UserDict({0: 0.2, 1: 0.3, 2: 0.5})).partial_fit(X, y)
    # The same classes in the same order, with other probabilities.
    other = UserDict({0: 0.5, 1: 0.3, 2: 0.2})
    with pytest.raises(ValueError, match=r"class_prior was .* when learning began"):
        model.set_params(class_prior=other).partial_fit(X, y)


def test_one_and_true_are_different_values() -> None:
    model = small(prior_weight=1).fit(X, y)
    model.set_params(prior_weight=1.0).partial_fit(X, y)
    model.set_params(prior_weight=True)
    with pytest.raises(ValueError, match=r"prior_weight was 1 when .* and is True now"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match=r"prior_weight was 1 when .* and is True now"):
        model.save(io.BytesIO())


def test_a_seed_is_used_once_and_may_change_afterwards() -> None:
    model, twin = small(random_state=3).fit(X, y), small(random_state=3).fit(X, y)
    model.set_params(random_state=4).partial_fit(X, y)
    assert state_of(model) == state_of(twin.partial_fit(X, y))


def test_changeable_parameters_may_change_at_any_time() -> None:
    model = small().fit(X, y)
    updates = model.n_updates_
    model.set_params(update="all", batch_size=None, temperature=2.0).partial_fit(X, y)
    assert (model.n_samples_seen_, model.n_updates_) == (80, updates + 40)


@pytest.mark.parametrize(
    ("name", "value"), [("update", "none"), ("batch_size", 0), ("temperature", -1.0)]
)
def test_changeable_parameters_are_checked_at_any_time(name: str, value: Any) -> None:
    model = small().fit(X, y)
    before, good = snapshot(model), getattr(model, name)
    model.set_params(**{name: value})
    for learn in (model.partial_fit, model.predict_then_learn):
        with pytest.raises(ValueError, match=f"{name} must be"):
            learn(X, y)
    assert snapshot(model.set_params(**{name: good})) == before


@pytest.mark.parametrize("temperature", [0.0, -1.0, np.inf])
def test_no_probabilities_are_given_at_a_senseless_temperature(
    temperature: float,
) -> None:
    model = small().fit(X, y).set_params(temperature=temperature)
    with pytest.raises(ValueError, match="temperature must be a finite number above 0"):
        model.predict_proba(X)
    assert model.predict(X).shape == (40,)


@pytest.mark.parametrize("fresh", [True, False])
def test_a_refused_fit_does_not_forget_with_what_learning_began(fresh: bool) -> None:
    model = small() if fresh else small().fit(X, y)
    before = snapshot(model)
    model.set_params(n_estimators=8, class_prior=[0.5, 0.5])
    with pytest.raises(ValueError, match="class_prior has 2 probabilities"):
        model.fit(X, y)
    if not fresh:
        with pytest.raises(ValueError, match=r"was .* when learning began"):
            model.partial_fit(X, y)
    assert snapshot(model.set_params(n_estimators=7, class_prior="uniform")) == before


# The checks themselves


def test_a_rule_without_a_lower_bound_does_not_name_one() -> None:
    assert check_real("x", 3, -np.inf) == 3.0
    with pytest.raises(ValueError, match=r"^x must be a finite number, got inf$"):
        check_real("x", np.inf, -np.inf)
