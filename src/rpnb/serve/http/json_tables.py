"""Reading tables in JSON and NDJSON from untrusted clients, part by part.

Parsing JSON to Python objects takes up to 30 bytes of memory per byte of text, and
blocks other threads. So long arrays are split between their elements and parsed about
100 kB at a time; each part is checked before the next one is parsed.
"""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from rpnb.serve.http.json_text import load_json
from rpnb.serve.http.request_tables import Bytes, TableParts
from rpnb.serve.limits import ApiError, beyond, invalid

#: Names of lists in NDJSON, for requests and answers.
SINGULAR = {
    "rows": "row",
    "labels": "label",
    "ids": "id",
    "results": "result",
    "probabilities": "probabilities",
    "expected": "expected",
    "contributions": "contributions",
}

_AT_ONCE = 2**17
_LINES_AT_ONCE = 1_000
# Characters of a value with the name of its feature, all of them escaped.
_LONGEST_VALUE = 2_000
# Most lists, objects and values in a text that is parsed as a whole.
_MOST_VALUES = 250_000

_SPACE = re.compile(rb"[ \t\n\r]*")
_KEY = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\.){0,100}"')
_SCALAR = re.compile(rb'(?:"(?:[^"\\\x00-\x1f]|\\.)*"|[-+.0-9A-Za-z]+)')
_LINE = re.compile(rb"[^ \t\n\r\f\v][^\n]*")
_STRUCTURE = np.zeros(256, np.int8)
for _byte, _depth in ((b"[", 1), (b"{", 1), (b"]", -1), (b"}", -1)):
    _STRUCTURE[_byte[0]] = _depth


def parse_json(body: Bytes) -> Any:
    """Return the value of a JSON text, which must not have too many values."""
    if sum(map(body.count, (b"[", b"{", b","))) > _MOST_VALUES:
        raise beyond("their largest number", _MOST_VALUES, "the JSON is too long")
    return load_json(body)


# JSON


def read_json(body: Bytes, parts: TableParts) -> None:
    """Read an object of lists."""
    if len(body) <= _AT_ONCE:
        value = load_json(body)
        if not isinstance(value, dict):
            raise invalid("the body must be a JSON object")
        if not value.keys() <= set(parts.allowed):
            raise _other_fields(parts)
        for part, values in value.items():
            if values is not None:
                parts.add(part, values)
        return
    _LongObject(body, parts).read()


def _other_fields(parts: TableParts) -> ApiError:
    names = ", ".join(parts.allowed)
    return invalid(f"the body must have no other fields than {names}")


class _LongObject:
    """Reads a JSON object of long lists from the first byte to the last."""

    def __init__(self, body: Bytes, parts: TableParts) -> None:
        self._body, self._parts, self._at = body, parts, 0

    def read(self) -> None:
        self._space()
        if self._body[self._at : self._at + 1] != b"{":
            raise invalid("the body must be a JSON object")
        self._at += 1
        seen: set[str] = set()
        while True:
            part = self._key()
            if part in seen:
                raise invalid(f"the body must have the field {part} only once")
            seen.add(part)
            self._value(part)
            if self._next(b",}") == b"}":
                break
        self._space()
        if self._at != len(self._body):
            raise self._wrong("the end")

    def _space(self) -> None:
        found = _SPACE.match(self._body, self._at)
        assert found is not None  # noqa: S101 - it also matches the empty string
        self._at = found.end()

    def _next(self, one_of: bytes) -> bytes:
        """Return the next byte after white space, which must be one of `one_of`."""
        self._space()
        byte = bytes(self._body[self._at : self._at + 1])
        if not byte or byte not in one_of:
            raise self._wrong(" or ".join(chr(each) for each in one_of))
        self._at += 1
        return byte

    def _wrong(self, expected: str) -> ApiError:
        return invalid(f"the body is not JSON: expected {expected} at byte {self._at}")

    def _key(self) -> str:
        self._space()
        found = _KEY.match(self._body, self._at)
        if found is None:
            raise self._wrong("the name of a field")
        name = load_json(found[0])
        self._at = found.end()
        self._next(b":")
        if name not in self._parts.allowed:
            raise _other_fields(self._parts)
        return str(name)

    def _value(self, part: str) -> None:
        self._space()
        if self._body[self._at : self._at + 1] == b"[":
            self._at += 1
            self._elements(part)
            return
        found = _SCALAR.match(self._body, self._at)
        if found is None or found[0] != b"null":
            raise invalid(f"{part} must be a list")
        self._at = found.end()

    def _elements(self, part: str) -> None:
        """Read the elements of the list that begins here, some at a time."""
        first, ended = True, False
        while not ended:
            size, n, ended = self._cut(part)
            text = self._body[self._at : self._at + size]
            values = load_json(b"[" + text + b"]")
            if len(values) != n and not (first and ended and n == 1):
                raise self._wrong("a value")
            self._parts.add(part, values)
            self._at += size + 1  # and the comma or bracket after it
            first = False

    def _cut(self, part: str) -> tuple[int, int, bool]:
        """Return the size of the next elements, their number, and if the list ends.

        Elements are split at commas outside of strings and brackets.
        """
        size = _AT_ONCE
        while True:
            text = self._body[self._at : self._at + size]
            plain = text.replace(b"\\\\", b"__").replace(b'\\"', b"__")
            a = np.frombuffer(plain, np.uint8)
            outside = np.cumsum(a == ord('"'), dtype=np.int32) % 2 == 0
            depth = np.cumsum(_STRUCTURE[a] * outside, dtype=np.int32)
            closed = np.flatnonzero(depth < 0)
            stop = int(closed[0]) if closed.size else len(text)
            commas = (a == ord(",")) & outside
            between = np.flatnonzero(commas[:stop] & (depth[:stop] == 0))
            self._parts.expect(part, between.size)
            if closed.size:
                if text[stop : stop + 1] != b"]":
                    self._at += stop
                    raise self._wrong("]")
                return stop, between.size + 1, True
            if between.size:
                return int(between[-1]), between.size, False
            if self._at + size >= len(self._body):
                self._at = len(self._body)
                raise self._wrong("]")
            # An element is longer than that: only a row with many features may be.
            p = self._parts.columns.p
            too_many = np.count_nonzero(commas) > p or depth.max() > 1
            longest = p * _LONGEST_VALUE + self._parts.columns.longest_text
            if part != "rows" or too_many or size > longest:
                row = self._parts.counts.get(part, 0)
                raise invalid(f"element {row} of {part} is too long", row=row)
            self._parts.memory.add(size)
            size *= 2


# NDJSON


def read_lines(body: Bytes, parts: TableParts) -> None:
    """Read one object per nonempty line."""
    fields = {SINGULAR[part]: part for part in parts.allowed}
    found: dict[str, list[Any]] = {}
    present: set[str] = set()
    size = i = 0
    for start, stop in _lines(body):
        if stop - start > _AT_ONCE:
            p = parts.columns.p
            texts = parts.columns.longest_text
            commas = body.count(b",", start, stop)
            too_many = not texts and commas > p + len(fields)
            if too_many or stop - start > _AT_ONCE + p * _LONGEST_VALUE + texts:
                raise invalid(f"line {i} is too long", row=i)
        line = body[start:stop]
        value = load_json(line, f"line {i}", i)
        if not isinstance(value, dict) or not value.keys() <= fields.keys():
            raise invalid(
                f"line {i} must be an object with no other fields than "
                f"{', '.join(fields)}",
                row=i,
            )
        if i == 0:
            present = set(value)
        elif value.keys() != present:
            raise invalid(f"line {i} has other fields than line 0", row=i)
        for name in value:
            found.setdefault(fields[name], []).append(value[name])
        size, i = size + len(line), i + 1
        if size > _AT_ONCE or i % _LINES_AT_ONCE == 0:
            _add(found, parts)
            found, size = {}, 0
    _add(found, parts)


def _lines(body: Bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of nonempty lines, in short steps for other threads."""
    start = 0
    while start < len(body):
        stop = body.rfind(b"\n", start, start + _AT_ONCE)
        if stop < 0:
            stop = body.find(b"\n", start + _AT_ONCE)
        stop = len(body) if stop < 0 else stop
        for match in _LINE.finditer(body, start, stop):
            yield match.span()
        start = stop + 1


def _add(found: dict[str, list[Any]], parts: TableParts) -> None:
    for part, values in found.items():
        parts.add(part, values)
