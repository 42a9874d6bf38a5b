"""`class_weight`: weights of classes, as in scikit-learn."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.class_weight import compute_sample_weight

from rpnb import PooledClassifier, RPNBClassifier
from rpnb.baselines import GaussianNB, OnlineBayes
from rpnb.estimators.mini_batches import learn_mini_batches
from rpnb.estimators.protocol import predicted_then_learned
from rpnb.estimators.stream.class_weights import balanced_weights
from rpnb.labels import LabelIndex
from rpnb.preprocessing import RunningScaler, make_stream_pipeline

rng = np.random.default_rng(0)
Y = np.array(["rare", "some", "usual"])[rng.choice(3, 120, p=[0.1, 0.3, 0.6])]
X = rng.normal(size=(120, 4)) + (Y == "rare")[:, None] - (Y == "some")[:, None]
FIXED = {"rare": 5.0, "some": 2.5}

LEARNERS: list[Any] = [
    lambda **kw: RPNBClassifier(5, random_state=0, temperature=None, **kw),
    lambda **kw: RPNBClassifier(5, random_state=0, scale="running", **kw),
    lambda **kw: GaussianNB(**kw),
    lambda **kw: OnlineBayes(**kw),
    lambda **kw: PooledClassifier(
        ["binned_bayes"], n_projections=16, random_state=0, **kw
    ),
    lambda **kw: make_stream_pipeline(RunningScaler(), GaussianNB(**kw)),
]
learners = pytest.mark.parametrize(
    "make", LEARNERS, ids=["rpnb", "scaled", "nb", "bayes", "pooled", "pipeline"]
)


def running(y: Any) -> Any:
    """The definition, row by row."""
    counts: dict[str, int] = {}
    weights = []
    for label in y.tolist():
        counts[label] = counts.get(label, 0) + 1
        n = sum(counts.values())
        weights.append(n / (len(counts) * counts[label]))
    return np.array(weights)


def states(model: Any) -> list[Any]:
    metadata, arrays = model._learner().export(model._state)
    return [metadata, *(arrays[name].tolist() for name in sorted(arrays))]


@learners
def test_fixed_weights_are_sample_weights(make: Any) -> None:
    weight = np.array([FIXED.get(label, 1.0) for label in Y.tolist()])
    one, two = make(class_weight=FIXED), make()
    assert_array_equal(
        one.predict_then_learn(X, Y),
        two.predict_then_learn(X, Y, sample_weight=weight),
    )
    assert states(one) == states(two)


@learners
def test_balanced_weights_follow_the_rows_so_far_however_they_are_cut(
    make: Any, tmp_path: Path
) -> None:
    one, two, cut = make(class_weight="balanced"), make(), make(class_weight="balanced")
    known = np.unique(Y)
    expected = two.predict_then_learn(X, Y, known, sample_weight=running(Y))
    assert_array_equal(one.predict_then_learn(X, Y, known), expected)
    assert states(one) == states(two)
    found = []
    for start, stop in ((0, 1), (1, 20), (20, 21), (21, 60), (60, 120)):
        if start == 60:  # a file and a pickle continue the counts
            cut.save(tmp_path / "model.rpnb")
            cut = type(cut).load(tmp_path / "model.rpnb")
            cut = pickle.loads(pickle.dumps(cut))  # noqa: S301 - our own
        part = slice(start, stop)
        found += cut.predict_then_learn(X[part], Y[part], known).tolist()
    assert found == expected.tolist()
    assert states(cut) == states(two)
    assert cut._class_counts.tolist() == [int((c == Y).sum()) for c in np.unique(Y)]


@learners
def test_fit_balances_as_scikit_learn_does(make: Any) -> None:
    weight = compute_sample_weight("balanced", Y)
    one, two = make(class_weight="balanced"), make()
    for model in (one, two):  # a pipeline's learner, and no detector, shuffles
        for name in {"shuffle", "learner__shuffle"} & {*model.get_params()}:
            model.set_params(**{name: False})
    one.fit(X, Y)
    two.fit(X, Y, sample_weight=weight)
    assert_array_equal(one.predict(X), two.predict(X))
    one.fit(X, Y)  # counts start again
    assert one._class_counts.sum() == 120


def test_rows_without_labels_are_not_counted() -> None:
    y = np.array([0, -1, 1, 0, -1, 0])
    counts = np.zeros(2, np.int64)
    assert_allclose(balanced_weights(y, counts), [1, 1, 1, 3 / 4, 1, 4 / 6])
    assert counts.tolist() == [3, 1]


@pytest.mark.parametrize("given", [FIXED, "balanced"])
def test_single_rows_files_and_evaluation_weigh_alike(
    given: Any, tmp_path: Path
) -> None:
    make = LEARNERS[0]
    one, two = make(class_weight=given), make(class_weight=given)
    one.partial_fit(X, Y)
    two.partial_fit(X[:60], Y[:60])
    two.save(tmp_path / "model.rpnb")
    two = RPNBClassifier.load(tmp_path / "model.rpnb")
    assert two.class_weight == given
    for x, label in zip(X[60:], Y[60:].tolist(), strict=True):
        two.learn_one(x, label)
    assert states(one) == states(two)
    three = make(class_weight=given).partial_fit(X[:60], Y[:60])
    predicted_then_learned(
        three, X[60:], LabelIndex().coded(Y[60:]), None, checked=True
    )
    assert states(three) == states(one)


def test_merged_models_count_the_rows_of_both() -> None:
    make = LEARNERS[0]
    base = make(class_weight="balanced").partial_fit(X[:40], Y[:40])
    one, two = (pickle.loads(pickle.dumps(base)) for _ in range(2))  # noqa: S301
    one.partial_fit(X[40:80], Y[40:80])
    two.partial_fit(X[80:], Y[80:])
    one.merge(two, base)
    assert one._class_counts.sum() == 120
    one.partial_fit(X[:1], Y[:1])


def test_rows_are_unlearned_with_their_weight() -> None:
    model = RPNBClassifier(5, random_state=0, update="all", class_weight=FIXED)
    model.partial_fit(X[:100], Y[:100])
    before = model._state.moments.weight.copy()
    model.partial_fit(X[100:], Y[100:])
    model.unlearn(X[100:], Y[100:])
    assert_allclose(model._state.moments.weight, before)
    model = RPNBClassifier(5, random_state=0, class_weight="balanced").fit(X, Y)
    with pytest.raises(ValueError, match="class_weight='balanced'"):
        model.unlearn(X[:1], Y[:1])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rare": 0.0}, "class_weight of 'rare' must be a finite number"),
        ({"rare": -1.0}, "class_weight of 'rare'"),
        ({"rare": np.nan}, "class_weight of 'rare'"),
        ({"rare": np.inf}, "class_weight of 'rare'"),
        ({"raer": 2.0}, "class_weight names the class 'raer', which is not in y"),
        ({1: 2.0}, "class_weight holds numbers"),
        ({}, "class_weight must be None, 'balanced' or a dictionary"),
        ("equal", "class_weight must be None, 'balanced' or a dictionary"),
        ([1.0, 2.0], "class_weight must be None, 'balanced' or a dictionary"),
    ],
)
def test_bad_weights_are_refused_and_change_nothing(given: Any, message: str) -> None:
    model = GaussianNB(class_weight=given)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "classes_")


def test_a_class_that_is_named_may_come_later() -> None:
    model = GaussianNB(class_weight={"later": 2.0})
    model.partial_fit(X, Y)
    model.partial_fit(X[:2], ["later", "later"])
    assert model._state.state.moments.weight[0] == 4.0


def test_blocks_of_mini_batches_have_weights_of_classes() -> None:
    by_row = GaussianNB(class_weight="balanced").partial_fit(X, Y)
    by_batch = GaussianNB(class_weight="balanced")
    for part in (slice(0, 50), slice(50, 120)):
        learn_mini_batches(by_batch, X[part], Y[part], batch_size=40)
    assert_allclose(by_batch.predict_log_proba(X), by_row.predict_log_proba(X))
    with pytest.raises(ValueError, match="class_weight of 'rare' must"):
        learn_mini_batches(GaussianNB(class_weight={"rare": -1.0}), X, Y)
