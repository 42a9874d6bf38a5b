"""What endpoints read from requests, and answers as they send them."""

import math
from typing import Any

from fastapi import Request, Response
from pydantic_core import to_json

from rpnb.serve.commands import no_model
from rpnb.serve.http.formats import write_answer
from rpnb.serve.limits import invalid
from rpnb.serve.models import ServedModel
from rpnb.serve.writer import Writer

_TRUE = ("true", "1", "yes", "on")
_FALSE = ("false", "0", "no", "off", "")


def find_model(request: Request, writer: Writer) -> ServedModel:
    """Return the model that a request names in its path."""
    model = writer.models.get(request.path_params["name"])
    if model is None:
        raise no_model()
    return model


def flag(request: Request, name: str) -> bool:
    """Return a parameter of the query that is true or false; false if not there."""
    value = request.query_params.get(name, "").lower()
    if value not in _TRUE + _FALSE:
        raise invalid(f"the parameter {name} must be true or false")
    return value in _TRUE


def number(
    request: Request, name: str, default: float, low: float, high: float
) -> float:
    """Return a parameter of the query that is a number from `low` to `high`."""
    try:
        value = float(request.query_params.get(name, default))
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise invalid(f"the parameter {name} must be a number from {low:g} to {high:g}")
    return value


def idempotency_key(request: Request) -> str | None:
    """Return the client's key for safe retries."""
    key = request.headers.get("idempotency-key")
    if key is not None and not (
        0 < len(key) <= 128 and key.isascii() and key.isprintable()
    ):
        raise invalid("Idempotency-Key must be 1 to 128 printable ASCII characters")
    return key


def json_answer(value: Any, status: int = 200) -> Response:
    """Return an answer in JSON."""
    return Response(to_json(value), status, media_type="application/json")


def table_answer(request: Request, answer: dict[str, Any]) -> Response:
    """Return an answer in the form that the client prefers."""
    content, kind = write_answer(answer, request.headers.get("accept", ""))
    return Response(content, media_type=kind)
