"""Predictions by a matrix of costs: an oracle, and laws for every learner."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from rpnb import PooledClassifier, RPNBClassifier
from rpnb.drift import DriftAware
from rpnb.estimators.checks.costs import check_costs, least_costly
from rpnb.estimators.registry import learners
from rpnb.preprocessing import RunningScaler, make_stream_pipeline

N = 300
rng = np.random.default_rng(0)
Y = np.array(["rare", "some", "usual"])[rng.choice(3, N, p=[0.1, 0.3, 0.6])]
X = rng.normal(size=(N, 4)) + (Y == "rare")[:, None] - (Y == "some")[:, None]
COSTS = np.array([[0.0, 5.0, 9.0], [1.0, 0.0, 2.0], [0.5, 0.7, 0.0]])
SMALL: dict[str, dict[str, Any]] = {
    "RPNB": {"n_estimators": 4, "random_state": 0},
    "Pooled": {"n_projections": 16, "random_state": 0},
    "OnlineBagging": {"n_estimators": 3, "random_state": 0},
    "OnlineBoosting": {"n_estimators": 3, "random_state": 0},
}


def new(name: str) -> Any:
    return learners()[name].estimator(**SMALL.get(name, {}))


WITH = [name for name in learners() if hasattr(new(name), "predict_proba")]
WITHOUT = [name for name in learners() if not hasattr(new(name), "predict_proba")]


def cheapest(P: Any, costs: Any) -> list[int]:
    """The least expected cost, one prediction and one true class after the other."""
    found = []
    for row in P:
        expected = []
        for j in range(len(row)):
            total = 0.0
            for i, p in enumerate(row):
                total += p * costs[i][j]
            expected.append(total)
        found.append(expected.index(min(expected)))
    return found


numbers = st.floats(-10.0, 10.0)


@given(st.integers(1, 4), st.data())
def test_the_expected_cost_is_least(M: int, data: st.DataObject) -> None:
    P = data.draw(arrays(float, (5, M), elements=st.floats(0.0, 1.0)))
    costs = data.draw(arrays(float, (M, M), elements=numbers))
    found = least_costly(P, costs)
    assert found.tolist() == cheapest(P.tolist(), costs.tolist())
    for i in range(5):  # no row depends on the others
        assert least_costly(P[i : i + 1], costs)[0] == found[i]


@pytest.mark.parametrize("name", WITH)
def test_labels_are_those_of_the_least_expected_cost(name: str) -> None:
    model = new(name).partial_fit(X, Y)
    expected = model.classes_[cheapest(model.predict_proba(X), COSTS)]
    assert_array_equal(model.predict(X, costs=COSTS), expected)
    assert_array_equal(model.predict(X, costs=COSTS.tolist()), expected)
    following = model.classes_[cheapest(model.predict_next_proba(X), COSTS)]
    assert_array_equal(model.predict_next(X, costs=COSTS), following)
    # Nobody is asked to pay for the first class: it is always predicted.
    free = COSTS.copy()
    free[:, 0] = -1.0
    assert set(model.predict(X, costs=free)) == {"rare"}


def test_costs_by_true_class_are_weights_of_probabilities() -> None:
    model = new("Pooled").partial_fit(X, Y)
    P = model.predict_proba(X) * [8.0, 2.0, 1.0]
    top = np.sort(P, axis=1)
    clear = top[:, -1] - top[:, -2] > 1e-9
    found = model.predict(X, costs={"rare": 8, "some": 2.0})
    assert_array_equal(found[clear], model.classes_[P.argmax(axis=1)][clear])
    assert (found != model.predict(X)).any()


@pytest.mark.parametrize("name", WITH)
def test_costs_of_mistakes_that_are_all_equal_change_nothing(name: str) -> None:
    model = new(name).partial_fit(X, Y)
    P = np.sort(model.predict_proba(X), axis=1)
    clear = P[:, -1] - P[:, -2] > 1e-9
    assert clear.sum() > N / 2
    found = model.predict(X, costs=7.0 * (1.0 - np.eye(3)))
    assert_array_equal(found[clear], model.predict(X)[clear])


@pytest.mark.parametrize("name", WITH)
def test_costs_change_labels_but_not_what_is_learned(name: str) -> None:
    plain, priced = new(name), new(name)
    known = np.unique(Y)
    labels, P = plain.predict_then_learn(X, Y, known, return_proba=True)
    found, same = priced.predict_then_learn(X, Y, known, return_proba=True, costs=COSTS)
    assert_array_equal(same, P)
    assert_array_equal(found, priced.classes_[cheapest(P, COSTS)])
    assert (found != labels).any()
    assert_array_equal(plain.predict_proba(X), priced.predict_proba(X))
    # The loop of single rows, and other chunks, give the same labels.
    for step in (1, 7):
        other = new(name).partial_fit(X[:1], Y[:1], known)
        cut = [
            other.predict_then_learn(X[i : i + step], Y[i : i + step], costs=COSTS)
            for i in range(1, N, step)
        ]
        assert_array_equal(np.concatenate(cut), found[1:])


@pytest.mark.parametrize("name", ["RPNB", "Pooled", "GaussianNB"])
def test_a_first_row_without_classes_has_no_label(name: str) -> None:
    found = new(name).predict_then_learn(X, Y, costs=COSTS)
    assert found[0] is None
    assert None not in found[1:]


@pytest.mark.parametrize("name", ["RPNB", "Pooled"])
def test_wrappers_take_costs(name: str) -> None:
    weights = rng.uniform(1.0, 2.0, N)
    for model in (
        make_stream_pipeline(RunningScaler(), new(name)),
        DriftAware(new(name)),
        new(name),
    ):
        model.predict_then_learn(X, Y, None, weights, costs=COSTS)
        P = model.predict_proba(X)
        expected = model.classes_[cheapest(P, COSTS)]
        assert_array_equal(model.predict(X, costs=COSTS), expected)


def test_a_compiled_predictor_takes_costs() -> None:
    model = RPNBClassifier(4, random_state=0).partial_fit(X, Y).compile()
    expected = model.classes_[cheapest(model.predict_proba(X), COSTS)]
    assert_array_equal(model.predict(X, costs=COSTS), expected)


@pytest.mark.parametrize("name", WITHOUT)
def test_learners_without_probabilities_refuse_costs(name: str) -> None:
    y = np.where(Y == "usual", "usual", "rare")
    model = new(name).partial_fit(X, y, ["rare", "usual"])
    costs = [[0, 1], [1, 0]]
    message = r"costs must be None for \w+, which has"
    with pytest.raises(ValueError, match=message):
        model.predict(X, costs=costs)
    with pytest.raises(ValueError, match=message):
        model.predict_then_learn(X, y, costs=costs)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([[0, 1], [1, 0]], r"for each of the 3 classes 'rare', 'some', 'usual', in"),
        (np.zeros(9), r"got shape \(9,\)"),
        (
            {"odd": 2.0},
            "costs names the class 'odd', but the classes are 'rare', 'some', 'usu",
        ),
        ({"rare": -2.0}, "costs of 'rare' must be"),
        ("cheap", "costs must be a matrix of real numbers"),
        (COSTS * np.nan, r"got nan for true class 'rare' and prediction 'rare'"),
        (
            COSTS * 1e200,
            r"at most ±1e\+100, got 4.9\d*e\+200 for true class 'rare' and",
        ),
    ],
)
def test_what_are_no_costs_is_refused_and_nothing_learned(
    costs: Any, message: str
) -> None:
    model = PooledClassifier(n_projections=16, random_state=0).partial_fit(X, Y)
    for method in (model.predict, model.predict_next):
        with pytest.raises(ValueError, match=message):
            method(X, costs=costs)
    with pytest.raises(ValueError, match=message):
        model.predict_then_learn(X, Y, costs=costs)
    assert model.n_samples_seen_ == N
    with pytest.raises(ValueError, match="4 classes"):
        model.predict_then_learn(X[:2], ["new", "rare"], costs=COSTS)
    assert model.n_samples_seen_ == N
    assert check_costs(COSTS.tolist(), model.classes_).dtype == np.float64
