"""Examples of the documentation run in a folder of their own; kernels are shared."""

from pathlib import Path

import pytest

import kernel_store


@pytest.fixture(autouse=True)
def _own_folder(request: pytest.FixtureRequest) -> None:
    # Asked for here: a folder for each test would take longer than many a test.
    if isinstance(request.node, pytest.DoctestItem):
        folder: Path = request.getfixturevalue("tmp_path")
        request.getfixturevalue("monkeypatch").chdir(folder)


def pytest_configure(config: pytest.Config) -> None:
    """Begin with the kernels that other clones have compiled; leave them ours."""
    shared = kernel_store.store()
    if shared is not None and not hasattr(config, "workerinput"):
        kernel_store.fetch(shared)
        config.add_cleanup(lambda: kernel_store.keep(shared))
