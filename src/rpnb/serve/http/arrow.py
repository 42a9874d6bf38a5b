"""Reading Arrow IPC streams from untrusted clients, and writing them.

A stream is a sequence of messages: a schema, dictionaries and batches of rows. Their
metadata contain the number of rows and the positions of the buffers. All metadata are
checked before the first batch is decoded; then batches are decoded one by one.
"""

import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpnb.core.columns.coding import (
    TEXT_WIDTH,
    WIDTHS,
    ColumnKind,
    category_numbers,
    date_numbers,
    text_numbers,
)
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.serve.http.request_tables import (
    LONGEST_CHARACTER,
    Bytes,
    RequestColumns,
    TableParts,
)
from rpnb.serve.label_rules import LONGEST_TEXT
from rpnb.serve.limits import ApiError, Limits, beyond, invalid

# Types of messages, and indices of fields in their tables: Message.fbs, Schema.fbs of
# https://github.com/apache/arrow/tree/main/format.
_SCHEMA, _DICTIONARY_BATCH, _RECORD_BATCH = 1, 2, 3
_HEADER_TYPE, _HEADER = 1, 2
_FIELDS = 1
_CHILDREN = 5
_LENGTH, _BUFFERS, _COMPRESSION = 0, 2, 3
_DATA, _IS_DELTA = 1, 2
# Mark of compressed batches before version 5 of the metadata.
_OLD_COMPRESSION = b"ARROW:experimental_compression"

_MOST_MESSAGES = 10_000
# Columns besides the features: the label, the id, and some that are ignored.
_MORE_COLUMNS = 1_000
_BYTES_OF_FIELD = 2_000


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.ipc
    except ImportError:
        raise ApiError(
            415, "media_type", "this server has no pyarrow: send JSON instead"
        ) from None
    return pyarrow


def read_arrow(body: Bytes, named: Mapping[str, str], parts: TableParts) -> None:
    """Read the parts of a table.

    Parameters
    ----------
    body
        An uncompressed Arrow IPC stream.
    named
        Names of the columns of labels and ids, by part.
    parts
        Collector of the parts.
    """
    pa = _pyarrow()
    _check_messages(pa, body, parts)
    buffer = pa.py_buffer(body)
    try:
        names = pa.ipc.open_stream(buffer).schema.names
        places = {name: i for i, name in enumerate(names)}
        if len(places) < len(names):
            raise invalid("the Arrow table has two columns with the same name")
        features: list[str] = []
        if "rows" in parts.allowed:
            rest = [name for name in names if name not in named.values()]
            features = _features(places, rest, parts.columns)
        present = {part: name for part, name in named.items() if name in places}
        # Other columns are not read.
        read = sorted(places[each] for each in {*present.values(), *features})
        options = pa.ipc.IpcReadOptions(included_fields=read, use_threads=False)
        with pa.ipc.open_stream(buffer, options=options) as reader:
            _check_types(pa, reader.schema, present, features, parts.columns)
            for batch in [] if not read else reader:
                batch.validate(full=True)
                for part, name in present.items():
                    parts.add(part, _as_list(pa, batch.column(name), part))
                if features:
                    parts.reserve_rows(batch.num_rows)
                    parts.add("rows", _as_rows(batch, features, parts))
    except UnicodeDecodeError:
        raise invalid("names of Arrow columns must be UTF-8") from None
    except (pa.ArrowException, OSError, KeyError):
        raise _no_stream() from None
    for part in (*present, *(["rows"] if features else [])):
        parts.counts.setdefault(part, 0)


def _no_stream() -> ApiError:
    return invalid("the body is not an Arrow IPC stream")


def _features(
    places: Mapping[str, int], rest: list[str], columns: RequestColumns
) -> list[str]:
    """Return the names of the feature columns, in the order of the model."""
    if columns.names is not None:
        missing = next((name for name in columns.names if name not in places), None)
        if missing is not None:
            raise invalid(f"the Arrow table has no column {missing}", column=missing)
        return list(columns.names)
    if len(rest) != columns.p:
        raise invalid(
            f"the Arrow table has {len(rest)} columns of features; the model has "
            f"{columns.p}"
        )
    return rest


def _check_types(
    pa: Any,
    schema: Any,
    present: Mapping[str, str],
    features: list[str],
    columns: RequestColumns,
) -> None:
    """Refuse columns of unsupported types."""
    for part, name in present.items():
        if not _is_label(pa, schema.field(name).type):
            raise invalid(f"{part} must be a column of text, integers or booleans")
    for j, name in enumerate(features):
        kind = schema.field(name).type
        holds = columns.kinds[j] if columns.kinds else "number"
        which = columns.column(j)
        if holds == "category" and _is_label(pa, kind):
            continue
        if holds == "text":
            if not _is_text(pa, kind):
                raise invalid(f"column {which} must have text", column=which)
            continue
        if holds == "date":
            if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
                raise invalid(f"column {which} must have dates or times", column=which)
            continue
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
            raise invalid(f"column {which} must have numbers", column=which)


def _is_text(pa: Any, kind: Any) -> bool:
    """Return whether a type holds text."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_label(pa: Any, kind: Any) -> bool:
    """Return whether a type holds text, integers or booleans."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_integer(kind)
    )


# Metadata


class _Table(NamedTuple):
    """A FlatBuffers table: https://flatbuffers.dev/internals."""

    data: bytes
    place: int

    def field(self, index: int) -> int:
        """Return the position of a field, 0 if it is missing."""
        vtable = self.place - self._number("<i", self.place)
        if 4 + 2 * index >= self._number("<H", vtable):
            return 0
        offset = self._number("<H", vtable + 4 + 2 * index)
        return self.place + offset if offset else 0

    def number(self, index: int, kind: str) -> int:
        """Return a number, 0 if it is missing."""
        place = self.field(index)
        return self._number(kind, place) if place else 0

    def table(self, index: int) -> "_Table":
        """Return the table that a field points to."""
        return _Table(self.data, self._target(self.field(index)))

    def vector(self, index: int) -> tuple[int, int]:
        """Return the position of the elements of a vector, and their number."""
        place = self.field(index)
        if not place:
            return 0, 0
        vector = self._target(place)
        return vector + 4, self._number("<I", vector)

    def tables(self, index: int) -> Iterator["_Table"]:
        """Yield the tables of a vector."""
        place, n = self.vector(index)
        for i in range(n):
            yield _Table(self.data, self._target(place + 4 * i))

    def _target(self, place: int) -> int:
        return place + self._number("<I", place)

    def _number(self, kind: str, place: int) -> int:
        if place < 0:
            raise IndexError(place)
        return int(struct.unpack_from(kind, self.data, place)[0])


def _check_messages(pa: Any, body: Bytes, parts: TableParts) -> None:
    """Check the metadata: decoding must not need far more memory than the bytes."""
    rows = messages = 0
    limits = parts.limits
    try:
        for message in pa.ipc.MessageReader.open_stream(pa.py_buffer(body)):
            messages += 1
            if messages > _MOST_MESSAGES:
                raise beyond(
                    "their largest number",
                    _MOST_MESSAGES,
                    "the Arrow table has too many batches",
                )
            metadata = message.metadata.to_pybytes()
            if _OLD_COMPRESSION in metadata:
                raise _compressed()
            root = _Table(metadata, struct.unpack_from("<I", metadata, 0)[0])
            kind = root.number(_HEADER_TYPE, "<B")
            if kind == _SCHEMA:
                _check_schema(root.table(_HEADER), parts)
            if kind not in (_RECORD_BATCH, _DICTIONARY_BATCH):
                continue
            batch = root.table(_HEADER)
            if kind == _DICTIONARY_BATCH:
                if batch.number(_IS_DELTA, "<B"):
                    raise invalid("the Arrow stream must not have delta dictionaries")
                batch = batch.table(_DATA)
            n = _check_batch(batch, 0 if message.body is None else message.body.size)
            rows += n if kind == _RECORD_BATCH else 0
            _check_rows(max(rows, n), limits)
    except (pa.ArrowException, OSError, struct.error, IndexError, ValueError):
        raise _no_stream() from None
    if "rows" in parts.allowed:
        parts.expect("rows", rows)


def _check_rows(n: int, limits: Limits) -> None:
    if n > limits.max_rows:
        raise beyond("max_rows", limits.max_rows, "the Arrow table has too many rows")


def _compressed() -> ApiError:
    return invalid("the Arrow stream must not be compressed")


def _check_schema(schema: _Table, parts: TableParts) -> None:
    """Refuse too many columns, and nested ones."""
    n = schema.vector(_FIELDS)[1]
    most = parts.limits.max_features + _MORE_COLUMNS
    if n > most:
        raise beyond(
            "their largest number", most, "the Arrow table has too many columns"
        )
    parts.memory.add(_BYTES_OF_FIELD * n)
    for field in schema.tables(_FIELDS):
        if field.vector(_CHILDREN)[1]:
            raise invalid("columns of the Arrow table must not be nested")


def _check_batch(batch: _Table, size: int) -> int:
    """Return the number of rows of a batch; its buffers must not overlap."""
    if batch.field(_COMPRESSION):
        raise _compressed()
    place, n = batch.vector(_BUFFERS)
    if n:
        found = np.frombuffer(batch.data, "<i8", 2 * n, place).reshape(n, 2)
        found = found[found[:, 1] != 0]
        starts, ends = found[:, 0], found.sum(axis=1)
        inside = (starts >= 0).all() and (ends >= starts).all() and (ends <= size).all()
        if not inside or (starts[1:] < ends[:-1]).any():
            raise invalid("buffers of the Arrow stream must not overlap")
    rows = batch.number(_LENGTH, "<q")
    if rows < 0:
        raise _no_stream()
    return rows


# Columns


def _as_list(pa: Any, column: Any, part: str) -> list[Any]:
    coded = pa.types.is_dictionary(column.type)
    values = column.dictionary if coded else column
    if not (pa.types.is_integer(values.type) or pa.types.is_boolean(values.type)):
        # Checked before texts are copied, which may take four times their bytes.
        longest = pa.compute.max(pa.compute.binary_length(values)).as_py() or 0
        if longest > LONGEST_TEXT * LONGEST_CHARACTER:
            raise invalid(f"{part} must have at most {LONGEST_TEXT} characters")
    found: list[Any] = values.to_pylist()
    if coded:
        # Rows share the texts of the dictionary.
        found.append(None)
        return [found[code] for code in _codes(column).tolist()]
    return found


def _codes(column: Any) -> IntArray:
    """Return the codes of a dictionary column; nulls get the dictionary's length."""
    indices = column.indices.cast("int64").fill_null(len(column.dictionary))
    codes: IntArray = indices.to_numpy(zero_copy_only=False)
    return codes


def _as_rows(batch: Any, names: list[str], parts: TableParts) -> FloatArray:
    numbers: tuple[ColumnKind, ...] = ("number",)
    kinds = parts.columns.kinds or numbers * len(names)
    X = np.empty((batch.num_rows, parts.columns.width))
    place = 0
    for kind, name in zip(kinds, names, strict=True):
        column, width = batch.column(name), WIDTHS[kind]
        own = X[:, place : place + width]
        if kind == "category":
            own[:, 0] = _as_categories(column, parts)
        elif kind == "text":
            own[:] = _as_texts(column, parts)
        elif kind == "date":
            own[:] = date_numbers(_as_times(column))
        else:
            own[:, 0] = column.to_numpy(zero_copy_only=False)
        place += width
    return X


def _as_times(column: Any) -> NDArray[np.datetime64]:
    """Return dates and times; those with a time zone as local times."""
    pa = _pyarrow()
    zone = getattr(column.type, "tz", None)
    times = column.cast(pa.timestamp("us", zone), safe=False).to_pylist()
    return np.array([each and each.replace(tzinfo=None) for each in times], "M8[us]")


def _as_texts(column: Any, parts: TableParts) -> FloatArray:
    """Return the hashed words of texts; shared texts are read once."""
    coded = hasattr(column, "dictionary")
    values = column.dictionary if coded else column
    parts.memory.add(LONGEST_CHARACTER * values.nbytes + 8 * TEXT_WIDTH * len(values))
    numbers = text_numbers(values.to_pylist())
    if not coded:
        return numbers
    return np.concatenate([numbers, np.zeros((1, TEXT_WIDTH))])[_codes(column)]


def _as_categories(column: Any, parts: TableParts) -> FloatArray:
    """Return the codes of categories; shared texts are read once."""
    coded = hasattr(column, "dictionary")
    values = column.dictionary if coded else column
    parts.memory.add(LONGEST_CHARACTER * values.nbytes)
    listed = values.to_pylist()
    numbers = category_numbers(listed)
    parts.note_categories(numbers, listed)
    return np.append(numbers, np.nan)[_codes(column)] if coded else numbers


def write_arrow(columns: dict[str, list[Any]]) -> bytes:
    """Return columns of equal length as an Arrow IPC stream."""
    pa = _pyarrow()
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content
