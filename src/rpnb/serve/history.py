"""History of a model: its learners, which of them served when, and named versions.

It follows from the events of the log that have no rows. A *contender* is a learner that
learns the events of a model: the first one, and every challenger since. Its number is
the id of the event that added it, 0 for the first. Each learns all events after its
start, whichever is serving: the state of a contender depends on the log alone, and a
promotion only changes which one serves.

A *version* is a name for the state of a contender after an event.
"""

import json
import sqlite3
import zlib
from dataclasses import dataclass, field, replace
from typing import Any, final

from rpnb.serve.limits import Limits, beyond
from rpnb.serve.log import DAMAGE, EventError, LogError, checksum_of
from rpnb.serve.specs import ModelSpec

#: Name of the learner with which a model was created.
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
    """id of the event after which it learns"""
    created: float
    origin: tuple[int, int] | None = None
    """contender and event whose state it begins with, if any"""
    withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class Version:
    """A name for a state."""

    number: int
    """id of the event that named it"""
    name: str
    contender: int
    event: int
    """id of the last event that the state includes"""
    created: float


@dataclass(frozen=True, slots=True)
class Promotion:
    """A change of the serving learner."""

    event: int
    time: float
    contender: int
    before: int
    back: bool
    """whether it was a rollback"""


@final
@dataclass(frozen=True, slots=True)
class History:
    """Learners of a model, past and present."""

    contenders: dict[int, Contender]
    promotions: tuple[Promotion, ...] = ()
    versions: dict[str, Version] = field(default_factory=dict)

    @property
    def serving(self) -> Contender:
        """The serving contender."""
        return self.contenders[self.promotions[-1].contender if self.promotions else 0]

    @property
    def alone(self) -> bool:
        """Whether only the first learner has ever served."""
        return not self.promotions

    @property
    def only_one(self) -> bool:
        """Whether there has never been another learner."""
        return len(self.contenders) == 1

    @property
    def challengers(self) -> list[Contender]:
        """Contenders that learn but do not serve."""
        serving = self.serving.number
        return [
            each
            for each in self.contenders.values()
            if not each.withdrawn and each.number != serving
        ]

    @property
    def live(self) -> list[Contender]:
        """The serving contender, and the challengers."""
        return [self.serving, *self.challengers]

    def serving_at(self, event: int) -> int:
        """Return the number of the contender that served after an event."""
        found = 0
        for each in self.promotions:
            if each.event > event:
                break
            found = each.contender
        return found

    @property
    def since(self) -> int:
        """Id of the event at which the serving learner last changed; 0 at the start.

        All challengers are compared with the serving learner from here on: earlier
        answers were another learner's.
        """
        return self.promotions[-1].event if self.promotions else 0

    def find(self, name: str) -> Contender | None:
        """Return the contender with a name, unless it was withdrawn."""
        for each in self.contenders.values():
            if each.name == name and not each.withdrawn:
                return each
        return None

    def previous(self) -> Contender | None:
        """Return the last contender that served before and still learns."""
        for each in reversed(self.promotions):
            found = self.contenders[each.before]
            if not found.withdrawn and found.number != self.serving.number:
                return found
        return None

    def changed(self, event: int, kind: str, when: float, body: bytes) -> "History":
        """Return the history after one more event."""
        content: dict[str, Any] = json.loads(body)
        contenders, versions = dict(self.contenders), dict(self.versions)
        if kind == CHALLENGE:
            origin = content.get("origin")
            contenders[event] = Contender(
                event,
                content["name"],
                ModelSpec.from_json(content["spec"]),
                content["start"] if content["start"] is not None else event,
                when,
                None if origin is None else (origin[0], origin[1]),
            )
        elif kind == WITHDRAW:
            number = content["contender"]
            contenders[number] = replace(contenders[number], withdrawn=True)
        elif kind == PROMOTE:
            number, before = content["contender"], self.serving.number
            promotion = Promotion(event, when, number, before, content["back"])
            return replace(self, promotions=(*self.promotions, promotion))
        elif kind == NAME_VERSION:
            name = content["name"]
            versions[name] = Version(
                event, name, content["contender"], content["event"], when
            )
        elif kind == DROP_VERSION:
            del versions[content["name"]]
        else:
            raise LogError(f"there is no kind of event {kind}")
        return replace(self, contenders=contenders, versions=versions)


def new_history(spec: ModelSpec, created: float) -> History:
    """Return the history of a new model."""
    return History({0: Contender(0, FIRST, spec, 0, created)})


def read_history(
    connection: sqlite3.Connection, model: int, spec: str, created: float
) -> History:
    """Read the history of a model, given its number, specification and time.

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
                raise EventError(number, "is damaged: its checksum does not match")
            found = found.changed(number, kind, when, body)
    except EventError:
        raise
    except (LogError, KeyError, TypeError, ValueError, *DAMAGE) as error:
        problem = f"is damaged: it cannot be read ({type(error).__name__})"
        raise EventError(number, problem, f"{problem}: {error}") from error
    return found


def check_sizes(
    history: History, limits: Limits, classes: int, more: ModelSpec | None = None
) -> float:
    """Estimate how many numbers the learners of a model hold; refuse too many.

    With `more`, a learner with that specification is counted, too.
    """
    specs = [each.spec for each in history.live]
    asked = specs if more is None else [*specs, more]
    numbers = sum(each.state_numbers(classes) for each in asked)
    if numbers > limits.max_state:
        what = "the learner would hold too many numbers"
        if len(specs) + (more is not None) > 1:
            what = "the model and its challengers would hold too many numbers"
        raise beyond("max_state", limits.max_state, what)
    return numbers
