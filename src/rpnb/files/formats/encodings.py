"""The encoding of a text file: named, or recognised by its first bytes.

Whatever it is, readers get UTF-8. A file that is UTF-8 already costs nothing.
"""

import codecs
import re
from collections.abc import Callable

from rpnb.files.records import FileError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Bytes that Windows-1252 leaves undefined.
_UNDEFINED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
# Bytes that are no text in any encoding of single bytes; a form feed may be.
_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1f]")
# Bytes to look at where half of them may be zero.
_LOOK = 4096


def encoding_of(head: bytes, named: str | None = None) -> tuple[str, int, str | None]:
    """Return an encoding, the length of its mark, and a note where it was guessed.

    Parameters
    ----------
    head
        The first bytes of a file.
    named
        The encoding that the user names, if any.
    """
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            agrees = named is None or _family(named) == _family(encoding)
            if agrees:
                return encoding, len(mark), None
    if named is not None:
        return named, 0, None
    if b"\x00" in head:
        wide = _two_bytes(head[:_LOOK])
        if wide is None:
            raise FileError("a binary file, not a table of text")
        return wide, 0, f"read as {wide.upper()}, of which it has the form"
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(head)
    except UnicodeDecodeError:
        return _single_byte(head)
    return "utf-8", 0, None


def _family(encoding: str) -> str:
    """Return the name of an encoding without its byte order and mark."""
    return "".join(c for c in encoding.lower().partition("-sig")[0] if c.isalnum())[:5]


def _two_bytes(head: bytes) -> str | None:
    """Return which UTF-16 text is in, if it is mostly ASCII; None if it is not."""
    low, high = head[0::2], head[1::2]
    if not high:
        return None
    zeros_low, zeros_high = low.count(0) / len(low), high.count(0) / len(high)
    if zeros_high > 0.7 and zeros_low < 0.01:
        return "utf-16-le"
    if zeros_low > 0.7 and zeros_high < 0.01:
        return "utf-16-be"
    return None


def _single_byte(head: bytes) -> tuple[str, int, str | None]:
    """Return the encoding of text that is not UTF-8."""
    text = head.decode("utf-8", "replace")
    wrong = text.count("\N{REPLACEMENT CHARACTER}")
    if sum(ord(c) > 127 for c in text) - wrong > wrong:
        return "utf-8", 0, None  # with damaged places, which are named later
    if 100 * len(_CONTROL.findall(head)) > len(head):
        raise FileError("a binary file, not a table of text")
    encoding = "latin-1" if _UNDEFINED.search(head) else "cp1252"
    return (
        encoding,
        0,
        f"read in the encoding {encoding}, since it is not UTF-8; --encoding names "
        "another",
    )


def to_utf8(encoding: str) -> Callable[[bytes], bytes]:
    """Return a function that converts bytes, part by part, to UTF-8.

    No bytes stand for the end.
    """
    decoder = codecs.getincrementaldecoder(encoding)()

    def convert(data: bytes) -> bytes:
        try:
            return decoder.decode(data, not data).encode()
        except UnicodeError as error:
            place = getattr(error, "object", b"")[getattr(error, "start", 0) :][:1]
            raise FileError(
                f"byte 0x{place.hex()} is no text in the encoding {encoding}; "
                "--encoding names another"
            ) from error

    return convert


def check_encoding(name: str) -> str:
    """Return the name of an encoding; raise ValueError if it is not known."""
    try:
        known = codecs.lookup(name)
        " ".encode(name)
    except (LookupError, ValueError, TypeError) as error:
        raise ValueError(f"no encoding of text: {name!r}") from error
    return known.name
