"""What every command has: a model, a key, and how it is written and answered."""

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
    """Something that changes the log."""

    name: str
    """of the model"""
    number: int | None = None
    """of the model that the request was checked against"""
    key: str | None = None
    """of the client, for safe retries"""
    event: int | None = None
    """id of the event that the command has become"""
    repeats: int | None = None
    """id of the event that a retry repeats, whose answer is not known yet"""

    alone: ClassVar[bool] = False
    """whether it needs a transaction of its own"""
    replays: ClassVar[bool] = False
    """whether it may lead to another state, which its answer waits for"""

    @property
    def rows(self) -> int:
        """About how many rows it has."""
        return 1

    @property
    def rows_to_read(self) -> Sequence[str]:
        """Ids of the rows of the log that it will ask for."""
        return ()

    @property
    @abstractmethod
    def digest(self) -> bytes:
        """A digest of what is asked for: a key stands for one request only."""

    def namespace(self, group: Group) -> int:
        """Return the id of the model that the key belongs to."""
        return group.model(self.name, self.number, changing=False).id

    @abstractmethod
    def write(self, group: Group) -> dict[str, Any] | None:
        """Check and write it; return the answer, None if it follows from the event."""

    def answer(
        self, group: Group, answers: dict[tuple[int, str], str]
    ) -> dict[str, Any] | ApiError:
        """Return the answer that follows from the event, after it was applied."""
        event = self.event if self.repeats is None else self.repeats
        labels = group.predictions.get(event or 0)
        if labels is None:
            return not_learned()
        found = {"labels": labels, "learned": len(labels)}
        if self.key is not None and self.repeats is None and self.number is not None:
            answers[self.number, self.key] = json.dumps(found)
        return found


def not_learned() -> ApiError:
    """Return the error of a request whose event is on the disk and not in the state."""
    return unavailable("the rows are in the log, but could not be learned")


def digest_of(*parts: Any) -> bytes:
    """Return a digest of bytes and JSON values."""
    found = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else json.dumps(part).encode()
        found.update(len(data).to_bytes(8, "little") + data)
    return found.digest()
