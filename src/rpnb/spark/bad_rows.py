"""Rows that cannot be learned: refused by file, row and column, or set aside."""

from typing import Any, Literal

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.functions import arrow_udf

from rpnb.estimators.checks.rows import LARGEST, why_bad
from rpnb.estimators.checks.weights import ANY_WEIGHT
from rpnb.spark.arrow_rows import (
    RowRules,
    good_features,
    good_labels,
    good_weights,
)
from rpnb.spark.frame_columns import FrameColumns, quoted

BadRows = Literal["refuse", "set_aside"]


class BadRowError(ValueError):
    """A row that cannot be learned; the message names its position and the problem.

    Examples
    --------
    >>> from rpnb import RPNBClassifier
    >>> from rpnb.spark import BadRowError, learn
    >>> model = RPNBClassifier(20, batch_size=300, random_state=0)
    >>> bad = frame.selectExpr("a", "if(time = 7, null, b) as b", "label", "time")
    >>> try:
    ...     _ = learn(model, bad, order="time")
    ... except BadRowError as error:
    ...     print(str(error).split(": ")[:2])
    ['row 8 of the frame', "column 'b' is missing"]
    """


def set_aside_rows(
    frame: DataFrame, columns: FrameColumns, rules: RowRules, aside: str | None
) -> None:
    """Write the bad rows of a frame to a Parquet table, if there is a path for it."""
    if aside is None:
        return
    marked = _marked(frame, columns, rules)
    bad = marked.where(~F.col("_rpnb_good")).drop("_rpnb_features", "_rpnb_good")
    bad.write.mode("overwrite").parquet(aside)


def _marked(frame: DataFrame, columns: FrameColumns, rules: RowRules) -> DataFrame:
    """Return the frame with its features in one column, and whether a row is good."""

    def check(features: pa.Array, label: pa.Array, *weight: pa.Array) -> pa.Array:
        good = good_features(features, rules) & good_labels(label)
        for column in weight:
            good &= good_weights(column)
        return pa.array(good)

    marked = frame.withColumn("_rpnb_features", columns.table())
    given = [F.col("_rpnb_features"), F.col(quoted(str(columns.label)))]
    if columns.weight is not None:
        weight = F.col(quoted(columns.weight)).cast("double")
        marked = marked.where(has_weight(weight))
        given.append(weight)
    good = arrow_udf(check, T.BooleanType())
    return marked.withColumn("_rpnb_good", good(*given))


def has_weight(weight: Column) -> Column:
    """Return whether a row is used: as in one process, rows of weight 0 are not."""
    return F.coalesce(weight != 0.0, F.lit(True))


def first_bad_row(
    frame: DataFrame, columns: FrameColumns, rules: RowRules
) -> BadRowError:
    """Return an error that names the first bad row of a frame, and its file."""
    label = quoted(str(columns.label))
    marked = _marked(frame, columns, rules)
    place: list[Column] = []
    try:
        # If the frame reads files: the file, and the start of the block in it.
        file, start = F.col("_metadata.file_path"), F.col("_metadata.file_block_start")
        marked.select(file, start)
        place = [file.alias("file"), start.alias("start")]
    except AnalysisException:
        if "_rpnb_file" in frame.columns:
            place = [
                F.col("_rpnb_file").alias("file"),
                F.col("_rpnb_start").alias("start"),
            ]
    weight = []
    if columns.weight is not None:
        weight = [F.col(quoted(columns.weight)).cast("double").alias("weight")]
    shown = marked.select(
        *place,
        F.monotonically_increasing_id().alias("id"),
        F.col(label).alias("label"),
        F.col("_rpnb_features").alias("features"),
        F.col("_rpnb_good").alias("good"),
        *weight,
    ).persist()
    try:
        by = ["file", "start", "id"] if place else ["id"]
        first = shown.where(~F.col("good")).orderBy(*by).head()
        if first is None:
            return BadRowError("the frame has bad rows, but not when it is read again")
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
    reason = _reason(first, columns, rules)
    return BadRowError(f"{where}: {reason}; nothing was learned")


def _reason(row: Any, columns: FrameColumns, rules: RowRules) -> str:
    """Return what is wrong with a row, and in which column."""
    if row.label is None or row.label != row.label:
        return f"column {columns.label!r} has no label"
    if columns.weight is not None and not (
        row.weight is not None and ANY_WEIGHT[0] <= row.weight <= ANY_WEIGHT[1]
    ):
        return (
            f"column {columns.weight!r} must be a weight, finite, not negative and at "
            f"most {ANY_WEIGHT[1]:.0e}, got {row.weight!r}"
        )
    features = row.features
    if features is None:
        return f"column {columns.features[0]!r} is missing"
    indices: Any = None
    if columns.kind == "vector":
        indices = features["indices"] if features["type"] == 0 else None
        width = features["size"] if features["type"] == 0 else len(features["values"])
        features = features["values"]
    else:
        width = len(features)
    if width != rules.p:
        return f"column {columns.features[0]!r} has {width} features, not {rules.p}"
    for place, value in enumerate(features):
        missing = rules.allow_nan and value != value
        if value is None or not (abs(value) <= LARGEST or missing):
            number = place if indices is None else indices[place]
            name = (
                repr(columns.features[number])
                if columns.kind == "columns"
                else f"{columns.features[0]!r}, feature {number}"
            )
            if value is None:
                return f"column {name} is missing: impute or drop missing values first"
            what, hint = why_bad(value)
            return f"column {name} contains {what}: {hint}"
    return "the row cannot be learned"  # pragma: no cover - one of the reasons holds
