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
Obtained: TypeAlias = Literal["generated", "package", "file", "downloaded"]


class DatasetError(ValueError):
    """A dataset is not available as requested.

    Examples
    --------
    >>> from rpnb import datasets
    >>> try:
    ...     datasets.load("letter", data="no/such/folder")
    ... except datasets.DatasetError as error:
    ...     print(error)
    data must be an existing folder, got 'no/such/folder'
    """


class UnknownDatasetError(DatasetError):
    """The catalogue has no dataset of this name; `close` are similar names.

    Examples
    --------
    >>> from rpnb import datasets
    >>> try:
    ...     datasets.load("leter")
    ... except datasets.UnknownDatasetError as error:
    ...     print(error.close[0])
    Letter
    """

    def __init__(self, message: str, close: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.close = close


class DataFileError(DatasetError):
    r"""A file is not the one that the catalogue describes.

    Examples
    --------
    >>> import gzip
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rpnb import datasets
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "letter.csv.gz").write_bytes(gzip.compress(b"x1,label\n"))
    ...     try:
    ...         datasets.load("letter", data=folder)
    ...     except datasets.DataFileError as error:
    ...         print(str(error).rsplit(": ", 1)[-1])
    must name the columns x1..x16,label; 'x2' is missing
    """


class DatasetUnavailableError(DatasetError):
    """The dataset cannot be generated, read from a file or downloaded.

    Examples
    --------
    >>> from rpnb import datasets
    >>> try:
    ...     datasets.load("letter", source="generated")
    ... except datasets.DatasetUnavailableError as error:
    ...     print(str(error).split(". ")[0])
    Letter is not available with source='generated'
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The description of a loaded dataset.

    Attributes
    ----------
    name : str
        Name of the dataset, spelled as in the paper's Table 1.
    slug : str
        Name of its file, without the extension.
    n : int
        Number of rows.
    p : int
        Number of features.
    M : int
        Number of classes.
    class_counts : mapping of str to int
        Number of rows of each label, in the catalogue's order.
    origin : str
        Where the data come from.
    licence : str
        Licence of the data.
    encoding : str
        What columns and labels mean.
    order : str
        Order of the rows.
    reading : {"true", "paper"}
        Version of the data: as published, or as the paper used it.
    changed : str or None
        What the paper's version changed.
    obtained : {"generated", "package", "file", "downloaded"}
        How the rows were obtained.
    where : str
        Exact place that the rows came from.
    checked : str
        What was compared with the catalogue.
    stands_for : str or None
        How a fresh draw differs from the original rows, if the rows were drawn.

    Examples
    --------
    >>> from rpnb import datasets
    >>> found = datasets.load("nursery").description
    >>> found.n, found.p, found.M, found.obtained
    (12960, 8, 5, 'generated')
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
    """Samples with their labels and their description.

    Attributes
    ----------
    name : str
        Name of the dataset, spelled as in the paper's Table 1.
    X : ndarray of shape (n_samples, n_features)
        Features, float64 in C order.
    y : ndarray of str of shape (n_samples,)
        Labels, spelled as in the original file.
    description : Description
        Shape, class counts, origin, licence, encoding, and where the rows came from.

    Examples
    --------
    >>> from rpnb import datasets
    >>> iris = datasets.load("iris")
    >>> iris.X.shape, str(iris.y[0])
    ((150, 4), 'Iris-setosa')
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
