"""Explaining and unlearning rows, through the estimators."""

from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from estimators.snapshots import snapshot
from rpnb import RPNBClassifier
from rpnb.baselines import GaussianNB
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.rpnb_learner import RPNBLearner

_RNG = np.random.default_rng(5)
Y = _RNG.integers(0, 3, 400)
X = _RNG.normal(size=(400, 5)) + _RNG.normal(size=(3, 5))[Y] + 3.0


def rpnb(**parameters: Any) -> RPNBClassifier:
    model = RPNBClassifier(20, random_state=0, **parameters)
    return model.partial_fit(X, Y, classes=[0, 1, 2])


@pytest.mark.parametrize("model", [rpnb(), rpnb(combiner="product"), GaussianNB()])
def test_values_add_up_to_the_score(model: Any) -> None:
    model = model.partial_fit(X, Y)
    found = model.explain(X[:50])
    scores = model.predict_log_proba(X[:50])
    if isinstance(model, RPNBClassifier):
        scores = model.decision_function(X[:50])
    assert_array_equal(found.labels, model.predict(X[:50]))
    rows = np.arange(50)
    expected = scores[rows, found.labels] - scores[rows, found.against]
    assert_allclose(found.score, expected, rtol=1e-9, atol=1e-9)
    assert_allclose(found.base + found.values.sum(axis=1), found.score, rtol=1e-12)
    ranked = np.sort(scores, axis=1)
    assert_allclose(found.score, ranked[:, -1] - ranked[:, -2], rtol=1e-9, atol=1e-9)


def test_values_are_the_sum_over_all_subsets_of_features() -> None:
    model, x, b = rpnb(), X[:1], X[7:8]

    def margin(rows: FloatArray) -> float:
        scores = model.decision_function(rows)[0]
        return float(scores[2] - scores[0])

    found = model.explain(x, label=2, against=0, background=b)
    for i in range(5):
        rest = [j for j in range(5) if j != i]
        total = 0.0
        for size in range(5):
            share = factorial(size) * factorial(4 - size) / factorial(5)
            for S in combinations(rest, size):
                without, with_i = b.copy(), b.copy()
                without[0, list(S)] = x[0, list(S)]
                with_i[0, [*S, i]] = x[0, [*S, i]]
                total += share * (margin(with_i) - margin(without))
        assert_allclose(found.values[0, i], total, rtol=1e-8, atol=1e-8)


def test_the_background_is_the_mean_of_what_was_learned() -> None:
    model = RPNBClassifier(20, update="all", prior_weight=0.0, random_state=0)
    model.partial_fit(X, Y)
    found = model.explain(X[:5])
    given = model.explain(X[:5], background=X.mean(axis=0)[None, :])
    assert_allclose(found.values, given.values, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("projection", ["gaussian", "very_sparse", "hadamard"])
def test_sparse_rows_have_values_for_their_own_features(projection: Any) -> None:
    sparse = np.where(_RNG.random(X.shape) < 0.5, X, 0.0)
    model = RPNBClassifier(20, projection=projection, random_state=0)
    model.partial_fit(csr_array(sparse), Y)
    found = model.explain(csr_array(sparse[:20]))
    assert_array_equal(found.values.toarray() != 0.0, sparse[:20] != 0.0)
    scores = model.decision_function(sparse[:20])
    rows = np.arange(20)
    expected = scores[rows, found.labels] - scores[rows, found.against]
    assert_allclose(found.score, expected, rtol=1e-8, atol=1e-8)
    with pytest.raises(ValueError, match="background must be None"):
        model.explain(csr_array(sparse[:20]), background=sparse)


def test_importance_finds_the_feature_that_matters() -> None:
    y = (X[:, 2] > 3.0).astype(int)
    model = RPNBClassifier(50, update="all", random_state=0).partial_fit(X, y)
    for importance in (model.feature_importance(), model.feature_importance(X)):
        assert importance.shape == (5,)
        assert_allclose(importance.sum(), 1.0)
        assert importance.argmax() == 2
    assert list(model.explain(X[:1]).names) == ["x1", "x2", "x3", "x4", "x5"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"label": 9}, "label must be a class that has been seen, got 9"),
        ({"against": 9}, "against must be a class"),
        ({"label": 1, "against": 1}, "a different class"),
        ({"background": X[:, :2]}, "features"),
    ],
)
def test_senseless_questions_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rpnb().explain(X, **arguments)


def test_what_cannot_be_explained_is_refused() -> None:
    with pytest.raises(ValueError, match="combiner is 'vote'"):
        rpnb(combiner="vote").explain(X)
    one = RPNBClassifier(5, random_state=0).partial_fit(X, 0 * Y)
    with pytest.raises(ValueError, match="at least two classes"):
        one.explain(X)
    narrow = RPNBClassifier(1, n_components=2, random_state=0).partial_fit(X, Y)
    with pytest.raises(ValueError, match="too few to recover"):
        narrow.feature_importance()


def test_against_alone_explains_the_best_other_class() -> None:
    found = rpnb().explain(X[:30], against=0)
    assert (found.labels != 0).all()
    assert (found.against == 0).all()


# Unlearning


def stream(seed: int, n: int) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 5)) + np.eye(3, 5)[y], y


@pytest.mark.parametrize("prior", ["uniform", "frequency"])
def test_a_model_without_rows_is_as_if_it_had_never_seen_them(prior: str) -> None:
    rows, labels = stream(1, 3000)
    gone = np.zeros(3000, np.bool_)
    gone[100:900:3] = True
    model = RPNBClassifier(20, update="all", class_prior=prior, random_state=0)
    model.partial_fit(rows, labels)
    twin = RPNBClassifier(20, update="all", class_prior=prior, random_state=0)
    twin.partial_fit(rows[~gone], labels[~gone])
    model.unlearn(rows[gone], labels[gone])
    for mine, theirs in zip(model._state.moments, twin._state.moments, strict=True):
        assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)
    assert (model.n_samples_seen_, model.n_updates_) == (
        twin.n_samples_seen_,
        twin.n_updates_,
    )
    more, _ = stream(2, 10_000)
    assert_array_equal(model.predict(more), twin.predict(more))


def test_mistakes_are_unlearned_and_nothing_else() -> None:
    model = RPNBClassifier(20, random_state=0)
    wrong = model.predict_then_learn(X, Y, [0, 1, 2]) != Y
    n = model.n_updates_
    model.unlearn(X[wrong][:5], Y[wrong][:5])
    assert (model.n_updates_, model.n_samples_seen_) == (n - 5, 395)
    model.unlearn(X[wrong][5:], Y[wrong][5:])
    assert_array_equal(model._state.moments.weight, 0.0)
    assert model.n_updates_ == 0


@pytest.mark.parametrize("learner", ["RPNB", "GaussianNB"])
def test_rows_that_were_never_learned_are_refused(learner: str) -> None:
    model: Any = rpnb(update="all") if learner == "RPNB" else GaussianNB()
    model.partial_fit(X, Y)
    before = snapshot(model)
    for rows, labels, message in (
        (X[:1], [9], "label .* was never learned"),
        (X[:30] + 50.0, Y[:30], "a variance would be negative"),
        (np.tile(X, (3, 1)), np.tile(Y, 3), "cannot be unlearned"),
        (X[:3, :2], Y[:3], "features"),
    ):
        with pytest.raises(ValueError, match=message):
            model.unlearn(rows, labels)
        assert snapshot(model) == before


def test_a_model_that_forgets_cannot_unlearn() -> None:
    with pytest.raises(ValueError, match="forgetting=50"):
        rpnb(forgetting=50).unlearn(X[:1], Y[:1])


def test_naive_bayes_unlearns() -> None:
    model = GaussianNB().partial_fit(X, Y).unlearn(X[:100], Y[:100])
    twin = GaussianNB().partial_fit(X[100:], Y[100:])
    assert_allclose(model.predict_proba(X), twin.predict_proba(X), rtol=1e-8)
    assert model.n_samples_seen_ == twin.n_samples_seen_


def test_of_a_sparse_row_only_the_features_that_it_has_are_touched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    p, n = 200_000, 12
    rng = np.random.default_rng(1)
    columns = rng.integers(0, p, (n, 5))
    rows = csr_array(
        (rng.normal(size=5 * n), (np.repeat(np.arange(n), 5), columns.ravel())),
        shape=(n, p),
    )
    model = RPNBClassifier(3, random_state=0).partial_fit(rows, np.arange(n) % 2)
    project, projected = RPNBLearner.projected, []

    def noted(learner: RPNBLearner, state: Any, X: Any) -> FloatArray:
        projected.append(X.nnz)
        return project(learner, state, X)

    monkeypatch.setattr(RPNBLearner, "projected", noted)
    found = model.explain(rows[:3])
    # All three rows for their scores, and then each feature of each row by itself.
    assert projected == [15, 5, 5, 5]
    assert found.values.nnz == 15
    assert_array_equal(found.values.indices, rows[:3].indices)
    assert_allclose(found.base + found.values.sum(axis=1), found.score)
    # The only feature of a row adds the whole difference.
    one = csr_array(([2.0], ([0], [columns[0, 0]])), shape=(1, p))
    alone = model.explain(one, label=0, against=1)
    nothing = model.explain(csr_array((1, p)), label=0, against=1)
    assert_allclose(nothing.score, nothing.base)
    assert_allclose(alone.values.data, alone.score - nothing.score)
