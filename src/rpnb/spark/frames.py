"""Frames of Spark as labelled rows in a defined order, cut into blocks.

The position of a row in the order decides its mini-batch and its block, and with them
the model's bits. The order is by the columns that the user names, then by a hash of the
row, then by the row itself: rows that are equal in all of this are equal altogether.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import numpy as np
from pyspark import StorageLevel
from pyspark.errors import AnalysisException
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from rpnb.core.kernels.arrays import IntArray
from rpnb.estimators.checks.labels import LabelArray, encode
from rpnb.estimators.checks.rows import LARGEST, why_bad
from rpnb.estimators.checks.weights import ANY_WEIGHT
from rpnb.estimators.mini_batches import BLOCK_ROWS
from rpnb.labels import LabelIndex
from rpnb.spark.worker import BLOCK_SCHEMA, Layout, as_label_array, packer

BadRows = Literal["refuse", "set_aside"]
Order = str | Sequence[str] | None

# Blocks that are packed and kept at a time, at most, by one task and in all.
_MOST_TASKS = 1024
# Mini-batches of no more than this many rows share tasks.
_SMALL_BATCH = 8192
# A target with more labels is taken for a number that is to be predicted.
_MOST_CLASSES = 10_000
# `monotonically_increasing_id` counts the rows of a partition in its lower bits.
_ROW_BITS = 33


class BadRowError(ValueError):
    """A row that cannot be learnt; the message says where it is and what is wrong."""


class FrameColumns(NamedTuple):
    """Which columns of a frame are what."""

    features: tuple[str, ...]
    kind: Literal["columns", "array", "vector"]
    label: str | None
    order: tuple[str, ...]
    weight: str | None = None

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the features; None if they come in one column."""
        return self.features if self.kind == "columns" else None

    def table(self) -> Column:
        """Return the features as one column: a list, or the record of a vector."""
        if self.kind == "vector":
            return F.unwrap_udt(F.col(quoted(self.features[0])))
        if self.kind == "array":
            return F.col(quoted(self.features[0])).cast("array<double>")
        return F.array(*(F.col(quoted(each)).cast("double") for each in self.features))


def quoted(name: str) -> str:
    """Return a column's name as Spark reads it whatever letters it has."""
    return "`" + name.replace("`", "``") + "`"


def choose_columns(
    frame: DataFrame,
    features: str | Sequence[str] | None,
    label: str | None,
    order: Order = None,
    weight: str | None = None,
) -> FrameColumns:
    """Return the columns to use, or say which is missing or of the wrong type."""
    types = {field.name: field.dataType for field in frame.schema.fields}
    ordering = (order,) if isinstance(order, str) else tuple(order or ())
    for name in (label, weight, *ordering):
        if name is not None and name not in types:
            raise ValueError(f"the frame has no column {name!r}; it has {list(types)}")
    if label is not None and not isinstance(
        types[label],
        T.StringType | T.BooleanType | T.IntegralType | T.DoubleType | T.FloatType,
    ):
        raise ValueError(
            f"the label {label!r} is of type {types[label].simpleString()}; labels are "
            "text, integers, booleans, or floats with integer values"
        )
    if weight is not None and not isinstance(types[weight], T.NumericType):
        raise ValueError(
            f"the weight {weight!r} is of type {types[weight].simpleString()}, not a "
            "number"
        )
    if features is None:
        given = [name for name in types if name not in (label, weight, *ordering)]
    else:
        given = [features] if isinstance(features, str) else list(features)
    if not given:
        raise ValueError("there must be at least one feature, got none")
    for name in given:
        if name not in types:
            raise ValueError(f"the frame has no column {name!r}; it has {list(types)}")
    if len(given) == 1 and isinstance(types[given[0]], VectorUDT):
        return FrameColumns(tuple(given), "vector", label, ordering, weight)
    if len(given) == 1 and isinstance(types[given[0]], T.ArrayType):
        return FrameColumns(tuple(given), "array", label, ordering, weight)
    for name in given:
        if not isinstance(types[name], T.NumericType | T.BooleanType):
            raise ValueError(
                f"the feature {name!r} is of type {types[name].simpleString()}, not a "
                "number: index categories first, for example by StringIndexer, or name "
                "the features"
            )
    return FrameColumns(tuple(given), "columns", label, ordering, weight)


def is_good(
    columns: FrameColumns, table: str, p: int | None, allow_nan: bool
) -> Column:
    """Return a column that says whether a row's features may be learnt."""

    def fine(x: Column) -> Column:
        number = F.abs(x) <= F.lit(float(LARGEST))
        if allow_nan:
            number = number | F.isnan(x)
        return F.coalesce(number, F.lit(False))

    whole = F.col(table)
    good = whole.isNotNull()
    if columns.kind == "vector":
        values = whole["values"]
        width = F.when(whole["type"] == 1, F.size(values)).otherwise(whole["size"])
    else:
        values, width = whole, F.size(whole)
    good = good & F.forall(values, fine)
    if p is not None and columns.kind != "columns":
        good = good & (width == p)
    return F.coalesce(good, F.lit(False))


def width_of(frame: DataFrame, columns: FrameColumns) -> int:
    """Return the number of features: of the first row, where they are one column.

    Of a frame without rows it is 0 then.
    """
    if columns.kind == "columns":
        return len(columns.features)
    first = frame.select(columns.features[0]).where(
        F.col(quoted(columns.features[0])).isNotNull()
    )
    row = first.head()
    return 0 if row is None else len(row[0])


class OrderedRows(NamedTuple):
    """Rows of a frame, in order, kept in memory or on disk by the executors."""

    frame: DataFrame
    """with columns position, label, features, and weight if rows have any"""
    rows: int
    labels: LabelArray
    """the labels that occur, sorted"""
    set_aside: int
    """how many bad rows were left out"""


@contextmanager
def ordered_rows(
    frame: DataFrame,
    columns: FrameColumns,
    p: int,
    *,
    bad_rows: BadRows,
    aside: str | None,
    allow_nan: bool,
) -> Iterator[OrderedRows]:
    """Give the rows of a frame their positions; refuse bad ones, or set them aside.

    Parameters
    ----------
    frame, columns
        The frame, and what its columns are.
    p
        Number of features.
    bad_rows
        "refuse" raises BadRowError; "set_aside" leaves bad rows out, and counts them.
    aside
        A path where rows that are set aside are written as Parquet.
    allow_nan
        Whether NaN is a missing value that the model accepts.
    """
    if bad_rows not in ("refuse", "set_aside"):
        raise ValueError(f"bad_rows must be 'refuse' or 'set_aside', got {bad_rows!r}")
    marked = _marked(frame, columns, p, allow_nan)
    label = F.col(quoted(str(columns.label)))
    marked = marked.select(
        *(
            F.col(quoted(each)).alias(f"_rpnb_order_{i}")
            for i, each in enumerate(columns.order)
        ),
        F.xxhash64(label, F.col("_rpnb_features")).alias("_rpnb_hash"),
        label.alias("label"),
        F.col("_rpnb_features").alias("features"),
        F.col("_rpnb_good").alias("good"),
        *_weight(columns),
    )
    by = [f"_rpnb_order_{i}" for i in range(len(columns.order))]
    if bad_rows == "set_aside":
        marked = marked.where("good")
    kept = ["label", "features", *(["weight"] if columns.weight else [])]
    in_order = marked.orderBy(*by, "_rpnb_hash", *kept)
    numbered = in_order.select(
        F.monotonically_increasing_id().alias("id"), *kept, "good"
    ).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        counted = (
            numbered.groupBy(F.shiftright("id", _ROW_BITS).alias("part"))
            .agg(
                F.count("*").alias("rows"),
                F.sum((~F.col("good")).cast("long")).alias("bad"),
                F.collect_set("label").alias("labels"),
            )
            .collect()
        )
        if any(each.bad for each in counted):
            raise _bad_row(frame, columns, p, allow_nan)
        left_out = 0
        if bad_rows == "set_aside":
            left_out = _set_aside(frame, columns, p, aside, allow_nan)
        yield _positions(numbered, counted, left_out)
    finally:
        numbered.unpersist()


def _positions(numbered: DataFrame, counted: list[Any], left_out: int) -> OrderedRows:
    """Return rows with their positions, given how many each partition has."""
    labels: set[Any] = set()
    parts = max((each.part for each in counted), default=-1) + 1
    rows = np.zeros(parts, np.int64)
    for each in counted:
        rows[each.part] = each.rows
        labels.update(each.labels)
    if len(labels) > _MOST_CLASSES:
        raise ValueError(
            f"the label has {len(labels):,} different values: is it a number to be "
            f"predicted? At most {_MOST_CLASSES:,} classes are learnt"
        )
    starts = (np.cumsum(rows) - rows).tolist()
    offsets = F.array(*(F.lit(start) for start in starts))
    part = F.shiftright("id", _ROW_BITS).cast("int")
    within = F.col("id").bitwiseAND(F.lit((1 << _ROW_BITS) - 1))
    positioned = numbered.select(
        (within + (F.get(offsets, part) if starts else F.lit(0))).alias("position"),
        *(name for name in numbered.columns if name not in ("id", "good")),
    )
    known = np.array(sorted(labels)) if labels else np.zeros(0, np.int64)
    return OrderedRows(positioned, int(rows.sum()), known, left_out)


def _weight(columns: FrameColumns) -> list[Column]:
    """Return the column of the weights, if rows have any."""
    if columns.weight is None:
        return []
    return [F.col(quoted(columns.weight)).cast("double").alias("weight")]


def _set_aside(
    frame: DataFrame, columns: FrameColumns, p: int, aside: str | None, allow_nan: bool
) -> int:
    """Write the bad rows of a frame to a table, if there is a path; count them."""
    marked = _marked(frame, columns, p, allow_nan)
    bad = marked.where(~F.col("_rpnb_good")).drop("_rpnb_features", "_rpnb_good")
    count = bad.count()
    if aside is not None and count > 0:
        bad.write.mode("overwrite").parquet(aside)
    return count


def _marked(
    frame: DataFrame, columns: FrameColumns, p: int, allow_nan: bool
) -> DataFrame:
    """Return the frame with the features as one column, and whether a row is good."""
    label = F.col(quoted(str(columns.label)))
    good = is_good(columns, "_rpnb_features", p, allow_nan) & label.isNotNull()
    kind = frame.schema[str(columns.label)].dataType
    if isinstance(kind, T.DoubleType | T.FloatType):
        good = good & ~F.isnan(label)
    marked = frame.withColumn("_rpnb_features", columns.table())
    if columns.weight is not None:
        weight = F.col(quoted(columns.weight)).cast("double")
        low, high = ANY_WEIGHT
        good = good & weight.between(low, high)
        # As in one process, rows of weight 0 are left out, whatever they hold.
        marked = marked.where(F.coalesce(weight != 0.0, F.lit(True)))
    return marked.withColumn("_rpnb_good", F.coalesce(good, F.lit(False)))


def _bad_row(
    frame: DataFrame, columns: FrameColumns, p: int, allow_nan: bool
) -> BadRowError:
    """Return an error that names the first bad row of a frame, and its file."""
    label = quoted(str(columns.label))
    marked = _marked(frame, columns, p, allow_nan)
    place: list[Column] = []
    try:
        # Of a frame that reads files: the file, and where its part of it begins.
        file, start = F.col("_metadata.file_path"), F.col("_metadata.file_block_start")
        marked.select(file, start)
        place = [file.alias("file"), start.alias("start")]
    except AnalysisException:
        if "_rpnb_file" in frame.columns:
            place = [
                F.col("_rpnb_file").alias("file"),
                F.col("_rpnb_start").alias("start"),
            ]
    shown = marked.select(
        *place,
        F.monotonically_increasing_id().alias("id"),
        F.col(label).alias("label"),
        F.col("_rpnb_features").alias("features"),
        F.col("_rpnb_good").alias("good"),
        *_weight(columns),
    ).persist()
    try:
        by = ["file", "start", "id"] if place else ["id"]
        first = shown.where(~F.col("good")).orderBy(*by).head()
        if first is None:
            return BadRowError("the frame has bad rows, and others when read again")
        before = shown.where(F.col("id") < first.id)
        where = "row {} of the frame"
        if place:
            same = (F.col("file") == first.file) & (
                (F.col("start") < first.start)
                | ((F.col("start") == first.start) & (F.col("id") < first.id))
            )
            before = shown.where(same)
            where = f"{first.file}, row {{}}"
        where = where.format(before.count() + 1)
    finally:
        shown.unpersist()
    return BadRowError(f"{where}: {_reason(first, columns, p, allow_nan)}")


def _reason(row: Any, columns: FrameColumns, p: int, allow_nan: bool) -> str:
    """Return what is wrong with a row, and in which column."""
    if row.label is None or row.label != row.label:
        return f"column {columns.label!r} has no label; nothing was learnt"
    if columns.weight is not None and not (
        row.weight is not None and ANY_WEIGHT[0] <= row.weight <= ANY_WEIGHT[1]
    ):
        return (
            f"column {columns.weight!r} must be a weight, finite, not negative and at "
            f"most {ANY_WEIGHT[1]:.0e}, got {row.weight!r}; nothing was learnt"
        )
    features = row.features
    if features is None:
        return f"column {columns.features[0]!r} is missing; nothing was learnt"
    indices: Any = None
    if columns.kind == "vector":
        indices = features["indices"] if features["type"] == 0 else None
        width = features["size"] if features["type"] == 0 else len(features["values"])
        features = features["values"]
    else:
        width = len(features)
    if width != p:
        return (
            f"column {columns.features[0]!r} has {width} features, not {p}; nothing "
            "was learnt"
        )
    for place, value in enumerate(features):
        missing = allow_nan and value != value
        if value is None or not (abs(value) <= LARGEST or missing):
            number = place if indices is None else indices[place]
            name = (
                repr(columns.features[number])
                if columns.kind == "columns"
                else f"{columns.features[0]!r}, feature {number}"
            )
            if value is None:
                return (
                    f"column {name} is missing: impute or drop missing values first; "
                    "nothing was learnt"
                )
            what, hint = why_bad(value)
            return f"column {name} contains {what}: {hint}; nothing was learnt"
    return "the row cannot be learnt"  # pragma: no cover - one of the reasons holds


def counts_before_blocks(
    rows: OrderedRows, classes: LabelArray, layout: Layout, known: IntArray
) -> IntArray:
    """Return how many rows of each class come before each block (blocks, M).

    `known` (M,) are those that were learnt before. Spark counts the labels by itself.
    """
    block = (
        f"position div {layout.batch_rows} * {layout.blocks_per_batch} + "
        f"position % {layout.batch_rows} div {layout.block_rows}"
    )
    found = rows.frame.groupBy(F.expr(block).alias("block"), "label").count().toArrow()
    batches = -(-rows.rows // layout.batch_rows)
    counts = np.zeros((batches * layout.blocks_per_batch + 1, known.shape[0]), np.int64)
    counts[0] = known
    labels = as_label_array(found["label"].combine_chunks())
    numbers = encode(labels, classes, LabelIndex(classes.tolist()))
    counts[found["block"].to_numpy() + 1, numbers] += found["count"].to_numpy()
    return np.cumsum(counts, axis=0)[:-1]


class Segment(NamedTuple):
    """Packed blocks of consecutive mini-batches, kept by the executors."""

    rdd: Any
    """of rows as in `rpnb.spark.worker.BLOCK_SCHEMA`"""
    batches: range
    """the numbers of the mini-batches"""
    partitions: Any
    """partitions(batch) returns those that hold blocks of a mini-batch"""


def segments(
    rows: OrderedRows, classes: LabelArray, layout: Layout
) -> Iterator[Segment]:
    """Pack the rows into blocks, segment by segment, each kept until the next."""
    batches = -(-rows.rows // layout.batch_rows)
    # Small mini-batches share partitions, large ones have several.
    together = max(1, _SMALL_BATCH // layout.batch_rows)
    shares = min(layout.tasks, layout.blocks_per_batch) if together == 1 else 1
    most = max(1, _MOST_TASKS // shares) * together
    for begin in range(0, batches, most):
        numbers = range(begin, min(begin + most, batches))
        first, last = begin * layout.batch_rows, numbers.stop * layout.batch_rows
        position = F.col("position")
        batch = f"(position div {layout.batch_rows} - {begin})"
        block = f"(position % {layout.batch_rows} div {layout.block_rows})"
        share = f"({block} * {shares} div {layout.blocks_per_batch})"
        partition = F.expr(f"{batch} div {together} * {shares} + {share}")
        count = -(-len(numbers) // together) * shares
        packed = (
            rows.frame.where((position >= first) & (position < last))
            .repartitionById(count, partition.cast("int"))
            .sortWithinPartitions("position")
            .mapInArrow(packer(classes, layout), BLOCK_SCHEMA)
        )
        if len(numbers) > 1:
            packed = packed.persist(StorageLevel.MEMORY_AND_DISK)

        def partitions(number: int, begin: int = begin) -> list[int]:
            at = (number - begin) // together * shares
            return list(range(at, at + shares))

        try:
            yield Segment(packed.rdd, numbers, partitions)
        finally:
            packed.unpersist()


def layout_for(batch_size: int | None, rows: int, tasks: int) -> Layout:
    """Return how rows are cut into mini-batches and shared out to tasks."""
    return Layout(batch_size or max(rows, 1), BLOCK_ROWS, tasks)
