"""Options, results and errors of all readers."""

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
    """The error for a file that cannot be read; it names file, row and column.

    `fixes` are options of the command line, with values, that would read the file;
    `problems` are this error, or the ones that it combines.

    Examples
    --------
    >>> from rpnb.files import FileError, LabelledFile, ReadOptions
    >>> try:
    ...     LabelledFile("no/such/file.csv", ReadOptions(target="label"))
    ... except FileError as error:
    ...     print(error)
    no/such/file.csv: there is no such file
    """

    def __init__(self, message: object, fixes: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message)
        self.fixes = tuple(fixes)
        self.problems: tuple[FileError, ...] = (self,)


def typed(option: str, *values: str) -> str:
    """Return an option with its values, quoted for a shell.

    >>> typed("--drop", "unit price", "size")
    "--drop 'unit price' size"
    >>> typed("--drop", "-x", "size")
    '--drop=-x --drop size'
    """
    return shlex.join(words_of(option, values))


def words_of(option: str, values: Sequence[str]) -> list[str]:
    """Return an option that takes several values as words of a command line.

    A value that begins with a minus would be taken for an option itself.
    """
    signed = [f"{option}={value}" for value in values if value.startswith("-")]
    others = [value for value in values if not value.startswith("-")]
    return [*signed, *([option, *others] if others else [])]


def join_problems(name: str, problems: Sequence[FileError]) -> FileError:
    """Combine all problems of the named file into one error."""
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
        Features, float64; a SciPy CSR matrix if the file is sparse.
    labels : (M,)
        All labels of the file so far, in the order of first appearance: integers,
        booleans or text.
    codes : (n,)
        Index of each row's label in `labels`; −1 if the label is missing.
    rows : (n,)
        Numbers of the rows in the file; the first is 1.
    position
        Position of the encoder after these rows, for `to_json`.

    Examples
    --------
    >>> import numpy as np
    >>> from rpnb.files import LabelledArrays
    >>> X = np.array([[5.0, 2.0], [2.0, 6.0], [4.0, 2.0]])
    >>> arrays = LabelledArrays("leaves", X, np.array(["oak", "elm", "oak"]))
    >>> chunk = next(arrays.chunks(2))
    >>> chunk.labels.tolist(), chunk.codes.tolist(), chunk.rows.tolist()
    (['oak', 'elm'], [0, 1], [1, 2])
    """

    X: Any
    labels: NDArray[Any]
    codes: IntArray
    rows: IntArray
    position: Any

    @property
    def y(self) -> NDArray[Any]:
        """Labels (n,); arbitrary for rows without a label.

        Examples
        --------
        >>> import numpy as np
        >>> from rpnb.files import LabelledArrays
        >>> arrays = LabelledArrays("leaves", np.eye(2), np.array(["oak", "elm"]))
        >>> [chunk.y.tolist() for chunk in arrays.chunks(1)]
        [['oak'], ['elm']]
        """
        if self.labels.shape[0] == 0:
            return np.zeros(self.codes.shape[0], np.int64)
        return self.labels[self.codes]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How the columns of a file become features and labels.

    Attributes
    ----------
    target
        Column of the labels, by name or, if no column has this name, by number: 1 for
        the first, −1 for the last. None for formats without names.
    labelled
        Whether the file has labels; if not, no target is read.
    unlabelled
        Rows whose label is missing: "refuse", or "predict" to give them the code −1.
    drop
        Columns to leave out.
    as_category
        Columns whose values look like numbers but are categories.
    categorical
        How categories become numbers: "codes", integers in order of first appearance,
        as in the paper; "one-hot"; or "native", for learners with
        `categorical_features`, where each category becomes the number of its hash, and
        text and dates become numbers as well.
    missing
        What to do with missing values: "refuse"; "mean", the mean of the column in the
        earlier rows; or "keep", NaN, for learners that accept it. A missing category is
        one more category.
    header
        Whether a delimited file begins with the names of its columns. If not, they are
        "1", "2", ….
    delimiter
        Delimiter of a delimited file; None detects it.
    encoding
        Encoding of a text file; None detects it.
    decimal, thousands
        Decimal and thousands separators of numbers in text; by default a dot and none.
    decimal_of, thousands_of
        Separators of single columns, by name, where they differ.
    skip_rows
        Number of lines to skip before the header of a delimited file, or before its
        rows.
    comment
        Prefix of lines that are skipped in a delimited file; None for no such lines.
    na
        Texts that mean a missing value, besides the usual ones.
    notations
        Notations of the numbers in single columns of text, by name.
    columns
        Columns of features and their kinds, if known from an earlier file; None detects
        them.
    features
        Number of features of a sparse file; None determines it by a first pass.
    zero_based
        Whether the first feature of a sparse file has the index 0; None determines it
        by a first pass, or means 1 if `features` is given.
    max_classes, max_categories
        Largest numbers of distinct values of the target and of a column of text; more
        are refused, except in columns if `categorical` is "native".

    Examples
    --------
    >>> from rpnb.files import ReadOptions
    >>> options = ReadOptions(target="species", drop=("id",), decimal=",")
    >>> options.categorical, options.missing
    ('codes', 'refuse')
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
    """The roles of the columns of a file."""

    options: ReadOptions
    """options of the reader, with the names of columns as in the file"""
    kinds: dict[str, Kind]
    """the columns of features, in order"""
    dropped: dict[str, str] = field(default_factory=dict)
    """columns that are dropped, and why"""
    notes: tuple[str, ...] = ()
    """notes for the user"""

    @property
    def wanted(self) -> list[str]:
        """The columns to read: features, then the target if there is one."""
        target = self.options.target if self.options.labelled else None
        return [*self.kinds, *([] if target is None else [target])]
