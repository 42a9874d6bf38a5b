"""CSV: text parted by a delimiter, read by pyarrow block by block.

A block that pyarrow refuses gets a slow second look that finds row and column.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rpnb.files.formats.arrow import Kind, plan_columns, read_as, require_pyarrow
from rpnb.files.formats.lines import closed_on_error, head_of, whole_lines
from rpnb.files.formats.text import TextFile
from rpnb.files.records import FileError, ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

#: What stands for a missing value where it is not in quotation marks.
MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "<NA>")


class Delimited(TextFile):
    """Batches of a file of delimited text.

    Parameters
    ----------
    path
        The file, or "-".
    options
        How to read it.
    """

    def __init__(self, path: str, options: ReadOptions) -> None:
        require_pyarrow("CSV")
        super().__init__(path)
        self.categories: dict[str, list[str]] = {}
        with closed_on_error(self._source):
            delimiter = options.delimiter
            if delimiter is None:
                delimiter = "\t" if ".tsv" in self.name.lower() else ","
            head = head_of(self._source)
            names, self._first = _header(self.name, head, delimiter, options.header)
            self._reading = BlockReader(self.name, names, delimiter, '"')
            sample = next(whole_lines(_Text(self._first), quote=b'"'), b"")
            if not sample.strip():
                raise FileError(f"{self.name}: there are no rows")
            found = self._reading.infer(sample, options)
            self.kinds = plan_columns(self.name, found, options)
            self.declared: list[Any] | None = None
            self._reading.fix(found, self.kinds, options)

    def batches(self) -> Iterator["pa.RecordBatch"]:
        """Yield the rows in their order."""
        yield from self._read(self._reading.read, quote=b'"')


class _Text:
    """Bytes at hand, read as a source is."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, _size: int = 0) -> bytes:
        data, self._data = self._data, b""
        return data


def _header(
    name: str, head: bytes, delimiter: str, header: bool
) -> tuple[list[str], bytes]:
    """Return the names of the columns, and the bytes after the header."""
    line, _, rest = head.partition(b"\n")
    try:
        cells = next(csv.reader([line.decode()], delimiter=delimiter), [])
    except UnicodeDecodeError as error:
        raise FileError(f"{name}: the first line is not text in UTF-8") from error
    if len(cells) < 2:
        raise FileError(
            f"{name}: a single column in the first line; columns are taken to be "
            f"parted by {delimiter!r}, --delimiter names another"
        )
    if not header:
        return [str(j) for j in range(1, len(cells) + 1)], head
    names = [cell.strip() for cell in cells]
    if all(_is_number(cell) for cell in names):
        raise FileError(
            f"{name}: the first line holds numbers, not names of columns; if the file "
            "has no header, say --no-header and name columns by number"
        )
    if "" in names:
        raise FileError(f"{name}, header: column {names.index('') + 1} has no name")
    return names, rest


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class BlockReader:
    """How blocks of delimited text become batches.

    Parameters
    ----------
    name
        Of the file, for messages.
    names
        Of the columns.
    delimiter, quote
        Signs of the format.
    """

    def __init__(
        self, name: str, names: Sequence[str], delimiter: str, quote: str
    ) -> None:
        self._name, self._names = name, list(names)
        self._delimiter, self._quote = delimiter, quote
        self._types: dict[str, Any] = {}
        self._wanted: list[str] = []

    def infer(self, block: bytes, options: ReadOptions) -> "pa.Schema":
        """Return the schema that the rows of a block suggest.

        A column of numbers with a little text among them is refused, not taken for
        categories.
        """
        import pyarrow as pa

        table = self._parse(block, 1)
        found = table.schema
        settled = (options.target, *options.drop, *options.as_category)
        for field in found:
            if pa.types.is_binary(field.type):
                fault = self._fault(block, 1)
                raise FileError(fault or f"{self._name}: not UTF-8 text")
            if pa.types.is_string(field.type) and field.name not in settled:
                listed = table.column(field.name).value_counts().to_pylist()
                counts = {each["values"]: each["counts"] for each in listed}
                numbers = sum(n for v, n in counts.items() if v and _is_number(v))
                if 2 * numbers > sum(n for v, n in counts.items() if v):
                    self._types = {field.name: pa.float64()}
                    raise FileError(str(self._fault(block, 1)))
        return found

    def fix(
        self, found: "pa.Schema", kinds: Mapping[str, Kind], options: ReadOptions
    ) -> None:
        """Read only the columns that are wanted, from now on as of these types."""
        self._wanted = [*kinds, str(options.target)]
        for column in self._wanted:
            kind = kinds.get(column)
            self._types[column] = read_as(found.field(column), kind)

    def declare(self, types: Mapping[str, Any], wanted: Sequence[str]) -> None:
        """Read the `wanted` columns as of these types."""
        self._types, self._wanted = dict(types), list(wanted)

    def read(self, block: bytes, row: int) -> "pa.RecordBatch | None":
        """Return the rows of a block whose first has the number `row`."""
        if not block.strip():
            return None
        table = self._parse(block, row).combine_chunks()
        batches = table.to_batches()
        return batches[0] if batches else None

    def _parse(self, block: bytes, row: int) -> Any:
        """Return the rows of a block as a table; an error names row and column."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        try:
            return arrow_csv.read_csv(
                pa.BufferReader(block),
                read_options=arrow_csv.ReadOptions(
                    column_names=self._names, block_size=len(block) + 1
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self._delimiter,
                    quote_char=self._quote,
                    newlines_in_values=True,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=self._types or None,
                    include_columns=self._wanted or None,
                    null_values=MISSING,
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid as error:
            fault = self._fault(block, row)
            reason = fault or f"{self._name}, row {row} or after: {error}"
            raise FileError(reason) from error

    def _fault(self, block: bytes, row: int) -> str | None:
        """Return the first fault of a block in words: its row, its column, why."""
        from pyarrow import types

        text = block.decode(errors="replace")
        reader = csv.reader(
            io.StringIO(text, newline=""),
            delimiter=self._delimiter,
            quotechar=self._quote,
        )
        numbers = [
            (self._names.index(name), name)
            for name, kind in self._types.items()
            if types.is_floating(kind) or types.is_integer(kind)
        ]
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(self._names):
                return (
                    f"{self._name}, row {row}: {len(cells)} columns, where there must "
                    f"be {len(self._names)}"
                )
            for j, cell in enumerate(cells):
                if "\N{REPLACEMENT CHARACTER}" in cell:
                    column = self._names[j]
                    return f"{self._name}, row {row}, column {column}: not UTF-8 text"
            for j, name in numbers:
                cell = cells[j].strip()
                if cell not in MISSING and not _is_number(cell):
                    return (
                        f"{self._name}, row {row}, column {name}: {cell!r} is no "
                        "number, as others in the column are; if they are "
                        f"categories, say --as-category {name}"
                    )
            row += 1
        return None
