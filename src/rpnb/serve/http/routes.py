"""Routes: the endpoint of a request, and the scope that it needs.

A request is matched once, here. The guard checks the scope of the matched route and
calls its endpoint, so that no other interpretation of the path can bypass the check.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Literal, NamedTuple, TypeVar, final
from urllib.parse import unquote_to_bytes

from starlette.requests import Request
from starlette.responses import Response

from rpnb.serve.limits import ApiError
from rpnb.serve.tokens import SCOPES

#: Scope of routes that need no token.
OPEN: Final = "open"

_WITH_BODY = {"POST", "PUT", "PATCH"}

Scope = Literal["open", "predict", "learn", "admin"]
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class Access(NamedTuple):
    """Requirements of an endpoint."""

    scope: Scope
    """scope that a token must have; `OPEN` if no token is needed"""
    takes: tuple[str, ...] = ()
    """accepted media types of the request body"""
    live: bool = False
    """whether the response is a stream that ends with the connection"""


def needs(
    scope: Scope, *, takes: tuple[str, ...] = (), live: bool = False
) -> Callable[[Endpoint], Endpoint]:
    """Declare the scope that an endpoint needs, and the rest of its `Access`."""

    def declare(endpoint: Endpoint) -> Endpoint:
        endpoint.access = Access(scope, takes, live)  # type: ignore[attr-defined]
        return endpoint

    return declare


class Route(NamedTuple):
    """An endpoint with its method and path."""

    method: str
    path: str
    """segments in braces are placeholders"""
    endpoint: Callable[[Request], Awaitable[Response]]


class App(NamedTuple):
    """The application that a `Guard` serves."""

    routes: tuple[Route, ...]
    lifespan: Callable[[Any], AbstractAsyncContextManager[None]]
    """starts and stops the writer"""
    stopping: asyncio.Event
    """set when the service begins to stop"""


class Match(NamedTuple):
    """The matched route of a request."""

    route: Route
    access: Access
    parameters: dict[str, str]
    """values of the placeholders in the path"""


class _Pattern(NamedTuple):
    """A path, and its route for each method."""

    names: dict[int, str]
    """names of the placeholders by the index of their segment"""
    routes: dict[str, tuple[Route, Access]]


@final
class Routes:
    """The routes of an application, each with its scope.

    Parameters
    ----------
    routes
        Routes whose endpoints declare their scopes by `needs`.

    Raises
    ------
    TypeError
        If a route has no scope, or takes a body without naming its media types.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        self._patterns: dict[tuple[str | None, ...], _Pattern] = {}
        # Positions of placeholders, by number of segments.
        self._places: dict[int, list[tuple[int, ...]]] = {}
        for route in routes:
            self._add(route)

    def _add(self, route: Route) -> None:
        """Add a route; refuse one without a scope or media types."""
        access = getattr(route.endpoint, "access", None)
        if not isinstance(access, Access) or access.scope not in (OPEN, *SCOPES):
            raise TypeError(
                f"the route {route.path} has no scope: decorate its endpoint with "
                "needs(...)"
            )
        if not access.takes and route.method in _WITH_BODY:
            raise TypeError(
                f"the route {route.path} takes a body: name its media types"
            )
        segments = route.path.split("/")
        names = {
            i: each[1:-1] for i, each in enumerate(segments) if each.startswith("{")
        }
        places = tuple(names)
        known = self._places.setdefault(len(segments), [])
        if places not in known:
            known.append(places)
            known.sort(key=len)  # literal segments come first
        pattern = self._patterns.setdefault(
            _with_blanks(segments, places), _Pattern(names, {})
        )
        pattern.routes.setdefault(route.method, (route, access))

    def match(self, method: str, raw_path: bytes) -> Match:
        """Return the route of a request, or raise 400, 404 or 405.

        The path is split before it is decoded, so that an encoded slash never separates
        segments. Decoded segments are compared as a whole.
        """
        segments = _segments(raw_path)
        for places in self._places.get(len(segments), ()):
            pattern = self._patterns.get(_with_blanks(segments, places))
            if pattern is None or not all(segments[i] for i in places):
                continue
            found = pattern.routes.get(method)
            if found is None:
                raise ApiError(
                    *(405, "http", "this method is not allowed here"),
                    headers={"allow": ", ".join(sorted(pattern.routes))},
                )
            parameters = {name: segments[i] for i, name in pattern.names.items()}
            return Match(*found, parameters)
        raise ApiError(404, "http", "there is no such address")


def _with_blanks(
    segments: list[str], places: tuple[int, ...]
) -> tuple[str | None, ...]:
    """Return segments with None at some positions."""
    blanks: list[str | None] = [*segments]
    for i in places:
        blanks[i] = None
    return tuple(blanks)


def _segments(raw_path: bytes) -> list[str]:
    """Return the decoded segments of a path; refuse a malformed one."""
    try:
        if b"%" in raw_path:
            found = [unquote_to_bytes(each).decode() for each in raw_path.split(b"/")]
        else:
            found = raw_path.decode().split("/")
    except UnicodeDecodeError:
        raise ApiError(400, "path", "the path must be UTF-8") from None
    if not all(each.isprintable() for each in found):
        raise ApiError(400, "path", "the path has characters that are not printable")
    return found
