"""Limits of the service, and the errors that clients get."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final


@dataclass(frozen=True, slots=True)
class Limits:
    """What one process accepts; a request beyond a limit gets an error that names it.

    Parameters
    ----------
    max_bytes
        Bytes of a request's body.
    max_rows
        Rows of a request.
    max_features
        Features of a model.
    max_classes
        Classes of a model.
    max_models
        Models at a time.
    max_challengers, max_versions
        Challengers of a model, and named versions.
    max_state
        Numbers that a model's state may hold, about, with those of its challengers.
    max_steps
        Steps of arithmetic that learning a request may take, about; 10⁹ are a second.
        Twice as many may wait per model.
    max_waiting
        Rows per model that wait for their labels; beyond it the oldest are dropped.
    max_age
        Seconds that a row waits for its label before it is dropped.
    max_values
        Values of a request: rows times features.
    max_answer
        Numbers of an answer: rows times classes, or times features.
    max_memory
        Bytes that all requests in flight may take together.
    max_in_flight
        Requests at a time that are answered, and those whose bodies arrive.
    max_open
        Requests at a time for what is open to everybody.
    max_pages
        Pages that are watched live at a time.
    max_connections
        Connections at a time; beyond it those that are idle make room.
    header_bytes, header_seconds
        Size of a request's headers, and the time for them to arrive.
    body_seconds, idle_seconds
        Time for a body to arrive, and between two parts of it.
    request_seconds
        Time for a request to be answered.
    keep_keys
        Seconds for which a client's key is remembered.
    """

    max_bytes: int = 64 * 2**20
    max_rows: int = 100_000
    max_features: int = 10_000
    max_classes: int = 1_000
    max_models: int = 100
    max_challengers: int = 4
    max_versions: int = 20
    max_state: int = 50_000_000
    max_steps: float = 6e10
    max_waiting: int = 100_000
    max_age: float = 30 * 86_400.0
    max_values: int = 10_000_000
    max_answer: int = 4_000_000
    max_memory: int = 2**30
    max_in_flight: int = 512
    max_open: int = 64
    max_pages: int = 32
    max_connections: int = 2_000
    header_bytes: int = 2**15
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    idle_seconds: float = 5.0
    request_seconds: float = 300.0
    keep_keys: float = 7 * 86_400.0


@final
class ApiError(Exception):
    """An error that a client gets as JSON.

    The message never repeats what the client sent: it names the row and the column.

    Parameters
    ----------
    status
        HTTP status.
    code
        What kind of error it is, for programs.
    message
        What is wrong and what the rule is, for people.
    row, column
        Where, if it is about one value.
    headers
        Headers of the answer, besides those of every answer.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        row: int | None = None,
        column: str | int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.row, self.column = row, column
        self.headers = headers or {}

    def body(self) -> dict[str, Any]:
        """Return the JSON object of the answer."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.row is not None:
            error["row"] = self.row
        if self.column is not None:
            error["column"] = self.column
        return {"error": error}


def invalid(
    message: str, *, row: int | None = None, column: str | int | None = None
) -> ApiError:
    """Return the error of a request whose content is wrong."""
    return ApiError(422, "invalid", message, row=row, column=column)


def beyond(name: str, limit: float, what: str) -> ApiError:
    """Return the error of a request beyond a limit."""
    return ApiError(413, "limit", f"{what}: {name} is {limit:g}")


def unavailable(reason: str) -> ApiError:
    """Return the error of a request that may succeed later."""
    return ApiError(503, "unavailable", reason)
