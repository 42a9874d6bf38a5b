"""Limits of the service, and errors for clients."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a process; a request beyond one gets an error that names it.

    Parameters
    ----------
    max_bytes
        Size of a request body in bytes.
    max_rows
        Rows per request.
    max_features
        Features of a model.
    max_classes
        Classes of a model.
    max_models
        Number of models.
    max_challengers, max_versions
        Challengers and named versions of a model.
    max_state
        Estimated numbers in the states of a model and its challengers.
    max_steps
        Estimated arithmetic steps of learning one request, about 10⁹ per second. Twice
        as many may be queued per model.
    max_waiting
        Rows per model that wait for labels; beyond it the oldest are dropped.
    max_age
        Seconds after which a waiting row is dropped.
    max_values
        Values per request: rows times features.
    max_answer
        Numbers per answer: rows times classes, or times features.
    max_memory
        Bytes that all concurrent requests may take together.
    max_in_flight
        Concurrent requests, and concurrent request bodies that are arriving.
    max_open
        Concurrent requests to routes that need no token.
    max_pages
        Live pages that are open at the same time.
    max_connections
        Open connections; beyond it idle ones are closed.
    header_bytes, header_seconds
        Size of request headers, and seconds for them to arrive.
    body_seconds, idle_seconds
        Seconds for a body to arrive, and between two parts of it.
    request_seconds
        Seconds to answer a request.
    keep_keys
        Seconds for which idempotency keys are kept.
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

    The message never repeats data from the client; it names the row and the column.

    Parameters
    ----------
    status
        HTTP status.
    code
        Kind of error, for programs.
    message
        Problem and rule, for people.
    row, column
        Position of the value, if the error is about one.
    headers
        Additional response headers.
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
        """Return the error as a JSON object."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.row is not None:
            error["row"] = self.row
        if self.column is not None:
            error["column"] = self.column
        return {"error": error}


def invalid(
    message: str, *, row: int | None = None, column: str | int | None = None
) -> ApiError:
    """Return the error of a request with invalid content."""
    return ApiError(422, "invalid", message, row=row, column=column)


def beyond(name: str, limit: float, what: str) -> ApiError:
    """Return the error of a request beyond a limit."""
    return ApiError(413, "limit", f"{what}: {name} is {limit:g}")


def unavailable(reason: str) -> ApiError:
    """Return the error of a request that may succeed later."""
    return ApiError(503, "unavailable", reason)
