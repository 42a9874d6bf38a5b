"""A served model predicts the same as its learner."""

import asyncio
import threading
import time
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rpnb.estimators.registry import learners
from rpnb.serve.endpoints.batches import PredictionBatches
from rpnb.serve.log import LabelledEvent
from rpnb.serve.served_model import ServedModel
from rpnb.serve.specs import ModelSpec, new_learner
from serve.streams import clusters


@pytest.mark.parametrize("combiner", ["log_sum", "product", "vote", "median"])
def test_labels_beside_probabilities_are_those_of_predict(combiner: str) -> None:
    parameters = {"n_estimators": 5, "random_state": 0, "combiner": combiner}
    spec = ModelSpec("RPNB", parameters, 4, None, ("ash", "elm", "oak"))
    model = ServedModel(1, "m", spec, new_learner(spec), 0.0)
    X, y = clusters(60)
    X = np.concatenate([X, np.zeros((2, 4))])
    for learned in range(0, 60, 20):
        found = model.predict(X, confidence=True, probabilities=True)
        assert found.labels == model.learner.predict_next(X).tolist()
        assert_array_equal(found.probabilities, model.learner.predict_proba(X))
        places = np.searchsorted(found.classes, np.array(found.labels))
        P = np.array(found.probabilities)
        assert found.confidence == P[np.arange(62), places].tolist()
        part = slice(learned, learned + 20)
        event = LabelledEvent(learned + 1, "learn", 0.0, X[part], y[part], None, None)
        model.apply([event])


@pytest.mark.parametrize("name", ["RPNB", "GaussianNB"])
def test_only_labels_that_do_not_follow_from_probabilities_are_predicted(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = ModelSpec(name, {}, 4, None, ("ash", "elm", "oak"))
    model = ServedModel(1, "m", spec, new_learner(spec), 0.0)
    X, y = clusters(60)
    model.apply([LabelledEvent(1, "learn", 0.0, X, y, None, None)])
    expected = model.learner.predict_next(X).tolist()
    monkeypatch.setattr(type(model.learner), "predict_next", lambda _, X: np.array(y))
    assert expected != y
    found = model.predict(X, confidence=True, probabilities=False)
    assert found.labels == (expected if name == "RPNB" else y)


@pytest.mark.parametrize("name", ["AROW", "GaussianNB", "NoChange"])
def test_learners_with_and_without_probabilities(name: str) -> None:
    assert name in learners()
    spec = ModelSpec(name, {}, 4, None, ("ash", "elm", "oak"))
    model = ServedModel(1, "m", spec, new_learner(spec), 0.0)
    X, y = clusters(20)
    before = model.predict(X, confidence=True, probabilities=True)
    # Declared classes are equally probable before anything is learned.
    equal: Any = [1 / 3] * 20 if name == "GaussianNB" else [None] * 20
    if name == "GaussianNB":
        equal = pytest.approx(equal, rel=1e-12)
    assert before.confidence == equal
    model.apply([LabelledEvent(1, "learn", 0.0, X, y, None, None)])
    found = model.predict(X, confidence=True, probabilities=True)
    assert found.labels == model.learner.predict_next(X).tolist()
    assert (found.probabilities is None) == (name != "GaussianNB")


def test_without_a_class_there_is_no_label() -> None:
    spec = ModelSpec("GaussianNB", {}, 4, None, None)
    model = ServedModel(1, "m", spec, new_learner(spec), 0.0)
    found = model.predict(np.zeros((2, 4)), confidence=True, probabilities=True)
    assert found.labels == [None, None]
    assert found.probabilities is None


@pytest.mark.parametrize("learning", [False, True])
def test_requests_that_arrive_together_get_their_own_predictions(
    learning: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = ModelSpec("GaussianNB", {}, 4, None, ("ash", "elm", "oak"))
    model = ServedModel(1, "m", spec, new_learner(spec), 0.0)
    X, y = clusters(30)
    model.apply([LabelledEvent(1, "learn", 0.0, X, y, None, None)])
    calls = []
    predict = model.learner.predict_next_proba

    def counted(rows: np.ndarray) -> np.ndarray:
        calls.append(len(rows))
        result: np.ndarray = predict(rows)
        return result

    monkeypatch.setattr(model.learner, "predict_next_proba", counted)
    batches = PredictionBatches()

    async def work() -> None:
        found = await asyncio.gather(
            *(
                batches.predict(model, X[i : i + 2], probabilities=i == 4)
                for i in range(0, 10, 2)
            )
        )
        for i, each in zip(range(0, 10, 2), found, strict=True):
            assert each.labels == model.learner.predict_next(X[i : i + 2]).tolist()
            assert (each.probabilities is None) == (i != 4)
        assert calls == [10]

    async def with_a_bad_row() -> None:
        found = await asyncio.gather(
            batches.predict(model, X[:1], probabilities=False),
            batches.predict(model, X[:1, :3], probabilities=False),
            return_exceptions=True,
        )
        assert all(isinstance(each, ValueError) for each in found)

    if learning:  # the event loop does not wait for it
        model.lock.acquire()
        threading.Timer(0.1, model.lock.release).start()
        started = time.monotonic()
        asyncio.run(work())
        assert time.monotonic() - started > 0.09
    else:
        asyncio.run(work())
        asyncio.run(with_a_bad_row())
