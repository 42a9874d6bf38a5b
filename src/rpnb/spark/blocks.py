"""Blocks of rows on Spark: their layout, and their distribution to executors."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.checks.labels import LabelArray, encode
from rpnb.estimators.mini_batches import BLOCK_ROWS, RowBlocks
from rpnb.labels import LabelIndex
from rpnb.spark.arrow_rows import Rows, as_label_array
from rpnb.spark.ordering import OrderedRows, RowPlaces, check_count

# Largest number of tasks among which the rows of a segment are distributed.
_MOST_TASKS = 1024
# Mini-batches of no more than this many rows share tasks.
_SMALL_BATCH = 8192
_ONE = np.ones(1)


class Layout(NamedTuple):
    """How positions of rows map to mini-batches, blocks and tasks."""

    batch_rows: int
    """number of rows of a mini-batch"""
    block_rows: int
    """number of rows of a block"""
    tasks: int
    """number of tasks that share a mini-batch"""

    @property
    def blocks_per_batch(self) -> int:
        """Number of blocks in a full mini-batch."""
        return -(-self.batch_rows // self.block_rows)

    def blocks(self, positions: IntArray) -> IntArray:
        """Return the numbers of the blocks of rows."""
        batch, place = np.divmod(positions, self.batch_rows)
        return batch * self.blocks_per_batch + place // self.block_rows


def layout_for(batch_size: int | None, rows: int, tasks: int) -> Layout:
    """Return how rows are split into mini-batches and distributed to tasks."""
    return Layout(batch_size or max(rows, 1), BLOCK_ROWS, tasks)


class Fragment(NamedTuple):
    """Rows of one block that come from one Arrow batch."""

    block: int
    positions: IntArray
    numbers: NDArray[np.int32]
    """class numbers of the rows"""
    table: Rows
    weight: FloatArray
    """(n,), or (0,) if all are 1"""


class Segment(NamedTuple):
    """Fragments of consecutive mini-batches, distributed to the executors."""

    rdd: Any
    """RDD of pairs of a partition number and a fragment"""
    batches: range
    """numbers of the mini-batches"""
    partitions: Callable[[int], list[int]]
    """partitions(batch) returns the partitions with blocks of a mini-batch"""


class _Shares(NamedTuple):
    """Assignment of blocks to the partitions of a segment."""

    layout: Layout
    batches: range
    """numbers of the segment's mini-batches"""
    together: int
    """number of mini-batches that share a partition"""
    each: int
    """number of partitions of a mini-batch"""

    @property
    def in_all(self) -> int:
        return -(-len(self.batches) // self.together) * self.each

    def partitions(self, batch: int) -> list[int]:
        at = (batch - self.batches.start) // self.together * self.each
        return list(range(at, at + self.each))

    def partition(self, block: int) -> int:
        batch, place = divmod(block, self.layout.blocks_per_batch)
        share = place * self.each // self.layout.blocks_per_batch
        return self.partitions(batch)[share]


def segments(
    rows: OrderedRows, classes: LabelArray, layout: Layout
) -> Iterator[Segment]:
    """Distribute the rows to the executors by blocks, segment by segment.

    Spark keeps the distributed rows in shuffle files, so that each mini-batch reads
    only its own rows.
    """
    batches = -(-rows.rows // layout.batch_rows)
    # Small mini-batches share partitions, large ones have several.
    together = max(1, _SMALL_BATCH // layout.batch_rows)
    each = min(layout.tasks, layout.blocks_per_batch) if together == 1 else 1
    most = max(1, _MOST_TASKS // each) * together
    for begin in range(0, batches, most):
        numbers = range(begin, min(begin + most, batches))
        shares = _Shares(layout, numbers, together, each)
        cut = _cutter(rows.places, classes, shares)
        cut_rows = rows.batches.mapPartitionsWithIndex(cut)
        shared = cut_rows.partitionBy(shares.in_all, _as_it_is)
        yield Segment(shared, numbers, shares.partitions)


def _as_it_is(partition: int) -> int:
    return partition


def _cutter(
    places: RowPlaces, classes: LabelArray, shares: _Shares
) -> Callable[[int, Iterable[bytes]], Iterator[tuple[int, Fragment]]]:
    """Return a function that cuts Arrow batches into fragments of blocks."""
    layout, batches = shares.layout, shares.batches

    def cut(index: int, contents: Iterable[bytes]) -> Iterator[tuple[int, Fragment]]:
        known = LabelIndex(classes.tolist())
        for positions, batch in places.read(index, contents):
            blocks = layout.blocks(positions)
            edges = np.flatnonzero(blocks[1:] != blocks[:-1]) + 1
            found = None
            for begin, end in pairwise([0, *edges.tolist(), positions.shape[0]]):
                if (
                    begin == end
                    or blocks[begin] // layout.blocks_per_batch not in batches
                ):
                    continue
                if found is None:
                    found = places.reader.rows(batch)
                    numbers = encode(found.labels, classes, known).astype(np.int32)
                part = slice(begin, end)
                block = int(blocks[begin])
                yield (
                    shares.partition(block),
                    Fragment(
                        block,
                        positions[part],
                        numbers[part],
                        found.table[part],
                        found.weight[part],
                    ),
                )

    return cut


class BlockRows(NamedTuple):
    """The rows of a block, in order."""

    block: int
    numbers: IntArray
    """class numbers of the rows"""
    table: Rows
    weight: FloatArray
    """(n,), or (0,) if all are 1"""

    @property
    def nbytes(self) -> int:
        """Total size of the arrays in bytes."""
        table = self.table
        arrays = [self.numbers, self.weight, table]
        if not isinstance(table, np.ndarray):
            arrays[2:] = [table.data, table.indices, table.indptr]
        return sum(array.nbytes for array in arrays)


def join_fragments(
    pairs: Iterable[tuple[int, Fragment]], blocks: range
) -> list[BlockRows]:
    """Join the fragments of a partition to blocks with the given numbers, in order.

    A partition may hold other blocks, too.
    """
    found: dict[int, list[Fragment]] = {}
    for _, fragment in pairs:
        if fragment.block in blocks:
            found.setdefault(fragment.block, []).append(fragment)
    return [_join(found[block]) for block in sorted(found)]


def _join(fragments: list[Fragment]) -> BlockRows:
    """Join the fragments of a block."""
    fragments = sorted(fragments, key=lambda each: int(each.positions[0]))
    positions = np.concatenate([each.positions for each in fragments])
    numbers = np.concatenate([each.numbers for each in fragments]).astype(np.int64)
    table = stack_rows([each.table for each in fragments])
    weight = np.concatenate([each.weight for each in fragments])
    if (positions[1:] < positions[:-1]).any():
        order = np.argsort(positions)
        numbers, table = numbers[order], table[order]
        weight = weight[order] if weight.shape[0] else weight
    return BlockRows(fragments[0].block, numbers, table, weight)


def stack_rows(tables: list[Rows]) -> Rows:
    """Return tables of rows as one table, which is sparse if any of them is."""
    if len(tables) == 1:
        return tables[0]
    if all(isinstance(table, np.ndarray) for table in tables):
        return np.concatenate(tables)
    return csr_array(vstack([csr_array(table) for table in tables]))


def row_blocks_of(
    parts: list[BlockRows], first: int, counts: Mapping[int, IntArray] | None
) -> RowBlocks:
    """Return the blocks of a mini-batch whose first block has the number `first`.

    `counts` has the number of rows of each class before a block, by block number.
    """
    weight = np.concatenate([part.weight for part in parts])
    return RowBlocks(
        stack_rows([part.table for part in parts]),
        np.concatenate([part.numbers for part in parts]),
        weight if weight.shape[0] else _ONE,
        [BLOCK_ROWS * (part.block - first) for part in parts],
        None if counts is None else [counts[part.block] for part in parts],
    )


def check_rows(parts: list[IntArray], expected: int) -> None:
    """Raise an error if rows of a mini-batch are missing."""
    check_count(expected, sum(part.shape[0] for part in parts))


def counts_before_blocks(
    rows: OrderedRows, classes: LabelArray, layout: Layout, known: IntArray
) -> IntArray:
    """Return the number of rows of each class before each block (blocks, M).

    `known` (M,) counts the rows that were learned earlier.
    """
    M, places = known.shape[0], rows.places

    def count(index: int, contents: Iterable[bytes]) -> Iterator[tuple[Any, Any]]:
        labels = LabelIndex(classes.tolist())
        for positions, batch in places.read(index, contents):
            found = as_label_array(batch.column("label"))
            numbers = encode(found, classes, labels)
            yield np.unique(layout.blocks(positions) * M + numbers, return_counts=True)

    batches = -(-rows.rows // layout.batch_rows)
    counts = np.zeros((batches * layout.blocks_per_batch + 1) * M, np.int64)
    counts[:M] = known
    for entries, rows_there in rows.batches.mapPartitionsWithIndex(count).collect():
        counts[entries + M] += rows_there
    return np.cumsum(counts.reshape(-1, M), axis=0)[:-1]
