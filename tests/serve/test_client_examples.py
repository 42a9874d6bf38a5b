"""The examples of the client's methods run against a real server."""

import doctest
import inspect
from collections.abc import Iterator

import numpy as np
import pytest

from rpnb.client import Client
from serve.process import ServerProcess

METHODS = sorted(name for name in vars(Client) if not name.startswith("_"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Return a server for all examples."""
    started = ServerProcess(tmp_path_factory.mktemp("examples") / "served")
    yield started
    started.kill()


@pytest.mark.parametrize("method", METHODS)
def test_the_example_runs(method: str, server: ServerProcess) -> None:
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
        text = inspect.getdoc(getattr(Client, method)) or ""
        names = {"client": client, "rows": rows, "labels": labels}
        example = doctest.DocTestParser().get_doctest(text, names, method, None, None)
        assert example.examples
        found = doctest.DocTestRunner().run(example)
    assert found.failed == 0
