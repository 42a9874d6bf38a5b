"""Server processes for the tests, on free ports.

The service needs an extra: without it, these tests are skipped; `make test-serve`
creates an environment with the extra and runs them there.
"""

import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

INSTALLED = all(
    find_spec(each) for each in ("httpx", "msgspec", "starlette", "uvicorn")
)
collect_ignore_glob = [] if INSTALLED else ["test_*.py", "process.py", "killing.py"]

if INSTALLED:
    from rpnb.client import Client
    from serve.process import ServerProcess

    @pytest.fixture(scope="module")
    def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
        """Return a server for the tests of a file, which use their own models.

        What other files leave behind, and their order, makes no difference.
        """
        with ServerProcess(tmp_path_factory.mktemp("shared")) as server:
            yield server

    @pytest.fixture
    def client(shared: ServerProcess) -> Iterator[Client]:
        with Client(shared.address, retries=0, timeout=300) as client:
            yield client

    @pytest.fixture
    def start(tmp_path: Path) -> Iterator[Callable[..., ServerProcess]]:
        """Return a function that starts a server in this test's folder."""
        started: list[ServerProcess] = []

        def start_one(*options: str) -> ServerProcess:
            started.append(ServerProcess(tmp_path / "served", *options))
            return started[-1]

        yield start_one
        for server in started:
            server.kill()

    # Its event loop runs until it is closed, and other tests have their own loops.
    @pytest.fixture(scope="module")
    def browser() -> Iterator[Any]:
        """Return a real Chromium."""
        sync_api = pytest.importorskip("playwright.sync_api")
        found = map(shutil.which, ("chromium", "chromium-browser"))
        chromium = next(filter(None, found), None)
        if chromium is None:
            pytest.skip("no Chromium is installed: apt install chromium")
        with sync_api.sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
            )
            yield browser
            browser.close()
