"""Merging models that learned separately."""

import copy
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from estimators.snapshots import snapshot, state_of
from estimators.streams import blobs, cuts, seeds, small
from rpnb import RPNBClassifier


def assert_same_knowledge(one: RPNBClassifier, other: RPNBClassifier) -> None:
    """Both models are equal, up to rounding in the statistics."""
    assert one.classes_.tolist() == other.classes_.tolist()
    assert (one.n_samples_seen_, one.n_updates_) == (
        other.n_samples_seen_,
        other.n_updates_,
    )
    for a, b in zip(one._state.moments, other._state.moments, strict=True):
        assert_allclose(a, b, rtol=1e-9, atol=1e-11)
    for a, b in zip(one._state.gaussians, other._state.gaussians, strict=True):
        assert_allclose(a, b, rtol=1e-9, atol=1e-11)
    assert_array_equal(one._state.classes.eligible, other._state.classes.eligible)
    assert_allclose(one._state.classes.seen, other._state.classes.seen)
    assert_allclose(one._state.classes.bias, other._state.classes.bias)


@given(st.data(), seeds, st.sampled_from(["uniform", "frequency"]))
def test_shards_merged_equal_the_mini_batch_step_on_their_union(
    data: st.DataObject, seed: int, class_prior: str
) -> None:
    X, y = blobs(seed, 60, M=4)
    begun = data.draw(st.integers(1, 30))
    base = small(batch_size=None, class_prior=class_prior)
    base.partial_fit(X[:begun], y[:begun])
    X, y = X[begun:], y[begun:]
    whole, predictions, shards = copy.deepcopy(base), [], []
    expected = whole.predict_then_learn(X, y)
    for c in data.draw(cuts(60 - begun)):
        shard = copy.deepcopy(base)
        predictions += shard.predict_then_learn(X[c], y[c]).tolist()
        shards.append(shard)
    merged, *others = data.draw(st.permutations(shards))
    for other in others:
        merged.merge(other, base=base)
    assert predictions == expected.tolist()
    assert_same_knowledge(merged, whole)
    assert_array_equal(merged.predict(X), whole.predict(X))


@given(seeds, st.integers(1, 59), st.sampled_from([0.0, 1.0, 3.5]))
def test_two_models_pooled_hold_what_one_would_that_learned_all(
    seed: int, cut: int, prior_weight: float
) -> None:
    X, y = blobs(seed, 60)
    settings: Any = {"update": "all", "prior_weight": prior_weight}
    one = small(**settings).partial_fit(X[:cut], y[:cut])
    other = small(**settings).partial_fit(X[cut:], y[cut:])
    whole = small(**settings).partial_fit(X, y)
    assert one.merge(other) is one
    assert_same_knowledge(one, whole)


def test_merging_is_free_of_order() -> None:
    X, y = blobs(1, 90)
    parts = [small().partial_fit(X[a : a + 30], y[a : a + 30]) for a in (0, 30, 60)]
    results = []
    for order in permutations(parts):
        first, second, third = (copy.deepcopy(part) for part in order)
        results += [copy.deepcopy(first).merge(second).merge(third)]
        results += [first.merge(second.merge(third))]
    for result in results[1:]:
        assert_same_knowledge(result, results[0])
        assert_array_equal(result.predict(X), results[0].predict(X))


def test_a_shard_that_learned_nothing_new_adds_nothing() -> None:
    X, y = blobs(2)
    base = small().fit(X, y)
    model = copy.deepcopy(base).partial_fit(X, y)
    before = state_of(model)
    assert state_of(model.merge(copy.deepcopy(base), base=base)) == before


def test_merging_changes_only_the_model_it_is_called_on() -> None:
    X, y = blobs(3)
    base = small().fit(X[:20], y[:20])
    other = copy.deepcopy(base).partial_fit(X[20:40], y[20:40])
    model = copy.deepcopy(base).partial_fit(X[40:], y[40:])
    before = snapshot(other), snapshot(base)
    model.merge(other, base=base)
    model.partial_fit(X, y)
    assert (snapshot(other), snapshot(base)) == before


def test_classes_are_united_and_keep_what_they_hold() -> None:
    X, y = blobs(4, 90, M=3)
    names = np.array(["dog", "ant", "cat"])
    settings: Any = {"update": "all"}
    one = small(**settings).partial_fit(X[y < 2], names[y[y < 2]])
    other = small(**settings).partial_fit(X[y > 0], names[y[y > 0]], classes=["bee"])
    one.merge(other)
    assert one.classes_.tolist() == ["ant", "bee", "cat", "dog"]
    assert one._state.classes.eligible.all()
    counts = np.bincount(y)
    expected = [2 * counts[1], 0, counts[2], counts[0]]
    assert_array_equal(one._state.moments.weight, expected)
    assert set(one.predict(X)) <= set(one.classes_)
    one.partial_fit(X, names[y])
    assert one._state.classes.seen.sum() == sum(expected) + 90


def test_a_class_that_only_one_shard_has_met_is_kept() -> None:
    X, y = blobs(5)
    base = small().partial_fit(X[:10], y[:10])
    one = copy.deepcopy(base).partial_fit(X[10:20], y[10:20])
    other = copy.deepcopy(base).partial_fit(X[20:22], [8, 9])
    one.merge(other, base=base)
    assert one.classes_.tolist() == [0, 1, 2, 8, 9]
    assert one._state.moments.weight[3:].tolist() == [1.0, 1.0]


def test_priors_given_by_class_follow_the_united_classes() -> None:
    X, y = blobs(6)
    prior = {0: 0.2, 1: 0.3, 2: 0.5}
    one = small(class_prior=prior).partial_fit(X[y == 0], y[y == 0])
    other = small(class_prior=prior).partial_fit(X[y > 0], y[y > 0])
    one.merge(other)
    assert_allclose(one._state.classes.bias, 7 * np.log([0.2, 0.3, 0.5]))


# Refusals


X, y = blobs(7)
MISFITS: dict[str, Any] = {
    "another number of members": lambda: small(n_estimators=8).fit(X, y),
    "another dimension": lambda: small(n_components=2).fit(X, y),
    "another distribution": lambda: small(projection="bernoulli").fit(X, y),
    "another seed": lambda: small(random_state=4).fit(X, y),
    "other features": lambda: small().fit(X[:, :3], y),
    "another prior mean": lambda: small(prior_mean=0.1).fit(X, y),
    "another prior variance": lambda: small(prior_variance=2).fit(X, y),
    "another prior weight": lambda: small(prior_weight=2).fit(X, y),
    "another floor": lambda: small(var_floor=0.1).fit(X, y),
    "labels of another family": lambda: small().fit(X, y.astype(str)),
    "nothing learned": small,
    "another type": lambda: "a model",
}
MESSAGES = {
    "another prior mean": "has a different prior: Prior.mean=0.1",
    "another prior variance": "has a different prior",
    "another prior weight": "has a different prior",
    "another floor": "has a different prior",
    "labels of another family": "the other model holds text, but .* are numbers",
    "nothing learned": "has not seen any data yet",
    "another type": "must be an RPNBClassifier, got 'a model'",
}


@pytest.mark.parametrize("misfit", MISFITS)
@pytest.mark.parametrize("place", ["other", "base"])
def test_a_model_that_does_not_fit_is_refused_and_nothing_changes(
    misfit: str, place: str
) -> None:
    model, fitting, wrong = small().fit(X, y), small().fit(X, y), MISFITS[misfit]()
    before = snapshot(model)
    other, base = (wrong, None) if place == "other" else (fitting, wrong)
    message = MESSAGES.get(misfit, "has different projections: merging needs equal")
    if misfit != "labels of another family":
        message = f"^{place} {message}"
    error = TypeError if misfit == "another type" else ValueError
    with pytest.raises(error, match=message):
        model.merge(other, base=base)
    assert snapshot(model) == before


def test_a_model_that_has_seen_nothing_cannot_be_added_to() -> None:
    model = small()
    with pytest.raises(ValueError, match="this model has not seen any data yet"):
        model.merge(small().fit(X, y))
    assert snapshot(model) == snapshot(small())


def test_a_class_without_a_given_probability_is_refused_and_nothing_changes() -> None:
    model = small(class_prior={0: 0.5, 1: 0.5}).fit(X[y < 2], y[y < 2])
    before = snapshot(model)
    with pytest.raises(ValueError, match=r"class_prior has no probability for .* 2"):
        model.merge(small().fit(X, y))
    assert snapshot(model) == before


def test_models_with_other_feature_names_are_refused() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = small().fit(frame, y)
    before = snapshot(model)
    for rows in (frame[list("badc")], frame.rename(columns={"a": "z"}), X):
        with pytest.raises(ValueError, match="other has different feature names"):
            model.merge(small().fit(rows, y))
        with pytest.raises(ValueError, match="base has different feature names"):
            model.merge(copy.deepcopy(model), base=small().fit(rows, y))
    assert snapshot(model) == before
    assert model.merge(small().fit(frame, y)).n_samples_seen_ == 120


def test_a_base_from_which_one_of_the_two_cannot_stem_is_refused() -> None:
    model, less = small().fit(X, y), small().fit(X[:5], y[:5])
    before = snapshot(model), snapshot(less)
    with pytest.raises(ValueError, match="other holds less than base"):
        model.merge(less, base=small().fit(X, y))
    with pytest.raises(ValueError, match="this model holds less than base"):
        less.merge(model, base=small().fit(X, y))
    assert (snapshot(model), snapshot(less)) == before
