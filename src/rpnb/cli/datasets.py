"""`rpnb datasets`: the 33 datasets of the paper, and the sources of their rows."""

import argparse
import sys

from rpnb.cli.options import add_data_folder

_FROM = {
    "by rule": "generated, exact rows",
    "in the package": "included in the package",
    "file": "file",
    "drawn": "generated, a fresh draw",
    "OpenML": "download from OpenML",
    "unavailable": "not available: needs a file",
}


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "List the 33 datasets of the paper's Table 1: the number of features p, rows n "
        "and classes M, the source of the rows, and their licence."
    )
    add_data_folder(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the list to the standard output."""
    from rpnb.cli import CommandError
    from rpnb.datasets import DatasetError
    from rpnb.datasets.catalogue import entries
    from rpnb.datasets.loader import data_folder
    from rpnb.report.table_text import TextTable, to_text
    from rpnb.study.dataset_sources import kind_now

    try:
        folder = data_folder(arguments.data)
    except DatasetError as error:
        raise CommandError(str(error)) from error
    rows, missing = [], []
    for entry in entries().values():
        kind = kind_now(entry, folder)
        if kind == "unavailable":
            missing.append(f"{entry.slug}.csv.gz")
        numbers = (str(entry.p), str(entry.n), str(entry.M))
        rows.append((entry.name, *numbers, _FROM[kind], entry.licence))
    notes = [
        f"Files are looked for in {folder}."
        if folder is not None
        else "No folder of data files is set: use --data or RPNB_DATA."
    ]
    if missing:
        notes.append("Only available as files: " + ", ".join(missing) + ".")
    table = TextTable(
        f"The {len(rows)} datasets of the paper's Table 1",
        ("dataset", "p", "n", "M", "source", "licence"),
        tuple(rows),
        tuple(notes),
        align="lrrrll",
    )
    sys.stdout.write(to_text(table))
    return 0
