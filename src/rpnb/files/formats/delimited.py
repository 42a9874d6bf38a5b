"""CSV: text parted by a delimiter, read by pyarrow block by block.

A block that pyarrow refuses gets a slow second look that finds row and column.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from rpnb.files.encoding.number_text import Notation, is_plain_number
from rpnb.files.encoding.planning import plan_columns
from rpnb.files.encoding.text_columns import refused_number
from rpnb.files.formats.arrow import one_line, read_as, require_pyarrow
from rpnb.files.formats.dialect import (
    cells_of,
    comment_pattern,
    read_header,
    skip_lines,
    skip_to_header,
    sniff_delimiter,
)
from rpnb.files.formats.lines import closed_on_error, whole_lines
from rpnb.files.formats.text import TextFile
from rpnb.files.records import ColumnPlan, FileError, ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

#: What stands for a missing value where it is not in quotation marks.
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "<NA>")
# A line that no file has, for it is no text.
_END = "\x00"


class Delimited(TextFile):
    """Batches of a file of delimited text."""

    def __init__(
        self,
        path: str,
        options: ReadOptions,
        source: Any = None,
        delimiter: str | None = None,
    ) -> None:
        require_pyarrow("CSV")
        self._comment = comment_pattern(options.comment)
        complete = self._has_header(options.skip_rows)
        super().__init__(path, options, complete, source)
        with closed_on_error(self._source):
            head = skip_lines(self.name, self._first, options.skip_rows)
            whole = head.rfind(b"\n") + 1  # the rest of the last line is still to come
            head = self._comment(head[:whole]) + head[whole:]
            head, declared = skip_to_header(head)
            if delimiter is None:
                delimiter = options.delimiter or declared or self._sniff(head, options)
            names, self._first = read_header(self.name, head, delimiter, options.header)
            self.notes += _repeated_names(names) if options.header else []
            notation = Notation(options.decimal, options.thousands)
            self._reading = BlockReader(
                self.name, names, delimiter, '"', notation, options.na
            )
            lines = whole_lines(BytesIO(), self._first, quote=b'"')
            sample = self._comment(next(lines, b""))
            if not sample.strip():
                raise FileError(f"{self.name}: there are no rows")
            table = self._reading.sample(sample)
            self.plan = plan_columns(self.name, table.schema, options, table)
            self._reading.fix(table.schema, self.plan)

    def _sniff(self, head: bytes, options: ReadOptions) -> str:
        """Return the delimiter; note it if it is not what the name suggests."""
        name = self.name.lower()
        if ".tsv" in name or name.endswith(".tab"):
            return "\t"
        found = sniff_delimiter(head, options.target if options.header else None)
        if found != ",":
            shown = {"\t": "tabs", " ": "single spaces"}.get(found, repr(found))
            self.notes.append(f"columns are parted by {shown}")
        return found

    def batches(self) -> Iterator["pa.RecordBatch"]:
        """Yield the rows in their order."""
        yield from self._read(
            lambda block, row: self._reading.read(self._comment(block), row),
            quote=b'"',
        )

    def _has_header(self, skipped: int) -> Callable[[bytes], bool]:
        """Return a function that says whether bytes have a header and a row."""

        def complete(head: bytes) -> bool:
            lines = self._comment(head).count(b"\n")
            return lines > 1 + skipped

        return complete


def _repeated_names(names: Sequence[str]) -> list[str]:
    """Return a note on names of the header that had to be numbered."""
    there = set(names)
    again = [
        name
        for name in names
        if (found := re.fullmatch(r"(.+)\.\d+", name)) and found[1] in there
    ]
    if not again:
        return []
    shown = ", ".join(again[:5]) + (", …" if len(again) > 5 else "")
    return [f"names that occur twice are numbered: {shown}"]


class BlockReader:
    """How blocks of delimited text become batches: `names` are those of the columns."""

    def __init__(
        self,
        name: str,
        names: Sequence[str],
        delimiter: str,
        quote: str,
        notation: Notation,
        na: Sequence[str] = (),
    ) -> None:
        self._name, self._names = name, list(names)
        self._delimiter, self._quote = delimiter, quote
        self._notation, self._missing = notation, (*MISSING, *na)
        self._types: dict[str, Any] = {}
        self._wanted: list[str] = []

    def sample(self, block: bytes) -> "pa.Table":
        """Return the rows of a first block, of the types that they suggest."""
        import pyarrow as pa

        table = self._parse(block, 1)
        for field in table.schema:
            if pa.types.is_binary(field.type):
                fault = self._fault(block, 1)
                raise FileError(fault or f"{self._name}: not UTF-8 text")
        return table

    def fix(self, found: "pa.Schema", plan: ColumnPlan) -> None:
        """Read only the columns that are wanted, from now on as of these types."""
        import pyarrow as pa

        self._wanted = plan.wanted
        for column in self._wanted:
            kind = plan.kinds.get(column)
            self._types[column] = read_as(found.field(column), kind)
            own = plan.options.notations.get(column, self._notation)
            if kind == "number" and (own.thousands or own != self._notation):
                self._types[column] = pa.string()  # turned into numbers later

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

        quote = self._quote.encode()
        if quote in block and block.count(quote) % 2:
            self._refuse_open_quote(block, row)
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
                    null_values=self._missing,
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                    decimal_point=self._notation.decimal,
                ),
            )
        except pa.ArrowException as error:
            fault = self._fault(block, row)
            reason = fault or f"{self._name}, row {row} or after: {one_line(error)}"
            raise FileError(reason) from error

    def _refuse_open_quote(self, block: bytes, row: int) -> None:
        """Refuse the last block of a file if it ends within quotation marks."""
        text = block.decode(errors="replace").rstrip("\r\n") + f"\n{_END}"
        rows = [
            cells for cells in cells_of(text, self._delimiter, self._quote) if cells
        ]
        if rows[-1] != [_END]:
            raise FileError(
                f"{self._name}, row {row + len(rows) - 1}: a quotation mark without "
                "its partner"
            )

    def _fault(self, block: bytes, row: int) -> str | None:
        """Return the first fault of a block in words: its row, its column, why."""
        from pyarrow import types

        text = block.decode(errors="replace")
        places = {name: j for j, name in enumerate(self._names)}
        numbers = [
            (places[name], name)
            for name, kind in self._types.items()
            if types.is_floating(kind) or types.is_integer(kind)
        ]
        try:
            for cells in cells_of(text, self._delimiter, self._quote):
                if not cells:
                    continue
                fault = self._fault_of(cells, row, numbers)
                if fault is not None:
                    return fault
                row += 1
        except csv.Error as error:
            return f"{self._name}, row {row}: {error}"
        return None

    def _fault_of(
        self, cells: list[str], row: int, numbers: list[tuple[int, str]]
    ) -> str | None:
        """Return the first fault of a row in words, None if it has none."""
        if len(cells) != len(self._names):
            return (
                f"{self._name}, row {row}: {len(cells)} columns, where there must "
                f"be {len(self._names)}"
            )
        for j, cell in enumerate(cells):
            if "\N{REPLACEMENT CHARACTER}" in cell:
                return (
                    f"{self._name}, row {row}, column {self._names[j]}: not UTF-8 "
                    "text; --encoding names another, such as cp1252"
                )
        for j, name in numbers:
            cell = cells[j].strip()
            plain = cell.replace(self._notation.decimal, ".")
            if cell not in self._missing and not is_plain_number(plain):
                return refused_number(self._name, row, name, cell)
        return None
