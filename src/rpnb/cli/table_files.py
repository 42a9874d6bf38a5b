"""Output tables, written batch by batch: CSV, JSON lines, Parquet, Feather."""

import csv
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from rpnb.cli import CommandError
from rpnb.cli.run.outputs import Outputs, refuse_other_format

_BINARY = {".parquet": "parquet", ".pq": "parquet", ".feather": "feather"}


class TableFile(ABC):
    """Abstract: a table to which batches of columns are added."""

    @abstractmethod
    def write(self, columns: Mapping[str, Any]) -> None:
        """Add rows: arrays by the name of the column, always the same names."""


class _Csv(TableFile):
    """A table as delimited text."""

    def __init__(self, file: IO[str], delimiter: str) -> None:
        self._writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        self._begun = False

    def write(self, columns: Mapping[str, Any]) -> None:
        """Add rows."""
        if not self._begun:
            self._writer.writerow(columns)
            self._begun = True
        texts = [_texts(values) for values in columns.values()]
        self._writer.writerows(zip(*texts, strict=True))


def _texts(values: Any) -> list[Any]:
    """Return values for CSV: probabilities with six digits."""
    if values.dtype.kind == "f":
        return [f"{value:.6g}" for value in values.tolist()]
    listed: list[Any] = values.tolist()
    return listed


class _JsonLines(TableFile):
    """A table as one JSON object per row."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, columns: Mapping[str, Any]) -> None:
        """Add rows."""
        names = list(columns)
        for row in zip(*(values.tolist() for values in columns.values()), strict=True):
            line = json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False)
            self._file.write(line + "\n")


class _Arrow(TableFile):
    """A table as Parquet or Feather."""

    def __init__(self, file: IO[bytes], kind: str) -> None:
        self._file, self._kind = file, kind
        self._writer: Any = None

    def write(self, columns: Mapping[str, Any]) -> None:
        """Add rows."""
        import pyarrow as pa

        batch = pa.record_batch(
            {name: pa.array(values.tolist()) for name, values in columns.items()}
        )
        if self._writer is None:
            if self._kind == "parquet":
                from pyarrow import parquet

                self._writer = parquet.ParquetWriter(self._file, batch.schema)
            else:
                self._writer = pa.ipc.new_file(self._file, batch.schema)
        self._writer.write_batch(batch)

    def close(self) -> None:
        """Write the rest of the file."""
        if self._writer is not None:
            self._writer.close()


@contextmanager
def open_table(path: Path | None, outputs: Outputs) -> Iterator[TableFile]:
    """Open an output table, by the ending of its name; None for standard output."""
    if path is None or str(path) == "-":
        yield _Csv(sys.stdout, ",")
        return
    ending = path.suffix.lower()
    if ending in _BINARY:
        try:
            import pyarrow  # noqa: F401
        except ImportError as error:
            raise CommandError(
                f"writing {ending} needs pyarrow: pip install 'rpnb[files]'"
            ) from error
        table = _Arrow(outputs.open_bytes(path), _BINARY[ending])
        try:
            yield table
        finally:
            table.close()
        return
    refuse_other_format(path, ".csv, .tsv, .jsonl, .parquet or .feather")
    if ending in (".jsonl", ".ndjson"):
        yield _JsonLines(outputs.open(path))
        return
    yield _Csv(outputs.open(path), "\t" if ending in (".tsv", ".tab") else ",")
