"""The HTTP interface of the service."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic_core import to_json
from starlette.exceptions import HTTPException

from rpnb._version import __version__
from rpnb.estimators.registry import learners
from rpnb.serve.commands import (
    Create,
    Delete,
    Forget,
    LabelRows,
    Learn,
    Remember,
    no_model,
)
from rpnb.serve.http import openapi
from rpnb.serve.http.formats import Table, parse_json, read_table, write_answer
from rpnb.serve.http.uploads import read_upload
from rpnb.serve.limits import ApiError, invalid, unavailable
from rpnb.serve.metrics import Metrics
from rpnb.serve.models import (
    PredictedLabels,
    ServedModel,
    check_name,
    compile_kernels,
    new_learner,
    nothing_learnt,
    read_spec,
)
from rpnb.serve.writer import Writer

_PAGE = Path(__file__).parent / "page"
_ASSETS = {
    "page.js": "text/javascript",
    "page.css": "text/css",
    "uPlot.iife.min.js": "text/javascript",
    "uPlot.min.css": "text/css",
    "icon.svg": "image/svg+xml",
}
# Larger work than this would keep other requests waiting too long.
_INLINE_BYTES = 100_000
_INLINE_VALUES = 10_000
_FILE_KINDS = ("model", "frozen", "onnx")


@final
class Api:
    """The endpoints of one service.

    Parameters
    ----------
    writer
        The log and the models.
    metrics
        Of the service.
    """

    def __init__(self, writer: Writer, metrics: Metrics) -> None:
        self._writer, self._metrics = writer, metrics
        self._limits = writer.limits
        self._pages = 0
        self.stopping = asyncio.Event()

    # Models

    def _model(self, name: str) -> ServedModel:
        model = self._writer.models.get(name)
        if model is None:
            raise no_model()
        return model

    async def list_models(self) -> Response:
        """Return all models."""
        models = list(self._writer.models.values())
        return _json({"models": [model.describe() for model in models]})

    async def create_model(self, request: Request) -> Response:
        """Create a model."""
        body = await request.body()
        _require_json(request)
        given = parse_json(body)
        spec = read_spec(given, self._limits)
        name = check_name(given.get("name"))
        learner = await asyncio.to_thread(new_learner, spec, self._limits)
        await asyncio.to_thread(compile_kernels, spec.learner)
        command = Create(
            name=name, key=_key(request), spec=spec, learner=learner, given=body
        )
        return _json(await self._writer.submit(command), 201)

    async def upload_model(self, request: Request, name: str) -> Response:
        """Create a model from a model file."""
        check_name(name)
        body = await request.body()
        upload = await asyncio.to_thread(read_upload, body, self._limits)
        await asyncio.to_thread(compile_kernels, upload.spec.learner)
        command = Create(
            name=name,
            key=_key(request),
            spec=upload.spec,
            learner=upload.learner,
            file=upload.file,
            given=body,
        )
        return _json(await self._writer.submit(command), 201)

    async def get_model(self, name: str) -> Response:
        """Return what is known of a model."""
        return _json(self._model(name).describe())

    async def get_scores(self, name: str) -> Response:
        """Return how a model is doing, in detail."""
        return _json(await asyncio.to_thread(self._details, self._model(name)))

    async def delete_model(self, name: str) -> Response:
        """Delete a model and all its rows."""
        return _json(await self._writer.submit(Delete(name=name)))

    async def download_model(self, name: str, kind: str = "model") -> Response:
        """Return a model as a file."""
        model = self._model(name)
        if kind not in _FILE_KINDS:
            raise invalid(f"kind must be one of {', '.join(_FILE_KINDS)}")
        if not model.predicts:
            raise unavailable(model.broken or "the model has no state")
        if kind == "model":
            content = await asyncio.to_thread(model.to_bytes, names=True)
            if content is None:
                raise nothing_learnt()
        else:
            content = await asyncio.to_thread(model.frozen, kind)
        suffix = {"model": "rpnb", "frozen": "frozen.rpnb", "onnx": "onnx"}[kind]
        headers = {"content-disposition": f'attachment; filename="{name}.{suffix}"'}
        return Response(content, 200, headers, "application/octet-stream")

    # Rows

    async def _table(
        self,
        request: Request,
        model: ServedModel,
        wanted: tuple[str, ...],
        optional: tuple[str, ...] = (),
    ) -> Table:
        body = await request.body()
        query = request.query_params
        columns = model.columns
        if query.get("columns") == "position":
            columns = columns._replace(names=None)

        def read() -> Table:
            return read_table(
                body,
                request.headers.get("content-type", ""),
                wanted,
                columns,
                self._limits,
                optional=optional,
                label_column=query.get("label_column", "label"),
                id_column=query.get("id_column", "id"),
            )

        return read() if len(body) < _INLINE_BYTES else await asyncio.to_thread(read)

    async def predict(
        self,
        request: Request,
        name: str,
        remember: bool = False,
        probabilities: bool = False,
    ) -> Response:
        """Predict rows; with remember=true they wait for their labels."""
        model = self._model(name)
        optional = ("ids",) if remember else ()
        table = await self._table(request, model, ("rows",), optional)
        X = table.X
        if not model.predicts:
            raise unavailable(model.broken or "the model has no state")
        found: PredictedLabels
        if model.warm and X.size < _INLINE_VALUES and not model.lock.locked():
            found = model.predict(X, confidence=remember, probabilities=probabilities)
        else:
            found = await asyncio.to_thread(
                model.predict, X, confidence=remember, probabilities=probabilities
            )
        answer: dict[str, Any]
        if remember:
            command = Remember(
                name=name,
                number=model.id,
                key=_key(request),
                X=X,
                found=found,
                ids=table.ids,
            )
            answer = await self._writer.submit(command)
        else:
            answer = {"labels": found.labels}
            if found.probabilities is not None:
                answer |= {
                    "confidence": found.confidence,
                    "probabilities": found.probabilities,
                    "classes": found.classes,
                }
        model.recent.append(
            {
                "time": time.time(),
                "label": answer["labels"][-1],
                "confidence": found.confidence[-1],
                "rows": X.shape[0],
                "id": answer["ids"][-1] if remember else None,
            }
        )
        return _answer(request, answer)

    async def explain(self, request: Request, name: str) -> Response:
        """Say what each feature adds to the score of the predicted class."""
        model = self._model(name)
        table = await self._table(request, model, ("rows",))
        if not model.predicts:
            raise unavailable(model.broken or "the model has no state")
        return _answer(request, await asyncio.to_thread(model.explain, table.X))

    async def label(self, request: Request, name: str) -> Response:
        """Take labels of rows that were remembered."""
        model = self._model(name)
        table = await self._table(request, model, ("ids", "labels"))
        command = LabelRows(
            name=name,
            number=model.id,
            key=_key(request),
            ids=table.ids or [],
            labels=table.labels,
        )
        return _answer(request, await self._writer.submit(command))

    async def learn(self, request: Request, name: str) -> Response:
        """Learn rows with their labels."""
        return await self._learn(request, name, observe=False)

    async def observe(self, request: Request, name: str) -> Response:
        """Predict each row, then learn it."""
        return await self._learn(request, name, observe=True)

    async def forget(self, request: Request, name: str) -> Response:
        """Remove rows from the log and from the state, as if never seen."""
        model = self._model(name)
        table = await self._table(request, model, ("ids",))
        command = Forget(
            name=name, number=model.id, key=_key(request), ids=table.ids or []
        )
        return _answer(request, await self._writer.submit(command))

    async def _learn(self, request: Request, name: str, *, observe: bool) -> Response:
        model = self._model(name)
        table = await self._table(request, model, ("rows", "labels"))
        command = Learn(
            name=name,
            number=model.id,
            key=_key(request),
            X=table.X,
            labels=table.labels,
            observe=observe,
        )
        return _answer(request, await self._writer.submit(command))

    # Operation

    async def list_learners(self) -> Response:
        """Return the learners that models can be made of."""
        found = [
            {"name": each.name, "description": each.description, "family": each.family}
            for each in learners().values()
        ]
        return _json({"learners": found})

    def health(self) -> dict[str, Any]:
        """Return whether all is well, and what is not."""
        health, models = self._writer.health, self._writer.models
        broken = {m.name: m.broken for m in list(models.values()) if m.broken}
        return {
            "status": "failing" if health.writes or broken else "ok",
            "version": __version__,
            "writes": health.writes or "ok",
            "writes_failing_since": health.since if health.writes else None,
            "models": len(models),
            "broken_models": broken,
            "notes": health.notes,
        }

    async def healthz(self) -> Response:
        """Say that the process answers, and what is wrong, if anything."""
        return _json(self.health())

    async def readyz(self) -> Response:
        """Say whether labels are accepted: 503 if they are not."""
        ready = self._writer.health.writes is None and not self.stopping.is_set()
        return _json(self.health(), 200 if ready else 503)

    async def prometheus(self) -> Response:
        """Return the figures for Prometheus."""
        text = await asyncio.to_thread(generate_latest, self._metrics.registry)
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    # The page

    async def page(self) -> Response:
        """Return the page."""
        return Response((_PAGE / "index.html").read_bytes(), media_type="text/html")

    async def asset(self, file: str) -> Response:
        """Return a file of the page."""
        if file not in _ASSETS:
            raise ApiError(404, "no_file", "there is no such file")
        return Response((_PAGE / file).read_bytes(), media_type=_ASSETS[file])

    def _overview(self) -> dict[str, Any]:
        models = sorted(self._writer.models.values(), key=lambda m: m.name)
        return {
            "time": time.time(),
            "health": self.health(),
            "models": [model.describe() for model in models],
        }

    def _details(self, model: ServedModel) -> dict[str, Any]:
        return {
            "time": time.time(),
            **model.describe(),
            **model.scores.details(),
            "recent": list(model.recent)[::-1],
        }

    async def live(self) -> Response:
        """Stream the overview, once a second (server-sent events)."""
        return self._stream(self._overview)

    async def live_model(self, name: str) -> Response:
        """Stream the figures of a model, once a second (server-sent events)."""
        self._model(name)

        def details() -> dict[str, Any]:
            model = self._writer.models.get(name)
            return {"deleted": True} if model is None else self._details(model)

        return self._stream(details)

    def _stream(self, read: Callable[[], dict[str, Any]]) -> Response:
        if self._pages >= self._limits.max_pages:
            raise ApiError(
                503,
                "too_many",
                f"too many live pages: max_pages is {self._limits.max_pages}",
            )

        async def events() -> AsyncIterator[bytes]:
            self._pages += 1
            try:
                while not self.stopping.is_set():
                    value = await asyncio.to_thread(read)
                    yield b"data: " + to_json(value) + b"\n\n"
                    try:
                        await asyncio.wait_for(self.stopping.wait(), 1.0)
                    except TimeoutError:
                        continue
            finally:
                self._pages -= 1

        return StreamingResponse(events(), media_type="text/event-stream")


def _key(request: Request) -> str | None:
    """Return the client's key for safe retries."""
    key = request.headers.get("idempotency-key")
    if key is not None and not (
        0 < len(key) <= 128 and key.isascii() and key.isprintable()
    ):
        raise invalid("Idempotency-Key must be 1 to 128 printable ASCII characters")
    return None if key is None else str(key)


def _require_json(request: Request) -> None:
    given = request.headers.get("content-type", "application/json")
    if given.partition(";")[0].strip().lower() != "application/json":
        raise ApiError(415, "media_type", "the body must be application/json")


def _json(value: Any, status: int = 200) -> Response:
    return Response(to_json(value), status, media_type="application/json")


def _answer(request: Request, answer: dict[str, Any]) -> Response:
    content, kind = write_answer(answer, request.headers.get("accept", ""))
    return Response(content, media_type=kind)


async def _api_error(_request: Request, error: ApiError) -> Response:
    headers = {"retry-after": "1"} if error.status == 503 else {}
    return Response(
        to_json(error.body()), error.status, headers, media_type="application/json"
    )


async def _bad_parameter(_request: Request, error: RequestValidationError) -> Response:
    places = [".".join(map(str, each["loc"])) for each in error.errors()]
    return _json(
        invalid(f"these parameters are wrong: {', '.join(places)}").body(), 422
    )


async def _internal_error(_request: Request, _error: Exception) -> Response:
    error = ApiError(500, "internal", "something went wrong; the server's log has more")
    return _json(error.body(), 500)


async def _http_error(_request: Request, error: HTTPException) -> Response:
    messages = {404: "there is no such address", 405: "this method is not allowed here"}
    message = messages.get(error.status_code, "the request cannot be answered")
    found = ApiError(error.status_code, "http", message)
    headers = dict(error.headers or {})
    return Response(
        json.dumps(found.body()), found.status, headers, media_type="application/json"
    )


def make_app(writer: Writer, metrics: Metrics) -> tuple[FastAPI, Api]:
    """Return the application of a service, without its guard.

    The writer is started with the application, and stopped with it.
    """
    api = Api(writer, metrics)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        writer.start()
        yield
        api.stopping.set()
        await asyncio.to_thread(writer.stop)

    app = FastAPI(
        title="rpnb serve",
        version=__version__,
        description=openapi.DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.add_exception_handler(ApiError, _api_error)
    app.add_exception_handler(RequestValidationError, _bad_parameter)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _internal_error)
    one = "/v1/models/{name}"
    routes: list[tuple[str, str, Any]] = [
        ("GET", "/v1/learners", api.list_learners),
        ("GET", "/v1/models", api.list_models),
        ("POST", "/v1/models", api.create_model),
        ("GET", one, api.get_model),
        ("DELETE", one, api.delete_model),
        ("GET", f"{one}/file", api.download_model),
        ("PUT", f"{one}/file", api.upload_model),
        ("GET", f"{one}/scores", api.get_scores),
        ("POST", f"{one}/predict", api.predict),
        ("POST", f"{one}/explain", api.explain),
        ("POST", f"{one}/labels", api.label),
        ("POST", f"{one}/learn", api.learn),
        ("POST", f"{one}/observe", api.observe),
        ("POST", f"{one}/forget", api.forget),
        ("GET", "/v1/live", api.live),
        ("GET", f"{one}/live", api.live_model),
        ("GET", "/healthz", api.healthz),
        ("GET", "/readyz", api.readyz),
        ("GET", "/metrics", api.prometheus),
        ("GET", "/", api.page),
        ("GET", "/page/{file}", api.asset),
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
    return app, api
