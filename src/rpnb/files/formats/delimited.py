"""CSV: text separated by a delimiter, read by pyarrow block by block.

If pyarrow refuses a block, a slower second pass finds the row and the column.
"""

import csv
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING, Any

from rpnb.files.encoding.number_text import (
    PERHAPS_MISSING,
    Notation,
    is_plain_number,
)
from rpnb.files.encoding.planning import (
    find_column,
    no_such_column,
    notation_of,
    plan_columns,
)
from rpnb.files.encoding.text_columns import (
    ISO_DATE,
    is_word,
    refused_date,
    refused_number,
)
from rpnb.files.formats.arrow_arrays import (
    is_text,
    one_line,
    read_as,
    reader_of,
    require_pyarrow,
)
from rpnb.files.formats.dialect import (
    Header,
    RepeatedHeader,
    cells_of,
    comment_pattern,
    comment_sign,
    find_table,
    first_rows,
    read_header,
    skip_lines,
    skip_to_header,
    sniff_delimiter,
)
from rpnb.files.formats.lines import closed_on_error, whole_lines
from rpnb.files.formats.text import TextFile
from rpnb.files.reading import (
    ColumnPlan,
    FileError,
    ReadOptions,
    join_problems,
    typed,
)

if TYPE_CHECKING:
    import pyarrow as pa

#: Texts that mean a missing value if they are not in quotation marks.
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "<NA>")
# A number whose point may separate thousands.
_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}\.\d{3}")
# Blank cells of up to this width are missing values.
_WIDEST_BLANK = 32
# A line that no text file contains.
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
            self._refuse_preamble(head, options)
            whole = head.rfind(b"\n") + 1  # the rest of the last line is not read yet
            head = self._comment(head[:whole]) + head[whole:]
            head, declared = skip_to_header(head)
            if delimiter is None:
                delimiter = options.delimiter or declared or self._sniff(head, options)
            self._first = self._plan(head, delimiter, options)

    def _plan(self, head: bytes, delimiter: str, options: ReadOptions) -> bytes:
        """Determine the kinds of the columns; return the bytes after the header."""
        header = read_header(self.name, head, delimiter, options.header)
        names, rest = header.names, header.rest
        if options.header:
            self._check_target(header, options)
            self.notes += [*_repeated_names(header), *_names_like_data(names)]
        notation = Notation(options.decimal, options.thousands)
        self._reading = BlockReader(
            *(self.name, names, delimiter, '"', notation, options.na),
            comments=options.comment is None,
        )
        lines = whole_lines(BytesIO(), rest, quote=b'"')
        sample = self._comment(next(lines, b""))
        if not sample.strip():
            raise FileError(f"{self.name}: there are no rows")
        others = RepeatedHeader(header.line)(sample)
        table = self._reading.sample(others if others.strip() else sample)
        again = _cannot_be_a_row(header, table.schema, self._reading.zoned)
        self._again = RepeatedHeader(header.line if again else b"")
        if not again:
            table = self._reading.sample(sample)
        self.plan = plan_columns(self.name, table.schema, options, table, na=True)
        self.notes += _leading_zeros(sample, names, delimiter, self.plan)
        if delimiter == ";":
            self.notes += _perhaps_thousands(sample, names, self.plan)
        self._reading.fix(table.schema, self.plan)
        return rest

    def _check_target(self, header: Header, options: ReadOptions) -> None:
        """Refuse a target that two columns have as name, or no column of data."""
        if not options.labelled or options.target is None:
            return
        target = options.target
        places = [j for j, each in enumerate(header.written, 1) if each == target]
        if len(places) > 1:
            numbers = " or ".join(f"--target {place}" for place in places)
            raise FileError(
                f"{self.name}: {len(places)} columns have the name {target!r}; name "
                f"the one with the labels by its number: {numbers}"
            )
        like_data = _names_like_data(header.names)
        if like_data and find_column(target, header.names) is None:
            raise FileError(
                f"{self.name}: {no_such_column(target, header.names)}; {like_data[0]} "
                "and give --target a number"
            )

    def _refuse_preamble(self, head: bytes, options: ReadOptions) -> None:
        """Refuse lines before a table; the error also names problems of the table."""
        if options.comment is not None:
            return
        target = options.target if options.header else None
        found = find_table(head, options.delimiter, target)
        if found is None:
            return
        count, delimiter = found
        skipped = options.skip_rows + count
        sign = comment_sign(head.split(b"\n", count)[:count])
        if sign is not None:
            what = f"the first line begins with {sign}, like a comment"
            fix, leaves_out = (
                ("--comment", sign),
                f"use --comment {sign!r} to skip such lines",
            )
        else:
            what = f"the table begins in line {skipped + 1}"
            fix = "--skip-rows", str(skipped)
            leaves_out = f"use --skip-rows {skipped} to skip the lines before it"
        problems = [FileError(f"{self.name}: {what}; {leaves_out}", [fix])]
        try:
            self._plan(skip_lines(self.name, head, count), delimiter, options)
        except FileError as error:
            problems.append(error)
        raise join_problems(self.name, problems)

    def _sniff(self, head: bytes, options: ReadOptions) -> str:
        """Return the delimiter; add a note if it is not a comma."""
        name = self.name.lower()
        if ".tsv" in name or name.endswith(".tab"):
            return "\t"
        found = sniff_delimiter(head, options.target if options.header else None)
        if found != ",":
            shown = {"\t": "tabs", " ": "single spaces"}.get(found, repr(found))
            self.notes.append(f"columns are separated by {shown}")
        return found

    def batches(self) -> Iterator["pa.RecordBatch"]:
        """Yield the rows in their order."""
        yield from self._read(
            lambda block, row: self._reading.read(
                self._again(self._comment(block)), row
            ),
            quote=b'"',
        )
        self.notes += self._again.note()

    def _has_header(self, skipped: int) -> Callable[[bytes], bool]:
        """Return a function that checks whether bytes contain a header and a row."""

        def complete(head: bytes) -> bool:
            lines = self._comment(head).count(b"\n")
            return lines > 1 + skipped

        return complete


def _repeated_names(header: Header) -> list[str]:
    """Return a note on repeated names in the header, which were numbered."""
    pairs = zip(header.names, header.written, strict=True)
    again = [name for name, written in pairs if name != written != ""]
    if not again:
        return []
    shown = ", ".join(again[:5]) + (", …" if len(again) > 5 else "")
    return [f"repeated column names are numbered: {shown}"]


def _cannot_be_a_row(
    header: Header, schema: "pa.Schema", times: Collection[str]
) -> bool:
    """Return whether a line that repeats the header is no row of the table.

    In a column of numbers, or in one of the `times` that are read as text, it has a
    word.
    """
    return any(
        (not is_text(field.type) or field.name in times)
        and written
        and not is_plain_number(written)
        for field, written in zip(schema, header.written, strict=True)
    )


def _leading_zeros(
    sample: bytes, names: Sequence[str], delimiter: str, plan: ColumnPlan
) -> list[str]:
    """Return notes on columns of numbers that begin with zeros, as codes do."""
    text = sample[: 1 << 16].decode(errors="replace")
    rows = [cells for cells in first_rows(text, delimiter) if len(cells) == len(names)]
    notes = []
    for j, name in enumerate(names):
        if plan.kinds.get(name) != "number" or plan.options.columns is not None:
            continue
        cells = (cells[j].strip() for cells in rows)
        code = next((cell for cell in cells if re.fullmatch(r"0\d+", cell)), None)
        if code is not None:
            notes.append(
                f"column {name}: {code} is read as the number {int(code)}; if it is a "
                f"code, use {typed('--as-category', name)}"
            )
    return notes


def _perhaps_thousands(
    sample: bytes, names: Sequence[str], plan: ColumnPlan
) -> list[str]:
    """Return notes on columns whose decimal points may separate thousands.

    Files with semicolons mostly come from where they do.
    """
    text = sample[: 1 << 16].decode(errors="replace")
    rows = [cells for cells in first_rows(text, ";") if len(cells) == len(names)]
    notes = []
    for j, name in enumerate(names):
        if plan.kinds.get(name) != "number":
            continue
        if notation_of(name, plan.options) != Notation():
            continue
        cells = [cells[j].strip() for cells in rows[:-1]]  # the last may be cut off
        whole = [cell for cell in cells if re.fullmatch(r"-?\d{1,3}", cell)]
        points = [cell for cell in cells if re.fullmatch(_THOUSANDS, cell)]
        there = [cell for cell in cells if cell not in MISSING]
        if len(points) > 1 and len(whole) + len(points) == len(there):
            column = typed("--decimal", f"{name}=,")
            column += f" {typed('--thousands', f'{name}=.')}"
            notes.append(
                f"column {name}: {points[0]} is read as a number below 1000; if its "
                f"point separates thousands, use {column}"
            )
    return notes


def _names_like_data(names: Sequence[str]) -> list[str]:
    """Return a note if most names of the header are numbers, some with a fraction."""
    found = [name for name in names if re.fullmatch(r"-\d+|[+-]?\d*\.\d+", name)]
    numbers = sum(map(is_plain_number, names))
    if not found or 2 * numbers < len(names):
        return []
    return [
        f"column names such as {found[0]} look like data; if the file has no header, "
        "use --no-header"
    ]


def _with_spaces(missing: Sequence[str]) -> list[str]:
    """Return texts for missing values as cells may have them.

    pyarrow compares cells as they are written, so blanks are listed, and texts with a
    space before or after them, as in files whose delimiter is followed by one.
    """
    blank = [" " * width for width in range(1, _WIDEST_BLANK + 1)]
    texts = [f"{a}{each}{b}" for each in missing for a in ("", " ") for b in ("", " ")]
    return list(dict.fromkeys([*texts, *blank]))


def _in_all_spellings(missing: Sequence[str]) -> list[str]:
    """Return texts for missing values; infinity is spelled in many ways.

    >>> _in_all_spellings(["gone", "-inf"])[:4]
    ['gone', '-inf', '-Inf', '-INF']
    """
    found: list[str] = []
    for text in missing:
        parts = re.fullmatch(r"([+-]?)inf(?:inity)?", text, re.IGNORECASE)
        words = ("inf", "Inf", "INF", "infinity", "Infinity", "INFINITY")
        found += [text] if parts is None else [parts[1] + word for word in words]
    return found


class BlockReader:
    """Converts blocks of delimited text, with columns `names`, to batches.

    `comments` tells whether --comment can name lines to skip.
    """

    def __init__(
        self,
        name: str,
        names: Sequence[str],
        delimiter: str,
        quote: str,
        notation: Notation,
        na: Sequence[str] = (),
        *,
        comments: bool = False,
    ) -> None:
        self._name, self._names, self._comments = name, list(names), comments
        self._delimiter, self._quote = delimiter, quote
        self._notation, self._missing = notation, (*MISSING, *_in_all_spellings(na))
        self._types: dict[str, Any] = {}
        self.zoned: set[str] = set()
        """columns of times with an offset, which `sample` returns as text"""
        self._wanted: list[str] = []
        self._known = False

    def sample(self, block: bytes) -> "pa.Table":
        """Return the rows of the first block, with inferred types."""
        import pyarrow as pa

        table = self._parse(block, 1)
        for field in table.schema:
            if pa.types.is_binary(field.type):
                fault = self._fault(block, 1)
                raise FileError(fault or f"{self._name}: not UTF-8 text")
        # pyarrow would turn times with an offset into UTC.
        self.zoned = {f.name for f in table.schema if getattr(f.type, "tz", None)}
        if self.zoned and not self._types:
            self._types = dict.fromkeys(self.zoned, pa.string())
            try:
                return self._parse(block, 1)
            finally:
                self._types = {}
        return table

    def fix(self, found: "pa.Schema", plan: ColumnPlan) -> None:
        """Read only the columns of a plan from now on, with fixed types."""
        import pyarrow as pa

        self._wanted, self._known = plan.wanted, plan.options.columns is not None
        for column in self._wanted:
            kind = plan.kinds.get(column)
            self._types[column] = read_as(found.field(column), kind)
            own = plan.options.notations.get(column, self._notation)
            if kind == "number" and (own.thousands or own != self._notation):
                self._types[column] = pa.string()  # converted to numbers later

    def declare(self, types: Mapping[str, Any], wanted: Sequence[str]) -> None:
        """Read only the `wanted` columns from now on, with these types."""
        self._types, self._wanted = dict(types), list(wanted)

    def read(self, block: bytes, row: int) -> "pa.RecordBatch | None":
        """Return the rows of a block, of which the first has the number `row`."""
        if not block.strip():
            return None
        table = self._parse(block, row).combine_chunks()
        batches = table.to_batches()
        return batches[0] if batches else None

    def _parse(self, block: bytes, row: int, *, text_numbers: bool = False) -> Any:
        """Return the rows of a block as a table; an error names row and column.

        With `text_numbers`, numbers are returned as text.
        """
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        types = self._types
        if text_numbers:
            floats = {n for n, kind in types.items() if pa.types.is_floating(kind)}
            types = types | dict.fromkeys(floats, pa.string())
        quote = self._quote.encode()
        if quote in block and block.count(quote) % 2:
            self._refuse_open_quote(block, row)
        try:
            return arrow_csv.read_csv(
                reader_of(block),
                read_options=arrow_csv.ReadOptions(
                    column_names=self._names, block_size=len(block) + 1
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self._delimiter,
                    quote_char=self._quote,
                    newlines_in_values=True,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=types or None,
                    include_columns=self._wanted or None,
                    null_values=_with_spaces(self._missing),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                    decimal_point=self._notation.decimal,
                ),
            )
        except pa.ArrowException as error:
            table = None if text_numbers else self._parse_as_text(block, row)
            if table is not None:
                return table
            fault = self._fault(block, row)
            reason = fault or f"{self._name}, row {row} or after: {one_line(error)}"
            raise FileError(reason) from error

    def _parse_as_text(self, block: bytes, row: int) -> Any:
        """Return the rows of a block whose numbers pyarrow does not read as such.

        Among these are blank cells in quotation marks, and numbers with a currency.
        Returns None if there are other cells in a column of numbers.
        """
        from pyarrow import compute as pc
        from pyarrow import types

        numbers = [n for n, kind in self._types.items() if types.is_floating(kind)]
        if not numbers or self._fault(block, row) is not None:
            return None
        table = self._parse(block, row, text_numbers=True)
        missing = tuple({*self._missing, *PERHAPS_MISSING})
        notation = replace(self._notation, missing=missing)
        for name in numbers:
            place = table.schema.get_field_index(name)
            values = table.column(place).combine_chunks()
            if not pc.all(notation.fits(values)).as_py():
                return None
            table = table.set_column(place, name, notation.parse(values))
        return table

    def _refuse_open_quote(self, block: bytes, row: int) -> None:
        """Refuse a block that ends inside quotation marks."""
        text = block.decode(errors="replace").rstrip("\r\n") + f"\n{_END}"
        rows = [
            cells for cells in cells_of(text, self._delimiter, self._quote) if cells
        ]
        if rows[-1] != [_END]:
            raise FileError(
                f"{self._name}, row {row + len(rows) - 1}: an unmatched quotation mark"
            )

    def _fault(self, block: bytes, row: int) -> str | None:
        """Return a message on the first fault of a block, with row and column."""
        from pyarrow import types

        text = block.decode(errors="replace")
        places = {name: j for j, name in enumerate(self._names)}
        numbers = [
            (places[name], name)
            for name, kind in self._types.items()
            if types.is_floating(kind) or types.is_integer(kind)
        ]
        others = [
            (places[name], name, kind)
            for name, kind in self._types.items()
            if types.is_timestamp(kind) or types.is_boolean(kind)
        ]
        try:
            for cells in cells_of(text, self._delimiter, self._quote):
                if not cells:
                    continue
                fault = self._fault_of(cells, row, numbers)
                fault = fault or self._unlike_others(cells, row, others)
                if fault is not None:
                    return fault
                row += 1
        except csv.Error as error:
            return f"{self._name}, row {row}: {error}"
        return None

    def _fault_of(
        self, cells: list[str], row: int, numbers: list[tuple[int, str]]
    ) -> str | None:
        """Return a message on the first fault of a row; None if it has none."""
        if len(cells) != len(self._names):
            more = len(cells) == len(self._names) + 1 and not cells[-1].strip()
            remedy = "; the row ends with a delimiter" if more else ""
            if self._comments and len(cells) == 1 and not is_plain_number(cells[0]):
                begin = comment_sign([cells[0].encode()]) or cells[0].strip()[:40]
                remedy = f"; to skip this line, use {typed('--comment', begin)}"
            elif any(cell.strip().startswith("'") for cell in cells):
                remedy = "; cells may be in double quotation marks, not in single ones"
            columns = "column" if len(cells) == 1 else "columns"
            return (
                f"{self._name}, row {row}: {len(cells)} {columns}, expected "
                f"{len(self._names)}{remedy}"
            )
        for j, cell in enumerate(cells):
            if "\N{REPLACEMENT CHARACTER}" in cell:
                return (
                    f"{self._name}, row {row}, column {self._names[j]}: not UTF-8 "
                    "text; set the encoding with --encoding, such as cp1252"
                )
        for j, name in numbers:
            cell = cells[j].strip()
            if not self._is_number(cell):
                return refused_number(
                    *(self._name, row, name, cell),
                    decimal=self._notation.decimal,
                    na=[cell] if is_word(cell) else [],
                    known=self._known,
                )
        return None

    def _unlike_others(
        self, cells: list[str], row: int, columns: "list[tuple[int, str, pa.DataType]]"
    ) -> str | None:
        """Return a message on the first cell that is no time or boolean."""
        import pyarrow as pa

        for j, name, kind in columns:
            cell = cells[j].strip()
            if cell in self._missing:
                continue
            try:
                pa.scalar(cell).cast(kind)
            except pa.ArrowInvalid:
                where = f"{self._name}, row {row}, column {name}"
                if pa.types.is_boolean(kind):
                    return (
                        f"{where}: {cell[:40]!r} is not true or false, unlike the "
                        "others in the column"
                    )
                if ISO_DATE.fullmatch(cell):
                    return f"{where}: {cell!r} has a time zone, unlike the others"
                words = [cell] if is_word(cell) else []
                return refused_date(self._name, row, name, cell, na=words)
        return None

    def _is_number(self, cell: str) -> bool:
        """Return whether a cell is a number, or means a missing one."""
        if cell in self._missing or cell in PERHAPS_MISSING:
            return True
        plain = self._notation.decimal == "." and is_plain_number(cell)
        return plain or self._notation.matches(cell)
