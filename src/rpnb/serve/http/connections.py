"""Connections, with limits on the size and time of headers, and on their number.

The HTTP parser buffers an endless header, and a silent connection stays open. Both are
limited here, before there is a request.
"""

from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rpnb.serve.limits import Limits

# Bytes of framing per byte of a body, if it is sent in chunks of one byte.
_FRAMING = 8


class GuardedProtocol(HttpToolsProtocol):
    """A connection with limits."""

    limits: ClassVar[Limits] = Limits()

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for headers; close an idle connection if there are too many."""
        super().connection_made(transport)
        self._timer: Any = None
        self._answered: Any = None
        self._overhead = self._body_bytes = 0
        self._completed = False
        self._since = self.loop.time()
        self._wait_for_headers()
        if len(self.connections) > self.limits.max_connections:
            idle = [each for each in self.connections if each.is_idle]
            # There is one: this connection is idle, too.
            min(idle, key=lambda each: each._since).cut()

    def gone(self) -> bool:
        """Return whether the client has disconnected; if so, nothing more is sent."""
        if self.transport.is_closing():
            self._note_end()
            return True
        return False

    def cut(self) -> None:
        """Close the connection at once."""
        self._note_end()
        self.transport.abort()

    def _note_end(self) -> None:
        """Mark requests as disconnected, before the event loop reports the loss."""
        # With pipelining, the request being answered may not be the last one.
        for cycle in (self._answered, self.cycle):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()

    def send_400_response(self, msg: str) -> None:
        """Answer 400 to malformed HTTP, or close if a request is being answered."""
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
        """Close the connection, with a status unless a request is being answered."""
        if self.is_idle and not self.transport.is_closing():
            self.transport.write(
                b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\n"
                b"connection: close\r\n\r\n"
            )
            self.transport.close()
        else:
            self.cut()

    def data_received(self, data: bytes) -> None:
        """Limit the bytes that do not belong to a body: headers, trailers, framing."""
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
        """Pass on a part of the body."""
        self._overhead -= len(body)
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        self._completed = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Note when the connection became idle."""
        self._since = self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timer."""
        self._stop_timer()
        self._note_end()
        super().connection_lost(exc)
