"""Where a dataset's rows would come from now, known without loading them."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from rpnb import datasets
from rpnb.datasets.catalogue import Entry
from rpnb.datasets.csv_files import file_of
from rpnb.datasets.loading import DATA_VARIABLE
from rpnb.datasets.openml import how_to_get
from rpnb.datasets.records import Reading

Kind: TypeAlias = Literal["by rule", "file", "drawn", "OpenML", "nowhere"]


@dataclass(frozen=True, slots=True)
class DatasetRequest:
    """All that loading a dataset for a study depends on."""

    dataset: str
    reading: Reading = "paper"
    data: Path | None = None
    seed: int = 0
    """what the rows are drawn with, where they are drawn from a law"""
    offline: bool = False


def data_folder(data: Path | None) -> Path | None:
    """Return the folder of data files: as given, or as the environment says."""
    if data is not None:
        return data
    named = os.environ.get(DATA_VARIABLE)
    return Path(named) if named else None


def require_folder(data: Path | None) -> None:
    """Refuse a folder of data files that is not there."""
    folder = data_folder(data)
    if folder is not None and not folder.is_dir():
        name = "data" if data is not None else DATA_VARIABLE
        raise datasets.DatasetError(
            f"{name} must be an existing folder, got {str(folder)!r}"
        )


def kind_now(entry: Entry, folder: Path | None) -> Kind:
    """Return what `rpnb.datasets.load` would take the rows from, in its order."""
    if entry.generator == "exact":
        return "by rule"
    if has_file(entry, folder):
        return "file"
    if entry.generator == "drawn":
        return "drawn"
    return "nowhere" if entry.openml is None else "OpenML"


def has_file(entry: Entry, folder: Path | None) -> bool:
    """Return whether a folder holds a file by the dataset's name."""
    if folder is None or entry.sha256 is None:
        return False
    return file_of(entry, folder).exists()


def is_offline(entry: Entry, data: Path | None) -> bool:
    """Return whether a dataset can be had without network.

    A folder counts only if it is given; one that the environment names does not, so
    that an offline study is the same on any machine.
    """
    return entry.generator is not None or has_file(entry, data)


def is_drawn(entry: Entry, data: Path | None, offline: bool) -> bool:
    """Return whether `load` would draw a dataset's rows from a law."""
    folder = None if offline and data is None else data_folder(data)
    return kind_now(entry, folder) == "drawn"


def load(request: DatasetRequest) -> tuple[datasets.Dataset, str]:
    """Load a dataset, and say in a few words how its rows were had."""
    entry = datasets.describe(request.dataset)
    if request.offline and not is_offline(entry, request.data):
        raise datasets.DatasetUnavailableError(
            f"{entry.name} cannot be had offline. {how_to_get(entry)}"
        )
    alone = request.offline and request.data is None
    dataset = datasets.load(
        request.dataset,
        request.reading,
        data=request.data,
        source="generated" if alone else "any",
        seed=request.seed,
    )
    description = dataset.description
    if description.obtained == "file":
        return dataset, "file"
    if description.obtained == "generated" and entry.generator == "drawn":
        return dataset, f"drawn with {description.where}"
    return dataset, description.where
