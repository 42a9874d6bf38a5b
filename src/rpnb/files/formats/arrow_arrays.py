"""pyarrow, if it is installed, and the conversion of its types to features."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rpnb.files.formats.byte_sources import STANDARD_INPUT
from rpnb.files.reading import FileError, Kind, typed

if TYPE_CHECKING:
    import pyarrow as pa

#: Errors, besides those of pyarrow, that reading a damaged file may raise.
_DAMAGE = (OSError, ValueError, TypeError, IndexError, OverflowError, MemoryError)


def require_pyarrow(what: str) -> None:
    """Raise an error that names the extra to install if pyarrow is missing."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise FileError(
            f"reading {what} needs pyarrow: pip install 'rpnb[files]'"
        ) from error


def require_seekable(path: str, what: str) -> None:
    """Refuse a pipe for a format with its table of contents at the end."""
    if path == STANDARD_INPUT:
        raise FileError(
            f"standard input: {what} has its table of contents at the end and cannot "
            "be read from a pipe; pass the name of the file"
        )


def require_content(path: str) -> None:
    """Refuse an empty file."""
    if Path(path).stat().st_size == 0:
        raise FileError(f"{path}: the file is empty")


@contextmanager
def reported(where: Callable[[], str]) -> Iterator[None]:
    """Turn errors from reading a damaged file into one that names the place."""
    import pyarrow as pa

    try:
        yield
    except FileError:
        raise
    except (pa.ArrowException, *_DAMAGE) as error:
        raise FileError(f"{where()}: {one_line(error)}") from error


def kind_of(name: str, field: "pa.Field", *, native: bool = False) -> Kind:
    """Return whether a column holds numbers or categories; refuse other types.

    With `native`, dates are accepted as well.
    """
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
    if native and (types.is_timestamp(kind) or types.is_date(kind)):
        return "date"
    drop = f"drop it with {typed('--drop', field.name)}"
    if types.is_timestamp(kind) or types.is_date(kind):
        remedy = f"{drop}, convert it to numbers, or use --model Pooled, which reads it"
    elif types.is_time(kind):
        category = typed("--as-category", field.name)
        remedy = f"convert it to numbers, use {category}, or {drop}"
    else:
        remedy = f"convert it to numbers, or {drop}"
    raise FileError(
        f"{name}, column {field.name}: contains {content_of(kind)}, neither numbers "
        f"nor categories; {remedy}",
        [("--drop", field.name)],
    )


def content_of(kind: "pa.DataType") -> str:
    """Return in plain words what a column of a type contains.

    >>> import pyarrow as pa
    >>> [content_of(kind) for kind in (pa.time32("s"), pa.list_(pa.int64()))]
    ['times of day', 'lists']
    """
    from pyarrow import types

    for holds, words in (
        (types.is_time, "times of day"),
        (types.is_timestamp, "dates or times"),
        (types.is_date, "dates"),
        (types.is_duration, "durations"),
        (types.is_nested, "lists"),
        (types.is_temporal, "intervals of time"),
    ):
        if holds(kind):
            return "nested objects" if types.is_struct(kind) else words
    if types.is_dictionary(kind):
        return content_of(kind.value_type)
    if types.is_floating(kind) or types.is_decimal(kind):
        return "numbers with a fraction"
    if types.is_null(kind):
        return "no values"
    return f"values of type {kind}"


def as_array(values: "pa.Array") -> NDArray[Any]:
    """Return numbers or booleans without missing values as a read-only array.

    It does not use `to_numpy`, which imports pandas if that is installed.
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


def is_temporal(kind: "pa.DataType") -> bool:
    """Return whether values of a type are dates, times or both."""
    from pyarrow import types

    return bool(types.is_timestamp(kind) or types.is_date(kind) or types.is_time(kind))


def read_as(field: "pa.Field", kind: Kind | None) -> "pa.DataType":
    """Return the type for reading a column, given the type of its first rows.

    Numeric features are read in double precision, since a fraction may follow integers;
    the target (kind None) keeps its type.
    """
    import pyarrow as pa

    if kind == "category" or (kind is None and is_text(field.type)):
        return pa.dictionary(pa.int32(), pa.string())
    if kind is None and not pa.types.is_null(field.type):
        return field.type
    if kind == "number" and pa.types.is_boolean(field.type):
        return field.type
    if kind == "number" and is_text(field.type):
        return pa.string()  # turned into numbers later
    if kind == "text" or (kind == "date" and is_text(field.type)):
        return pa.string()
    if kind == "date":
        return pa.timestamp("us", getattr(field.type, "tz", None))
    return pa.float64()


def one_line(error: BaseException) -> str:
    """Return the message of an error on one line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split()) or type(error).__name__


def reader_of(block: bytes) -> "pa.BufferReader":
    """Return a reader of a copy of bytes that belongs to Arrow alone.

    Arrow's threads may release what they have read when the interpreter has begun to
    exit. To release an object of Python they need its lock, and would then end the
    process with "terminate called without an active exception".
    """
    import pyarrow as pa

    buffer = pa.allocate_buffer(len(block))
    memoryview(buffer).cast("B")[:] = block
    return pa.BufferReader(buffer)


def validated(batch: "pa.RecordBatch") -> None:
    """Raise ArrowInvalid if text or codes of a batch are damaged."""
    from pyarrow import types

    for column in batch.columns:
        if not types.is_primitive(column.type):
            column.validate(full=True)
