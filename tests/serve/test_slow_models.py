"""Costs are estimated before learning; a slow model does not block the others."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np
import pytest

from learners import TWO_CLASS
from rpnb import PooledClassifier
from rpnb.client import Client, ServeError
from rpnb.estimators.mini_batches import model_to_bytes
from rpnb.estimators.registry import learners
from rpnb.serve.commands import Create, Learn
from rpnb.serve.limits import ApiError, Limits
from rpnb.serve.restoring import same_state
from rpnb.serve.specs import ModelSpec, new_learner
from rpnb.serve.writer import Writer
from serve.process import ServerProcess, wait_until
from serve.replays import replayed_state

Start = Callable[..., ServerProcess]
RNG = np.random.default_rng(0)


def test_a_flood_of_labels_is_refused_before_it_is_written(client: Client) -> None:
    client.create("flood", "OnlineBayes", features=1000)
    X = RNG.normal(size=(150, 1000))
    client.learn("flood", X[:2], ["a", "b"])
    before = client.download("flood")
    with pytest.raises(ServeError, match="max_state") as caught:
        client.learn("flood", X, [f"label {i}" for i in range(150)])
    assert caught.value.status == 413
    assert client.download("flood") == before
    assert client.model("flood")["classes"] == ["a", "b"]
    client.delete("flood")


def test_rows_that_would_take_too_long_are_refused(tmp_path: Path) -> None:
    spec = ModelSpec("GaussianNB", {}, 10, None, ("a", "b"))
    each = spec.steps(1, 2)
    writer = Writer(tmp_path, Limits(max_steps=100 * each))

    async def learn(n: int) -> int:
        command = Learn(name="m", X=np.ones((n, 10)), labels=["a"] * n, observe=False)
        try:
            return int((await writer.submit(command))["learned"])
        except ApiError as error:
            return error.status

    async def work() -> None:
        writer.start()
        create = Create(name="m", spec=spec, learner=new_learner(spec))
        await writer.submit(create)
        assert await learn(101) == 413
        assert await learn(100) == 100
        # Twice as many may wait.
        writer.models["m"].backlog = 101 * each
        assert await learn(100) == 503
        writer.models["m"].backlog = 99 * each
        assert await learn(100) == 100

    asyncio.run(work())
    writer.stop()


@pytest.mark.parametrize("name", learners())
def test_states_hold_no_more_numbers_than_estimated(name: str, tmp_path: Path) -> None:
    """The bound is one: states are saved with all their arrays."""
    for p, classes in ((3, 2), (20, 2), (20, 12), (200, 5)):
        if name in TWO_CLASS and classes > 2:
            continue
        X = RNG.normal(size=(60, p))
        y = np.array([f"c{i % classes}" for i in range(60)])
        model = learners()[name].estimator()
        model.partial_fit(X, y, classes=np.unique(y) if name in TWO_CLASS else None)
        model.save(tmp_path / "model.rpnb")
        held = (tmp_path / "model.rpnb").stat().st_size / 8
        most = learners()[name].state_numbers({}, p, classes) + 20_000
        assert held <= most, (p, classes)


def test_states_after_many_rows_hold_no_more_numbers_than_estimated() -> None:
    """Boosted trees keep rows: the state grows for a long time."""
    for p, classes in ((5, 2), (20, 4)):
        X = RNG.normal(size=(20_000, p))
        model = PooledClassifier(random_state=0)
        model.partial_fit(X, (X[:, 0] > 0) + 2 * (X[:, 1] > 1) * (classes > 2))
        held = len(model_to_bytes(model)) / 8
        assert held <= learners()["Pooled"].state_numbers({}, p, classes)


def test_a_slow_model_does_not_stop_the_others(start: Start, tmp_path: Path) -> None:
    server = start()
    X = RNG.normal(size=(17, 600))
    labels = [f"label {i}" for i in range(17)]
    done: list[str] = []
    with Client(server.address, retries=0, timeout=300) as client:
        client.create("slow", "OnlineBayes", features=600)
        client.create("quick", "GaussianNB", features=2)
        client.learn("slow", X[:2], labels[:2])

        def learn() -> None:
            with Client(server.address, retries=0, timeout=300) as other:
                found = other.observe("slow", X[2:], labels[2:], key="k")
                assert len(found) == 15
            done.append("slow")

        def repeat() -> None:
            with Client(server.address, retries=0, timeout=300) as other:
                assert len(other.observe("slow", X[2:], labels[2:], key="k")) == 15

        thread = threading.Thread(target=learn)
        thread.start()
        wait_until(lambda: client.health()["oldest_write_seconds"] or done)
        again = threading.Thread(target=repeat)
        again.start()
        oldest = 0.0
        for i in range(5):
            client.learn("quick", [[i, 1.0]], ["a"])
            client.predict("quick", [[i, 1.0]], remember=True, ids=[f"{i}"])
            client.label("quick", [f"{i}"], ["b"])
            assert len(client.predict("slow", X).labels) == 17
            oldest = max(oldest, client.health()["oldest_write_seconds"])
            done.append("quick")
        # Its own writes and rows wait, in order; they are in the log.
        client.predict("slow", X[:2], remember=True, ids=["a", "b"])
        assert client.forget("slow", ["a"]) == ["forgotten"]
        client.label("slow", ["b"], labels[1:2])
        client.learn("slow", X[:1], labels[:1])
        thread.join()
        again.join()
        assert done.index("slow") > 0, done
        assert oldest > 0
        metrics = httpx.get(f"{server.address}/metrics").text
        assert "rpnb_log_oldest_seconds" in metrics
        assert client.model("slow")["learned"] == 19
        state = client.download("slow")
    server.stop()
    replayed = replayed_state(tmp_path / "served", "slow")
    assert replayed is not None
    assert same_state(state, replayed)


def test_forgetting_does_not_stop_the_others(start: Start, tmp_path: Path) -> None:
    server = start()
    X = RNG.normal(size=(3000, 20))
    y = ["a" if x > 0 else "b" for x in X[:, 0]]
    with Client(server.address, retries=0, timeout=300) as client:
        client.create("m", "OnlineBagging", features=20)
        client.create("quick", "GaussianNB", features=2)
        ids = ["a", "b", "c", "d", "e"]
        client.predict("m", X[:5], remember=True, ids=ids)
        client.label("m", ids, y[:5])
        client.learn("m", X, y)
        answers: list[list[str]] = []

        def forget() -> None:
            with Client(server.address, retries=0, timeout=300) as other:
                answers.append(other.forget("m", ids[1:3]))

        thread = threading.Thread(target=forget)
        thread.start()
        client.learn("quick", [[0.0, 1.0]], ["a"])
        found = client.observe("m", X[:50], y[:50])
        thread.join()
        assert answers == [["forgotten", "forgotten"]]
        assert len(found) == 50
        assert client.model("m")["learned"] == 3053
        state = client.download("m")
    server.stop()
    replayed = replayed_state(tmp_path / "served", "m")
    assert replayed is not None
    assert same_state(state, replayed)
