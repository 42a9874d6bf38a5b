"""Endpoints for challengers and versions: add, compare, promote, roll back, name."""

import asyncio
import time
from dataclasses import replace
from typing import Any, final

from starlette.requests import Request
from starlette.responses import Response

from rpnb.estimators.checks.columns import CATEGORICAL, TEXT
from rpnb.serve.backtest import kappa_of
from rpnb.serve.commands import (
    Challenge,
    DropVersion,
    NameVersion,
    Promote,
    RollBack,
    Withdraw,
    no_version,
)
from rpnb.serve.endpoints.requests import (
    find_model,
    idempotency_key,
    json_answer,
    json_object,
    try_learner,
)
from rpnb.serve.history import Contender, check_sizes
from rpnb.serve.http.formats import JSON
from rpnb.serve.http.routes import needs
from rpnb.serve.limits import ApiError, invalid, unavailable
from rpnb.serve.log import LogError, read_log
from rpnb.serve.model_rows import model_row
from rpnb.serve.restoring import model_of_state, state_at, version_state
from rpnb.serve.scores import Scores
from rpnb.serve.served_model import SavedState, ServedModel
from rpnb.serve.specs import ModelSpec, check_name, read_spec
from rpnb.serve.writer import Writer

_STARTS = ("log", "now")
# Seconds for a challenger to catch up and to write its state.
_PATIENCE = 60.0


def describe_contenders(writer: Writer, model: ServedModel) -> dict[str, Any]:
    """Describe the serving learner, its challengers, and the versions."""
    history, shadows = model.history, writer.shadows.of(model)
    names = {each.number: each.name for each in history.contenders.values()}
    challengers = []
    for each in history.challengers:
        shadow = shadows.get(each.number)
        found = None if shadow is None else shadow.model
        # Read first, so that the figures include all events that it has caught up with.
        caught_up = shadow is not None and shadow.caught_up
        scores = Scores() if shadow is None else shadow.scores
        differences = {} if shadow is None else shadow.differences()
        challengers.append(
            {
                **_about(each, scores),
                "applied": each.start if found is None else found.applied,
                "caught_up": caught_up,
                "problem": None if shadow is None else shadow.problem,
                "difference": differences.get("error"),
                "log_loss_difference": differences.get("log_loss"),
            }
        )
    return {
        "champion": {
            **_about(history.serving, model.scores),
            "applied": model.applied,
            "problem": model.broken,
            "since": history.since,
        },
        "challengers": challengers,
        "promotions": [
            {
                "event": each.event,
                "time": each.time,
                "name": names[each.contender],
                "before": names[each.before],
                "rollback": each.back,
            }
            for each in history.promotions
        ],
        "versions": [
            {
                "name": each.name,
                "event": each.event,
                "learner": names[each.contender],
                "created": each.created,
            }
            for each in history.versions.values()
        ],
    }


def _about(contender: Contender, scores: Scores) -> dict[str, Any]:
    return {
        "name": contender.name,
        "learner": contender.spec.learner,
        "parameters": dict(contender.spec.parameters),
        "start": contender.start,
        "created": contender.created,
        **scores.summary(),
        "kappa": kappa_of(scores),
    }


@final
class ChallengerEndpoints:
    """Endpoints for the learners of a model.

    Parameters
    ----------
    writer
        The log and the models.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer, self._limits = writer, writer.limits

    @needs("predict")
    async def list_challengers(self, request: Request) -> Response:
        """Compare the challengers of a model with its serving learner."""
        model = find_model(request, self._writer)
        found = await asyncio.to_thread(describe_contenders, self._writer, model)
        return json_answer(found)

    @needs("admin", takes=(JSON,))
    async def add_challenger(self, request: Request) -> Response:
        """Add a challenger, which learns with the model but never answers."""
        model = find_model(request, self._writer)
        given = json_object(request, ("name", "learner", "parameters", "start"))
        name = check_name(given.get("name"))
        start = given.get("start", "log")
        if start not in _STARTS:
            raise invalid("start must be 'log' or 'now'")
        spec = self._spec(model, given)
        known = len(model.known)
        check_sizes(model.history, self._limits, known, spec)
        # Refuse now what its learner would refuse later.
        await try_learner(request, spec, known, self._limits)
        command = Challenge(
            name=model.name,
            number=model.id,
            key=idempotency_key(request),
            challenger=name,
            spec=spec,
            replay=start == "log",
            given=bytes(request.scope["body"]),
        )
        return json_answer(await self._writer.submit(command), 201)

    def _spec(self, model: ServedModel, given: dict[str, Any]) -> ModelSpec:
        """Return the specification of a challenger, with the columns of its model."""
        served = model.spec
        request: dict[str, Any] = {
            key: given[key] for key in ("learner", "parameters") if key in given
        }
        places = {
            CATEGORICAL: model.columns.places("category"),
            TEXT: model.columns.places("text"),
        }
        columns = {name: held for name, held in places.items() if held}
        parameters = request.get("parameters", {})
        if isinstance(parameters, dict):
            for name in columns:
                if name in parameters:
                    raise invalid(
                        f"{name} must not be given: they follow from the model"
                    )
            request["parameters"] = {**parameters, **columns}
        request["n_features"] = served.n_features
        request["date_features"] = list(served.date_features)
        spec = read_spec(request, self._limits)
        classes = served.classes
        return replace(
            spec,
            features=served.features,
            classes=classes,
            new_classes=served.new_classes,
            correct_class_mix=served.correct_class_mix,
        )

    @needs("admin")
    async def withdraw_challenger(self, request: Request) -> Response:
        """Withdraw a challenger."""
        model = find_model(request, self._writer)
        command = Withdraw(
            name=model.name,
            number=model.id,
            challenger=request.path_params["challenger"],
        )
        return json_answer(await self._writer.submit(command))

    @needs("admin", takes=(JSON,))
    async def promote_challenger(self, request: Request) -> Response:
        """Let a challenger serve; the serving learner becomes a challenger."""
        model = find_model(request, self._writer)
        json_object(request, ())
        name = request.path_params["challenger"]
        found = model.history.find(name)
        if found is not None:
            await asyncio.to_thread(self._prepare, model, found)
        command = Promote(
            name=model.name,
            number=model.id,
            key=idempotency_key(request),
            challenger=name,
        )
        return json_answer(await self._writer.submit(command))

    def _prepare(self, model: ServedModel, contender: Contender) -> None:
        """Wait until a challenger has caught up, and write its state."""
        until = time.monotonic() + _PATIENCE
        while True:
            shadow = self._writer.shadows.of(model).get(contender.number)
            if shadow is None:
                return  # it is serving already: the command reports that
            if shadow.problem is not None:
                raise ApiError(409, "not_available", shadow.problem)
            if shadow.ready:
                break
            if time.monotonic() > until:
                raise unavailable("the challenger has not caught up with the log yet")
            time.sleep(0.05)
        # A snapshot now keeps the replay on promotion short.
        shadow.keep_state(max(until - time.monotonic(), 1.0))

    @needs("admin", takes=(JSON,))
    async def roll_back(self, request: Request) -> Response:
        """Let the previous learner, or the state of a version, serve again."""
        model = find_model(request, self._writer)
        version = json_object(request, ("version",)).get("version")
        state = None
        if version is not None:
            name = check_name(version)
            state = await asyncio.to_thread(self._state, model, name)
        command = RollBack(
            name=model.name,
            number=model.id,
            key=idempotency_key(request),
            version=version,
            state=state,
        )
        return json_answer(await self._writer.submit(command))

    # Versions

    @needs("predict")
    async def list_versions(self, request: Request) -> Response:
        """Return the named versions of a model."""
        model = find_model(request, self._writer)
        found = describe_contenders(self._writer, model)
        return json_answer({"versions": found["versions"]})

    @needs("admin", takes=(JSON,))
    async def name_version(self, request: Request) -> Response:
        """Name the state of a model after an event."""
        model = find_model(request, self._writer)
        given = json_object(request, ("name", "event"))
        name = check_name(given.get("name"))
        event = given.get("event")
        if event is None:
            event = model.applied
        if type(event) is not int or not 0 < event <= model.applied:
            raise invalid(
                f"event must be an integer from 1 to {model.applied}, the last event "
                "of the model"
            )
        contender = model.history.serving_at(event)
        state = await asyncio.to_thread(self._state_at, model, contender, event)
        command = NameVersion(
            name=model.name,
            number=model.id,
            key=idempotency_key(request),
            version=name,
            contender=contender,
            state=state,
        )
        return json_answer(await self._writer.submit(command), 201)

    @needs("admin")
    async def drop_version(self, request: Request) -> Response:
        """Delete a version."""
        model = find_model(request, self._writer)
        command = DropVersion(
            name=model.name, number=model.id, version=request.path_params["version"]
        )
        return json_answer(await self._writer.submit(command))

    def _state_at(self, model: ServedModel, contender: int, event: int) -> SavedState:
        try:
            with read_log(self._writer.folder) as connection:
                row = model_row(connection, model.id)
                return state_at(connection, row, model.history, contender, event)
        except LogError as error:
            raise ApiError(409, "not_available", str(error)) from None

    def _state(self, model: ServedModel, name: str) -> SavedState:
        return version_of(self._writer, model, name)[1]


def version_of(
    writer: Writer, model: ServedModel, name: str
) -> tuple[ServedModel, SavedState]:
    """Return a version of a model, ready to predict, and its state."""
    history = model.history
    version = history.versions.get(name)
    if version is None:
        raise no_version()
    try:
        with read_log(writer.folder) as connection:
            row = model_row(connection, model.id)
            state = version_state(connection, row, history, version)
            return model_of_state(row, history, version.contender, state), state
    except LogError as error:
        raise ApiError(409, "not_available", str(error)) from None
