"""Formats of text: bytes in blocks of whole lines, a block becoming a batch of rows."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from rpnb.files.formats.lines import closed_on_error, head_of, whole_lines
from rpnb.files.formats.sources import BLOCK, ByteSource
from rpnb.files.records import FileError, ReadOptions


class CountedRows(Protocol):
    """What a block of lines becomes."""

    @property
    def num_rows(self) -> int:
        """Return the number of rows."""


Batch = TypeVar("Batch", bound=CountedRows)
# Each column of a block costs some time, however few rows there are: where lines are
# long, blocks have so many rows, or so many bytes.
_ROWS_OF_A_BLOCK, _LARGEST = 64, 1 << 25


def two_lines(head: bytes) -> bool:
    """Return whether bytes have two whole lines: a header and a row."""
    return head.count(b"\n") > 1


class TextFile:
    """Abstract: a file of text, or the standard input, that is read once.

    `complete` says whether the first bytes have all that a reader needs at once;
    `source` has bytes that do not come from a file as it is.
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
        # `_first` are bytes that were read already and are still to be parsed.
        wide = _ROWS_OF_A_BLOCK * (self._first.find(b"\n") + 1)
        self._block = {"size": min(wide, _LARGEST)} if wide > BLOCK else {}

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
            for block in whole_lines(
                self._source, self._first, quote=quote, **self._block
            ):
                zero = block.find(b"\x00")
                if zero >= 0:
                    row += block.count(b"\n", 0, zero)
                    raise FileError(
                        f"{self.name}, row {row}: a byte that is zero; the file is "
                        "damaged, or no text"
                    )
                batch = parse(block, row)
                if batch is not None and batch.num_rows > 0:
                    row += batch.num_rows
                    yield batch
        except FileError as error:
            if str(error).startswith(self.name):
                raise
            raise FileError(f"{self.name}, after row {row - 1}: {error}") from error
