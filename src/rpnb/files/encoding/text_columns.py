"""A column of text: numbers, dates, categories, or free text, by its first rows."""

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rpnb.core.columns.coding import is_words
from rpnb.files.encoding.number_text import (
    PERHAPS_MISSING,
    UNITS,
    Notation,
    is_number_in_some_notation,
    is_plain_number,
    notation_for,
    options_for,
    split_unit,
)
from rpnb.files.records import FileError, Kind

if TYPE_CHECKING:
    import pyarrow as pa

# Rows to look at, at most.
_EXAMINED = 20_000
# So many values, and more than this share of them different, are free text.
_ENOUGH, _SHARE = 50, 0.5
#: Dates and times that are read: year, month and day, perhaps with a time.
ISO_DATE = re.compile(
    r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?Z?)?", re.ASCII
)
_DATE = re.compile(r"\s*\d{1,4}([./-])\d{1,2}\1\d{1,4}([ T]\d.*)?\s*", re.ASCII)


class ExaminedText(NamedTuple):
    """What a column of text holds."""

    kind: Kind
    note: str | None = None
    """what a user should know of it"""
    notation: Notation | None = None
    """how its numbers are written, where that is not as was said"""


def examine_text(
    name: str,
    column: str,
    values: "pa.ChunkedArray",
    notation: Notation,
    *,
    native: bool = False,
) -> ExaminedText:
    """Return what a column of text holds, and a note if that needs one.

    Parameters
    ----------
    name, column
        Of the file and the column, for messages.
    values
        The first rows of the column.
    notation
        How numbers may be written.
    native
        Whether dates, free text and very many categories are welcome.

    Raises
    ------
    FileError
        Where it holds numbers in another notation, numbers with a little text among
        them, or, unless `native`, dates or free text.
    """
    import pyarrow as pa

    values = values.slice(0, _EXAMINED).cast(pa.string())
    listed = values.value_counts().to_pylist()
    counts = {
        each["values"]: each["counts"] for each in listed if each["values"] is not None
    }
    total = sum(counts.values())
    if total == 0:
        return ExaminedText("number")
    gone = {v for v in counts if v.strip() in PERHAPS_MISSING}
    if gone and len(gone) < len(counts):
        found = _with_missing(column, counts, gone, notation)
        if found is not None:
            return found
    readable = {v for v in counts if is_plain_number(v) or notation.matches(v)}
    if len(readable) == len(counts):
        return ExaminedText("number", _number_note(column, counts, notation))
    unit = _unit(name, column, counts, readable, notation)
    if unit is not None:
        note = f"column {column} is read as numbers in {unit}"
        return ExaminedText("number", note, replace(notation, unit=unit))
    numbers = {v for v in counts if v in readable or is_number_in_some_notation(v)}
    if 2 * sum(counts[v] for v in numbers) > total:
        wrong = next(
            v for v in values.to_pylist() if v is not None and v not in readable
        )
        row = values.to_pylist().index(wrong) + 1
        others = [v for v in numbers if v not in readable]
        raise FileError(
            refused_number(name, row, column, wrong, others),
            _number_fixes(column, wrong, others),
        )
    if native and all(ISO_DATE.fullmatch(v) for v in counts):
        return ExaminedText("date", f"column {column} is read as dates")
    if 2 * sum(n for v, n in counts.items() if _DATE.fullmatch(v)) > total:
        raise FileError(
            f"{name}, column {column}: holds dates or times, neither numbers nor "
            f"categories; turn it into numbers, or leave it out: --drop {column}",
            [("--drop", column)],
        )
    if native and 2 * sum(n for v, n in counts.items() if is_words(v)) > total:
        return ExaminedText("text", f"column {column} is read word by word")
    if total >= _ENOUGH and len(counts) > _SHARE * total:
        if native:
            note = (
                f"column {column} has {len(counts):,} different values in the first "
                f"{total:,}: a category of very many values; if it is no feature: "
                f"--drop {column}"
            )
            return ExaminedText("category", note)
        raise FileError(
            f"{name}, column {column}: {len(counts):,} different values in the first "
            f"{total:,}: free text, not a category; leave it out: --drop {column}; or "
            f"take it as categories nevertheless: --as-category {column}",
            [("--drop", column)],
        )
    return ExaminedText("category")


def _with_missing(
    column: str, counts: dict[str, int], gone: set[str], notation: Notation
) -> ExaminedText | None:
    """Return that a column holds numbers and texts that stand for missing ones."""
    numbers = [v for v in counts if v not in gone]
    if not all(is_plain_number(v) or notation.matches(v) for v in numbers):
        return None
    texts = tuple(sorted({v.strip() for v in gone}))
    shown = ", ".join(map(repr, texts))
    note = f"column {column} is read as numbers; {shown} is taken as missing"
    return ExaminedText("number", note, replace(notation, missing=texts))


def _unit(
    name: str,
    column: str,
    counts: dict[str, int],
    readable: set[str],
    notation: Notation,
) -> str | None:
    """Return the unit of a column of numbers, None if it is none.

    Raises
    ------
    FileError
        Where there are several units that are known to be such.
    """
    parts = {v: split_unit(v) for v in counts if v not in readable}
    units = {part[1] for part in parts.values() if part is not None}
    if not units or None in parts.values():
        return None
    numbers = [part[0] for part in parts.values() if part is not None]
    if len(units) == 1 and all(map(notation.matches, numbers)):
        return units.pop()
    if len(units) > 1 and all(unit.lower() in UNITS for unit in units):
        shown = ", ".join(sorted(units)[:4])
        raise FileError(
            f"{name}, column {column}: numbers with different units ({shown}); give "
            f"them one unit, or leave the column out: --drop {column}",
            [("--drop", column)],
        )
    return None


def _number_note(column: str, counts: dict[str, int], notation: Notation) -> str | None:
    """Return what was left out of numbers to read them, None if nothing."""
    example = next((v for v in counts if not is_plain_number(v)), None)
    if example is None:
        return f"column {column} is text that holds numbers, and is read as numbers"
    if notation.thousands is not None or notation.decimal != ".":
        return None  # it was asked for
    return f"column {column} is read as numbers, such as {example.strip()!r}"


def _number_fixes(column: str, cell: str, others: list[str]) -> list[tuple[str, str]]:
    """Return options that read a column of numbers with a cell that is none so far."""
    notation = notation_for(others) if is_number_in_some_notation(cell) else None
    if notation is None:
        return [("--as-category", column)]
    found = []
    if notation.decimal != ".":
        found.append(("--decimal", f"{column}={notation.decimal}"))
    if notation.thousands is not None:
        found.append(("--thousands", f"{column}={notation.thousands}"))
    return found


def refused_number(
    name: str, row: int, column: str, cell: str, others: list[str] | None = None
) -> str:
    """Return why a cell among numbers is refused, with the option that reads it.

    Parameters
    ----------
    name, row, column
        Where it is.
    cell
        What it is.
    others
        More numbers that are written in another way.
    """
    where = f"{name}, row {row}, column {column}"
    shown = cell.strip()
    if len(shown) > 40:
        shown = shown[:40] + "…"
    if is_number_in_some_notation(cell):
        options = options_for(others or [cell]) or options_for([cell])
        return (
            f"{where}: {shown!r} is a number in another notation, which {options} "
            f"reads; if they are categories, say --as-category {column}"
        )
    return (
        f"{where}: {shown!r} is no number, as others in the column are; if they are "
        f"categories, say --as-category {column}"
    )
