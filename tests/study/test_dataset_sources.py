"""Where the rows of a dataset come from: files, downloads or generators."""

from pathlib import Path

import pytest

from rpnb import datasets
from rpnb.datasets.catalogue import entries
from rpnb.datasets.loader import data_folder
from rpnb.study.dataset_sources import DatasetRequest, is_offline, kind_now, load

SHARED = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.fixture(autouse=True)
def _no_data_folder_by_accident(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RPNB_DATA", raising=False)


def test_without_a_folder_rows_are_generated_or_fetched() -> None:
    kinds = [kind_now(entry, None) for entry in entries().values()]
    assert kinds.count("by rule") == 3
    assert kinds.count("in the package") == 2
    assert kinds.count("drawn") == 5
    assert "file" not in kinds
    assert len(kinds) == 33


@pytest.mark.parametrize("name", ["Iris", "Led7digit", "GM", "Zoo", "Tic_Tac_Toe"])
def test_the_expected_source_of_rows_is_the_actual_one(name: str) -> None:
    if not SHARED.is_dir():
        pytest.skip("needs the files of the paper's datasets")
    for folder in (None, SHARED):
        kind = kind_now(datasets.describe(name), folder)
        if kind == "OpenML" or kind == "unavailable":
            continue  # would need the network
        dataset, source = load(DatasetRequest(name, data=folder))
        assert source.startswith(kind)
        obtained = {
            "by rule": "generated",
            "drawn": "generated",
            "in the package": "package",
            "file": "file",
        }
        assert dataset.description.obtained == obtained[kind]


def test_drawn_rows_follow_the_seed() -> None:
    first, source = load(DatasetRequest("Led7digit", seed=3))
    again, _ = load(DatasetRequest("Led7digit", seed=3, offline=True))
    other, _ = load(DatasetRequest("Led7digit", seed=4))
    assert source == "drawn with seed 3"
    assert (first.X == again.X).all()
    assert (first.X != other.X).any()


def test_offline_alone_a_folder_of_the_environment_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "led7digit.csv.gz").write_bytes(b"not what it says")
    monkeypatch.setenv("RPNB_DATA", str(tmp_path))
    assert data_folder(None) == tmp_path
    _, source = load(DatasetRequest("Led7digit", offline=True))
    assert source == "drawn with seed 0"
    with pytest.raises(datasets.DataFileError, match="led7digit"):
        load(DatasetRequest("Led7digit"))  # the negative control


def test_datasets_that_need_a_network_are_refused_offline_with_a_hint(
    tmp_path: Path,
) -> None:
    zoo = datasets.describe("Zoo")
    assert not is_offline(zoo, None)
    with pytest.raises(datasets.DatasetUnavailableError, match=r"zoo\.csv\.gz"):
        load(DatasetRequest("Zoo", offline=True))
    (tmp_path / "zoo.csv.gz").touch()
    assert is_offline(zoo, tmp_path)
