"""Reading request bodies, with limits on their size, time and number."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, final

from rpnb.serve.http.memory import MemoryCharge
from rpnb.serve.limits import ApiError, Limits, beyond

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

# A client that has been silent for so many seconds may be cut off for another one.
_SILENT_SECONDS = 0.5
# Memory of a body that grows, relative to its bytes.
_OVERHEAD = 1.25


def has_body(headers: Mapping[bytes, bytes]) -> bool:
    """Return whether a request has a body, according to its headers."""
    length = headers.get(b"content-length", b"0")
    return b"transfer-encoding" in headers or length.strip(b"0") != b""


class _Sender:
    """A client whose request body is arriving."""

    def __init__(self) -> None:
        self.heard = time.monotonic()
        self.cut: asyncio.Future[None] = asyncio.get_running_loop().create_future()


@final
class Bodies:
    """Reads the bodies of requests.

    Parameters
    ----------
    limits
        Limits of the service. If too many bodies are arriving, the client that has been
        silent longest is cut off.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._senders: set[_Sender] = set()

    async def read(
        self, headers: Mapping[bytes, bytes], receive: Receive, memory: MemoryCharge
    ) -> bytearray:
        """Return the body of a request; refuse one that is too large or too slow."""
        largest = self._limits.max_bytes
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > largest:
            raise beyond("max_bytes", largest, "the body is too large")
        if headers.get(b"content-encoding", b"identity") != b"identity":
            raise ApiError(415, "encoding", "the body must not be compressed")
        self._make_room()
        sender = _Sender()
        self._senders.add(sender)
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                return await self._parts(sender, receive, memory)
        except TimeoutError:
            raise _late() from None
        finally:
            self._senders.discard(sender)
            sender.cut.cancel()

    async def _parts(
        self, sender: _Sender, receive: Receive, memory: MemoryCharge
    ) -> bytearray:
        """Receive a body part by part, within the limits of size and memory."""
        body = bytearray()
        more = True
        while more:
            message = await self._next(sender, receive)
            if message["type"] == "http.disconnect":
                raise ApiError(400, "body", "the body did not arrive")
            part = message.get("body", b"")
            if len(body) + len(part) > self._limits.max_bytes:
                raise beyond(
                    "max_bytes", self._limits.max_bytes, "the body is too large"
                )
            memory.add(_OVERHEAD * len(part))
            body += part
            sender.heard = time.monotonic()
            more = message.get("more_body", False)
        return body

    async def _next(
        self, sender: _Sender, receive: Receive
    ) -> MutableMapping[str, Any]:
        """Return the next part of a body, or raise 408 if it takes too long."""
        coming = asyncio.ensure_future(receive())
        await asyncio.wait(
            (coming, sender.cut),
            timeout=self._limits.idle_seconds,
            return_when=asyncio.FIRST_COMPLETED,
        )
        if coming.done():
            return coming.result()
        coming.cancel()
        raise _late()

    def _make_room(self) -> None:
        """Cut off the client that has been silent longest if there are too many."""
        if len(self._senders) < self._limits.max_in_flight:
            return
        slowest = min(self._senders, key=lambda each: each.heard)
        if time.monotonic() - slowest.heard < _SILENT_SECONDS:
            raise ApiError(
                *(503, "too_many"),
                "too many request bodies are arriving: max_in_flight is "
                f"{self._limits.max_in_flight}",
            )
        self._senders.discard(slowest)
        if not slowest.cut.done():
            slowest.cut.set_result(None)


def _late() -> ApiError:
    return ApiError(408, "body", "the body did not arrive in time")
