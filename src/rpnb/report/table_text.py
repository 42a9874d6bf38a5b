"""Tables as text: for the terminal, as Markdown, and as CSV."""

import csv
import io
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any

#: Shown where there is no result.
DASH = "—"


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of formatted cells."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """one text per column"""
    notes: tuple[str, ...] = ()
    """lines below the table"""
    align: str = ""
    """one letter per column, "l" or "r"; by default only the first is left"""

    def alignment(self) -> str:
        """Return the alignment of all columns, one letter each."""
        return self.align or "l".ljust(len(self.header), "r")


def to_text(table: TextTable) -> str:
    """Return a table for a terminal, in columns separated by blanks."""
    lines = [table.header, *table.rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = "─" * (sum(widths) + 2 * (len(widths) - 1))
    body = [_padded(cells, widths, table.alignment()) for cells in lines]
    return "\n".join(
        [table.title, rule, body[0], rule, *body[1:], rule, *table.notes, ""]
    )


def _padded(cells: Sequence[str], widths: Sequence[int], align: str) -> str:
    padded = [
        cell.ljust(width) if letter == "l" else cell.rjust(width)
        for cell, width, letter in zip(cells, widths, align, strict=True)
    ]
    return "  ".join(padded).rstrip()


def to_markdown(table: TextTable) -> str:
    """Return a table as Markdown, with its title before and its notes after."""
    marks = ["---" if letter == "l" else "---:" for letter in table.alignment()]
    lines = [table.header, marks, *table.rows]
    body = ["| " + " | ".join(map(_escaped, cells)) + " |" for cells in lines]
    notes = [line for note in table.notes for line in ("", note)]
    return "\n".join([f"**{table.title}**", "", *body, *notes, ""])


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")


def percent_text(share: float) -> str:
    """Return a share in percent: one decimal, and a space that does not break."""
    return f"{100 * share:.1f}\N{NO-BREAK SPACE}%"


def to_csv(rows: Sequence[Any]) -> str:
    """Return dataclass instances as CSV: one column per field, numbers in full.

    A cell is empty where there is no result.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    if rows:
        writer.writerow(field.name for field in fields(rows[0]))
    writer.writerows(astuple(row) for row in rows)
    return file.getvalue()
