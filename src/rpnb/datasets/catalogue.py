"""The catalogue: the 33 datasets of the paper's Table 1, with their checksums."""

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from rpnb.datasets.dataset import UnknownDatasetError

Included: TypeAlias = Literal["rule", "file", "draw"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenMLSource:
    """How OpenML's columns are converted into the catalogue's."""

    ids: tuple[int, ...]
    """OpenML's datasets, whose columns are put side by side"""
    leading: int = 0
    """columns before the features (such as names) that are left out"""
    rows: int | None = None
    """number of rows from the start that belong to the dataset, or None for all"""
    decimals: int | None = None
    """number of decimals to which features are rounded, or None"""
    missing: Literal["drop"] | float | None = None
    """"drop" leaves out rows with a missing value; a number replaces it; None means
    that there is none"""
    labels: tuple[Mapping[str, str], ...] = ()
    """candidate renamings of the labels. The one that makes the rows equal to the
    catalogue's is used; if none does, the first. Empty: labels are kept."""
    labels_by_count: bool = False
    """whether labels are identified by their class counts, which all differ"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One dataset of the catalogue."""

    name: str
    """spelling of the paper's Table 1"""
    slug: str
    """`<slug>.csv.gz` is the name of its file"""
    p: int
    """number of features"""
    n: int
    """number of rows"""
    class_counts: Mapping[str, int]
    """rows of each label"""
    origin: str
    licence: str
    encoding: str
    """what columns and labels mean"""
    order: str
    """order of the rows"""
    included: Included | None = None
    """what the package has: a "rule" that generates exactly these rows, a "file" of
    them, or a "draw" of others from the same distribution; None if nothing"""
    stands_for: str | None = None
    """how a fresh draw differs from the original rows, or None"""
    paper_reading: str | None = None
    """how the version of the data that the paper used differs from the published one,
    or None if it does not"""
    sha256: str | None = None
    """checksum of the file's decompressed bytes, or None if there is no file"""
    rows: str | None = None
    """`rpnb.datasets.dataset.fingerprint` of the rows, or None"""
    openml: OpenMLSource | None = None
    """how to download it from OpenML, or None"""

    @property
    def M(self) -> int:
        """Number of classes."""
        return len(self.class_counts)


@cache
def entries() -> Mapping[str, Entry]:
    """Return the catalogue by slug, in the order of Table 1."""
    file = resources.files("rpnb.datasets").joinpath("catalogue.toml")
    tables = tomllib.loads(file.read_text("utf-8"))["dataset"]
    return MappingProxyType({table["slug"]: _entry(table) for table in tables})


def names() -> tuple[str, ...]:
    """Return the names of the 33 datasets, spelled and ordered as in Table 1.

    Returns
    -------
    tuple of str
        Names that `load` and `describe` accept.

    Examples
    --------
    >>> from rpnb import datasets
    >>> len(datasets.names()), "Letter" in datasets.names()
    (33, True)
    """
    return tuple(entry.name for entry in entries().values())


def describe(name: str) -> Entry:
    """Return the catalogue's entry of a dataset, without loading it.

    Parameters
    ----------
    name : str
        Name of the dataset: the paper's spelling or the slug; case, blanks, hyphens and
        underscores are ignored.

    Returns
    -------
    Entry
        Shape, class counts, origin, licence, encoding and checksums.

    Examples
    --------
    >>> from rpnb import datasets
    >>> entry = datasets.describe("letter")
    >>> entry.name, entry.n, entry.p
    ('Letter', 20000, 16)
    """
    by_key = {key_of(entry.slug): entry for entry in entries().values()}
    by_key |= {key_of(entry.name): entry for entry in entries().values()}
    key = key_of(name)
    if key not in by_key:
        close = difflib.get_close_matches(key, by_key, n=3, cutoff=0.5)
        names = tuple(dict.fromkeys(by_key[match].name for match in close))
        hint = ", ".join(map(repr, names))
        raise UnknownDatasetError(
            f"name must be one of the {len(entries())} of rpnb.datasets.names(), "
            f"got {name!r}" + (f" (did you mean {hint}?)" if hint else ""),
            names,
        )
    return by_key[key]


def key_of(name: str) -> str:
    """Return a name without case, blanks, hyphens and underscores."""
    return re.sub(r"[\s_-]+", "", name).casefold()


def _entry(table: dict[str, Any]) -> Entry:
    classes, openml = table.pop("classes"), table.pop("openml", None)
    return Entry(
        **table,
        class_counts=MappingProxyType(classes),
        openml=None if openml is None else _openml(openml),
    )


def _openml(table: dict[str, Any]) -> OpenMLSource:
    ids, labels = table.pop("ids"), table.pop("labels", [])
    if labels == "counts":
        return OpenMLSource(**table, ids=tuple(ids), labels_by_count=True)
    return OpenMLSource(**table, ids=tuple(ids), labels=tuple(labels))
