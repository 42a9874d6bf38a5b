"""The role of each column: target, number, category, text, date, or dropped."""

import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from rpnb.files.encoding.number_text import Notation
from rpnb.files.encoding.text_columns import examine_text, join_notations
from rpnb.files.formats.arrow_arrays import (
    content_of,
    is_temporal,
    is_text,
    kind_of,
)
from rpnb.files.reading import (
    ColumnPlan,
    FileError,
    Kind,
    ReadOptions,
    join_problems,
    typed,
)

if TYPE_CHECKING:
    import pyarrow as pa

#: The name that pandas gives to an unnamed column.
UNNAMED = "Unnamed: {}"
_UNNAMED = re.compile(r"Unnamed: \d+")
# Fewest rows for the note that a column counts the rows.
_COUNTED = 20


def plan_columns(
    name: str,
    schema: "pa.Schema",
    options: ReadOptions,
    sample: "pa.Table | None" = None,
    declared: Mapping[str, Any] | None = None,
    *,
    na: bool = False,
) -> ColumnPlan:
    """Return the roles of the columns of a table; `name` is that of the file.

    `sample` are the first rows, of all columns or at least of those of text; `declared`
    are columns whose values are categories by the format itself; `na` tells whether
    --na can name missing values in this format.

    Raises
    ------
    FileError
        If a column named in the options is missing, or a column holds neither numbers
        nor categories.
    """
    names = schema.names
    repeated = _repeated(names)
    if repeated is not None:
        raise FileError(f"{name}: two columns have the name {repeated!r}")
    options = _resolved(name, names, options)
    first = (
        {}
        if sample is None
        else dict(zip(sample.column_names, sample.columns, strict=True))
    )
    dropped, problems = _dropped(name, schema, options, first)
    if options.columns is not None:
        return _as_before(name, names, options, dropped)
    found = _Examined(problems=problems)
    for column in schema:
        if column.name not in dropped:
            values = first.get(column.name)
            found.add(name, column, values, options, declared or (), na)
    if found.problems:
        error = _error_of(name, options, first, found)
        left_out = {value for option, value in error.fixes if option == "--drop"}
        if left_out >= {*names} - {*dropped, options.target}:
            error.fixes = ()  # no column would be left
        raise error
    if not found.kinds:
        raise FileError(
            f"{name}: there is no column besides the target {options.target!r}"
        )
    return ColumnPlan(
        options=replace(options, notations=found.notations),
        kinds=found.kinds,
        dropped=dropped,
        notes=(*found.notes, *_notes_on_spaces(options, found.kinds, first)),
    )


class _Column(NamedTuple):
    """How a column is read."""

    kind: Kind
    notation: Notation | None = None
    """of its numbers, if it differs from that of the options"""
    note: str | None = None


@dataclass(slots=True)
class _Examined:
    """What the types and the first rows of columns show."""

    problems: list[FileError]
    kinds: dict[str, Kind] = field(default_factory=dict)
    notations: dict[str, Notation] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    with_words: list[str] = field(default_factory=list)
    """columns with words that --na would take as missing values"""

    def add(
        self,
        name: str,
        column: "pa.Field",
        values: "pa.ChunkedArray | None",
        options: ReadOptions,
        declared: Container[str],
        na: bool,
    ) -> None:
        """Add a column, or why it cannot be read; the target has no kind."""
        try:
            if column.name == options.target:
                _check_labels(name, column)
                return
            if column.name in options.as_category and is_temporal(column.type):
                self.kinds[column.name] = "category"
                return
            kind = kind_of(name, column, native=options.categorical == "native")
            if column.name in options.as_category or column.name in declared:
                found = _Column("category")
            elif values is None:
                found = _Column(kind)
            elif is_text(column.type):
                found = _text_column(name, column.name, values, options, na)
            else:
                found = _Column(kind, note=_note_on_count(column.name, values))
        except FileError as problem:
            self.problems.append(problem)
            if any(option == "--na" for option, _ in problem.fixes):
                self.with_words.append(column.name)
            return
        self.kinds[column.name] = found.kind
        if found.notation is not None:
            self.notations[column.name] = found.notation
        if found.note is not None:
            self.notes.append(found.note)


def _check_labels(name: str, column: "pa.Field") -> None:
    """Refuse a target of a type that labels cannot have."""
    try:
        kind_of(name, column, native=False)
    except FileError:
        raise FileError(
            f"{name}, column {column.name}: contains {content_of(column.type)}, but "
            "labels are text, whole numbers or booleans"
        ) from None


def _text_column(
    name: str, column: str, values: "pa.ChunkedArray", options: ReadOptions, na: bool
) -> _Column:
    """Return how a column of text is read: its words may be numbers or dates."""
    given = notation_of(column, options)
    native = options.categorical == "native"
    found = examine_text(name, column, values, given, native=native, na=na)
    notation = found.notation
    if notation is None and given != Notation(options.decimal, options.thousands):
        notation = given
    return _Column(found.kind, notation, found.note or None)


def _note_on_count(column: str, values: "pa.ChunkedArray") -> str | None:
    """Return a note if a column counts the rows."""
    if not _counts_rows(values):
        return None
    return (
        f"column {column} counts the rows; if it is not a feature, use "
        f"{typed('--drop', column)}"
    )


def _dropped(
    name: str,
    schema: "pa.Schema",
    options: ReadOptions,
    first: Mapping[str, "pa.ChunkedArray"],
) -> tuple[dict[str, str], list[FileError]]:
    """Return the dropped columns with reasons, and errors for those without names."""
    dropped = dict.fromkeys(options.drop, "--drop")
    wanted = {options.target, *options.as_category, *(options.columns or ())}
    for column, why in _index_columns(schema, first).items():
        if column not in wanted:
            dropped.setdefault(column, why)
    problems = []
    for column in _without_names(schema.names, first):
        if column not in dropped:
            number = schema.names.index(column) + 1
            problems.append(_refused_without_name(name, number))
            dropped[column] = "without a name"
    return dropped, problems


def _error_of(
    name: str,
    options: ReadOptions,
    first: Mapping[str, "pa.ChunkedArray"],
    found: _Examined,
) -> FileError:
    """Return all problems of the columns as one error."""
    numbers = [column for column, kind in found.kinds.items() if kind == "number"]
    points = any(
        column in first
        and _has_points(first[column])
        and notation_of(column, options).decimal == "."
        for column in (*numbers, *found.with_words)
    )
    problems = join_notations(found.problems, others=points)
    problems += _missing_labels(name, options, first)
    if options.missing == "refuse":
        holes = (c for c in found.kinds if c in first and first[c].null_count)
        gone = (c for c, each in found.notations.items() if each.missing)
        missing = next(iter([*holes, *gone, *found.with_words]), None)
        problems += _missing_values(name, missing)
    return join_problems(name, problems)


def _notes_on_spaces(
    options: ReadOptions,
    kinds: Mapping[str, Kind],
    first: Mapping[str, "pa.ChunkedArray"],
) -> Iterator[str]:
    """Yield notes on labels and categories whose spaces are removed."""
    labels = first.get(str(options.target))
    if labels is not None and _has_blank_ends(labels):
        yield f"spaces around labels in column {options.target} are removed"
    blank = [
        column
        for column, kind in kinds.items()
        if kind == "category" and column in first and _has_blank_ends(first[column])
    ]
    if blank:
        what = "column" if len(blank) == 1 else "columns"
        yield f"spaces around values in {what} {shown_names(blank)} are removed"


def notation_of(column: str, options: ReadOptions) -> Notation:
    """Return the notation of the numbers of a column."""
    return Notation(
        options.decimal_of.get(column, options.decimal),
        options.thousands_of.get(column, options.thousands),
    )


def _has_points(values: "pa.ChunkedArray") -> bool:
    """Return whether numbers may have a decimal point.

    An option for the decimal separators of all columns would change what they are.
    """
    import pyarrow as pa
    from pyarrow import compute

    if is_text(values.type):
        points = compute.match_substring(values, ".")
        return bool(compute.any(points).as_py())
    return pa.types.is_floating(values.type)


def _missing_labels(
    name: str, options: ReadOptions, first: Mapping[str, "pa.ChunkedArray"]
) -> list[FileError]:
    """Return an error if a label of the first rows is missing, else nothing."""
    labels = first.get(str(options.target))
    if labels is None or not labels.null_count or options.unlabelled != "refuse":
        return []
    row = labels.is_null().index(True).as_py() + 1
    return [
        FileError(
            f"{name}, row {row}, column {options.target}: the label is missing; use "
            "--unlabelled predict to predict such rows without learning them",
            [("--unlabelled", "predict")],
        )
    ]


def _missing_values(name: str, column: str | None) -> list[FileError]:
    """Return an error for a column with missing values, if there is one."""
    if column is None:
        return []
    return [
        FileError(
            f"{name}, column {column}: values are missing; use --missing mean to "
            "impute the mean of earlier rows, or --model Pooled, which supports them",
            [("--missing", "mean")],
        )
    ]


def _has_blank_ends(values: "pa.ChunkedArray") -> bool:
    """Return whether some values begin or end with spaces, and are not blank."""
    if not is_text(values.type):
        return False
    return any(
        value is not None and value != value.strip() != ""
        for value in values.unique().to_pylist()
    )


def _repeated(names: Sequence[str]) -> str | None:
    """Return a name that occurs twice; None if there is none."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _resolved(name: str, names: list[str], options: ReadOptions) -> ReadOptions:
    """Return options with the names of columns; refuse columns that do not exist."""
    target = options.target if options.labelled else None
    if options.labelled and target is None:
        raise FileError(
            f"{name}: which column holds the labels? Name it with --target; the "
            f"columns are {shown_names(names)}"
        )
    found = {}
    named = (*options.decimal_of, *options.thousands_of)
    for text in (target, *options.drop, *options.as_category, *named):
        if text is not None:
            column = find_column(text, names)
            if column is None:
                raise FileError(f"{name}: {no_such_column(text, names)}")
            found[text] = column
    drop = tuple(found[text] for text in options.drop)
    if target is not None and found[target] in drop:
        raise FileError(f"{name}: the target {found[target]!r} cannot be dropped")
    return replace(
        options,
        target=None if target is None else found[target],
        drop=drop,
        as_category=tuple(found[text] for text in options.as_category),
        decimal_of={found[text]: sign for text, sign in options.decimal_of.items()},
        thousands_of={found[text]: sign for text, sign in options.thousands_of.items()},
    )


def find_column(text: str, names: Sequence[str]) -> str | None:
    """Return a column by its name, or else by its number.

    >>> names = ["a", "b", "c"]
    >>> [find_column(text, names) for text in ("b", "1", "-1", "4")]
    ['b', 'a', 'c', None]
    """
    if text in names:
        return text
    if not re.fullmatch(r"-?\d{1,9}", text):
        return None
    number = int(text)
    if not 1 <= abs(number) <= len(names):
        return None
    return names[number - 1 if number > 0 else number]


def no_such_column(column: str, names: Sequence[str]) -> str:
    """Return a message on a missing column, with a similar name if there is one."""
    close = get_close_matches(column, names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"there is no column {column!r}; the columns are {shown_names(names)}{hint}"


def shown_names(names: Sequence[str], most: int = 10) -> str:
    """Return names as text, at most `most` of them; the last often has the labels.

    >>> shown_names(["a", "b", "c", "d"], most=3)
    'a, b, …, d'
    """
    if len(names) <= most:
        return ", ".join(names)
    return ", ".join([*names[: most - 1], "…", names[-1]])


def _as_before(
    name: str, names: list[str], options: ReadOptions, dropped: dict[str, str]
) -> ColumnPlan:
    """Return the plan of an earlier file, for a file with the same columns."""
    assert options.columns is not None  # noqa: S101 - the caller has looked
    there = {*names} - {*dropped}
    absent = [column for column in options.columns if column not in there]
    if len(absent) == 1:
        raise FileError(
            f"{name}: the model was trained with the column {absent[0]!r}; "
            f"{no_such_column(absent[0], names)}"
        )
    if absent:
        shown = shown_names([repr(column) for column in absent])
        raise FileError(
            f"{name}: the model was trained with the columns {shown}, which are not in "
            f"the file; its columns are {shown_names(names)}"
        )
    kinds = dict(options.columns)
    others = [
        each
        for each in names
        if each not in kinds and each != options.target and each not in dropped
    ]
    if others and options.labelled:
        raise FileError(
            f"{name}: a model can only be resumed with the same columns; this file has "
            f"more: {shown_names(others)}; drop them with {typed('--drop', *others)}"
        )
    dropped |= dict.fromkeys(others, "not among the model's columns")
    return ColumnPlan(options=options, kinds=kinds, dropped=dropped)


# Columns that are not features


def _index_columns(
    schema: "pa.Schema", first: Mapping[str, "pa.ChunkedArray"]
) -> dict[str, str]:
    """Return columns that number or name the rows, and why they are dropped.

    pandas and R write such a column first, without a name; Parquet and Feather files
    from pandas mark it in their metadata.
    """
    found = dict.fromkeys(_pandas_index(schema), "the index of a pandas frame")
    for j, column in enumerate(schema.names):
        if column not in first or not _UNNAMED.fullmatch(column):
            continue
        values = first[column]
        there = len(values) - values.null_count
        if there == 0:
            found[column] = "empty, without a name"
        elif j == 0 and len(values.unique()) == len(values):
            found[column] = "an index without a name"
    return found


def _without_names(
    names: Sequence[str], first: Mapping[str, "pa.ChunkedArray"]
) -> list[str]:
    """Return the columns that have no name in the file."""
    return [
        column
        for j, column in enumerate(names)
        if column in first and column == UNNAMED.format(j)
    ]


def _refused_without_name(name: str, number: int) -> FileError:
    """Return an error for a column without a name, by its number."""
    return FileError(
        f"{name}, header: column {number} has no name; name it, or drop it with "
        f"--drop {number}",
        [("--drop", str(number))],
    )


def _pandas_index(schema: "pa.Schema") -> list[str]:
    """Return the columns that pandas has marked as the index."""
    try:
        listed = json.loads((schema.metadata or {})[b"pandas"])["index_columns"]
        return [
            name for name in listed if isinstance(name, str) and name in schema.names
        ]
    except (KeyError, TypeError, ValueError):
        return []


def _counts_rows(values: "pa.ChunkedArray") -> bool:
    """Return whether values are 0, 1, 2 … or 1, 2, 3 …."""
    import pyarrow as pa

    n = len(values)
    if n < _COUNTED or values.null_count or not pa.types.is_integer(values.type):
        return False
    first = values[0].as_py()
    if first not in (0, 1) or values[n - 1].as_py() != first + n - 1:
        return False
    return bool(
        values.combine_chunks().equals(pa.array(range(first, first + n), values.type))
    )
