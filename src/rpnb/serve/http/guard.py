"""What stands before every endpoint: limits, tokens, time-outs, headers, errors."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, final
from urllib.parse import quote

from fastapi import FastAPI, Request
from pydantic_core import to_json

from rpnb.serve.http.headers import (
    Authority,
    check_content_type,
    check_host,
    check_origin,
    read_headers,
)
from rpnb.serve.http.routes import OPEN, Access, Routes
from rpnb.serve.limits import ApiError, Limits, beyond, unavailable
from rpnb.serve.metrics import Metrics
from rpnb.serve.tokens import Tokens

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
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
_LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")


@final
class Guard:
    """An ASGI application: the endpoints of another one, guarded.

    Parameters
    ----------
    app
        The application, which is told of the start and the stop.
    limits, tokens, metrics
        Of the service. Without tokens nobody is refused, but only requests that name
        this machine as their host are answered: a page of another site cannot reach
        the service through a name of its own. Nor can it send requests of its own,
        with or without tokens.
    log_requests
        Whether each request is logged, not only failures.
    """

    def __init__(
        self,
        app: FastAPI,
        limits: Limits,
        tokens: Tokens | None,
        metrics: Metrics,
        *,
        log_requests: bool = False,
    ) -> None:
        self._app, self._limits, self._tokens = app, limits, tokens
        self._routes = Routes(app.routes)
        self._metrics, self._log_requests = metrics, log_requests
        self.in_flight = 0
        metrics.in_flight.set_function(lambda: self.in_flight)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 0

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        self.in_flight += 1
        try:
            await self._answer(scope, receive, send_with_headers)
        except ApiError as error:
            if status == 0:
                await _send_error(send_with_headers, error)
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("a request failed", extra={"method": scope["method"]})
            if status == 0:
                await _send_error(
                    send_with_headers,
                    ApiError(500, "internal", "something went wrong; the log has more"),
                )
        finally:
            self.in_flight -= 1
            seconds = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", "other")
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

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = read_headers(scope["headers"])
        host = check_host(headers)
        self._check_name(host)
        raw_path = scope.get("raw_path") or quote(scope["path"]).encode()
        route, access, parameters = self._routes.match(scope["method"], raw_path)
        scope["route"], scope["path_params"] = route, parameters
        live = access.live
        if self.in_flight > self._limits.max_in_flight and not live:
            raise ApiError(
                503,
                "too_many",
                f"too many requests at a time: max_in_flight is "
                f"{self._limits.max_in_flight}",
            )
        check_origin(scope["method"], headers, host, access)
        self._check_access(access, headers)
        body = b""
        if access.takes:
            check_content_type(headers, access)
            body = await self._body(headers, receive)
        sent = False

        async def receive_again() -> MutableMapping[str, Any]:
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        request = Request(scope, receive_again)
        if live:
            response = await route.endpoint(request)
            await response(scope, receive_again, send)
            return
        try:
            async with asyncio.timeout(self._limits.request_seconds):
                response = await route.endpoint(request)
                await response(scope, receive_again, send)
        except TimeoutError:
            raise unavailable(
                f"no answer within {self._limits.request_seconds:g} seconds; with the "
                "same key a retry is safe"
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
            raise ApiError(401, "token", "a token is needed: Authorization: Bearer …")
        if access.scope not in token.scopes:
            raise ApiError(403, "scope", f"the token has no scope {access.scope}")

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        """Return the body of a request, which must be small and come in time."""
        largest = self._limits.max_bytes
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > largest:
            raise beyond("max_bytes", largest, "the body is too large")
        if headers.get(b"content-encoding", b"identity") != b"identity":
            raise ApiError(415, "encoding", "the body must not be compressed")
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ApiError(400, "body", "the body did not arrive")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > largest:
                        raise beyond("max_bytes", largest, "the body is too large")
                    more = message.get("more_body", False)
        except TimeoutError:
            raise ApiError(
                408,
                "body",
                f"the body did not arrive in {self._limits.body_seconds:g} seconds",
            ) from None
        return parts[0] if len(parts) == 1 else b"".join(parts)


async def _send_error(send: Send, error: ApiError) -> None:
    """Send an error as JSON."""
    headers = [(b"content-type", b"application/json")]
    headers += [(k.encode(), v.encode()) for k, v in error.headers.items()]
    if error.status == 503:
        headers.append((b"retry-after", b"1"))
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if error.status in (408, 413):
        headers.append((b"connection", b"close"))
    await send(
        {"type": "http.response.start", "status": error.status, "headers": headers}
    )
    await send({"type": "http.response.body", "body": to_json(error.body())})
