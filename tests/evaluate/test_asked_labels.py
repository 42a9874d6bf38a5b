"""Learners that get the labels they ask for; and labels each with its own delay."""

from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from river.naive_bayes import GaussianNB as RiverNB
from sklearn.linear_model import SGDClassifier

from estimators.streams import blobs, cuts, seeds
from oracles.asking import asked_rows
from rpnb import PooledClassifier
from rpnb.baselines import PA, GaussianNB
from rpnb.evaluate import estimate_error, prequential
from rpnb.evaluate.drivers.asked_labels import AskingDriver

FEW = ["binned_bayes", "neighbours", "transitions"]


def pool(**options: Any) -> PooledClassifier:
    return PooledClassifier(FEW, random_state=0, **options)


@pytest.mark.parametrize("budget", [0.1, 0.4])
def test_a_budget_gives_the_predictions_of_the_loop(budget: float) -> None:
    X, y = blobs(3, n=150)
    model, answers, rows, weights = GaussianNB(), [], [], []
    for t in range(150):
        known = model.__sklearn_is_fitted__()
        answers.append(model.predict_next(X[t : t + 1])[0] if known else None)
        asked = model.ask(X[t : t + 1], budget)
        if len(asked.rows):
            rows.append(t)
            weights.append(asked.weights[0])
            model.partial_fit(X[t : t + 1], y[t : t + 1])
    result = prequential(GaussianNB(), X, y, budget=budget, keep_answers=True)
    course = result["GaussianNB"]
    assert list(course.answers or ()) == answers
    assert result.models["GaussianNB"].n_samples_seen_ == len(rows) < 150
    # A row without a prediction is wrong.
    predicted = np.array([-1 if answers[t] is None else answers[t] for t in rows])
    assert course.asked == estimate_error(y[rows], predicted, weights)


@settings(max_examples=6)
@given(seeds, st.sampled_from([None, 7]), st.data())
def test_requests_do_not_depend_on_the_chunking(
    seed: int, delay: int | None, data: st.DataObject
) -> None:
    X, y = blobs(seed)
    chunks = [(X[part], y[part]) for part in data.draw(cuts(len(y)))]
    models = {"NB": GaussianNB(), "PA": PA(), "pool": pool(delays="varying")}
    options: dict[str, Any] = {"budget": 0.3, "delay": delay, "keep_answers": True}
    table = prequential(models, X, y, **options)
    parts = prequential(models, iter(chunks), every=7, **options)
    for name in table:
        assert parts[name].answers == table[name].answers
        assert repr(parts[name].asked) == repr(table[name].asked)


def test_learners_of_any_library_ask_and_those_without_probabilities_at_random() -> (
    None
):
    X, y = blobs(5, n=200)
    models = {"River": RiverNB(), "SGD": SGDClassifier(random_state=0), "PA": PA()}
    result = prequential(models, X, y, budget=0.2, metrics=["error"])
    at_random, _ = asked_rows([1.0] * 200, 0.2, 1.0, 0)
    for name in ("SGD", "PA", "majority class"):
        found = result[name].asked
        assert found is not None
        assert found.labels == sum(at_random)
    found = result["River"].asked
    assert found is not None
    assert 10 < found.labels <= 71
    assert prequential(PA(), X, y)["PA"].asked is None


def test_metrics_of_probabilities_are_those_of_all_rows() -> None:
    X, y = blobs(5, n=200)
    model, losses = GaussianNB().partial_fit(X[:20], y[:20], classes=np.unique(y)), []
    before = deepcopy(model)
    for t in range(20, 200):
        row = X[t : t + 1]
        P = model.predict_next_proba(row)[0, np.searchsorted(model.classes_, y[t])]
        losses.append(-np.log(max(P, 2.0**-52)))
        if len(model.ask(row, 0.2).rows):
            model.partial_fit(row, y[t : t + 1])
    found = prequential(before, X[20:], y[20:], budget=0.2, metrics=["log_loss"])
    assert_allclose(found["GaussianNB"].last("log_loss"), np.mean(losses))


def test_rows_whose_labels_never_arrive_are_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept: list[int] = []
    predict = AskingDriver.predict

    def counted(self: AskingDriver, block: Any) -> Any:
        kept.append(len(self._asked))
        return predict(self, block)

    X, y = blobs(5, n=600)
    delays = np.where(np.arange(600) % 2, np.inf, 20.0)
    options: dict[str, Any] = {"delay": delays, "references": False}
    whole = prequential(GaussianNB(), X, y, budget=0.5, **options)
    monkeypatch.setattr(AskingDriver, "predict", counted)
    chunks = [
        (X[i : i + 10], y[i : i + 10], delays[i : i + 10]) for i in range(0, 600, 10)
    ]
    frames = [(pd.DataFrame(x).assign(late=d), labels) for x, labels, d in chunks]
    options["delay"] = "late"
    parts = prequential(GaussianNB(), frames, budget=0.5, every=600, **options)
    assert len(kept) >= 60
    assert 0 < max(kept) <= 40
    assert parts["GaussianNB"].asked == whole["GaussianNB"].asked


def test_a_budget_must_be_a_share() -> None:
    X, y = blobs(5, n=20)
    for budget in (0.0, 1.5):
        with pytest.raises(ValueError, match="budget must be"):
            prequential(PA(), X, y, budget=budget)


@settings(max_examples=8)
@given(seeds, st.sampled_from(["error", "log_loss"]), st.data())
def test_a_pool_of_varying_delays_is_that_of_the_loop(
    seed: int, metric: Any, data: st.DataObject
) -> None:
    X, y = blobs(seed, n=80)
    n = len(y)
    delays = np.array(data.draw(st.lists(st.integers(0, 25), min_size=n, max_size=n)))
    never = np.random.default_rng(seed).random(n) < 0.1
    arrival = np.where(never, np.inf, np.arange(n) + np.maximum(delays, 1))
    model, answers = pool(delays="varying"), []
    ids: dict[int, Any] = {}
    for t in range(n + 30):
        for s in np.flatnonzero(arrival == t).tolist() if t < n else []:
            if s in ids:
                model.learn_later(ids[s], y[s : s + 1])
            else:
                model.partial_fit(X[s : s + 1], y[s : s + 1])
        if t < n and model.__sklearn_is_fitted__():
            labels, ids[t] = model.predict_later(X[t : t + 1])
            answers.append(labels[0])
        elif t < n:
            answers.append(None)
    result = prequential(
        {"pool": pool(delays="varying")},
        X,
        y,
        arrival=arrival,
        leftover="drop",
        metrics=[metric],
        every=data.draw(st.integers(1, 80)),
        keep_answers=True,
    )
    assert list(result["pool"].answers or ()) == answers
    found = result.models["pool"]
    if model.__sklearn_is_fitted__():
        assert_array_equal(found.predict_next_proba(X), model.predict_next_proba(X))
        assert found.weights_ == model.weights_
