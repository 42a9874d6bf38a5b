"""Text in blocks of whole lines."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from rpnb.files.formats.encodings import encoding_of, to_utf8
from rpnb.files.formats.sources import BLOCK, ByteSource
from rpnb.files.records import FileError

#: No line of a table of text is longer than this many bytes.
LONGEST = 1 << 26
# Bytes of a pipe to wait for before the first row.
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
    """Yield all bytes in blocks that end with a line, the last perhaps without.

    The bytes `first` were read before. A line does not end between two of `quote`.
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
    # Looking for one is much faster than counting them.
    if not quote or not cut or quote not in block:
        return cut
    open_quote = block.count(quote, 0, cut) % 2 == 1
    while open_quote and cut:
        # Lines are left for the next block until quotation marks are in pairs: those
        # from the line on in which the last mark is.
        last = block.rfind(quote, 0, cut)
        start = block.rfind(b"\n", 0, last) + 1
        open_quote = (block.count(quote, start, cut) + open_quote) % 2 == 1
        cut = start
    return cut


def head_of(
    source: ByteSource, encoding: str | None, complete: Callable[[bytes], bool]
) -> tuple[bytes, list[str]]:
    """Return the first bytes of a text file as UTF-8, and notes on how it is read.

    Nothing has been read of the source, which gives UTF-8 from then on. `complete` says
    whether bytes have all that is needed at once, such as a header.
    """
    notes: list[str] = []
    head = b""
    try:
        # Enough to see what the columns are, also from a pipe that gives little.
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
            # As old systems end lines.
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
    """Return a function that is applied after the conversion that there is."""
    before = source.conversion
    return function if before is None else lambda data: function(before(data))
