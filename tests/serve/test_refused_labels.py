"""Labels that a learner would refuse are refused before they are in the log."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from sklearn.base import clone

from learners import TWO_CLASS
from rpnb.client import AsyncClient, Client, ServeError
from rpnb.estimators.learners.linear import LinearLearner
from rpnb.estimators.protocol import check_labels
from rpnb.estimators.registry import learners
from serve.process import ServerProcess, run_command

Start = Callable[..., ServerProcess]
LINEAR = [
    name
    for name, each in learners().items()
    if isinstance(each.estimator()._learner(), LinearLearner)
]
SMALL: dict[str, dict[str, Any]] = {
    "RPNB": {"n_estimators": 5},
    "Pooled": {"n_projections": 16, "window": 64},
    "OnlineBagging": {"n_estimators": 2},
    "OnlineBoosting": {"n_estimators": 2},
}


def mail(n: int, seed: int = 0) -> tuple[np.ndarray, list[str]]:
    """Return rows of two classes that a line separates."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] > 0, "spam", "ham").tolist()


def refused(call: Callable[[], object], row: int | None) -> ServeError:
    with pytest.raises(ServeError) as caught:
        call()
    assert caught.value.status == 422
    assert caught.value.row == row
    assert "Ham" not in str(caught.value)
    return caught.value


def test_one_misspelled_label_changes_nothing(start: Start) -> None:
    server = start()
    X, y = mail(1000)
    with Client(server.address, retries=0) as client:
        client.create("m", "AROW", features=3, classes=["ham", "spam"])
        client.learn("m", X, y)
        before, predicted = client.download("m"), client.predict("m", X).labels
        refused(lambda: client.learn("m", X[:1], ["Ham"]), 0)
        refused(lambda: client.learn("m", X[:3], ["ham", "spam", "Ham"]), 2)
        refused(lambda: client.observe("m", X[:3], ["ham", "Ham", "spam"]), 1)
        ids = ["a", "b", "c", "d"]
        client.predict("m", X[:4], remember=True, ids=ids)
        client.label("m", ["b"], ["ham"])
        before = client.download("m")
        # Row 3 of the request, though only three of its rows wait for a label.
        refused(lambda: client.label("m", ids, ["ham", "ham", "spam", "Ham"]), 3)
        assert client.download("m") == before
        # None of the rows was labelled, and the right labels are accepted.
        labelled = client.label("m", ids, ["ham", "ham", "spam", "ham"])
        assert labelled.results == ["learned", "duplicate", "learned", "learned"]
        assert client.observe("m", X[:3], y[:3]) == predicted[:3]
        assert client.health()["status"] == "ok"
        before = client.download("m")
    server.kill()
    with Client(start().address, retries=0) as client:
        assert client.model("m")["learned"] == 1007
        assert client.download("m") == before
        assert client.model("m")["classes"] == ["ham", "spam"]


@pytest.mark.parametrize("name", LINEAR)
def test_two_class_learners_refuse_a_third_class(client: Client, name: str) -> None:
    X, y = mail(40)
    served = f"two-{name}"
    client.create(served, name, features=3, classes=["ham", "spam"])
    client.learn(served, X, y)
    before = client.download(served)
    refused(lambda: client.learn(served, X[:2], ["ham", "Ham"]), 1)
    refused(lambda: client.observe(served, X[:1], ["Ham"]), 0)
    assert client.download(served) == before
    # A model file contains its two classes.
    client.upload(f"{served}-file", before)
    refused(lambda: client.learn(f"{served}-file", X[:1], ["Ham"]), 0)
    client.learn(f"{served}-file", X, y)
    client.learn(served, X, y)
    assert client.download(served) == client.download(f"{served}-file")
    for each in (served, f"{served}-file"):
        assert client.model(each)["problem"] is None
        client.delete(each)


def test_requests_of_one_transaction_count_together(start: Start) -> None:
    """Each of two new labels would be accepted; the second one is refused."""
    server = start()
    X, _ = mail(64)

    async def work() -> list[Any]:
        async with AsyncClient(server.address, retries=0) as client:
            await client.create("m", "PA", features=3, classes=["ham", "spam"])
            labels = [("ham", "Ham", "spam", "Spam")[i % 4] for i in range(64)]
            return await asyncio.gather(
                *(client.learn("m", X[i : i + 1], [labels[i]]) for i in range(64)),
                return_exceptions=True,
            )

    answers = asyncio.run(work())
    assert [each == 1 for each in answers] == [i % 2 == 0 for i in range(64)]
    assert {each.status for each in answers if each != 1} == {422}
    with Client(server.address) as client:
        assert client.model("m")["learned"] == 32
        assert client.health()["status"] == "ok"


@pytest.mark.parametrize("name", learners())
@pytest.mark.parametrize("declared", [None, ["a", "b"], ["a", "b", "c"]])
def test_the_dry_run_refuses_what_learning_refuses(
    name: str, declared: list[str] | None
) -> None:
    X = np.arange(12.0).reshape(4, 3)
    model = learners()[name].estimator(**SMALL.get(name, {}))
    try:
        check_labels(model, ["a", "b"]) if declared is None else None
        model.partial_fit(X[:2], ["a", "b"], classes=declared)
    except ValueError:
        with pytest.raises(ValueError, match=r"\w"):
            clone(model).partial_fit(X[:2], ["a", "b"], classes=declared)
        return
    for labels in (
        ["a", "b"],
        ["a", "z"],
        ["y", "z"],
        [1, 2],
        [True, False],
        ["", "a"],
    ):
        other = learners()[name].estimator(**SMALL.get(name, {}))
        other.partial_fit(X[:2], ["a", "b"], classes=declared)
        before = other._index.labels
        dry = learns = ""
        try:
            check_labels(other, labels)
        except ValueError as error:
            dry = str(error)
        assert other._index.labels == before
        try:
            other.partial_fit(X[2:], labels)
        except ValueError as error:
            learns = str(error)
        assert dry == learns


@pytest.mark.parametrize("name", learners())
def test_whatever_is_created_can_learn(client: Client, name: str) -> None:
    X, y = mail(20)
    for declared in (None, ["ham", "spam"], ["ham", "spam", "other"], ["ham"]):
        served = f"created-{name}"
        given = {"classes": declared, **SMALL.get(name, {})}
        if name in TWO_CLASS and declared != ["ham", "spam"]:
            with pytest.raises(ServeError, match="exactly two classes") as caught:
                client.create(served, name, features=3, **given)
            assert caught.value.status == 422
            continue
        client.create(served, name, features=3, **given)
        client.learn(served, X, y)
        assert {*client.predict(served, X).labels} <= {"ham", "spam", "other"}
        assert client.model(served)["problem"] is None
        client.delete(served)


@pytest.mark.parametrize(
    "parameters",
    [
        {"class_weight": "heavy"},
        {"class_weight": 2.0},
        {"class_weight": ["a", "b"]},
        {"batch_size": -1},
        {"batch_size": "a"},
        {"temperature": "cold"},
        {"update": "never"},
        {"combiner": "none"},
        {"scale": "often"},
    ],
)
def test_parameters_that_learning_would_refuse(
    client: Client, parameters: dict[str, Any]
) -> None:
    with pytest.raises(ServeError, match="parameter") as caught:
        client.create("odd", "RPNB", features=3, **parameters)
    assert caught.value.status == 422


def test_a_closed_set_of_classes(start: Start) -> None:
    server = start()
    X, y = mail(50)
    with Client(server.address, retries=0) as client:
        client.create(
            *("m", "GaussianNB"),
            features=3,
            classes=["ham", "spam", "other"],
            new_classes="refuse",
        )
        client.create("open", "GaussianNB", features=3, classes=["ham", "spam"])
        client.learn("m", X, y)
        client.learn("open", X[:1], ["Ham"])
        error = refused(lambda: client.learn("m", X[:2], ["spam", "Ham"]), 1)
        assert "new_classes" in str(error)
        refused(lambda: client.observe("m", X[:1], ["Ham"]), 0)
        found = client.predict("m", X[:2], remember=True)
        refused(lambda: client.label("m", found.ids or [], ["other", "Ham"]), 1)
        assert client.model("m")["new_classes"] == "refuse"
        assert client.model("open")["new_classes"] == "accept"
        # The same with a file, whose classes are the closed set.
        client.upload("file", client.download("m"), new_classes="refuse")
        client.upload("file-open", client.download("m"))
        refused(lambda: client.learn("file", X[:1], ["Ham"]), 0)
        client.learn("file-open", X[:1], ["Ham"])
    server.kill()
    with Client(start().address, retries=0) as client:
        for name in ("m", "file"):
            refused(partial(client.learn, name, X[:1], ["Ham"]), 0)
            client.learn(name, X[:1], ["other"])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"new_classes": "refuse"}, "needs classes"),
        ({"new_classes": "never", "classes": ["a"]}, "must be"),
        ({"new_classes": True, "classes": ["a"]}, "must be"),
        ({"classes": ["a", "b", "a"]}, "only once"),
    ],
)
def test_what_a_set_of_classes_must_be(
    shared: ServerProcess, body: dict[str, Any], words: str
) -> None:
    answer = httpx.post(
        f"{shared.address}/v1/models",
        json={"name": "set", "learner": "GaussianNB", "n_features": 1, **body},
    )
    assert answer.status_code == 422
    assert words in answer.json()["error"]["message"]


def test_a_wrong_rule_for_an_uploaded_file(client: Client, shared: Any) -> None:
    client.create("whole", "GaussianNB", features=3)
    client.learn("whole", *mail(10))
    answer = httpx.put(
        f"{shared.address}/v1/models/whole-2/file?new_classes=maybe",
        content=client.download("whole"),
        headers={"content-type": "application/octet-stream"},
    )
    assert answer.status_code == 422


def test_nothing_of_it_is_in_the_log(start: Start, tmp_path: Path) -> None:
    server = start()
    X, y = mail(30)
    with Client(server.address, retries=0) as client:
        client.create("m", "SCW1", features=3, classes=["ham", "spam"])
        client.learn("m", X, y)
        refused(lambda: client.learn("m", X[:1], ["Ham"]), 0)
    server.kill()
    checked = run_command("serve", server.folder, "--check")
    assert checked.returncode == 0, checked.stdout
    for path in server.folder.iterdir():
        assert b'"Ham"' not in path.read_bytes()
