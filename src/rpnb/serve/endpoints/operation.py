"""Endpoints for operation: learners, health, and Prometheus metrics."""

import asyncio
from collections.abc import Callable
from typing import Any, final

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import Response

from rpnb._version import __version__
from rpnb.estimators.registry import learners
from rpnb.serve.endpoints.requests import json_answer
from rpnb.serve.http.routes import OPEN, needs
from rpnb.serve.metrics import Metrics
from rpnb.serve.writer import Writer

# Seconds after which a waiting write counts as slow.
_SLOW_SECONDS = 10.0


@final
class OperationEndpoints:
    """Endpoints for operators.

    Parameters
    ----------
    writer
        The log and the models.
    metrics
        Metrics of the service.
    stopping
        Set when the service begins to stop.
    describe
        Function that returns the OpenAPI description of all endpoints.
    """

    def __init__(
        self,
        writer: Writer,
        metrics: Metrics,
        stopping: asyncio.Event,
        describe: Callable[[], dict[str, Any]],
    ) -> None:
        self._writer, self._metrics, self._stopping = writer, metrics, stopping
        self._describe = describe

    @needs("predict")
    async def list_learners(self, _request: Request) -> Response:
        """Return the available learners."""
        found = [
            {"name": each.name, "description": each.description, "family": each.family}
            for each in learners().values()
        ]
        return json_answer({"learners": found})

    def health(self) -> dict[str, Any]:
        """Return the status of the service, with its problems."""
        health, models = self._writer.health, self._writer.models
        unsound = [each for each in list(models.values()) if each.broken]
        broken = {each.name: each.broken for each in unsound if not each.degraded}
        degraded = {each.name: each.broken for each in unsound if each.degraded}
        oldest = self._writer.oldest()
        status = "degraded" if degraded else "slow" if oldest > _SLOW_SECONDS else "ok"
        return {
            "status": "failing"
            if health.writes or broken or health.unsound
            else status,
            "version": __version__,
            "writes": health.writes or "ok",
            "writes_failing_since": health.since if health.writes else None,
            "oldest_write_seconds": round(oldest, 3),
            "models": len(models),
            "broken_models": broken,
            "degraded_models": degraded,
            "notes": health.notes,
        }

    @needs(OPEN)
    async def healthz(self, _request: Request) -> Response:
        """Return the status of the service; always 200 while it runs."""
        return json_answer(self.health())

    @needs(OPEN)
    async def readyz(self, _request: Request) -> Response:
        """Return the status of the service; 503 if it accepts no labels."""
        ready = self._writer.health.writes is None and not self._stopping.is_set()
        return json_answer(self.health(), 200 if ready else 503)

    @needs(OPEN)
    async def openapi(self, _request: Request) -> Response:
        """Return the OpenAPI description of the service."""
        return json_answer(self._describe())

    @needs("predict")
    async def prometheus(self, _request: Request) -> Response:
        """Return the metrics for Prometheus."""
        text = await asyncio.to_thread(generate_latest, self._metrics.registry)
        return Response(text, media_type=CONTENT_TYPE_LATEST)
