"""JSON lines: one object a row, read by pyarrow block by block."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rpnb.files.formats.arrow import plan_columns, read_as, require_pyarrow
from rpnb.files.formats.lines import closed_on_error, head_of
from rpnb.files.formats.text import TextFile
from rpnb.files.records import FileError, ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa


class JsonLines(TextFile):
    """Batches of a file with a JSON object on each line.

    Parameters
    ----------
    path
        The file, or "-".
    options
        How to read it.
    """

    declared: list[Any] | None = None

    def __init__(self, path: str, options: ReadOptions) -> None:
        require_pyarrow("JSON lines")
        import pyarrow as pa

        super().__init__(path)
        with closed_on_error(self._source):
            self._first = head_of(self._source)
            sample = self._first[: self._first.rfind(b"\n") + 1] or self._first
            self._schema: Any = None
            found = self._parse(sample, 1).schema
            self.kinds = plan_columns(self.name, found, options)
            self.categories: dict[str, list[str]] = {}
            fields = []
            for field in found:
                if field.name in self.kinds or field.name == options.target:
                    kind = read_as(field, self.kinds.get(field.name))
                    if pa.types.is_dictionary(kind):
                        kind = field.type  # turned into categories later
                    fields.append(pa.field(field.name, kind))
            self._schema = pa.schema(fields)

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

        try:
            return arrow_json.read_json(
                pa.BufferReader(block),
                read_options=arrow_json.ReadOptions(block_size=len(block) + 1),
                parse_options=arrow_json.ParseOptions(
                    explicit_schema=self._schema,
                    unexpected_field_behavior=(
                        "infer" if self._schema is None else "ignore"
                    ),
                ),
            )
        except pa.ArrowInvalid as error:
            fault = self._fault(block, row)
            reason = fault or f"{self.name}, row {row} or after: {error}"
            raise FileError(reason) from error

    def _fault(self, block: bytes, row: int) -> str | None:
        """Return the first fault of a block in words: its row, its column, why."""
        from pyarrow import types

        for line in block.splitlines():
            if not line.strip():
                continue
            try:
                values = json.loads(line)
            except ValueError as error:
                return f"{self.name}, row {row}: not a JSON object ({error})"
            if not isinstance(values, dict):
                return f"{self.name}, row {row}: not a JSON object, but {values!r:.40}"
            for field in self._schema or ():
                value = values.get(field.name)
                number = isinstance(value, int | float) and not isinstance(value, bool)
                wanted = types.is_floating(field.type) or types.is_integer(field.type)
                if value is not None and number != wanted:
                    return (
                        f"{self.name}, row {row}, column {field.name}: {value!r:.40} "
                        f"is not {'a number' if wanted else field.type}, as the first "
                        "rows of the column are"
                    )
            row += 1
        return None
