"""Reading `<slug>.csv.gz`: a header x1..xp,label, then one row per line.

A file whose decompressed bytes have the catalogue's checksum is parsed without further
checks. Any other is refused, after a slow check that finds the first error to name.
"""

import gzip
import hashlib
import math
import zlib
from collections import Counter
from pathlib import Path
from typing import NoReturn

import numpy as np

from rpnb.datasets.catalogue import Entry
from rpnb.datasets.dataset import DataFileError, LabelArray, Rows, fingerprint


def file_of(entry: Entry, folder: Path) -> Path:
    """Return the path of a dataset's file in a data folder."""
    return folder / f"{entry.slug}.csv.gz"


def read_rows(path: Path, entry: Entry) -> Rows:
    """Return features (n, p) and labels (n,) of the file at `path`.

    Raises
    ------
    DataFileError
        Naming the file and, if possible, the row, the column and the rule.
    """
    content = _decompress(path)
    if hashlib.sha256(content).hexdigest() != entry.sha256:
        _refuse(content, path, entry)
    return _parse(content)


def _parse(content: bytes) -> Rows:
    """Return features and labels of bytes that are known to be valid."""
    parts = [line.rpartition(",") for line in content.decode("ascii").splitlines()[1:]]
    X = np.loadtxt([cells for cells, _, _ in parts], delimiter=",", ndmin=2)
    y: LabelArray = np.array([label for _, _, label in parts], dtype=np.str_)
    return X, y


def _decompress(path: Path) -> bytes:
    try:
        with gzip.open(path) as file:
            return file.read()
    except EOFError as error:
        raise DataFileError(
            f"{path}: the gzip file is cut short; copy it again"
        ) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataFileError(f"{path}: not a valid gzip file ({error})") from error
    except OSError as error:
        raise DataFileError(f"{path}: cannot be read ({error})") from error


def _refuse(content: bytes, path: Path, entry: Entry) -> NoReturn:
    """Raise DataFileError with the first error of `content`."""
    try:
        lines = content.decode("ascii").splitlines()
    except UnicodeDecodeError as error:
        raise DataFileError(
            f"{path}, byte {error.start + 1}: must be plain ASCII text"
        ) from error
    _check_header(lines[0] if lines else "", path, entry.p)
    for row, line in enumerate(lines[1:], start=1):
        _check_row(line, row, path, entry)
    if len(lines) - 1 != entry.n:
        raise DataFileError(f"{path}: must have {entry.n} rows, got {len(lines) - 1}")
    counts = Counter(line.rpartition(",")[2] for line in lines[1:])
    for label, expected in entry.class_counts.items():
        if counts[label] != expected:
            raise DataFileError(
                f"{path}, column label: must hold {label!r} {expected} times, "
                f"got {counts[label]}"
            )
    same = fingerprint(*_parse(content)) == entry.rows
    hint = "the rows are the right ones, but in another order or notation"
    raise DataFileError(
        f"{path}: the sha256 of its decompressed bytes must be {entry.sha256}, got "
        f"{hashlib.sha256(content).hexdigest()}; "
        + (hint if same else "some value differs from the catalogue's")
    )


def _check_header(line: str, path: Path, p: int) -> None:
    columns = line.split(",")
    expected = [f"x{j}" for j in range(1, p + 1)] + ["label"]
    for name in expected:
        if name not in columns:
            raise DataFileError(
                f"{path}, header: must name the columns x1..x{p},label; "
                f"{name!r} is missing"
            )
    if columns != expected:
        raise DataFileError(
            f"{path}, header: must name the columns x1..x{p},label in this order and "
            f"no others, got {len(columns)} columns"
        )


def _check_row(line: str, row: int, path: Path, entry: Entry) -> None:
    """Refuse a line that is no row of the dataset."""
    cells = line.split(",")
    if len(cells) != entry.p + 1:
        raise DataFileError(
            f"{path}, row {row}: must have {entry.p} features and a label, "
            f"got {len(cells)} columns"
        )
    for j, cell in enumerate(cells[:-1], start=1):
        try:
            valid = math.isfinite(float(cell))
        except ValueError:
            valid = False
        if not valid:
            raise DataFileError(
                f"{path}, row {row}, column x{j}: must be a finite number, got {cell!r}"
            )
    if cells[-1] not in entry.class_counts:
        raise DataFileError(
            f"{path}, row {row}, column label: must be one of "
            f"{', '.join(entry.class_counts)}, got {cells[-1]!r}"
        )
