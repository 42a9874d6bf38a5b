"""Rows and labels from Kafka are learned exactly once, also over kills.

The mock cluster of the client lives in this process and listens on a port of this
machine; the service is another process, which can be killed.
"""

import asyncio
import json
import random
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pytest

import rpnb
from rpnb.client import Client
from rpnb.serve.kafka.source import KafkaOptions, KafkaSource
from serve.process import ServerProcess, run_command, wait_until

confluent_kafka = pytest.importorskip("confluent_kafka")

N = 300
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3)).round(4)
Y = ["up" if row[0] + row[1] > 0 else "down" for row in X]
GIVEN: dict[str, Any] = {"n_projections": 16, "random_state": 0}


class Cluster:
    """A mock cluster, and messages for it."""

    def __init__(self) -> None:
        settings = {"test.mock.num.brokers": 1, "bootstrap.servers": "mock"}
        self._producer = confluent_kafka.Producer(settings)
        brokers = self._producer.list_topics(timeout=30).brokers.values()
        self.address = ",".join(f"{each.host}:{each.port}" for each in brokers)

    def send(self, topic: str, values: list[Any], partition: int = 0) -> None:
        for value in values:
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            self._producer.produce(topic, data, partition=partition)
        assert self._producer.flush(30) == 0


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def options(cluster: Cluster, *topics: str) -> list[str]:
    words = ["--kafka", cluster.address]
    for topic in topics:
        words += ["--kafka-topic", f"{topic}=rows"]
    return words


def wait_for(client: Client, **counts: int) -> None:
    """Wait until a model has these counts, which change between events."""

    def reached() -> bool:
        about = client.model("rows")
        return {name: about[name] for name in counts} == counts

    wait_until(reached, f"the counts are {counts}")


def wait_for_metric(server: ServerProcess, line: str) -> None:
    address = f"{server.address}/metrics"
    wait_until(lambda: line in httpx.get(address).text, line)


def learned(rows: slice = slice(None)) -> rpnb.PooledClassifier:
    return rpnb.PooledClassifier(**GIVEN).partial_fit(X[rows], Y[rows])


def of(client: Client, folder: Path) -> rpnb.PooledClassifier:
    """Return the model file of the service."""
    path = folder / "now.rpnb"
    path.write_bytes(client.download("rows"))
    model: rpnb.PooledClassifier = rpnb.load(path)
    return model


def test_each_message_is_learned_once_over_kills(
    start: Callable[..., ServerProcess], cluster: Cluster, tmp_path: Path
) -> None:
    words = options(cluster, "stream")
    server = start(*words)
    with Client(server.address) as client:
        client.create("rows", features=3, **GIVEN)
    messages = [{"row": x.tolist(), "label": y} for x, y in zip(X, Y, strict=True)]
    draw = random.Random(1)  # noqa: S311
    sent = 0
    while sent < N:
        more = draw.randint(1, 60)
        cluster.send("stream", messages[sent : sent + more])
        sent = min(sent + more, N)
        time.sleep(draw.random() / 2)
        server.kill()
        server = start(*words)
    with Client(server.address) as client:
        wait_for(client, learned=N)
        time.sleep(1.0)
        assert client.model("rows")["learned"] == N
        expected = learned().predict_proba(X)
        np.testing.assert_array_equal(of(client, tmp_path).predict_proba(X), expected)
        wait_for_metric(server, 'rpnb_kafka_lag{partition="0",topic="stream"} 0.0')
    server.stop()
    assert run_command("serve", server.folder, "--check").returncode == 0


def test_labels_may_come_before_their_rows(
    start: Callable[..., ServerProcess], cluster: Cluster, tmp_path: Path
) -> None:
    words = options(cluster, "rows", "labels")
    labels = [{"id": f"r{i}", "label": y} for i, y in enumerate(Y)]
    rows = [{"id": f"r{i}", "row": x.tolist()} for i, x in enumerate(X)]
    cluster.send("labels", labels[:200])
    server = start(*words)
    with Client(server.address) as client:
        client.create("rows", features=["a", "b", "c"], **GIVEN)
        time.sleep(3.0)  # labels alone
        assert client.model("rows")["learned"] == 0
    server.kill()
    named = [
        {**each, "row": dict(zip("abc", each["row"], strict=True))} for each in rows
    ]
    cluster.send("rows", [*rows[:100], *named[100:]])
    server = start(*words)
    with Client(server.address) as client:
        wait_for(client, waiting=100, learned=200)
        cluster.send("labels", [*labels[200:], *labels[:50]])  # some of them again
        wait_for(client, waiting=0, learned=N)
        time.sleep(1.0)
        assert client.model("rows")["learned"] == N
        assert of(client, tmp_path).n_samples_seen_ == N
    server.stop()
    assert run_command("serve", server.folder, "--check").returncode == 0


def test_bad_messages_are_passed_over_and_counted(
    start: Callable[..., ServerProcess], cluster: Cluster, tmp_path: Path
) -> None:
    good = [{"row": x.tolist(), "label": y} for x, y in zip(X[:20], Y, strict=False)]
    bad: list[Any] = [
        b"no json",
        {"row": [1.0, 2.0, 3.0]},
        {"row": [1.0, 2.0], "label": "up"},
        {"row": [1.0, "x", 2.0], "label": "up"},
        {"row": [1.0, 2.0, 3.0], "label": 7},
        [1, 2],
    ]
    mixed = [*good[:10], *bad[:3], *good[10:15], *bad[3:], *good[15:]]
    cluster.send("stream", mixed)  # before there is a model
    server = start(*options(cluster, "stream"))
    with Client(server.address) as client:
        time.sleep(2.0)
        client.create("rows", features=3, **GIVEN)
        wait_for(client, learned=20)
        np.testing.assert_array_equal(
            of(client, tmp_path).predict_proba(X), learned(slice(20)).predict_proba(X)
        )
        topic = '{topic="stream"}'
        wait_for_metric(server, f"rpnb_kafka_refused_total{topic} {len(bad)}.0")
    server.stop()
    refused = [each for each in server.lines if each["message"] == "message refused"]
    assert {each["offset"] for each in refused} == {10, 11, 12, 18, 19, 20}


def test_an_error_of_the_client_does_not_end_the_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rpnb.serve.kafka.source._RETRY_SECONDS", 0.01)
    assigned = []

    class Consumer:
        """A client whose first two instances fail while they read."""

        def __init__(self, *_given: Any, **_settings: Any) -> None:
            pass

        def list_topics(self, **_given: Any) -> Any:
            topic = SimpleNamespace(error=None, partitions=[0])
            return SimpleNamespace(topics={"stream": topic})

        def assign(self, partitions: list[Any]) -> None:
            assigned.append([each.offset for each in partitions])

        def consume(self, *_given: Any) -> list[Any]:
            if len(assigned) <= 2:
                raise RuntimeError("the client failed")
            return []

        def get_watermark_offsets(self, *_given: Any, **_how: Any) -> None:
            pass

        def close(self) -> None:
            pass

    nobody: Any = None  # no message reaches the log
    topics = KafkaOptions("nowhere", {"stream": "rows"}, {})
    source = KafkaSource(topics, tmp_path, nobody)
    monkeypatch.setattr(confluent_kafka, "Consumer", Consumer)
    with closing(asyncio.new_event_loop()) as loop:
        source.start(loop)
        try:
            wait_until(lambda: len(assigned) == 3, "it reads again")
        finally:
            source.stop()
    assert assigned == [[confluent_kafka.OFFSET_BEGINNING]] * 3


def test_missing_topics_and_repeated_messages_are_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A topic that was created again begins with offsets that were read before."""
    message = SimpleNamespace(
        error=lambda: None,
        topic=lambda: "stream",
        partition=lambda: 0,
        offset=lambda: 0,
        value=lambda: b"{}",
    )
    given = [[message], []]

    class Consumer:
        def __init__(self, *_given: Any, **_settings: Any) -> None:
            pass

        def list_topics(self, **_given: Any) -> Any:
            topic = SimpleNamespace(error=None, partitions=[0])
            return SimpleNamespace(topics={"stream": topic})

        def assign(self, _partitions: list[Any]) -> None:
            pass

        def consume(self, *_given: Any) -> list[Any]:
            time.sleep(0.01)
            return given.pop(0) if given else []

        def get_watermark_offsets(self, *_given: Any, **_how: Any) -> None:
            pass

        def close(self) -> None:
            pass

    async def repeated(_command: Any) -> dict[str, bool]:
        return {"repeated": True}

    async def main() -> None:
        source.start(asyncio.get_running_loop())
        await asyncio.to_thread(wait_until, lambda: not given, "it has read")
        await asyncio.to_thread(source.stop)

    writer: Any = SimpleNamespace(submit=repeated)
    topics = KafkaOptions("nowhere", {"stream": "rows", "later": "rows"}, {})
    source = KafkaSource(topics, tmp_path, writer)
    monkeypatch.setattr(confluent_kafka, "Consumer", Consumer)
    with caplog.at_level("WARNING", "rpnb.serve"):
        asyncio.run(main())
    found = {each.getMessage(): vars(each) for each in caplog.records}
    assert found["topic not found"]["topic"] == "later"
    assert found["messages were read before"]["offset"] == 0
    counts = {
        sample.labels["topic"]: sample.value
        for family in source.collect()
        for sample in family.samples
        if sample.name == "rpnb_kafka_repeated_total"
    }
    assert counts == {"stream": 1, "later": 0}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--kafka", "x"], "--kafka needs --kafka-topic"),
        (["--kafka-topic", "a=b"], "need --kafka BROKERS"),
        (["--kafka", "x", "--kafka-topic", "a"], "must be TOPIC=MODEL"),
    ],
)
def test_options_that_do_not_fit(words: list[str], said: str, tmp_path: Path) -> None:
    done = run_command("serve", tmp_path / "log", *words)
    assert done.returncode == 2
    assert said in done.stderr
