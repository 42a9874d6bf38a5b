"""The ASGI layer before every endpoint: limits, tokens, time-outs, headers, errors."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, final
from urllib.parse import quote

from starlette.requests import Request
from starlette.routing import Router

from rpnb.serve.http.bodies import Bodies, Receive, has_body
from rpnb.serve.http.headers import (
    Authority,
    check_content_type,
    check_host,
    check_origin,
    read_headers,
)
from rpnb.serve.http.json_text import dump_json
from rpnb.serve.http.memory import MemoryBudget, MemoryCharge
from rpnb.serve.http.routes import OPEN, Access, App, Routes
from rpnb.serve.limits import ApiError, Limits, unavailable
from rpnb.serve.metrics import Metrics
from rpnb.serve.tokens import Tokens

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

log = logging.getLogger("rpnb.serve")

_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        b"connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
        b"form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
# Bytes of a response that are sent at a time.
_CHUNK_BYTES = 2**17
# Seconds of an event-loop iteration after which further requests wait for the next one,
# and how many waiting requests begin in each.
_ITERATION_SECONDS, _PER_ITERATION = 0.02, 16
# Status in logs and metrics of a request whose client has disconnected.
_CLIENT_GONE = 499
_LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")


@final
class Guard:
    """The ASGI application: every request passes here before its endpoint.

    Parameters
    ----------
    app
        Routes and lifespan of the application.
    limits, metrics
        Limits and metrics of the service.
    tokens
        Tokens of the service. Without tokens, only requests whose Host names this
        machine are answered, so that a web page cannot reach the service through
        another name. Requests from pages of other origins are always refused.
    log_requests
        Whether to log each request, not only failures.
    """

    def __init__(
        self,
        app: App,
        limits: Limits,
        tokens: Tokens | None,
        metrics: Metrics,
        *,
        log_requests: bool = False,
    ) -> None:
        self._limits, self._tokens = limits, tokens
        self._routes = Routes(app.routes)
        self._lifespan = Router(lifespan=app.lifespan).lifespan
        self._metrics, self._log_requests = metrics, log_requests
        self.in_flight = 0
        """number of requests that are being answered"""
        self.memory = MemoryBudget(limits.max_memory)
        self._bodies = Bodies(limits)
        self._turns = _Turns()
        self._concurrency = {
            False: _ConcurrencyLimit("max_in_flight", limits.max_in_flight),
            True: _ConcurrencyLimit("max_open", limits.max_open),
        }
        metrics.in_flight.set_function(lambda: self.in_flight)
        metrics.memory.set_function(lambda: self.memory.used)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._lifespan(scope, receive, send)
            return
        started = time.perf_counter()
        answer = _Response(scope, send, self._limits)
        memory = scope["memory"] = MemoryCharge(self.memory)
        self.in_flight += 1
        try:
            await self._answer(scope, receive, answer)
        except ApiError as error:
            await answer.refuse(error)
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("a request failed", extra={"method": scope["method"]})
            await answer.refuse(
                ApiError(500, "internal", "internal error; see the log of the service")
            )
        finally:
            self.in_flight -= 1
            # An open connection keeps the scope of its last request.
            scope.pop("body", None)
            memory.release()
            seconds = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", "other")
            status = answer.status
            self._metrics.observe(route, scope["method"], status, seconds)
            if self._log_requests or status >= 500:
                log.info(
                    "request",
                    extra={
                        "method": scope["method"],
                        "route": route,
                        "status": status,
                        "seconds": round(seconds, 6),
                    },
                )

    async def _answer(
        self, scope: Scope, receive: Receive, answer: "_Response"
    ) -> None:
        """Check a request, read its body, and call its endpoint."""
        headers = read_headers(scope["headers"])
        answer.unread = has_body(headers)
        host = check_host(headers)
        self._check_name(host)
        raw_path = scope.get("raw_path") or quote(scope["path"]).encode()
        route, access, parameters = self._routes.match(scope["method"], raw_path)
        scope["route"], scope["path_params"] = route, parameters
        check_origin(scope["method"], headers, host, access)
        self._check_access(access, headers)
        body = bytearray()
        if access.takes:
            check_content_type(headers, access)
            body = await self._bodies.read(headers, receive, scope["memory"])
            answer.unread = False
        elif answer.unread:
            raise ApiError(413, "body", "this address takes no body")
        # Endpoints read it from the scope: `Request.body` would copy it.
        scope["body"] = body
        request = Request(scope, receive)
        if access.live:
            response = await route.endpoint(request)
            await response(scope, receive, answer.send)
            return
        with self._concurrency[access.scope == OPEN]:
            if access.scope != OPEN:
                await self._turns.take()
            try:
                async with asyncio.timeout(self._limits.request_seconds):
                    response = await route.endpoint(request)
                    await response(scope, receive, answer.send)
            except TimeoutError:
                raise unavailable(
                    f"no answer within {self._limits.request_seconds:g} seconds; with "
                    "the same key a retry is safe"
                ) from None

    def _check_name(self, host: Authority) -> None:
        if self._tokens is None and host[0] not in _LOCAL_NAMES:
            raise ApiError(
                421, "host", "without tokens only requests to localhost are answered"
            )

    def _check_access(self, access: Access, headers: dict[bytes, bytes]) -> None:
        if self._tokens is None or access.scope == OPEN:
            return
        scheme, _, secret = (
            headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        )
        token = (
            self._tokens.find(secret.strip()) if scheme.lower() == "bearer" else None
        )
        if token is None:
            raise ApiError(401, "token", "a token is required: Authorization: Bearer …")
        if access.scope not in token.scopes:
            raise ApiError(403, "scope", f"the token has no scope {access.scope}")


@final
class _ConcurrencyLimit:
    """Refuses requests beyond a number of concurrent ones."""

    def __init__(self, name: str, most: int) -> None:
        self._name, self._most, self._taken = name, most, 0

    def __enter__(self) -> None:
        if self._taken >= self._most:
            raise ApiError(
                *(503, "too_many"),
                f"too many concurrent requests: {self._name} is {self._most}",
            )
        self._taken += 1

    def __exit__(self, *_error: object) -> None:
        self._taken -= 1


@final
class _Turns:
    """Starts a few requests per iteration of the event loop, to spread a flood.

    Open routes such as the health check do not wait for a turn.
    """

    def __init__(self) -> None:
        self._began: float | None = None
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """Wait until a request may start."""
        now = time.perf_counter()
        if self._began is None:
            self._began = now
            asyncio.get_running_loop().call_soon(self._next_turn)
        if now - self._began < _ITERATION_SECONDS and not self._waiting:
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        await turn

    def _next_turn(self) -> None:
        """Start some of the waiting requests in the next iteration."""
        self._began = None
        for _ in range(min(len(self._waiting), _PER_ITERATION)):
            turn = self._waiting.popleft()
            if not turn.done():  # the client may have disconnected
                turn.set_result(None)
        if self._waiting:
            self._began = time.perf_counter()
            asyncio.get_running_loop().call_later(0, self._next_turn)


@final
class _Response:
    """Sends the response to a request."""

    def __init__(self, scope: Scope, send: Send, limits: Limits) -> None:
        self._scope, self._send, self._limits = scope, send, limits
        self.status = 0
        """HTTP status, 0 before the response begins"""
        self.unread = False
        """whether the request has a body that was not read"""

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Send an ASGI message, with security headers, and long bodies in parts."""
        connection = self._scope.get("connection")
        if connection is not None and connection.gone():
            self.status = self.status or _CLIENT_GONE
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await self._send(message)
            return
        body = message.get("body", b"")
        more = message.get("more_body", False)
        last = max(0, len(body) - 1) // _CHUNK_BYTES * _CHUNK_BYTES
        try:
            for start in range(0, last + 1, _CHUNK_BYTES):
                part = body[start : start + _CHUNK_BYTES] if last else body
                # The server waits here until earlier parts have been sent.
                async with asyncio.timeout(self._limits.body_seconds):
                    await self._send(
                        {**message, "body": part, "more_body": more or start < last}
                    )
        except TimeoutError:
            self._abort()

    def _abort(self) -> None:
        """Close the connection of a client that does not read its response."""
        connection = self._scope.get("connection")
        if connection is not None:
            connection.cut()

    async def refuse(self, error: ApiError) -> None:
        """Send an error as JSON, unless the response has begun."""
        if self.status:
            self._abort()
            return
        headers = [(b"content-type", b"application/json")]
        headers += [(k.encode(), v.encode()) for k, v in error.headers.items()]
        if error.status == 503:
            headers.append((b"retry-after", b"1"))
        if error.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        if self.unread:
            headers.append((b"connection", b"close"))
        await self.send(
            {"type": "http.response.start", "status": error.status, "headers": headers}
        )
        await self.send({"type": "http.response.body", "body": dump_json(error.body())})
