"""When requests are repeated, and how often."""

import secrets
from collections.abc import Iterator

from rpnb.client.results import ServeError

#: Answers that say that the service is busy.
RETRIED = (429, 502, 503, 504)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0


def pauses(retries: int) -> Iterator[float]:
    """Yield the seconds to wait before each retry: doubling, a little at random."""
    pause = _FIRST_PAUSE
    for _ in range(retries):
        yield pause * (0.5 + secrets.randbelow(1000) / 1000)
        pause = min(pause * 2.0, _LONGEST_PAUSE)


def no_answer(error: Exception) -> ServeError:
    """Return the error of a request that was not answered."""
    return ServeError(0, "no_answer", f"no answer came: {type(error).__name__}")


def access(token: str | None) -> dict[str, str]:
    """Return the headers that a token needs."""
    return {} if token is None else {"authorization": f"Bearer {token}"}
