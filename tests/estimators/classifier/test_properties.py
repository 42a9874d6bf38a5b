"""The definition of one pass over a stream, however it is divided into calls."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from estimators.snapshots import state_of
from estimators.streams import (
    FAMILIES,
    blobs,
    cuts,
    families,
    rows,
    rules,
    seeds,
    small,
)
from rpnb import RPNBClassifier


def loop(
    model: RPNBClassifier, X: NDArray[Any], y: NDArray[Any], declared: Any
) -> list[Any]:
    """Predict, then learn, one row at a time: the definition of `predict_then_learn`.

    Before the first row there is no prediction, or, where classes were
    declared, the first of them, since all look the same.
    """
    first = None if declared is None else np.unique(np.append(declared, y[:0]))[0]
    predictions = [first]
    model.partial_fit(X[:1], y[:1], classes=declared)
    for row in range(1, X.shape[0]):
        predictions += model.predict(X[row : row + 1]).tolist()
        model.partial_fit(X[row : row + 1], y[row : row + 1])
    return predictions


# Cutting a stream into calls


@given(st.data(), seeds, families, rules, st.booleans())
def test_any_cutting_into_calls_equals_the_loop_over_single_rows(
    data: st.DataObject, seed: int, family: str, rule: Any, declares: bool
) -> None:
    n = data.draw(st.integers(1, 60))
    M = data.draw(st.integers(1, 4))
    update = data.draw(st.sampled_from(["mistakes", "all"]))
    prior = data.draw(st.sampled_from(["uniform", "frequency"]))
    X, numbers = blobs(seed, n, p=data.draw(st.integers(1, 6)), M=M)
    y = FAMILIES[family][numbers]
    # One declared class is never seen, and some that are seen are not declared.
    declared = FAMILIES[family][[1, 4]] if declares else None
    by_rows = small(combiner=rule, update=update, class_prior=prior)
    expected = loop(by_rows, X, y, declared)
    by_calls = small(combiner=rule, update=update, class_prior=prior)
    predictions = [
        by_calls.predict_then_learn(X[c], y[c], declared if c.start == 0 else None)
        for c in data.draw(cuts(n))
    ]
    assert [label for part in predictions for label in part.tolist()] == expected
    assert state_of(by_calls) == state_of(by_rows)
    assert (by_calls.n_samples_seen_, by_calls.n_updates_) == (n, by_rows.n_updates_)


@given(st.data(), seeds)
def test_booleans_are_labels_like_others(data: st.DataObject, seed: int) -> None:
    n = data.draw(st.integers(1, 40))
    X, numbers = blobs(seed, n, M=2)
    y = numbers == 1
    declared = data.draw(st.sampled_from([None, [False, True], [True]]))
    by_rows, by_calls = small(), small()
    expected = loop(by_rows, X, y, declared)
    predictions: list[Any] = []
    for c in data.draw(cuts(n)):
        first = declared if c.start == 0 else None
        predictions += by_calls.predict_then_learn(X[c], y[c], first).tolist()
    assert predictions == expected
    assert all(
        type(prediction) is bool for prediction in predictions if prediction is not None
    )
    assert state_of(by_calls) == state_of(by_rows)


@pytest.mark.parametrize("update", ["mistakes", "all"])
def test_learning_without_predicting_leaves_the_same_state(update: Any) -> None:
    X, y = blobs(1, 300)
    asked, silent = small(update=update), small(update=update)
    asked.predict_then_learn(X, y)
    silent.partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    assert state_of(asked) == state_of(silent)


@pytest.mark.parametrize("update", ["mistakes", "all"])
@pytest.mark.parametrize("batch_size", [2, 7, None])
@pytest.mark.parametrize("temperature", ["auto", None])
def test_mini_batches_are_the_same_whether_predictions_are_asked_for_or_not(
    update: Any, batch_size: int | None, temperature: Any
) -> None:
    X, y = blobs(1, 100)
    # Rows of a batch fade together, so a batch is not the loop over its rows.
    models = [
        small(update=update, batch_size=size, forgetting=20.0, temperature=temperature)
        for size in (batch_size, batch_size, 1)
    ]
    asked, silent, by_rows = models
    asked.predict_then_learn(X, y, classes=[0, 1, 2])
    silent.partial_fit(X, y, classes=[0, 1, 2])
    by_rows.partial_fit(X, y, classes=[0, 1, 2])
    assert state_of(asked) == state_of(silent) != state_of(by_rows)


def test_fit_is_a_fresh_pass_with_all_classes_declared() -> None:
    X, y = blobs(2)
    fitted = small(shuffle=False).fit(X + 5.0, y).fit(X, y)
    streamed = small()
    streamed.predict_then_learn(X, y, classes=[0, 1, 2])
    assert state_of(fitted) == state_of(streamed)


def test_many_rows_at_once_equal_the_loop_where_blocks_and_screens_are_used() -> None:
    X, y = blobs(3, 1500, p=20, M=4)
    whole, single = small(n_estimators=30), small(n_estimators=30)
    predictions = whole.predict_then_learn(X, y)
    assert predictions.tolist() == loop(single, X, y, None)
    assert state_of(whole) == state_of(single)


# Which classes are active, and when


def test_while_nothing_is_known_the_prediction_is_none_and_counts_as_update() -> None:
    X, y = blobs(4, 20)
    model = small()
    predictions = model.predict_then_learn(X, y)
    assert predictions.dtype == object
    assert predictions[0] is None
    assert all(type(prediction) is int for prediction in predictions[1:])
    assert model.n_updates_ == np.count_nonzero(predictions != y)
    later = model.predict_then_learn(X, y)
    assert later.dtype == y.dtype


def test_declared_classes_compete_from_the_first_row_on() -> None:
    X, y = blobs(5, 20, M=2)
    predictions = small().predict_then_learn(X, y + 1, classes=[0, 1, 2])
    assert predictions[0] == 0  # never seen, and first of equals
    assert predictions.dtype == np.int64


def test_an_undeclared_class_competes_from_the_row_after_its_first_label() -> None:
    near, far = np.zeros((1, 3)), np.full((1, 3), 50.0)
    X = np.concatenate([near, near, far, far, near, far])
    y = ["near", "near", "far", "far", "near", "far"]
    predictions = small(prior_weight=0.1).predict_then_learn(X, y)
    assert predictions.tolist() == [None, "near", "near", "far", "near", "far"]


def test_a_class_declared_later_competes_from_that_call_on() -> None:
    near, far = np.zeros((1, 3)), np.full((1, 3), 50.0)
    model = small().partial_fit(near, [1])
    assert model.predict(far) == [1]
    # The new class has variance 1 to offer, the old one has learned to be narrow.
    assert model.partial_fit(near, [1], classes=[7]).predict(far) == [7]
    assert_array_equal(model.classes_, [1, 7])


def test_classes_may_be_declared_again_on_any_call() -> None:
    X, y = blobs(6)
    once, always = small(), small()
    once.predict_then_learn(X, y, classes=[0, 1, 2])
    for c in rows(60):
        always.predict_then_learn(X[c], y[c], classes=[2, 0, 1, 0])
    assert state_of(once) == state_of(always)


def test_labels_of_two_lengths_or_types_of_one_family_are_one_set_of_classes() -> None:
    X, _ = blobs(7, 4)
    model = small().partial_fit(X[:2], np.array(["b", "a"]))
    model.partial_fit(X[:2], np.array(["long text", "a"], dtype=object))
    model.partial_fit(np.tile(X[:1], (40, 1)), np.array(["b"] * 40))
    assert model.classes_.tolist() == ["a", "b", "long text"]
    assert model._state.classes.seen.tolist() == [2.0, 41.0, 1.0]
    numbers = (
        small()
        .partial_fit(X[:2], np.array([300, 2]))
        .partial_fit(X[:2], np.array([2.0, 1.0]))
    )
    assert numbers.classes_.tolist() == [1, 2, 300]


def test_many_labels_of_which_some_are_new_find_their_classes() -> None:
    X, y = blobs(8, 200, M=3)
    for family in FAMILIES.values():
        model = small().partial_fit(X[:3], family[[4, 3, 3]])
        model.partial_fit(X, family[y]).partial_fit(X, family[y])
        counts = [*(2 * np.bincount(y)), 2, 1]
        assert model.classes_.tolist() == family.tolist()
        assert model._state.classes.seen.tolist() == counts


# Renaming and counting


@pytest.mark.parametrize("update", ["mistakes", "all"])
def test_permuting_the_classes_permutes_the_scores(update: Any) -> None:
    X, y = blobs(26, 80, M=3)
    new = np.array([2, 0, 1])  # class m becomes class new[m]
    one, other = small(update=update), small(update=update)
    predictions = one.predict_then_learn(X, y)[1:].astype(int)
    permuted = other.predict_then_learn(X, new[y])[1:].astype(int)
    assert_array_equal(new[predictions], permuted)
    assert_array_equal(other.decision_function(X)[:, new], one.decision_function(X))


def test_rows_and_updates_are_counted() -> None:
    X, y = blobs(27, 100)
    model = small()
    mistakes = int(np.count_nonzero(model.predict_then_learn(X, y) != y))
    assert (model.n_samples_seen_, model.n_updates_) == (100, mistakes)
    mistakes += int(np.count_nonzero(model.predict_then_learn(X, y) != y))
    assert (model.n_samples_seen_, model.n_updates_) == (200, mistakes)
    everything = small(update="all").fit(X, y)
    assert (everything.n_samples_seen_, everything.n_updates_) == (100, 100)
