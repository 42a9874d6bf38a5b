"""A defined order for the rows of a Spark frame.

The position of a row decides its mini-batch and its block, and so the bits of the
model. Rows are ordered by the columns that the user names, then by two hashes of the
row. Rows with a null come first.

The frame is read only once. Each executor sorts its partitions, so that they are the
same whenever they are read again, and keeps them as Arrow batches. The keys of the rows
go to the driver, which sorts them and assigns a position to each row. Spark sorts
frames with too many rows for that, and columns that Arrow cannot compare.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import RDD, StorageLevel
from pyspark.serializers import NoOpSerializer
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.checks.labels import LabelArray
from rpnb.spark.arrow_rows import (
    RowRules,
    Rows,
    as_label_array,
    as_table,
    good_features,
    good_labels,
    good_weights,
)
from rpnb.spark.bad_rows import BadRows, first_bad_row, has_weight, set_aside_rows
from rpnb.spark.frame_columns import FrameColumns, quoted

#: Largest number of rows whose keys the driver sorts, with about 50 bytes for each.
MOST_KEYS = 1 << 24
# A target with more values is probably a number to predict.
_MOST_CLASSES = 10_000
# Types that Arrow sorts like Spark.
_COMPARABLE = (
    T.NumericType,
    T.BooleanType,
    T.DateType,
    T.TimestampType,
    T.TimestampNTZType,
    T.BinaryType,
)
_HASHES = ["hash", "hash_of_features"]


class ReadRows(NamedTuple):
    """Rows of an Arrow batch that may be learned."""

    labels: LabelArray
    table: Rows
    weight: FloatArray
    """(n,), or (0,) if all are 1"""


class RowReader(NamedTuple):
    """Reads rows from the Arrow batches that executors keep."""

    schema: pa.Schema
    rules: RowRules
    keys: tuple[str, ...]
    """columns by which rows are ordered"""

    def batch(self, content: bytes) -> pa.RecordBatch:
        """Return an Arrow batch with all its rows."""
        return pa.ipc.read_record_batch(pa.py_buffer(content), self.schema)

    def good(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a batch that may be learned."""
        good = good_features(batch.column("features"), self.rules)
        good &= good_labels(batch.column("label"))
        if "weight" in self.schema.names:
            good &= good_weights(batch.column("weight"))
        return batch if good.all() else batch.filter(pa.array(good))

    def rows(self, batch: pa.RecordBatch) -> ReadRows:
        """Return rows that may be learned."""
        weight = np.zeros(0)
        if "weight" in self.schema.names:
            weight = batch.column("weight").to_numpy(zero_copy_only=False)
        return ReadRows(
            as_label_array(batch.column("label")),
            as_table(batch.column("features"), self.rules.p),
            weight,
        )


class RowPlaces(NamedTuple):
    """Reads the rows of Arrow batches with their positions in the order."""

    reader: RowReader
    positions: Any
    """broadcast: for each partition, the positions of its good rows, or the first
    position if they are consecutive"""
    some_bad: bool
    """whether there are bad rows, which have no positions"""

    def read(
        self, index: int, contents: Iterable[bytes]
    ) -> Iterator[tuple[IntArray, pa.RecordBatch]]:
        """Yield the good rows of a partition, batch by batch, with their positions."""
        held = self.positions.value[index]
        at = 0
        for content in contents:
            batch = self.reader.batch(content)
            if self.some_bad:
                batch = self.reader.good(batch)
            end = at + batch.num_rows
            if isinstance(held, int):
                yield np.arange(held + at, held + end), batch
            else:
                check_count(held[at:end].shape[0], batch.num_rows)
                yield held[at:end], batch
            at = end


class OrderedRows(NamedTuple):
    """Rows of a frame, kept by the executors, and their positions in the order."""

    batches: Any
    """RDD of Arrow batches"""
    places: RowPlaces
    rows: int
    labels: LabelArray
    """sorted distinct labels"""
    set_aside: int
    """number of bad rows left out"""


def check_count(expected: int, found: int) -> None:
    """Raise an error if the number of rows has changed since they were counted."""
    if found != expected:
        raise RuntimeError(
            f"there were {expected} rows when the frame was counted and {found} when "
            "it was learned: a frame must give the same rows whenever it is read, so "
            "persist what is drawn at random"
        )


@contextmanager
def ordered_rows(
    frame: DataFrame,
    columns: FrameColumns,
    p: int,
    *,
    bad_rows: BadRows,
    aside: str | None,
    allow_nan: bool,
    most_keys: int = MOST_KEYS,
) -> Iterator[OrderedRows]:
    """Assign positions to the rows of a frame; refuse bad ones, or set them aside.

    Parameters
    ----------
    frame, columns
        Frame and the roles of its columns.
    p
        Number of features.
    bad_rows
        "refuse" raises BadRowError; "set_aside" leaves bad rows out, and counts them.
    aside
        Path to which rows that are set aside are written, as Parquet.
    allow_nan
        Whether NaN is a missing value that the model accepts.
    most_keys
        Largest number of rows whose keys the driver sorts.
    """
    if bad_rows not in ("refuse", "set_aside"):
        raise ValueError(f"bad_rows must be 'refuse' or 'set_aside', got {bad_rows!r}")
    rules = RowRules(p, allow_nan)
    chosen = _chosen(frame, columns)
    reader = RowReader(_arrow_schema(chosen), rules, _keys(columns))
    by = [*reader.keys, "label", "features"]
    by_driver = _are_comparable(frame, columns)
    kept = _as_arrow(
        chosen.sortWithinPartitions(*by) if by_driver else chosen.orderBy(*by)
    )
    try:
        found = _describe(kept, reader, most_keys if by_driver else 0)
        bad = sum(part.bad for part in found)
        if bad and bad_rows == "refuse":
            raise first_bad_row(frame, columns, rules)
        if bad:
            set_aside_rows(frame, columns, rules, aside)
        rows = sum(part.rows for part in found)
        if by_driver and any(part.keys is None for part in found):
            by_driver = False
            kept.unpersist()
            kept = _as_arrow(chosen.orderBy(*by))
            found = _describe(kept, reader, 0)
        if by_driver:
            places: list[IntArray] | list[int] = _positions(found, reader)
        else:
            counts = np.array([part.rows for part in found], np.int64)
            places = (np.cumsum(counts) - counts).tolist()
        shared = kept.context.broadcast(places)
        try:
            read = RowPlaces(reader, shared, bad > 0)
            yield OrderedRows(kept, read, rows, _labels(found), bad)
        finally:
            shared.destroy()
    finally:
        kept.unpersist()


def _keys(columns: FrameColumns) -> tuple[str, ...]:
    given = [f"order_{i}" for i in range(len(columns.order))]
    return (*given, *_HASHES, *(["weight"] if columns.weight else []))


def _chosen(frame: DataFrame, columns: FrameColumns) -> DataFrame:
    """Return a frame with the keys, label, features and weight of each row."""
    label = F.col(quoted(str(columns.label)))
    features = columns.table()
    chosen = [
        _order(frame, each).alias(f"order_{i}") for i, each in enumerate(columns.order)
    ]
    chosen += [
        F.xxhash64(label, features).alias(_HASHES[0]),
        F.xxhash64(features, label).alias(_HASHES[1]),
        label.alias("label"),
        features.alias("features"),
    ]
    if columns.weight is None:
        return frame.select(*chosen)
    weight = F.col(quoted(columns.weight)).cast("double")
    return frame.where(has_weight(weight)).select(*chosen, weight.alias("weight"))


def _order(frame: DataFrame, name: str) -> Column:
    """Return a column of the order, with null instead of NaN."""
    column = F.col(quoted(name))
    if isinstance(frame.schema[name].dataType, T.DoubleType | T.FloatType):
        return F.when(~F.isnan(column), column)
    return column


def _are_comparable(frame: DataFrame, columns: FrameColumns) -> bool:
    """Return whether Arrow sorts by the columns of the order like Spark."""
    kinds = [frame.schema[name].dataType for name in columns.order]
    # A string type with a collation is not equal to StringType().
    return all(
        isinstance(kind, _COMPARABLE) or kind == T.StringType() for kind in kinds
    )


def _arrow_schema(frame: DataFrame) -> pa.Schema:
    """Return the schema of the Arrow batches that Spark makes from a frame."""
    setting = "spark.sql.execution.arrow.useLargeVarTypes"
    large = frame.sparkSession.conf.get(setting, "false") == "true"
    return to_arrow_schema(frame.schema, timezone="UTC", prefers_large_types=large)


def _as_arrow(frame: DataFrame) -> Any:
    """Return a frame as an RDD of Arrow batches, kept by the executors.

    The RDD of a frame would pickle rows value by value.
    """
    context = frame.sparkSession.sparkContext
    batches = RDD(frame._jdf.toArrowBatchRdd().toJavaRDD(), context, NoOpSerializer())
    return batches.persist(StorageLevel.MEMORY_AND_DISK_DESER)


class _Partition(NamedTuple):
    """Description of a partition for the driver."""

    rows: int
    """number of good rows"""
    bad: int
    labels: list[Any]
    """distinct labels"""
    keys: list[bytes] | None
    """keys of the good rows as Arrow batches; None if there are too many"""


def _describe(kept: Any, reader: RowReader, most_keys: int) -> list[_Partition]:
    """Describe each partition of Arrow batches.

    Each partition may send an equal share of `most_keys`.
    """
    most = most_keys // max(kept.getNumPartitions(), 1)
    found: list[_Partition] = kept.context.runJob(kept, _describer(reader, most))
    return found


def _describer(
    reader: RowReader, most: int
) -> Callable[[Iterable[bytes]], list[_Partition]]:
    """Return a function for `runJob`, which sends the keys of at most `most` rows."""

    def describe(contents: Iterable[bytes]) -> list[_Partition]:
        rows = bad = 0
        labels: set[Any] = set()
        keys: list[bytes] | None = []
        for content in contents:
            batch = reader.batch(content)
            good = reader.good(batch)
            rows += good.num_rows
            bad += batch.num_rows - good.num_rows
            labels.update(pc.unique(good.column("label")).to_pylist())
            if rows > most:
                keys = None
            if keys is not None:
                keys.append(good.select(reader.keys).serialize().to_pybytes())
        return [_Partition(rows, bad, list(labels), keys)]

    return describe


def _positions(found: list[_Partition], reader: RowReader) -> list[IntArray]:
    """Return the positions of the rows of each partition, from their keys."""
    schema = pa.schema([reader.schema.field(name) for name in reader.keys])
    parts = [
        pa.ipc.read_record_batch(pa.py_buffer(content), schema)
        for part in found
        for content in part.keys or []
    ]
    table = pa.Table.from_batches(parts, schema)
    by: list[tuple[str, str]] = []
    for name in reader.keys:
        if table[name].null_count:
            # False sorts before True: rows with a null come first.
            table = table.append_column(f"has_{name}", table[name].is_valid())
            by.append((f"has_{name}", "ascending"))
        by.append((name, "ascending"))
    order = pc.sort_indices(table, sort_keys=by)
    positions = np.empty(table.num_rows, np.int64)
    positions[order.to_numpy()] = np.arange(table.num_rows)
    return np.split(positions, np.cumsum([part.rows for part in found])[:-1])


def _labels(found: list[_Partition]) -> LabelArray:
    """Return the distinct labels, sorted."""
    labels = {label for part in found for label in part.labels}
    if len(labels) > _MOST_CLASSES:
        raise ValueError(
            f"the label has {len(labels):,} different values: is it a number to be "
            f"predicted? At most {_MOST_CLASSES:,} classes are learned"
        )
    return np.array(sorted(labels)) if labels else np.zeros(0, np.int64)
