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
        self._answered: Any = None
        self._overhead = self._body_bytes = 0
        self._completed = False
        self._since = self.loop.time()
        self._wait_for_headers()
        if len(self.connections) > self.limits.max_connections:
            idle = [each for each in self.connections if each.is_idle]
            # This one is idle as well, so there is one.
            min(idle, key=lambda each: each._since).cut()

    def gone(self) -> bool:
        """Return whether nobody is there any more, and let nothing be sent if so."""
        if self.transport.is_closing():
            self._note_end()
            return True
        return False

    def cut(self) -> None:
        """End the connection at once."""
        self._note_end()
        self.transport.abort()

    def _note_end(self) -> None:
        """Do what is done once the connection is lost, which comes later."""
        # Of requests that came together, another one than the last may be answered.
        for cycle in (self._answered, self.cycle):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, even within a request that is being answered."""
        if self.is_idle:
            super().send_400_response(msg)
        else:
            self.cut()

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
            self.cut()

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
        self.scope["connection"] = self
        self._since = self.loop.time()
        self._wait_for_headers()

    def on_headers_complete(self) -> None:
        """Start to answer."""
        self._stop_timer()
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

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
        self._note_end()
        super().connection_lost(exc)
