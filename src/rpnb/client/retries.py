"""Retries of requests: when, and how often."""

import secrets
from collections.abc import Iterator
from typing import Any

from rpnb.client.calls import Request, read_answer, read_error
from rpnb.client.results import ServeError

#: Status codes after which a request is sent again.
RETRIED = (429, 502, 503, 504)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0


def pauses(retries: int) -> Iterator[float]:
    """Yield the seconds to wait before each retry: doubling, with random jitter."""
    pause = _FIRST_PAUSE
    for _ in range(retries):
        yield pause * (0.5 + secrets.randbelow(1000) / 1000)
        pause = min(pause * 2.0, _LONGEST_PAUSE)


def access(token: str | None) -> dict[str, str]:
    """Return the headers for a token."""
    return {} if token is None else {"authorization": f"Bearer {token}"}


class Attempts:
    """Attempts to send one request; the client does the sending.

    Parameters
    ----------
    request
        Request to send.
    retries : int
        Number of retries.
    """

    def __init__(self, request: Request, retries: int) -> None:
        self._request = request
        self._pauses = pauses(retries)
        self._repeated = False

    def arguments(self) -> dict[str, Any]:
        """Return the arguments for `httpx.Client.request`."""
        return {
            "method": self._request.method,
            "url": self._request.path,
            "content": self._request.content,
            "headers": self._request.headers(),
            "params": dict(self._request.parameters),
        }

    def is_answer(self, response: Any) -> bool:
        """Return whether a response is final, and not "busy"."""
        return response.status_code not in RETRIED

    def answer(self, response: Any) -> Any:
        """Return the content of an answer, or raise the error it reports."""
        return read_answer(response, self._request, repeated=self._repeated)

    def pause_if_busy(self, response: Any) -> float:
        """Return the seconds to wait; raise its error after the last attempt."""
        return self._pause(read_error(response, self._request))

    def pause_without_answer(self, error: Exception) -> float:
        """Return the seconds to wait; raise an error after the last attempt."""
        message = f"no response: {type(error).__name__}"
        return self._pause(ServeError(0, "no_answer", message))

    def _pause(self, failure: ServeError) -> float:
        seconds = next(self._pauses, None)
        if seconds is None:
            raise failure
        self._repeated = True
        return seconds
