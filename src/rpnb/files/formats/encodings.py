"""The encoding of a text file, given or detected from its first bytes.

Readers always get UTF-8; a file that is already UTF-8 is not converted.
"""

import codecs
import re
from collections.abc import Callable

from rpnb.files.reading import FileError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Bytes that Windows-1252 leaves undefined.
_UNDEFINED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
# Bytes that are not text in any single-byte encoding; a form feed may be.
_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1f]")
# Number of bytes to examine for UTF-16.
_LOOK = 4096


def encoding_of(head: bytes, named: str | None = None) -> tuple[str, int, str | None]:
    """Return an encoding, the length of its byte order mark, and a note if guessed.

    Parameters
    ----------
    head
        First bytes of a file.
    named
        Encoding that the user has set, if any.
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
        return wide, 0, f"the encoding looks like {wide.upper()}"
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(head)
    except UnicodeDecodeError:
        return _single_byte(head)
    return "utf-8", 0, None


def _family(encoding: str) -> str:
    """Return the name of an encoding without byte order and mark."""
    return "".join(c for c in encoding.lower().partition("-sig")[0] if c.isalnum())[:5]


def _two_bytes(head: bytes) -> str | None:
    """Return the UTF-16 encoding of mostly ASCII text; None if it is not UTF-16."""
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
        return "utf-8", 0, None  # with damaged places, which are reported later
    if 100 * len(_CONTROL.findall(head)) > len(head):
        raise FileError("a binary file, not a table of text")
    encoding = "latin-1" if _UNDEFINED.search(head) else "cp1252"
    return (
        encoding,
        0,
        f"not UTF-8, so read as {encoding}; set another encoding with --encoding",
    )


def to_utf8(encoding: str) -> Callable[[bytes], bytes]:
    """Return a function that converts bytes to UTF-8, part by part.

    A call with no bytes marks the end.
    """
    decoder = codecs.getincrementaldecoder(encoding)()

    def convert(data: bytes) -> bytes:
        try:
            return decoder.decode(data, not data).encode()
        except UnicodeError as error:
            place = getattr(error, "object", b"")[getattr(error, "start", 0) :][:1]
            raise FileError(
                f"byte 0x{place.hex()} is invalid in the encoding {encoding}; set "
                "another one with --encoding"
            ) from error

    return convert


def check_encoding(name: str) -> str:
    """Return the name of an encoding; raise ValueError if it is unknown."""
    try:
        known = codecs.lookup(name)
        " ".encode(name)
    except (LookupError, ValueError, TypeError) as error:
        raise ValueError(f"unknown text encoding: {name!r}") from error
    return known.name
