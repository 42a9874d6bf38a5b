"""The learners that a model has had: who was added, who answered when, what was named.

All of it is a function of the events of the log that have no rows. A *contender* is a
learner that learns the events of a model: the first one, and every challenger since.
Its number is the id of the event that added it, 0 for the first. Each learns all events
from its start on, whoever answers: the state of a contender at an event depends on the
log alone, and a promotion only changes which one answers.

A *version* is a name for the state of a contender as of an event.
"""

import json
import sqlite3
import zlib
from dataclasses import dataclass, field, replace
from typing import Any, final

from rpnb.serve.log import DAMAGE, EventError, LogError, checksum_of
from rpnb.serve.specs import ModelSpec

#: The name of the learner that a model was created with.
FIRST = "first"
CHALLENGE, WITHDRAW, PROMOTE = "challenge", "withdraw", "promote"
NAME_VERSION, DROP_VERSION = "version", "drop_version"


@dataclass(frozen=True, slots=True)
class Contender:
    """A learner that learns the events of a model."""

    number: int
    name: str
    spec: ModelSpec
    start: int
    """it learns the events after this one"""
    created: float
    origin: tuple[int, int] | None = None
    """the contender and the event whose state it begins with, if any"""
    withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class Version:
    """A name for a state."""

    number: int
    """of the event that named it"""
    name: str
    contender: int
    event: int
    """the last event that the state includes"""
    created: float


@dataclass(frozen=True, slots=True)
class Promotion:
    """A change of the learner that answers."""

    event: int
    time: float
    contender: int
    before: int
    back: bool
    """whether it took back another one"""


@final
@dataclass(frozen=True, slots=True)
class History:
    """The learners of a model."""

    contenders: dict[int, Contender]
    promotions: tuple[Promotion, ...] = ()
    versions: dict[str, Version] = field(default_factory=dict)

    @property
    def serving(self) -> Contender:
        """The contender that answers."""
        return self.contenders[self.promotions[-1].contender if self.promotions else 0]

    @property
    def alone(self) -> bool:
        """Whether the first learner has answered all rows."""
        return not self.promotions

    @property
    def challengers(self) -> list[Contender]:
        """The contenders that learn and do not answer."""
        serving = self.serving.number
        return [
            each
            for each in self.contenders.values()
            if not each.withdrawn and each.number != serving
        ]

    @property
    def live(self) -> list[Contender]:
        """The contender that answers, and the challengers."""
        return [self.serving, *self.challengers]

    def serving_at(self, event: int) -> int:
        """Return the number of the contender that answered after an event."""
        found = 0
        for each in self.promotions:
            if each.event > event:
                break
            found = each.contender
        return found

    def since(self, contender: int) -> int:
        """Return the event after which a contender last began or ceased to answer."""
        for each in reversed(self.promotions):
            if contender in (each.contender, each.before):
                return each.event
        return 0

    def find(self, name: str) -> Contender | None:
        """Return the contender of a name that is not withdrawn."""
        for each in self.contenders.values():
            if each.name == name and not each.withdrawn:
                return each
        return None

    def previous(self) -> Contender | None:
        """Return the contender that answered before, if it still learns."""
        for each in reversed(self.promotions):
            found = self.contenders[each.before]
            if not found.withdrawn and found.number != self.serving.number:
                return found
        return None

    def changed(self, event: int, kind: str, when: float, body: bytes) -> "History":
        """Return the history after one more event."""
        said: dict[str, Any] = json.loads(body)
        contenders, versions = dict(self.contenders), dict(self.versions)
        if kind == CHALLENGE:
            origin = said.get("origin")
            contenders[event] = Contender(
                event,
                said["name"],
                ModelSpec.from_json(said["spec"]),
                said["start"] if said["start"] is not None else event,
                when,
                None if origin is None else (origin[0], origin[1]),
            )
        elif kind == WITHDRAW:
            number = said["contender"]
            contenders[number] = replace(contenders[number], withdrawn=True)
        elif kind == PROMOTE:
            number, before = said["contender"], self.serving.number
            promotion = Promotion(event, when, number, before, said["back"])
            return replace(self, promotions=(*self.promotions, promotion))
        elif kind == NAME_VERSION:
            name = said["name"]
            versions[name] = Version(
                event, name, said["contender"], said["event"], when
            )
        elif kind == DROP_VERSION:
            del versions[said["name"]]
        else:
            raise LogError(f"no event is of the kind {kind}")
        return replace(self, contenders=contenders, versions=versions)


def new_history(spec: ModelSpec, created: float) -> History:
    """Return the history of a model that has had one learner."""
    return History({0: Contender(0, FIRST, spec, 0, created)})


def read_history(
    connection: sqlite3.Connection, model: int, spec: str, created: float
) -> History:
    """Return the history of a model, by its number and what it was created from.

    Raises
    ------
    EventError
        If one of its events is damaged.
    """
    found = new_history(ModelSpec.from_json(spec), created)
    number = 0
    try:
        for number, kind, when, body, checksum, header in connection.execute(
            "SELECT id, kind, time, body, checksum, header FROM events "
            "WHERE model=? AND n=0 ORDER BY id",
            (model,),
        ):
            about = checksum_of(model, kind, when, 0)
            if zlib.crc32(body) != checksum or header != about:
                raise EventError(number, "is damaged: its checksum is another")
            found = found.changed(number, kind, when, body)
    except EventError:
        raise
    except (LogError, KeyError, TypeError, ValueError, *DAMAGE) as error:
        problem = f"is damaged: it cannot be read ({type(error).__name__})"
        raise EventError(number, problem, f"{problem}: {error}") from error
    return found
