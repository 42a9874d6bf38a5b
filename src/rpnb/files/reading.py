"""What readers return and raise, and their options."""

import shlex
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rpnb.core.columns.coding import ColumnKind
from rpnb.core.kernels.arrays import IntArray
from rpnb.files.encoding.number_text import Notation

Label: TypeAlias = Hashable
#: What a column of features holds; text and dates with categorical="native" only.
Kind: TypeAlias = ColumnKind


class FileError(ValueError):
    """A file cannot be read; the message names file, row and column.

    `fixes` are options of the command line, and their values, that would read it;
    `problems` are this one, or those that it joins.
    """

    def __init__(self, message: object, fixes: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message)
        self.fixes = tuple(fixes)
        self.problems: tuple[FileError, ...] = (self,)


def typed(option: str, *values: str) -> str:
    """Return an option with its values as one types it in a shell.

    >>> typed("--drop", "unit price", "size")
    "--drop 'unit price' size"
    """
    return shlex.join([option, *values])


def join_problems(name: str, problems: Sequence[FileError]) -> FileError:
    """Return one error for all problems of a file that has this name."""
    problems = [part for each in problems for part in each.problems]
    if len(problems) == 1:
        return problems[0]
    lines = [str(each).removeprefix(name).lstrip(",: ") for each in problems]
    fixes = dict.fromkeys(fix for each in problems for fix in each.fixes)
    listed = "".join(f"\n  {line}" for line in lines)
    joined = FileError(f"{name} has {len(problems)} problems:{listed}", list(fixes))
    joined.problems = tuple(problems)
    return joined


@dataclass(frozen=True, slots=True)
class LabelledChunk:
    """Rows of a file, in their order, ready for a learner.

    Attributes
    ----------
    X : (n, p)
        Features, float64; a SciPy CSR matrix where the file is sparse.
    labels : (M,)
        All labels of the file so far, in the order in which they were first seen:
        integers, booleans or text.
    codes : (n,)
        The place of each row's label in `labels`; −1 where the label is missing.
    rows : (n,)
        The rows' numbers in the file; the first is 1.
    position
        How much the encoder had seen at the end of these rows; for `to_json`.
    """

    X: Any
    labels: NDArray[Any]
    codes: IntArray
    rows: IntArray
    position: Any

    @property
    def y(self) -> NDArray[Any]:
        """Labels (n,); any label where it is missing."""
        if self.labels.shape[0] == 0:
            return np.zeros(self.codes.shape[0], np.int64)
        return self.labels[self.codes]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How the columns of a file become features and labels.

    Attributes
    ----------
    target
        The column with the labels, by name or, if there is no such name, by number: 1
        for the first, −1 for the last. None for formats that have no names.
    labelled
        Whether there are labels; if not, no target is read.
    unlabelled
        Rows whose label is missing: "refuse", or "predict" to give them the code −1.
    drop
        Columns to leave out.
    as_category
        Columns whose values are categories though they look like numbers.
    categorical
        "codes" for integers in first-seen order, as in the paper; "one-hot"; or
        "native" for learners with `categorical_features`: each category has the
        number of its hash, and text and dates become numbers as well.
    missing
        "refuse"; "mean" for the mean of the column in the rows before; or "keep" for
        NaN, for learners that take it. Missing categories are one more category.
    header
        Whether a delimited file begins with the names of its columns. Without, the
        names are "1", "2", ….
    delimiter
        Of a delimited file; None to recognise it.
    encoding
        Of text; None to recognise it.
    decimal, thousands
        Signs in numbers that are written as text; no thousands by default.
    decimal_of, thousands_of
        The same by column, where a column has its own.
    skip_rows
        Lines of a delimited file before its header, or before its rows.
    comment
        How lines of a delimited file begin that are left out; None for no such lines.
    na
        Texts that stand for a missing value, besides the usual ones.
    notations
        How numbers are written in columns of text that have their own way.
    columns
        The columns of features and their kinds, if they are known from an earlier
        file; None to find out.
    features
        How many features a sparse file has; None to read the file for it.
    zero_based
        Whether the first feature of a sparse file is 0; None to read the file for it,
        or 1 where `features` is given.
    max_classes, max_categories
        A target, or a column of text, with more different values is refused; of
        columns, unless categorical is "native".
    """

    target: str | None
    labelled: bool = True
    unlabelled: str = "refuse"
    drop: tuple[str, ...] = ()
    as_category: tuple[str, ...] = ()
    categorical: str = "codes"
    missing: str = "refuse"
    header: bool = True
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str = "."
    thousands: str | None = None
    decimal_of: Mapping[str, str] = field(default_factory=dict)
    thousands_of: Mapping[str, str] = field(default_factory=dict)
    skip_rows: int = 0
    comment: str | None = None
    na: tuple[str, ...] = ()
    notations: Mapping[str, Notation] = field(default_factory=dict)
    columns: Mapping[str, Kind] | None = None
    features: int | None = None
    zero_based: bool | None = None
    max_classes: int = 1000
    max_categories: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPlan:
    """What becomes of the columns of a file."""

    options: ReadOptions
    """those of the reader, with the names of columns as they are in the file"""
    kinds: dict[str, Kind]
    """the columns of features, in order"""
    dropped: dict[str, str] = field(default_factory=dict)
    """columns that are left out, and why"""
    notes: tuple[str, ...] = ()
    """notes for the user"""

    @property
    def wanted(self) -> list[str]:
        """The columns to read: features, then the target if there is one."""
        target = self.options.target if self.options.labelled else None
        return [*self.kinds, *([] if target is None else [target])]
