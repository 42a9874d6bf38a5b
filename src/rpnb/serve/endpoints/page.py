"""Endpoints for the page and its live figures."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rpnb.report.frame import asset, chart_style
from rpnb.serve.endpoints.challengers import describe_contenders
from rpnb.serve.endpoints.requests import find_model
from rpnb.serve.http.json_text import dump_json
from rpnb.serve.http.routes import OPEN, needs
from rpnb.serve.limits import ApiError
from rpnb.serve.served_model import ServedModel
from rpnb.serve.writer import Writer

_PAGE = Path(__file__).parents[1] / "page"
_ASSETS = {
    "page.js": "text/javascript",
    "page.css": "text/css",
    "charts.js": "text/javascript",
    "charts.css": "text/css",
    "uPlot.iife.min.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


def _content(file: str) -> str:
    """Return a file of the page; the charts are those of reports."""
    if file == "charts.css":
        return chart_style()
    if file in ("charts.js", "uPlot.iife.min.js"):
        return asset(file)
    return (_PAGE / file).read_text("utf-8")


def details(writer: Writer, model: ServedModel, *, now: bool = False) -> dict[str, Any]:
    """Return all figures of a model.

    With `now`, those of predictions without labels are None if the log must be read
    first, which may take seconds.
    """
    followers = writer.followers
    missing = now and not followers.has_read(model)
    return {
        "time": time.time(),
        **model.describe(),
        **model.scores.details(),
        "contenders": describe_contenders(writer, model),
        "recent": model.recent_predictions(),
        "unlabelled": None if missing else followers.details(model),
    }


@final
class PageEndpoints:
    """The page and its streams.

    Parameters
    ----------
    writer
        The log and the models.
    health
        Function that returns the status of the service.
    stopping
        Set when the service begins to stop, which ends the streams.
    """

    def __init__(
        self,
        writer: Writer,
        health: Callable[[], dict[str, Any]],
        stopping: asyncio.Event,
    ) -> None:
        self._writer, self._health, self._stopping = writer, health, stopping
        self._limits = writer.limits
        self._pages = 0

    @needs(OPEN)
    async def page(self, _request: Request) -> Response:
        """Return the page."""
        return Response((_PAGE / "index.html").read_bytes(), media_type="text/html")

    @needs(OPEN)
    async def asset(self, request: Request) -> Response:
        """Return a file of the page."""
        file = request.path_params["file"]
        if file not in _ASSETS:
            raise ApiError(404, "no_file", "there is no such file")
        return Response(_content(file), media_type=_ASSETS[file])

    def _overview(self) -> dict[str, Any]:
        models = sorted(self._writer.models.values(), key=lambda m: m.name)
        return {
            "time": time.time(),
            "health": self._health(),
            "models": [model.describe() for model in models],
        }

    @needs("predict", live=True)
    async def live(self, _request: Request) -> Response:
        """Stream the overview once a second as server-sent events."""
        return self._stream(self._overview)

    @needs("predict", live=True)
    async def live_model(self, request: Request) -> Response:
        """Stream the figures of a model once a second as server-sent events."""
        name = find_model(request, self._writer).name

        begun = False

        def read() -> dict[str, Any]:
            nonlocal begun
            model = self._writer.models.get(name)
            if model is None:
                return {"deleted": True}
            first, begun = not begun, True
            return details(self._writer, model, now=first)

        return self._stream(read)

    def _stream(self, read: Callable[[], dict[str, Any]]) -> Response:
        """Return a response that sends what `read` returns, once a second."""
        if self._pages >= self._limits.max_pages:
            raise ApiError(
                503,
                "too_many",
                f"too many live pages: max_pages is {self._limits.max_pages}",
            )

        async def events() -> AsyncIterator[bytes]:
            self._pages += 1
            try:
                while not self._stopping.is_set():
                    value = await asyncio.to_thread(read)
                    yield b"data: " + dump_json(value) + b"\n\n"
                    try:
                        await asyncio.wait_for(self._stopping.wait(), 1.0)
                    except TimeoutError:
                        continue
            finally:
                self._pages -= 1

        return StreamingResponse(events(), media_type="text/event-stream")
