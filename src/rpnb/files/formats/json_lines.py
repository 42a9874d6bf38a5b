"""JSON lines: one object per row, read by pyarrow block by block; or a JSON array.

Nested objects are flattened: {"a": {"b": 1}} has the column a.b. An array is read as a
whole.
"""

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rpnb.files.encoding.planning import plan_columns
from rpnb.files.formats.arrow_arrays import (
    one_line,
    read_as,
    reader_of,
    require_pyarrow,
)
from rpnb.files.formats.lines import closed_on_error
from rpnb.files.formats.text import TextFile
from rpnb.files.reading import FileError, ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

# Deepest nesting of values; pyarrow itself is only limited by the stack.
_DEEPEST = 100
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


class JsonLines(TextFile):
    """Batches of a file with one JSON object per line."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        require_pyarrow("JSON lines")
        import pyarrow as pa

        super().__init__(path, options, lambda head: b"\n" in head)
        with closed_on_error(self._source):
            if self._first.lstrip()[:1] == b"[":
                self._first = self._array_as_lines()
            sample = self._first[: self._first.rfind(b"\n") + 1] or self._first
            self._schema: Any = None
            self._nested: Any = None
            _refuse_columns(self.name, self._first)
            table = self._sample(sample)
            found = table.schema
            self.plan = plan_columns(self.name, found, options, table)
            fields = []
            for column in self.plan.wanted:
                field = found.field(column)
                kind = read_as(field, self.plan.kinds.get(column))
                if pa.types.is_dictionary(kind):
                    kind = field.type  # converted to categories later
                fields.append(pa.field(column, kind))
            self._schema = pa.schema(fields)
            self._nested = _nested_schema(self._whole, self._schema)

    def _array_as_lines(self) -> bytes:
        """Return all objects of a JSON array, one per line; keep JSON lines."""
        parts = [self._first]
        while more := self._source.read():
            parts.append(more)
        whole = b"".join(parts)
        try:
            rows = json.loads(whole)
        except (ValueError, RecursionError) as error:
            if _is_json(whole.split(b"\n", 1)[0]):
                return whole  # JSON lines, the first of which is not an object
            reason = f"not a JSON array ({one_line(error)})"
            raise FileError(f"{self.name}: {reason}") from error
        self.notes.append("a JSON array, which is loaded as a whole")
        # Values that are not objects are refused with their row, as in JSON lines.
        return b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    def batches(self) -> Iterator["pa.RecordBatch"]:
        """Yield the rows in their order."""
        yield from self._read(self._batch)

    def _batch(self, block: bytes, row: int) -> "pa.RecordBatch | None":
        if not block.strip():
            return None
        batches = self._parse(block, row).combine_chunks().to_batches()
        return batches[0] if batches else None

    def _parse(self, block: bytes, row: int) -> Any:
        """Return the rows of a block as a table; an error names row and column."""
        import pyarrow as pa
        from pyarrow import json as arrow_json

        self._check(block, row)
        try:
            table = arrow_json.read_json(
                reader_of(block),
                read_options=arrow_json.ReadOptions(block_size=len(block) + 1),
                parse_options=arrow_json.ParseOptions(
                    explicit_schema=self._nested,
                    unexpected_field_behavior=(
                        "infer" if self._nested is None else "ignore"
                    ),
                ),
            )
        except pa.ArrowException as error:
            fault = self._fault(block, row)
            raise FileError(fault or self._reason(error, row)) from error
        if table.num_rows != _lines(block):
            # Blank lines, or lines with several values.
            fault = self._fault(block, row)
            if fault is not None:
                raise FileError(fault)
        if self._nested is None:
            self._whole = table.schema
        table = _flat(table)
        return table if self._schema is None else table.select(self._schema.names)

    def _sample(self, block: bytes) -> Any:
        """Return the rows of the first block, with times as text.

        pyarrow would turn times with an offset into UTC, and not tell them from others.
        """
        import pyarrow as pa

        table = self._parse(block, 1)
        fields = [
            pa.field(each.name, pa.string())
            if pa.types.is_timestamp(each.type)
            else each
            for each in table.schema
        ]
        if pa.schema(fields) == table.schema:
            return table
        self._nested = _nested_schema(self._whole, pa.schema(fields))
        try:
            return self._parse(block, 1)
        finally:
            self._nested = None

    def _reason(self, error: BaseException, row: int) -> str:
        """Return the error message of pyarrow, with the row in the file."""
        text = one_line(error).removeprefix("JSON parse error: ")
        found = re.fullmatch(r"(.*?)\.? in row (\d+)", text)
        if found is None:
            return f"{self.name}, row {row} or after: {text}"
        where = f"{self.name}, row {row + int(found[2])}"
        changed = re.fullmatch(r"Column\(/(.*)\) changed from (\w+) to (\w+)", found[1])
        if changed is None:
            return f"{where}: {found[1]}"
        column = changed[1].replace("/", ".")
        return (
            f"{where}, column {column}: {changed[3]}, but {changed[2]} in rows before"
        )

    def _check(self, block: bytes, row: int) -> None:
        """Refuse input that would crash pyarrow, or that it would not report."""
        try:
            if not block.isascii():
                block.decode()
        except UnicodeDecodeError as error:
            row += block.count(b"\n", 0, error.start)
            raise FileError(
                f"{self.name}, row {row}: not UTF-8 text; set the encoding with "
                "--encoding, such as cp1252"
            ) from error
        self._check_depth(block, row)
        # A null in place of the first object crashes pyarrow.
        if block.startswith(b"{") + block.count(b"\n{") != _lines(block) and any(
            line.lstrip()[:1] not in (b"", b"{") for line in block.split(b"\n")
        ):
            raise FileError(self._fault(block, row))

    def _check_depth(self, block: bytes, row: int) -> None:
        """Refuse values that are nested too deeply."""
        signs = np.frombuffer(block, np.uint8)
        nested = np.count_nonzero(signs == ord("{"))
        nested += np.count_nonzero(signs == ord("["))
        # Where an object ends before the next begins, nothing is open.
        ends = np.flatnonzero(signs[1:-1] == ord("\n"))
        ends = ends[signs[ends + 2] == ord("{")]
        before = np.where(signs[ends] == ord("\r"), np.maximum(ends - 1, 0), ends)
        nested -= np.count_nonzero(signs[before] == ord("}"))
        if nested <= _DEEPEST:
            return
        # Strings may contain brackets, but no line ends.
        signs = np.frombuffer(_STRING.sub(b'""', block), np.uint8)
        opening = (signs == ord("{")) | (signs == ord("["))
        closing = (signs == ord("}")) | (signs == ord("]"))
        depth = np.cumsum(opening.astype(np.int32) - closing.astype(np.int32))
        if depth.max(initial=0) > _DEEPEST:
            at = int(np.argmax(depth > _DEEPEST))
            row += int((signs[:at] == ord("\n")).sum())
            raise FileError(
                f"{self.name}, row {row}: values are nested deeper than {_DEEPEST}"
            )

    def _fault(self, block: bytes, row: int) -> str | None:
        """Return a message on the first fault of a block, with row and column."""
        from pyarrow import types

        for line in block.splitlines():
            text = line.strip().decode()
            if not text:
                continue
            try:
                values = json.loads(text)
            except (ValueError, RecursionError) as error:
                return f"{self.name}, row {row}: not a JSON object ({one_line(error)})"
            if not isinstance(values, dict):
                return f"{self.name}, row {row}: not a JSON object, but {text:.40}"
            for field in self._schema or ():
                value = _value_at(values, field.name)
                number = isinstance(value, int | float) and not isinstance(value, bool)
                wanted = types.is_floating(field.type) or types.is_integer(field.type)
                if value is not None and number != wanted:
                    return (
                        f"{self.name}, row {row}, column {field.name}: {value!r:.40} "
                        f"is not {'a number' if wanted else field.type}, unlike the "
                        "first rows of the column"
                    )
            row += 1
        return None


def _refuse_columns(name: str, head: bytes) -> None:
    """Refuse a file that is a single object of columns, or with rows somewhere in it.

    pandas writes such objects by default.
    """
    line, _, rest = head.partition(b"\n")
    if line.strip() == b"{":
        shape = "one object on several lines"
    elif line.lstrip()[:1] == b"{" and not rest.strip():
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not _holds_rows([*values.values()]):
            return
        shape = f"one object with the keys {', '.join([*values][:5])}"
    else:
        return
    raise FileError(
        f"{name}: {shape}, but rpnb reads one object per row, on its own line, or "
        "an array of such objects; pandas writes them with df.to_json(path, "
        "orient='records')"
    )


def _holds_rows(values: list[Any]) -> bool:
    """Return whether the values of an object are columns, or one is a list of rows."""
    columns = [
        isinstance(v, list) or (isinstance(v, dict) and "0" in v) for v in values
    ]
    rows = [
        isinstance(v, list) and isinstance(next(iter(v), None), dict | list)
        for v in values
    ]
    return any(rows) or (len(columns) > 0 and all(columns))


def _is_json(line: bytes) -> bool:
    """Return whether a line is a JSON value."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _flat(table: "pa.Table") -> "pa.Table":
    """Return a table with nested objects flattened to columns."""
    from pyarrow import types

    while any(types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    return table


def _nested_schema(found: "pa.Schema", flat: "pa.Schema") -> "pa.Schema":
    """Return the schema of nested objects whose flat columns have these types."""
    import pyarrow as pa

    def field(each: Any, path: str) -> Any:
        if not pa.types.is_struct(each.type):
            at = flat.get_field_index(path)
            return None if at < 0 else pa.field(each.name, flat.field(at).type)
        parts = [field(part, f"{path}.{part.name}") for part in each.type]
        kept = [part for part in parts if part is not None]
        return pa.field(each.name, pa.struct(kept)) if kept else None

    fields = [field(each, each.name) for each in found]
    return pa.schema([each for each in fields if each is not None])


def _value_at(values: Any, path: str) -> Any:
    """Return the value of a flattened column; None if there is none."""
    if path in values:
        return values[path]
    for cut in (i for i, sign in enumerate(path) if sign == "."):
        inner = values.get(path[:cut])
        if isinstance(inner, dict):
            return _value_at(inner, path[cut + 1 :])
    return None


def _lines(block: bytes) -> int:
    return block.count(b"\n") + (not block.endswith(b"\n"))
