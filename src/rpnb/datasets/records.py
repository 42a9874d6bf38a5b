"""The types that `load` returns and raises, and the fingerprint of rows."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray

LabelArray: TypeAlias = NDArray[np.str_]
Rows: TypeAlias = tuple[FloatArray, LabelArray]

Reading: TypeAlias = Literal["true", "paper"]
Obtained: TypeAlias = Literal["generated", "file", "downloaded"]


class DatasetError(ValueError):
    """A dataset is not available as asked for."""


class UnknownDatasetError(DatasetError):
    """The catalogue has no dataset of this name; `close` are similar names."""

    def __init__(self, message: str, close: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.close = close


class DataFileError(DatasetError):
    """A file is not the one that the catalogue describes."""


class DatasetUnavailableError(DatasetError):
    """No generator, file or download provides the dataset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The description of a loaded dataset.

    Attributes
    ----------
    name, slug
        Spelling of the paper's Table 1, and the name of its file.
    n, p, M
        Rows, features and classes of the loaded arrays.
    class_counts
        Rows of each label, in the catalogue's order.
    origin, licence, encoding, order
        Where the data come from, their licence, what columns and labels mean, and the
        order of the rows.
    reading
        Version of the data: "true", as published, or "paper", as the paper used it.
    changed
        What the paper's version changed, or None.
    obtained, where, checked
        Where the rows came from (generated, file or downloaded), the exact place, and
        what was compared with the catalogue.
    stands_for
        How a fresh draw differs from the original rows, or None if the rows are not
        drawn.
    """

    name: str
    slug: str
    n: int
    p: int
    M: int
    class_counts: Mapping[str, int]
    origin: str
    licence: str
    encoding: str
    order: str
    reading: Reading
    changed: str | None
    obtained: Obtained
    where: str
    checked: str
    stands_for: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Rows with their labels and their description.

    Attributes
    ----------
    name
        Spelling of the paper's Table 1.
    X : (n, p)
        Features, float64, rows contiguous.
    y : (n,)
        Labels as text, with the tokens of the original file.
    description
        Shape, class counts, origin, licence, encoding, and where the rows came from.
    """

    name: str
    X: FloatArray
    y: LabelArray
    description: Description


def count_labels(y: LabelArray) -> dict[str, int]:
    """Return the number of rows of each label, labels sorted as text."""
    labels, counts = np.unique(y, return_counts=True)
    return {str(label): int(count) for label, count in zip(labels, counts, strict=True)}


def fingerprint(X: FloatArray, y: LabelArray) -> str:
    """Return a checksum of labelled rows that does not depend on their order.

    Each row is hashed by the bytes of its numbers (little-endian float64, -0 taken
    as 0) and its label; the sorted hashes are hashed again.
    """
    numbers = np.ascontiguousarray(X + 0.0, dtype="<f8")
    rows = [
        hashlib.sha256(row.tobytes() + str(label).encode()).digest()
        for row, label in zip(numbers, y, strict=True)
    ]
    return hashlib.sha256(b"".join(sorted(rows))).hexdigest()
