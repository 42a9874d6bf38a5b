"""The same rows are accepted as lists and as Spark vectors."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from rpnb.spark.arrow_rows import (
    RowRules,
    as_table,
    good_features,
    good_labels,
    good_weights,
)

NAN = float("nan")
# Rows of two features, and whether they are good; with NaN allowed and not.
ROWS: list[tuple[Any, bool, bool]] = [
    ([1.0, -2.0], True, True),
    (None, False, False),
    ([1.0, NAN], True, False),
    ([1.0, None], False, False),
    ([float("inf"), 2.0], False, False),
    ([1.0, -1e151], False, False),
    ([1.0], False, False),
    ([1.0, 2.0, 3.0], False, False),
    ([], False, False),
    ([0.0, 1e150], True, True),
]
VECTOR = pa.struct(
    [
        ("type", pa.int8()),
        ("size", pa.int32()),
        ("indices", pa.list_(pa.int32())),
        ("values", pa.list_(pa.float64())),
    ]
)


def vectors(sparse: bool) -> pa.Array:
    """Return the rows as Spark vectors, dense or sparse."""
    records: list[Any] = []
    for row, _, _ in ROWS:
        if row is None:
            records.append(None)
        elif sparse:
            kept = [i for i, value in enumerate(row) if value != 0.0]
            values = [row[i] for i in kept]
            records.append(
                {"type": 0, "size": len(row), "indices": kept, "values": values}
            )
        else:
            records.append({"type": 1, "size": None, "indices": None, "values": row})
    return pa.array(records, VECTOR)


@pytest.mark.parametrize("kind", ["lists", "dense", "sparse", "cut"])
@pytest.mark.parametrize("allow_nan", [True, False])
def test_bad_features_are_found(kind: str, allow_nan: bool) -> None:
    rows = [row for row, _, _ in ROWS]
    expected = np.array([ROW[1 if allow_nan else 2] for ROW in ROWS])
    if kind == "lists":
        column = pa.array(rows, pa.list_(pa.float64()))
    elif kind == "cut":
        # A part of a longer column.
        column = pa.array([[9.0], *rows, None], pa.list_(pa.float64()))[1:-1]
    else:
        column = vectors(kind == "sparse")
    good = good_features(column, RowRules(2, allow_nan))
    assert_array_equal(good, expected)
    table: Any = as_table(column.filter(pa.array(good)), 2)
    dense = table if kind != "sparse" else table.toarray()
    assert_array_equal(
        dense, [row for row, fine in zip(rows, good, strict=True) if fine]
    )


def test_bad_labels_and_weights_are_found() -> None:
    assert good_labels(pa.array(["a", None, ""])).tolist() == [True, False, True]
    assert good_labels(pa.array([1.0, NAN, None])).tolist() == [True, False, False]
    weights = pa.array([1.0, None, -1.0, NAN, 1e13, float("inf")])
    good = good_weights(weights).tolist()
    assert good[:4] == [True, False, False, False]
    assert good[5] is False
