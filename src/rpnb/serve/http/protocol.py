"""Connections: how large headers may be, how slow, and how many connections at a time.

The parser of HTTP keeps an endless header until it ends, and a connection that sends
nothing stays open. Both are bounded here, before a request is known.
"""

from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rpnb.serve.limits import Limits

# Framing of a body in chunks of one byte.
_FRAMING = 8


class GuardedProtocol(HttpToolsProtocol):
    """A connection."""

    limits: ClassVar[Limits] = Limits()

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for headers; idle connections make room."""
        super().connection_made(transport)
        self._timer: Any = None
        self._overhead = self._body_bytes = 0
        self._completed = False
        self._since = self.loop.time()
        self._wait_for_headers()
        if len(self.connections) > self.limits.max_connections:
            idle = [each for each in self.connections if each.is_idle]
            # This one is idle as well, so there is one.
            min(idle, key=lambda each: each._since).transport.abort()

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or bool(self.cycle.response_complete)

    def _wait_for_headers(self) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(
            self.limits.header_seconds, self._refuse, b"408 Request Timeout"
        )

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, status: bytes) -> None:
        """End the connection; if nobody is being answered, with a status."""
        if self.is_idle and not self.transport.is_closing():
            self.transport.write(
                b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\n"
                b"connection: close\r\n\r\n"
            )
            self.transport.close()
        else:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Count what is no body: headers, trailers and framing."""
        if self.transport.is_closing():
            return
        self._completed = False
        self._overhead += len(data)
        super().data_received(data)
        if self._completed:
            self._overhead = self._body_bytes = 0
        elif self._overhead > self.limits.header_bytes + _FRAMING * self._body_bytes:
            self._refuse(b"431 Request Header Fields Too Large")

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self.scope["abort"] = self.transport.abort
        self._since = self.loop.time()
        self._wait_for_headers()

    def on_headers_complete(self) -> None:
        """Start to answer."""
        self._stop_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Hand a part of the body over."""
        self._overhead -= len(body)
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        self._completed = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Note since when nothing happens."""
        self._since = self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_timer()
        super().connection_lost(exc)
