"""Requests for rows go to their endpoints directly, past the layers of the framework.

FastAPI leads each request through seven layers before its endpoint. What they do has
been done here already, by the guard, or is not needed by an endpoint that reads its
request itself, and they take longer than learning a row does.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, final

from fastapi import FastAPI, Request
from fastapi.routing import APIRoute

_START = "/v1/models/{name}/"


@final
class Dispatcher:
    """An ASGI application around a FastAPI application.

    Requests to POST /v1/models/NAME/... are handed to their endpoints, all others to
    the application. Errors are left to the guard, which answers them all.

    Parameters
    ----------
    app
        The application; its endpoints take the request and raise `ApiError`.
    """

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._routes: dict[str, APIRoute] = {
            route.path.removeprefix(_START): route
            for route in app.routes
            if isinstance(route, APIRoute)
            and route.path.startswith(_START)
            and "POST" in route.methods
        }

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        """Answer a request."""
        if scope["type"] == "http" and scope["method"] == "POST":
            parts = scope["path"].split("/")
            if len(parts) == 5 and parts[1] == "v1" and parts[2] == "models":
                route = self._routes.get(parts[4])
                if route is not None and parts[3]:
                    scope["route"], scope["path_params"] = route, {"name": parts[3]}
                    response = await route.endpoint(Request(scope, receive))
                    await response(scope, receive, send)
                    return
        await self._app(scope, receive, send)
