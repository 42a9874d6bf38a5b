"""Parquet, read by pyarrow batch by batch."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rpnb.files.encoding.planning import plan_columns
from rpnb.files.formats.arrow_arrays import (
    is_text,
    reported,
    require_content,
    require_pyarrow,
    require_seekable,
    validated,
)
from rpnb.files.reading import FileError, ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

#: Number of rows of a batch, and of bytes to read ahead per column.
_ROWS, _BUFFER = 1 << 16, 1 << 18
# Number of rows in which text is examined.
_SAMPLE = 1 << 13
# Largest number of bytes of text to examine.
_SAMPLE_BYTES = 1 << 26
# Limits of an unpacked row group: multiple of the size of the file, and bytes.
_MOST_GROWTH, _MOST_UNPACKED = 1000, 1 << 28


class Parquet:
    """Batches of a Parquet file; not from the standard input."""

    again = True
    declared: list[Any] | None = None

    def __init__(self, path: str, options: ReadOptions) -> None:
        require_pyarrow("Parquet")
        from pyarrow import parquet

        self.name = path
        require_seekable(path, "Parquet")
        self.notes: list[str] = []
        self.categories: dict[str, list[str]] = {}
        self._done = 0
        with reported(lambda: path):
            require_content(path)
            schema = parquet.read_schema(path)
            texts = [field.name for field in schema if is_text(field.type)]
            sample = _first_rows(path, texts)
            self.plan = plan_columns(path, schema, options, sample)
            self._file = parquet.ParquetFile(
                path,
                read_dictionary=texts,
                # Otherwise the bytes of the whole file stay in memory.
                pre_buffer=False,
                buffer_size=_BUFFER,
            )

    def share(self) -> float | None:
        """Return the share of the rows that has been read."""
        total = self._file.metadata.num_rows
        return self._done / total if total else None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def batches(self) -> Iterator["pa.RecordBatch"]:
        """Yield the rows in their order."""
        columns = self.plan.wanted
        with reported(lambda: f"{self.name}, after row {self._done}"):
            for batch in self._file.iter_batches(_ROWS, columns=columns):
                validated(batch)
                self._done += batch.num_rows
                yield batch


def _first_rows(path: str, columns: list[str]) -> "pa.Table | None":
    """Return some columns of the first rows; None if there is nothing to read."""
    import pyarrow as pa
    from pyarrow import parquet

    if not columns:
        return None
    # Texts stay dictionary-encoded until their length is known.
    with parquet.ParquetFile(
        path, read_dictionary=columns, pre_buffer=False, buffer_size=_BUFFER
    ) as file:
        _check_growth(path, file)
        for batch in file.iter_batches(_SAMPLE, columns=columns):
            validated(batch)
            rows = min(batch.num_rows, _SAMPLE_BYTES // max(_longest(batch), 1))
            some = batch.slice(0, max(rows, 1))
            return pa.table({name: _plain(some[name]) for name in columns})
    return None


def _check_growth(path: str, file: Any) -> None:
    """Refuse a file that, by its metadata, is far larger when unpacked."""
    size = max(os.stat(path).st_size, 1)
    metadata = file.metadata
    for i in range(metadata.num_row_groups):
        # Not by column: pyarrow aborts if the metadata of a column are damaged.
        unpacked = metadata.row_group(i).total_byte_size
        if unpacked > max(_MOST_GROWTH * size, _MOST_UNPACKED):
            raise FileError(
                f"{path}: a row group of this file of {size:,} bytes would unpack to "
                f"{unpacked:,} bytes, which is refused"
            )


def _longest(batch: "pa.RecordBatch") -> int:
    """Return an upper bound of the bytes of text in a row."""
    from pyarrow import compute

    total = 0
    for column in batch.columns:
        texts = getattr(column, "dictionary", column)
        total += compute.max(compute.binary_length(texts)).as_py() or 0
    return total


def _plain(column: Any) -> Any:
    return column.dictionary_decode() if hasattr(column, "dictionary") else column
