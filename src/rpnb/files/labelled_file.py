"""A file of labelled rows as chunks of arrays, whatever its format."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from rpnb.core.kernels.arrays import IntArray
from rpnb.files.encoding.chunking import recut, shuffled
from rpnb.files.encoding.columns import NO_VALUE, ColumnEncoder
from rpnb.files.formats.arff import Arff
from rpnb.files.formats.delimited import Delimited
from rpnb.files.formats.json_lines import JsonLines
from rpnb.files.formats.lines import STANDARD_INPUT, closed_on_error
from rpnb.files.formats.parquet import Parquet
from rpnb.files.formats.svmlight import SparseEncoder, SvmLight
from rpnb.files.records import FileError, LabelledChunk, ReadOptions
from rpnb.labels import LabelIndex

#: Format -> endings of file names, without that of gzip.
FORMATS: Mapping[str, tuple[str, ...]] = {
    "csv": (".csv", ".tsv"),
    "parquet": (".parquet", ".pq"),
    "jsonl": (".jsonl", ".ndjson"),
    "arff": (".arff",),
    "svmlight": (".svmlight", ".libsvm", ".svm"),
}


class Source(Protocol):
    """What reads a format."""

    name: str
    again: bool
    """whether the file can be read twice"""
    declared: list[Any] | None
    """all labels there are, where the format says so"""

    def batches(self) -> Iterator[Any]:
        """Yield the rows in their order."""

    def share(self) -> float | None:
        """Return which share of the file has been read."""

    def close(self) -> None:
        """Close the file."""


_TABLES: dict[str, Callable[[str, ReadOptions], Any]] = {
    "csv": Delimited,
    "parquet": Parquet,
    "jsonl": JsonLines,
    "arff": Arff,
}


def format_of(path: str, named: str | None = None) -> str:
    """Return the format of a file: as named, or as its name suggests."""
    if named is not None:
        return named
    if path == STANDARD_INPUT:
        raise FileError("standard input: which format? name it with --format")
    name = Path(path).name.lower().removesuffix(".gz")
    for kind, endings in FORMATS.items():
        if name.endswith(endings):
            return kind
    known = ", ".join(ending for endings in FORMATS.values() for ending in endings)
    raise FileError(
        f"{path}: the format is not known by the name of the file ({known}, perhaps "
        f"with .gz); --format names one of {', '.join(FORMATS)}"
    )


class LabelledFile:
    """Rows of a file with their labels, in chunks, once.

    Parameters
    ----------
    path
        The file, or "-" for the standard input.
    options
        How columns become features and labels.
    kind
        The format; None for what the name suggests.
    state
        What the encoder of an earlier run had seen, to go on from there.
    """

    def __init__(
        self,
        path: str,
        options: ReadOptions,
        kind: str | None = None,
        state: Mapping[str, Any] | None = None,
    ) -> None:
        self.format = format_of(path, kind)
        if path != STANDARD_INPUT and not Path(path).exists():
            raise FileError(f"{path}: there is no such file")
        if path != STANDARD_INPUT and Path(path).is_dir():
            raise FileError(f"{path}: a folder, not a file")
        self._source: Any
        self.encoder: ColumnEncoder | SparseEncoder
        if self.format == "svmlight":
            self._source = SvmLight(path, options)
        else:
            self._source = _TABLES[self.format](path, options)
        with closed_on_error(self._source):
            self.encoder = self._encoder(path, options, state)
            if state is not None:
                self.encoder.resume(state)

    def _encoder(
        self, path: str, options: ReadOptions, state: Mapping[str, Any] | None
    ) -> ColumnEncoder | SparseEncoder:
        name = self._source.name
        if self.format == "svmlight":
            return SparseEncoder(name, int(self._source.p), options)
        categories: Mapping[str, list[str]] = {}
        if options.categorical == "one-hot" and state is None:
            open_table = _TABLES[self.format]
            categories = _all_categories(open_table, path, self._source, options)
        return ColumnEncoder(name, self._source.kinds, options, categories)

    @property
    def name(self) -> str:
        """The file's name, for people."""
        return str(self._source.name)

    @property
    def declared(self) -> list[Any] | None:
        """All labels there are, where the format says so."""
        declared: list[Any] | None = self._source.declared
        return declared

    def share(self) -> float | None:
        """Return which share of the file has been read, if that can be known."""
        share: float | None = self._source.share()
        return share

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def chunks(self, rows: int, shuffle: int | None = None) -> Iterator[LabelledChunk]:
        """Yield all rows, `rows` at a time, the last chunk with what is left.

        Parameters
        ----------
        rows
            Rows of a chunk.
        shuffle
            Seed of a random order. All columns are then held in memory.
        """
        batches = self._source.batches()
        numbered: Iterator[tuple[Any, IntArray]]
        if shuffle is None:
            numbered = _count(recut(batches, rows))
        else:
            numbered = shuffled(batches, rows, shuffle)
        empty = True
        for batch, numbers in numbered:
            empty = False
            yield self.encoder.encode(batch, numbers)
        if empty:
            raise FileError(f"{self.name}: there are no rows")


def _count(batches: Iterator[Any]) -> Iterator[tuple[Any, IntArray]]:
    row = 1
    for batch in batches:
        yield batch, np.arange(row, row + batch.num_rows)
        row += batch.num_rows


def _all_categories(
    open_table: Callable[[str, ReadOptions], Any],
    path: str,
    source: Any,
    options: ReadOptions,
) -> dict[str, list[str]]:
    """Return all values of the categories: by the header, or by a first pass."""
    columns = [name for name, kind in source.kinds.items() if kind == "category"]
    if all(name in source.categories for name in columns):
        return dict(source.categories)
    if not source.again:
        raise FileError(
            f"{source.name}: one-hot columns need a first pass over the file, and it "
            "cannot be read twice; use codes"
        )
    surveyed = open_table(path, options)
    scout = ColumnEncoder(surveyed.name, dict.fromkeys(columns, "category"), options)
    found = {name: LabelIndex() for name in columns}
    with closing(surveyed):
        for batch, rows in _count(surveyed.batches()):
            for name, index in found.items():
                scout.survey(name, index, batch.column(name), rows)
    return {
        name: [
            str(v) for v in index.labels if v != NO_VALUE or options.missing != "refuse"
        ]
        for name, index in found.items()
    }
