"""A thread that reads topics of Kafka and hands their messages to the writer.

A message is a JSON object: `row` and `label` are learned; `row` and `id` are predicted
and wait for their label; `id` and `label` label such a row, whichever came first.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple, final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from rpnb.serve.commands import Command, LabelRows, Learn, Remember, no_model
from rpnb.serve.http.json_tables import parse_json
from rpnb.serve.http.memory import MemoryCharge
from rpnb.serve.http.tables import TableParts
from rpnb.serve.kafka.command import FromTopic, stored_offsets
from rpnb.serve.limits import ApiError, Limits, invalid
from rpnb.serve.log import LogError, open_log
from rpnb.serve.models import ServedModel
from rpnb.serve.writer import Writer

log = logging.getLogger("rpnb.serve")

# Messages that are read at a time, and seconds to wait for the first of them.
_AT_ONCE: Final = 500
_WAIT: Final = 0.2
# Seconds after which what failed is tried again, and new partitions are looked for.
_PAUSE: Final = 1.0
_LOOK: Final = 60.0

#: Parts of a request that the fields of a message are.
_PARTS: Final = {"row": "rows", "label": "labels", "id": "ids"}
#: What a message asks for, by its fields.
_KINDS: Final[Mapping[frozenset[str], str]] = {
    frozenset({"row", "label"}): "learn",
    frozenset({"row", "label", "id"}): "learn",
    frozenset({"row", "id"}): "remember",
    frozenset({"id", "label"}): "label",
}


@dataclass(frozen=True, slots=True)
class KafkaOptions:
    """Where messages come from.

    Parameters
    ----------
    brokers
        Addresses of brokers, parted by commas.
    topics
        Model of each topic.
    settings
        Settings of librdkafka besides, such as those for TLS.
    """

    brokers: str
    topics: Mapping[str, str]
    settings: Mapping[str, str]


class _Message(NamedTuple):
    """A message that has been read."""

    topic: str
    partition: int
    offset: int
    kind: str
    """what it asks for; "" if it cannot be used"""
    fields: Mapping[str, Any]
    problem: str = ""


@final
class KafkaSource:
    """Topics that are read into the log of a service.

    Parameters
    ----------
    options
        Where messages come from.
    folder
        Folder of the log.
    writer
        The log and the models.
    """

    def __init__(self, options: KafkaOptions, folder: Path, writer: Writer) -> None:
        try:
            import confluent_kafka
        except ImportError as error:
            raise LogError(f"{error}: pip install 'rpnb[kafka]'") from error
        self._kafka: Any = confluent_kafka
        self._options, self._writer = options, writer
        with open_log(folder) as connection:
            self._next = stored_offsets(connection)
        connection.close()
        self._thread = threading.Thread(target=self._run, name="rpnb-kafka")
        self._stopping = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self._messages: dict[str, int] = dict.fromkeys(options.topics, 0)
        self._refused: dict[str, int] = dict.fromkeys(options.topics, 0)
        self._lags: dict[tuple[str, int], int] = {}

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start to read; commands are submitted in this event loop."""
        self._loop = loop
        self._thread.start()

    def stop(self) -> None:
        """Stop after the messages at hand."""
        self._stopping.set()
        self._thread.join()

    def collect(self) -> Iterator[Any]:
        """Yield figures for Prometheus."""
        for name, text, counts in (
            ("messages", "Messages that were read.", self._messages),
            ("refused", "Messages that could not be used.", self._refused),
        ):
            family = CounterMetricFamily(f"rpnb_kafka_{name}", text, labels=("topic",))
            for topic, count in counts.items():
                family.add_metric((topic,), count)
            yield family
        lag = GaugeMetricFamily(
            "rpnb_kafka_lag",
            "Messages of a partition that are not read yet.",
            labels=("topic", "partition"),
        )
        for (topic, partition), behind in list(self._lags.items()):
            lag.add_metric((topic, str(partition)), behind)
        yield lag

    # The thread

    def _run(self) -> None:
        settings = {
            "group.id": "rpnb",
            **self._options.settings,
            "bootstrap.servers": self._options.brokers,
            # The log knows how far topics are read.
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
        consumer = self._kafka.Consumer(settings, logger=log)
        try:
            looked = -_LOOK
            while not self._stopping.is_set():
                if time.monotonic() - looked >= (_LOOK if self._lags else _PAUSE):
                    self._assign(consumer)
                    looked = time.monotonic()
                if not self._lags:
                    self._stopping.wait(_WAIT)
                    continue
                found = consumer.consume(_AT_ONCE, _WAIT)
                self._take(consumer, list(self._read(found)))
        except Exception as error:
            log.error("reading from Kafka ended", exc_info=error)
        finally:
            consumer.close()

    def _assign(self, consumer: Any) -> None:
        """Read all partitions of the topics, from where the log has got to."""
        try:
            there = consumer.list_topics(timeout=5.0).topics
        except self._kafka.KafkaException as error:
            log.warning("Kafka does not answer", extra={"problem": str(error)})
            return
        wanted = {
            (topic, partition)
            for topic in self._options.topics
            if topic in there and there[topic].error is None
            for partition in there[topic].partitions
        }
        if not wanted or wanted == self._lags.keys():
            return
        self._lags = {each: self._lags.get(each, 0) for each in sorted(wanted)}
        self._seek(consumer)
        log.info("reading from Kafka", extra={"partitions": len(wanted)})

    def _seek(self, consumer: Any) -> None:
        """Continue where the log has got to."""
        beginning = self._kafka.OFFSET_BEGINNING
        consumer.assign(
            [
                self._kafka.TopicPartition(*each, self._next.get(each, beginning))
                for each in self._lags
            ]
        )

    def _read(self, found: Iterable[Any]) -> Iterator[_Message]:
        for message in found:
            if message.error() is not None:
                log.warning("Kafka", extra={"problem": str(message.error())})
                continue
            place = (message.topic(), message.partition(), message.offset())
            try:
                fields = _fields(message.value())
            except ApiError as error:
                yield _Message(*place, "", {}, error.message)
            else:
                yield _Message(*place, _KINDS[frozenset(fields)], fields)

    def _take(self, consumer: Any, messages: list[_Message]) -> None:
        """Hand messages over, those of a partition in their order."""
        messages.sort(key=lambda each: (each.topic, each.partition, each.offset))
        for _, some in groupby(messages, lambda each: each[:2]):
            # Rows of a request are all lists or all objects.
            for kind, alike in groupby(
                some, lambda each: (each.kind, type(each.fields.get("row")))
            ):
                if not self._hand_over(kind[0], list(alike)):
                    # Nothing of what comes after it is handed over before it.
                    self._seek(consumer)
                    self._stopping.wait(_PAUSE)
                    return
        for each in self._lags:
            behind = consumer.get_watermark_offsets(
                self._kafka.TopicPartition(*each), cached=True
            )
            if behind is not None and behind[1] >= 0:
                self._lags[each] = max(behind[1] - self._next.get(each, 0), 0)

    def _hand_over(self, kind: str, messages: Sequence[_Message]) -> bool:
        """Write messages that are alike; return False if they must be tried again.

        Where some of them are refused, they are written one by one, and those that are
        refused then are passed over.
        """
        first = messages[0]
        name = self._options.topics[first.topic]
        if not kind:
            return all(self._pass_over(name, each, each.problem) for each in messages)
        try:
            self._submit(name, messages, self._command(name, kind, messages))
        except ApiError as error:
            if error.status in (404, 503):  # not yet
                log.warning(
                    "messages wait",
                    extra={"topic": first.topic, "problem": error.message},
                )
                return False
            if len(messages) == 1:
                return self._pass_over(name, first, error.message)
            return all(self._hand_over(kind, [each]) for each in messages)
        return True

    def _pass_over(self, name: str, message: _Message, problem: str) -> bool:
        """Note that a message cannot be used, and go on after it."""
        try:
            self._submit(name, [message], None)
        except ApiError:
            return False
        self._refused[message.topic] += 1
        log.warning(
            "message refused",
            extra={
                "topic": message.topic,
                "partition": message.partition,
                "offset": message.offset,
                "problem": problem,
            },
        )
        return True

    def _submit(
        self, name: str, messages: Sequence[_Message], inner: Command | None
    ) -> None:
        first, following = messages[0], messages[-1].offset + 1
        command = FromTopic(
            name=name,
            number=None if inner is None else inner.number,
            inner=inner,
            topic=first.topic,
            partition=first.partition,
            first=first.offset,
            following=following,
        )
        submitted = self._writer.submit(command)
        asyncio.run_coroutine_threadsafe(submitted, self._loop).result()
        self._next[first.topic, first.partition] = following
        self._messages[first.topic] += len(messages)

    def _command(self, name: str, kind: str, messages: Sequence[_Message]) -> Command:
        """Return what messages ask for, checked as requests are."""
        model = self._writer.models.get(name)
        if model is None:
            raise no_model()
        about: dict[str, Any] = {"name": model.name, "number": model.id}
        limits = self._writer.limits
        if kind == "learn":
            table = _table(model, limits, messages, ("row", "label"))
            return Learn(**about, X=table.X, labels=table.labels, observe=False)
        if kind == "label":
            table = _table(model, limits, messages, ("id", "label"))
            return LabelRows(**about, ids=table.ids or [], labels=table.labels)
        table = _table(model, limits, messages, ("row", "id"))
        found = model.predict(table.X, confidence=True, probabilities=False)
        return Remember(
            **about, X=table.X, ids=table.ids, probabilities=False, found=found
        )


def _fields(value: bytes | None) -> dict[str, Any]:
    """Return the fields of a message."""
    found = parse_json(value or b"")
    if not isinstance(found, dict) or frozenset(found) not in _KINDS:
        raise invalid(
            "a message must be a JSON object with row and label, row and id, or id and "
            "label"
        )
    return found


def _table(
    model: ServedModel,
    limits: Limits,
    messages: Sequence[_Message],
    wanted: tuple[str, ...],
) -> Any:
    """Return rows, labels and ids of messages, checked as those of a request are."""
    parts = TableParts(
        [_PARTS[each] for each in wanted], (), model.columns, limits, MemoryCharge()
    )
    for each in wanted:
        parts.add(_PARTS[each], [message.fields[each] for message in messages])
    return parts.table()
