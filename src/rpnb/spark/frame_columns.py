"""Columns of a Spark frame: features, label, order and weight."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

Order = str | Sequence[str] | None


class FrameColumns(NamedTuple):
    """The columns of a frame by their roles."""

    features: tuple[str, ...]
    kind: Literal["columns", "array", "vector"]
    label: str | None
    order: tuple[str, ...]
    weight: str | None = None

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the features; None if they are in one column."""
        return self.features if self.kind == "columns" else None

    def table(self) -> Column:
        """Return the features as one column of lists or vector records."""
        if self.kind == "vector":
            return F.unwrap_udt(F.col(quoted(self.features[0])))
        if self.kind == "array":
            return F.col(quoted(self.features[0])).cast("array<double>")
        return F.array(*(F.col(quoted(each)).cast("double") for each in self.features))


def quoted(name: str) -> str:
    """Return a column's name, quoted for Spark."""
    return "`" + name.replace("`", "``") + "`"


def choose_columns(
    frame: DataFrame,
    features: str | Sequence[str] | None,
    label: str | None,
    order: Order = None,
    weight: str | None = None,
) -> FrameColumns:
    """Return the columns to use; refuse missing ones and wrong types."""
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


def width_of(frame: DataFrame, columns: FrameColumns) -> int:
    """Return the number of features; if they are in one column, that of the first row.

    Returns 0 if there is no such row.
    """
    if columns.kind == "columns":
        return len(columns.features)
    first = frame.select(columns.features[0]).where(
        F.col(quoted(columns.features[0])).isNotNull()
    )
    row = first.head()
    return 0 if row is None else len(row[0])
