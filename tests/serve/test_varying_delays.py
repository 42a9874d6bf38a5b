"""A pool with varying delays learns from stored scores, also over restarts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rpnb import PooledClassifier
from rpnb.client import Client
from rpnb.serve.log import open_log
from rpnb.serve.maintenance import check
from serve.process import ServerProcess
from serve.streams import clusters
from serve.test_challengers import caught_up

MEMBERS = ["binned_bayes", "neighbours", "transitions"]
PARAMETERS: Any = {"members": MEMBERS, "delays": "varying", "random_state": 0}
X, Y = clusters(240)


def local() -> PooledClassifier:
    return PooledClassifier(MEMBERS, delays="varying", random_state=0)


def state_of(client: Client, folder: str) -> PooledClassifier:
    path = f"{folder}/model.rpnb"
    with open(path, "wb") as file:
        file.write(client.download("m"))
    return PooledClassifier.load(path)


@pytest.mark.parametrize("killed", [False, True])
def test_the_service_learns_what_learn_later_learns(
    killed: bool,
    start: Callable[..., ServerProcess],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = str(tmp_path_factory.mktemp("file"))
    server, expected = start(), local().partial_fit(X[:30], Y[:30])
    rng = np.random.default_rng(0)
    client = Client(server.address)
    client.create("m", "Pooled", features=4, **PARAMETERS)
    client.learn("m", X[:30], Y[:30])
    names: list[str] = []
    ids: list[int] = []
    for begin in range(30, 240, 30):
        rows = X[begin : begin + 30]
        found = client.predict("m", rows, remember=True)
        labels, numbers = expected.predict_later(rows)
        assert found.labels == labels.tolist()
        names += found.ids or []
        ids += numbers.tolist()
        some = rng.permutation(len(names))[:25].tolist()
        y = [Y[30 + ids[i]] for i in some]
        client.label("m", [names[i] for i in some], y)
        expected.learn_later([ids[i] for i in some], y)
        for i in sorted(some, reverse=True):
            del names[i], ids[i]
        if killed and begin == 120:
            client.close()
            server.kill()
            server = start()
            client = Client(server.address)
    served = state_of(client, folder)
    assert served.weights_ == expected.weights_
    assert_array_equal(served.predict_next_proba(X), expected.predict_next_proba(X))
    # The negative control: with the scores of the time of learning.
    plain = PooledClassifier(MEMBERS, random_state=0)
    assert plain.partial_fit(X, Y).weights_ != expected.weights_
    client.close()


def test_a_challenger_learns_what_learn_later_learns(
    start: Callable[..., ServerProcess], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = str(tmp_path_factory.mktemp("file"))
    server, expected = start("--snapshot-rows", "50"), local()
    expected.partial_fit(X[:30], Y[:30])
    client = Client(server.address)
    client.create("m", "GaussianNB", features=4)
    client.challenge("m", "pool", "Pooled", **PARAMETERS)
    client.learn("m", X[:30], Y[:30])
    names: list[str] = []
    ids: list[int] = []
    for begin in range(30, 240, 30):
        rows = X[begin : begin + 30]
        if begin == 180:  # from here on its own scores are in the log
            caught_up(client, "m")
            client.promote("m", "pool")
        found = client.predict("m", rows, remember=True)
        labels, numbers = expected.predict_later(rows)
        assert (found.labels == labels.tolist()) or begin < 180
        names += found.ids or []
        ids += numbers.tolist()
        now, later = slice(0, len(names), 2), slice(1, len(names), 2)
        y = [Y[30 + i] for i in ids[now]]
        client.label("m", names[now], y)
        expected.learn_later(ids[now], y)
        names, ids = names[later], ids[later]
        if begin == 120:
            caught_up(client, "m")
            client.close()
            server.kill()
            server = start("--snapshot-rows", "50")
            client = Client(server.address)
    served = state_of(client, folder)
    assert served.weights_ == expected.weights_
    assert_array_equal(served.predict_next_proba(X), expected.predict_next_proba(X))
    client.close()
    server.stop()
    assert all(sound for sound, _ in check(server.folder))


def test_damaged_scores_end_the_replay_and_are_named(
    start: Callable[..., ServerProcess],
) -> None:
    server = start()
    with Client(server.address) as client:
        client.create("m", "Pooled", features=4, **PARAMETERS)
        client.learn("m", X[:30], Y[:30])
        found = client.predict("m", X[30:33], remember=True)
        client.label("m", found.ids or [], Y[30:33])
    server.kill()
    connection = open_log(server.folder)
    connection.execute(
        "UPDATE rows SET scores=substr(scores, 1, 20) || x'00' || substr(scores, 22)"
    )
    connection.close()
    again = start()
    with Client(again.address) as client:
        assert "cannot be replayed" in client.model("m")["problem"]
