"""Files to measure readers on."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows of a table that is written at a time.
ROWS = 1 << 18


def write_tables(folder: Path, name: str, tables: Iterable["pa.Table"]) -> None:
    """Write tables of the same columns, one below the other, as Parquet and as CSV."""
    from pyarrow import csv, parquet

    writers: list[Any] = []
    for table in tables:
        if not writers:
            writers = [
                parquet.ParquetWriter(folder / f"{name}.parquet", table.schema),
                csv.CSVWriter(folder / f"{name}.csv", table.schema),
            ]
        for writer in writers:
            writer.write_table(table)
    for writer in writers:
        writer.close()
