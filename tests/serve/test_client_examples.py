"""The examples of the clients run against a real server."""

import ast
import asyncio
import contextlib
import doctest
import inspect
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from rpnb import client as clients
from rpnb.client import AsyncClient, Client
from serve.process import ServerProcess

METHODS = sorted(name for name in vars(Client) if not name.startswith("_"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Return a server for all examples."""
    started = ServerProcess(tmp_path_factory.mktemp("examples") / "served")
    yield started
    started.kill()


@pytest.fixture
def names(server: ServerProcess) -> dict[str, Any]:
    """Return the rows and labels of the examples, which the only model has learned."""
    rng = np.random.default_rng(0)
    labels = ["oak", "elm"] * 20
    rows = (
        rng.normal(size=(40, 2)) + np.tile([[4.0, 1.0], [1.0, 4.0]], (20, 1))
    ).tolist()
    with Client(server.address) as client:
        for model in client.models():
            client.delete(model["name"])
        client.create(
            *("leaves", "Pooled"),
            features=["width", "height"],
            classes=["oak", "elm"],
            random_state=0,
        )
        client.learn("leaves", rows, labels)
    return {"rows": rows, "labels": labels}


def example_of(client: type, method: str, names: dict[str, Any]) -> doctest.DocTest:
    """Return the example of a method, which must have one."""
    text = inspect.getdoc(getattr(client, method)) or ""
    example = doctest.DocTestParser().get_doctest(text, names, method, None, None)
    assert example.examples
    return example


@pytest.mark.parametrize("method", METHODS)
def test_the_example_runs(
    method: str, server: ServerProcess, names: dict[str, Any]
) -> None:
    with Client(server.address) as client:
        example = example_of(Client, method, {**names, "client": client})
        found = doctest.DocTestRunner().run(example)
    assert found.failed == 0


async def printed(source: str, names: dict[str, Any]) -> str:
    """Return what a statement prints as typed into `python -m asyncio`."""
    code = compile(source, "example", "single", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        result = eval(code, names)  # noqa: S307 - from our own docstrings
        if inspect.iscoroutine(result):
            await result
    return out.getvalue()


@pytest.mark.parametrize("method", METHODS)
def test_the_asynchronous_example_runs(
    method: str, server: ServerProcess, names: dict[str, Any]
) -> None:
    async def run() -> None:
        async with AsyncClient(server.address) as client:
            names["client"] = client
            for each in example_of(AsyncClient, method, {}).examples:
                found = await printed(each.source, names)
                assert found == each.want, each.source

    asyncio.run(run())


def classes_and_properties() -> list[tuple[str, Any]]:
    """Return everything that `rpnb.client` documents, except methods."""
    found = [(name, getattr(clients, name)) for name in clients.__all__]
    return found + [
        (f"{name}.{key}", value)
        for name, each in found
        for key, value in vars(each).items()
        if isinstance(value, property)
    ]


@pytest.mark.parametrize(("name", "documented"), classes_and_properties())
def test_every_class_and_property_has_an_example_that_runs(
    name: str, documented: Any, server: ServerProcess, names: dict[str, Any]
) -> None:
    text = inspect.getdoc(documented) or ""
    assert "\nExamples\n" in text
    names["address"] = server.address
    example = doctest.DocTestParser().get_doctest(text, names, name, None, None)
    assert example.examples
    if name == "AsyncClient":

        async def run() -> None:
            for each in example.examples:
                assert await printed(each.source, names) == each.want, each.source

        asyncio.run(run())
    else:
        assert doctest.DocTestRunner().run(example).failed == 0
