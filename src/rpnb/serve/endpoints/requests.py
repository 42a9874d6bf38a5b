"""Reading parameters of requests, and making responses, for all endpoints."""

import asyncio
import math
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from rpnb.serve.commands import no_model
from rpnb.serve.http.formats import JSON, write_answer
from rpnb.serve.http.json_tables import parse_json
from rpnb.serve.http.json_text import dump_json
from rpnb.serve.limits import Limits, invalid
from rpnb.serve.served_model import ServedModel
from rpnb.serve.specs import Learner, ModelSpec, new_learner
from rpnb.serve.writer import Writer

_TRUE = ("true", "1", "yes", "on")
_FALSE = ("false", "0", "no", "off", "")


def find_model(request: Request, writer: Writer) -> ServedModel:
    """Return the model that a request names in its path."""
    model = writer.models.get(request.path_params["name"])
    if model is None:
        raise no_model()
    return model


def json_object(request: Request, fields: tuple[str, ...]) -> dict[str, Any]:
    """Return the JSON object of a request, {} without a body; refuse other fields."""
    body = bytes(request.scope["body"])
    value = parse_json(body) if body else {}
    if not isinstance(value, dict):
        raise invalid("the body must be a JSON object")
    if not value.keys() <= set(fields):
        listed = f"no other fields than {', '.join(fields)}" if fields else "no fields"
        raise invalid(f"the body must have {listed}")
    return value


async def try_learner(
    request: Request, spec: ModelSpec, classes: int, limits: Limits
) -> Learner:
    """Return a new learner of some classes, after another one has learned two rows."""
    numbers = spec.state_numbers(classes, kept_rows=False)
    # One learner is returned, another one is tried out.
    request.scope["memory"].add(2 * 8 * numbers)
    return await asyncio.to_thread(new_learner, spec, limits)


def flag(request: Request, name: str) -> bool:
    """Return a boolean query parameter; false if it is missing."""
    value = request.query_params.get(name, "").lower()
    if value not in _TRUE + _FALSE:
        raise invalid(f"the parameter {name} must be true or false")
    return value in _TRUE


def number(
    request: Request, name: str, default: float, low: float, high: float
) -> float:
    """Return a numeric query parameter from `low` to `high`."""
    try:
        value = float(request.query_params.get(name, default))
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise invalid(f"the parameter {name} must be a number from {low:g} to {high:g}")
    return value


def idempotency_key(request: Request) -> str | None:
    """Return the idempotency key of a request, if any."""
    key = request.headers.get("idempotency-key")
    if key is not None and not (
        0 < len(key) <= 128 and key.isascii() and key.isprintable()
    ):
        raise invalid("Idempotency-Key must be 1 to 128 printable ASCII characters")
    return key


def json_answer(value: Any, status: int = 200) -> Response:
    """Return a JSON response."""
    return Response(dump_json(value), status, media_type=JSON)


def table_answer(request: Request, answer: dict[str, Any]) -> Response:
    """Return a response in the format that the client prefers."""
    content, kind = write_answer(answer, request.headers.get("accept", ""))
    return Response(content, media_type=kind)
