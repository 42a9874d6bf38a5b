"""`ask`, of every learner with probabilities: calls, files and refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from oracles.asking import asked_rows
from rpnb import PooledClassifier, RPNBClassifier
from rpnb.baselines import PA, GaussianNB, OnlineBagging
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.drift import DriftAware
from rpnb.estimators.mini_batches import model_from_bytes, model_to_bytes
from rpnb.estimators.saving.files import ModelFileError, read_model, write_model
from rpnb.preprocessing import RunningScaler, make_stream_pipeline

LEARNERS: dict[str, Any] = {
    "naive Bayes": GaussianNB(),
    "trees": OnlineBagging(3, random_state=0),
    "RPNB": RPNBClassifier(10, random_state=0),
    "pool": PooledClassifier(["shared_covariance", "binned_bayes"], random_state=0),
    "scaled": make_stream_pipeline(RunningScaler(), GaussianNB()),
    "drift": DriftAware(GaussianNB()),
}


def drawn(n: int) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(11)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 4)) + 1.5 * np.eye(4)[y], y


X, Y = drawn(600)


def learned(name: str) -> Any:
    return clone(LEARNERS[name]).partial_fit(X[:60], Y[:60])


@pytest.mark.parametrize("name", LEARNERS)
def test_rows_are_those_of_the_twin_and_do_not_depend_on_calls(name: str) -> None:
    whole, cut = learned(name), learned(name)
    found = whole.ask(X, budget=0.1, random_state=7)
    parts = [
        cut.ask(X[i : i + 50], budget=0.1, random_state=7) for i in range(0, 600, 50)
    ]
    doubt = 1.0 - whole.predict_next_proba(X).max(axis=1)
    asked, _ = asked_rows(np.clip(doubt, 0.0, 1.0).tolist(), 0.1, 0.2, 7)
    assert_array_equal(found.rows, np.flatnonzero(asked))
    assert_array_equal(
        found.rows, np.concatenate([50 * i + part.rows for i, part in enumerate(parts)])
    )
    assert_array_equal(
        found.probabilities, np.concatenate([part.probabilities for part in parts])
    )
    assert_array_equal(found.weights, 1.0 / found.probabilities[found.rows])


@pytest.mark.parametrize("name", LEARNERS)
def test_asking_changes_no_prediction(name: str) -> None:
    asked, other = learned(name), learned(name)
    asked.ask(X[60:300])
    for model in (asked, other):
        model.partial_fit(X[300:400], Y[300:400])
    assert_array_equal(asked.predict_next_proba(X), other.predict_next_proba(X))


@pytest.mark.parametrize("name", ["naive Bayes", "RPNB", "pool", "scaled"])
def test_a_saved_model_goes_on_asking(name: str, tmp_path: Path) -> None:
    model = learned(name)
    model.ask(X[:200], budget=0.1)
    path = tmp_path / "model.rpnb"
    model.save(path)
    others = [type(model).load(path)]
    if name != "scaled":  # which is a wrapper, and goes to other processes in a file
        others.append(model_from_bytes(model_to_bytes(model), learned(name)))
    expected = model.ask(X[200:], budget=0.1)
    for other in others:
        for a, b in zip(other.ask(X[200:], budget=0.1), expected, strict=True):
            assert_array_equal(a, b)
    fresh = learned(name).ask(X[200:], budget=0.1)
    assert not np.array_equal(fresh.rows, expected.rows)  # the negative control


@pytest.mark.parametrize(
    "values", [[1.0, 2.0, 0.0, 0.0], [-1.0, -1.0, 0.0, 0.0], [5.0, 2.0, 0.0, 2.0]]
)
def test_a_forged_count_is_refused(values: list[float], tmp_path: Path) -> None:
    path = tmp_path / "model.rpnb"
    model = learned("naive Bayes")
    model.ask(X[:20])
    model.save(path)
    metadata, arrays = read_model(path)
    arrays["asking"] = np.array(values)
    write_model(path, metadata, arrays)
    with pytest.raises(ModelFileError, match="asked for"):
        GaussianNB.load(path)


def test_a_model_without_data_asks_for_the_first_rows_and_goes_on() -> None:
    model = GaussianNB()
    first = model.ask(X[:40], budget=0.05)
    assert first.rows[:10].tolist() == list(range(10))
    model.partial_fit(X[first.rows], Y[first.rows])
    second = model.ask(X[40:], budget=0.05)
    assert second.rows.shape[0] < 60
    model.fit(X, Y)
    assert model.ask(X[:40]).rows[:10].tolist() == list(range(10))


def test_uncertain_rows_are_asked_for_more_often() -> None:
    model = learned("naive Bayes")
    found = model.ask(X, budget=0.2)
    doubt = 1.0 - model.predict_proba(X).max(axis=1)
    chances = found.probabilities[100:]
    order = np.argsort(doubt[100:])
    assert chances[order[-100:]].mean() > 4.0 * chances[order[:100]].mean()
    assert (chances > 0.0).all()


def test_a_budget_of_one_asks_for_every_row() -> None:
    found = learned("pool").ask(X, budget=1.0)
    assert found.rows.shape[0] == 600
    assert (found.weights == 1.0).all()


def test_learners_without_probabilities_cannot_ask() -> None:
    assert not hasattr(PA(), "ask")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"budget": 0.0}, "budget must be"),
        ({"budget": 1.1}, "budget must be"),
        ({"random_share": 0.0}, "random_share must be"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_bad_arguments_are_refused_and_change_nothing(
    given: dict[str, Any], message: str
) -> None:
    model, other = learned("naive Bayes"), learned("naive Bayes")
    with pytest.raises(ValueError, match=message):
        model.ask(X[:30], **given)
    with pytest.raises(ValueError, match="features"):
        model.ask(X[:30, :2])
    assert_array_equal(model.ask(X).rows, other.ask(X).rows)
