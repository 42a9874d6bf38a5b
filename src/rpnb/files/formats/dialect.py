"""The dialect of a delimited file: delimiter, header and comments."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from rpnb.files.encoding.number_text import is_plain_number
from rpnb.files.encoding.planning import UNNAMED, find_column
from rpnb.files.formats.lines import LONGEST
from rpnb.files.reading import FileError, typed

#: Delimiters by name, for command lines.
DELIMITERS: Mapping[str, str] = {
    "comma": ",",
    "semicolon": ";",
    "tab": "\t",
    "\\t": "\t",
    "pipe": "|",
    "space": " ",
}
# In order of preference.
_CANDIDATES = (",", ";", "\t", "|", " ")
# Largest number of lines and bytes to examine.
_LINES, _BYTES = 50, 1 << 18


def delimiter_named(text: str) -> str:
    """Return a delimiter by its name, or as it is.

    >>> delimiter_named("comma"), delimiter_named(";")
    (',', ';')
    """
    sign = DELIMITERS.get(text.lower(), text)
    if len(sign) != 1 or not sign.isascii() or sign in '"\r\n\x00':
        raise ValueError(
            f"must be one ASCII character or one of {', '.join(sorted(DELIMITERS))}, "
            f"got {text!r}"
        )
    return sign


def cells_of(text: str, delimiter: str, quote: str = '"') -> Iterator[list[str]]:
    """Yield the cells of each line, of any length."""
    if csv.field_size_limit() < LONGEST:
        csv.field_size_limit(LONGEST)
    lines = io.StringIO(text, newline="")
    return iter(csv.reader(lines, delimiter=delimiter, quotechar=quote))


def comment_pattern(start: str | None) -> Callable[[bytes], bytes]:
    """Return a function that removes lines that begin with `start`."""
    if start is None:
        return lambda block: block
    sign = re.escape(start.encode())
    pattern = re.compile(rb"^[ \t]*" + sign + rb"[^\n]*(?:\n|\Z)", re.MULTILINE)
    return lambda block: pattern.sub(b"", block)


def comment_sign(lines: Sequence[bytes]) -> str | None:
    """Return the comment sign with which all nonempty lines begin, if there is one."""
    signs = (b"#", b"%", b"//")
    return next(
        (
            sign.decode()
            for sign in signs
            if all(line.startswith(sign) or not line.strip() for line in lines)
            and any(map(bytes.strip, lines))
        ),
        None,
    )


def skip_lines(name: str, head: bytes, count: int) -> bytes:
    """Return bytes without their first lines."""
    for _ in range(count):
        _, end, head = head.partition(b"\n")
        if not end:
            raise FileError(f"{name}: fewer lines than --skip-rows {count}")
    return head


def skip_to_header(head: bytes) -> tuple[bytes, str | None]:
    """Return bytes without empty lines at the start, and a delimiter declared there.

    Excel reads the delimiter from a first line such as `sep=;`.
    """
    head = head.lstrip(b"\r\n")
    declared = re.match(rb"""["']?sep=(.)["']?\r?\n""", head, re.IGNORECASE)
    if declared:
        return head[declared.end() :], declared[1].decode("latin-1")
    return head, None


def sniff_delimiter(head: bytes, target: str | None) -> str:
    """Return the most likely delimiter of a file, from its first bytes.

    Candidates split all of the first lines into the same number of columns, at least
    two. Among them, those for which the target is a column are preferred, then the
    comma, then the one with the most columns. Without a candidate, it is the comma, or
    the delimiter that splits the first line.
    """
    text = head[:_BYTES].decode(errors="replace")
    if len(head) > _BYTES:
        text = text[: text.rfind("\n") + 1] or text
    columns: dict[str, int] = {}
    headers: dict[str, list[str]] = {}
    for sign in _CANDIDATES:
        counts = set()
        for number, cells in enumerate(first_rows(text, sign)):
            if number == 0:
                headers[sign] = [cell.strip() for cell in cells]
            counts.add(len(cells))
        if len(counts) == 1 and min(counts) > 1:
            columns[sign] = counts.pop()
    if not columns:
        split = {sign: len(cells) for sign, cells in headers.items() if sign != " "}
        if split.get(",", 0) > 1 or not split:
            return ","
        return max(split, key=lambda sign: split[sign])
    named = [
        sign
        for sign in columns
        if target is not None and find_column(target, headers[sign]) is not None
    ]
    among = named or list(columns)
    return "," if "," in among else max(among, key=lambda sign: columns[sign])


def first_rows(text: str, delimiter: str) -> Iterator[list[str]]:
    """Yield the cells of the first lines that are not empty."""
    number = 0
    try:
        for cells in cells_of(text, delimiter):
            if cells:
                yield cells
                number += 1
                if number == _LINES:
                    return
    except csv.Error:
        return


def find_table(
    head: bytes, delimiter: str | None, target: str | None = None
) -> tuple[int, str] | None:
    """Return the number of lines before a table, and the table's delimiter.

    A table begins with the line from which on all examined lines have the same number
    of columns, at least two. If the first line has several columns as well, then the
    table's first line must name the target, and the first line must not. Returns None
    if the table begins with the first line, or if there is no such line.
    """
    if skip_to_header(head)[1] is not None:
        return None
    lines = head[:_BYTES].decode(errors="replace").splitlines()[:_LINES]
    found: list[tuple[int, int, str]] = []
    for sign in _CANDIDATES[:-1] if delimiter is None else (delimiter,):
        cells = [next(first_rows(line, sign), []) for line in lines]
        counts = [len(each) for each in cells]
        first = next((count for count in counts if count > 0), 0)
        start = _header_with(target, cells)
        if first > 1 and first == counts[-1] and not start:
            return None
        if not start:
            start = len(counts)
            while start > 1 and counts[start - 1] == counts[-1]:
                start -= 1
        if not any(counts[:start]) or counts[-1] < 2 or start >= len(counts) - 1:
            continue
        names = [cell.strip() for cell in cells[start]]
        if first == 1 or target in names:
            found.append((counts[-1], start, sign))
    if not found:
        return None
    _, start, sign = max(found)
    return start, sign


def _header_with(target: str | None, cells: Sequence[Sequence[str]]) -> int:
    """Return the number of the only line that names the target, if it is a header.

    Returns 0 if there is none, or if it is the first line.
    """
    if target is None or re.fullmatch(r"-?\d+", target):
        return 0
    found = [i for i, each in enumerate(cells) if target in map(str.strip, each)]
    if len(found) != 1:
        return 0
    names = cells[found[0]]
    if len(names) != len(cells[-1]) or any(map(is_plain_number, names)):
        return 0
    return found[0]


def _numbered(names: list[str]) -> list[str]:
    """Return names in which repeated ones have a number.

    >>> _numbered(["a", "b", "a", "a.2", "a"])
    ['a', 'b', 'a.3', 'a.2', 'a.4']
    """
    taken, found, last = set(names), [], dict.fromkeys(names, 0)
    for name in names:
        last[name] += 1
        if name != "" and last[name] > 1:
            while f"{name}.{last[name]}" in taken:
                last[name] += 1
            found.append(f"{name}.{last[name]}")
        else:
            found.append(name)
    return found


class Header(NamedTuple):
    """The first line of a table."""

    names: list[str]
    """names of the columns, the repeated ones numbered"""
    written: list[str]
    """the same as they are written"""
    line: bytes
    """the line itself, empty if there is no header"""
    rest: bytes
    """the bytes after the header"""


def read_header(name: str, head: bytes, delimiter: str, header: bool) -> Header:
    """Return the names of the columns, and the bytes after the header."""
    line, _, rest = head.partition(b"\n")
    while line.count(b'"') % 2 and rest:  # a name may span several lines
        more, _, rest = rest.partition(b"\n")
        line += b"\n" + more
    try:
        cells = next(cells_of(line.rstrip(b"\r").decode(), delimiter), [])
    except UnicodeDecodeError as error:
        raise FileError(
            f"{name}: the first line is not UTF-8 text; set --encoding"
        ) from error
    except csv.Error as error:
        raise FileError(f"{name}: the first line cannot be read: {error}") from error
    if line.count(b'"') % 2:
        raise FileError(f"{name}: the first line has an unmatched quotation mark")
    sign = comment_sign([line])
    if len(cells) < 2 and sign is not None:
        raise FileError(
            f"{name}: the first line begins with {sign}, like a comment; use "
            f"--comment {sign!r} to skip such lines"
        )
    if len(cells) < 2 and re.match(rb"\s*<(!doctype|html|\?xml)", line, re.IGNORECASE):
        raise FileError(f"{name}: a web page or XML, not a table of text")
    if len(cells) < 2:
        text = head[:_BYTES].decode(errors="replace").splitlines()[:_LINES]
        other = other_delimiter([each for each in text if each.strip()])
        remedy = "if the columns are separated by another sign, set it with --delimiter"
        if other is not None:
            option = typed("--delimiter", other)
            remedy = f"if {other!r} separates the columns, use {option}"
        raise FileError(
            f"{name}: the first line has a single column with the delimiter "
            f"{delimiter!r}, but a table has labels and at least one feature; {remedy}",
            [] if other is None else [("--delimiter", other)],
        )
    if not header:
        numbers = [str(j) for j in range(1, len(cells) + 1)]
        return Header(numbers, numbers, b"", head)
    written = [cell.strip() for cell in cells]
    names = written
    if all(is_plain_number(cell) for cell in names):
        raise FileError(
            f"{name}: the first line contains numbers, not column names; if the file "
            "has no header, use --no-header and refer to columns by number"
        )
    names = _numbered(names)
    there = set(names)
    for j, each in enumerate(names):
        if each == "":
            names[j] = UNNAMED.format(j)
            if names[j] in there:
                raise FileError(f"{name}, header: column {j + 1} has no name")
    return _with_unnamed(Header(names, written, line, rest), delimiter)


def _with_unnamed(header: Header, delimiter: str) -> Header:
    """Return a header with a name for the column that all rows have, but not it.

    It is the last column where all rows end with a delimiter, and the first where it
    holds the names of rows, as R writes them.
    """
    text = header.rest[:_BYTES].decode(errors="replace")
    rows = list(first_rows(text[: text.rfind("\n") + 1] or text, delimiter))
    if not rows or any(len(cells) != len(header.names) + 1 for cells in rows):
        return header
    if all(cells[-1].strip() == "" for cells in rows):
        names = [*header.names, UNNAMED.format(len(header.names))]
        return header._replace(names=names, written=[*header.written, ""])
    first = [cells[0].strip() for cells in rows]
    counted = any(first == [str(i + k) for i in range(len(rows))] for k in (0, 1))
    named = len({*first}) == len(rows) and not any(
        is_plain_number(name) or name.startswith("'") for name in first
    )
    if not (counted or named):
        return header  # perhaps the name of another column is missing
    names = [UNNAMED.format(0), *header.names]
    return header._replace(names=names, written=["", *header.written])


class RepeatedHeader:
    """Removes the lines of a table that repeat its header, and counts them.

    Files that were put together from several have such lines.
    """

    def __init__(self, header: bytes) -> None:
        self.count = 0
        self._line = header.strip()
        self._pattern = re.compile(
            rb"^(?:\xef\xbb\xbf)?" + re.escape(self._line) + rb"[ \t\r]*(?:\n|\Z)",
            re.MULTILINE,
        )

    def __call__(self, block: bytes) -> bytes:
        """Return a block of lines without those that repeat the header."""
        # Most blocks have none, and a search for bytes is fast.
        if not self._line or self._line not in block:
            return block
        block, count = self._pattern.subn(b"", block)
        self.count += count
        return block

    def note(self) -> list[str]:
        """Return a note on the lines that were removed, if there are any."""
        if not self.count:
            return []
        if self.count == 1:
            return ["a line that repeats the header is skipped"]
        return [f"{self.count:,} lines that repeat the header are skipped"]


def other_delimiter(lines: Sequence[str]) -> str | None:
    """Return a sign that occurs equally often in all lines, if there is one.

    >>> other_delimiter(["size:word", "3:a", "4:b"])
    ':'
    """
    signs = [sign for sign in dict.fromkeys(lines[0]) if sign in "~^:!&*+=@$#/\\"]
    for sign in signs:
        counts = {line.count(sign) for line in lines}
        if len(lines) > 1 and len(counts) == 1:
            return sign
    return None
