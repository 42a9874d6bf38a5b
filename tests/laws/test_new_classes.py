"""Undeclared classes: every learner, any division into calls, single rows."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimators.snapshots import frozen
from estimators.streams import FAMILIES, blobs, cuts, families, seeds, small
from learners import TWO_CLASS
from rpnb import baselines
from rpnb.estimators.stream.classifier import StreamClassifier

# Those that are made for two classes choose their form when they start.
LEARNERS = ["RPNB", *(name for name in baselines.names() if name not in TWO_CLASS)]


def make(name: str) -> StreamClassifier:
    if name == "RPNB":
        return small()
    drawing = name in ("OnlineBagging", "OnlineBoosting")
    small_trees = {"n_estimators": 3, "random_state": 0, "grace_period": 10.0}
    return baselines.make(name, **(small_trees if drawing else {}))


def knowledge(model: StreamClassifier) -> Any:
    _metadata, arrays = model._learner().export(model._state)
    return (
        frozen(arrays),
        model.classes_.tolist(),
        model.n_samples_seen_,
        model.n_updates_,
    )


@pytest.mark.parametrize("name", LEARNERS)
@settings(max_examples=12)
@given(data=st.data(), seed=seeds, family=families)
def test_classes_that_come_late_give_what_the_loop_gives_however_rows_are_cut(
    name: str, data: st.DataObject, seed: int, family: str
) -> None:
    n = data.draw(st.integers(1, 30))
    X, y = blobs(seed, n, M=4)
    # Class m comes no earlier than row 5·m, in an order that is not theirs.
    order = np.array(data.draw(st.permutations(range(4))))
    labels = FAMILIES[family][order[np.minimum(y, np.arange(n) // 5)]]
    declared = data.draw(st.sampled_from([None, FAMILIES[family][[4]]]))
    loop, by_calls = make(name), make(name)
    # Before the first row there is nothing to ask but what was declared.
    expected = [None] if declared is None else declared.tolist()
    loop.partial_fit(X[:1], labels[:1], declared)
    for row in range(1, n):
        expected += loop.predict(X[row : row + 1]).tolist()
        loop.partial_fit(X[row : row + 1], labels[row : row + 1])
    found: list[Any] = []
    for c in data.draw(cuts(n)):
        given_classes = declared if c.start == 0 else None
        found += by_calls.predict_then_learn(X[c], labels[c], given_classes).tolist()
    assert found == expected
    assert knowledge(by_calls) == knowledge(loop)
    assert loop.n_samples_seen_ == n


@pytest.mark.parametrize("name", ["OnlineBagging", "OnlineBoosting", "OnlineBayes"])
def test_a_late_class_learns_its_first_row_as_if_declared_just_before(
    name: str,
) -> None:
    X, y = blobs(3, 120, M=4)
    labels = FAMILIES["text"][np.minimum(y, np.arange(120) // 20)]
    late, declared = make(name).partial_fit(X, labels), make(name)
    for row in range(120):
        rows = slice(row, row + 1)
        declared.partial_fit(X[rows], labels[rows], classes=labels[rows])
    assert len(late.classes_) == 4
    assert knowledge(late) == knowledge(declared)


def test_rows_of_late_classes_weigh_what_they_are_given() -> None:
    X, y = blobs(4, 60, M=4)
    labels = np.minimum(y, np.arange(60) // 10)
    weight = np.random.default_rng(0).uniform(0.5, 3.0, 60)
    whole, loop = baselines.OnlineBayes(), baselines.OnlineBayes()
    whole.partial_fit(X, labels, sample_weight=weight)
    for row in range(60):
        rows = slice(row, row + 1)
        loop.partial_fit(X[rows], labels[rows], sample_weight=weight[rows])
    assert knowledge(whole) == knowledge(loop)
    # The prior counts as one row.
    expected = [1.0 + weight[labels == label].sum() for label in whole.classes_]
    np.testing.assert_allclose(whole._state.classes.weight, expected)
