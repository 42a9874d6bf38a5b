"""Parquet, read by pyarrow batch by batch."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rpnb.files.formats.arrow import is_text, plan_columns, require_pyarrow
from rpnb.files.formats.lines import STANDARD_INPUT
from rpnb.files.records import FileError, ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows of a batch, and bytes read ahead of a column.
_ROWS, _BUFFER = 1 << 16, 1 << 18


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
        try:
            if Path(path).stat().st_size == 0:
                raise FileError(f"{path}: the file is empty")
            schema = parquet.read_schema(path)
            self.kinds = plan_columns(path, schema, options)
            self._columns = [*self.kinds, str(options.target)]
            self._file = parquet.ParquetFile(
                path,
                read_dictionary=[f.name for f in schema if is_text(f.type)],
                # Else the bytes of the whole file stay in memory.
                pre_buffer=False,
                buffer_size=_BUFFER,
            )
        except (pa.ArrowException, OSError) as error:
            raise FileError(f"{path}: {_one_line(error)}") from error
        self.categories: dict[str, list[str]] = {}
        self._done = 0

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

        try:
            for batch in self._file.iter_batches(_ROWS, columns=self._columns):
                self._done += batch.num_rows
                yield batch
        except (pa.ArrowException, OSError) as error:
            raise FileError(
                f"{self.name}, after row {self._done}: {_one_line(error)}"
            ) from error


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split())
