"""What `load` returns, what it raises, and how rows are known again."""

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
    """A dataset cannot be had as asked for."""


class UnknownDatasetError(DatasetError):
    """No dataset of the catalogue has this name."""


class DataFileError(DatasetError):
    """A file is not the one that the catalogue describes."""


class DatasetUnavailableError(DatasetError):
    """Neither a generator, nor a file, nor the network gives the dataset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What is known of a loaded dataset.

    Attributes
    ----------
    name, slug
        Spelling of the paper's Table 1, and the name of its file.
    n, p, M
        Rows, features and classes of the arrays beside this record.
    class_counts
        Rows of each label, in the catalogue's order.
    origin, licence, encoding, order
        Where the data come from, on what terms, what the columns and labels mean,
        and in what order the rows stand.
    reading
        "true", or "paper" where the paper's reading of the file was asked for.
    changed
        What the paper's reading changed, or None.
    obtained, where, checked
        How the rows were had this time, from where, and what was compared with the
        catalogue.
    stands_for
        What is missing when the rows are a fresh draw, or None where they are the
        paper's rows.
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
    """Rows with their labels, and what is known of them.

    Attributes
    ----------
    name
        Spelling of the paper's Table 1.
    X : (n, p)
        Features, float64, rows contiguous.
    y : (n,)
        Labels as text, with the tokens of the original file.
    description
        Shape, class counts, origin, licence, encoding, and how the rows were had.
    """

    name: str
    X: FloatArray
    y: LabelArray
    description: Description


def count_labels(y: LabelArray) -> dict[str, int]:
    """Return how often each label occurs, labels sorted as text."""
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
