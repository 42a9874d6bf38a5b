"""Sources of a dataset, their order, and the error if none has it."""

import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rpnb.datasets import (
    DataFileError,
    Dataset,
    DatasetError,
    DatasetUnavailableError,
    load,
    loader,
    names,
)
from rpnb.datasets.catalogue import describe, entries
from rpnb.datasets.dataset import count_labels

OFFLINE = [entry.name for entry in entries().values() if entry.included is not None]


def never(*_: Any) -> Any:
    raise AssertionError("the network must not be asked")


@pytest.mark.parametrize("name", OFFLINE)
def test_what_the_package_includes_needs_neither_folder_nor_network_nor_pandas(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader, "fetch_rows", never)
    monkeypatch.setitem(sys.modules, "pandas", None)
    dataset = load(name)
    entry, about = describe(name), dataset.description
    assert isinstance(dataset, Dataset)
    assert dataset.X.shape == (entry.n, entry.p) == (about.n, about.p)
    assert dataset.X.dtype == np.float64
    assert dataset.X.flags.c_contiguous
    assert dataset.y.shape == (entry.n,)
    assert dataset.y.dtype.kind == "U"
    assert dict(about.class_counts) == count_labels(dataset.y)
    assert list(about.class_counts) == list(entry.class_counts)
    kind = "package" if entry.included == "file" else "generated"
    assert (about.M, about.obtained) == (entry.M, kind)
    assert (about.stands_for is None) == (entry.included != "draw")


def test_ten_of_the_33_need_no_network() -> None:
    assert len(OFFLINE) == 10
    assert len(names()) == 33


def test_a_damaged_file_is_an_error_not_a_reason_to_draw(tmp_path: Path) -> None:
    assert load("twonorm", data=tmp_path).description.obtained == "generated"
    (tmp_path / "twonorm.csv.gz").write_bytes(gzip.compress(b"x1,label\n1,0\n"))
    with pytest.raises(DataFileError, match=r"twonorm\.csv\.gz, header"):
        load("twonorm", data=tmp_path)
    assert load("twonorm", data=tmp_path, source="generated").X.shape == (7400, 20)


def test_the_package_takes_precedence_over_a_folder(tmp_path: Path) -> None:
    for name, kind in (("iris", "generated"), ("tic_tac_toe", "package")):
        (tmp_path / f"{name}.csv.gz").write_bytes(b"not a file of data")
        assert load(name, data=tmp_path).description.obtained == kind
    assert load("tic_tac_toe", source="file").description.obtained == "package"
    with pytest.raises(DataFileError):
        load("iris", data=tmp_path, source="file")


def test_the_folder_comes_from_the_environment_or_the_argument(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_argument = load("Hayes Roth", data=str(data_folder))
    monkeypatch.setenv("RPNB_DATA", str(data_folder))
    by_environment = load("Hayes Roth")
    assert_array_equal(by_argument.X, by_environment.X)
    assert by_environment.description.where.endswith("hayes_roth.csv.gz")
    with pytest.raises(DataFileError):  # the argument wins
        load("Hayes Roth", data=tmp_path, source="file")


def test_a_folder_that_does_not_exist_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DatasetError, match="data must be an existing folder"):
        load("zoo", data=tmp_path / "none")
    monkeypatch.setenv("RPNB_DATA", str(tmp_path / "none"))
    with pytest.raises(DatasetError, match="RPNB_DATA must be an existing folder"):
        load("zoo")
    monkeypatch.setenv("RPNB_DATA", "")
    assert load("iris").X.shape == (150, 4)


def test_an_unavailable_dataset_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(DatasetUnavailableError, match=r"put marketing\.csv\.gz.*KEEL"):
        load("Marketing")
    with pytest.raises(DatasetUnavailableError, match=r"there is no .*marketing"):
        load("Marketing", data=tmp_path)
    with pytest.raises(DatasetUnavailableError, match="source='file' needs a folder"):
        load("Zoo", source="file")
    with pytest.raises(DatasetUnavailableError, match="GM has no file"):
        load("GM", source="file", data=tmp_path)
    with pytest.raises(DatasetUnavailableError, match="with source='generated'"):
        load("Zoo", source="generated")
    with pytest.raises(DatasetUnavailableError, match="available with source='openml'"):
        load("GM", source="openml")


def test_choices_are_checked() -> None:
    with pytest.raises(DatasetError, match="reading must be one of 'true', 'paper'"):
        load("iris", reading="false")  # type: ignore[arg-type]
    with pytest.raises(DatasetError, match="source must be one of 'any', 'generated'"):
        load("iris", source="web")  # type: ignore[arg-type]


def test_each_call_gives_its_own_arrays() -> None:
    load("iris").X[:] = 0.0
    assert load("iris").X.min() > 0.0
