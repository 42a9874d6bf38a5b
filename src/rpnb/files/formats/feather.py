"""Feather, the file format of Arrow, read batch by batch."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rpnb.files.encoding.planning import plan_columns
from rpnb.files.formats.arrow_arrays import (
    reported,
    require_content,
    require_pyarrow,
    require_seekable,
)
from rpnb.files.reading import FileError, ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa


class Feather:
    """Batches of a Feather file of version 2; not from the standard input."""

    again = True
    declared: list[Any] | None = None

    def __init__(self, path: str, options: ReadOptions) -> None:
        require_pyarrow("Feather")
        import pyarrow as pa

        self.name = path
        require_seekable(path, "Feather")
        self.notes: list[str] = []
        self.categories: dict[str, list[str]] = {}
        self._done = 0
        self._rows = 0
        with reported(lambda: path):
            require_content(path)
            with pa.OSFile(path) as file:
                if file.read(4) == b"FEA1":
                    raise FileError(
                        f"{path}: Feather version 1 is not supported; save the file "
                        "again as version 2"
                    )
                file.seek(0)
                reader = pa.ipc.open_file(file)
                schema, sample = reader.schema, None
                if reader.num_record_batches:
                    first = reader.get_batch(0)
                    first.validate(full=True)
                    sample = pa.Table.from_batches([first])
                self._batches = reader.num_record_batches
            self.plan = plan_columns(path, schema, options, sample)
            wanted = set(self.plan.wanted)
            fields = [j for j, name in enumerate(schema.names) if name in wanted]
            self._file = pa.OSFile(path)
            self._reader = pa.ipc.open_file(
                self._file, options=pa.ipc.IpcReadOptions(included_fields=fields)
            )

    def share(self) -> float | None:
        """Return the share of the batches that has been read."""
        return self._done / self._batches if self._batches else None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def batches(self) -> Iterator["pa.RecordBatch"]:
        """Yield the rows in their order."""
        with reported(lambda: f"{self.name}, after row {self._rows}"):
            for number in range(self._batches):
                batch = self._reader.get_batch(number)
                batch.validate(full=True)
                self._done += 1
                self._rows += batch.num_rows
                yield batch
