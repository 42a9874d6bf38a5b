"""Bytes from a file, a gzip file or the standard input, in blocks of whole lines."""

import gzip
import io
import os
import select
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from rpnb.files.records import FileError

#: Bytes of a block.
BLOCK = 1 << 22
#: No line of a table of text is longer than this many bytes.
LONGEST = 1 << 26
# Bytes of a pipe to wait for before the first row.
_ENOUGH = 1 << 16
_GZIP = b"\x1f\x8b"
#: The path that stands for the standard input.
STANDARD_INPUT = "-"


class ByteSource:
    """Bytes of a file, decompressed where they begin as gzip files do.

    Parameters
    ----------
    path
        The file, or "-" for the standard input.
    """

    def __init__(self, path: str) -> None:
        self.name = "standard input" if path == STANDARD_INPUT else path
        self.seekable = path != STANDARD_INPUT and Path(path).is_file()
        self._size = 0
        try:
            if path == STANDARD_INPUT:
                self._raw: IO[bytes] = sys.stdin.buffer
            else:
                self._raw = open(path, "rb")  # noqa: SIM115 - closed by close()
                self._size = os.fstat(self._raw.fileno()).st_size
            buffered = self._raw
            if not isinstance(buffered, io.BufferedReader):
                buffered = io.BufferedReader(self._raw)
            self._zipped = buffered.peek(2)[:2] == _GZIP
        except OSError as error:
            raise FileError(f"{self.name}: {error.strerror or error}") from error
        self._file: IO[bytes] = buffered
        if self._zipped:
            self._file = gzip.GzipFile(fileobj=buffered)  # type: ignore[assignment]

    def read(self, size: int = BLOCK) -> bytes:
        """Return up to `size` bytes, none at the end.

        From a pipe, whatever is there, at least one byte: a stream may pause for long.
        """
        try:
            if self.seekable:
                return self._file.read(size)
            data: bytes = self._file.read1(size)  # type: ignore[attr-defined]
            while data and len(data) < size and self._has_more():
                more = self._file.read1(size - len(data))  # type: ignore[attr-defined]
                if not more:
                    break
                data += more
            return data
        except EOFError as error:
            raise FileError("the gzip file is cut short; copy it again") from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise FileError(f"not a sound gzip file ({error})") from error
        except OSError as error:
            raise FileError(f"{error.strerror or error}") from error

    def _has_more(self) -> bool:
        """Return whether a pipe can be read without waiting."""
        try:
            return bool(select.select([self._raw], [], [], 0.0)[0])
        except (OSError, ValueError):  # not a pipe, or a system that cannot tell
            return False

    def share(self) -> float | None:
        """Return which share of the file has been read, if that can be known."""
        if self._size == 0:
            return None
        try:
            return min(self._raw.tell() / self._size, 1.0)
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        """Close the file; the standard input stays open."""
        if self._zipped:
            self._file.close()
        if self._raw is not sys.stdin.buffer:
            self._raw.close()


@contextmanager
def closed_on_error(source: Any) -> Iterator[None]:
    """Close a source if the block raises an exception."""
    try:
        yield
    except BaseException:
        source.close()
        raise


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int = ..., /) -> bytes:
        """Return up to `size` bytes."""


def whole_lines(
    source: Readable, first: bytes = b"", *, quote: bytes = b"", size: int = BLOCK
) -> Iterator[bytes]:
    """Yield all bytes in blocks that end with a line, the last perhaps without.

    Parameters
    ----------
    source
        The bytes.
    first
        Bytes that were read from it before.
    quote
        A line does not end between two of these.
    size
        Bytes to read at a time.
    """
    rest = first
    while True:
        # Before more is read: a pipe may have paused after the first bytes.
        cut = _last_end(rest, quote)
        if cut:
            yield rest[:cut]
            rest = rest[cut:]
        elif len(rest) > LONGEST:
            raise FileError(
                f"a line of more than {LONGEST >> 20} MB: not a table of text"
                + (", or a quotation mark without its partner" if quote else "")
            )
        more = source.read(size)
        if not more:
            break
        rest += more
    if rest:
        yield rest


def _last_end(block: bytes, quote: bytes) -> int:
    """Return where the last whole line ends, 0 if none does."""
    cut = block.rfind(b"\n") + 1
    if not quote or not cut:
        return cut
    open_quote = block.count(quote, 0, cut) % 2 == 1
    while open_quote and cut:
        # Lines are left for the next block until quotation marks are in pairs.
        start = block.rfind(b"\n", 0, cut - 1) + 1
        open_quote = (block.count(quote, start, cut) + open_quote) % 2 == 1
        cut = start
    return cut


def head_of(source: ByteSource) -> bytes:
    """Return the first bytes of a text file; an error says if it is not one."""
    head = b""
    try:
        # Enough to see what the columns are, also from a pipe that gives little.
        while len(head) < min(_ENOUGH, BLOCK) and (more := source.read(BLOCK)):
            head += more
    except FileError as error:
        raise FileError(f"{source.name}: {error}") from error
    if not head:
        raise FileError(f"{source.name}: the file is empty")
    if b"\x00" in head:
        raise FileError(f"{source.name}: a binary file, not a table of text")
    return head.removeprefix(b"\xef\xbb\xbf")
