"""What runs on the executors: packing rows into blocks, observing blocks, predicting.

Nothing here needs a Spark session. Rows come as Arrow batches.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.checks.labels import LabelArray, encode
from rpnb.estimators.mini_batches import (
    BLOCK_ROWS,
    RowBlocks,
    RowScores,
    model_from_bytes,
    observe_rows,
    score_rows,
)
from rpnb.estimators.stream.learner import BlockStatistics
from rpnb.labels import LabelIndex

#: The columns of a packed block of rows, in Spark's words.
BLOCK_SCHEMA = (
    "block long, numbers binary, p int, values binary, columns binary, starts binary, "
    "weight binary"
)
_ARROW_BLOCK = pa.schema(
    [
        ("block", pa.int64()),
        ("numbers", pa.binary()),
        ("p", pa.int32()),
        ("values", pa.binary()),
        ("columns", pa.binary()),
        ("starts", pa.binary()),
        ("weight", pa.binary()),
    ]
)
#: What a model is kept under in a Python worker, which serves many tasks.
_models: dict[str, tuple[str, Any]] = {}
_ONE = np.ones(1)

Rows = FloatArray | Any
"""(n, p) an array, or a SciPy matrix in compressed rows"""


def as_table(column: pa.Array, p: int | None = None) -> Rows:
    """Return features of an Arrow batch as rows: lists, or Spark's vectors.

    Spark's vectors are records of type (0 sparse, 1 dense), size, indices and values.
    Rows are sparse if any of them is.
    """
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    n = len(column)
    if not pa.types.is_struct(column.type):
        return _values(column).reshape(n, -1 if p is None else p)
    kinds = column.field("type").to_numpy(zero_copy_only=False)
    values = column.field("values")
    if (kinds == 1).all():
        return _values(values).reshape(n, -1 if p is None else p)
    sizes = column.field("size").fill_null(0).to_numpy(zero_copy_only=False)
    lengths = values.value_lengths().to_numpy(zero_copy_only=False)
    width = int(max(sizes.max(), lengths[kinds == 1].max(initial=0)))
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    columns = np.empty(starts[-1], np.int64)
    given = column.field("indices")
    sparse_columns = _flat(given).to_numpy(zero_copy_only=False)
    at = 0
    for row, kind in enumerate(kinds.tolist()):
        here = slice(starts[row], starts[row + 1])
        size = here.stop - here.start
        if kind == 1:
            columns[here] = np.arange(size)
        else:
            columns[here] = sparse_columns[at : at + size]
            at += size
    # A copy: Arrow's arrays may not be written to.
    data = np.array(_values(values))
    table = csr_array((data, columns, starts), shape=(n, width))
    table.eliminate_zeros()
    return table


def _flat(lists: pa.Array) -> pa.Array:
    """Return the items of all lists that are not null."""
    return lists.flatten()


def _values(lists: pa.Array) -> FloatArray:
    values: FloatArray = _flat(lists).to_numpy(zero_copy_only=False)
    return values.astype(np.float64, copy=False)


def as_label_array(column: pa.Array) -> LabelArray:
    """Return labels of an Arrow batch as an array."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return np.array(column.to_pylist(), dtype=np.str_)
    labels: LabelArray = column.to_numpy(zero_copy_only=False)
    return labels


class Layout(NamedTuple):
    """How positions of rows map to mini-batches, blocks and tasks."""

    batch_rows: int
    """rows of a mini-batch"""
    block_rows: int
    """rows of a block"""
    tasks: int
    """tasks that share a mini-batch"""

    @property
    def blocks_per_batch(self) -> int:
        """Number of blocks of a whole mini-batch."""
        return -(-self.batch_rows // self.block_rows)


def packer(
    classes: LabelArray, layout: Layout
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for `mapInArrow` that packs rows into blocks.

    The rows have columns position, label, features and maybe weight, and are sorted by
    position; all rows of a block are in one partition.
    """

    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        index = LabelIndex(classes.tolist())
        held: list[_Part] = []
        current = -1
        for batch in batches:
            if batch.num_rows == 0:
                continue
            position = batch.column(0).to_numpy()
            labels = as_label_array(batch.column(1))
            numbers = encode(labels, classes, index).astype(np.int32)
            table = as_table(batch.column(2))
            weight = np.zeros(0)
            if batch.num_columns > 3:
                weight = batch.column(3).to_numpy(zero_copy_only=False)
            block = (
                position // layout.batch_rows * layout.blocks_per_batch
                + position % layout.batch_rows // layout.block_rows
            )
            cuts = np.flatnonzero(block[1:] != block[:-1]) + 1
            edges = [0, *cuts.tolist(), batch.num_rows]
            for begin, end in pairwise(edges):
                if block[begin] != current and held:
                    yield _block(current, held)
                    held = []
                current = int(block[begin])
                part = slice(begin, end)
                held.append(_Part(numbers[part], table[part], weight[part]))
        if held:
            yield _block(current, held)

    return pack


class _Part(NamedTuple):
    """Rows of a block."""

    numbers: NDArray[np.int32]
    table: Rows
    weight: FloatArray
    """(n,), or (0,) if all are 1"""


def _block(number: int, parts: list[_Part]) -> pa.RecordBatch:
    """Return a packed block as an Arrow batch of one row."""
    numbers = np.concatenate([part.numbers for part in parts])
    tables = [part.table for part in parts]
    p = max(table.shape[1] for table in tables)
    columns = starts = np.zeros(0, np.int64)
    if all(isinstance(table, np.ndarray) for table in tables):
        values = np.concatenate(tables)
    else:
        for table in tables:
            if not isinstance(table, np.ndarray):
                table.resize((table.shape[0], p))
        whole = csr_array(vstack([csr_array(table) for table in tables]))
        whole.sum_duplicates()
        values = whole.data
        columns, starts = whole.indices.astype(np.int64), whole.indptr.astype(np.int64)
    row = {
        "block": [number],
        "numbers": [numbers.tobytes()],
        "p": [p],
        "values": [values.tobytes()],
        "columns": [columns.tobytes()],
        "starts": [starts.tobytes()],
        "weight": [np.concatenate([part.weight for part in parts]).tobytes()],
    }
    return pa.RecordBatch.from_pydict(row, schema=_ARROW_BLOCK)


class UnpackedBlock(NamedTuple):
    """The rows of a block."""

    block: int
    numbers: IntArray
    table: Rows
    weight: FloatArray
    """(n,), or (0,) if all are 1"""


def unpack(row: Any) -> UnpackedBlock:
    """Return the rows of a packed block."""
    numbers = np.frombuffer(row.numbers, np.int32).astype(np.int64)
    n, p, block = numbers.shape[0], int(row.p), int(row.block)
    values = np.frombuffer(row["values"], np.float64)
    starts = np.frombuffer(row.starts, np.int64)
    weight = np.frombuffer(row.weight, np.float64).copy()
    if starts.shape[0] == 0:
        return UnpackedBlock(block, numbers, values.reshape(n, p).copy(), weight)
    columns = np.frombuffer(row.columns, np.int64)
    table = csr_array((values.copy(), columns.copy(), starts.copy()), shape=(n, p))
    return UnpackedBlock(block, numbers, table, weight)


def row_blocks_of(
    parts: list[UnpackedBlock], first: int, counts: Mapping[int, IntArray] | None
) -> RowBlocks:
    """Return blocks of a mini-batch, of which the first has the number `first`.

    `counts` has, by the number of the block, the rows of each class before it.
    """
    weight = np.concatenate([part.weight for part in parts])
    return RowBlocks(
        stack_rows([part.table for part in parts]),
        np.concatenate([part.numbers for part in parts]),
        weight if weight.shape[0] else _ONE,
        [BLOCK_ROWS * (part.block - first) for part in parts],
        None if counts is None else [counts[part.block] for part in parts],
    )


def stack_rows(tables: list[Rows]) -> Rows:
    """Return blocks of rows, all dense or some of them sparse, as one table."""
    if len(tables) == 1:
        return tables[0]
    if all(isinstance(table, np.ndarray) for table in tables):
        return np.concatenate(tables)
    return csr_array(vstack([csr_array(table) for table in tables]))


def copy_of_model(key: str, version: str, content: Callable[[], bytes]) -> Any:
    """Return this process's copy of a model, made from its bytes if it is outdated.

    A Python worker serves many tasks: what follows from a model's parameters, such as
    its projections, is computed once. Models of other keys are forgotten.
    """
    known = _models.get(key)
    if known is None or known[0] != version:
        earlier = None if known is None else known[1]
        _models.clear()
        _models[key] = version, model_from_bytes(content(), earlier)
    return _models[key][1]


class ObservedBlock(NamedTuple):
    """What an executor sends back of a block."""

    block: int
    statistics: BlockStatistics


def observer(
    key: str,
    version: str,
    model: Any,
    blocks: range,
    counts: Mapping[int, IntArray] | None = None,
    probabilities: bool = False,
) -> Callable[[Iterable[Any]], list[ObservedBlock]]:
    """Return a function for `runJob` that observes the blocks of one mini-batch.

    Parameters
    ----------
    key, version
        Of the model: see `copy_of_model`.
    model
        The broadcast bytes.
    blocks
        The numbers of the mini-batch's blocks; a partition may hold others.
    counts
        See `row_blocks_of`.
    probabilities
        Whether those of the predictions are wanted.
    """

    def observe(rows: Iterable[Any]) -> list[ObservedBlock]:
        # By number, so that a shorter one, the last of the mini-batch, comes last.
        parts = sorted(
            (unpack(row) for row in rows if row.block in blocks),
            key=lambda part: part.block,
        )
        if not parts:
            return []
        copy = copy_of_model(key, version, lambda: bytes(model.value))
        statistics = observe_rows(
            copy,
            row_blocks_of(parts, blocks.start, counts),
            probabilities=probabilities,
        )
        return [
            # Numbers of classes are shorter to send so.
            ObservedBlock(
                part.block,
                each._replace(
                    y=each.y.astype(np.int32), labels=each.labels.astype(np.int32)
                ),
            )
            for part, each in zip(parts, statistics, strict=True)
        ]

    return observe


def fetcher(blocks: range) -> Callable[[Iterable[Any]], list[Any]]:
    """Return a function for `runJob` that fetches the blocks of a mini-batch."""

    def fetch(rows: Iterable[Any]) -> list[Any]:
        return [row for row in rows if row.block in blocks]

    return fetch


def predictor(
    key: str, model: Any, names: tuple[str, ...]
) -> Callable[[pa.Array, pa.Array], pa.Array]:
    """Return a function for `arrow_udf` that predicts rows.

    It takes the features and whether each row is good, and returns a record with those
    of the fields prediction, probability and scores that are in `names`; bad rows have
    nulls.

    Parameters
    ----------
    key
        Of the model.
    model
        The broadcast bytes.
    names
        Of the fields.
    """

    def predict(features: pa.Array, good: pa.Array) -> pa.Array:
        copy = copy_of_model(key, key, lambda: bytes(model.value))
        M = copy.classes_.shape[0]
        fine = good.to_numpy(zero_copy_only=False).astype(bool)
        chosen = features.filter(pa.array(fine))
        scored = RowScores(copy.classes_[:0], np.zeros((0, M)), np.zeros((0, M)))
        if len(chosen) > 0:
            scored = _score(copy, as_table(chosen), names != ("prediction",))
        place = np.full(fine.shape[0], -1)
        place[fine] = np.arange(len(chosen))
        taken = pa.array(place, mask=~fine)
        values = {
            "prediction": lambda: pa.array(
                scored.labels.tolist(), label_type(copy.classes_)
            ),
            "probability": lambda: _lists(scored.probabilities),
            "scores": lambda: _lists(scored.scores),
        }
        fields = [values[name]().take(taken) for name in names]
        return pa.StructArray.from_arrays(fields, list(names))

    return predict


def _score(model: Any, table: Rows, scores: bool) -> RowScores:
    """Return predictions of rows; without `scores`, the labels only."""
    if not isinstance(table, np.ndarray):
        table.resize((table.shape[0], model.n_features_in_))
        if not getattr(model, "_accepts_sparse", False):
            table = table.toarray()
    with warnings.catch_warnings():
        # Columns were matched by name when the frame was read.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        if scores:
            return score_rows(model, table)
        return RowScores(model.predict(table), np.zeros((0, 0)), np.zeros((0, 0)))


def _lists(rows: FloatArray) -> pa.Array:
    """Return rows as lists of one length."""
    n, M = rows.shape
    flat = pa.array(np.ascontiguousarray(rows).reshape(-1))
    return pa.ListArray.from_arrays(np.arange(0, n * M + 1, M, dtype=np.int32), flat)


def label_type(classes: LabelArray) -> pa.DataType:
    """Return the Arrow type of labels."""
    kinds = {"b": pa.bool_(), "f": pa.float64(), "U": pa.string(), "O": pa.string()}
    return kinds.get(classes.dtype.kind, pa.int64())
