"""Responses, including errors, match the OpenAPI description of each operation.

The application runs in this process, without a server.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from rpnb.serve.app import make_app
from rpnb.serve.http.guard import Guard
from rpnb.serve.limits import Limits
from rpnb.serve.metrics import Metrics
from rpnb.serve.writer import Writer

jsonschema_rs = pytest.importorskip("jsonschema_rs")

ROWS = [[float(i % 5), float(i * i % 7)] for i in range(30)]
LABELS = ["aab"[i % 3] for i in range(30)]
ONE = "/v1/models/{name}"
OTHER, VERSION = f"{ONE}/challengers/{{challenger}}", f"{ONE}/versions/{{version}}"
CREATE = {"learner": "GaussianNB", "n_features": 2}
NAMED = {
    "name": "named",
    "learner": "RPNB",
    "parameters": {"n_estimators": 2, "random_state": 0},
    "features": ["x", "y"],
    "classes": ["a", "b"],
}
#: Requests in their order: method, path, query, name of the model, body.
DONE: list[tuple[str, str, str, str, Any]] = [
    ("POST", "/v1/models", "", "", {"name": "m", **CREATE}),
    ("POST", "/v1/models", "", "", NAMED),
    ("POST", f"{ONE}/predict", "", "m", {"rows": ROWS[:1]}),
    ("POST", f"{ONE}/predict", "", "named", {"rows": [{"y": 1, "x": 2}]}),
    ("POST", f"{ONE}/observe", "", "m", {"rows": ROWS, "labels": LABELS}),
    ("POST", f"{ONE}/challengers", "", "m", {"name": "other", "learner": "PA"}),
    ("POST", f"{ONE}/learn", "", "m", {"rows": ROWS[:3], "labels": LABELS[:3]}),
    (
        *("POST", f"{ONE}/predict", "?remember=true&probabilities=true", "m"),
        {"rows": ROWS[:3], "ids": ["x", "y", "z"]},
    ),
    ("POST", f"{ONE}/predict", "?probabilities=1", "m", {"rows": ROWS[:2]}),
    ("POST", f"{ONE}/ask", "?budget=1", "m", {"rows": ROWS[3:5], "ids": ["u", "v"]}),
    ("GET", f"{ONE}/ask", "", "m", None),
    ("POST", f"{ONE}/labels", "", "m", {"ids": ["x", "y"], "labels": ["a", "b"]}),
    ("POST", f"{ONE}/labels", "", "m", {"ids": ["x", "no"], "labels": ["a", "b"]}),
    ("POST", f"{ONE}/explain", "", "m", {"rows": ROWS[:1]}),
    ("POST", f"{ONE}/forget", "", "m", {"ids": ["y", "no"]}),
    ("POST", f"{ONE}/versions", "", "m", {"name": "good"}),
    ("GET", f"{ONE}/versions", "", "m", None),
    ("POST", f"{OTHER}/promote", "", "m", {}),
    ("POST", f"{ONE}/rollback", "", "m", {}),
    ("GET", f"{ONE}/challengers", "", "m", None),
    ("DELETE", OTHER, "", "m", None),
    ("DELETE", VERSION, "", "m", None),
    ("GET", f"{ONE}/scores", "", "m", None),
    ("GET", ONE, "", "m", None),
    ("GET", "/v1/models", "", "", None),
    ("GET", "/v1/learners", "", "", None),
    ("GET", f"{ONE}/file", "", "m", None),
    ("PUT", f"{ONE}/file", "", "again", b"file"),
    ("GET", "/healthz", "", "", None),
    ("GET", "/readyz", "", "", None),
    ("GET", "/metrics", "", "", None),
    ("DELETE", ONE, "", "m", None),
]
#: Requests that are refused: method, path, body, status, part of the message.
REFUSED: list[tuple[str, str, Any, int, str]] = [
    ("POST", "/v1/models", {"name": "m", **CREATE}, 409, "of this name already"),
    ("POST", "/v1/models", {"name": "n"}, 422, "n_features their number"),
    (
        *("POST", "/v1/models", {"name": "n", "learner": "?", "n_features": 2}, 422),
        "learner must be one of Pooled, RPNB",
    ),
    ("POST", "/v1/models", {"name": "/", **CREATE}, 422, "1 to 64 letters"),
    ("GET", "/v1/models/m/file?kind=other", None, 422, "kind must be one of model"),
    ("GET", "/v1/models/m/file?kind=onnx", None, 409, "only models of the learner"),
    ("POST", "/v1/models/m/predict", b"{", 422, "the body is not JSON"),
    ("POST", "/v1/models/m/predict", b'"\xff"', 422, "the body is not JSON: it is not"),
    ("POST", "/v1/models/m/predict", b"[" * 9000, 422, "nested too deeply"),
    ("POST", "/v1/models/m/predict", {"rows": [[1, "x"]]}, 422, "row 0, column 1"),
    ("POST", "/v1/models/m/predict", b'{"rows": [[1, 1e999]]}', 422, "out of range"),
    ("POST", "/v1/models/m/predict", {"rows": [[1.0]]}, 422, "row 0 has 1 values"),
    ("POST", "/v1/models/m/predict", {"rows": []}, 422, "the request has no rows"),
    ("POST", "/v1/models/m/predict", {"other": []}, 422, "no other fields than rows"),
    (
        *("POST", "/v1/models/m/learn", {"rows": ROWS[:2], "labels": ["a"]}, 422),
        "2 rows and 1 labels",
    ),
    ("GET", "/v1/models/none", None, 404, "there is no model of this name"),
    ("GET", "/nowhere", None, 404, "there is no such address"),
    ("PUT", "/v1/models", None, 405, "this method is not allowed here"),
]

Ask = Callable[..., Awaitable[httpx.Response]]


def ask_all(folder: Path, work: Callable[[Ask], Awaitable[None]]) -> None:
    """Run requests against the application of a new folder."""

    async def run() -> None:
        writer = Writer(folder, Limits())
        metrics = Metrics(writer)
        transport = httpx.ASGITransport(
            Guard(make_app(writer, metrics), Limits(), None, metrics)
        )
        writer.start()
        try:
            here = "http://localhost"
            async with httpx.AsyncClient(transport=transport, base_url=here) as client:

                async def ask(method: str, path: str, body: Any) -> httpx.Response:
                    kind = "octet-stream" if method == "PUT" and body else "json"
                    content = body if isinstance(body, bytes) else b""
                    if body is not None and not isinstance(body, bytes):
                        content = json.dumps(body).encode()
                    return await client.request(
                        method,
                        path,
                        content=content,
                        headers={"content-type": f"application/{kind}"},
                    )

                await work(ask)
        finally:
            await asyncio.to_thread(writer.stop)

    asyncio.run(run())


def check(operation: dict[str, Any], answer: httpx.Response) -> None:
    """Compare a response with the description of its operation."""
    promised = operation["responses"][str(answer.status_code)]["content"]
    (kind,) = promised
    assert answer.headers["content-type"].partition(";")[0] == kind
    schema = promised[kind].get("schema")
    if schema is None:
        return
    value = answer.json()
    jsonschema_rs.validate(schema, value)
    if "properties" in schema:
        assert value.keys() <= schema["properties"].keys()


def test_every_operation_answers_what_is_described(tmp_path: Path) -> None:
    async def work(ask: Ask) -> None:
        described = (await ask("GET", "/openapi.json", None)).json()["paths"]
        file = b""
        for method, path, query, name, body in DONE:
            address = path.format(name=name, challenger="other", version="good")
            answer = await ask(
                method, address + query, file if body == b"file" else body
            )
            assert answer.status_code in (200, 201), answer.text
            check(described[path][method.lower()], answer)
            file = file or (answer.content if path.endswith("/file") else b"")
        operations = {
            (method.upper(), path)
            for path, methods in described.items()
            for method in methods
        }
        assert {(method, path) for method, path, *_ in DONE} == operations

    ask_all(tmp_path, work)


def test_refusals_say_what_is_wrong_as_described(tmp_path: Path) -> None:
    async def work(ask: Ask) -> None:
        described = (await ask("GET", "/openapi.json", None)).json()["paths"]
        await ask("POST", "/v1/models", {"name": "m", **CREATE})
        for method, path, body, status, message in REFUSED:
            answer = await ask(method, path, body)
            assert answer.status_code == status, (path, answer.text)
            assert message in answer.json()["error"]["message"]
            check(described["/v1/models"]["post"], answer)

    ask_all(tmp_path, work)
