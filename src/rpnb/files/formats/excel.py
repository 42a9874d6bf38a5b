"""Excel: the first sheet of a workbook, as if it had been saved as CSV."""

import csv
import datetime
import io
from typing import Any

from rpnb.files.formats.delimited import Delimited
from rpnb.files.formats.sources import BLOCK, STANDARD_INPUT
from rpnb.files.records import FileError, ReadOptions


class Excel(Delimited):
    """Batches of the first sheet of a workbook, which is held in memory."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        text, notes = _sheet_as_csv(path)
        super().__init__(path, options, MemorySource(path, text), delimiter=",")
        self.notes = [*notes, *self.notes]


class MemorySource:
    """Bytes that are in memory, as `ByteSource` gives those of a file."""

    conversion = None
    seekable = True

    def __init__(self, name: str, content: bytes) -> None:
        self.name = name
        self._file, self._size = io.BytesIO(content), len(content)

    def read(self, size: int = BLOCK) -> bytes:
        """Return up to `size` bytes, none at the end."""
        return self._file.read(size)

    def convert(self, function: Any) -> None:
        """Refuse: the text is UTF-8, with the line ends of this system."""
        raise FileError(f"{self.name}: --encoding is of no use for Excel files")

    def share(self) -> float:
        """Return which share has been read."""
        return self._file.tell() / max(self._size, 1)

    def close(self) -> None:
        """Let go of the bytes."""
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
        raise FileError("standard input: an Excel file must have a name")
    try:
        with CalamineWorkbook.from_path(path) as book:
            names = book.sheet_names
            rows = book.get_sheet_by_index(0).to_python() if names else []
    except (CalamineError, OSError, ValueError) as error:
        raise FileError(
            f"{path}: not an Excel file that can be read ({error})"
        ) from error
    notes = []
    if len(names) > 1:
        notes.append(f"the first of {len(names)} sheets is read, {names[0]}")
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_cell, row) for row in rows)
    return text.getvalue().encode(), notes


def _cell(value: Any) -> Any:
    """Return a cell as CSV has it.

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
