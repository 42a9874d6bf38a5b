"""Kind of a text column, from its first rows: numbers, dates, categories, text."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rpnb.core.columns.coding import is_words, local_time
from rpnb.files.encoding.number_text import (
    PERHAPS_MISSING,
    UNITS,
    Notation,
    is_ambiguous,
    is_number_in_some_notation,
    is_plain_number,
    notation_for,
    notation_options,
    options_for,
    same_unit,
    sign_of,
    split_unit,
)
from rpnb.files.reading import FileError, Kind, join_problems, typed

if TYPE_CHECKING:
    import pyarrow as pa

# Largest number of rows to examine.
_EXAMINED = 20_000
# A text that may stand for a missing number, an error of Excel or a limit such as <0.1
# among them; of so many, at most, in a column.
_WORD = re.compile(r"[^\d\n]{1,40}|#[A-Z]+/?[A-Z0]*[!?]?|[<>≤≥~≈]=?\s*\d[\d.,]{,9}")
_WORDS = 3
# So many numbers with a unit, or beside words, may be names of categories.
_FEW, _FEW_BESIDE_WORDS = 20, 5
# So many values, and more than this share of them different, are free text.
_ENOUGH, _SHARE = 50, 0.5
#: Supported dates: year, month and day, with an optional time and offset from UTC.
ISO_DATE = re.compile(
    r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d(:?\d\d)?)?)?",
    re.ASCII,
)
_DATE = re.compile(r"\s*\d{1,4}([./-])\d{1,2}\1\d{1,4}([ T]\d.*)?\s*", re.ASCII)


class ExaminedText(NamedTuple):
    """Kind of a text column."""

    kind: Kind
    note: str | None = None
    """a note for the user"""
    notation: Notation | None = None
    """notation of its numbers, if it differs from the options"""


def examine_text(
    name: str,
    column: str,
    values: "pa.ChunkedArray",
    notation: Notation,
    *,
    native: bool = False,
    na: bool = False,
) -> ExaminedText:
    """Return the kind of a text column, with a note if it needs one.

    Parameters
    ----------
    name, column
        Names of the file and the column, for messages.
    values
        First rows of the column.
    notation
        Notation of numbers.
    native
        Whether dates, free text and very many categories are welcome.
    na
        Whether --na can name words that stand for a missing number.

    Raises
    ------
    FileError
        If it holds numbers in another notation, numbers mixed with a little text or,
        unless `native`, dates or free text.
    """
    import pyarrow as pa
    from pyarrow import compute

    values = compute.utf8_trim_whitespace(values.slice(0, _EXAMINED).cast(pa.string()))
    values = compute.if_else(compute.equal(values, ""), None, values)
    listed = values.value_counts().to_pylist()
    counts = {
        each["values"]: each["counts"] for each in listed if each["values"] is not None
    }
    total = sum(counts.values())
    if total == 0:
        return ExaminedText("number")
    gone = {v for v in counts if v.strip() in PERHAPS_MISSING}
    _refuse_mixed_signs(name, column, counts, gone, notation)
    if gone and len(gone) < len(counts):
        found = _with_missing(column, counts, gone, notation)
        if found is not None:
            return found
    # With a decimal comma, 1.200 is not what programs mean by it.
    plain = notation.decimal == "."
    readable = {
        v for v in counts if (plain and is_plain_number(v)) or notation.matches(v)
    }
    if len(readable) == len(counts):
        return ExaminedText("number", _number_note(column, counts, notation))
    found = _with_unit(name, column, values, readable, gone, notation, na=na)
    if found is not None:
        return found
    numbers = {v for v in counts if v in readable or is_number_in_some_notation(v)}
    there = total - sum(counts[v] for v in gone - numbers)
    if 2 * sum(counts[v] for v in numbers) > there:
        raise _not_numbers(name, column, values, readable, gone, notation, na=na)
    words = [v for v in counts if not ISO_DATE.fullmatch(v)]
    if native and not words:
        note = f"column {column} is read as dates"
        if any(local_time(v) != v.rstrip("Z") for v in counts):
            note += ", by the local times in it, whatever their offsets from UTC"
        return ExaminedText("date", note)
    if native and na and len(words) < len(counts) and _may_be_missing(words):
        row = values.index(words[0]).as_py() + 1
        text = refused_date(name, row, column, words[0], na=words)
        raise FileError(text, [("--na", word) for word in words])
    if 2 * sum(n for v, n in counts.items() if _DATE.fullmatch(v)) > total:
        raise FileError(
            f"{name}, column {column}: "
            f"{_refused_dates(column, native=native, readable=not words)}",
            [("--drop", column)],
        )
    if native and 2 * sum(n for v, n in counts.items() if is_words(v)) > total:
        return ExaminedText("text", f"column {column} is read word by word")
    if total >= _ENOUGH and len(counts) > _SHARE * total:
        if native:
            note = (
                f"column {column} has {len(counts):,} different values in the first "
                f"{total:,}, and is read as a category; if it is not a feature, use "
                f"{typed('--drop', column)}"
            )
            return ExaminedText("category", note)
        raise FileError(
            f"{name}, column {column}: {len(counts):,} different values in the first "
            f"{total:,}, so free text rather than categories; drop it with "
            f"{typed('--drop', column)}, read it as categories with "
            f"{typed('--as-category', column)}, or use --model Pooled, which reads it",
            [("--drop", column)],
        )
    return ExaminedText("category")


def _refused_dates(column: str, *, native: bool, readable: bool) -> str:
    """Return why a column of dates or times is refused, and what to do.

    `readable` tells whether learners of dates would read all of them.
    """
    if native:
        return (
            "dates and times are written as 2024-05-31 or 2024-05-31 18:30:00; "
            "rewrite them, use "
            f"{typed('--as-category', column)} if they are categories, or drop the "
            f"column with {typed('--drop', column)}"
        )
    return (
        "contains dates or times, neither numbers nor categories; "
        + ("use --model Pooled, which reads it, " if readable else "")
        + f"convert it to numbers, or drop it with {typed('--drop', column)}"
    )


class OtherNotation(FileError):
    """Numbers of a column have another notation than its options say.

    Parameters
    ----------
    name, row, column
        Position of the first of these numbers.
    cell
        Its text.
    texts
        The numbers, without units.
    decimal
        The requested decimal separator.
    """

    def __init__(
        self,
        name: str,
        row: int,
        column: str,
        cell: str,
        texts: Sequence[str],
        decimal: str,
    ) -> None:
        self.column, self.texts = column, list(texts)
        self.position, self.cell = f"{name}, row {row}", cell.strip()
        # A comma was requested, but these numbers have a decimal point.
        self.has_points = decimal != "." and all(map(is_plain_number, texts))
        text = refused_number(name, row, column, cell, self.texts, decimal)
        fixes = [("--as-category", column)]
        notation = notation_for(self.texts)
        if self.has_points:
            fixes = [("--decimal", f"{column}=.")]
        elif notation is not None:
            fixes = notation_options(notation, [column])
        super().__init__(text, fixes)


def join_notations(problems: Sequence[FileError], *, others: bool) -> list[FileError]:
    """Return problems with those of columns in the same notation joined to one.

    Where a comma is a decimal separator in one column, it is one in all.

    Parameters
    ----------
    problems
        Problems of a file.
    others
        Whether some columns hold numbers with a decimal point, so that options must
        name the columns.
    """
    parts = [part for each in problems for part in each.problems]
    found = [
        part
        for part in parts
        if isinstance(part, OtherNotation)
        and not part.has_points
        and notation_for(part.texts) is not None
    ]
    commas = any(
        notation_for(each.texts) == Notation(",")
        for each in found
        if not is_ambiguous(each.texts)
    )
    groups: dict[Notation | None, list[OtherNotation]] = {}
    for each in found:
        notation = notation_for(each.texts)
        if commas and is_ambiguous(each.texts):
            notation = Notation(",")
        groups.setdefault(notation, []).append(each)
    joined = []
    for notation, group in groups.items():
        assert notation is not None  # noqa: S101 - columns without one are left out
        columns = [each.column for each in group]
        named = columns if others or len(groups) > 1 else []
        texts = [text for each in group for text in each.texts]
        first = group[0]
        one = len(group) == 1
        where = f"{'column' if one else 'columns'} {', '.join(columns)}"
        what = "is a number" if one else "and others are numbers"
        joined.append(
            FileError(
                f"{first.position}, {where}: {first.cell!r} {what} in another "
                f"notation: use {options_for(texts, named)}; if they are categories, "
                f"use {typed('--as-category', *columns)}",
                notation_options(notation, named),
            )
        )
    return [*joined, *(part for part in parts if part not in found)]


def _not_numbers(
    name: str,
    column: str,
    values: "pa.ChunkedArray",
    readable: set[str],
    gone: set[str],
    notation: Notation,
    *,
    na: bool,
) -> FileError:
    """Return why a column is refused whose values are numbers for the most part.

    Numbers in another notation and words among them are two problems, so that options
    for both are proposed at once.
    """
    rows: dict[str, int] = {}
    for row, value in enumerate(values.to_pylist(), 1):
        if value is not None and value not in readable and value not in gone:
            rows.setdefault(value, row)
    others = [v for v in rows if is_number_in_some_notation(v)]
    words = [v for v in rows if v not in others]
    named = words if na and _may_be_missing(words) else []
    found: list[FileError] = []
    if others and len(named) == len(words):
        first = others[0]
        found.append(
            OtherNotation(name, rows[first], column, first, others, notation.decimal)
        )
    if words:
        text = refused_number(name, rows[words[0]], column, words[0], na=named)
        fixes = [("--na", word.strip()) for word in named]
        if not named or _are_categories(values, words):
            fixes = [("--as-category", column)]
        found.append(FileError(text, fixes))
    return join_problems(name, found)


def _are_categories(values: "pa.ChunkedArray", words: Sequence[str]) -> bool:
    """Return whether words are as frequent as the few numbers beside them.

    This is so in a column such as 2, 4, more.
    """
    counts = {
        each["values"]: each["counts"]
        for each in values.value_counts().to_pylist()
        if each["values"] is not None
    }
    numbers = [count for value, count in counts.items() if value not in words]
    if not 0 < len(numbers) <= _FEW_BESIDE_WORDS:
        return False
    return 2 * min(counts[word] for word in words) >= min(numbers) >= 2


def _may_be_missing(words: list[str]) -> bool:
    return len(words) <= _WORDS and all(map(is_word, words))


def is_word(text: str) -> bool:
    """Return whether a text may be a word that stands for a missing value."""
    return _WORD.fullmatch(text.strip()) is not None


def _with_missing(
    column: str, counts: dict[str, int], gone: set[str], notation: Notation
) -> ExaminedText | None:
    """Return a column of numbers with texts for missing values; None if it is not."""
    numbers = [v for v in counts if v not in gone]
    if not all(is_plain_number(v) or notation.matches(v) for v in numbers):
        return None
    texts = tuple(sorted({v.strip() for v in gone}))
    note = f"column {column} is read as numbers; {_meaning_missing(texts)}"
    return ExaminedText("number", note, replace(notation, missing=texts))


def _meaning_missing(texts: Sequence[str]) -> str:
    """Return the part of a note about texts that mean a missing value."""
    shown = ", ".join(map(repr, texts))
    return f"{shown} {'means' if len(texts) == 1 else 'mean'} a missing value"


def _with_unit(
    name: str,
    column: str,
    values: "pa.ChunkedArray",
    readable: set[str],
    gone: set[str],
    notation: Notation,
    *,
    na: bool,
) -> ExaminedText | None:
    """Return that a column holds numbers with a unit, None if it does not.

    Raises
    ------
    FileError
        Where there are several units that are known to be such, numbers in another
        notation, or words that may stand for missing values.
    """
    rows: dict[str, int] = {}
    for row, value in enumerate(values.to_pylist(), 1):
        if value is not None and value not in readable and value not in gone:
            rows.setdefault(value, row)
    parts = {v: split_unit(v) for v in rows}
    words = [v for v, part in parts.items() if part is None]
    numbers = {v: part[0] for v, part in parts.items() if part is not None}
    spelled = [part[1] for part in parts.values() if part is not None]
    units = {same_unit(unit): unit for unit in reversed(spelled)}
    if not units or (words and not (na and _may_be_missing(words))):
        return None
    if len(units) > 1:
        if words or not all(unit.lower() in UNITS for unit in units):
            return None
        shown = ", ".join(sorted(units)[:4])
        raise FileError(
            f"{name}, column {column}: numbers with different units ({shown}); convert "
            f"them to one unit, or drop the column with {typed('--drop', column)}",
            [("--drop", column)],
        )
    known = all(unit.lower() in UNITS for unit in units)
    if not known and readable and len(numbers) + len(readable) <= _FEW:
        return None  # such as 2 doors, 3 doors, 5more
    problems: list[FileError] = []
    if not all(map(notation.matches, numbers.values())):
        if notation_for(numbers.values()) is None:
            return None
        cell = next(v for v in numbers if not notation.matches(numbers[v]))
        bare = [*numbers.values()]
        problems.append(
            OtherNotation(name, rows[cell], column, cell, bare, notation.decimal)
        )
    if words:
        if len(numbers) <= _FEW and not known:
            return None  # such as 2 rooms, 3 rooms, studio
        text = refused_number(name, rows[words[0]], column, words[0], na=words)
        problems.append(FileError(text, [("--na", word.strip()) for word in words]))
    if problems:
        raise join_problems(name, problems)
    (unit,), texts = units.values(), tuple(sorted({v.strip() for v in gone}))
    note = f"column {column} is read as numbers in {unit}"
    if texts:
        note += f"; {_meaning_missing(texts)}"
    return ExaminedText("number", note, replace(notation, unit=unit, missing=texts))


def _refuse_mixed_signs(
    name: str,
    column: str,
    counts: dict[str, int],
    gone: set[str],
    notation: Notation,
) -> None:
    """Refuse numbers with different currencies, or only some of them in percent."""
    numbers = [v for v in counts if v not in gone]
    if not any(sign_of(v) for v in numbers) or not all(map(notation.matches, numbers)):
        return
    signs = {sign_of(v): v for v in numbers if re.search("[1-9]", v)}
    if "%" not in signs:
        signs.pop("", None)
    if len(signs) > 1:
        shown = ", ".join(repr(v.strip()) for v in list(signs.values())[:4])
        what = "only some numbers are in percent" if "%" in signs else "different signs"
        raise FileError(
            f"{name}, column {column}: {what} ({shown}); convert them to one unit, or "
            f"drop the column with {typed('--drop', column)}",
            [("--drop", column)],
        )


def _number_note(column: str, counts: dict[str, int], notation: Notation) -> str | None:
    """Return a note on how text was read as numbers; None if it is not needed."""
    example = next((v for v in counts if not is_plain_number(v)), None)
    if example is None:
        return (
            f"column {column} is text that holds only numbers, and is read as numbers"
        )
    if notation.thousands is not None or notation.decimal != ".":
        return None  # the user requested it
    return f"column {column} is read as numbers, such as {example.strip()!r}"


def refused_date(
    name: str, row: int, column: str, cell: str, na: Sequence[str] = ()
) -> str:
    """Return a message on a cell that is not a date such as the others.

    `na` are words that may stand for a missing date.
    """
    missing = ""
    if na:
        option = typed("--na", *(word.strip() for word in na))
        missing = f"; if it stands for a missing value, use {option}"
    return (
        f"{name}, row {row}, column {column}: {cell[:40]!r} is not a date such as "
        "2024-05-31 or 2024-05-31 18:30:00, unlike the others in the column"
        f"{missing}"
    )


def refused_number(
    name: str,
    row: int,
    column: str,
    cell: str,
    others: list[str] | None = None,
    decimal: str = ".",
    na: Sequence[str] = (),
    *,
    known: bool = False,
) -> str:
    """Return a message on a cell that is not a number, with the option that reads it.

    Parameters
    ----------
    name, row, column
        Position of the cell.
    cell
        Text of the cell.
    others
        More numbers in another notation.
    decimal
        The decimal sign that was asked for.
    na
        Words that may stand for a missing number.
    known
        Whether the column is one of a model, so that it cannot become a category.
    """
    where = f"{name}, row {row}, column {column}"
    category = typed("--as-category", column)
    other = "" if known else f"; if they are categories, use {category}"
    shown = cell.strip()
    if len(shown) > 40:
        shown = shown[:40] + "…"
    if is_number_in_some_notation(cell):
        options = options_for(others or [cell]) or options_for([cell])
        if decimal != "." and all(map(is_plain_number, others or [cell])):
            options = typed("--decimal", f"{column}=.")
            if Notation(decimal, ".").matches(cell):
                thousands = typed("--thousands", f"{column}=.")
                options += (
                    f" ({shown} has a decimal point) or {thousands} (it is above 1000)"
                )
        return (
            f"{where}: {shown!r} is a number in another notation: use {options}{other}"
        )
    parts = split_unit(cell)
    if parts is not None and parts[1].casefold() in UNITS:
        return (
            f"{where}: {shown!r} has the unit {parts[1]}, unlike the others in the "
            f"column; convert them to one unit{other}"
        )
    missing = ""
    if na:
        option = typed("--na", *(word.strip() for word in na))
        missing = f"; if it stands for a missing value, use {option}"
    return (
        f"{where}: {shown!r} is not a number, as the others in the column are"
        f"{missing}{other}"
    )
