"""Positions of rows do not depend on partitions, nor on who sorts them."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from pyspark.sql import functions as F

from rpnb.spark.frame_columns import choose_columns
from rpnb.spark.ordering import RowPlaces, ordered_rows

N = 240


def positions(
    frame: Any, order: Any, most_keys: int, bad_rows: Any = "refuse"
) -> dict[int, float]:
    """Return the feature x, which identifies a row, by the position of the row."""
    columns = choose_columns(frame, ["x"], "label", order)
    with ordered_rows(
        frame,
        columns,
        1,
        bad_rows=bad_rows,
        aside=None,
        allow_nan=False,
        most_keys=most_keys,
    ) as rows:
        read = _reader(rows.places)
        pairs = rows.batches.mapPartitionsWithIndex(read).collect()
        assert len(pairs) == rows.rows
        return dict(pairs)


def _reader(places: RowPlaces) -> Any:
    def read(index: int, contents: Any) -> Any:
        for numbers, batch in places.read(index, contents):
            table = places.reader.rows(batch).table
            yield from zip(numbers.tolist(), table[:, 0].tolist(), strict=True)

    return read


KEYS: dict[str, Any] = {
    "integers": lambda i: (i * 7) % 50,
    "floats": lambda i: [float(i % 9) - 4.0, float("nan"), float("-inf"), None][i % 4],
    "text": lambda i: ["Zebra", "ant", "éclair", "\U0001f41c", "", None][i % 6],
    "days": lambda i: date(2020, 1, 1) + timedelta(i % 11),
    "times": lambda i: datetime(2020, 1, 1) + timedelta(seconds=i % 13),
    "amounts": lambda i: Decimal(i % 17) / 8,
    "flags": lambda i: [True, False, None][i % 3],
    "records": lambda i: {"a": i % 5, "b": float(i % 3)},
}


def as_spark_sorts(value: Any) -> Any:
    """Return a key by which Python sorts like Spark, nulls first."""
    if value is None or value != value:
        return (0,)
    if isinstance(value, dict):
        return (1, *value.values())
    return (1, value)


@pytest.mark.parametrize("kind", KEYS)
def test_rows_are_sorted_by_the_columns_of_the_order(spark: Any, kind: str) -> None:
    keys = [KEYS[kind](i) for i in range(N)]
    rows = [(key, i % 3, float(i)) for i, key in enumerate(keys)]
    types = {
        "records": "struct<a:int,b:double>",
        "days": "date",
        "times": "timestamp",
        "amounts": "decimal(10,3)",
        "flags": "boolean",
        "text": "string",
        "floats": "double",
        "integers": "long",
    }
    schema = f"k {types[kind]}, label int, x double"
    frame = spark.createDataFrame(rows, schema)
    found = positions(frame.repartition(3), "k", 1 << 20)
    assert sorted(found) == list(range(N))
    order = [found[i] for i in range(N)]
    assert sorted(order) == [float(i) for i in range(N)]
    sorted_keys = [as_spark_sorts(keys[int(x)]) for x in order]
    assert sorted_keys == sorted(sorted_keys)
    # The same rows in the same places by Spark's own sort, and in other partitions.
    assert positions(frame.repartition(5), "k", 10) == found
    assert positions(frame, "k", 1 << 20) == found


def test_rows_of_one_key_are_in_an_order_of_their_own(spark: Any) -> None:
    rows = [(i % 3, float(i)) for i in range(N)]
    frame = spark.createDataFrame(rows, "label int, x double")
    found = positions(frame.repartition(4), None, 1 << 20)
    assert positions(frame.repartition(2), None, 1 << 20) == found
    assert positions(frame, None, 0) == found
    # Not that of the rows.
    assert np.mean(np.diff([found[i] for i in range(N)]) > 0) < 0.7


def test_a_lost_partition_is_read_again_in_any_order(spark: Any) -> None:
    rows = [(i % 7, i % 3, float(i)) for i in range(N)]
    frame = spark.createDataFrame(rows, "k int, label int, x double").coalesce(1)
    # As after a join, each reading gives the rows of a partition in another order.
    shuffled = frame.mapInArrow(_shuffle, frame.schema)
    columns = choose_columns(shuffled, ["x"], "label", "k")
    with ordered_rows(
        shuffled, columns, 1, bad_rows="refuse", aside=None, allow_nan=False
    ) as rows_in_order:
        read = rows_in_order.batches.mapPartitionsWithIndex(
            _reader(rows_in_order.places)
        )
        kept = dict(read.collect())
        rows_in_order.batches.unpersist(blocking=True)
        assert dict(read.collect()) == kept
    assert kept == positions(frame, "k", 1 << 20)


def _shuffle(batches: Any) -> Any:
    for batch in batches:
        yield batch.take(np.random.default_rng().permutation(batch.num_rows))


def test_bad_rows_have_no_position(spark: Any) -> None:
    rows = [(i % 3, float(i)) for i in range(N)]
    frame = spark.createDataFrame(rows, "label int, x double").withColumn(
        "x", F.when(F.col("x") % 10 != 3, F.col("x"))
    )
    for most_keys in (1 << 20, 10):
        found = positions(frame.repartition(3), None, most_keys, "set_aside")
        assert sorted(found) == list(range(N - N // 10))
        assert all(x % 10 != 3 for x in found.values())
