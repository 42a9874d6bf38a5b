"""ARFF: a header that names and types the columns, then delimited text.

The header is read here. The rows, without comments and spaces, go through the reader of
delimited text, and values are matched with the categories of the header.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rpnb.files.encoding.number_text import Notation
from rpnb.files.encoding.planning import plan_columns
from rpnb.files.formats.arrow_arrays import require_pyarrow
from rpnb.files.formats.delimited import BlockReader
from rpnb.files.formats.lines import closed_on_error
from rpnb.files.formats.text import TextFile
from rpnb.files.reading import FileError, ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

_ATTRIBUTE = re.compile(
    r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+)\s+(.*)$""", re.IGNORECASE
)
_VALUE = re.compile(r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,]*?)\s*(?:,|$)""")
_COMMENT = re.compile(rb"^[ \t]*%.*\n?", re.MULTILINE)
_NUMERIC = ("numeric", "real", "integer")


class Arff(TextFile):
    """Batches of an ARFF file with dense rows."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        require_pyarrow("ARFF")
        import pyarrow as pa

        super().__init__(path, options, _has_data)
        with closed_on_error(self._source):
            attributes, self._first = _header(self.name, self._first)
            types = {name: kind for name, kind, _ in attributes}
            schema = pa.schema([(name, kind) for name, kind, _ in attributes])
            values = {name: v for name, _, v in attributes if v}
            self._values: dict[str, list[str]] = {}
            notation = Notation(options.decimal, options.thousands)
            self._reading = BlockReader(
                self.name, list(types), ",", _quote(self._first), notation
            )
            free = [
                name for name, kind, v in attributes if kind == pa.string() and not v
            ]
            sample = None
            if free and len(types) == len(attributes):
                self._reading.declare(dict.fromkeys(types, pa.string()), list(types))
                block = self._first[: self._first.rfind(b"\n") + 1] or self._first
                batch = self._parse(block, 1)
                sample = None if batch is None else pa.Table.from_batches([batch])
            self.plan = plan_columns(self.name, schema, options, sample, values)
            wanted, target = self.plan.wanted, self.plan.options.target
            self._values = {name: v for name, v in values.items() if name in wanted}
            self.categories = {
                k: v for k, v in self._values.items() if k in self.plan.kinds
            }
            self.declared = self._values.get(str(target))
            text = pa.dictionary(pa.int32(), pa.string())
            self._reading.declare(
                {
                    name: text if name in self._values or kind == pa.string() else kind
                    for name, kind in types.items()
                    if name in wanted
                },
                wanted,
            )

    def batches(self) -> Iterator["pa.RecordBatch"]:
        """Yield the rows in their order."""
        yield from self._read(self._parse)

    def _parse(self, block: bytes, row: int) -> "pa.RecordBatch | None":
        """Return the rows of a block, without comments; refuse sparse rows."""
        rows = _COMMENT.sub(b"", block) if b"%" in block else block
        if rows.lstrip().startswith(b"{"):
            raise FileError(
                f"{self.name}, row {row}: sparse ARFF is not supported; save it as "
                "SVMlight"
            )
        batch = self._reading.read(rows, row)
        return None if batch is None else self._trimmed(batch, row)

    def _trimmed(self, batch: "pa.RecordBatch", row: int) -> "pa.RecordBatch":
        """Return a batch whose categories have no spaces or quotes around them."""
        import pyarrow as pa
        from pyarrow import compute

        for j, field in enumerate(batch.schema):
            column = batch.column(j)
            if not pa.types.is_dictionary(column.type):
                continue
            listed = [_bare(value) for value in column.dictionary.to_pylist()]
            allowed = self._values.get(field.name)
            if allowed:
                strange = next(
                    (v for v in listed if v not in allowed and v != "?"), None
                )
                if strange is not None:
                    codes = column.indices.fill_null(-1)
                    at = int(np.argmax(np.from_dlpack(codes) == listed.index(strange)))
                    raise FileError(
                        f"{self.name}, row {row + at}, column {field.name}: "
                        f"{strange!r:.60} is not one of the values in the header"
                    )
            indices = column.indices
            if "?" in listed:  # spaces around it hid it from the reader
                hidden = pa.scalar(listed.index("?"), indices.type)
                none = pa.scalar(None, indices.type)
                indices = compute.if_else(compute.equal(indices, hidden), none, indices)
            # Text, even if all values of a batch are missing.
            texts = pa.array(listed, pa.string())
            trimmed = pa.DictionaryArray.from_arrays(indices, texts)
            # Values that differ only by spaces are the same.
            trimmed = trimmed.dictionary_decode().dictionary_encode()
            batch = batch.set_column(j, field.name, trimmed)
        return batch


def _has_data(head: bytes) -> bool:
    """Return whether bytes contain the whole header, and a row."""
    _, data, rest = head.lower().partition(b"\n@data")
    return bool(data) and rest.count(b"\n") > 1


def _header(
    name: str, head: bytes
) -> tuple[list[tuple[str, Any, list[str] | None]], bytes]:
    """Return names, types and categories of the columns, and the bytes after them."""
    attributes: list[tuple[str, Any, list[str] | None]] = []
    place = 0
    for raw in head.splitlines(keepends=True):
        place += len(raw)
        line = raw.decode(errors="replace").strip()
        if line.lower().startswith("@data"):
            if not attributes:
                break
            return attributes, head[place:]
        if line.lower().startswith("@attribute"):
            attributes.append(_attribute(name, line))
    raise FileError(f"{name}: not an ARFF file: no @attribute lines and @data line")


def _attribute(name: str, line: str) -> tuple[str, Any, list[str] | None]:
    """Return name, type and, for a category, values from an @attribute line."""
    import pyarrow as pa

    match = _ATTRIBUTE.match(line)
    if match is None:
        raise FileError(f"{name}: cannot be parsed: {line:.60}")
    column, kind = _bare(match[1]), match[2].strip()
    if kind.startswith("{"):
        inner = kind[1 : kind.rfind("}")].strip()
        return (
            column,
            pa.string(),
            [_bare(m[1]) for m in _VALUE.finditer(inner) if m[0]],
        )
    kind = kind.split()[0].lower()
    if kind in _NUMERIC:
        return column, pa.float64(), None
    if kind == "date":
        return column, pa.timestamp("s"), None
    if kind == "string":
        return column, pa.string(), None
    raise FileError(f"{name}, column {column}: unknown type {kind!r}")


def _bare(text: str) -> str:
    """Return text without spaces and quotation marks around it."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def _quote(sample: bytes) -> str:
    """Return the quotation mark of the values: ARFF allows both."""
    return '"' if sample.count(b'"') > sample.count(b"'") else "'"
