"""The application: its routes and their endpoints."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from rpnb.serve.endpoints.challengers import ChallengerEndpoints
from rpnb.serve.endpoints.models import ModelEndpoints
from rpnb.serve.endpoints.operation import OperationEndpoints
from rpnb.serve.endpoints.page import PageEndpoints
from rpnb.serve.endpoints.rows import RowEndpoints
from rpnb.serve.http.openapi import describe
from rpnb.serve.http.routes import App, Route
from rpnb.serve.metrics import Metrics
from rpnb.serve.writer import Writer


def make_app(writer: Writer, metrics: Metrics) -> App:
    """Return the application of a service, for a `Guard` to serve."""
    stopping = asyncio.Event()

    @asynccontextmanager
    async def lifespan(_app: Any) -> AsyncIterator[None]:
        writer.start()
        yield
        stopping.set()
        await asyncio.to_thread(writer.stop)

    models, rows = ModelEndpoints(writer), RowEndpoints(writer)
    operation = OperationEndpoints(writer, metrics, stopping, lambda: describe(routes))
    page = PageEndpoints(writer, operation.health, stopping)
    challengers = ChallengerEndpoints(writer)
    one = "/v1/models/{name}"
    other, version = f"{one}/challengers/{{challenger}}", f"{one}/versions/{{version}}"
    # The most frequent ones come first.
    listed = [
        ("POST", f"{one}/predict", rows.predict),
        ("POST", f"{one}/labels", rows.label),
        ("POST", f"{one}/observe", rows.observe),
        ("POST", f"{one}/learn", rows.learn),
        ("POST", f"{one}/explain", rows.explain),
        ("POST", f"{one}/ask", rows.ask),
        ("GET", f"{one}/ask", rows.open_questions),
        ("POST", f"{one}/forget", rows.forget),
        ("GET", "/v1/models", models.list_models),
        ("POST", "/v1/models", models.create_model),
        ("GET", one, models.get_model),
        ("DELETE", one, models.delete_model),
        ("GET", f"{one}/file", models.download_model),
        ("PUT", f"{one}/file", models.upload_model),
        ("GET", f"{one}/scores", models.get_scores),
        ("GET", f"{one}/challengers", challengers.list_challengers),
        ("POST", f"{one}/challengers", challengers.add_challenger),
        ("DELETE", other, challengers.withdraw_challenger),
        ("POST", f"{other}/promote", challengers.promote_challenger),
        ("POST", f"{one}/rollback", challengers.roll_back),
        ("GET", f"{one}/versions", challengers.list_versions),
        ("POST", f"{one}/versions", challengers.name_version),
        ("DELETE", version, challengers.drop_version),
        ("GET", f"{one}/live", page.live_model),
        ("GET", "/v1/live", page.live),
        ("GET", "/v1/learners", operation.list_learners),
        ("GET", "/healthz", operation.healthz),
        ("GET", "/readyz", operation.readyz),
        ("GET", "/metrics", operation.prometheus),
        ("GET", "/openapi.json", operation.openapi),
        ("GET", "/", page.page),
        ("GET", "/page/{file}", page.asset),
    ]
    routes = tuple(Route(*each) for each in listed)
    return App(routes, lifespan, stopping)
