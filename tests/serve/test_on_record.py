"""What the service answers is as on record: answers, errors, figures, its description.

The application runs in this process, without a server. What is meant to change is
written anew, and read: ``.venv/serve/bin/python tests/serve/test_on_record.py``.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from rpnb._version import __version__
from rpnb.serve.app import make_app
from rpnb.serve.http.guard import Guard
from rpnb.serve.limits import Limits
from rpnb.serve.metrics import Metrics
from rpnb.serve.writer import Writer

RECORD = Path(__file__).parents[1] / "golden" / "service.txt"
ROWS = [[float(i % 5), float(i * i % 7)] for i in range(30)]
LABELS = ["aab"[i % 3] for i in range(30)]
ONE = "/v1/models/m"
KEPT = f"{ONE}/predict?remember=true&probabilities=true"
REQUESTS: list[tuple[str, str, Any]] = [
    ("POST", "/v1/models", {"name": "m", "learner": "GaussianNB", "n_features": 2}),
    ("POST", "/v1/models", {"name": "m", "learner": "GaussianNB", "n_features": 2}),
    ("POST", "/v1/models", {"name": "n", "learner": "GaussianNB"}),
    ("POST", "/v1/models", {"name": "n", "learner": "?", "n_features": 2}),
    ("POST", "/v1/models", {"name": "/", "learner": "PA", "n_features": 2}),
    ("POST", "/v1/models", {"name": "n", "learner": "PA", "n_features": 0}),
    (
        *("POST", "/v1/models"),
        {
            "name": "named",
            "learner": "RPNB",
            "parameters": {"n_estimators": 2, "random_state": 0},
            "features": ["x", "y"],
            "classes": ["a", "b"],
        },
    ),
    ("GET", "/v1/models/named/file?kind=frozen", None),
    ("GET", "/v1/models/named/file?kind=other", None),
    ("POST", "/v1/models/named/predict", {"rows": ROWS[:1]}),
    ("POST", "/v1/models/named/predict", {"rows": [{"y": 1, "x": 2}]}),
    ("POST", "/v1/models/named/predict", {"rows": [{"y": 1, "z": 2}]}),
    ("POST", f"{ONE}/predict", {"rows": ROWS[:1]}),
    ("POST", f"{ONE}/observe", {"rows": ROWS, "labels": LABELS}),
    ("POST", f"{ONE}/learn", {"rows": ROWS[:3], "labels": LABELS[:3]}),
    ("POST", f"{ONE}/learn", {"rows": ROWS[:3], "labels": LABELS[:2]}),
    ("POST", KEPT, {"rows": ROWS[:3], "ids": ["x", "y", "z"]}),
    ("POST", KEPT, {"rows": ROWS[:1], "ids": ["z"]}),
    ("POST", f"{ONE}/predict?probabilities=1", {"rows": ROWS[:2]}),
    ("POST", f"{ONE}/predict", {"rows": ROWS[:1], "ids": ["q"]}),
    ("POST", f"{ONE}/labels", {"ids": ["x", "y"], "labels": ["a", "b"]}),
    ("POST", f"{ONE}/labels", {"ids": ["never"], "labels": ["a"]}),
    ("POST", f"{ONE}/explain", {"rows": ROWS[:1]}),
    ("GET", f"{ONE}/file?kind=onnx", None),
    ("GET", f"{ONE}/scores", None),
    ("GET", ONE, None),
    ("GET", "/v1/models/none", None),
    ("GET", "/nowhere", None),
    ("PUT", "/v1/models", None),
    ("POST", f"{ONE}/predict", b"{"),
    ("POST", f"{ONE}/predict", {"rows": [[1, "x"]]}),
    ("POST", f"{ONE}/predict", {"rows": [[1.0]]}),
    ("POST", f"{ONE}/predict", {"rows": []}),
    ("POST", f"{ONE}/predict", {"other": []}),
    ("GET", "/healthz", None),
    ("GET", "/metrics", None),
    ("DELETE", ONE, None),
    ("GET", "/v1/models", None),
]


async def answers(folder: Path) -> AsyncIterator[str]:
    """Yield requests with their answers, then the description."""
    writer = Writer(folder, Limits())
    metrics = Metrics(writer)
    app, _ = make_app(writer, metrics)
    writer.start()
    transport = httpx.ASGITransport(Guard(app, Limits(), None, metrics))
    here = "http://localhost"
    try:
        async with httpx.AsyncClient(transport=transport, base_url=here) as ask:
            for method, path, body in REQUESTS:
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                if body is None:
                    content = b""
                json_type = {"content-type": "application/json"}
                answer = await ask.request(
                    method, path, content=content, headers=json_type
                )
                yield f"# {method} {path} {content.decode()[:100]}"
                yield f"{answer.status_code} {answer.headers.get('content-type')}"
                if path == "/metrics":
                    # How long requests took differs from run to run.
                    found = [
                        line
                        for line in answer.text.splitlines()
                        if not line.startswith("rpnb_request")
                    ]
                elif answer.headers.get("content-type") == "application/json":
                    found = spread(answer.json())
                else:
                    found = []
                for line in found:
                    yield constant(line)
            described = (await ask.get("/openapi.json")).json()
    finally:
        writer.stop()
    for line in description(described):
        yield line


def spread(value: Any, depth: int = 2, name: str = "") -> list[str]:
    """Return the entries of dictionaries in dictionaries, one on each line."""
    if depth == 0 or not value or not isinstance(value, dict):
        return [f"{name}: {json.dumps(value, ensure_ascii=False)}"]
    return [
        line
        for key, each in value.items()
        for line in spread(each, depth - 1, f"{name}.{key}" if name else key)
    ]


def constant(line: str) -> str:
    """Return a line of an answer without what differs from run to run."""
    line = line.replace(__version__, "VERSION")
    line = re.sub(r"\b\d{10}\.\d+", "TIME", line)
    line = re.sub(r"^(rpnb_\w+_seconds_total) .*", r"\1", line)
    return re.sub(r"\d\.\d{6,}(e-\d+)?", lambda n: f"{float(n.group()):.6g}", line)


def description(described: Any) -> Iterator[str]:
    """Yield the description, errors once: they are the same of each operation."""
    errors: Any = None
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            own = {
                code: operation["responses"][code]
                for code in sorted(operation["responses"])
            }
            mine = {code: own.pop(code) for code in list(own) if code >= "300"}
            if path != "/readyz":
                errors = errors or mine
                assert mine == errors, (method, path)
                operation["responses"] = own
            yield f"# {method} {path}"
            yield from spread(operation, 6)
    yield from spread(errors)


async def lines(folder: Path) -> list[str]:
    return [line async for line in answers(folder)]


def test_what_is_answered_is_as_on_record(tmp_path: Path) -> None:
    found = asyncio.run(lines(tmp_path))
    assert found == RECORD.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    with TemporaryDirectory() as scratch:
        text = "".join(f"{line}\n" for line in asyncio.run(lines(Path(scratch))))
        RECORD.write_text(text, encoding="utf-8")
