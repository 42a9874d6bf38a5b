"""What readers return and raise, and their options."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, TypeAlias

from numpy.typing import NDArray

from rpnb.core.kernels.arrays import IntArray

Label: TypeAlias = Hashable


class FileError(ValueError):
    """A file cannot be read; the message names file, row and column."""


@dataclass(frozen=True, slots=True)
class LabelledChunk:
    """Rows of a file, in their order, ready for a learner.

    Attributes
    ----------
    X : (n, p)
        Features, float64; a SciPy CSR matrix where the file is sparse.
    y : (n,)
        Labels: integers, booleans or text.
    codes : (n,)
        The labels' numbers in the order in which they were first seen.
    rows : (n,)
        The rows' numbers in the file; the first is 1.
    position
        How much the encoder had seen at the end of these rows; for `to_json`.
    """

    X: Any
    y: NDArray[Any]
    codes: IntArray
    rows: IntArray
    position: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How the columns of a file become features and labels.

    Attributes
    ----------
    target
        The column with the labels; None for formats that have no names.
    drop
        Columns to leave out.
    as_category
        Columns whose values are categories though they look like numbers.
    categorical
        "codes" for integers in first-seen order, as in the paper; or "one-hot".
    missing
        "refuse", or "mean": the mean of the column in the rows before.
    header
        Whether a delimited file begins with the names of its columns. Without, the
        names are "1", "2", ….
    delimiter
        Of a delimited file; None for what its name suggests.
    features
        How many features a sparse file has; None to read the file for it.
    zero_based
        Whether the first feature of a sparse file is 0; None to read the file for it,
        or 1 where `features` is given.
    max_classes, max_categories
        A target, or a column of text, with more different values is refused.
    """

    target: str | None
    drop: tuple[str, ...] = ()
    as_category: tuple[str, ...] = ()
    categorical: str = "codes"
    missing: str = "refuse"
    header: bool = True
    delimiter: str | None = None
    features: int | None = None
    zero_based: bool | None = None
    max_classes: int = 1000
    max_categories: int = 1000
