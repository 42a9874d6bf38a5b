"""A thread that reads Kafka topics and passes their messages to the writer.

A message is a JSON object. One with `row` and `label` is learned. One with `row` and
`id` is predicted and waits for its label; one with `id` and `label` labels it, even if
it arrives first. One with all three labels the row that waits under this id, or is
learned if there is none.
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
from rpnb.serve.http.request_tables import TableParts
from rpnb.serve.kafka.topic_command import FromTopic, LearnNamed, stored_offsets
from rpnb.serve.limits import ApiError, Limits, invalid
from rpnb.serve.log import LogError, open_log
from rpnb.serve.served_model import ServedModel
from rpnb.serve.writer import Writer

log = logging.getLogger("rpnb.serve")

# Largest number of messages that are read at a time, and seconds to wait for them.
_MOST_MESSAGES: Final = 500
_WAIT_SECONDS: Final = 0.2
# Seconds before a retry, and between two searches for new partitions.
_RETRY_SECONDS: Final = 1.0
_SEARCH_SECONDS: Final = 60.0
# Seconds between two searches while a topic is missing.
_MISSING_SECONDS: Final = 5.0

# Parts of a request to which the fields of a message correspond.
_PARTS: Final = {"row": "rows", "label": "labels", "id": "ids"}
# Kind of a message by its fields.
_KINDS: Final[Mapping[frozenset[str], str]] = {
    frozenset({"row", "label"}): "learn",
    frozenset({"row", "label", "id"}): "named",
    frozenset({"row", "id"}): "remember",
    frozenset({"id", "label"}): "label",
}


@dataclass(frozen=True, slots=True)
class KafkaOptions:
    """Kafka brokers and topics to read from.

    Parameters
    ----------
    brokers
        Addresses of brokers, separated by commas.
    topics
        Name of the model for each topic.
    settings
        Additional settings of librdkafka, such as those for TLS.
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
    """what to do with it; "" if it is invalid"""
    fields: Mapping[str, Any]
    problem: str = ""


@final
class KafkaSource:
    """Reads topics into the log of a service.

    Parameters
    ----------
    options
        Brokers, topics and settings.
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
        self._repeated: dict[str, int] = dict.fromkeys(options.topics, 0)
        self._missing: list[str] = []
        self._lags: dict[tuple[str, int], int] = {}

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start reading; commands are submitted in the given event loop."""
        self._loop = loop
        self._thread.start()

    def stop(self) -> None:
        """Stop after the messages that have been read."""
        self._stopping.set()
        self._thread.join()

    def collect(self) -> Iterator[Any]:
        """Yield the metrics for Prometheus."""
        for name, text, counts in (
            ("messages", "Messages read.", self._messages),
            ("refused", "Messages refused.", self._refused),
            ("repeated", "Messages skipped: read before.", self._repeated),
        ):
            family = CounterMetricFamily(f"rpnb_kafka_{name}", text, labels=("topic",))
            for topic, count in counts.items():
                family.add_metric((topic,), count)
            yield family
        lag = GaugeMetricFamily(
            "rpnb_kafka_lag",
            "Messages of a partition that have not been read yet.",
            labels=("topic", "partition"),
        )
        for (topic, partition), behind in list(self._lags.items()):
            lag.add_metric((topic, str(partition)), behind)
        yield lag

    # The thread

    def _run(self) -> None:
        """Read until the service stops; after an error, from the offsets in the log."""
        while not self._stopping.is_set():
            try:
                self._consume()
            except Exception as error:
                log.error("reading from Kafka failed", exc_info=error)
                self._lags = {}  # nothing is assigned to the next consumer
                self._stopping.wait(_RETRY_SECONDS)

    def _consume(self) -> None:
        """Read messages until the service stops; look for new partitions."""
        settings = {
            "group.id": "rpnb",
            **self._options.settings,
            "bootstrap.servers": self._options.brokers,
            # Offsets are in the log of the service.
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
        consumer = self._kafka.Consumer(settings, logger=log)
        try:
            searched = -_SEARCH_SECONDS
            while not self._stopping.is_set():
                pause = _SEARCH_SECONDS if self._lags else _RETRY_SECONDS
                if self._lags and self._missing:
                    pause = _MISSING_SECONDS
                if time.monotonic() - searched >= pause:
                    self._assign(consumer)
                    searched = time.monotonic()
                if not self._lags:
                    self._stopping.wait(_WAIT_SECONDS)
                    continue
                found = consumer.consume(_MOST_MESSAGES, _WAIT_SECONDS)
                self._write(consumer, list(self._read(found)))
        finally:
            consumer.close()

    def _assign(self, consumer: Any) -> None:
        """Read all partitions of the topics, from the offsets in the log."""
        try:
            there = consumer.list_topics(timeout=5.0).topics
        except self._kafka.KafkaException as error:
            log.warning("Kafka does not answer", extra={"problem": str(error)})
            return
        found = [
            topic
            for topic in self._options.topics
            if topic in there and there[topic].error is None
        ]
        missing = [each for each in self._options.topics if each not in found]
        if missing != self._missing:
            self._missing = missing
            for topic in missing:
                log.warning("topic not found", extra={"topic": topic})
        wanted = {
            (topic, partition)
            for topic in found
            for partition in there[topic].partitions
        }
        if not wanted or wanted == self._lags.keys():
            return
        self._lags = {each: self._lags.get(each, 0) for each in sorted(wanted)}
        self._seek(consumer)
        log.info("reading from Kafka", extra={"partitions": len(wanted)})

    def _seek(self, consumer: Any) -> None:
        """Continue from the offsets in the log."""
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
                log.warning("Kafka error", extra={"problem": str(message.error())})
                continue
            place = (message.topic(), message.partition(), message.offset())
            try:
                fields = _fields(message.value())
            except ApiError as error:
                yield _Message(*place, "", {}, error.message)
            else:
                yield _Message(*place, _KINDS[frozenset(fields)], fields)

    def _write(self, consumer: Any, messages: list[_Message]) -> None:
        """Write messages to the log, those of a partition in their order."""
        messages.sort(key=lambda each: (each.topic, each.partition, each.offset))
        for _, some in groupby(messages, lambda each: each[:2]):
            # Rows of a request are all lists or all objects.
            for kind, alike in groupby(
                some, lambda each: (each.kind, type(each.fields.get("row")))
            ):
                if not self._write_alike(kind[0], list(alike)):
                    # Later messages must not be written before these.
                    self._seek(consumer)
                    self._stopping.wait(_RETRY_SECONDS)
                    return
        for each in self._lags:
            behind = consumer.get_watermark_offsets(
                self._kafka.TopicPartition(*each), cached=True
            )
            if behind is not None and behind[1] >= 0:
                self._lags[each] = max(behind[1] - self._next.get(each, 0), 0)

    def _write_alike(self, kind: str, messages: Sequence[_Message]) -> bool:
        """Write messages of one kind; return False if they must be tried again.

        If they are refused, they are written one by one, and those that are refused
        then are skipped.
        """
        first = messages[0]
        name = self._options.topics[first.topic]
        if not kind:
            return all(self._skip(name, each, each.problem) for each in messages)
        try:
            self._submit(name, messages, self._command(name, kind, messages))
        except ApiError as error:
            if error.status in (404, 503):  # may succeed later
                log.warning(
                    "messages wait",
                    extra={"topic": first.topic, "problem": error.message},
                )
                return False
            if len(messages) == 1:
                return self._skip(name, first, error.message)
            return all(self._write_alike(kind, [each]) for each in messages)
        return True

    def _skip(self, name: str, message: _Message, problem: str) -> bool:
        """Count and log an invalid message, and continue after it."""
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
        """Write a command and the offset after its messages."""
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
        answer = asyncio.run_coroutine_threadsafe(submitted, self._loop).result()
        if answer == {"repeated": True}:
            self._repeated[first.topic] += len(messages)
            log.warning(
                "messages were read before",
                extra={
                    "topic": first.topic,
                    "partition": first.partition,
                    "offset": first.offset,
                    "problem": "if the topic was deleted and created again, use "
                    "another name: messages are skipped up to the old offset",
                },
            )
        self._next[first.topic, first.partition] = following
        self._messages[first.topic] += len(messages)
        for each, problem in command.refused:
            self._refused[first.topic] += 1
            log.warning(
                "early label refused",
                extra={"topic": first.topic, "id": each, "problem": problem},
            )

    def _command(self, name: str, kind: str, messages: Sequence[_Message]) -> Command:
        """Return the command of messages, which are checked like a request."""
        model = self._writer.models.get(name)
        if model is None:
            raise no_model()
        about: dict[str, Any] = {"name": model.name, "number": model.id}
        limits = self._writer.limits
        if kind == "learn":
            table = _table(model, limits, messages, ("row", "label"))
            return Learn(**about, X=table.X, labels=table.labels, observe=False)
        if kind == "named":
            table = _table(model, limits, messages, ("row", "label", "id"))
            return LearnNamed(
                **about, X=table.X, ids=table.ids or [], labels=table.labels
            )
        if kind == "label":
            table = _table(model, limits, messages, ("id", "label"))
            return LabelRows(**about, ids=table.ids or [], labels=table.labels)
        table = _table(model, limits, messages, ("row", "id"))
        compared = model.keeps_probabilities(len(table.X))
        found = model.predict(table.X, confidence=True, probabilities=compared)
        return Remember(
            **about,
            X=table.X,
            ids=table.ids,
            probabilities=False,
            found=found,
            categories=table.categories,
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
    """Return rows, labels and ids of messages, checked like those of a request."""
    parts = TableParts(
        [_PARTS[each] for each in wanted], (), model.columns, limits, MemoryCharge()
    )
    for each in wanted:
        parts.add(_PARTS[each], [message.fields[each] for message in messages])
    return parts.table()
