"""Predictions with late labels, as a client sees them, equal those of the library."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import rpnb
from rpnb.baselines import make
from rpnb.client import Client, ServeError
from serve.process import ServerProcess
from serve.streams import clusters

CLASSES = ["ash", "elm", "oak"]


def test_labels_come_late_in_any_order_and_twice(client: Client) -> None:
    client.create(
        "late", "RPNB", features=4, classes=CLASSES, n_estimators=5, random_state=1
    )
    X, y = clusters(60)
    model = rpnb.RPNBClassifier(5, random_state=1)
    model.partial_fit(X[:10], y[:10], classes=CLASSES)
    client.learn("late", X[:10], y[:10])
    found = client.predict("late", X[10:], remember=True, probabilities=True)
    assert found.labels == model.predict(X[10:]).tolist()
    assert found.ids is not None
    assert found.probabilities is not None
    assert found.probabilities.tolist() == model.predict_proba(X[10:]).tolist()
    assert client.model("late")["waiting"] == 50
    order = np.random.default_rng(3).permutation(50)
    for each in np.array_split(order, 4):
        ids = [found.ids[i] for i in each]
        labels = [y[10 + i] for i in each]
        assert client.label("late", ids, labels).results == ["learned"] * len(each)
        # Another label for the same row changes nothing.
        again = client.label("late", ids, ["oak"] * len(each))
        assert again.results == ["duplicate"] * len(each)
        model.partial_fit(X[10:][each], labels)
    after = client.predict("late", X)
    assert after.labels == model.predict(X).tolist()
    about = client.model("late")
    assert (about["learned"], about["scored"], about["waiting"]) == (60, 50, 0)
    wrong = [a != b for a, b in zip(found.labels, y[10:], strict=True)]
    assert about["error"] == pytest.approx(np.mean(wrong))


def test_an_id_that_does_not_wait_is_unknown(client: Client) -> None:
    client.create("unknown", "GaussianNB", features=2)
    result = client.label("unknown", ["nobody", "nobody"], ["a", "b"])
    assert result.results == ["unknown", "unknown"]
    assert client.model("unknown")["learned"] == 0


def test_clients_may_name_their_rows(client: Client) -> None:
    client.create("named", "GaussianNB", features=2, classes=["a", "b"])
    first = client.predict("named", [[1.0, 2.0]], remember=True, ids=["order-1"])
    assert first.ids == ["order-1"]
    # The same row again keeps its first prediction; another row is refused.
    again = client.predict("named", [[1.0, 2.0]], remember=True, ids=["order-1"])
    assert again == first
    with pytest.raises(ServeError, match="belongs to another row") as caught:
        client.predict("named", [[1.0, 3.0]], remember=True, ids=["order-1"])
    assert (caught.value.status, caught.value.row) == (409, 0)
    with pytest.raises(ServeError, match="the same id"):
        client.predict("named", [[1, 2], [3, 4]], remember=True, ids=["x", "x"])
    assert client.label("named", ["order-1", "order-1"], ["a", "a"]).results == [
        "learned",
        "duplicate",
    ]


@pytest.mark.parametrize(
    ("learner", "parameters"),
    [
        ("RPNB", {"n_estimators": 5, "random_state": 2}),
        ("RPNB", {"n_estimators": 5, "random_state": 2, "batch_size": 7}),
        ("AROW", {}),
        ("NoChange", {}),
    ],
)
def test_observing_is_predict_then_learn(
    client: Client, learner: str, parameters: dict[str, Any]
) -> None:
    name = f"observed-{learner}-{len(parameters)}"
    client.create(name, learner, features=4, **parameters)
    X, y = clusters(80, seed=5)
    model = rpnb.RPNBClassifier(**parameters) if learner == "RPNB" else make(learner)
    expected = []
    for part in (slice(0, 1), slice(1, 30), slice(30, 80)):
        expected += model.predict_then_learn(X[part], y[part]).tolist()
    client.batch_size = 1
    got = client.observe(name, X[:1], y[:1])
    client.batch_size = 5000
    got += client.observe(name, X[1:30], y[1:30])
    got += client.observe(name, X[30:], y[30:])
    assert got == expected
    about = client.model(name)
    assert expected[0] is None  # and so it is not scored
    assert (about["learned"], about["scored"]) == (80, 79)
    assert about["error"] == pytest.approx(
        np.mean([a != b for a, b in zip(expected[1:], y[1:], strict=True)])
    )
    assert about["references"]["no_change"] == pytest.approx(
        np.mean([a != b for a, b in pairwise(y)])
    )


@pytest.mark.parametrize("labels", [[3, 7, 3], [True, False, True]])
def test_labels_may_be_integers_or_booleans(client: Client, labels: list[int]) -> None:
    name = f"labels-{type(labels[0]).__name__}"
    client.create(name, "GaussianNB", features=1)
    assert client.predict(name, [[0.0]]).labels == [None]
    client.learn(name, [[0.0], [5.0], [0.1]], labels)
    found = client.predict(name, [[0.0], [5.0]]).labels
    assert found == labels[:2]
    assert [type(each) for each in found] == [type(labels[0])] * 2
    with pytest.raises(ServeError, match="those of this model are"):
        client.learn(name, [[1.0]], ["text"])


def test_rows_that_wait_are_limited_and_what_falls_out_is_counted(
    start: Callable[..., ServerProcess],
) -> None:
    server = start("--max-waiting", "5")
    with Client(server.address) as client:
        client.create("few", "GaussianNB", features=1, classes=["a", "b"])
        ids = [f"r{i}" for i in range(8)]
        client.predict("few", [[float(i)] for i in range(8)], remember=True, ids=ids)
        about = client.model("few")
        assert (about["waiting"], about["expired"]) == (5, 3)
        result = client.label("few", ids, ["a"] * 8)
        assert result.results == ["unknown"] * 3 + ["learned"] * 5
        assert client.model("few")["waiting"] == 0
