"""The dialect of a delimited file: its delimiter and its header."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping

from rpnb.files.encoding.number_text import is_plain_number
from rpnb.files.encoding.planning import UNNAMED, find_column
from rpnb.files.formats.lines import LONGEST
from rpnb.files.records import FileError

#: Delimiters by name, for command lines.
DELIMITERS: Mapping[str, str] = {
    "comma": ",",
    "semicolon": ";",
    "tab": "\t",
    "\\t": "\t",
    "pipe": "|",
    "space": " ",
}
# In the order of preference.
_CANDIDATES = (",", ";", "\t", "|", " ")
# Lines that are looked at, and their bytes.
_LINES, _BYTES = 50, 1 << 18


def delimiter_named(text: str) -> str:
    """Return a delimiter by its name, or as it is.

    >>> delimiter_named("comma"), delimiter_named(";")
    (',', ';')
    """
    sign = DELIMITERS.get(text.lower(), text)
    if len(sign) != 1 or not sign.isascii() or sign in '"\r\n\x00':
        raise ValueError(
            f"must be one ASCII sign, or one of {', '.join(sorted(DELIMITERS))}, got "
            f"{text!r}"
        )
    return sign


def cells_of(text: str, delimiter: str, quote: str = '"') -> Iterator[list[str]]:
    """Yield the cells of each line, of any length."""
    if csv.field_size_limit() < LONGEST:
        csv.field_size_limit(LONGEST)
    lines = io.StringIO(text, newline="")
    return iter(csv.reader(lines, delimiter=delimiter, quotechar=quote))


def comment_pattern(start: str | None) -> Callable[[bytes], bytes]:
    """Return a function that leaves out lines which begin with `start`."""
    if start is None:
        return lambda block: block
    sign = re.escape(start.encode())
    pattern = re.compile(rb"^[ \t]*" + sign + rb"[^\n]*(?:\n|\Z)", re.MULTILINE)
    return lambda block: pattern.sub(b"", block)


def skip_lines(name: str, head: bytes, count: int) -> bytes:
    """Return bytes without their first lines."""
    for _ in range(count):
        _, end, head = head.partition(b"\n")
        if not end:
            raise FileError(f"{name}: fewer lines than --skip-rows {count}")
    return head


def skip_to_header(head: bytes) -> tuple[bytes, str | None]:
    """Return a file's first bytes without empty lines, and a delimiter it declares.

    Excel takes the delimiter from a first line such as `sep=;`.
    """
    head = head.lstrip(b"\r\n")
    declared = re.match(rb"""["']?sep=(.)["']?\r?\n""", head, re.IGNORECASE)
    if declared:
        return head[declared.end() :], declared[1].decode("latin-1")
    return head, None


def sniff_delimiter(head: bytes, target: str | None) -> str:
    """Return the delimiter of a file by its first bytes.

    It is one that parts all of the first lines into the same number of columns, at
    least two: the comma if it does, or one by which the target is a column and it is
    not by the comma; else the one that gives the most columns. Where none does, it is
    the comma, or what parts the first line.
    """
    text = head[:_BYTES].decode(errors="replace")
    if len(head) > _BYTES:
        text = text[: text.rfind("\n") + 1] or text
    columns: dict[str, int] = {}
    headers: dict[str, list[str]] = {}
    for sign in _CANDIDATES:
        counts = set()
        for number, cells in enumerate(_first_rows(text, sign)):
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


def _first_rows(text: str, delimiter: str) -> Iterator[list[str]]:
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


def _numbered(names: list[str]) -> list[str]:
    """Return names of which those that occur again have a number.

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


def read_header(
    name: str, head: bytes, delimiter: str, header: bool
) -> tuple[list[str], bytes]:
    """Return the names of the columns, and the bytes after the header."""
    line, _, rest = head.partition(b"\n")
    while line.count(b'"') % 2 and rest:  # a name may have several lines
        more, _, rest = rest.partition(b"\n")
        line += b"\n" + more
    try:
        cells = next(cells_of(line.rstrip(b"\r").decode(), delimiter), [])
    except UnicodeDecodeError as error:
        raise FileError(
            f"{name}: the first line is not text in UTF-8; --encoding names another"
        ) from error
    except csv.Error as error:
        raise FileError(f"{name}: the first line cannot be read: {error}") from error
    if line.count(b'"') % 2:
        raise FileError(
            f"{name}: the first line has a quotation mark without its partner"
        )
    if len(cells) < 2 and line.startswith((b"#", b"%", b"//")):
        sign = "//" if line.startswith(b"//") else line[:1].decode()
        raise FileError(
            f"{name}: the first line begins with {sign}, as comments do; "
            f"--comment {sign!r} leaves out such lines"
        )
    if len(cells) < 2:
        raise FileError(
            f"{name}: a single column in the first line; columns are taken to be "
            f"parted by {delimiter!r}, --delimiter names another"
        )
    if not header:
        return [str(j) for j in range(1, len(cells) + 1)], head
    names = [cell.strip() for cell in cells]
    if all(is_plain_number(cell) for cell in names):
        raise FileError(
            f"{name}: the first line holds numbers, not names of columns; if the file "
            "has no header, say --no-header and name columns by number"
        )
    names = _numbered(names)
    there = set(names)
    for j, each in enumerate(names):
        if each == "":
            names[j] = UNNAMED.format(j)
            if names[j] in there:
                raise FileError(f"{name}, header: column {j + 1} has no name")
    return names, rest
