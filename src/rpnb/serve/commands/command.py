"""The base of all commands: their model and key, writing and answering."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rpnb.serve.commands.group import Group
from rpnb.serve.limits import ApiError, unavailable


@dataclass(slots=True, kw_only=True)
class Command(ABC):
    """A request that changes the log, or reads it in order."""

    name: str
    """name of the model"""
    number: int | None = None
    """number of the model that the request was checked against"""
    key: str | None = None
    """idempotency key of the client, for safe retries"""
    event: int | None = None
    """id of the event that the command has written"""
    repeats: int | None = None
    """id of the event that a retry repeats, if its answer is not known yet"""

    alone: ClassVar[bool] = False
    """whether it needs its own transaction"""
    replays: ClassVar[bool] = False
    """whether its answer waits for a replay of the model"""

    @property
    def rows(self) -> int:
        """Approximate number of rows."""
        return 1

    @property
    def rows_to_read(self) -> Sequence[str]:
        """Ids of the rows that it will read from the log."""
        return ()

    @property
    @abstractmethod
    def digest(self) -> bytes:
        """Digest of the request: a key stands for one request only."""

    def namespace(self, group: Group) -> int:
        """Return the id of the model that the key belongs to."""
        return group.model(self.name, self.number, changing=False).id

    @abstractmethod
    def write(self, group: Group) -> dict[str, Any] | None:
        """Check and write it; return the answer, None if it follows from the event."""

    def answer(
        self, group: Group, answers: dict[tuple[int, str], str]
    ) -> dict[str, Any] | ApiError:
        """Return the answer that follows from the event, once that is applied."""
        event = self.event if self.repeats is None else self.repeats
        answer = group.predictions.get(event or 0)
        if answer is None:
            return not_learned()
        labels = answer.labels
        found = {"labels": labels, "learned": len(labels)}
        if self.key is not None and self.repeats is None and self.number is not None:
            answers[self.number, self.key] = json.dumps(found)
        return found


def not_learned() -> ApiError:
    """Return the error of a request whose event is in the log but not learned."""
    return unavailable("the rows are in the log, but could not be learned")


def digest_of(*parts: Any) -> bytes:
    """Return a digest of bytes and JSON values."""
    found = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else json.dumps(part).encode()
        found.update(len(data).to_bytes(8, "little") + data)
    return found.digest()
