"""Tables as Arrow IPC streams, from strangers and to them."""

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.serve.limits import ApiError, Limits, beyond, invalid

if TYPE_CHECKING:
    from rpnb.serve.http.formats import RequestColumns

# Types of messages, and places of fields in them: Message.fbs of the Arrow format.
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3
_HEADER_TYPE, _HEADER = 1, 2
_LENGTH, _COMPRESSION = 0, 3


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise ApiError(
            415, "media_type", "this server has no pyarrow: send JSON instead"
        ) from None
    return pyarrow


def read_arrow(
    body: bytes,
    named: Mapping[str, str],
    columns: "RequestColumns | None",
    limits: Limits,
) -> dict[str, Any]:
    """Return the parts of a table: "rows" as a matrix, the others as lists.

    Parameters
    ----------
    body
        An Arrow IPC stream without compression.
    named
        The column of each other part.
    columns
        The model's features, None if rows are not wanted.
    limits
        Of rows.
    """
    pa = _pyarrow()
    _check_messages(pa, body, limits)
    try:
        with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError):
        raise invalid("the body is not an Arrow IPC stream") from None
    names = table.column_names
    if len(set(names)) < len(names):
        raise invalid("the Arrow table has two columns of one name")
    found: dict[str, Any] = {}
    for part, name in named.items():
        if name in names:
            found[part] = _as_list(pa, table[name], part)
    if columns is not None:
        rest = [name for name in names if name not in named.values()]
        if columns.names is not None:
            missing = next((n for n in columns.names if n not in names), None)
            if missing is not None:
                raise invalid(
                    f"the Arrow table has no column {missing}", column=missing
                )
            rest = list(columns.names)
        elif len(rest) != columns.p:
            raise invalid(
                f"the Arrow table has {len(rest)} columns of features; the model has "
                f"{columns.p}"
            )
        found["rows"] = _as_rows(pa, table, rest, columns)
    return found


def _check_messages(pa: Any, body: bytes, limits: Limits) -> None:
    """Refuse compressed batches and too many rows before anything is unpacked."""
    rows = 0
    try:
        for message in pa.ipc.MessageReader.open_stream(pa.py_buffer(body)):
            metadata = message.metadata.to_pybytes()
            root = struct.unpack_from("<I", metadata, 0)[0]
            place = _field(metadata, root, _HEADER_TYPE)
            kind = metadata[place] if place else 0
            if kind not in (_RECORD_BATCH, _DICTIONARY_BATCH):
                continue
            batch = _follow(metadata, _field(metadata, root, _HEADER))
            if kind == _DICTIONARY_BATCH:
                batch = _follow(metadata, _field(metadata, batch, 1))
            if _field(metadata, batch, _COMPRESSION):
                raise invalid("the Arrow stream must not be compressed")
            place = _field(metadata, batch, _LENGTH)
            rows += struct.unpack_from("<q", metadata, place)[0] if place else 0
            if rows > limits.max_rows:
                raise beyond(
                    "max_rows", limits.max_rows, "the Arrow table has too many rows"
                )
    except (pa.ArrowException, OSError, struct.error, IndexError):
        raise invalid("the body is not an Arrow IPC stream") from None


def _field(data: bytes, table: int, index: int) -> int:
    """Return where a field of a FlatBuffers table is, 0 if it is not there."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, vtable)[0]
    if 4 + 2 * index >= size:
        return 0
    offset = struct.unpack_from("<H", data, vtable + 4 + 2 * index)[0]
    return table + offset if offset else 0


def _follow(data: bytes, place: int) -> int:
    """Return the table that an offset points to."""
    return int(place + struct.unpack_from("<I", data, place)[0])


def _as_list(pa: Any, column: Any, part: str) -> list[Any]:
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if not (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
    ):
        raise invalid(f"{part} must be a column of text, integers or booleans")
    values: list[Any] = column.to_pylist()
    return values


def _as_rows(
    pa: Any, table: Any, names: list[str], columns: "RequestColumns"
) -> FloatArray:
    X = np.empty((table.num_rows, columns.p))
    for j, name in enumerate(names):
        column = table[name]
        if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
            which = columns.column(j)
            raise invalid(f"column {which} must be one of numbers", column=which)
        X[:, j] = column.to_numpy()
    return X


def write_arrow(columns: dict[str, list[Any]]) -> bytes:
    """Return columns of equal length as an Arrow IPC stream."""
    pa = _pyarrow()
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content
