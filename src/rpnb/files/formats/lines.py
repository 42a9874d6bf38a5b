"""Text in blocks of whole lines."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from rpnb.files.formats.byte_sources import BLOCK, ByteSource
from rpnb.files.formats.encodings import encoding_of, to_utf8
from rpnb.files.reading import FileError

#: Largest number of bytes of a line.
LONGEST = 1 << 26
# Number of bytes to wait for from a pipe before the first row.
_ENOUGH = 1 << 16


@contextmanager
def closed_on_error(source: Any) -> Iterator[None]:
    """Close a source if the block raises an exception."""
    try:
        yield
    except BaseException:
        source.close()
        raise


def whole_lines(
    source: ByteSource | IO[bytes],
    first: bytes = b"",
    *,
    quote: bytes = b"",
    size: int = BLOCK,
) -> Iterator[bytes]:
    """Yield all bytes in blocks of whole lines; the last may lack its line end.

    `first` are bytes that were read before. A line does not end between two `quote`.
    """
    rest = first
    while True:
        # Yield before reading more: a pipe may pause after the first bytes.
        cut = _last_end(rest, quote)
        if cut:
            yield rest[:cut]
            rest = rest[cut:]
        elif len(rest) > LONGEST:
            raise FileError(
                f"a line of more than {LONGEST >> 20} MB: not a table of text"
                + (", or an unmatched quotation mark" if quote else "")
            )
        more = source.read(size)
        if not more:
            break
        rest += more
    if rest:
        yield rest


def _last_end(block: bytes, quote: bytes) -> int:
    """Return the end of the last whole line; 0 if there is none."""
    cut = block.rfind(b"\n") + 1
    # Finding a quote is much faster than counting them.
    if not quote or not cut or quote not in block:
        return cut
    open_quote = block.count(quote, 0, cut) % 2 == 1
    while open_quote and cut:
        # Until quotation marks are in pairs, lines are left for the next block, from
        # the line of the last mark on.
        last = block.rfind(quote, 0, cut)
        start = block.rfind(b"\n", 0, last) + 1
        open_quote = (block.count(quote, start, cut) + open_quote) % 2 == 1
        cut = start
    return cut


def head_of(
    source: ByteSource, encoding: str | None, complete: Callable[[bytes], bool]
) -> tuple[bytes, list[str]]:
    """Return the first bytes of a text file as UTF-8, and notes on how it is read.

    The source must be new, and returns UTF-8 from then on. `complete` checks whether
    bytes contain all that is needed at once, such as a header.
    """
    notes: list[str] = []
    head = b""
    try:
        # Enough to infer the columns, even from a pipe that returns few bytes.
        while len(head) < min(_ENOUGH, BLOCK) and (more := source.read(BLOCK)):
            head += more
        if not head:
            raise FileError("the file is empty")
        found, mark, note = encoding_of(head, encoding)
        notes += [note] if note else []
        head = head[mark:]
        if found != "utf-8":
            convert = to_utf8(found)
            source.convert(convert)
            head = convert(head) if head else b""
        if b"\n" not in head and b"\r" in head.rstrip(b"\r"):
            # The line ends of old systems.
            source.convert(_after(source, lambda data: data.replace(b"\r", b"\n")))
            head = head.replace(b"\r", b"\n")
        while not complete(head) and len(head) <= LONGEST:
            more = source.read(BLOCK)
            if not more:
                break
            head += more
    except FileError as error:
        raise FileError(f"{source.name}: {error}") from error
    if not head:
        raise FileError(f"{source.name}: the file is empty")
    if b"\x00" in head:
        raise FileError(f"{source.name}: a binary file, not a table of text")
    return head, notes


def _after(
    source: ByteSource, function: Callable[[bytes], bytes]
) -> Callable[[bytes], bytes]:
    """Return a function that is applied after the current conversion, if any."""
    before = source.conversion
    return function if before is None else lambda data: function(before(data))
