"""Excel: the first sheet of a workbook, read as if it were saved as CSV."""

import csv
import datetime
import io
from typing import Any

from rpnb.files.formats.byte_sources import BLOCK, STANDARD_INPUT
from rpnb.files.formats.delimited import Delimited
from rpnb.files.reading import FileError, ReadOptions


class Excel(Delimited):
    """Batches of the first sheet of a workbook, which is held in memory."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        text, notes = _sheet_as_csv(path)
        try:
            super().__init__(path, options, MemorySource(path, text), delimiter=",")
        except FileError as error:
            if not notes or len(error.problems) > 1:
                raise
            raise FileError(f"{error} ({notes[0]})", error.fixes) from error
        self.notes = [*notes, *self.notes]


class MemorySource:
    """Bytes in memory, with the interface of `ByteSource`."""

    conversion = None
    seekable = True

    def __init__(self, name: str, content: bytes) -> None:
        self.name = name
        self._file, self._size = io.BytesIO(content), len(content)

    def read(self, size: int = BLOCK) -> bytes:
        """Return up to `size` bytes, none at the end."""
        return self._file.read(size)

    def convert(self, function: Any) -> None:
        """Raise an error: the text is already UTF-8."""
        raise FileError(f"{self.name}: --encoding does not apply to Excel files")

    def share(self) -> float:
        """Return the share that has been read."""
        return self._file.tell() / max(self._size, 1)

    def close(self) -> None:
        """Release the bytes."""
        self._file.close()


def _sheet_as_csv(path: str) -> tuple[bytes, list[str]]:
    """Return the first sheet of a workbook as CSV, and notes on it."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as error:
        raise FileError(
            f"{path}: reading Excel files needs python-calamine: pip install "
            "'rpnb[excel]'"
        ) from error
    if path == STANDARD_INPUT:
        raise FileError("standard input: Excel files cannot be read from a pipe")
    try:
        # The kind of workbook is that of its bytes, whatever the name ends with.
        with open(path, "rb") as file, CalamineWorkbook.from_filelike(file) as book:
            names = book.sheet_names
            rows = book.get_sheet_by_index(0).to_python() if names else []
    except (CalamineError, OSError, ValueError) as error:
        raise FileError(
            f"{path}: not an Excel file that can be read ({error}); if it is text, use "
            "--format csv"
        ) from error
    notes = []
    if len(names) > 1:
        notes.append(f"the first of {len(names)} sheets is read, {names[0]}")
    if max(map(len, rows), default=0) == 1:
        raise FileError(
            f"{path}: the sheet {names[0]} has a single column; the table must be in "
            f"the first of the workbook's {len(names)} sheets"
        )
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_cell, row) for row in rows)
    return text.getvalue().encode(), notes


def _cell(value: Any) -> Any:
    """Return the value of a cell for CSV.

    >>> [_cell(value) for value in (3.0, 2.5, True, "a", datetime.date(2020, 1, 31))]
    ['3', 2.5, 'true', 'a', '2020-01-31']
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2.0**53:
        return str(int(value))
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return value
