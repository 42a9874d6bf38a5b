"""Formats of text: bytes in blocks of whole lines, a block becoming a batch of rows."""

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from rpnb.files.formats.lines import ByteSource, whole_lines
from rpnb.files.records import FileError


class CountedRows(Protocol):
    """What a block of lines becomes."""

    @property
    def num_rows(self) -> int:
        """Return the number of rows."""


Batch = TypeVar("Batch", bound=CountedRows)


class TextFile:
    """Abstract: a file of text, or the standard input, that is read once.

    Parameters
    ----------
    path
        The file, or "-".
    """

    def __init__(self, path: str) -> None:
        self._source = ByteSource(path)
        self.name, self.again = self._source.name, self._source.seekable
        self._first = b""
        """bytes after the header that were read along with it"""

    def share(self) -> float | None:
        """Return which share of the file has been read."""
        return self._source.share()

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def _read(
        self, parse: Callable[[bytes, int], Batch | None], *, quote: bytes = b""
    ) -> Iterator[Batch]:
        """Yield what `parse` makes of each block and the number of its first row.

        An error that names no place gets the file, and the row that was read last.
        """
        row = 1
        try:
            for block in whole_lines(self._source, self._first, quote=quote):
                batch = parse(block, row)
                if batch is not None and batch.num_rows > 0:
                    row += batch.num_rows
                    yield batch
        except FileError as error:
            if str(error).startswith(self.name):
                raise
            raise FileError(f"{self.name}, after row {row - 1}: {error}") from error
