"""Examples of the documentation run in their own folder."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_folder(request: pytest.FixtureRequest) -> None:
    # Asked for here: a folder for each test would take longer than many a test.
    if isinstance(request.node, pytest.DoctestItem):
        folder: Path = request.getfixturevalue("tmp_path")
        request.getfixturevalue("monkeypatch").chdir(folder)
