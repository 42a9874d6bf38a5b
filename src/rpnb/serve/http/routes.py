"""Which endpoint answers a request, and who may ask it.

A request is matched once, here, before anything else looks at it. The guard checks the
scope of the very route that was matched, and then hands the request to its endpoint, so
that no other reading of the path can lead elsewhere. FastAPI, which describes the
routes, would lead each request through seven layers before its endpoint; what they do
takes longer than learning a row does.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, NamedTuple, TypeVar, final
from urllib.parse import unquote_to_bytes

from fastapi.routing import APIRoute

from rpnb.serve.limits import ApiError
from rpnb.serve.tokens import SCOPES

#: The scope of a route that nobody needs a token for.
OPEN: Final = "open"

_WITH_BODY = {"POST", "PUT", "PATCH"}

Scope = Literal["open", "predict", "learn", "admin"]
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class Access(NamedTuple):
    """Who may ask an endpoint, and for what."""

    scope: Scope
    """Scope that a token must have; `OPEN` if no token is needed."""
    takes: tuple[str, ...] = ()
    """Media types of the request's body, one of which a request must name."""
    live: bool = False
    """Whether the answer is a stream that ends with the connection."""


def needs(
    scope: Scope, *, takes: tuple[str, ...] = (), live: bool = False
) -> Callable[[Endpoint], Endpoint]:
    """Declare the scope that an endpoint needs, and the rest of its `Access`."""

    def declare(endpoint: Endpoint) -> Endpoint:
        endpoint.access = Access(scope, takes, live)  # type: ignore[attr-defined]
        return endpoint

    return declare


class Match(NamedTuple):
    """The route of a request."""

    route: APIRoute
    access: Access
    parameters: dict[str, str]
    """Values of the placeholders in the route's path."""


class _Pattern(NamedTuple):
    """A path of routes, and the route of each method."""

    names: dict[int, str]
    """Names of the placeholders by their place among the segments."""
    routes: dict[str, tuple[APIRoute, Access]]


@final
class Routes:
    """The routes of an application, each with its scope.

    Parameters
    ----------
    routes
        Routes of a FastAPI application, whose endpoints declare their scopes by
        `needs`.

    Raises
    ------
    TypeError
        If a route has no scope, or takes a body of any kind: the service does not
        start.
    """

    def __init__(self, routes: Iterable[Any]) -> None:
        self._patterns: dict[tuple[str | None, ...], _Pattern] = {}
        # Where placeholders are, by number of segments: few places to look at.
        self._places: dict[int, list[tuple[int, ...]]] = {}
        for route in routes:
            self._add(route)

    def _add(self, route: Any) -> None:
        endpoint = getattr(route, "endpoint", None)
        access = getattr(endpoint, "access", None)
        if (
            not isinstance(route, APIRoute)
            or not isinstance(access, Access)
            or access.scope not in (OPEN, *SCOPES)
        ):
            path = getattr(route, "path", route)
            raise TypeError(
                f"the route {path} has no scope: decorate its endpoint with needs(...)"
            )
        if not access.takes and route.methods & _WITH_BODY:
            raise TypeError(
                f"the route {route.path} takes a body of any kind: name its media types"
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
        for method in route.methods:
            pattern.routes.setdefault(method, (route, access))

    def match(self, method: str, raw_path: bytes) -> Match:
        """Return the route of a request, or raise 400, 404 or 405.

        The path is split as it was sent, so that an encoded slash never separates
        segments, and segments are compared as a whole, once decoded.
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
    """Return segments with None in some places."""
    blanks: list[str | None] = [*segments]
    for i in places:
        blanks[i] = None
    return tuple(blanks)


def _segments(raw_path: bytes) -> list[str]:
    """Return the decoded segments of a path, or refuse it."""
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
