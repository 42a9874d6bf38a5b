"""Commands about the learners of a model: challenge, promote, roll back, name."""

import json
from dataclasses import dataclass
from typing import Any, ClassVar, final

from rpnb.serve.commands.command import Command, digest_of
from rpnb.serve.commands.group import Group
from rpnb.serve.history import (
    CHALLENGE,
    DROP_VERSION,
    FIRST,
    NAME_VERSION,
    PROMOTE,
    WITHDRAW,
    Contender,
    check_sizes,
)
from rpnb.serve.limits import ApiError, beyond
from rpnb.serve.restoring import first_figures
from rpnb.serve.served_model import SavedState, ServedModel
from rpnb.serve.snapshots import insert_snapshot
from rpnb.serve.specs import ModelSpec


def _add(group: Group, model: ServedModel, kind: str, body: dict[str, Any]) -> int:
    """Append an event without rows; return its id."""
    event, _ = group.tables.add_event(model.id, kind, 0, json.dumps(body).encode())
    group.changed[model.id] = model
    return event


def _challenger(model: ServedModel, name: str) -> Contender:
    """Return the challenger of a name, or raise 404 or 409."""
    found = model.history.find(name)
    if found is None:
        raise ApiError(404, "no_challenger", "there is no challenger of this name")
    if found.number == model.history.serving.number:
        raise ApiError(409, "serving", "this learner is serving already")
    return found


@final
@dataclass(slots=True, kw_only=True)
class Challenge(Command):
    """Add a challenger, which learns all events of a model or those from now on."""

    challenger: str
    spec: ModelSpec
    replay: bool
    given: bytes
    """body of the request"""
    alone: ClassVar[bool] = True

    @property
    def digest(self) -> bytes:
        """Digest of the request."""
        return digest_of("challenge", self.given)

    def write(self, group: Group) -> dict[str, Any]:
        """Append the event."""
        model = group.model(self.name, self.number)
        history, limits = model.history, group.limits
        if self.challenger == FIRST or history.find(self.challenger) is not None:
            raise ApiError(
                409, "name_taken", "the model has a learner of this name already"
            )
        if len(history.challengers) >= limits.max_challengers:
            raise beyond(
                "max_challengers", limits.max_challengers, "too many challengers"
            )
        check_sizes(history, limits, len(model.known), self.spec)
        (begins,) = group.connection.execute(
            "SELECT coalesce(max(event), 0) FROM snapshots WHERE model=? AND base=1",
            ((history.serving.number and -history.serving.number) or model.id,),
        ).fetchone()
        body = {
            "name": self.challenger,
            "spec": self.spec.to_json(),
            "start": begins if self.replay else None,
        }
        event = _add(group, model, CHALLENGE, body)
        return {"name": self.challenger, "event": event}


@final
@dataclass(slots=True, kw_only=True)
class Withdraw(Command):
    """Withdraw a challenger, which then learns no more."""

    challenger: str
    alone: ClassVar[bool] = True

    @property
    def digest(self) -> bytes:
        """Digest of the name."""
        return digest_of("withdraw", self.challenger)

    def write(self, group: Group) -> dict[str, Any]:
        """Append the event, and delete the challenger's snapshots."""
        model = group.model(self.name, self.number, changing=False)
        found = _challenger(model, self.challenger)
        _add(group, model, WITHDRAW, {"contender": found.number})
        if found.number:
            group.connection.execute(
                "DELETE FROM snapshots WHERE model=?", (-found.number,)
            )
        return {"withdrawn": True}


@final
@dataclass(slots=True, kw_only=True)
class Promote(Command):
    """Let a challenger serve; the learner that served becomes a challenger."""

    challenger: str
    alone: ClassVar[bool] = True
    replays: ClassVar[bool] = True

    @property
    def digest(self) -> bytes:
        """Digest of the name."""
        return digest_of("promote", self.challenger)

    def write(self, group: Group) -> dict[str, Any]:
        """Append the event; the model is then restored from the log."""
        model = group.model(self.name, self.number)
        found = _challenger(model, self.challenger)
        return _promote(group, self, model, found.number, back=False)


@final
@dataclass(slots=True, kw_only=True)
class RollBack(Command):
    """Let the previous learner, or the state of a version, serve again."""

    version: str | None = None
    state: SavedState | None = None
    """state of the version"""
    alone: ClassVar[bool] = True
    replays: ClassVar[bool] = True

    @property
    def digest(self) -> bytes:
        """Digest of the version's name."""
        return digest_of("rollback", self.version)

    def write(self, group: Group) -> dict[str, Any]:
        """Append the events; the model is then restored from the log."""
        model = group.model(self.name, self.number, changing=False)
        history = model.history
        if self.version is None:
            before = history.previous()
            if before is None:
                raise ApiError(
                    *(409, "not_available"),
                    "there is no previous learner: name a version",
                )
            return _promote(group, self, model, before.number, back=True)
        version = history.versions.get(self.version)
        if version is None or self.state is None:
            raise no_version()
        limits = group.limits
        if len(history.challengers) >= limits.max_challengers:
            raise beyond(
                *("max_challengers", limits.max_challengers),
                "too many challengers: the serving learner would become one",
            )
        spec = history.contenders[version.contender].spec
        check_sizes(history, limits, len(model.known), spec)
        taken = {each.name for each in history.contenders.values()}
        name = next(
            each
            for k in range(len(taken) + 1)
            if (each := f"{version.name[:50]}-{k + 1}") not in taken
        )
        event = _add(
            group,
            model,
            CHALLENGE,
            {
                "name": name,
                "spec": spec.to_json(),
                "start": None,
                "origin": [version.contender, version.event],
            },
        )
        self._keep(group, event, -version.contender or model.id, version.event)
        return _promote(group, self, model, event, back=True)

    def _keep(self, group: Group, event: int, owner: int, at: int) -> None:
        """Keep the first state, as a base if the events before it were deleted."""
        if self.state is None:
            return
        base, before = group.connection.execute(
            "SELECT coalesce(max(event*base), 0), min(event) FROM snapshots "
            "WHERE model=?",
            (owner,),
        ).fetchone()
        deleted = base > 0 and before > at
        state = self.state._replace(event=event, scores=first_figures(self.state))
        insert_snapshot(group.connection, -event, state, deleted)


def _promote(
    group: Group, command: Command, model: ServedModel, contender: int, *, back: bool
) -> dict[str, Any]:
    body = {"contender": contender, "back": back}
    event = _add(group, model, PROMOTE, body)
    command.number = model.id
    group.replays[model.id] = model
    return {"promoted": True, "event": event}


@final
@dataclass(slots=True, kw_only=True)
class NameVersion(Command):
    """Name the state after an event."""

    version: str
    contender: int
    state: SavedState
    alone: ClassVar[bool] = True

    @property
    def digest(self) -> bytes:
        """Digest of the name and the event."""
        return digest_of("version", self.version, self.state.event)

    def write(self, group: Group) -> dict[str, Any]:
        """Append the event, and keep the state."""
        model = group.model(self.name, self.number, changing=False)
        history, limits = model.history, group.limits
        if self.version in history.versions:
            raise ApiError(409, "name_taken", "there is a version of this name already")
        if len(history.versions) >= limits.max_versions:
            raise beyond("max_versions", limits.max_versions, "too many versions")
        at = self.state.event
        body = {"name": self.version, "contender": self.contender, "event": at}
        event = _add(group, model, NAME_VERSION, body)
        insert_snapshot(group.connection, -event, self.state, False)
        return {"name": self.version, "event": at}


@final
@dataclass(slots=True, kw_only=True)
class DropVersion(Command):
    """Delete a version."""

    version: str
    alone: ClassVar[bool] = True

    @property
    def digest(self) -> bytes:
        """Digest of the name."""
        return digest_of("drop version", self.version)

    def write(self, group: Group) -> dict[str, Any]:
        """Append the event, and delete the state."""
        model = group.model(self.name, self.number, changing=False)
        found = model.history.versions.get(self.version)
        if found is None:
            raise no_version()
        _add(group, model, DROP_VERSION, {"name": self.version})
        group.connection.execute(
            "DELETE FROM snapshots WHERE model=?", (-found.number,)
        )
        return {"deleted": True}


def no_version() -> ApiError:
    """Return the error of a request for an unknown version."""
    return ApiError(404, "no_version", "there is no version of this name")
