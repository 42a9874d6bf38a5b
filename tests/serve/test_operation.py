"""Metrics, health, logs, the description of the interface, and the async client."""

import asyncio
import re
from collections.abc import Callable

import httpx
import pytest

from rpnb.client import AsyncClient, Client, ServeError
from rpnb.serve.limits import Limits
from serve.process import ServerProcess, run_command
from serve.streams import clusters

Start = Callable[..., ServerProcess]


def test_metrics_count_what_happened(shared: ServerProcess, client: Client) -> None:
    client.create("counted", "GaussianNB", features=4)
    X, y = clusters(50)
    client.observe("counted", X[:40], y[:40])
    found = client.predict("counted", X[40:], remember=True)
    assert found.ids is not None
    client.label("counted", found.ids[:4], y[40:44])
    text = httpx.get(f"{shared.address}/metrics").text

    def value(name: str) -> float:
        match = re.search(rf"^{name}{{model=\"counted\"}} (\S+)$", text, re.MULTILINE)
        assert match is not None, name
        return float(match[1])

    assert value("rpnb_model_learned_total") == 44
    assert value("rpnb_model_scored_total") == 43
    assert value("rpnb_model_waiting") == 6
    assert value("rpnb_model_predicted_total") == 10
    route = '{method="POST",route="/v1/models/{name}/observe",status="200"}'
    assert f"rpnb_requests_total{route}" in text
    assert "rpnb_writes_failing 0.0" in text


def test_health_and_learners(shared: ServerProcess) -> None:
    assert httpx.get(f"{shared.address}/healthz").json()["status"] == "ok"
    assert httpx.get(f"{shared.address}/readyz").status_code == 200
    names = httpx.get(f"{shared.address}/v1/learners").json()["learners"]
    assert {"RPNB", "Pooled", "AROW"} <= {each["name"] for each in names}


def test_each_request_is_logged_as_json_if_asked_for(start: Start) -> None:
    server = start("--log-requests")
    httpx.get(f"{server.address}/v1/models/secret-name")
    server.stop()
    line = next(each for each in server.lines if each["message"] == "request")
    assert line["route"] == "/v1/models/{name}"
    assert line["status"] == 404
    assert "secret-name" not in server.text


def test_the_description_has_examples_that_work(shared: ServerProcess) -> None:
    described = httpx.get(f"{shared.address}/openapi.json").json()

    def send(path: str, **where: str) -> httpx.Response:
        content = described["paths"][path]["post"]["requestBody"]["content"]
        example = content["application/json"]["example"]
        return httpx.post(
            shared.address + path.format(**where), json=example, timeout=300
        )

    assert send("/v1/models").status_code == 201
    one = "/v1/models/{name}"
    for action in ("observe", "learn", "predict", "explain", "labels"):
        answer = send(f"{one}/{action}", name="leaves")
        assert answer.status_code == 200, answer.text
    httpx.delete(f"{shared.address}/v1/models/leaves")


def test_the_description_has_the_kinds_of_the_answers(
    shared: ServerProcess, client: Client
) -> None:
    client.create("described", "GaussianNB", features=4)
    client.learn("described", *clusters(20))
    described = httpx.get(f"{shared.address}/openapi.json").json()["paths"]
    one = "/v1/models/{name}"
    body = b""
    for method, path, status in (
        ("get", f"{one}/file", 200),
        ("delete", one, 200),
        ("put", f"{one}/file", 201),
        ("get", one, 200),
        ("get", "/v1/models", 200),
        ("get", "/metrics", 200),
    ):
        answer = httpx.request(
            method,
            shared.address + path.format(name="described"),
            content=body if method == "put" else None,
            headers={"content-type": "application/octet-stream"},
        )
        assert answer.status_code == status, answer.text
        body = body or answer.content
        said = described[path][method]["responses"][str(status)]
        kind = answer.headers["content-type"].partition(";")[0]
        assert list(said["content"]) == [kind], (method, path)
    client.delete("described")


def test_the_help_has_the_limits_that_hold_without_options() -> None:
    usage, _, options = run_command("serve", "--help").stdout.partition("options:")
    text, limits = " ".join(options.split()), Limits()
    for name, expected in (
        ("bytes", limits.max_bytes),
        ("waiting", limits.max_waiting),
        ("age", limits.max_age / 86_400.0),
        ("in-flight", limits.max_in_flight),
        ("state", limits.max_state),
        ("memory", limits.max_memory / 2**20),
    ):
        assert f"--max-{name}" in usage
        found = re.search(rf"--max-{name} \S+ .*?\(default: (\d+)\)", text)
        assert found is not None, name
        assert float(found[1]) == expected


def test_the_async_client_has_the_same_methods(shared: ServerProcess) -> None:
    public = {name for name in vars(Client) if not name.startswith("_")}
    assert public == {name for name in vars(AsyncClient) if not name.startswith("_")}
    X, y = clusters(60)

    async def work() -> None:
        async with AsyncClient(shared.address) as client:
            await client.create("async", "GaussianNB", features=4)
            await client.learn("async", X[:20], y[:20])
            found = await client.predict("async", X[20:40], remember=True)
            ids = found.ids or []
            results = await asyncio.gather(
                *(
                    client.label("async", [each], [label])
                    for each, label in zip(ids, y[20:40], strict=True)
                )
            )
            assert all(each.learned == 1 for each in results)
            assert len(await client.observe("async", X[40:], y[40:])) == 20
            assert (await client.model("async"))["learned"] == 60
            assert (await client.health())["status"] == "ok"
            content = await client.download("async")
            await client.upload("async-2", content)
            assert len(await client.models()) >= 2
            for name in ("async", "async-2"):
                await client.delete(name)
            with pytest.raises(ServeError) as caught:
                await client.model("async")
            assert caught.value.status == 404

    asyncio.run(work())


def test_256_connections_at_a_time(shared: ServerProcess) -> None:
    async def work() -> None:
        async with AsyncClient(shared.address, connections=256, retries=0) as client:
            await client.create("many", "GaussianNB", features=1, classes=["a", "b"])
            found = await asyncio.gather(
                *(
                    client.predict("many", [[float(i)]], remember=True)
                    for i in range(256)
                )
            )
            ids = [each.ids[0] for each in found if each.ids]
            labels = await asyncio.gather(
                *(client.label("many", [each], ["a"]) for each in ids)
            )
            assert [each.results for each in labels] == [["learned"]] * 256
            assert (await client.model("many"))["learned"] == 256

    asyncio.run(work())


def test_the_client_sends_many_rows_in_batches(client: Client) -> None:
    client.create("batches", "GaussianNB", features=4)
    X, y = clusters(100)
    client.batch_size = 30
    predicted = client.observe("batches", X, y)
    assert len(predicted) == 100
    client.create("unsplit", "GaussianNB", features=4)
    client.batch_size = 5000
    assert client.observe("unsplit", X, y) == predicted
    X[77, 2] = float("inf")
    client.batch_size = 30
    with pytest.raises(ServeError) as caught:
        client.predict("batches", X)
    assert (caught.value.row, caught.value.column) == (77, 2)
    with pytest.raises(ValueError, match="one request"):
        client.learn("batches", X, y, key="k")


def test_no_answer_is_an_error_too() -> None:
    with Client("http://127.0.0.1:9", retries=1) as client:
        with pytest.raises(ServeError, match="no response") as caught:
            client.models()
        assert caught.value.status == 0


def test_bad_usage_is_named() -> None:
    done = run_command("serve", "/nonexistent/folder", "--check")
    assert done.returncode == 2
    assert "not a folder of rpnb serve" in done.stderr
    done = run_command("serve", "x", "--add-token", "a", "predict")
    assert done.returncode == 2
    assert "--token-file" in done.stderr
