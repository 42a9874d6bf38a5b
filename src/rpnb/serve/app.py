"""The application: which address leads to which endpoint, and what errors become."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, final

from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute
from pydantic_core import to_json
from starlette.exceptions import HTTPException

from rpnb._version import __version__
from rpnb.serve.endpoints.messages import json_answer
from rpnb.serve.endpoints.models import ModelEndpoints
from rpnb.serve.endpoints.operation import OperationEndpoints
from rpnb.serve.endpoints.page import PageEndpoints
from rpnb.serve.endpoints.rows import RowEndpoints
from rpnb.serve.http import openapi
from rpnb.serve.limits import ApiError
from rpnb.serve.metrics import Metrics
from rpnb.serve.writer import Writer


@final
class RequestRoute(APIRoute):
    """A route whose endpoint reads all it needs from the request itself.

    What FastAPI would do before, for parameters and dependencies that endpoints do not
    have, takes longer than a prediction.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the endpoint."""
        endpoint: Callable[[Request], Coroutine[Any, Any, Response]] = self.endpoint
        return endpoint


async def _api_error(_request: Request, error: ApiError) -> Response:
    headers = {"retry-after": "1"} if error.status == 503 else {}
    return Response(
        to_json(error.body()),
        error.status,
        headers,
        media_type="application/json",
    )


async def _internal_error(_request: Request, _error: Exception) -> Response:
    error = ApiError(500, "internal", "something went wrong; the server's log has more")
    return json_answer(error.body(), 500)


async def _http_error(_request: Request, error: HTTPException) -> Response:
    messages = {404: "there is no such address", 405: "this method is not allowed here"}
    message = messages.get(error.status_code, "the request cannot be answered")
    found = ApiError(error.status_code, "http", message)
    headers = dict(error.headers or {})
    return Response(
        json.dumps(found.body()), found.status, headers, media_type="application/json"
    )


def make_app(writer: Writer, metrics: Metrics) -> tuple[FastAPI, asyncio.Event]:
    """Return the application of a service, without its guard, and its event of a stop.

    The writer is started with the application, and stopped with it.
    """
    stopping = asyncio.Event()
    models, rows = ModelEndpoints(writer), RowEndpoints(writer)
    operation = OperationEndpoints(writer, metrics, stopping)
    page = PageEndpoints(writer, operation.health, stopping)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        writer.start()
        yield
        stopping.set()
        await asyncio.to_thread(writer.stop)

    app = FastAPI(
        title="rpnb serve",
        version=__version__,
        description=openapi.DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.router.route_class = RequestRoute
    app.add_exception_handler(ApiError, _api_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _internal_error)
    one = "/v1/models/{name}"
    # Those that are asked for most come first.
    routes: list[tuple[str, str, Any]] = [
        ("POST", f"{one}/predict", rows.predict),
        ("POST", f"{one}/labels", rows.label),
        ("POST", f"{one}/observe", rows.observe),
        ("POST", f"{one}/learn", rows.learn),
        ("POST", f"{one}/explain", rows.explain),
        ("POST", f"{one}/forget", rows.forget),
        ("GET", "/v1/models", models.list_models),
        ("POST", "/v1/models", models.create_model),
        ("GET", one, models.get_model),
        ("DELETE", one, models.delete_model),
        ("GET", f"{one}/file", models.download_model),
        ("PUT", f"{one}/file", models.upload_model),
        ("GET", f"{one}/scores", models.get_scores),
        ("GET", f"{one}/live", page.live_model),
        ("GET", "/v1/live", page.live),
        ("GET", "/v1/learners", operation.list_learners),
        ("GET", "/healthz", operation.healthz),
        ("GET", "/readyz", operation.readyz),
        ("GET", "/metrics", operation.prometheus),
        ("GET", "/", page.page),
        ("GET", "/page/{file}", page.asset),
    ]
    for method, path, endpoint in routes:
        app.add_api_route(
            path,
            endpoint,
            methods=[method],
            response_class=Response,
            response_model=None,
            status_code=201 if openapi.creates(method, path) else 200,
            include_in_schema=openapi.described(method, path),
            operation_id=endpoint.__name__,
            summary=(endpoint.__doc__ or "").splitlines()[0].rstrip("."),
            responses=openapi.responses(method, path),
            openapi_extra=openapi.request_of(method, path),
        )
    return app, stopping
