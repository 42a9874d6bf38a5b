"""Conversion of all forms of a stream to one: blocks of rows and labels.

A stream is a table X with labels y, an iterable of chunks `(X, y)`, an iterable of rows
`(x, y)` in which x is a dict, as in River, or the chunks of a file.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.sparse import issparse, vstack

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.checks.labels import LabelArray, as_labels
from rpnb.labels import NO_LABEL, CodedLabels, LabelIndex, join_coded

if TYPE_CHECKING:
    from rpnb.files.reading import LabelledChunk

#: Rows in an array, a sparse matrix or a frame, or one dict per row.
Table: TypeAlias = Any
Record: TypeAlias = Mapping[Hashable, Any]

# Number of single rows to read before they are predicted.
_ROWS_AT_ONCE = 1000


@dataclass(frozen=True)
class Block:
    """Rows that follow each other in a stream."""

    start: int
    """number of the first row in the stream, from 0"""
    X: Table
    """a table of shape (n, p), or a list of n dicts"""
    labels: CodedLabels
    """(n,) the labels, by their numbers in the stream"""
    checked: bool = False
    """whether X is known to be an array of finite numbers that are not too large"""
    places: IntArray | None = None
    """(n,) the rows' numbers in the stream, where they do not follow each other"""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def numbers(self) -> IntArray:
        """Numbers (n,) of the labels, −1 for a row without one."""
        return self.labels.codes

    @property
    def y(self) -> LabelArray:
        """The labels (n,)."""
        return self.labels.decoded()

    @property
    def stop(self) -> int:
        """Number of the row after the last."""
        return self.start + len(self)

    @property
    def rows(self) -> IntArray:
        """Numbers (n,) of the rows in the stream."""
        if self.places is not None:
            return self.places
        return np.arange(self.start, self.stop)

    def part(self, begin: int, end: int) -> "Block":
        """Return the rows of the stream from `begin` to before `end`."""
        if begin == self.start and end == self.stop:
            return self
        rows = slice(begin - self.start, end - self.start)
        places = None if self.places is None else self.places[rows]
        return self._some(begin, rows, places)

    def take(self, rows: IntArray) -> "Block":
        """Return some rows of the block, counted from its first, in their order."""
        if len(rows) == len(self) and (np.diff(rows) == 1).all():
            return self
        return self._some(self.start + int(rows[0]), rows, self.rows[rows])

    def _some(
        self, start: int, rows: slice | IntArray, places: IntArray | None
    ) -> "Block":
        """Return some rows of the block, as a block that starts at `start`."""
        X = take(self.X, rows)
        return Block(start, X, self.labels[rows], self.checked, places)

    @property
    def tabled(self) -> "Block":
        """The block with its rows in a table: dicts become rows of an array."""
        # A block that held itself would stay in memory until garbage collection.
        return self._tabled if isinstance(self.X, list) else self

    @cached_property
    def _tabled(self) -> "Block":
        return replace(self, X=_table_of(self.X, self.start))

    @cached_property
    def records(self) -> Sequence[Record]:
        """The rows as dicts; columns without names are numbered."""
        return self.X if isinstance(self.X, list) else records_of(self.X)


class ChunkBlocks:
    """Turns the chunks of a file into blocks.

    The reader and the evaluation number labels differently once a learner predicts a
    label that has not occurred in the file yet. A table translates the numbers, so that
    no label is looked up again.
    """

    def __init__(self, labels: LabelIndex) -> None:
        self._labels = labels
        self._rows = 0

    def block(self, chunk: "LabelledChunk") -> Block:
        """Return the next chunk as a block; a row without a label has the number −1."""
        # How often each code occurs, that of no label first.
        there = np.flatnonzero(np.bincount(chunk.codes + 1)[1:])
        found = chunk.labels[there]
        # No label, −1, is looked up in the last place.
        numbers = np.full(chunk.labels.shape[0] + 1, NO_LABEL)
        numbers[there] = [self._labels.add(label) for label in found.tolist()]
        values = np.zeros(len(self._labels), found.dtype)
        values[numbers[there]] = found
        start, self._rows = self._rows, self._rows + chunk.codes.shape[0]
        dense = isinstance(chunk.X, np.ndarray)
        return Block(start, chunk.X, CodedLabels(numbers[chunk.codes], values), dense)


def table_of(X: Any, y: Any, index: LabelIndex, start: int = 0) -> Block:
    """Return a table with its labels, or with the name of their column, as one block.

    Labels are numbered by the index, which gets new ones.
    """
    if isinstance(y, str):
        y, X = _label_column(X, y)
    labels = as_labels(y)
    table = _as_table(X)
    if table.shape[0] != len(labels):
        raise ValueError(
            f"X has {table.shape[0]} rows and y has {len(labels)} labels: inconsistent "
            "numbers of samples"
        )
    return Block(start, table, index.coded(labels))


def _label_column(X: Any, name: str) -> tuple[Any, Any]:
    """Return a column of a frame, and the frame without it."""
    if not hasattr(X, "columns"):
        raise TypeError(
            f"y={name!r} names a column, for which X must be a frame, got "
            f"{type(X).__name__}"
        )
    if name not in X.columns:
        raise ValueError(f"X has no column {name!r}, only {list(X.columns)}")
    return X[name].to_numpy(), X[[each for each in X.columns if each != name]]


def blocks_of(stream: Any, index: LabelIndex) -> Iterator[Block]:
    """Return the blocks of an iterable of chunks `(X, y)` or of rows `(x, y)`.

    Labels are numbered by the index, which gets new ones.
    """
    if isinstance(stream, Mapping | str) or hasattr(stream, "shape"):
        raise TypeError(
            "y must be given with a table X; without y the stream must be an iterable "
            f"of chunks (X, y) or of rows (x, y), got {type(stream).__name__}"
        )
    try:
        items = iter(stream)
    except TypeError as error:
        raise TypeError(
            "a stream must be a table with labels, or an iterable of chunks (X, y) or "
            f"of rows (x, y), got {type(stream).__name__}"
        ) from error
    return _blocks_of(items, index)


def _as_table(X: Any) -> Table:
    """Return X as a CSR matrix, a frame or an array of two dimensions."""
    if issparse(X):
        return X.tocsr()
    table = X if hasattr(X, "iloc") or hasattr(X, "columns") else np.asarray(X)
    if len(table.shape) != 2:
        raise ValueError(f"X must have the shape (n, p), got {tuple(table.shape)}")
    return table


def _blocks_of(items: Iterator[Any], index: LabelIndex) -> Iterator[Block]:
    first = next(items, None)
    if first is None:
        return
    single = _is_row(_pair(first, 0)[0])
    items = chain([first], items)
    if single:
        yield from _blocks_of_rows(items, index)
        return
    start = 0
    for number, item in enumerate(items):
        X, y = _pair(item, number)
        try:
            chunk = table_of(X, y, index, start)
        except (TypeError, ValueError) as error:
            error.add_note(f"in chunk {number}, which begins with row {start}")
            raise
        if len(chunk) > 0:
            yield chunk
        start += len(chunk)


def _blocks_of_rows(items: Iterator[Any], index: LabelIndex) -> Iterator[Block]:
    start, features = 0, None
    while part := list(islice(items, _ROWS_AT_ONCE)):
        pairs = [_pair(item, start + i) for i, item in enumerate(part)]
        rows = [x for x, _ in pairs]
        for i, x in enumerate(rows):
            if not _is_row(x):
                raise ValueError(
                    f"row {start + i} must be a dict or a vector as the first row is, "
                    f"got {type(x).__name__}"
                )
        y = index.coded(as_labels([label for _, label in pairs]))
        if isinstance(rows[0], Mapping):
            features = features or list(rows[0])
            yield Block(start, [_in_order(x, features) for x in rows], y)
        else:
            yield Block(start, np.array(rows), y)
        start += len(part)


def _in_order(x: Record, features: list[Hashable]) -> Record:
    """Return a row with its features in the order of the first row, if they match."""
    if len(x) == len(features) and all(f in x for f in features):
        return {f: x[f] for f in features}
    return x


def _is_row(x: Any) -> bool:
    """Whether x is a single row, a dict or a vector, and not a chunk."""
    return isinstance(x, Mapping) or (
        not hasattr(x, "columns") and not issparse(x) and np.ndim(x) == 1
    )


def _pair(item: Any, number: int) -> tuple[Any, Any]:
    """Return an item of a stream as (X, y) or (x, y); refuse anything but a pair."""
    if not isinstance(item, Sequence) or isinstance(item, str) or len(item) != 2:
        raise TypeError(
            f"item {number} of the stream must be a pair, (X, y) or (x, y), got "
            f"{type(item).__name__}"
        )
    return item[0], item[1]


def _table_of(rows: Sequence[Record], start: int) -> FloatArray:
    """Return dicts with the same features as the rows of an array."""
    features = list(rows[0])
    X = np.empty((len(rows), len(features)))
    for i, x in enumerate(rows):
        if list(x) != features:
            raise ValueError(
                f"row {start + i} must have the features of the rows before, "
                f"{features}, got {list(x)}"
            )
        for j, feature in enumerate(features):
            try:
                X[i, j] = x[feature]
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"row {start + i}, feature {feature!r}: must be a number, got "
                    f"{x[feature]!r}"
                ) from error
    return X


def records_of(table: Table) -> list[Record]:
    """Return a table's rows as dicts by the names of the columns, or their numbers.

    A sparse row has only the entries that it stores.
    """
    if issparse(table):
        indices, data = table.indices.tolist(), table.data.tolist()
        ends = table.indptr.tolist()
        return [
            dict(zip(indices[a:b], data[a:b], strict=True)) for a, b in pairwise(ends)
        ]
    names = list(getattr(table, "columns", range(table.shape[1])))
    values = table.tolist() if isinstance(table, np.ndarray) else _values(table)
    return [dict(zip(names, row, strict=True)) for row in values]


def _values(frame: Any) -> Iterable[Sequence[Any]]:
    if hasattr(frame, "itertuples"):
        rows: Iterable[Sequence[Any]] = frame.itertuples(index=False, name=None)
        return rows
    return frame.rows()  # polars


def take(X: Table, rows: slice | IntArray) -> Table:
    """Return some rows of a table or of a list of dicts."""
    if isinstance(X, list):
        return X[rows] if isinstance(rows, slice) else [X[i] for i in rows]
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def join(tables: Sequence[Table]) -> Table:
    """Concatenate several tables of one kind."""
    first = tables[0]
    if len(tables) == 1:
        return first
    if isinstance(first, list):
        return [row for rows in tables for row in rows]
    if issparse(first):
        return vstack(tables, format="csr")
    if isinstance(first, np.ndarray):
        return np.concatenate(tables)
    if hasattr(first, "iloc"):
        import pandas  # type: ignore[import-untyped]

        return pandas.concat(tables, ignore_index=True)
    import polars

    return polars.concat(tables)


def gather(kept: Sequence[Block], rows: IntArray) -> Block:
    """Return ascending rows of a stream from the blocks that hold them."""
    first = int(rows[0])
    if first >= kept[-1].start and (np.diff(rows) == 1).all():
        return kept[-1].part(first, int(rows[-1]) + 1)
    cuts = np.searchsorted(rows, [block.start for block in kept[1:]])
    parts = [
        (block, local - block.start)
        for block, local in zip(kept, np.split(rows, cuts), strict=True)
        if len(local) > 0
    ]
    taken = [block.take(local) for block, local in parts]
    return Block(
        first,
        join([part.X for part in taken]),
        join_coded([part.labels for part in taken]),
        all(part.checked for part in taken),
        rows,
    )
