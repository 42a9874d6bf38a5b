"""Parquet, read by pyarrow batch by batch."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rpnb.files.encoding.planning import plan_columns
from rpnb.files.formats.arrow import is_text, one_line, require_pyarrow, validated
from rpnb.files.formats.sources import STANDARD_INPUT
from rpnb.files.records import FileError, ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows of a batch, and bytes read ahead of a column.
_ROWS, _BUFFER = 1 << 16, 1 << 18
# Rows in which text is examined.
_SAMPLE = 1 << 13
#: What reading a damaged file may raise besides the errors of pyarrow.
DAMAGE = (OSError, ValueError, TypeError, IndexError, OverflowError, MemoryError)


class Parquet:
    """Batches of a Parquet file.

    Parameters
    ----------
    path
        The file; Parquet cannot come from the standard input.
    options
        How to read it.
    """

    again = True
    declared: list[Any] | None = None

    def __init__(self, path: str, options: ReadOptions) -> None:
        require_pyarrow("Parquet")
        import pyarrow as pa
        from pyarrow import parquet

        self.name = path
        if path == STANDARD_INPUT:
            raise FileError(
                "standard input: Parquet has its contents at the end and cannot be "
                "read as a stream; name the file"
            )
        self.notes: list[str] = []
        self.categories: dict[str, list[str]] = {}
        self._done = 0
        try:
            if Path(path).stat().st_size == 0:
                raise FileError(f"{path}: the file is empty")
            schema = parquet.read_schema(path)
            texts = [field.name for field in schema if is_text(field.type)]
            sample = _first_rows(path, texts)
            self.plan = plan_columns(path, schema, options, sample)
            self._file = parquet.ParquetFile(
                path,
                read_dictionary=texts,
                # Else the bytes of the whole file stay in memory.
                pre_buffer=False,
                buffer_size=_BUFFER,
            )
        except FileError:
            raise
        except (pa.ArrowException, *DAMAGE) as error:
            raise FileError(f"{path}: {one_line(error)}") from error

    def share(self) -> float | None:
        """Return which share of the rows has been read."""
        total = self._file.metadata.num_rows
        return self._done / total if total else None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def batches(self) -> Iterator["pa.RecordBatch"]:
        """Yield the rows in their order."""
        import pyarrow as pa

        columns = self.plan.wanted
        try:
            for batch in self._file.iter_batches(_ROWS, columns=columns):
                validated(batch)
                self._done += batch.num_rows
                yield batch
        except (pa.ArrowException, *DAMAGE) as error:
            raise FileError(
                f"{self.name}, after row {self._done}: {one_line(error)}"
            ) from error


def _first_rows(path: str, columns: list[str]) -> "pa.Table | None":
    """Return some columns of the first rows, None if there is nothing to read."""
    import pyarrow as pa
    from pyarrow import parquet

    if not columns:
        return None
    with parquet.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER) as file:
        for batch in file.iter_batches(_SAMPLE, columns=columns):
            validated(batch)
            return pa.Table.from_batches([batch])
    return None
