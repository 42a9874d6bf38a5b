from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.fixture(autouse=True)
def _no_data_folder_by_accident(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RPNB_DATA", raising=False)


@pytest.fixture
def data_folder() -> Path:
    """The folder with the 32 files, which a user does not have."""
    if not SHARED.is_dir():
        pytest.skip("needs the data files in ../shared/data")
    return SHARED
