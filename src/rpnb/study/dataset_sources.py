"""Where the rows of a dataset come from, determined without loading them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from rpnb import datasets
from rpnb.datasets.catalogue import Entry
from rpnb.datasets.csv_files import file_of
from rpnb.datasets.dataset import Reading
from rpnb.datasets.loader import data_folder
from rpnb.datasets.openml import how_to_get

Kind: TypeAlias = Literal[
    "by rule", "in the package", "file", "drawn", "OpenML", "unavailable"
]


@dataclass(frozen=True, slots=True)
class DatasetRequest:
    """The arguments for loading a dataset in a study."""

    dataset: str
    reading: Reading = "paper"
    data: Path | None = None
    seed: int = 0
    """seed for rows that are drawn at random"""
    offline: bool = False


def kind_now(entry: Entry, folder: Path | None) -> Kind:
    """Return where `rpnb.datasets.load` would take the rows from."""
    if entry.included == "rule":
        return "by rule"
    if entry.included == "file":
        return "in the package"
    if has_file(entry, folder):
        return "file"
    if entry.included == "draw":
        return "drawn"
    return "unavailable" if entry.openml is None else "OpenML"


def has_file(entry: Entry, folder: Path | None) -> bool:
    """Return whether a folder has the file of a dataset."""
    if folder is None or entry.sha256 is None:
        return False
    return file_of(entry, folder).exists()


def is_offline(entry: Entry, data: Path | None) -> bool:
    """Return whether a dataset is available without network.

    A folder counts only if it is an argument, not if the environment names it, so that
    an offline study is the same on any machine.
    """
    return entry.included is not None or has_file(entry, data)


def is_drawn(entry: Entry, data: Path | None, offline: bool) -> bool:
    """Return whether `load` would draw the rows of a dataset at random."""
    folder = None if offline and data is None else data_folder(data)
    return kind_now(entry, folder) == "drawn"


def load(request: DatasetRequest) -> tuple[datasets.Dataset, str]:
    """Return a dataset, and a short text on where its rows came from."""
    entry = datasets.describe(request.dataset)
    if request.offline and not is_offline(entry, request.data):
        raise datasets.DatasetUnavailableError(
            f"{entry.name} is not available offline. {how_to_get(entry)}"
        )
    # Offline, a folder that the environment names has no effect on what is drawn.
    drawn = request.offline and request.data is None and entry.included == "draw"
    dataset = datasets.load(
        request.dataset,
        request.reading,
        data=request.data,
        source="generated" if drawn else "any",
        seed=request.seed,
    )
    description = dataset.description
    if description.obtained == "file":
        return dataset, "file"
    if description.obtained == "generated" and entry.included == "draw":
        return dataset, f"drawn with {description.where}"
    return dataset, description.where
