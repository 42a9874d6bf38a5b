"""Text formats: blocks of whole lines, each of which becomes a batch of rows."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from rpnb.files.formats.byte_sources import BLOCK, ByteSource
from rpnb.files.formats.lines import closed_on_error, head_of, whole_lines
from rpnb.files.reading import FileError, ReadOptions


class CountedRows(Protocol):
    """A batch of rows from a block of lines."""

    @property
    def num_rows(self) -> int:
        """Return the number of rows."""


Batch = TypeVar("Batch", bound=CountedRows)
# Each column of a block takes time, however few rows there are: if lines are long,
# blocks have at least this many rows, up to this many bytes.
_ROWS_OF_A_BLOCK, _LARGEST = 64, 1 << 25


def two_lines(head: bytes) -> bool:
    """Return whether bytes contain two whole lines: a header and a row."""
    return head.count(b"\n") > 1


class TextFile:
    """Abstract: a text file, or the standard input, that is read once.

    `complete` checks whether the first bytes contain all that a reader needs at once;
    `source` replaces the bytes of the file.
    """

    declared: list[Any] | None = None

    def __init__(
        self,
        path: str,
        options: ReadOptions,
        complete: Callable[[bytes], bool] = two_lines,
        source: Any = None,
    ) -> None:
        self._source: Any = ByteSource(path) if source is None else source
        self.name, self.again = self._source.name, self._source.seekable
        self.categories: dict[str, list[str]] = {}
        with closed_on_error(self._source):
            self._first, self.notes = head_of(self._source, options.encoding, complete)
        # `_first` are bytes that were read and are still to be parsed.
        wide = _ROWS_OF_A_BLOCK * (self._first.find(b"\n") + 1)
        self._block = {"size": min(wide, _LARGEST)} if wide > BLOCK else {}

    def share(self) -> float | None:
        """Return the share of the file that has been read."""
        return self._source.share()

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def _read(
        self, parse: Callable[[bytes, int], Batch | None], *, quote: bytes = b""
    ) -> Iterator[Batch]:
        """Yield the result of `parse` for each block and the number of its first row.

        An error without a place gets the file and the last row that was read.
        """
        row = 1
        try:
            for block in whole_lines(
                self._source, self._first, quote=quote, **self._block
            ):
                zero = block.find(b"\x00")
                if zero >= 0:
                    row += block.count(b"\n", 0, zero)
                    raise FileError(
                        f"{self.name}, row {row}: a zero byte; the file is damaged or "
                        "not text"
                    )
                batch = parse(block, row)
                if batch is not None and batch.num_rows > 0:
                    row += batch.num_rows
                    yield batch
        except FileError as error:
            if str(error).startswith(self.name):
                raise
            raise FileError(f"{self.name}, after row {row - 1}: {error}") from error
