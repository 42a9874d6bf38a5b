"""Endpoints that create, describe, delete, upload and download models."""

import asyncio
from typing import final

from starlette.requests import Request
from starlette.responses import Response

from rpnb.serve.commands import Create, Delete
from rpnb.serve.endpoints.challengers import version_of
from rpnb.serve.endpoints.page import details
from rpnb.serve.endpoints.requests import (
    find_model,
    idempotency_key,
    json_answer,
    json_object,
    try_learner,
)
from rpnb.serve.http.formats import BINARY, JSON
from rpnb.serve.http.routes import needs
from rpnb.serve.http.uploads import read_upload
from rpnb.serve.limits import invalid, unavailable
from rpnb.serve.served_model import nothing_learned
from rpnb.serve.specs import (
    SPEC_FIELDS,
    check_name,
    check_new_classes,
    check_size,
    read_spec,
)
from rpnb.serve.writer import Writer

_FILE_KINDS = ("model", "frozen", "onnx")


@final
class ModelEndpoints:
    """Endpoints for whole models.

    Parameters
    ----------
    writer
        The log and the models.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer, self._limits = writer, writer.limits

    @needs("predict")
    async def list_models(self, _request: Request) -> Response:
        """Describe all models."""
        models = list(self._writer.models.values())
        return json_answer({"models": [model.describe() for model in models]})

    @needs("admin", takes=(JSON,))
    async def create_model(self, request: Request) -> Response:
        """Create a model."""
        given = json_object(request, SPEC_FIELDS)
        spec = read_spec(given, self._limits)
        name = check_name(given.get("name"))
        known = len(spec.classes or ())
        check_size(spec.learner, spec.parameters, spec.width, self._limits, known)
        learner = await try_learner(request, spec, known, self._limits)
        command = Create(
            name=name,
            key=idempotency_key(request),
            spec=spec,
            learner=learner,
            given=bytes(request.scope["body"]),
        )
        return json_answer(await self._writer.submit(command), 201)

    @needs("admin", takes=(BINARY,))
    async def upload_model(self, request: Request) -> Response:
        """Create a model from a model file."""
        name = check_name(request.path_params["name"])
        rule = check_new_classes(request.query_params.get("new_classes", "accept"))
        body = bytes(request.scope["body"])
        memory = request.scope["memory"]
        upload = await asyncio.to_thread(read_upload, body, self._limits, rule, memory)
        command = Create(
            name=name,
            key=idempotency_key(request),
            spec=upload.spec,
            learner=upload.learner,
            file=upload.file,
            given=body,
        )
        return json_answer(await self._writer.submit(command), 201)

    @needs("predict")
    async def get_model(self, request: Request) -> Response:
        """Describe a model."""
        return json_answer(find_model(request, self._writer).describe())

    @needs("predict")
    async def get_scores(self, request: Request) -> Response:
        """Return all figures of a model."""
        model = find_model(request, self._writer)
        return json_answer(await asyncio.to_thread(details, self._writer, model))

    @needs("admin")
    async def delete_model(self, request: Request) -> Response:
        """Delete a model and all its rows."""
        return json_answer(
            await self._writer.submit(Delete(name=request.path_params["name"]))
        )

    @needs("admin")
    async def download_model(self, request: Request) -> Response:
        """Return a model as a file."""
        model = find_model(request, self._writer)
        kind = request.query_params.get("kind", "model")
        if kind not in _FILE_KINDS:
            raise invalid(f"kind must be one of {', '.join(_FILE_KINDS)}")
        version = request.query_params.get("version")
        if version is not None:
            model, _ = await asyncio.to_thread(version_of, self._writer, model, version)
        if not model.predicts:
            raise unavailable(model.broken or "the model has no state")
        if kind == "model":
            content = await asyncio.to_thread(model.to_bytes, names=True)
            if content is None:
                raise nothing_learned()
        else:
            content = await asyncio.to_thread(model.frozen, kind)
        suffix = {"model": "rpnb", "frozen": "frozen.rpnb", "onnx": "onnx"}[kind]
        headers = {
            "content-disposition": f'attachment; filename="{model.name}.{suffix}"'
        }
        return Response(content, 200, headers, BINARY)
