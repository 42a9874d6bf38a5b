from pathlib import Path

import pytest

from rpnb import datasets
from rpnb.datasets.catalogue import entries
from rpnb.datasets.loading import data_folder
from rpnb.study.sources import DatasetRequest, is_offline, kind_now, load

SHARED = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.fixture(autouse=True)
def _no_data_folder_by_accident(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RPNB_DATA", raising=False)


def test_without_a_folder_rows_are_generated_or_fetched() -> None:
    kinds = [kind_now(entry, None) for entry in entries().values()]
    assert kinds.count("by rule") == 5
    assert kinds.count("drawn") == 5
    assert "file" not in kinds
    assert len(kinds) == 33


@pytest.mark.parametrize("name", ["Iris", "Led7digit", "GM", "Zoo"])
def test_where_rows_would_come_from_is_where_they_come_from(name: str) -> None:
    if not SHARED.is_dir():
        pytest.skip("needs the data files in ../shared/data")
    for folder in (None, SHARED):
        kind = kind_now(datasets.describe(name), folder)
        if kind == "OpenML" or kind == "unavailable":
            continue  # would need the network
        dataset, source = load(DatasetRequest(name, data=folder))
        assert source.startswith(kind)
        obtained = {"by rule": "generated", "drawn": "generated", "file": "file"}
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


def test_what_is_not_offline_is_refused_with_a_way_to_have_it(tmp_path: Path) -> None:
    zoo = datasets.describe("Zoo")
    assert not is_offline(zoo, None)
    with pytest.raises(datasets.DatasetUnavailableError, match=r"zoo\.csv\.gz"):
        load(DatasetRequest("Zoo", offline=True))
    (tmp_path / "zoo.csv.gz").touch()
    assert is_offline(zoo, tmp_path)
