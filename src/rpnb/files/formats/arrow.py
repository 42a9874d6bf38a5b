"""pyarrow, if it is installed, and how its types become features."""

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rpnb.files.records import FileError, ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

Kind: TypeAlias = Literal["number", "category"]


def require_pyarrow(what: str) -> None:
    """Raise an error that names the extra to install if pyarrow is missing."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise FileError(
            f"reading {what} needs pyarrow: pip install 'rpnb[files]'"
        ) from error


def plan_columns(
    name: str, schema: "pa.Schema", options: ReadOptions
) -> dict[str, Kind]:
    """Return the feature columns of a table by name, in order, with their kinds.

    Raises
    ------
    FileError
        Where a column named in the options is missing, or a column holds what is
        neither number nor category.
    """
    names = schema.names
    repeated = next((n for i, n in enumerate(names) if n in names[:i]), None)
    if repeated is not None:
        raise FileError(f"{name}: two columns have the name {repeated!r}")
    target = options.target
    if target is None:
        raise FileError(f"{name}: which column has the labels? name it with --target")
    for column in (target, *options.drop, *options.as_category):
        if column not in names:
            raise FileError(f"{name}: {no_such_column(column, names)}")
    if target in options.drop:
        raise FileError(f"{name}: the target {target!r} cannot be left out")
    kinds: dict[str, Kind] = {}
    for field in schema:
        if field.name in options.drop:
            continue
        kind = kind_of(name, field)
        if field.name != target:
            kinds[field.name] = (
                "category" if field.name in options.as_category else kind
            )
    if not kinds:
        raise FileError(f"{name}: no column is left beside the target {target!r}")
    return kinds


def no_such_column(column: str, names: list[str]) -> str:
    """Return a message on a missing column, with a similar name if there is one."""
    close = get_close_matches(column, names, n=1)
    shown = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
    hint = f"; close to it: {close[0]!r}" if close else ""
    return f"there is no column {column!r}; the columns are {shown}{hint}"


def kind_of(name: str, field: "pa.Field") -> Kind:
    """Return whether a column holds numbers or categories; refuse other types."""
    from pyarrow import types

    kind: Any = field.type
    if types.is_dictionary(kind):
        kind = kind.value_type
        if is_text(kind) or types.is_integer(kind):
            return "category"
    if (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_boolean(kind)
        or types.is_null(kind)
    ):
        return "number"
    if is_text(kind):
        return "category"
    what = "dates or times" if types.is_temporal(kind) else "values"
    raise FileError(
        f"{name}, column {field.name}: holds {what} of type {kind}, neither numbers "
        f"nor categories; turn it into numbers, or leave it out: --drop {field.name}"
    )


def as_array(values: "pa.Array") -> NDArray[Any]:
    """Return numbers or booleans without missing values as a read-only array.

    Not by `to_numpy`, which imports pandas where that is installed.
    """
    import pyarrow as pa

    if values.type == pa.bool_():
        return np.from_dlpack(values.cast(pa.int8())).astype(np.bool_)
    return np.from_dlpack(values)


def is_text(kind: "pa.DataType") -> bool:
    """Return whether values of a type are text."""
    from pyarrow import types

    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or getattr(types, "is_string_view", lambda _: False)(kind)
    )


def read_as(field: "pa.Field", kind: Kind | None) -> "pa.DataType":
    """Return the type as which to read a column of text, by the type of its first rows.

    Numbers of features are read in double precision, since a fraction may follow
    integers; the target (kind None) keeps its type.
    """
    import pyarrow as pa

    if kind == "category" or (kind is None and is_text(field.type)):
        return pa.dictionary(pa.int32(), pa.string())
    if kind is None and not pa.types.is_null(field.type):
        return field.type
    if kind == "number" and pa.types.is_boolean(field.type):
        return field.type
    return pa.float64()
