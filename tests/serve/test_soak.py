"""The soak accounts for every row and label, with and without an answer."""

import asyncio
from collections.abc import Callable

import numpy as np
import pytest

from rpnb.client import Client, ServeError
from serve.process import ServerProcess
from soak_serve import GaveUp, Life, acknowledged, send, verify


def test_a_request_without_an_answer_is_repeated_until_there_is_one() -> None:
    errors = [ServeError(0, "no_answer", ""), ServeError(503, "busy", "")]

    async def call() -> int:
        if errors:
            raise errors.pop(0)
        return 7

    life = Life()
    assert asyncio.run(acknowledged(call, life)) == 7
    assert life.repeated == 2


def test_an_error_of_the_request_itself_is_not_repeated() -> None:
    async def call() -> None:
        raise ServeError(422, "invalid", "no such column")

    life = Life()
    with pytest.raises(ServeError, match="no such column"):
        asyncio.run(acknowledged(call, life))
    assert life.repeated == 0


def test_what_got_no_answer_in_time_is_given_up_and_noted() -> None:
    async def call() -> None:
        await asyncio.sleep(0.01)
        raise ServeError(0, "no_answer", "no response")

    life = Life(patience=0.05)
    with pytest.raises(GaveUp, match="no response"):
        asyncio.run(send(call, life.labelled, {"row": "a"}, life))
    assert life.gave_up == 1
    assert life.labelled.given_up == {"row": "a"}
    assert life.labelled.acknowledged == {}


def test_the_log_is_compared_with_every_request(
    start: Callable[..., ServerProcess],
) -> None:
    X = np.random.default_rng(0).normal(size=(6, 2))
    server = start()
    with Client(server.address) as client:
        client.create("soak", "GaussianNB", features=2, classes=["a", "b"])
        client.observe("soak", X[:2], ["a", "b"])
        client.predict("soak", X[2:4], remember=True, ids=["c", "d"])
        client.label("soak", ["c"], ["a"])
    server.stop()

    def life() -> Life:
        """Return what clients saw whose requests were all acknowledged."""
        found = Life()
        found.observed.acknowledged = {X[0].tobytes(): "a", X[1].tobytes(): "b"}
        found.predicted.acknowledged = {"c": X[2].tobytes(), "d": X[3].tobytes()}
        found.labelled.acknowledged = {"c": "a"}
        return found

    assert verify(server.folder, life()) == []

    # Requests that were given up may be in the log, or not.
    given_up = life()
    given_up.labelled.given_up = {**given_up.labelled.acknowledged, "d": "b"}
    given_up.labelled.acknowledged = {}
    given_up.observed.given_up = {X[5].tobytes(): "a"}
    assert verify(server.folder, given_up) == []

    lost = life()
    lost.labelled.acknowledged["d"] = "b"
    lost.observed.acknowledged[X[5].tobytes()] = "a"
    assert verify(server.folder, lost) == [
        "labels acknowledged, and not in the log: 1",
        "observed rows acknowledged, and not in the log: 1",
    ]

    invented = life()
    del invented.predicted.acknowledged["d"]
    invented.labelled.acknowledged["c"] = "b"
    assert verify(server.folder, invented) == [
        "predicted rows in the log, and never sent: 1",
        "labels in the log with another value: 1",
    ]

    twice = life().observed.problems("rows", [(X[0].tobytes(), "a")] * 2)
    assert twice[-1] == "rows in the log more than once: 1"
